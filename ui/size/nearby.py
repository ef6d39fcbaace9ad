"""What others, and the user, measured of one figure of a plan: the lines below its explanation."""

from collections.abc import Callable
from typing import NamedTuple

from sharing.form.choices import label
from sizing.base.format import count, ms, requests_per_s, significant
from sizing.evidence.published import Measurement, Near
from sizing.evidence.sources import SOURCES, source_day
from sizing.explore.measured_points import FARTHEST
from sizing.explore.nearest import nearest_rows, own_rows
from sizing.methodology.accuracy import MODES, open_loop_errors
from sizing.planning.answered import Answer
from ui.format import as_markdown

LATENCIES = ("ttft_ms", "itl_ms", "e2e_ms")
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


def _open_loop(value: Callable[[Measurement], float | None]) -> Callable[[Measurement], float | None]:
    """A closed loop's TTFT is an effect of its cohorts, and never that of a customer at a request rate."""
    return lambda m: value(m) if m.mode == "fixed_rate" else None


_USUAL = {
    "ttft_ms": _Quantity("median TTFT at a request rate", ms, _open_loop(lambda m: m.ttft_ms_p50)),
    "itl_ms": _Quantity("mean ITL", ms, lambda m: m.itl_ms),
    "e2e_ms": _Quantity("mean E2E", ms, lambda m: m.e2e_ms),
    "output_tokens_per_s_per_gpu": _Quantity("output tokens/s per GPU", significant, _per_gpu),
}
"""What most measurements hold of a figure: the median or mean."""

_AT_PERCENTILE = {
    ("ttft_ms", 50.0): _USUAL["ttft_ms"],
    ("ttft_ms", 99.0): _Quantity("p99 TTFT at a request rate", ms, _open_loop(lambda m: m.ttft_ms_p99)),
    ("itl_ms", 99.0): _Quantity("p99 ITL", ms, lambda m: m.itl_ms_p99),
    ("itl_ms", 50.0): _Quantity("median ITL", ms, lambda m: m.itl_ms_p50),
}
"""What measurements hold of a figure at the percentile of the limits."""


def evidence_for(answer: Answer, name: str) -> str:
    """What stands behind a figure as Markdown: how far its kind was off, and what was measured of it nearby.

    Of a latency at the percentile that the answer states; what is known of its median or mean only is said to be that.
    """
    percentile = answer.scenario.limits.percentile
    if name not in LATENCIES:
        return measured_nearby(answer, name)
    parts = [errors_in_words(name, percentile)]
    if (name, percentile) not in _AT_PERCENTILE:
        parts.append(f"Nobody publishes the p{percentile:g} of it; below is what is published instead.")
    parts.append(measured_nearby(answer, name, percentile))
    return "\n\n".join(part for part in parts if part)


def errors_in_words(name: str, percentile: float) -> str:
    """How far predictions of a latency at a percentile were off where the configuration and the source were not in the
    fit, in a sentence; where that percentile was not measured, it says so instead of quoting another one's."""
    if name == "e2e_ms":
        return ""
    words, errors = {"ttft_ms": "TTFT", "itl_ms": "ITL"}[name], open_loop_errors(name, percentile)
    if errors is None:
        return f"How far p{percentile:g} {words} is off has not been measured: nobody publishes it at a request rate."
    return (
        f"p{percentile:g} {words} of published runs at a request rate, unseen by the fit: half of {count(errors.rows)} "
        f"predictions were off by less than {significant(errors.median_pct, 2)} %, nine of ten by less than "
        f"{significant(errors.p90_pct, 2)} %."
    )


def measured_nearby(answer: Answer, name: str, percentile: float | None = None) -> str:
    """The nearest measurements of a figure with their source as Markdown, those of the own benchmark first.

    At a percentile where measurements hold it, else the median or mean.
    """
    quantity = _USUAL[name] if percentile is None else _AT_PERCENTILE.get((name, percentile), _USUAL[name])
    near = (*own_rows(answer, _SEARCHED), *nearest_rows(answer, _SEARCHED))
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
    rate = f", {requests_per_s(m.rate_rps)} asked" if m.rate_rps else ""
    return (
        f"{m.model.id.rpartition('/')[2]} on {count(m.gpus)} x {row.gpu.name}, {row.engine.label}, "
        f"{label('prec', row.precision.id)}, {count(m.input_tokens)} in / {count(m.output_tokens)} out, "
        f"{MODES[m.mode].lower()}{load}{rate} ({published})"
    )
