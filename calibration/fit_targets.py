"""What the fit is compared with: the published measurements, as tables of points by mode and observed logarithms."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.catalog.precisions import compute_flops
from sizing.evidence.cases import layout_kinds
from sizing.evidence.expected import expected, steady
from sizing.evidence.layouts import gpus_holding
from sizing.evidence.point_table import AnySource, PointTable, point_table
from sizing.evidence.points import CLOSED_LOOP, MODES, OPEN_LOOP, Point, points_of
from sizing.evidence.predict import best_layouts
from sizing.evidence.protocols import FULL_SHARE, Expected
from sizing.evidence.published import evidence_frame
from sizing.steps.efficiency import Efficiencies
from sizing.steps.roofline import Roofline

METRICS = ("ttft", "itl", "e2e", "throughput", "ttft_p99", "itl_p99")
OBSERVED = {
    "ttft": ("ttft_ms_mean", "ttft_ms_p50"),
    "itl": ("itl_ms_mean", "itl_ms_p50"),
    "e2e": ("e2e_ms_mean",),
    "throughput": ("output_tokens_per_s",),
    "ttft_p99": ("ttft_ms_p99",),
    "itl_p99": ("itl_ms_p99",),
}
"""Columns of the library by metric, the first that is filled counts; open-loop TTFT takes the median first."""

FITTED = {
    "fixed_concurrency": ("itl",),
    "static_batch": ("ttft", "itl", "e2e", "throughput"),
    "offline_max_throughput": ("throughput",),
}
"""Metrics whose errors are minimised over the step times. Open-loop latency is not: near the capacity, where such runs
are published, it depends on the capacity rather than on step times."""

FIRST_TOKEN_MODES = (CLOSED_LOOP, OPEN_LOOP)
"""TTFT of these has queues of a run's start and of prompts that begin together, which are simulated: only what passes
outside of the engine's steps is fitted to it, after these."""


@dataclass(frozen=True)
class FitTargets:
    """The rows of one mode: their points, the cells they came from, and the logarithm of each metric (NaN: none).

    ``derived`` are metrics that were not published but follow from those that were; they calibrate intervals and are
    never counted as measurements.
    """

    mode: str
    points: PointTable
    cells: pd.DataFrame
    observed: dict[str, Floats]
    derived: dict[str, Floats]

    def take(self, rows: NDArray[np.intp]) -> "FitTargets":
        """The targets of the points at these places."""
        observed, derived = ({m: v[rows] for m, v in each.items()} for each in (self.observed, self.derived))
        return FitTargets(self.mode, self.points.take(rows), self.cells.iloc[rows], observed, derived)

    @cached_property
    def labels(self) -> pd.DataFrame:
        """What cross-validation groups and reports by: one row per point."""
        rows = self.points.points
        return pd.DataFrame(
            {
                "row": [p.row for p in rows],
                "mode": self.mode,
                "architecture": [f"{p.model.params_total / 1e9:.0f}B, {p.model.layers} layers" for p in rows],
                "model": [p.model.id for p in rows],
                "gpu": [p.configuration.gpu.id for p in rows],
                "family": [p.configuration.gpu.family for p in rows],
                "generation": [p.configuration.gpu.generation for p in rows],
                "engine": [p.configuration.engine.surrogate for p in rows],
                "served_by": [p.configuration.engine.id for p in rows],
                "precision": [p.configuration.precision.id for p in rows],
                "parallelism": [p.configuration.parallelism for p in rows],
                "layout": [next(iter(layout_kinds(p.configuration)), "") for p in rows],
                "software": [p.software_year for p in rows],
                "tp": [p.configuration.tp for p in rows],
                "kind": ["MoE" if p.model.is_moe else "dense" for p in rows],
                "quality": self.cells["quality"].to_numpy(),
                "source": self.cells["source"].to_numpy(),
                "burst": np.isfinite([p.requests for p in rows]),
            }
        )

    @property
    def median_first_token(self) -> Floats:
        """Logarithms of the published median TTFT in seconds, NaN without one."""
        return np.log(pd.to_numeric(self.cells["ttft_ms_p50"]).to_numpy(dtype=np.float64) * 1e-3)

    def predicted(self, fit: Efficiencies) -> dict[str, Floats]:
        """Logarithms of the predicted metrics under a fit of the roofline."""
        return self.predicted_by(Roofline(fit))

    def predicted_by(self, source: AnySource) -> dict[str, Floats]:
        """Logarithms of the metrics of a steady state from the step times of a source; there are none of open loops."""
        return self._logs(steady(self.points, source))

    def answered_by(self, source: AnySource) -> dict[str, Floats]:
        """Logarithms of the metrics as the product answers them, loops simulated."""
        return self._logs(expected(self.points, source))

    def _logs(self, metrics: Expected) -> dict[str, Floats]:
        with np.errstate(invalid="ignore", divide="ignore"):
            tokens = metrics.rps * self.points.output * self.points.instances
            logs = {
                "ttft": metrics.ttft_s,
                "itl": metrics.itl_s,
                "e2e": metrics.e2e_s,
                "throughput": tokens,
                "ttft_p99": metrics.ttft_p99_s,
                "itl_p99": metrics.itl_p99_s,
            }
            return {name: np.log(values[:, 0]) for name, values in logs.items()}


