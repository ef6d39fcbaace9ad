"""The figures of now with their sparklines. What is unknown says so with the reason; zero is a number."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import streamlit as st

from collectors.prometheus.histograms import QUANTILES, SHOWN, HistogramQuantiles
from collectors.questions.history import History
from collectors.reading.observation import Observation
from sizing.base.format import count, counted, ms, percent, significant
from ui.format import as_markdown, unbroken_percent
from ui.live.planned import PlannedQuantities

NOTHING = "No data"
_PER_ROW, _NARROWEST = 4, 150
"""Tiles in a row, and the width in pixels below which they wrap. Chosen: value and plan fit side by side."""


class Tile(NamedTuple):
    """One figure: ``quantity`` names it in an observation and beside a plan, ``line`` in the history.

    ``counted_in`` is the quantity of the observation that it was computed from, where that is another one;
    ``quantile`` that of a latency. The line in words: ``printed`` writes one of its values, ``line_of`` says what they
    are of where that is not ``label``.
    """

    label: str
    value: str
    note: str
    help: str
    quantity: str
    line: str = ""
    counted_in: str = ""
    quantile: str = ""
    printed: Callable[[float], str] = significant
    line_of: str = ""


def draw_tiles(observed: Observation, lines: History | None, planned: PlannedQuantities | None, *, late: bool) -> None:
    """Eight tiles, marked where the data is not of now; captions name them: the label of a metric is cut on a phone."""
    grid = st.grid(_PER_ROW, min_column_width=_NARROWEST, gap="small", border=True)
    for tile in tiles(observed):
        plan = planned.beside(tile.quantity, tile.quantile) if planned else ""
        line = spark_of(lines, tile.line)
        note = "; ".join(part for part in (tile.note, plan, spark_text(line, tile)) if part)
        with grid.cell(), st.container(gap="xsmall"):
            st.caption(f"{':material/history: ' if late else ''}{tile.label}", help=_help(tile, observed))
            st.metric(
                tile.label,
                tile.value,
                label_visibility="collapsed",
                chart_data=line,
                chart_type="line",
                delta_color="off",
            )
            if note:
                st.caption(as_markdown(note))


def spark_of(lines: History | None, name: str) -> list[float] | None:
    """The line of a tile; None where there is nothing to draw. Gaps stay NaN, which is drawn as a gap."""
    values = list(lines.lines.get(name, ())) if lines and name else []
    return values if any(value == value for value in values) else None


def spark_text(line: list[float] | None, tile: Tile) -> str:
    """The line in words, for those who do not see it and to give it a scale: "range shown: 2 to 5"; "" without one."""
    values = [value for value in line or () if value == value]
    if not values:
        return ""
    low, high = tile.printed(min(values)), tile.printed(max(values))
    of = f" {tile.line_of}" if tile.line_of else ""
    return f"range shown: {low}{of}" if low == high else f"range shown: {low} to {high}{of}"


def tiles(observed: Observation) -> Iterator[Tile]:
    """The figures, the most asked for first."""
    rate = observed.number("arrivals_rps")
    yield Tile(
        "Requests/s",
        _number(rate),
        _finished(observed),
        "Requests that arrive a second.",
        "arrivals_rps",
        "arrivals_rps",
    )
    yield _latency("TTFT", "ttft_ms", observed)
    of_requests = observed.distribution("tpot_ms").at(SHOWN).value is not None
    yield _latency("TPOT", "tpot_ms", observed) if of_requests else _latency("ITL", "itl_ms", observed)
    yield _tokens(observed)
    waiting = observed.number("waiting")
    yield Tile(
        "Requests waiting",
        _number(waiting),
        _most("at most", observed.number("waiting_max"), significant),
        "Mean over the window of the requests in the queue, all replicas together.",
        "waiting",
        "waiting",
    )
    kv = observed.number("kv_usage_max")
    yield Tile(
        "KV cache, peak",
        percent(kv) if kv is not None else NOTHING,
        _most("mean", observed.number("kv_usage"), unbroken_percent),
        "The fullest replica at its fullest moment: averages hide what makes requests wait.",
        "kv_usage",
        "kv_usage_max",
        printed=unbroken_percent,
    )
    yield _errors(observed)
    yield _size(observed)


def _latency(name: str, key: str, observed: Observation) -> Tile:
    d = observed.distribution(key)
    shown = d.at(SHOWN).value
    about = {
        "TTFT": "Time to first token, seen by the server",
        "TPOT": "Mean gap between the tokens of one request, seen by the server, which is what a plan calls ITL",
        "ITL": "Time between two single tokens, seen by the server; the ITL of a plan is a mean over a request and "
        "does not stand beside it",
    }
    return Tile(
        f"{SHOWN} {name}",
        ms(shown) if shown is not None else NOTHING,
        bucket(d),
        f"{about[name]}: {percent(QUANTILES[SHOWN])} of the values in the window are below. The server counts "
        "latencies in ranges (histogram buckets): the range below is certain, the value within it interpolated. "
        "The mean is exact.",
        key,
        f"{key}.{SHOWN}",
        printed=ms,
        quantile=SHOWN,
    )


def bucket(d: HistogramQuantiles) -> str:
    """The bucket that the quantile shown fell in, and the mean: "250 to 500 ms, mean 145 ms"."""
    shown = d.at(SHOWN)
    if shown.value is None:
        return f"mean {ms(d.mean)}" if d.mean is not None else ""
    edges = f"above {ms(shown.low)}" if shown.high is None else f"{ms(shown.low)} to {ms(shown.high)}"
    return f"{edges}, mean {ms(d.mean)}" if d.mean is not None else edges


def _tokens(observed: Observation) -> Tile:
    total, gpus = observed.number("generation_tokens_per_s"), observed.number("gpus")
    about = "Output tokens generated a second"
    if total is not None and gpus:
        return Tile(
            "Output tokens/s per GPU",
            significant(total / gpus),
            f"{significant(total)} in all",
            f"{about}, over {counted(gpus, 'GPU')}.",
            "generation_tokens_per_s_per_gpu",
            "generation_tokens_per_s",
            counted_in="generation_tokens_per_s",
            line_of="in all",
        )
    return Tile(
        "Output tokens/s",
        _number(total),
        "",
        f"{about}. The number of GPUs is not known.",
        "generation_tokens_per_s",
        "generation_tokens_per_s",
    )


def _errors(observed: Observation) -> Tile:
    ratio, refused = observed.number("error_ratio"), observed.number("client_error_ratio")
    return Tile(
        "Failed requests",
        percent(ratio) if ratio is not None else NOTHING,
        _most("refused", refused, unbroken_percent),
        "Share of requests that the server failed (5xx). Refused: the client's own errors (4xx).",
        "error_ratio",
    )


def _size(observed: Observation) -> Tile:
    replicas, lost, gpus = (observed.number(key) for key in ("replicas", "replicas_lost", "gpus"))
    note = ", ".join(
        part
        for part in (
            f"{count(lost)} lost" if lost else "",
            counted(gpus, "GPU") if gpus is not None else "GPUs unknown",
        )
        if part
    )
    return Tile(
        "Replicas",
        count(replicas) if replicas is not None else NOTHING,
        note,
        "Copies of the model that report now, and those lost within the window.",
        "replicas",
    )


def _finished(observed: Observation) -> str:
    finished = observed.number("finished_rps")
    return f"{significant(finished)} completed/s" if finished is not None else ""


def _number(value: float | None) -> str:
    return significant(value) if value is not None else NOTHING


def _most(word: str, value: float | None, printed: Callable[[float], str]) -> str:
    return f"{word} {printed(value)}" if value is not None else ""


def _help(tile: Tile, observed: Observation) -> str:
    """What the figure means; where there is no data, why, and what would enable it."""
    quantity = tile.counted_in or tile.quantity
    why = next((m.reason for m in observed.missing if m.quantity == quantity), "")
    if tile.value != NOTHING or not why:
        return tile.help
    return f"{tile.help} No data: {as_markdown(why)}."
