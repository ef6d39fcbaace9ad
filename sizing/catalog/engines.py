"""Serving engines: formats they run on each GPU family, and the scheduler defaults the load model uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.base.errors import UnknownName
from sizing.base.units import GIB
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu import Gpu

LARGE_MEMORY_BYTES = 70 * GIB  # vLLM raises its batching defaults at 70 GiB (engine arguments, v0.14)


@dataclass(frozen=True, kw_only=True, eq=False)  # one object per engine: compared and hashed by identity
class Engine:
    """One serving engine. ``token_budget`` and ``max_sequences`` are (below 70 GiB, at or above).

    ``batch_option`` is the setting that limits the sequences in flight, "" where none is documented;
    ``disaggregated`` the GPU families on which it runs prefill and decode as instances of their own.
    """

    id: str
    label: str
    families: Mapping[str, tuple[str, ...]]
    block_tokens: int
    token_budget: tuple[int, int]
    max_sequences: tuple[int, int]
    memory_fraction: float
    surrogate: str
    source: str
    date: str
    aliases: tuple[str, ...]
    batch_option: str = ""
    batch_source: str = ""
    disaggregated: tuple[str, ...] = ()
    disaggregated_source: str = ""

    def budget(self, gpu: Gpu) -> int:
        """Tokens the engine processes in one step on this GPU (prefill chunks plus decoding sequences)."""
        return self.token_budget[gpu.memory_bytes >= LARGE_MEMORY_BYTES]

    def sequences(self, gpu: Gpu) -> int:
        """Sequences the engine keeps in flight on this GPU, by its defaults."""
        return self.max_sequences[gpu.memory_bytes >= LARGE_MEMORY_BYTES]


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
    families = values["families"]
    assert isinstance(families, dict)
    values["families"] = MappingProxyType({k: tuple(v) for k, v in families.items()})
    values["aliases"] = tuple(values["aliases"])  # type: ignore[arg-type]
    values["disaggregated"] = tuple(values.get("disaggregated", ()))  # type: ignore[arg-type]
    values["date"] = str(values["date"])
    return Engine(id=name, **{"surrogate": name, **values})  # type: ignore[arg-type]


def resolve_engine(name: str) -> Engine:
    """The engine called ``name`` (id, alias or label, any case). Raises UnknownName."""
    key = name.strip().lower()
    for engine in engines().values():
        if key in (engine.id, engine.label.lower(), *engine.aliases):
            return engine
    raise UnknownName("engine", name, engines())