def targets(fit: Efficiencies, rows: NDArray[np.intp] | None = None) -> tuple[FitTargets, ...]:
    """The library by mode. ``fit`` chooses among layouts a row leaves open; ``rows`` restricts it (tests)."""
    frame = evidence_frame() if rows is None else evidence_frame().iloc[rows].reset_index(drop=True)
    points = _comparable(frame, points_of(frame)[0], fit)
    by_mode = []
    for mode in MODES:
        chosen = [p for p in points if p.mode == mode]
        if chosen:
            cells = _received_at_once(frame.iloc[[p.row for p in chosen]].reset_index(drop=True))
            observed = _possible(observed_logs(cells, mode), chosen)
            by_mode.append(FitTargets(mode, point_table(chosen), cells, observed, _derived(observed, mode, chosen)))
    return tuple(by_mode)


def open_splits(fit: Efficiencies) -> FitTargets:
    """Closed loops that leave open how prompts and answers share their GPUs, with the split that serves most; they are
    in no fit."""
    frame = evidence_frame()
    points = [p for p in points_of(frame)[0] if p.open_split]
    chosen = [points[i] for i in best_layouts(point_table(points), Roofline(fit))]
    chosen = [p for p in chosen if not re.search(UNSTATED, str(frame["notes"].iloc[p.row]))]
    cells = frame.iloc[[p.row for p in chosen]].reset_index(drop=True)
    return FitTargets(CLOSED_LOOP, point_table(chosen), cells, _possible(observed_logs(cells, CLOSED_LOOP), chosen), {})


APART = "DISAGG"
"""Notes of disaggregated runs, whose split of the GPUs no column states."""
UNSTATED = "|".join(
    (
        *("speculative decoding", "EAGLE", "PP=2 x TP=8"),
        "attention_dp not given.*conc/batch=(?!1;)",
        *("hit rate not published", "cached tokens", "prefix-cache routing", "finite (?:overload )?burst"),
    )
)
"""Notes of runs whose outcome rests on what no column states: speculation, on how many attention-DP ranks a batch was
(where load and batch do not tell), how much of the prompts was cached, a limit on sequences below the load."""


RECEIVED_LATE = "scheduler-recv-interval"
"""Notes of runs whose scheduler looks for new requests once in so many steps (SGLang; 1 is the default): how long a
request waits for that is no time of the engine's, and what such a deployment states nowhere."""
FIRST_TOKENS = ["ttft_ms_mean", "ttft_ms_p50", "ttft_ms_p99"]


