"""Every deployment worth considering: GPU x engine x precision x parallelism that runs, as a table of arrays.

The table depends on the model and on what the scenario allows, not on the load, so that it can be cached and every
later stage works on whole columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from sizing.base.arrays import PER_ROW, Columns, Counts, Flags, Floats, Rows
from sizing.catalog.adapters import adapter_support
from sizing.catalog.engines import Engine, engines, with_fraction
from sizing.catalog.execution import execution
from sizing.catalog.gpu import Gpu
from sizing.catalog.layout_support import Degrees, LayoutSupport
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES, Precision, gpu_supports, precisions
from sizing.catalog.support import Support, support
from sizing.deployments.layouts import layouts
from sizing.question.configuration import Allowed, Configuration

ONLINE = ("fp8",)
"""Formats that engines convert a 16-bit checkpoint to while loading it, as established practice: one scale per tensor
or row (vLLM docs, features/quantization/fp8, "Online Dynamic Quantization"; SGLang docs, quantization, "Online
Quantization")."""
UNKNOWN_COSTS = 1.3
"""How much more a deployment that is known to run may cost and still come before one that no source says to run.
Chosen: about what a failed trial and its time cost."""
UNKNOWN_COUNTS = 1.44
"""By what is counted of a deployment that no source says to run is multiplied before it is ranked. Chosen:
:data:`UNKNOWN_COSTS` times what two halvings of the format count (:mod:`sizing.search.preferences`), so that it does
not come first because what is known to run does so in another format."""
CONVERTS_ONLINE = ("vllm", "sglang")
"""Engines that do so, and those built on them."""
CONVERTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"llamacpp": ("q8_0", "q4_k_m"), "openvino": ("int8_wo", "int4_wo")}
)
"""Formats that an engine's own converter makes of a 16-bit checkpoint before it is served (llama.cpp, tools/quantize;
optimum-intel, ``--weight-format``)."""


@dataclass(frozen=True)
class Candidates(Columns):
    """A table of configurations: ``rows[i]`` and the columns the vectorised stages use, each of length C.

    Many rows differ only in parallelism: ``units`` are the distinct combinations of GPU, engine and number formats, and
    ``unit[i]`` says which one row ``i`` has, so that a column of anything else is looked up once per unit.
    ``draft_tokens``: those of a step of each row, 0 without speculative decoding.
    """

    rows: tuple[Configuration, ...] = field(metadata=PER_ROW)
    tp: Floats
    pp: Floats
    ep: Floats
    dp: Floats
    units: tuple[Configuration, ...]
    unit: Counts
    draft_tokens: Counts
    _of_units: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def gpus(self) -> Floats:
        """GPUs per instance, shape (C,)."""
        return self.tp * self.pp * self.dp

    def column(
        self, value: Callable[[Configuration], float], rows: Rows | slice = slice(None), *, key: object = None
    ) -> Floats:
        """A column (C,) of something that depends on GPU, engine and number formats only, or what some ``rows`` have.

        What depends on nothing else than the row (no closure) is computed once for these units and remembered, and what
        a ``key`` names all of.
        """
        if key is None and isinstance(value, FunctionType) and value.__closure__ is None and not value.__defaults__:
            key = value.__code__
        values = self._of_units.get(key)
        if values is None:
            values = np.array([value(u) for u in self.units], dtype=np.float64)
            if key is not None:
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
    """The configurations as columns, one entry for each row in the same order."""
    degrees = np.array([(r.tp, r.pp, r.ep, r.dp) for r in rows], dtype=np.float64).reshape(-1, 4)
    number: dict[tuple[str, str, str, str], int] = {}
    units: list[Configuration] = []
    unit = np.empty(len(rows), dtype=np.int64)
    for i, row in enumerate(rows):
        unit[i] = number.setdefault((row.gpu.id, row.engine.id, row.precision.id, row.kv_precision), len(units))
        if unit[i] == len(units):
            units.append(row)
    tp, pp, ep, dp = (np.ascontiguousarray(degrees[:, i]) for i in range(4))
    drafts = np.array([row.speculation.draft_tokens for row in rows], dtype=np.int64)
    return Candidates(tuple(rows), tp, pp, ep, dp, tuple(units), unit, drafts)


