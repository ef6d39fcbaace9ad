"""``predict``: a table of configurations in, what each benchmark would measure out (``python -m sizing predict``).

One row per input row, in order. Latencies are means, but TTFT in ``fixed_rate``, which is the median of the run.
Rates are those of all GPUs of the row. Measured columns of the input are ignored. An open loop beyond its largest
stable rate, or without a rate, has that rate and no latency; ``source`` says so, where a high end is of a smaller load,
and what was taken from a row's names. Near its largest stable rate an open loop has a probability of being stable; it
is refused where that is small. An offline run of so many ``requests`` (or ``num_prompts``) ends with its longest
answer, by the squared coefficient of variation of the answers, ``output_variation``. Closed and open loops of so many,
or of ``duration_s`` seconds, are simulated as they are, from an empty engine to the last answer; a closed loop that
says neither is taken to have ten for each in flight, an open one no end. All of these columns may be missing. A closed
loop under NVIDIA Dynamo (``dynamo-sglang``), or on other than one server or instance, without a ``tp`` is answered with
the prefill and decode instances, or the replicas, that serve most at its load; ``source`` names them.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.format import percent, requests_per_s, significant
from sizing.base.units import MS_PER_S
from sizing.evidence.ends import chance_stable, point_ends
from sizing.evidence.expected import expected, steady
from sizing.evidence.open_loop import carried, largest_stable_rps, run_requests
from sizing.evidence.point_table import AnySource, PointTable, mixed_times, point_table, step_times
from sizing.evidence.points import CLOSED_LOOP, OFFLINE, OPEN_LOOP, Point, points_of
from sizing.evidence.protocols import Expected
from sizing.question.named_model import assumed_of_cells
from sizing.steps.kernel_times import kernel_name
from sizing.steps.mixture import Mixture, mixture, source_in_words
from sizing.steps.times import StepTimes, StepTimeSource

METRICS = ("ttft_ms", "itl_ms", "e2e_ms", "output_tokens_per_s", "requests_per_s")
NUMBERS = (*(name + end for name in METRICS for end in ("", "_low", "_high")), "ttft_ms_p99", "itl_ms_p99")
COLUMNS = (*NUMBERS, "source", "error")

OVERLOADED = (
    "; an engine as slow as the interval allows would not keep up with this rate: high ends of latencies are those of "
    "the heaviest load that it carries"
)
"""What is said of an open loop whose high ends are not at its own rate."""


NEAR = 0.85
"""Share of the largest stable rate from which an open loop may be unstable: the capacity is known to about so much."""

SURELY_UNSTABLE = 0.05
"""Probability of being stable below which a queue is said to grow without end."""

AT_ONCE = 20_000
"""Layouts whose rates are worked out at once. Chosen: because more take gigabytes and no less time each."""


@dataclass(frozen=True, kw_only=True)
class PredictedColumns:
    """Values of the output columns for the one point that answers each row, each (C,)."""

    points: PointTable
    values: dict[str, Floats]
    sources: tuple[str, ...]


class _Recorded:
    """A mixture that remembers, for each point it was asked about, the weight of the tables and how far apart it is."""

    def __init__(self, source: Mixture) -> None:
        self.source = source
        self.fit = source.fit
        self.tables: dict[int, tuple[float, float]] = {}

    def point_times(self, points: PointTable, concurrency: Floats) -> StepTimes:
        """Step times of every point at its concurrencies (C, K)."""
        mixed = mixed_times(points, concurrency, self.source)
        for point, weight, apart in zip(points.points, mixed.weight, mixed.apart, strict=True):
            self.tables[id(point)] = (float(weight), float(apart))
        return mixed.times

    def of(self, points: PointTable) -> tuple[Floats, Floats]:
        """Weight of the tables and log ratio to the roofline, each (C,)."""
        weight, apart = np.array([self.tables[id(p)] for p in points.points]).T
        return weight, np.where(weight > 0, apart, np.nan)


def predict_points(frame: pd.DataFrame, source: StepTimeSource | None = None) -> pd.DataFrame:
    """Predicted measurements of every row of ``frame``; see the module docstring and :data:`COLUMNS`.

    A row with a bad cell has its reason in ``error`` and nothing else. Raises InvalidPoints for a table that lacks a
    required column. ``source`` is where step times come from: kernel tables and roofline unless given.
    """
    points, errors = points_of(frame)
    table: dict[str, NDArray[np.float64] | NDArray[np.object_]] = {
        name: np.full(len(frame), np.nan) for name in NUMBERS
    }
    names, reasons = np.full(len(frame), "", dtype=object), np.full(len(frame), "", dtype=object)
    for row, reason in errors.items():
        reasons[row] = reason
    if points:
        answers = answer_points(point_table(points), source or mixture())
        rows = [p.row for p in answers.points.points]
        for name, values in answers.values.items():
            table[name][rows] = values
        names[rows] = answers.sources
    return pd.DataFrame({**table, "source": names, "error": reasons}, columns=list(COLUMNS), index=frame.index)


def answer_points(points: PointTable, source: StepTimeSource) -> PredictedColumns:
    """Values with their ends for the point of each row that has the layout with the highest rate."""
    base = source.base if isinstance(source, Mixture) else source
    points = points.take(best_layouts(points, base))
    recorded = _Recorded(source) if isinstance(source, Mixture) else None
    values = _columns(points, expected(points, recorded or source))
    weight, apart = recorded.of(points) if recorded else (np.zeros(len(points)), np.full(len(points), np.nan))
    chance = _near_capacity(points, values, apart, recorded or source)
    remarks = _remarks(points, values["requests_per_s"], chance)
    ends, overloaded = point_ends(points, values, apart, recorded or source)
    for name, (low, high) in ends.items():
        values[f"{name}_low"], values[f"{name}_high"] = low, high
    one = step_times(point_table(points.points[:1]), np.ones((1, 1)), base).source
    sources = tuple(
        (source_in_words(kernel_name(), one, w) if w > 0 else one)
        + remark
        + (OVERLOADED if slow else "")
        + _assumed(point)
        for w, remark, slow, point in zip(weight, remarks, overloaded, points.points, strict=True)
    )
    return PredictedColumns(points=points, values=values, sources=sources)


def _assumed(point: Point) -> str:
    """What was taken from the names of model and weight format in the row of a point."""
    text = assumed_of_cells(point.named, point.stated_precision) if point.named else ""
    return f"; assumed: {text}" if text else ""


def _near_capacity(points: PointTable, values: dict[str, Floats], apart: Floats, source: AnySource) -> Floats:
    """Probability (C,) that open loops without end from :data:`NEAR` of their capacity on are stable, 1 of all others;
    fills in the latencies of those that are not surely unstable."""
    chance, rate = np.ones(len(points)), points.rate_rps[:, 0]
    endless = np.array([p.mode == OPEN_LOOP for p in points.points]) & ~np.isfinite(run_requests(points))
    open_loops = np.flatnonzero(endless & np.isfinite(rate))
    if not len(open_loops):
        return chance
    largest = largest_stable_rps(points.take(open_loops), source)
    near = rate[open_loops] > NEAR * largest
    rows = open_loops[near]
    if not len(rows):
        return chance
    some = points.take(rows)
    chance[rows] = chance_stable(some, largest[near], apart[rows], source)
    refused = np.isnan(values["itl_ms"][rows]) & np.isnan(values["ttft_ms"][rows]) & (chance[rows] >= SURELY_UNSTABLE)
    if refused.any():
        unanswered = some.take(np.flatnonzero(refused))
        for name, filled in _columns(unanswered, carried(unanswered, source)).items():
            values[name][rows[refused]] = filled
    return chance


def _remarks(points: PointTable, served: Floats, chance: Floats) -> list[str]:
    """What is said of open loops that are answered at another rate than asked, of bursts, and of runs whose GPUs may be
    split; empty for all others."""
    return [
        (_remark(point, float(rate), float(stable)) if point.mode == OPEN_LOOP else _burst(point)) + _split(point)
        for point, rate, stable in zip(points.points, served, chance, strict=True)
    ]


def _burst(point: Point) -> str:
    """What is assumed of an offline run of a stated number of requests, which ends with its longest answer."""
    if point.mode != OFFLINE or point.requests != point.requests or point.stated_variation is not None:
        return ""
    return f"; a burst: answers are taken to {'vary as those of ShareGPT' if point.output_variation else 'be equal'}"


def _split(point: Point) -> str:
    """Which of the ways to share the GPUs is answered, where the row leaves that open or an orchestrator has it."""
    if not point.open_split:
        return "; under an orchestrator: prefill and decode in the same instances" if point.orchestrated else ""
    served = f"{point.instances:g} x {point.configuration.parallelism}"
    if point.prefill is None:
        return f"; parallelism not stated: {served}, which serves most"
    prefill = f"{point.prefill.count:g} x {point.prefill.configuration.parallelism}"
    return f"; prefill and decode instances not stated: {prefill} and {served}, which serve most"


def _remark(point: Point, served: float, chance: float) -> str:
    """Why the rate that is served is not the one asked for, of all GPUs of a row, and how sure it is carried."""
    rate, largest = point.rate_rps, f"the largest stable rate is {requests_per_s(served)}"
    if rate != rate:
        return f"; no request_rate_rps: {largest}"
    if math.isfinite(point.requests) or math.isfinite(point.duration_s):
        return ""
    if chance < SURELY_UNSTABLE:
        return f"; unstable at {requests_per_s(rate)}, the queue grows without end: {largest}"
    carried_for_ever = f"; {percent(chance)} sure that {significant(rate)} requests/s are carried for ever"
    if rate > served:
        return f"{carried_for_ever}: {largest}, and latencies are those of the heaviest load that is simulated"
    return carried_for_ever if chance < 1.0 else ""


def _columns(points: PointTable, each: Expected) -> dict[str, Floats]:
    """Output columns in ms and 1/s over all instances of the row."""
    rate = (each.rps * points.instances)[:, 0]
    one_token = points.output[:, 0] <= 1.0
    return {
        "ttft_ms": each.ttft_s[:, 0] * MS_PER_S,
        "itl_ms": np.where(one_token, np.nan, each.itl_s[:, 0] * MS_PER_S),
        "e2e_ms": each.e2e_s[:, 0] * MS_PER_S,
        "output_tokens_per_s": rate * points.output[:, 0],
        "requests_per_s": rate,
        "ttft_ms_p99": each.ttft_p99_s[:, 0] * MS_PER_S,
        "itl_ms_p99": each.itl_p99_s[:, 0] * MS_PER_S,
    }


def best_layouts(points: PointTable, source: StepTimeSource) -> NDArray[np.intp]:
    """For each row the index of its point; of several layouts the one that serves most when all is queued."""
    rows = np.array([p.row for p in points.points])
    _, first, count = np.unique(rows, return_index=True, return_counts=True)
    if np.all(count == 1):
        return np.asarray(first, dtype=np.intp)
    open_rows = np.isin(rows, rows[first[count > 1]])
    rate = np.zeros(len(rows))
    some = np.flatnonzero(open_rows)
    rate[some] = _capacity(points, some, source)
    order = np.lexsort((-rate, rows))
    _, leader = np.unique(rows[order], return_index=True)
    return np.asarray(order[leader], dtype=np.intp)


def _capacity(points: PointTable, index: NDArray[np.intp], source: StepTimeSource) -> Floats:
    """Requests per second over all instances that the points at ``index`` can serve: in an open loop for ever, in a
    closed one with its requests in flight, otherwise when everything is queued."""
    if len(index) > AT_ONCE:
        parts = np.array_split(index, -(-len(index) // AT_ONCE))
        return np.concatenate([_capacity(points, part, source) for part in parts])
    layouts = [points.points[i] for i in index]
    some = point_table([p if p.mode == CLOSED_LOOP else replace(p, mode=OFFLINE) for p in layouts])
    rate = steady(some, source).rps[:, 0]
    open_loop = np.flatnonzero([points.points[i].mode == OPEN_LOOP for i in index])
    if len(open_loop):
        rate[open_loop] = largest_stable_rps(some.take(open_loop), source)
    return np.asarray(rate * some.instances[:, 0])
