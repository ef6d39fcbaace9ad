"""Placeholder interface: replaced by the conformal intervals (owner: evidence helper)."""

from __future__ import annotations

from dataclasses import dataclass

from sizing.candidates import Configuration
from sizing.catalog.model import Model


@dataclass(frozen=True, kw_only=True)
class Interval:
    low_factor: float
    high_factor: float
    basis: str
    rows: int


def interval(metric: str, configuration: Configuration, model: Model) -> Interval:
    return Interval(low_factor=0.8, high_factor=1.25, basis="placeholder", rows=1)
