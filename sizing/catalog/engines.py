"""Serving engines and the scheduler defaults the load model uses; what runs where: :mod:`sizing.catalog.support`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal

from sizing.base.errors import UnknownName
from sizing.base.units import GIB, MIB
from sizing.catalog.admission import NO_PROMISES, Promises
from sizing.catalog.engine_memory import EngineMemory, memory_rule, version_numbers, version_year
from sizing.catalog.files import read_yaml
from sizing.catalog.gguf_types import formats_of
from sizing.catalog.gpu import Gpu

Tiers = tuple[tuple[float, int], ...]
"""A default that depends on the GPU's memory: (GiB from which it holds, value), growing."""

FEW_GPUS, LARGE_GIB = 4, 60.0
RESERVED_MIB_PER_GPU, LEAST_RESERVED_MIB = 128.0, 10_240.0
"""What SGLang keeps free for each GPU of an instance, and at least of a GPU of more than 60 GiB; from four GPUs on
graphs are captured for more sequences. Source: SGLang 0.5.23, srt/arg_groups/memory_hook.py."""


@dataclass(frozen=True, kw_only=True, eq=False)  # one object per engine: compared and hashed by identity
class Engine:
    """One serving engine. ``token_budget`` and ``max_sequences`` depend on the memory of the GPU; GPUs of
    ``small_families`` and ``small_gpus`` have the smallest whatever theirs. ``memory`` is how it divides a GPU,
    ``graph_sequences`` those of its largest graph on less than four GPUs and on more, where it reserves for them.
    ``state_bytes`` are those of a value of recurrent state, 4 for classes whose name begins as one of ``wide_state``;
    ``window_pools`` begin the classes whose layers with a window have a pool of their own, where an engine has such.

    ``version`` is the one that is spoken of, ``status`` whether it is still worked on. ``built_on`` is the engine
    inside it, whose support is its own unless stated otherwise; ``until``, decimal year, and ``before``: until when it
    was another engine, by whose fit and defaults benchmarks of that time are predicted; ``built_on_since`` are
    versions of it and those of the engine inside.
    ``surrogate`` is the engine whose fitted step times are used, mostly itself; ``dense_short_prompts`` GPU families on
    which sparse layers attend densely to prompts that they would choose all of; ``evicts`` whether a running sequence
    can lose its KV cache to another, ``promises`` what such an engine keeps free when it admits one; ``narrow_kv``
    whether an unstated KV format is FP8 beside narrow weights; ``widened_kv`` GPU families without FP8 units on which
    it keeps an FP8 KV cache all the same, of models without latent attention; ``batch_option`` the setting that limits
    the sequences in flight, "" where none is documented; ``disaggregated`` the GPU families on which prefill and decode
    may be instances of their own, ``pools_of_types`` whether these may be of several GPU types, of one vendor ("any")
    or one family, "" where nothing says so; ``only_families`` those on which it is considered unless it is named, ()
    for all, or weights are in one of its ``own_formats``; ``splits_by_layer`` whether GPUs share a model by layers, as
    many as there are; ``plans_ahead`` the decimal year since which it plans a step before the last one has ended, by
    class of models; ``kernel_tables`` its name in NVIDIA's tables, "" where it was not measured; ``stands_in_for``
    engines outside the catalogue that run by its defaults.
    """

    id: str
    label: str
    version: str
    block_tokens: int
    token_budget: Tiers
    max_sequences: Tiers
    memory: EngineMemory
    surrogate: str
    source: str
    date: str
    aliases: tuple[str, ...]
    evicts: bool
    eviction_source: str
    promises: Promises = NO_PROMISES
    status: Literal["active", "archived"] = "active"
    status_source: str = ""
    built_on: str = ""
    before: str = ""
    until: float = 0.0
    built_on_since: tuple[tuple[str, str], ...] = ()
    small_families: tuple[str, ...] = ()
    small_gpus: tuple[str, ...] = ()
    state_bytes: float = 4.0
    wide_state: tuple[str, ...] = ()
    window_pools: tuple[str, ...] = ()
    graph_sequences: tuple[Tiers, Tiers] = (((0.0, 0),), ((0.0, 0),))
    narrow_kv: bool = False
    widened_kv: tuple[str, ...] = ()
    widened_kv_source: str = ""
    kernel_tables: str = ""
    stands_in_for: tuple[str, ...] = ()
    batch_option: str = ""
    batch_source: str = ""
    disaggregated: tuple[str, ...] = ()
    disaggregated_source: str = ""
    pools_of_types: Literal["", "family", "any"] = ""
    pools_of_types_source: str = ""
    only_families: tuple[str, ...] = ()
    own_formats: tuple[str, ...] = ()
    plans_ahead: tuple[tuple[str, float], ...] = ()
    plans_ahead_source: str = ""
    splits_by_layer: bool = False
    dense_short_prompts: tuple[str, ...] = ()
    sparse_source: str = ""
    pieces_since: float = math.inf
    pieces_source: str = ""

    def with_memory(self, rule: EngineMemory) -> Engine:
        """The engine as it was when that rule held, with the steps and the sequences of that time."""
        if rule is self.memory:
            return self
        then = replace(self, memory=rule)
        if rule.token_budget:
            then = replace(then, token_budget=_tiers_in(rule.token_budget), small_gpus=())
        return replace(then, max_sequences=_tiers_in(rule.max_sequences)) if rule.max_sequences else then

    def plans_ahead_in(self, software_year: float, hf_architecture: str) -> bool:
        """Whether it, with software of a year, plans a step of a model before the last one has ended."""
        since = dict(self.plans_ahead)
        return software_year >= since.get(hf_architecture, since.get("", math.inf))

    def budget(self, gpu: Gpu) -> int:
        """Tokens the engine processes in one step on this GPU (prefill chunks plus decoding sequences)."""
        return self._tier(self.token_budget, gpu)

    def sequences(self, gpu: Gpu) -> int:
        """Sequences the engine keeps in flight on this GPU, by its defaults."""
        return self._tier(self.max_sequences, gpu)

    def captured_sequences(self, gpu: Gpu, gpus: int) -> int:
        """Sequences of the largest CUDA graph in an instance of so many GPUs, of an engine that says so."""
        return self._tier(self.graph_sequences[gpus >= FEW_GPUS], gpu)

    @property
    def answer_held(self) -> float:
        """Share of its answer for which a sequence in flight takes KV cache, in the mean over its life.

        All of it where nothing is evicted: it is reserved. Else half, the mean of what has been generated so far, and
        what the engine keeps free of the half to come.
        """
        return (1.0 + self.promises.of_running) / 2.0 if self.evicts else 1.0

    def state_value_bytes(self, hf_architecture: str) -> float:
        """Bytes of one value of recurrent state of a class of models."""
        return 4.0 if hf_architecture.startswith(self.wide_state) else self.state_bytes

    def window_pool(self, hf_architecture: str) -> float | None:
        """Share of the tokens for which layers with a window have room: None where they have a place for each."""
        return self.memory.window_pool if hf_architecture.startswith(self.window_pools) else None

    def _tier(self, tiers: Tiers, gpu: Gpu) -> int:
        small = gpu.family in self.small_families or gpu.id in self.small_gpus
        memory = 0.0 if small else gpu.memory_bytes / GIB
        return next((value for least, value in reversed(tiers) if memory >= least), tiers[0][1])

    def fraction(self, gpu: Gpu, gpus: int, *, encoder: bool) -> float:
        """Share of a GPU's memory that the engine uses by default in an instance of so many GPUs, unless told another;
        where it chooses it, for models with an ``encoder`` ``memory.vision_share`` of that.

        SGLang reserves 512 MiB, 1.5 MiB for each token of a step, 128 MiB for each GPU and 2 MiB for each sequence of
        its largest graph, at least 10 GiB of a GPU with more than 60. Source: SGLang 0.5.23, memory_hook.py.
        """
        if self.memory.fraction is not None:
            return self.memory.fraction
        reserved = self.reserved_mib(gpu, many=gpus >= FEW_GPUS) + RESERVED_MIB_PER_GPU * gpus
        if gpu.memory_bytes > LARGE_GIB * GIB:
            reserved = max(reserved, LEAST_RESERVED_MIB)
        share = (self.memory.vision_share or 1.0) if encoder else 1.0
        return round((1.0 - reserved * MIB / gpu.memory_bytes) * share, 3)

    def reserved_mib(self, gpu: Gpu, *, many: bool) -> float:
        """MiB that an engine without a fraction of its own keeps free for steps and graphs, beside those per GPU."""
        return 512 + 1.5 * self.budget(gpu) + 2 * self._tier(self.graph_sequences[many], gpu)


