"""Fitted efficiencies of the roofline, by GPU family and engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.catalog.files import read_yaml


@dataclass(frozen=True, kw_only=True)
class DeviceEfficiency:
    """Shares of datasheet rates reached by kernels of one GPU family (dimensionless, 0 to 1)."""

    matrix: float
    memory: float
    kv: float
    attention: float
    link: float


@dataclass(frozen=True, kw_only=True)
class EngineOverhead:
    """Fixed times of one engine in seconds, and the factor on all device times."""

    scale: float
    step_s: float
    layer_s: float
    sequence_s: float


@dataclass(frozen=True, kw_only=True)
class Efficiencies:
    """Everything fitted: per family, per engine, and the latency of one collective over a fast link and over PCIe."""

    families: Mapping[str, DeviceEfficiency]
    engines: Mapping[str, EngineOverhead]
    collective_s: float
    pcie_collective_s: float
    note: str

    def device(self, family: str) -> DeviceEfficiency:
        """Efficiency of a GPU family; families without measurements use the default, their parent."""
        return self.families.get(family, self.families["default"])

    def overhead(self, engine: str) -> EngineOverhead:
        """Overhead of an engine; engines without measurements use the default."""
        return self.engines.get(engine, self.engines["default"])


@cache
def efficiencies() -> Efficiencies:
    """The committed fit (``sizing/data/efficiency.yaml``)."""
    return from_mapping(read_yaml("efficiency.yaml"))


def from_mapping(raw: Mapping[str, object]) -> Efficiencies:
    """Efficiencies from the parsed file; a family or engine row may leave out what equals the default."""
    families, engines = raw["families"], raw["engines"]
    assert isinstance(families, dict) and isinstance(engines, dict)
    fitted = raw["fitted"]
    assert isinstance(fitted, dict)
    return Efficiencies(
        families=MappingProxyType(
            {k: DeviceEfficiency(**{**families["default"], **v}) for k, v in families.items()}
        ),
        engines=MappingProxyType({k: EngineOverhead(**{**engines["default"], **v}) for k, v in engines.items()}),
        collective_s=float(raw["collective_s"]),  # type: ignore[arg-type]
        pcie_collective_s=float(raw["pcie_collective_s"]),  # type: ignore[arg-type]
        note=str(fitted["note"]),
    )
