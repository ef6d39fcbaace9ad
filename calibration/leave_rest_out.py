"""Leave-rest-out of the calibration by a benchmark: some points of a published curve predict its other points.

``python -m calibration.leave_rest_out`` writes ``docs/CALIBRATION.md``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sizing.base.constants import constant
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.calibration.fit import FACTORS, fit_calibration
from sizing.calibration.protocol_points import CalibrationPoint, prepare
from sizing.evidence.points import points_of
from sizing.evidence.published import evidence_frame
from sizing.evidence.uncertainty import intervals
from sizing.steps.roofline import Roofline, roofline

REPORT = Path(__file__).parents[1] / "docs" / "CALIBRATION.md"
FEWEST_LOADS = 5
"""Loads of a curve at least. Chosen: because some must be left to predict."""
REPEATABLE = constant("measurement_repeatability")
SAME_CURVE = [
    "source",
    "source_url_or_repo_path",
    "source_date_or_version",
    "engine",
    "engine_version",
    "model",
    "weight_precision",
    "kv_precision",
    "gpu",
    "gpus",
    "tp",
    "pp",
    "ep",
    "dp",
    "isl",
    "osl",
    "prefix_cached_tokens",
]

Pick = Callable[[int, int, int], list[int]]


@dataclass(frozen=True, kw_only=True)
class ClosedLoopCurve:
    """One published closed-loop curve in ascending concurrency."""

    source: str
    calibration_points: tuple[CalibrationPoint, ...]


def curves() -> list[ClosedLoopCurve]:
    """Every closed-loop curve with ITL at five loads or more; disaggregated runs, whose GPU split is unknown, are left
    out as in the fit."""
    frame = evidence_frame()
    closed = frame[(frame["mode"] == "fixed_concurrency") & frame["itl_ms_mean"].notna()]
    closed = closed[~closed["notes"].fillna("").str.contains("DISAGG")]
    out = []
    for _, group in closed.groupby(SAME_CURVE, dropna=False):
        part = group.drop_duplicates("concurrency_or_batch").sort_values("concurrency_or_batch")
        points, errors = points_of(part)
        if len(part) < FEWEST_LOADS or errors or len({p.configuration for p in points}) > 1:
            continue
        measured = part[["itl_ms_mean", "ttft_ms_mean"]].to_numpy(dtype=np.float64) / 1e3
        out.append(
            ClosedLoopCurve(
                source=str(part["source"].iloc[0]),
                calibration_points=tuple(
                    CalibrationPoint(point=p, itl_s=itl, ttft_s=None if np.isnan(ttft) else ttft)
                    for p, (itl, ttft) in zip(points, measured, strict=True)
                ),
            )
        )
    return out


def spread_out(loads: int, count: int, _: int) -> list[int]:
    """Evenly from the lowest load to the highest; a single one in the middle."""
    return [loads // 2] if count == 1 else [round(x) for x in np.linspace(0, loads - 1, count)]


def at_random(loads: int, count: int, number: int) -> list[int]:
    """Drawn without replacement; the number of the curve is the seed."""
    return sorted(int(i) for i in np.random.default_rng(number).choice(loads, count, replace=False))


def leave_rest_out(measured: Sequence[ClosedLoopCurve], count: int, pick: Pick) -> pd.DataFrame:
    """One row per point that was not calibrated on: log(predicted / measured) before and after, and the intervals."""
    roof = roofline()
    rows = []
    for number, curve in enumerate(measured):
        chosen = pick(len(curve.calibration_points), count, number)
        fitted = fit_calibration([curve.calibration_points[i] for i in chosen], source=roof)
        rest = [a for i, a in enumerate(curve.calibration_points) if i not in chosen]
        rows += _judged(number, curve.source, fitted, rest, roof)
    return pd.DataFrame(rows)


def _judged(
    number: int, source: str, fitted: CalibratedConfiguration, rest: Sequence[CalibrationPoint], roof: Roofline
) -> list[dict[str, object]]:
    (part,) = prepare([a.point for a in rest], roof)
    before, after = part.expected(part.times), part.expected(fitted.scaled(part.times, part.grid))
    (prior,) = intervals("decode", fitted.model, [fitted.configuration])
    out: list[dict[str, object]] = []
    for i, (calibration_point, load) in enumerate(zip(rest, part.in_flight(), strict=True)):
        now = fitted.interval("decode", float(load))
        ttft = calibration_point.ttft_s
        assert calibration_point.itl_s is not None
        out.append(
            {
                "curve": number,
                "source": source,
                "before": np.log(before.itl_s[i, 0] / calibration_point.itl_s),
                "after": np.log(after.itl_s[i, 0] / calibration_point.itl_s),
                "ttft_before": np.nan if ttft is None else np.log(before.ttft_s[i, 0] / ttft),
                "ttft_after": np.nan if ttft is None else np.log(after.ttft_s[i, 0] / ttft),
                "inside_before": _inside(
                    calibration_point.itl_s / before.itl_s[i, 0], prior.low_factor, prior.high_factor
                ),
                "inside": _inside(calibration_point.itl_s / after.itl_s[i, 0], now.low_factor, now.high_factor),
                "width_before": prior.high_factor - prior.low_factor,
                "width": now.high_factor - now.low_factor,
                "beyond": not fitted.lowest <= load <= fitted.highest,
            }
        )
    return out


def _inside(ratio: float, low: float, high: float) -> bool:
    return low <= ratio <= high


def relative(logs: pd.Series) -> pd.Series:
    """Absolute relative errors."""
    return pd.Series(np.abs(np.expm1(logs.to_numpy(dtype=np.float64))))


def improved(points: pd.DataFrame) -> tuple[float, float]:
    """Share of curves whose median error fell; and of those whose median is now lower or within repeatability."""
    by_curve = points.groupby("curve")
    before, after = (by_curve[name].agg(lambda x: relative(x).median()) for name in ("before", "after"))
    return float((after < before).mean()), float(((after < before) | (after <= REPEATABLE)).mean())


def _line(name: str, points: pd.DataFrame) -> str:
    better, good = improved(points)
    cells = [f"{points['curve'].nunique()}", f"{len(points)}"]
    for column in ("before", "after"):
        errors = relative(points[column])
        cells.append(f"{errors.median():.1%} / {errors.quantile(0.9):.1%}")
    cells += [f"{better:.0%}", f"{good:.0%}"]
    cells += [f"{relative(points[c]).median():.0%}" for c in ("ttft_before", "ttft_after")]
    cells += [
        f"{points[w].median():.0%}, {points[i].mean():.0%}"
        for w, i in (("width_before", "inside_before"), ("width", "inside"))
    ]
    return f"| {name} | {' | '.join(cells)} |".replace("%", " %")


HEAD = (
    "Calibration points",
    "Curves",
    "Points",
    "ITL error before",
    "after",
    "Curves improved",
    "or within 8 %",
    "TTFT before",
    "after",
    "80 % interval before",
    "after",
)


def report() -> str:
    """The text of ``docs/CALIBRATION.md``."""
    measured = curves()
    random3 = leave_rest_out(measured, 3, at_random)
    lines = [
        _line(f"{n}, {how}", leave_rest_out(measured, n, pick))
        for n in (1, 2, 3, 4)
        for how, pick in (("at random", at_random), ("spread out", spread_out))
    ]
    parts = [_line(f"3, at random: {name}", part) for name, part in random3.groupby("source")]
    ends = [
        _line("3, at random: points between them", random3[~random3["beyond"]]),
        _line("3, at random: points beyond them", random3[random3["beyond"]]),
    ]
    table = "\n".join(["| " + " | ".join(HEAD) + " |", "|---" + "|---:" * (len(HEAD) - 1) + "|", *lines, *ends, *parts])
    return TEXT.format(curves=len(measured), fewest=FEWEST_LOADS, table=table, factors=", ".join(FACTORS))


TEXT = """# Calibration by a benchmark

