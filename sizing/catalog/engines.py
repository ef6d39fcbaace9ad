"""Serving engines and the scheduler defaults the load model uses; what runs where: :mod:`sizing.catalog.support`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Literal

from sizing.base.errors import UnknownName
from sizing.base.units import GIB
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu import Gpu

LARGE_MEMORY_BYTES = 70 * GIB
"""GPU memory from which engines batch more by default (vLLM engine arguments, v0.14)."""


@dataclass(frozen=True, kw_only=True, eq=False)  # one object per engine: compared and hashed by identity
class Engine:
    """One serving engine. ``token_budget`` and ``max_sequences`` are (below 70 GiB, at or above); GPUs of
    ``small_families`` have the former whatever their memory.

    ``version`` is the one that is spoken of, ``status`` whether it is still worked on. ``built_on`` is the engine
    inside it, whose support is its own unless stated otherwise; ``until``, decimal year, and ``before``: until when it
    was another engine, by whose fit and defaults benchmarks of that time are predicted.
    ``surrogate`` is the engine whose fitted step times are used, mostly itself; ``dense_short_prompts`` GPU families on
    which sparse layers attend densely to prompts that they would choose all of; ``evicts`` whether a running sequence
    can lose its KV cache to another; ``narrow_kv`` whether an unstated KV format is FP8 beside narrow weights;
    ``batch_option`` the setting that limits the sequences in flight, "" where none is documented; ``disaggregated`` the
    GPU families on which prefill and decode may be instances of their own; ``kernel_tables`` its name in NVIDIA's
    tables, "" where it was not measured; ``stands_in_for`` engines outside the catalogue that run by its defaults.
    """

    id: str
    label: str
    version: str
    block_tokens: int
    token_budget: tuple[int, int]
    max_sequences: tuple[int, int]
    memory_fraction: float
    surrogate: str
    source: str
    date: str
    aliases: tuple[str, ...]
    evicts: bool
    eviction_source: str
    status: Literal["active", "archived"] = "active"
    status_source: str = ""
    built_on: str = ""
    before: str = ""
    until: float = 0.0
    small_families: tuple[str, ...] = ()
    narrow_kv: bool = False
    kernel_tables: str = ""
    stands_in_for: tuple[str, ...] = ()
    batch_option: str = ""
    batch_source: str = ""
    disaggregated: tuple[str, ...] = ()
    disaggregated_source: str = ""
    dense_short_prompts: tuple[str, ...] = ()
    sparse_source: str = ""

    def budget(self, gpu: Gpu) -> int:
        """Tokens the engine processes in one step on this GPU (prefill chunks plus decoding sequences)."""
        return self.token_budget[self._is_large(gpu)]

    def sequences(self, gpu: Gpu) -> int:
        """Sequences the engine keeps in flight on this GPU, by its defaults."""
        return self.max_sequences[self._is_large(gpu)]

    def _is_large(self, gpu: Gpu) -> bool:
        return gpu.memory_bytes >= LARGE_MEMORY_BYTES and gpu.family not in self.small_families


@cache
def engines() -> Mapping[str, Engine]:
    """All engines by id, in the order of the data file."""
    return MappingProxyType({name: _engine(name, row) for name, row in read_yaml("engines.yaml").items()})


def _engine(name: str, row: dict[str, object]) -> Engine:
    values = dict(row)
    for key in ("token_budget", "max_sequences"):
        sizes = values[key]
        assert isinstance(sizes, dict)
        values[key] = (int(sizes["small"]), int(sizes["large"]))
    for key in ("aliases", "dense_short_prompts", "disaggregated", "small_families", "stands_in_for"):
        values[key] = tuple(values.get(key, ()))  # type: ignore[arg-type]
    for key in ("date", "version"):
        values[key] = str(values[key])
    return Engine(id=name, **{"surrogate": name, **values})  # type: ignore[arg-type]


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


def _of_year(engine: Engine, software_year: float | None) -> Engine:
    """The engine as it was in some year: what is another engine's since has that one's defaults, fit and tables."""
    if software_year is None or software_year >= engine.until:
        return engine
    then = engines()[engine.before]
    return replace(then, id=engine.id, label=engine.label, disaggregated=engine.disaggregated)


def _not_sized(defaults: Engine, name: str, label: str, surrogate: str) -> Engine:
    """An engine of which only the scheduler defaults are taken over: no kernel tables, no rule about its KV cache."""
    return replace(defaults, id=name, label=label, surrogate=surrogate, evicts=True, narrow_kv=False, kernel_tables="")