@lru_cache(maxsize=256)
def enumerate_for(model: Model, gpu: Gpu, allowed: Allowed) -> tuple[Configuration, ...]:
    """All configurations of ``model`` on ``gpu`` that run, or may run for all that is known, as far as allowed.

    A share of the memory that the scenario sets is of all of it where a setting of the system gives programs that.
    """
    if allowed.memory_fraction is not None and gpu.visible_setting:
        gpu = replace(gpu, visible_bytes=None)
    return tuple(
        Configuration(
            gpu=gpu,
            engine=engine,
            precision=precision,
            kv_precision=kv,
            tp=tp,
            pp=pp,
            ep=ep,
            dp=dp,
            speculation=allowed.speculation,
            adapters=allowed.adapters,
        )
        for engine in engines_allowed(model, allowed, gpu)
        for precision in formats_tried(model, gpu, engine, allowed)
        if (running := runnable(model, gpu, engine, precision, allowed)) is not None
        for kv in kv_formats(gpu, running, precision, allowed)
        for tp, pp, ep, dp in _running_layouts(running, layouts(model, gpu, allowed, engine))
    )


@lru_cache(maxsize=256)
def table_for(model: Model, gpu: Gpu, allowed: Allowed) -> Candidates:
    """The same as a table."""
    return table(enumerate_for(model, gpu, allowed))


def engines_allowed(model: Model, allowed: Allowed, gpu: Gpu) -> Iterator[Engine]:
    """Engines that the scenario allows on a GPU, in the order of the catalogue, with the share of memory that it sets;
    unasked, none outside the families that it is for, unless the weights are in a format of its own files."""
    formats = set(allowed.precisions or [model.published_format.id])

    def considered(one: Engine) -> bool:
        made_for = not one.only_families or gpu.family in one.only_families
        return one.id in allowed.engines if allowed.engines else made_for or bool(formats & set(one.own_formats))

    known = (one for one in engines().values() if considered(one))
    return (with_fraction(one, allowed.memory_fraction) for one in known)


def runnable(model: Model, gpu: Gpu, engine: Engine, precision: Precision, allowed: Allowed) -> LayoutSupport | None:
    """What the engine runs of the model in a format on the GPU; None where it does not, or only when it is named."""
    stated = support(engine, gpu, model, precision)
    if stated.status == "no" or not named_enough(stated, allowed):
        return None
    return LayoutSupport(engine, gpu, model, precision, stated, allowed.speculates)


def named_enough(stated: Support, allowed: Allowed) -> bool:
    """Whether the scenario names what it has to: an archived engine, a GPU that today's versions dropped."""
    named = {"engine": bool(allowed.engines), "gpu": allowed.gpus_named}
    return all(named[what] for what in stated.unless_named)


def _running_layouts(running: LayoutSupport, tried: tuple[Degrees, ...]) -> Iterator[Degrees]:
    return (degrees for degrees in tried if running.of(degrees).status != "no")


def formats_tried(model: Model, gpu: Gpu, engine: Engine, allowed: Allowed) -> Iterator[Precision]:
    """Formats as asked for; unasked, those that exist: the checkpoint's own, those somebody published, and what the
    engine converts to while loading where the GPU multiplies in it; none that loses accuracy where the scenario leaves
    those out. FP16 stands for BF16 where the GPU lacks that.

    A format that is meant to be multiplied in, and is not there, is tried unasked only where it is the checkpoint's
    own: nobody quantises to NVFP4 in order to widen it again, while formats for weights alone are made for that.
    """
    if allowed.precisions:
        yield from (one for name, one in precisions().items() if name in allowed.precisions)
        return
    own = model.published_format
    existing = {own.id, *model.published_formats}
    if own.bytes >= WIDE_BYTES:
        existing.discard("fp16" if gpu.supports_bf16 else "bf16")
        existing.add("bf16" if gpu.supports_bf16 else "fp16")
        if engine.id in CONVERTS_ONLINE or engine.built_on in CONVERTS_ONLINE:
            existing |= {name for name in ONLINE if gpu_supports(gpu, precisions()[name])}
        existing.update(CONVERTED.get(engine.id, ()))
    for name, one in precisions().items():
        if name not in existing or not _as_accurate(own, one, allowed):
            continue
        if name == own.id or one.compute == "wide" or execution(engine, gpu, one) == "native":
            yield one


