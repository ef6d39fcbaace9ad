"""Published open loops at latency limits: the largest request rate that a system was measured to hold within them.

MLPerf Server results are exactly that: a submitter raises the rate until a limit at the 99th percentile would break.
Source of the limits: mlcommons/inference, ``loadgen/mlperf.conf`` (ttft_latency and tpot_latency, commit 001712e9).
Of other open loops, the same configuration at several rates, the highest rate is the largest within limits that are
what was measured there, as long as latency had risen by then and the system kept up.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from sizing.evidence.cases import architecture
from sizing.evidence.open_loop import EQUAL_LENGTHS
from sizing.evidence.points import Point, points_of
from sizing.evidence.published import evidence_frame
from sizing.question.traffic import Variability

DATA_SET_SPREAD = Variability(arrivals=1.0, prompt=0.5, output=0.5)
"""Poisson arrivals; squared coefficients of variation of 0.5 for both lengths, as in the MLPerf and ShareGPT sets."""

MLPERF_PERCENTILE, SERIES_PERCENTILE = 99.0, 50.0
"""Percentile of the limits: of every MLPerf Server scenario (``target_latency_percentile``), and of a series, for which
few sources publish more than a median TTFT and a mean ITL."""


@dataclass(frozen=True, kw_only=True)
class TokenLimits:
    """Limits in milliseconds at a percentile: first token (None: no limit), and mean gap of a request (TPOT)."""

    ttft_ms: float | None
    itl_ms: float
    percentile: float = MLPERF_PERCENTILE


MLPERF_LIMITS: Mapping[str, TokenLimits] = MappingProxyType(
    {
        name: TokenLimits(ttft_ms=ttft, itl_ms=itl)
        for name, ttft, itl in (
            ("llama2-70b", 2000.0, 200.0),
            ("llama2-70b-interactive", 450.0, 40.0),
            ("mixtral-8x7b", 2000.0, 200.0),
            ("llama3.1-405b", 6000.0, 175.0),
            ("llama3.1-405b-interactive", 4500.0, 80.0),
            ("llama3.1-8b", 2000.0, 100.0),
            ("llama3.1-8b-interactive", 500.0, 30.0),
            ("deepseek-r1", 2000.0, 80.0),
            ("deepseek-r1-interactive", 1500.0, 15.0),
        )
    }
)
"""The limits of each benchmark. GPT-J has a limit on the whole answer, and its rows no prompt length."""

BENCHMARK = re.compile(r"bench=([a-z0-9._-]+?)(?:-99(?:\.9)?)?;")
"""Where a row of MLPerf names its benchmark; -99 and -99.9 are accuracy targets."""

SEVERAL_NODES = re.compile(r"system=[^;]*-\d+-node")
"""Systems of several nodes whose result table counts the GPUs of one."""

REACHED = 0.5
"""A run whose published p99s are both below this share of their limits was not taken to them: a lower bound."""

LOAD_IN_NAME = re.compile(r"[\d.]+(?=[^/\d]*$)")
"""The load in the name of a result file (rate-0.5.json, stage_3.json); files that differ in it alone are one series."""

FEWEST_RATES, RISEN, KEPT_UP = 3, 1.3, 0.95
"""Rates of a series at least; ITL at the highest over that at the lowest at least; share of the offered rate that was
served at least. Chosen: because the rate at a limit says little where latency is flat, or the queue grows."""


@dataclass(frozen=True, kw_only=True)
class RunAtLimits:
    """One system at its limits: ``rate_rps`` is the largest rate measured within ``limits``, of all ``gpus``, with
    serving software of ``software_year``.

    ``layouts``: the configurations it may have had, one where the parallelism was published. ``spread`` of the lengths;
    a series has its mean lengths alone, which is what most load generators send.
    """

    row: int
    source: str
    benchmark: str
    layouts: tuple[Point, ...]
    gpus: int
    rate_rps: float
    limits: TokenLimits
    software_year: float
    spread: Variability = DATA_SET_SPREAD


def runs_at_limits() -> list[RunAtLimits]:
    """Every run of the library that says what a system carries within limits."""
    return [*mlperf_runs(), *series_runs()]


def mlperf_runs() -> list[RunAtLimits]:
    """Every MLPerf Server run of the library with prompt lengths and limits on tokens, in file order."""
    frame = evidence_frame()
    notes = frame["notes"].fillna("")
    wanted = (frame["mode"] == "fixed_rate") & frame["source"].str.startswith("mlperf") & frame["isl"].notna()
    some = frame[wanted & ~notes.str.contains(SEVERAL_NODES)]
    layouts: dict[int, list[Point]] = {}
    for point in points_of(some)[0]:
        layouts.setdefault(point.row, []).append(point)
    return list(_runs(some, layouts))


def _runs(frame: pd.DataFrame, layouts: Mapping[int, Sequence[Point]]) -> Iterator[RunAtLimits]:
    for place, points in layouts.items():
        cells = frame.iloc[place]
        benchmark = BENCHMARK.search(str(cells["notes"]))
        limits = MLPERF_LIMITS.get(benchmark[1]) if benchmark else None
        if benchmark is None or limits is None or not _at_limits(cells, limits):
            continue
        rate = float(cells["request_rate_rps"])
        yield RunAtLimits(
            row=int(str(frame.index[place])),
            source=str(cells["source"]),
            benchmark=benchmark[1],
            layouts=tuple(points),
            gpus=int(cells["gpus"]),
            rate_rps=rate if np.isfinite(rate) else float(cells["output_tokens_per_s"] / cells["osl"]),
            limits=limits,
            software_year=points[0].software_year,
        )


def _at_limits(cells: pd.Series, limits: TokenLimits) -> bool:
    """Whether a run came near one of its limits; taken for granted where no percentile was published."""
    limit = math.inf if limits.ttft_ms is None else limits.ttft_ms
    shares = float(cells["ttft_ms_p99"]) / limit, float(cells["itl_ms_p99"]) / limits.itl_ms
    return not all(share < REACHED for share in shares)


def series_runs(frame: pd.DataFrame | None = None) -> list[RunAtLimits]:
    """The highest rate of every other open-loop series of good quality whose latency had risen by then."""
    frame = evidence_frame() if frame is None else frame
    kept_up = ~(frame["requests_per_s"] < KEPT_UP * frame["request_rate_rps"])
    wanted = (frame["mode"] == "fixed_rate") & ~frame["source"].str.startswith("mlperf") & (frame["quality"] == "good")
    some = frame[wanted & kept_up & frame["itl_ms_mean"].notna() & frame["isl"].notna()]
    places = some["source"] + some["source_url_or_repo_path"].str.replace(LOAD_IN_NAME, "", regex=True)
    highest = []
    for _, group in some.groupby(places):
        ordered = group.sort_values("request_rate_rps", kind="stable")
        if ordered["request_rate_rps"].nunique() >= FEWEST_RATES and _risen(ordered):
            highest.append(ordered.index[-1])
    chosen = some.loc[highest]
    layouts: dict[int, list[Point]] = {}
    for point in points_of(chosen)[0]:
        layouts.setdefault(point.row, []).append(point)
    return [_of_series(chosen, place, points) for place, points in layouts.items()]


def _risen(ordered: pd.DataFrame) -> bool:
    return bool(ordered["itl_ms_mean"].iloc[-1] >= RISEN * ordered["itl_ms_mean"].iloc[0])


def _of_series(frame: pd.DataFrame, place: int, points: Sequence[Point]) -> RunAtLimits:
    cells = frame.iloc[place]
    first = float(cells["ttft_ms_p50"])
    return RunAtLimits(
        row=int(str(frame.index[place])),
        source=str(cells["source"]),
        benchmark=str(cells["source"]),
        layouts=tuple(points),
        gpus=int(cells["gpus"]),
        rate_rps=float(cells["request_rate_rps"]),
        limits=TokenLimits(
            ttft_ms=first if np.isfinite(first) else None,
            itl_ms=float(cells["itl_ms_mean"]),
            percentile=SERIES_PERCENTILE,
        ),
        software_year=points[0].software_year,
        spread=EQUAL_LENGTHS,
    )


def labels(runs: Sequence[RunAtLimits]) -> pd.DataFrame:
    """What cross-validation groups by, one row per run (:func:`calibration.crossvalidate.group_of`)."""
    points = [run.layouts[0] for run in runs]
    return pd.DataFrame(
        {
            "row": [run.row for run in runs],
            "source": [run.source for run in runs],
            "benchmark": [run.benchmark for run in runs],
            "architecture": [architecture(p.model) for p in points],
            "model": [p.model.id for p in points],
            "gpu": [p.configuration.gpu.id for p in points],
            "engine": [p.configuration.engine.surrogate for p in points],
            "precision": [p.configuration.precision.id for p in points],
            "gpus": [run.gpus for run in runs],
            "measured_rps": [run.rate_rps for run in runs],
        }
    )
