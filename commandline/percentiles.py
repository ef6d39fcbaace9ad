"""The percentiles that results state, in one table: plans, simulations, live metrics and benchmarks read it."""

from typing import Literal

StatedBy = Literal["plan", "simulation", "live", "benchmark"]
"""What states percentiles: a plan its latencies, a simulation those of its run, live metrics what they count in
buckets, a benchmark what its tool has written down."""

PERCENTILES: dict[float, tuple[StatedBy, ...]] = {
    50.0: ("plan", "simulation", "live", "benchmark"),
    90.0: ("simulation", "benchmark"),
    95.0: ("plan", "simulation", "live", "benchmark"),
    99.0: ("plan", "simulation", "live", "benchmark"),
    99.9: ("simulation",),
}
"""Every percentile by percent, with what states it. JSON, CSV, tables and charts have one entry for each."""

HEADLINE = 95.0
"""The percentile of limits that a scenario does not say, and the one that is shown of live metrics where there is room
for one. A change needs a new link version: links leave defaults out (sharing/form/link_versions.py)."""


def stated_by(what: StatedBy) -> tuple[float, ...]:
    """The percentiles that something states, rising."""
    return tuple(percent for percent, by in sorted(PERCENTILES.items()) if what in by)


def key_of(percent: float) -> str:
    """The name of a percentile in JSON and CSV: "p95", and "p999" for 99.9."""
    return name_of(percent).replace(".", "")


def name_of(percent: float) -> str:
    """A percentile in words: "p95", "p99.9"."""
    return f"p{percent:g}"


def requests_below(percent: float) -> str:
    """The part of all requests that lie below: "Half", "95 %"."""
    return "Half" if percent == 50.0 else f"{percent:g} %"
