"""Decode steps from measured kernels: what NVIDIA's tables say of mixtures of experts, read out beforehand.

The tables (``aiconfigurator-core``, Apache-2.0) time each operator of a forward pass on real GPUs and add them up; they
know nothing of host time per step or request, of queues or of memory. Asked at run time they would take seconds a GPU
and engine. So every mixture of experts of the catalogue was put to them once, in every layout that they cover, at a few
batches and contexts (``python -m calibration.distil_steps``); ``kernel_times.npz`` holds the answers, and what lies
between is interpolated. A model of any other shape has the roofline alone.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats, Rows
from sizing.catalog.files import DATA_DIR
from sizing.catalog.model import Model
from sizing.catalog.precisions import KV_BYTES, precisions
from sizing.deployments.candidates import Candidates
from sizing.question.configuration import Configuration

FILE = DATA_DIR / "kernel_times.npz"
SEQUENCES: Floats = np.exp2(np.arange(12.0))
"""Decoding sequences per attention-DP rank at which a step was read."""
CONTEXTS: Floats = np.array([256.0, 4096.0, 65536.0])
"""Mean contexts at which it was read. Chosen: three, because attention takes time in proportion to the context, but for
what a sliding window cuts off."""
LAYOUTS = 2 ** np.arange(5)
"""Degrees of TP, EP and attention-DP in the file."""

FASTEST_LOG_S, LOG_STEP = float(np.log(1e-7)), 0.002
"""A time is kept as the number of steps of its logarithm above that of 0.1 us: to 0.1 %."""

WIDE_KV = "fp16"
"""The KV format that every table has."""

Codes = NDArray[np.int16]
LayoutKey = tuple[str, str, str, str]
"""GPU, engine as the tables call it, weight and KV format."""


@dataclass(frozen=True, kw_only=True)
class ShapeTimes:
    """All that the file says of the shape of that ``key``: decode steps (R, contexts, sequences) in seconds, and
    ``places``, the row of each layout (log2 of TP, EP, DP), -1 where there is none."""

    key: str
    places: Mapping[LayoutKey, Rows]
    decode_s: Floats

    def rows_of(self, candidates: Candidates) -> Rows:
        """The row of every candidate (C,), -1 for those that the tables do not cover. Pipeline stages have the row of
        one stage: a token passes all of them."""
        if not self.places:
            return np.full(len(candidates), -1, dtype=np.intp)
        of_units = candidates.per_unit(("kernels", self.key), lambda u: self.places.get(self._read_as(u)[0], _NOWHERE))
        degrees = np.stack([candidates.tp, candidates.ep, candidates.dp])
        log = np.log2(degrees).astype(np.intp)
        known = (2.0**log == degrees).all(axis=0) & (log < len(LAYOUTS)).all(axis=0)
        tp, ep, dp = np.where(known, log, 0)
        return np.where(known, of_units[candidates.unit, tp, ep, dp], -1)

    def context_share(self, candidates: Candidates) -> Floats:
        """The share of its context at which the step of every candidate is read, (C,)."""
        of_units = candidates.per_unit(("KV of kernels", self.key), lambda u: np.array(self._read_as(u)[1]))
        return np.asarray(of_units[candidates.unit], dtype=np.float64)

    def _read_as(self, unit: Configuration) -> tuple[LayoutKey, float]:
        """The layouts of a GPU, engine and formats, and at which share of a context: where the KV format was not
        measured, those with a KV cache of 16 bit at the context whose cache has as many bytes."""
        key = layout_key(unit)
        wide = (*key[:3], WIDE_KV)
        if key in self.places or wide not in self.places:
            return key, 1.0
        return wide, KV_BYTES[unit.kv_precision] / KV_BYTES[WIDE_KV]


_NOWHERE: Rows = np.full((len(LAYOUTS),) * 3, -1, dtype=np.intp)


def covered(model: Model, candidates: Candidates) -> Rows:
    """Which candidates the tables cover."""
    return np.flatnonzero(shape_times(shape_key(model)).rows_of(candidates) >= 0)


def kernel_decode_s(model: Model, candidates: Candidates, context: float, concurrency: Floats) -> Floats:
    """One decode step of every candidate at a mean context, (C, K) at its concurrencies, in seconds; NaN rows where the
    tables do not cover it."""
    known = shape_times(shape_key(model))
    place = known.rows_of(candidates)
    rows = np.flatnonzero(place >= 0)
    decode = np.full_like(concurrency, np.nan)
    if len(rows):
        groups = (candidates.pp * candidates.dp)[rows, None]
        at = between(known.decode_s[place[rows]], context * known.context_share(candidates)[rows])
        decode[rows] = over_sequences(at, concurrency[rows] / groups)
    return decode


def between(steps: Floats, context: Floats) -> Floats:
    """Steps (R, contexts, ...) each at its context (R,), in straight lines; beyond the ends as between the two
    outermost."""
    k = np.clip(np.searchsorted(CONTEXTS, context) - 1, 0, len(CONTEXTS) - 2)
    share = ((context - CONTEXTS[k]) / (CONTEXTS[k + 1] - CONTEXTS[k])).reshape(-1, *[1] * (steps.ndim - 2))
    row = np.arange(len(steps))
    return np.asarray(steps[row, k] * (1.0 - share) + steps[row, k + 1] * share)


def over_sequences(step: Floats, sequences: Floats) -> Floats:
    """Steps (R, len(SEQUENCES)) at so many sequences a rank (R, K), in straight lines; below one it is that of one."""
    most = len(SEQUENCES) - 2
    k = np.clip(np.frexp(np.maximum(sequences, 1.0))[1] - 1, 0, most)
    share = np.maximum(sequences, 1.0) / 2.0**k - 1.0
    low, high = (np.take_along_axis(step, k + more, axis=1) for more in (0, 1))
    return np.asarray(low + (high - low) * share)


@lru_cache(maxsize=256)
def shape_key(model: Model) -> str:
    """A name for everything of a model that decides step times: models with the same one are the same to the tables."""
    shape = (
        model.layers,
        model.hidden_size,
        model.heads,
        model.kv_heads,
        model.head_dim,
        model.intermediate_size,
        model.vocab_size,
        model.attention,
        model.full_layers,
        model.sliding_layers,
        model.linear_layers,
        model.sliding_window,
        model.kv_elements_full,
        model.kv_elements_sliding,
        model.state_elements,
        model.experts,
        model.experts_per_token,
        model.shared_experts,
        model.moe_intermediate_size,
        model.moe_layers,
    )
    return hashlib.sha256(repr(shape).encode()).hexdigest()[:16]


def layout_key(row: Configuration) -> LayoutKey:
    """The GPU, engine and formats under which a configuration stands in the file."""
    measured = measured_as(row.precision.id)
    return row.gpu.id if not row.gpu.custom else "", row.engine.kernel_tables or "", measured, row.kv_precision


@cache
def measured_as(precision: str) -> str:
    """The first weight format of the catalogue with the same kernels for experts: that of FP16 is BF16, that of AWQ and
    GPTQ any of 4 bits that are widened."""
    kernels = precisions()[precision].moe_kernels
    alike = (other.id for other in precisions().values() if kernels and other.moe_kernels == kernels)
    return next(alike, precision)


@lru_cache(maxsize=16)
def shape_times(key: str) -> ShapeTimes:
    """What the file says of a shape; nothing where it is not there."""
    with _file() as file:
        if f"{key}.values" not in file:
            return ShapeTimes(key=key, places={}, decode_s=np.empty(0))
        values, layouts, rows = decoded(file[f"{key}.values"]), file[f"{key}.layouts"], file[f"{key}.rows"]
    places: dict[LayoutKey, Rows] = {}
    for text, row in zip(layouts, rows, strict=True):
        gpu, engine, precision, kv, tp, ep, dp = str(text).split(" ")
        at = places.setdefault((gpu, engine, precision, kv), _NOWHERE.copy())
        at[tuple(int(np.log2(int(n))) for n in (tp, ep, dp))] = row
    return ShapeTimes(key=key, places=places, decode_s=values.reshape(-1, len(CONTEXTS), len(SEQUENCES)))


def _file() -> np.lib.npyio.NpzFile[Any]:
    """The file, of which each shape is read when it is asked for. Opened anew: processes that are forked off would read
    at each other's place of one that stays open."""
    file: np.lib.npyio.NpzFile[Any] = np.load(FILE, allow_pickle=False)
    return file


def encoded(seconds: Floats) -> Codes:
    """Times (R, V) as the file keeps them, (V, R): what each has more than the one before it, which packs well."""
    steps = np.round((np.log(seconds) - FASTEST_LOG_S) / LOG_STEP)
    return np.diff(steps, axis=1, prepend=0.0).T.astype(np.int16)


def decoded(codes: Codes) -> Floats:
    """Times (R, V) from the file."""
    return np.exp(FASTEST_LOG_S + LOG_STEP * np.cumsum(codes, axis=0, dtype=np.float64)).T


@cache
def kernel_name() -> str:
    """Name and release of the tables that were read."""
    with _file() as file:
        return f"kernel tables (aiconfigurator-core {file['release']})"
