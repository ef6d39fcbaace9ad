"""Every deployment worth considering: GPU x engine x precision x parallelism, as a table of arrays.

The table depends on the model and on what the scenario allows, not on the load, so that it can be cached and every
later stage works on whole columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np

from sizing.base.arrays import PER_ROW, Columns, Counts, Floats, Rows
from sizing.catalog.engines import Engine, engines
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import Precision, gpu_supports, precisions
from sizing.question.configuration import Allowed, Configuration

MAX_GPUS_PER_INSTANCE = 16
"""GPUs of one instance, at most: two 8-GPU servers; more only inside one larger scale-up domain."""
TP_SIZES = DP_SIZES = (1, 2, 4, 8, 16)
"""Degrees of tensor and attention-data parallelism that are tried unless others are asked for: powers of two, as heads
and experts divide, up to two servers."""
PP_SIZES = (1, 2, 4)
"""Degrees of pipeline parallelism. Chosen: because more stages than servers in a row make every token wait longer."""


@dataclass(frozen=True)
class Candidates(Columns):
    """A table of configurations: ``rows[i]`` and the columns the vectorised stages use, each of length C.

    Many rows differ only in parallelism: ``units`` are the distinct combinations of GPU, engine and number formats, and
    ``unit[i]`` says which one row ``i`` has, so that a column of anything else is looked up once per unit.
    """

    rows: tuple[Configuration, ...] = field(metadata=PER_ROW)
    tp: Floats
    pp: Floats
    ep: Floats
    dp: Floats
    units: tuple[Configuration, ...]
    unit: Counts
    _of_units: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def gpus(self) -> Floats:
        """GPUs per instance, shape (C,)."""
        return self.tp * self.pp * self.dp

    def column(self, value: Callable[[Configuration], float], rows: Rows | slice = slice(None)) -> Floats:
        """A column (C,) of something that depends on GPU, engine and number formats only, or what some ``rows`` have.

        What depends on nothing else than the row (no closure) is computed once for these units and remembered.
        """
        plain = isinstance(value, FunctionType) and value.__closure__ is None and value.__defaults__ is None
        key = value.__code__ if plain and isinstance(value, FunctionType) else None
        values = self._of_units.get(key) if plain else None
        if values is None:
            values = np.array([value(u) for u in self.units], dtype=np.float64)
            if plain:
                self._of_units[key] = values
        return values[self.unit[rows]]

    def per_unit(self, key: object, value: Callable[[Configuration], Counts | int]) -> Counts:
        """What ``value`` says of each of the ``units``, stacked (U, ...); computed once under a key."""
        values = self._of_units.get(key)
        if values is None:
            values = self._of_units[key] = np.array([value(unit) for unit in self.units])
        return values

    @property
    def gpu_number(self) -> Counts:
        """Which GPU type each row has, (C,): numbers from 0, the same for every part of one table."""
        number: dict[str, int] = {}
        of_units = self.per_unit("gpu", lambda u: number.setdefault(u.gpu.id, len(number)))
        return np.asarray(of_units[self.unit], dtype=np.int64)

    def place_of_gpu(self, gpus: Sequence[Gpu], rows: Rows | slice = slice(None)) -> Counts:
        """The place of each row's GPU in ``gpus``, (C,), or that of some ``rows``. Raises KeyError for one that is not
        there."""
        place = {gpu.id: i for i, gpu in enumerate(gpus)}
        of_units = self.per_unit(("place", *place), lambda u: place[u.gpu.id])
        return np.asarray(of_units[self.unit[rows]], dtype=np.int64)


def table(rows: Sequence[Configuration]) -> Candidates:
    """Columns from rows."""
    degrees = np.array([(r.tp, r.pp, r.ep, r.dp) for r in rows], dtype=np.float64).reshape(-1, 4)
    number: dict[tuple[str, str, str, str], int] = {}
    units: list[Configuration] = []
    unit = np.empty(len(rows), dtype=np.int64)
    for i, row in enumerate(rows):
        unit[i] = number.setdefault((row.gpu.id, row.engine.id, row.precision.id, row.kv_precision), len(units))
        if unit[i] == len(units):
            units.append(row)
    tp, pp, ep, dp = (np.ascontiguousarray(degrees[:, i]) for i in range(4))
    return Candidates(tuple(rows), tp, pp, ep, dp, tuple(units), unit)


@lru_cache(maxsize=256)
def enumerate_for(model: Model, gpu: Gpu, allowed: Allowed) -> tuple[Configuration, ...]:
    """All configurations of ``model`` on ``gpu`` that hardware, engine and architecture support, as far as allowed."""
    layouts = tuple(_parallelism(model, gpu, allowed))
    return tuple(
        Configuration(gpu=gpu, engine=engine, precision=precision, kv_precision=kv, tp=tp, pp=pp, ep=ep, dp=dp)
        for engine in engines().values()
        if not allowed.engines or engine.id in allowed.engines
        for precision in _formats(model, gpu, engine, allowed)
        for kv in _kv_formats(gpu, precision, allowed)
        for tp, pp, ep, dp in layouts
    )


def _formats(model: Model, gpu: Gpu, engine: Engine, allowed: Allowed) -> Iterator[Precision]:
    """Formats the engine runs on the GPU. Unless asked for, none wider than the checkpoint, none that loses accuracy
    where the scenario leaves those out, and FP16 only without BF16."""
    native = model.published_format
    for name in engine.families.get(gpu.family, ()):
        precision = precisions()[name]
        if allowed.precisions:
            wanted = name in allowed.precisions
        else:
            redundant = name == "fp16" and gpu.supports_bf16
            wanted = precision.bytes <= native.bytes and not redundant and _may_convert(native, precision)
            wanted = wanted and not (allowed.accurate_only and loses_accuracy(native, precision))
        if wanted and gpu_supports(gpu, precision):
            yield precision


def loses_accuracy(native: Precision, precision: Precision) -> bool:
    """Whether weights published in ``native`` answer worse in a format, beyond what is measurable."""
    return precision.id != native.id and not precision.keeps_accuracy


def _may_convert(native: Precision, precision: Precision) -> bool:
    """Not to or from a format of training (MXFP4 of gpt-oss): unasked, the model is offered as it was trained."""
    return native.id == precision.id or not (native.from_training or precision.from_training)


def _kv_formats(gpu: Gpu, precision: Precision, allowed: Allowed) -> tuple[str, ...]:
    """KV-cache format: as asked, else FP8 beside weights that compute in FP8 or below, else 16 bit."""
    possible = ("fp16", "fp8") if gpu.supports_fp8 else ("fp16",)
    if allowed.kv_precisions:
        return tuple(k for k in possible if k in allowed.kv_precisions)
    return ("fp8",) if gpu.supports_fp8 and precision.is_narrow else ("fp16",)


def _parallelism(model: Model, gpu: Gpu, allowed: Allowed) -> Iterator[tuple[int, int, int, int]]:
    """(TP, PP, EP, DP): TP divides the heads and stays in one scale-up domain or server; EP and DP only for MoE."""
    server = max(gpu.domain_gpus, 8)
    tp_sizes = allowed.tp or TP_SIZES
    for tp, pp in product(tp_sizes, allowed.pp or PP_SIZES):
        if model.heads % tp or tp > server or pp > model.layers or tp * pp > max(MAX_GPUS_PER_INSTANCE, server):
            continue
        for ep in _expert_parallelism(model, tp, allowed):
            yield tp, pp, ep, 1
    if not model.is_moe or (allowed.tp and 1 not in allowed.tp) or (allowed.pp and 1 not in allowed.pp):
        return
    for dp in DP_SIZES[1:]:
        if dp <= server and model.experts % dp == 0 and (not allowed.ep or dp in allowed.ep):
            yield 1, 1, dp, dp


def _expert_parallelism(model: Model, tp: int, allowed: Allowed) -> Iterator[int]:
    """Experts split like every matrix (EP 1) or spread whole over the TP group (EP = TP)."""
    for ep in {1, tp} if model.is_moe and model.experts % tp == 0 else {1}:
        if not allowed.ep or ep in allowed.ep:
            yield ep