Generated by `python -m calibration.leave_rest_out`; do not edit. Method: `sizing/calibration/fit.py`.

An imported benchmark calibrates the step times of the configuration that was measured: its points (*calibration
points*) set three factors ({factors}), shrunk towards the prediction, here the roofline alone. In this test
every published closed-loop curve with at least {fewest} loads plays the customer: some of its points are calibration
points, **all its other points are predicted** and compared with what was measured. {curves} curves; disaggregated runs
are left out, because their split of GPUs is not published.

Errors are |predicted / measured - 1|, median / 90th percentile over the points that were not calibrated on. *Curves
improved*: share of curves whose median error fell; *or within 8 %*: or is within the 8 % by which two runs of one
benchmark differ (a curve that was right before can only become worse by noise). Intervals: median full width, and the
share of measured points inside.

{table}

Read it with this in mind:

- *Before* is the error on curves that the fit has seen. For a configuration of your own, which it has never seen, the
  error before is larger (`docs/ACCURACY.md`), and so is the gain.
- Points spread over the loads of interest are worth more than as many close together: errors at loads beyond the
  calibration points are about twice those between them.
- TTFT of a closed loop is mostly the effect of its starting burst (requests arrive together and queue for prefill),
  so it moves the prompt factor only a little, and is never compared with the customer's TTFT at a request rate.
- Some errors remain that three factors cannot express: a scheduler that changes its policy with the load, a cap on
  sequences in flight.
"""


if __name__ == "__main__":
    REPORT.write_text(report(), encoding="utf-8")