@lru_cache(maxsize=256)
def with_fraction(engine: Engine, fraction: float | None) -> Engine:
    """The engine told to use that share of a GPU's memory, one object for equal ones; itself without one."""
    return engine if fraction is None else replace(engine, memory=replace(engine.memory, fraction=fraction))


@cache
def engines() -> Mapping[str, Engine]:
    """All engines by id, in the order of the data file."""
    return MappingProxyType({name: _engine(name, row) for name, row in read_yaml("engines.yaml").items()})


def _engine(name: str, row: dict[str, object]) -> Engine:
    values = dict(row)
    for key in ("token_budget", "max_sequences"):
        values[key] = _tiers(values[key])
    if "graph_sequences" in values:
        values["graph_sequences"] = tuple(map(_tiers, values["graph_sequences"]))  # type: ignore[call-overload]
    values["memory"] = memory_rule(str(values.get("built_on") or name))
    values["built_on_since"] = tuple(row.get("built_on_since", {}).items())  # type: ignore[attr-defined]
    values["plans_ahead"] = tuple(row.get("plans_ahead", {}).items())  # type: ignore[attr-defined]
    for key in (
        "aliases",
        "dense_short_prompts",
        "disaggregated",
        "only_families",
        "own_formats",
        "small_families",
        "small_gpus",
        "stands_in_for",
        "wide_state",
        "widened_kv",
        "window_pools",
    ):
        values[key] = tuple(values.get(key, ()))  # type: ignore[arg-type]
    if "promises" in values:
        values["promises"] = Promises(**{k: float(v) for k, v in row["promises"].items()})  # type: ignore[attr-defined]
    values["own_formats"] = formats_of(values["own_formats"])  # type: ignore[arg-type]
    for key in ("date", "version"):
        values[key] = str(values[key])
    return Engine(id=name, **{"surrogate": name, **values})  # type: ignore[arg-type]


