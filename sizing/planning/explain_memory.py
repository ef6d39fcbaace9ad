"""Memory of a planned instance followed from the inputs to the formula to the source."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from sizing.base.deployed import PerInstance
from sizing.base.format import count, memory, memory_unit
from sizing.base.result import Explained
from sizing.base.units import BILLION, GB
from sizing.catalog.model import Model
from sizing.catalog.precisions import KV_BYTES, WIDE_BYTES
from sizing.catalog.weights import dense_bytes, dense_parameters, embedding_parameters, weight_bytes
from sizing.deployments.candidates import table
from sizing.deployments.concurrency import running_fit
from sizing.deployments.memory import STATE_BYTES
from sizing.planning.arithmetic import entry, number, step
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic

MEMORY_SOURCE = "modules sizing.deployments.memory, concurrency; Kwon et al., PagedAttention (SOSP 2023)"
_BYTES_IN = {"GB": "10^9", "GiB": "2^30"}
SAME = 1e-4
"""Relative difference below which two sizes are the same: it does not show in three digits."""


def explain_memory(row: Configuration, one: PerInstance, model: Model, traffic: Traffic) -> Iterator[Explained]:
    """Weights, KV cache and the sequences of a traffic that it holds."""
    unit = _BYTES_IN[memory_unit(one.memory_per_gpu_gb).value]
    sized = partial(memory, gpu_gb=one.memory_per_gpu_gb)
    alone = float(weight_bytes(model, row.precision.bytes)) / GB
    apart, parts = _weights_by_width(model, row.precision.bytes)
    yield entry(
        "weights_gb",
        sized(one.weights_gb),
        f"parameters x bytes per parameter; {apart} at their own width",
        step(
            f"billions of parameters, {apart} apart" + _copies(one.weights_gb, alone),
            f"({parts}) x 10^9 / {unit}{_times(one.weights_gb, alone)}",
            sized(one.weights_gb),
        ),
        source=f"{model.source}; {MEMORY_SOURCE}",
    )
    yield _per_sequence(row, one, model, traffic.resident_kv_tokens, unit)
    yield _sequences(row, one, held_gb(model, row, traffic))
    yield _kv_cache(row, one)


def _weights_by_width(model: Model, each: float) -> tuple[str, str]:
    """What is not held at the width of the format, and billions of parameters x bytes, narrowest first."""
    dense, head = dense_parameters(model), embedding_parameters(model)
    beside = float(dense_bytes(model, each))
    sizes = [(model.params_experts, each), (dense, beside), (head, WIDE_BYTES)]
    if beside == each:
        sizes = [(model.params_experts + dense, each), (head, WIDE_BYTES)]
    apart = "embeddings and head" if beside == each else "weights outside the experts, embeddings and head"
    return apart, " + ".join(f"{number(count / BILLION)} x {number(width)}" for count, width in sizes)


def _per_sequence(row: Configuration, one: PerInstance, model: Model, tokens: float, unit: str) -> Explained:
    """KV cache of one sequence, in whole blocks."""
    block, each = row.engine.block_tokens, KV_BYTES[row.kv_precision]
    held = math.ceil(tokens / block) * block
    values, alone = f"{number(model.kv_elements_full)} x {held:,}", model.kv_elements_full * held * each
    if model.sliding_layers:
        window = model.sliding_window or held
        values += f" + {number(model.kv_elements_sliding)} x min({held:,}; {window:,})"
        alone += model.kv_elements_sliding * min(held, window) * each
    state = f" + {number(model.state_elements)} x {number(STATE_BYTES)}" if model.state_elements else ""
    alone = (alone + STATE_BYTES * model.state_elements) / GB
    value = memory(one.kv_per_sequence_gb, one.memory_per_gpu_gb)
    return entry(
        "kv_per_sequence_gb",
        value,
        "KV values per token x bytes x tokens, rounded up to blocks",
        step("tokens in whole blocks", f"ceil({number(tokens)} / {block:g}) x {block:g}", f"{held:,}"),
        step(
            "values x tokens x bytes" + _copies(one.kv_per_sequence_gb, alone),
            f"{_in_bytes(values, each, state)} / {unit}{_times(one.kv_per_sequence_gb, alone)}",
            value,
        ),
        source=f"{model.source}; {MEMORY_SOURCE}",
    )


def held_gb(model: Model, row: Configuration, traffic: Traffic) -> float:
    """KV cache that a sequence in flight holds on the GPUs of its rank, in the mean over its life (10^9 bytes)."""
    return float(running_fit(model, table([row]), traffic).held_per_sequence[0]) * row.tp * row.pp / GB


def _sequences(row: Configuration, one: PerInstance, held: float) -> Explained:
    """How many sequences the KV cache holds; ``held`` GB each."""
    unit = memory_unit(one.memory_per_gpu_gb)
    kv, whole, each = (unit.of(size) for size in (one.kv_gb, one.kv_per_sequence_gb, held))
    most = row.batch_limit or int(row.engine.sequences(row.gpu) * row.dp)
    ranks = f" / {row.dp}" if row.dp > 1 else ""
    times = f" x {row.dp}" if row.dp > 1 else ""
    most = max(most, one.max_concurrency)
    cap = "the batch limit" if row.batch_limit else "what is scheduled"
    return entry(
        "max_concurrency",
        count(one.max_concurrency),
        "floor((KV memory - KV per sequence / 2) / KV that one in flight holds + 1/2), at most what is scheduled",
        step(
            f"KV memory but for half a sequence, over what one in flight holds ({_share(row)}), at most {cap}",
            f"min(floor(({number(kv)}{ranks} - {number(whole)} / 2) / {number(each)} + 0.5){times}; {most})",
            count(one.max_concurrency),
        ),
        source=f"{MEMORY_SOURCE}; {row.engine.source}; {row.engine.eviction_source}",
    )


def _share(row: Configuration) -> str:
    """What a sequence in flight holds, in words."""
    share = row.engine.answer_held
    return "its prompt and all of its answer" if share == 1.0 else f"its prompt and {number(share)} of its answer"


def _kv_cache(row: Configuration, one: PerInstance) -> Explained:
    """The memory that is left for the KV cache."""
    of = memory_unit(one.memory_per_gpu_gb).of
    taken = (one.weights_gb, one.activations_gb, one.overhead_gb)
    return entry(
        "kv_gb",
        memory(one.kv_gb, one.memory_per_gpu_gb),
        "usable memory - weights - activations - overhead",
        step(
            "GPUs x memory x share that the engine uses - weights - activations - overhead",
            f"{row.gpus} x {number(of(one.memory_per_gpu_gb))} x {row.engine.memory_fraction:g} - "
            + " - ".join(number(of(size)) for size in taken),
            memory(one.kv_gb, one.memory_per_gpu_gb),
        ),
        source=f"{row.gpu.source}; {row.engine.source}",
    )


def _in_bytes(values: str, each: float, state: str) -> str:
    """Values times their bytes, and a recurrent state, as a product or a sum in parentheses."""
    product = f"({values}) x {number(each)}" if " + " in values else f"{values} x {number(each)}"
    return f"({product}{state})" if state else product


def _times(size: float, alone: float) -> str:
    """What several GPUs hold more than once."""
    return "" if abs(size / alone - 1.0) < SAME else f" x {number(size / alone)}"


def _copies(size: float, alone: float) -> str:
    return "" if abs(size / alone - 1.0) < SAME else ", x what its GPUs hold several times"