def _received_at_once(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells without times to the first token of runs that look for new requests now and then."""
    late = cells["notes"].str.contains(RECEIVED_LATE, na=False)
    return cells.assign(**cells[FIRST_TOKENS].mask(late))


def _comparable(frame: pd.DataFrame, points: Sequence[Point], fit: Efficiencies) -> list[Point]:
    """The best layout of each row, without disaggregated runs and those of :data:`UNSTATED` settings, and without
    closed loops of more requests than the run's own limit on sequences lets run: they are predicted with the engine's
    default, which lets all run.
    """
    table = point_table(points)
    unstated = frame["notes"].str.contains(f"{APART}|{UNSTATED}", na=False).to_numpy()
    best = best_layouts(table, Roofline(fit))
    return [points[i] for i in best if not unstated[points[i].row] and not _limited(points[i], frame)]


def _limited(point: Point, frame: pd.DataFrame) -> bool:
    """Whether a closed loop offers an instance more requests than it was set to run at once (``max_sequences``)."""
    most = float(frame["max_sequences"].iloc[point.row])
    return point.mode == CLOSED_LOOP and point.concurrency / point.instances > most


def observed_logs(cells: pd.DataFrame, mode: str) -> dict[str, Floats]:
    """Natural logarithms of what was measured, in seconds and tokens/s, NaN where nothing was. The total rate of a
    static batch says no more than its E2E."""
    out = {}
    for metric, columns in OBSERVED.items():
        order = columns[::-1] if metric == "ttft" and mode == "fixed_rate" else columns
        values = cells[order[0]]
        for column in order[1:]:
            values = values.fillna(cells[column])
        scale = 1.0 if metric == "throughput" else 1e-3
        with np.errstate(invalid="ignore", divide="ignore"):
            out[metric] = np.log(np.where(values > 0, values, np.nan).astype(np.float64) * scale)
    return out


def _derived(observed: dict[str, Floats], mode: str, points: Sequence[Point]) -> dict[str, Floats]:
    """E2E and output rate of closed loops that published TTFT and ITL alone: E2E = TTFT + (OSL - 1) x ITL, which holds
    within 2 % where all three are published; rate as in :func:`sizing.evidence.protocols.fixed_concurrency`."""
    if mode != CLOSED_LOOP:
        return {}
    length = np.array([p.output_tokens for p in points])
    whole = np.log(np.exp(observed["ttft"]) + (length - 1.0) * np.exp(observed["itl"]))
    running = FULL_SHARE * np.array([p.concurrency for p in points])
    derived = {"e2e": whole, "throughput": np.log(running * length) - whole}
    return {metric: np.where(np.isfinite(observed[metric]), np.nan, derived[metric]) for metric in derived}


def _possible(observed: dict[str, Floats], points: Sequence[Point]) -> dict[str, Floats]:
    """Without runs that were not as stated: weights beyond the memory of the GPUs, or times that no hardware reaches,
    since each token reads the active weights once, at datasheet bandwidth, and each token of a prompt takes two
    operations for each of them, at datasheet rate."""
    token = np.array(
        [
            p.model.params_active * c.precision.bytes / (c.gpus * c.gpu.memory_bandwidth)
            for p, c in ((p, p.configuration) for p in points)
        ]
    )
    gaps = np.maximum(np.array([p.output_tokens for p in points]) - 1.0, 1e-9)
    for metric, least in (("itl", token), ("e2e", gaps * token)):
        observed[metric] = np.where(observed[metric] < np.log(least), np.nan, observed[metric])
    held = np.array(
        [gpus_holding(p.model, c.precision, c.gpu) <= c.gpus for p, c in ((p, p.configuration) for p in points)]
    )
    stated = held & ~(_prompts_per_s(observed, points) > _most_prompts_per_s(points))
    return {metric: np.where(stated, values, np.nan) for metric, values in observed.items()}


def _prompts_per_s(observed: dict[str, Floats], points: Sequence[Point]) -> Floats:
    """Requests/s by what was measured: the rate, else the time that requests in flight took; NaN where neither is
    known."""
    outputs, in_flight = np.array([(p.output_tokens, p.concurrency) for p in points]).T
    took = np.exp(observed["ttft"]) + (outputs - 1.0) * np.exp(observed["itl"])
    took = np.where(np.isfinite(observed["e2e"]), np.exp(observed["e2e"]), took)
    rate = np.exp(observed["throughput"]) / outputs
    return np.asarray(np.where(np.isfinite(rate), rate, in_flight / took))


def _most_prompts_per_s(points: Sequence[Point]) -> Floats:
    """Prompts/s that all GPUs compute at the datasheet's rate, two operations a token and active parameter."""
    rates = [p.gpus * (compute_flops(p.configuration.gpu, p.configuration.precision) or math.inf) for p in points]
    each = [2.0 * p.model.params_active * max(p.input_tokens - p.cached_tokens, 1.0) for p in points]
    return np.asarray(np.array(rates) / np.array(each))