def _tiers(sizes: object) -> Tiers:
    assert isinstance(sizes, dict)
    return tuple(sorted((float(least), int(value)) for least, value in sizes.items()))


def _tiers_in(text: str) -> Tiers:
    """The tiers of a cell, "0:2048 70:8192"."""
    return _tiers(dict(tier.split(":") for tier in text.split()))


def resolve_engine(name: str) -> Engine:
    """The engine called ``name`` (id, alias or label, any case). Raises UnknownName."""
    key = name.strip().lower()
    for engine in engines().values():
        if key in (engine.id, engine.label.lower(), *engine.aliases):
            return engine
    raise UnknownName("engine", name, engines())


ORCHESTRATOR = "dynamo-"
"""Prefix of engines under NVIDIA Dynamo, which benchmarks use for prefill and decode instances (InferenceMAX, 2025)."""


def runs_apart(name: str) -> bool:
    """Whether the engine that a benchmark names runs under an orchestrator of prefill and decode instances."""
    return name.lower().startswith(ORCHESTRATOR)


def engine_in_a_benchmark(name: str, software_year: float | None = None) -> Engine:
    """The engine that a benchmark of some year names, which may be one that is not sized; "" is an engine that is not
    stated. Without a year it is today's.

    A ``dynamo-`` prefix names the orchestrator above it (:func:`runs_apart`). An engine outside the catalogue has the
    scheduler defaults of the one that stands in for it, and a fit of its own where it has been measured. Raises
    UnknownName.
    """
    key = name.lower().removeprefix(ORCHESTRATOR)
    for engine in engines().values():
        if key in engine.stands_in_for:
            return _not_sized(engine, key, name, surrogate=key)
    if not key:
        return _not_sized(engines()["vllm"], "unknown", "engine not stated", "default")
    return _of_year(resolve_engine(key), software_year)


def in_version(engine: Engine, version: str, no_older_than: str = "") -> Engine:
    """The engine in a version ("0.11.2+rhai1", "v0.30") or of the date of one ("2026-02", "2025"); today's for another
    text. One known by its date alone is ``no_older_than`` the date of the model that it serves."""
    numbers, year = version_numbers(version), version_year(version)
    if numbers is None:
        return _of_year(engine, None if year is None else max(year, version_year(no_older_than) or 0.0))
    if not engine.built_on:
        return engine.with_memory(memory_rule(engine.memory.engine, version))
    inside = [v for since, v in engine.built_on_since if (version_numbers(since) or numbers) <= numbers]
    return engine.with_memory(memory_rule(engine.memory.engine, inside[-1])) if inside else _as_before(engine)


def _of_year(engine: Engine, software_year: float | None) -> Engine:
    """The engine as it was in some year: what is another engine's since has that one's defaults, fit and tables.

    The sequences are today's: a benchmark whose version nobody knows has hardly kept to a lower default (MLPerf's of
    2024 on MI300X carry a third more than 256 sequences could).
    """
    if software_year is None:
        return engine
    if software_year < engine.until:
        engine = _as_before(engine)
    then = engine.with_memory(memory_rule(engine.memory.engine, year=software_year))
    return then if then is engine else replace(then, max_sequences=engine.max_sequences)


def _as_before(engine: Engine) -> Engine:
    """The engine when it was another one."""
    then = engines()[engine.before]
    return replace(then, id=engine.id, label=engine.label, disaggregated=engine.disaggregated)


def _not_sized(defaults: Engine, name: str, label: str, surrogate: str) -> Engine:
    """An engine of which only the scheduler defaults are taken over: no kernel tables, no rule about its KV cache."""
    return replace(defaults, id=name, label=label, surrogate=surrogate, evicts=True, narrow_kv=False, kernel_tables="")
