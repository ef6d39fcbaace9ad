"""What a batch of items takes on a GPU: encoders keep no cache and generate nothing, so a batch is one prefill.

time = max(2 x parameters x tokens / matrix rate, weights / bandwidth) + attention + fixed times, at the efficiency that
prefill of the engine has on that GPU (:func:`sizing.steps.roofline.prefill_s`). Whisper: 1,500 frames for every 30 s of
audio, then its decoder token by token.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sizing.catalog.engines import Engine
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES, precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.scenario.adapters import StageKind
from sizing.steps.efficiency import TODAY, efficiencies
from sizing.steps.hardware import hardware
from sizing.steps.rates import Rates, rates
from sizing.steps.roofline import decode_step_s, prefill_s
from sizing.steps.shape import Shape, shape_of

WINDOW_S = 30.0
"""Seconds of audio that Whisper takes at once; a shorter piece is padded (Radford et al. 2022, section 2.2)."""
FRAMES = 1_500
"""Positions of the encoder for one window, whatever is said in it (``max_source_positions`` of every Whisper)."""
SPOKEN_TOKENS = 3.3
"""Tokens of the transcript of a second of audio: 150 words a minute x 1.3 tokens a word. Assumed for English."""
VERDICT_TOKENS = 4
"""Tokens that a language model used as a guard writes: "safe", or "unsafe" and a category (Llama Guard, model card)."""
MOST_WINDOWS = 64
"""Windows of audio in a batch at most. Chosen: from there on the encoder, which gains nothing from more, takes most."""
RUNTIME_BYTES = 1.0e9
"""Of a process beside its weights: CUDA context, libraries, workspaces. Chosen: about what a pooling server of vLLM
holds with a small model."""
USABLE = 0.9
"""Share of a GPU's memory that stages may fill, as engines do by default."""


@dataclass(frozen=True, kw_only=True)
class BatchTimes:
    """Times of batches of one stage on one GPU, in units: an item, or a window of audio.

    ``full``: the units of a batch that fills a step of the engine; ``read`` and ``write`` the shapes of what reads and
    of what writes ``written`` tokens a unit, after ``context`` tokens; ``two_ways``: every token attends to all.
    ``memory_bytes``: what a copy of the model takes with a full batch; ``fits``: whether that is on the GPU.
    """

    tokens: float
    full: float
    read: Shape
    write: Shape | None
    written: float
    context: float
    two_ways: bool
    speed: Rates
    memory_bytes: float
    fits: bool

    def seconds(self, units: float) -> float:
        """Time of so many units at once; speech beyond a full batch takes another one."""
        if self.write is not None and units > self.full:
            whole, rest = divmod(units, self.full)
            return whole * self.seconds(self.full) + (self.seconds(rest) if rest else 0.0)
        before = self.tokens / 2.0 if self.two_ways else 0.0  # causal pairs are n (c + n / 2): with c = n / 2 all n^2
        read = float(prefill_s(self.read, self.speed, self.tokens, before, units)[0, 0])
        if self.write is None:
            return read
        step = decode_step_s(self.write, self.speed, np.array([[units]]), self.context)
        return read + self.written * float(step[0, 0])


@lru_cache(maxsize=4096)
def batch_times(model: Model, kind: StageKind, tokens: float | None, gpu: Gpu, engine: Engine) -> BatchTimes:
    """Times of a stage of that ``kind``; ``tokens`` of an item, of speech of the transcript of a second."""
    precision = precisions()["bf16" if gpu.supports_bf16 else "fp16"]
    row = Configuration(gpu=gpu, engine=engine, precision=precision, kv_precision="fp16")
    one = table([row])
    speed = rates(one, hardware(one), efficiencies(), TODAY)
    if kind == "speech":
        return _of_speech(model, tokens or SPOKEN_TOKENS, gpu, speed)
    assert tokens is not None
    shape, causal = shape_of(model), model.kind == "decoder"
    guards = kind == "guard" and causal
    embedded = float(model.vocab_size * model.hidden_size)
    read = replace(shape, head=0.0, dense=max(model.params_per_token - model.params_experts - embedded, 0.0))
    full = max(1.0, min(math.floor(engine.budget(gpu) / tokens), float(engine.sequences(gpu))))
    kept = full * tokens * model.kv_elements_full * WIDE_BYTES if guards else 0.0
    memory = _memory(model, min(full * tokens, engine.budget(gpu)), kept)
    return BatchTimes(
        tokens=tokens,
        full=full,
        read=read,
        write=shape if guards else None,
        written=float(VERDICT_TOKENS) if guards else 0.0,
        context=tokens,
        two_ways=not causal,
        speed=speed,
        memory_bytes=memory,
        fits=memory <= USABLE * gpu.program_bytes,
    )


def _of_speech(model: Model, spoken: float, gpu: Gpu, speed: Rates) -> BatchTimes:
    """Batches of windows: as many as memory holds with the keys and values of their frames, which the decoder reads."""
    read, write = _halves(model)
    kept = FRAMES * model.kv_elements_full * WIDE_BYTES
    room = USABLE * gpu.program_bytes - _memory(model, FRAMES, 0.0)
    each = kept + FRAMES * 4.0 * model.hidden_size * WIDE_BYTES
    full = float(np.clip(math.floor(room / each), 1, MOST_WINDOWS)) if room > 0 else 1.0
    written = spoken * WINDOW_S
    memory = _memory(model, FRAMES, full * kept)
    return BatchTimes(
        tokens=float(FRAMES),
        full=full,
        read=read,
        write=write,
        written=written,
        context=FRAMES + written / 2.0,
        two_ways=True,
        speed=speed,
        memory_bytes=memory,
        fits=room > 0 and memory <= USABLE * gpu.program_bytes,
    )


def _halves(model: Model) -> tuple[Shape, Shape | None]:
    """The encoder of a speech model and its decoder, if it has one, told apart by what the decoder caches.

    Keys and values of cross-attention are computed once of every frame, so they count with the encoder.
    """
    shape, width = shape_of(model), float(model.heads * model.head_dim)
    attention = 4.0 * model.hidden_size * width
    writing = model.kv_elements_full / (2.0 * width) if model.kind == "encoder_decoder" else 0.0
    reading = model.layers - writing
    embedded = float(model.vocab_size * model.hidden_size)
    mlp = max((model.params_total - embedded - attention * (reading + 2.0 * writing)) / model.layers, 0.0)
    encoder = replace(
        shape,
        layers=reading,
        full_layers=reading,
        dense=reading * (attention + mlp) + writing * attention / 2.0,
        head=0.0,
    )
    if writing == 0.0:
        return encoder, None
    return encoder, replace(
        shape, layers=writing, full_layers=writing, dense=writing * (1.5 * attention + mlp), head=embedded
    )


def _memory(model: Model, rows: float, kept_bytes: float) -> float:
    """Weights at 16 bit, activations of the rows of a step, what is kept of each unit, and the process."""
    activations = rows * (4.0 * model.hidden_size + 2.0 * model.intermediate_size) * WIDE_BYTES
    return model.params_total * WIDE_BYTES + activations + kept_bytes + RUNTIME_BYTES
