"""How often spot instances are taken back, as their provider publishes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.catalog.files import typed_rows


@dataclass(frozen=True, kw_only=True)
class SpotInterruptions:
    """Percent of the instances of a type that are taken back in a month: median over so many ``regions``, and the ends
    of the lowest and highest band. A band that is open above (over 20 %) counts as 30, and ends at 100."""

    provider: str
    instance_type: str
    regions: int
    low_percent: float
    typical_percent: float
    high_percent: float
    date: str
    source: str


@cache
def spot_interruptions() -> Mapping[tuple[str, str], SpotInterruptions]:
    """Every published figure, by provider and instance type."""
    rows = typed_rows("spot_interruptions.csv", SpotInterruptions)
    return MappingProxyType({(row.provider, row.instance_type): row for row in rows})
