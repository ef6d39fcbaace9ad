"""The charts over time: latency with the interval of its bucket, then load, tokens, queue and KV cache."""

import math
from collections.abc import Mapping, Sequence

import streamlit as st

from collectors.prometheus.histograms import QUANTILES, SHOWN
from collectors.queries.live_numbers import lines_of
from collectors.questions.history import History
from ui.figures.live_lines import Band, ChartLine, Level, LiveChart, build_lines, lines_alt_text, lines_table
from ui.live.moment import LiveWindow
from ui.live.planned import PlannedQuantities
from ui.shell import draw_chart, draw_choice, draw_table

PERCENT = 100.0
"""Turns a share of 1 into percent."""
DASHES = (2, 0, 1, 3)
"""Dashes of the lines of quantiles, by turns."""
_LATENCIES = {
    "ttft_ms": ("TTFT", "ms", 1.0),
    "tpot_ms": ("TPOT", "ms", 1.0),
    "itl_ms": ("ITL", "ms", 1.0),
    "e2e_ms": ("E2E", "s", 1e-3),
}


def draw_latency(
    lines: History, span: tuple[float, float], moment: LiveWindow, planned: PlannedQuantities | None, *, dark: bool
) -> None:
    """TTFT, TPOT, ITL and E2E: quantiles, the mean, and the bucket of one quantile as a tint."""
    chosen = draw_choice(
        "Certain range and plan of",
        tuple(QUANTILES),
        default=planned.percentile if planned and planned.percentile in QUANTILES else SHOWN,
        key="bucket_of",
        kept="nowhere",
        help="Servers count latencies in ranges (histogram buckets): the percentile surely lies in the tinted one. "
        "The plan's line is that of the same percentile.",
    )
    for quantity in _LATENCIES:
        if quantity == "tpot_ms" and not any(name.startswith(quantity) for name in lines.lines):
            continue  # an engine that does not record it
        plan = planned.levels(quantity, chosen) if planned else ()
        draw_lines(latency_chart(lines, quantity, chosen, span, plan), moment, key=quantity, dark=dark)
    st.caption(
        "TPOT: mean gap of one request, what a plan calls ITL. ITL: gaps between single tokens, which no plan states. "
        "Server side: without network and gateway. The tint is certain, the line within it a guess; the mean is exact. "
        "E2E is recorded when a request ends, so a growing queue shows there late."
    )


def draw_load(
    lines: History, span: tuple[float, float], moment: LiveWindow, planned: PlannedQuantities | None, *, dark: bool
) -> None:
    """Requests, tokens, queue, and KV cache with prefix hits."""
    left, right = st.columns(2, gap="medium")
    plan = levels(planned, "arrivals_rps")
    columns = (
        (left, "requests", quantity_chart(lines, span, "Requests/s", lines_of("requests"), levels=plan)),
        (left, "queue", quantity_chart(lines, span, "Requests", lines_of("queue"))),
        (right, "tokens", quantity_chart(lines, span, "Tokens/s", lines_of("tokens"))),
        (right, "kv", kv_chart(lines, span)),
    )
    for column, key, chart in columns:
        with column:
            draw_lines(chart, moment, key=key, dark=dark)


def draw_lines(chart: LiveChart, moment: LiveWindow, *, key: str, dark: bool) -> None:
    """A chart with its table."""
    draw_chart(build_lines(chart, zone=moment.zone, dark=dark), key=f"live_{key}", alt=lines_alt_text(chart))
    draw_table(lambda: lines_table(chart, zone=moment.zone), key=f"live_{key}", what=chart.title)


def latency_chart(
    lines: History, quantity: str, chosen: str, span: tuple[float, float], plan: tuple[Level, ...]
) -> LiveChart:
    """One latency with its quantiles, mean and bucket."""
    place, (name, unit, scale) = list(QUANTILES).index(chosen), _LATENCIES[quantity]
    drawn = [
        ChartLine(
            name=q,
            values=line(lines, f"{quantity}.{q}"),
            colour=i,
            dash=DASHES[i % len(DASHES)],
            width=2.5 if q == chosen else 1.5,
        )
        for i, q in enumerate(QUANTILES)
    ]
    mean = ChartLine(name="Mean", values=line(lines, f"{quantity}.mean"), colour=len(QUANTILES), dash=3, width=1.5)
    band = Band(
        name=f"{chosen}, certain",
        low=line(lines, f"{quantity}.{chosen}_low"),
        high=line(lines, f"{quantity}.{chosen}_high"),
        colour=place,
    )
    return LiveChart(
        quantity=name,
        unit=unit,
        times_s=lines.times_s,
        lines=(*drawn, mean),
        band=band,
        span_s=span,
        levels=plan,
        scale=scale,
        nothing=f"No {name} in this range.",
    )


def kv_chart(lines: History, span: tuple[float, float]) -> LiveChart:
    """KV cache and prefix hits as shares, with a cross wherever requests were preempted."""
    most, preempted = line(lines, "kv_usage_max"), line(lines, "preemptions_per_s")
    hit = [use if rate > 0 else math.nan for use, rate in zip(most, preempted, strict=True)]
    shares = lines_of("shares").items()
    drawn = [ChartLine(name=name, values=line(lines, key), colour=i, dash=i) for i, (key, name) in enumerate(shares)]
    if any(math.isfinite(v) for v in hit):
        drawn.append(ChartLine(name="Preemptions", values=hit, colour=len(drawn), marks=True))
    return LiveChart(
        quantity="KV cache", unit="%", times_s=lines.times_s, lines=tuple(drawn), span_s=span, scale=PERCENT
    )


def line(lines: History, name: str) -> Sequence[float]:
    """A line of the history; all gaps where there is none."""
    return lines.lines.get(name) or (math.nan,) * len(lines.times_s)


def levels(planned: PlannedQuantities | None, quantity: str) -> tuple[Level, ...]:
    """The plan's lines of a chart."""
    return planned.levels(quantity) if planned else ()


def quantity_chart(
    lines: History,
    span: tuple[float, float],
    unit: str,
    names: Mapping[str, str],
    *,
    quantity: str = "",
    levels: tuple[Level, ...] = (),
    scale: float = 1.0,
    nothing: str = LiveChart.nothing,
) -> LiveChart:
    """Quantities of the history with their names in the legend, in one unit."""
    drawn = tuple(
        ChartLine(name=name, values=line(lines, key), colour=i, dash=i) for i, (key, name) in enumerate(names.items())
    )
    return LiveChart(
        quantity=quantity,
        unit=unit,
        times_s=lines.times_s,
        span_s=span,
        lines=drawn,
        levels=levels,
        scale=scale,
        nothing=nothing,
    )
