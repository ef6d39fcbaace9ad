"""What others, and the user, measured of one figure of a plan: the lines below its explanation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sizing.base.format import count, ms, significant
from sizing.base.result import Plan
from sizing.evidence.published import Measurement, Near
from sizing.evidence.sources import SOURCES, source_day
from sizing.explore.measured_points import FARTHEST
from sizing.methodology.accuracy import MODES
from sizing.scenario.schema import Scenario
from ui.benchmarks.nearest import nearest_rows, own_rows
from ui.form.choices import label
from ui.format import as_markdown

_SHOWN, _SEARCHED = 3, 300
"""Measurements shown, and nearest ones that they are picked from. Chosen: what is read at a glance; not every
row has the figure."""


class _Quantity(NamedTuple):
    """What a figure is called where it is measured, how it is printed, and how it is read from a measurement."""

    words: str
    printed: Callable[[float], str]
    value: Callable[[Measurement], float | None]


def _per_gpu(m: Measurement) -> float | None:
    return None if m.output_tokens_per_s is None else m.output_tokens_per_s / m.gpus


def _open_loop_ttft(m: Measurement) -> float | None:
    """A closed loop's TTFT is an effect of its cohorts, and never that of a customer at a request rate."""
    return m.ttft_ms_p50 if m.mode == "fixed_rate" else None


_QUANTITIES = {
    "ttft_ms": _Quantity("median TTFT at a request rate", ms, _open_loop_ttft),
    "itl_ms": _Quantity("mean ITL", ms, lambda m: m.itl_ms),
    "e2e_ms": _Quantity("mean E2E", ms, lambda m: m.e2e_ms),
    "output_tokens_per_s_per_gpu": _Quantity("output tokens/s per GPU", significant, _per_gpu),
}


def measured_nearby(scenario: Scenario, plan: Plan, name: str) -> str:
    """The nearest measurements of a figure with their source as Markdown, those of the own benchmark first."""
    quantity = _QUANTITIES[name]
    near = (*own_rows(scenario, plan, _SEARCHED), *nearest_rows(scenario, plan, _SEARCHED))
    near_enough = [(quantity.value(n.measurement), n) for n in near if n.distance <= FARTHEST]
    known = [(value, n) for value, n in near_enough if value][:_SHOWN]
    if not known:
        return f"Measured: no {quantity.words} of a deployment and load near enough to this one."
    lines = [f"- **{quantity.printed(value)}**: {as_markdown(_said(n))}" for value, n in known]
    return "\n".join([f"Measured nearby ({quantity.words}); more under Why:", "", *lines])


def _said(near: Near) -> str:
    """One measurement in a line: what ran, how it was loaded, who published it."""
    m, row = near.measurement, near.measurement.configuration
    source = SOURCES[m.source].label if m.source in SOURCES else m.source
    day = source_day(m.source_date)
    published = source if day in source else f"{source}, {day}"
    load = f", {count(m.concurrency)} in flight" if m.concurrency else ""
    rate = f", {significant(m.rate_rps)} requests/s asked" if m.rate_rps else ""
    return (
        f"{m.model.id.rpartition('/')[2]} on {count(m.gpus)} x {row.gpu.name}, {row.engine.label}, "
        f"{label('prec', row.precision.id)}, {count(m.input_tokens)} in / {count(m.output_tokens)} out, "
        f"{MODES[m.mode].lower()}{load}{rate} ({published})"
    )