def _as_accurate(own: Precision, precision: Precision, allowed: Allowed) -> bool:
    """Whether the scenario considers formats that lose as much accuracy."""
    return allowed.accuracy == "any" or loses_accuracy(own, precision) == (allowed.accuracy == "lost")


def loses_accuracy(native: Precision, precision: Precision) -> bool:
    """Whether weights published in ``native`` answer worse in a format, beyond what is measurable."""
    return precision.id != native.id and not precision.keeps_accuracy


def kv_formats(gpu: Gpu, running: LayoutSupport, precision: Precision, allowed: Allowed) -> tuple[str, ...]:
    """KV-cache format: as asked, else FP8 beside weights that are multiplied in FP8 or below, else 16 bit."""
    widened = gpu.family in running.engine.widened_kv and running.model.attention != "mla"
    possible = ("fp16", "fp8") if gpu.supports_fp8 or widened else ("fp16",)
    if allowed.kv_precisions:
        return tuple(k for k in possible if k in allowed.kv_precisions)
    narrow = gpu.supports_fp8 and precision.is_narrow and running.base.mode == "native"
    return ("fp8",) if narrow else ("fp16",)


def support_of(model: Model, row: Configuration, *, speculates: bool = False) -> Support:
    """Whether the engine runs a configuration of the model, and what decides it."""
    stated = support(row.engine, row.gpu, model, row.precision)
    degrees = (row.tp, row.pp, row.ep, row.dp)
    return LayoutSupport(row.engine, row.gpu, model, row.precision, stated, speculates).of(degrees)


def unknown_support(model: Model, candidates: Candidates, rows: Rows | slice = slice(None)) -> Flags:
    """Which candidates (C,), or some ``rows`` of them, no source says to run; looked up once per unit and aspect."""

    def aspects(unit: Configuration) -> Counts:
        stated = support(unit.engine, unit.gpu, model, unit.precision)
        running = LayoutSupport(unit.engine, unit.gpu, model, unit.precision, stated)
        alone = stated.status == "unknown" or adapters_unknown(model, unit)
        return np.array([alone, *running.unknown_aspects], dtype=np.int64)

    of_units = candidates.per_unit(("unknown_support", model.id), aspects).reshape(-1, 6)
    whole, tensor, pipeline, experts, ranks, hosts = of_units[candidates.unit[rows]].T > 0
    split = (candidates.tp, candidates.pp, candidates.ep, candidates.dp)
    tp, pp, ep, dp = (degree[rows] > 1 for degree in split)
    beyond = candidates.tp[rows] * candidates.dp[rows] > candidates.column(_host_gpus, rows)
    return np.asarray(whole | (tensor & tp) | (pipeline & pp) | (experts & ep) | (ranks & dp) | (hosts & beyond))


def _host_gpus(row: Configuration) -> float:
    return float(row.gpu.host_gpus or np.inf)


def adapters_unknown(model: Model, row: Configuration) -> bool:
    """Whether a configuration serves adapters that no source says its engine can."""
    adapters = row.adapters
    return adapters.number > 0 and adapter_support(row.engine, model, adapters.targets).status == "unknown"


def support_factor(model: Model, candidates: Candidates, rows: Rows | slice = slice(None)) -> Floats:
    """The factor on what is counted of candidates (C,), or of some ``rows``: :data:`UNKNOWN_COUNTS` where support is
    unknown."""
    return np.where(unknown_support(model, candidates, rows), UNKNOWN_COUNTS, 1.0)


def linked_gpus(row: Configuration) -> float:
    """GPUs that fast links join, for :meth:`Candidates.column`."""
    return float(row.gpu.linked_gpus)
