"""What an engine takes of a GPU beside weights and KV cache: a first step's activations, graphs, driver context.

vLLM tries one step of its largest size and one sampling of all its sequences before it divides the memory, and what
that takes is not the cache's. Sources: vLLM 0.33.0, v1/worker/gpu_worker.py, and the debug lines of its start-up logs
(``docs/ACCURACY.md``): over 76 configurations the pool comes out at 0.996 of the printed one.
"""

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.constants import constant
from sizing.base.units import GIB
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES
from sizing.deployments.candidates import Candidates

FIXED_BYTES = 0.11 * GIB
"""Working memory of a step of any size, as printed for models of 2 to 70 billion parameters."""
STREAM_COPIES = 19.0
"""Copies of a step's hidden states that hyper-connections keep, four streams of each. From two start-up logs of
DeepSeek-V4-Pro: 4.0 GiB of activations with steps of 8,192 tokens, 6.3 GiB with 16,384."""
STREAM_GRAPHS_BYTES = 4.1 * GIB
CAPTURED_TOKENS = 512.0
"""Tokens of the largest step of which vLLM captures a graph (max_cudagraph_capture_size, vLLM 0.33.0)."""
AMD_BYTES = 0.9 * GIB
"""What ROCm takes more than CUDA outside the engine's allocator: pools of dense models on MI300X are 0.9 to 1.5 GiB
smaller than the other parts leave (start-up logs of vLLM 0.11 to 0.18, read 2026-11-26)."""
GRAPHS_BYTES = constant("graphs_bytes")
GRAPHS_LAYER_BYTES = constant("graphs_layer_bytes")


def activation_bytes(model: Model, candidates: Candidates) -> Floats:
    """Activations of the largest step on each GPU, (C,).

    A = 0.11 GiB + 1.1 x T x h x 2 B + the larger of sampling (B a sequence and vocabulary entry, alike on every rank)
    and the experts' step 2 B x T x k x (2 f / TP + h); at least the dense step T x 2 B x (3 f / TP + 1.5 h) as a whole;
    T tokens of a step, h and f widths of model and feed-forward, k experts of a token. DeepSeek-V4, whose residual has
    four streams, takes 19 x 2 B x T x h more.
    """
    step = candidates.column(lambda r: r.engine.budget(r.gpu))
    sequences = np.minimum(candidates.column(lambda r: r.engine.sequences(r.gpu)), step)
    sampling = sequences * model.vocab_size * candidates.column(lambda r: r.engine.memory.sampler_bytes)
    hidden, tp = float(model.hidden_size), candidates.tp
    routed = WIDE_BYTES * step * model.experts_per_token * (2.0 * model.moe_intermediate_size / tp + hidden)
    dense = step * WIDE_BYTES * (3.0 * model.intermediate_size / tp + 1.5 * hidden)
    copies = 1.1 + (STREAM_COPIES if model.sparse is not None and model.sparse.ratio > 1 else 0.0)
    parts = FIXED_BYTES + copies * step * hidden * WIDE_BYTES + np.maximum(sampling, routed)
    return np.asarray(np.maximum(parts, dense), dtype=np.float64)


def graphs_bytes(model: Model, candidates: Candidates) -> Floats:
    """Captured CUDA graphs on each GPU, (C,).

    G = (fixed part + (L + L_experts) / PP x part of a layer) x min(1, 2 S / 512), so that a layer with experts counts
    twice; S sequences at most, since graphs are captured for steps of up to twice as many tokens and 512. For
    DeepSeek-V4 4.1 GiB in place of the first factor, as a start-up log prints.
    """
    captured = np.minimum(1.0, 2.0 * candidates.column(lambda r: r.engine.sequences(r.gpu)) / CAPTURED_TOKENS)
    if model.sparse is not None and model.sparse.ratio > 1:
        return np.asarray(STREAM_GRAPHS_BYTES * captured, dtype=np.float64)
    layers = np.ceil(model.layers / candidates.pp) + np.ceil(model.moe_layers / candidates.pp)
    return np.asarray((GRAPHS_BYTES + GRAPHS_LAYER_BYTES * layers) * captured, dtype=np.float64)


def outside_bytes(candidates: Candidates) -> Floats:
    """Driver context and communication buffers on each GPU, (C,), which no allocator of the engine sees."""
    gpus = candidates.gpus
    few, two, many = (
        candidates.column(value)
        for value in (
            lambda r: r.engine.memory.outside_gib(1),
            lambda r: r.engine.memory.outside_gib(2),
            lambda r: r.engine.memory.outside_gib(4),
        )
    )
    radeon = candidates.column(lambda r: AMD_BYTES if r.gpu.vendor == "AMD" else 0.0)
    return np.asarray(np.where(gpus == 1, few, np.where(gpus < 4, two, many)) * GIB + radeon, dtype=np.float64)
