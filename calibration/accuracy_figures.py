"""The figures of the accuracy report: everything that ``accuracy.json``, and from it the report and the page, shows.

Obstacles to what was asked stand here as text; the report's other hand-written text is
``sizing.methodology.accuracy``'s.
"""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from calibration.capacity_figures import (
    OF_RUN,
    TODAY,
    capacity_records,
    check_record,
    configuration_records,
    run_records,
)
from calibration.capacity_reliability import reliability_at_limits
from calibration.conclusions import basis_records, extrapolated_records
from calibration.crossvalidate import EXTRAPOLATED, LATER, SCHEMES, UNSEEN
from calibration.fit_efficiency import FITTED_ON
from calibration.fit_targets import FitTargets
from calibration.held_intervals import inside
from calibration.interval_figures import coverage_records, reliability_records
from calibration.reasons import reason, rows_of
from sizing.catalog.files import DATA_DIR
from sizing.evidence.extrapolation import Extrapolation
from sizing.evidence.published import evidence_frame
from sizing.methodology.accuracy import MET, QUALITIES, STEADY
from sizing.steps.mixture import Mixture

PARAMETER_FILES = ("evidence.csv.gz", "efficiency.yaml", "mixture.yaml", "intervals.yaml")
"""What the figures were worked out from and for: changing one without the others makes a test fail."""

SLICES = ("engine", "gpu", "kind", "source")
SLICE_SCHEMES = ("model", "gpu")
WORST = 20
"""Worst rows that are listed. Chosen: because their reasons can still be read one by one."""
SPOT_GPU, SPOT_ROWS = "h200_sxm", 25
"""GPU and number of rows of the spot check, which shows single predictions."""
SHOWN = (("fixed_concurrency", "itl"), ("offline_max_throughput", "throughput"), ("static_batch", "e2e"))
"""What is shown by slice: the metric that step times decide, by mode; closed-loop E2E and rate follow ITL."""

NINE_OF_TEN = 2.5
"""Times the largest median that nine of ten errors may reach, where no other bound was set. Chosen: because it is that
of the capacity, and of normal errors (1.645 / 0.674 = 2.4)."""

TARGETS: tuple[tuple[str, str, str, str, float, float], ...] = (
    ("Closed-loop ITL", "fixed_concurrency", "itl", "good", 9.0, 30.0),
    ("Closed-loop E2E", "fixed_concurrency", "e2e", "good", 9.0, NINE_OF_TEN * 9.0),
    ("Closed-loop output tokens/s", "fixed_concurrency", "throughput", "good", 9.0, NINE_OF_TEN * 9.0),
    ("Offline output tokens/s", "offline_max_throughput", "throughput", "good", 11.0, NINE_OF_TEN * 11.0),
    (
        "Offline output tokens/s but for bursts",
        "offline_max_throughput",
        "throughput",
        STEADY,
        11.0,
        NINE_OF_TEN * 11.0,
    ),
    ("Prefill of static batches", "static_batch", "ttft", "all", 15.0, NINE_OF_TEN * 15.0),
    ("Open-loop TTFT p50", "fixed_rate", "ttft", "good", 25.0, NINE_OF_TEN * 25.0),
    ("Open-loop TTFT p99", "fixed_rate", "ttft_p99", "good", 30.0, NINE_OF_TEN * 30.0),
)
"""Name, mode, metric, quality, largest median and largest 90th percentile of the absolute error in per cent. Either
alone is not enough: a median says nothing of the worst of ten."""

CAPACITY: Mapping[str, str] = MappingProxyType(
    {OF_RUN: "Capacity at the limits", TODAY: "The same planned with software of today"}
)
CAPACITY_ASKED = (10.0, 25.0)
"""Name, by the software of the plan, and largest errors of the largest rate within latency limits, whose errors are no
metric of a protocol."""

HELD_OUT = tuple(s for s in SCHEMES[1:] if s != UNSEEN)
"""What was left out, one after the other, where errors are asked to be small; intervals are judged with both unseen."""

Records = list[dict[str, Any]]

TWO_MODELS = "as ITL; nine in ten rows are one benchmark (InferenceMAX, now InferenceX) of two models"
JUST_BELOW = "few good rows; just below capacity 5 % of it are a factor of 1.5 in TTFT"
BURSTS = "170 rows are bursts, all of one source, some 20 % slower than predicted; the others stand below"

OBSTACLES: Mapping[str, str] = MappingProxyType(
    {
        "Capacity at the limits": "the farthest are the H100 NVL and one GH200",
        "The same planned with software of today": "AMD submissions of 2024 and early 2025 served far less than today",
        "Closed-loop ITL": "engines are tuned model by model, which the sizes in a config.json do not show",
        "Closed-loop E2E": TWO_MODELS,
        "Closed-loop output tokens/s": TWO_MODELS,
        "Offline output tokens/s": BURSTS,
        "Offline output tokens/s but for bursts": "engines of 2024 in many versions",
        "Prefill of static batches": "all 296 rows are of quality caution, by software of 2023 and 2024",
        "Open-loop TTFT p50": JUST_BELOW,
        "Open-loop TTFT p99": JUST_BELOW,
    }
)
"""Why a target may not be met, by its name; said only where it is not."""


def fingerprint() -> dict[str, str]:
    """SHA-256 of the evidence and of every file of parameters, shortened."""
    return {name: hashlib.sha256((DATA_DIR / name).read_bytes()).hexdigest()[:16] for name in PARAMETER_FILES}


def summary(error: pd.Series) -> dict[str, float]:
    """Rows, median and 90th percentile of the absolute percentage error, and the median bias in per cent."""
    ape = np.abs(np.expm1(error.to_numpy()))
    return {
        "rows": len(ape),
        "median_pct": round(float(np.median(ape)) * 100, 1),
        "p90_pct": round(float(np.quantile(ape, 0.9)) * 100, 1),
        "bias_pct": round(float(np.expm1(np.median(error))) * 100, 1),
    }


def of_quality(rows: pd.DataFrame, quality: str) -> pd.DataFrame:
    """The rows of one of :data:`QUALITIES`."""
    if quality == STEADY:
        return rows[(rows["quality"] == "good") & ~rows["burst"].astype(bool)]
    return rows if quality == "all" else rows[rows["quality"] == quality]


def error_records(errors: pd.DataFrame) -> Records:
    """Errors of the answers by scheme, mode, metric and quality, with the roofline's own median beside."""
    out = []
    for (scheme, mode, metric), part in errors.groupby(["scheme", "mode", "metric"]):
        for quality in QUALITIES:
            rows = of_quality(part, quality)
            if len(rows) and (quality != STEADY or part["burst"].any()):
                alone = summary(rows["alone"])["median_pct"]
                names = {"scheme": scheme, "mode": mode, "metric": metric, "quality": quality}
                out.append({**names, **summary(rows["error"]), "roofline_alone_pct": alone})
    return out


def slice_records(errors: pd.DataFrame, checked: pd.DataFrame) -> Records:
    """Errors and coverage by engine, GPU, kind of model and source, one model and one GPU left out."""
    hit = checked.assign(inside=inside(checked, 80))
    out = []
    for scheme in SLICE_SCHEMES:
        for by in SLICES:
            for (mode, metric, value), part in errors[errors["scheme"] == scheme].groupby(["mode", "metric", by]):
                if (mode, metric) not in SHOWN:
                    continue
                same = hit[(hit["scheme"] == scheme) & (hit["mode"] == mode) & (hit["metric"] == metric)]
                share = same.loc[same[by] == value, "inside"].mean()
                names = {"scheme": scheme, "mode": mode, "metric": metric, "by": by, "value": value}
                out.append({**names, **summary(part["error"]), "inside_80_pct": round(float(share) * 100, 1)})
    return out


def worst_records(errors: pd.DataFrame) -> Records:
    """The largest errors with the model left out, at most two of a source and configuration, with their reason."""
    left = errors[(errors["scheme"] == "model") & errors["metric"].isin(("itl", "e2e", "throughput"))]
    ranked = left.reindex(left["error"].abs().sort_values(ascending=False, kind="stable").index)
    some = ranked.groupby(["source", "model", "gpu", "engine", "precision"]).head(2).head(WORST)
    names = ("source", "model", "gpu", "engine", "precision", "mode", "metric")
    return [
        {
            **{n: row.label[n] for n in names},
            "predicted_over_measured": round(float(np.exp(row.error)), 2),
            "reason": reason(row),
        }
        for row in rows_of(some, left, evidence_frame())
    ]


def target_records(errors: Records, capacity: Records, obstacles: Mapping[str, str]) -> Records:
    """What was asked, what is reached by scheme (median / 90th percentile in per cent), and why not where it is not."""
    by_key = {(r["scheme"], r["mode"], r["metric"], r["quality"]): r for r in errors}
    out = []
    for name, mode, metric, quality, median, p90 in TARGETS:
        reached = {s: by_key[s, mode, metric, quality] for s in HELD_OUT}
        out.append(_target(name, reached, (median, p90), obstacles))
    by_names = {(r["software"], r["scheme"]): r for r in capacity}
    largest = [
        _target(name, {s: by_names[software, s] for s in HELD_OUT}, CAPACITY_ASKED, obstacles)
        for software, name in CAPACITY.items()
    ]
    return [*largest, *out]


def _target(
    name: str, reached: Mapping[str, Mapping[str, Any]], largest: tuple[float, float], obstacles: Mapping[str, str]
) -> dict[str, Any]:
    """One record; ``largest``: largest median and largest 90th percentile. Met is what meets both."""
    median, p90 = largest
    missed = {
        "median": [s for s, r in reached.items() if r["median_pct"] > median],
        "90th percentile": [s for s, r in reached.items() if r["p90_pct"] > p90],
    }
    faults = [f"{what}{_where(schemes, reached)}" for what, schemes in missed.items() if schemes]
    verdict = f"not met ({'; '.join(faults)}): {obstacles[name]}" if faults else MET
    wanted = f"{median:g} / {p90:g}"
    cells = {s: f"{r['median_pct']} / {r['p90_pct']}" for s, r in reached.items()}
    return {"quantity": name, "rows": reached["model"]["rows"], "asked_pct": wanted, **cells, "verdict": verdict}


def _where(schemes: Sequence[str], reached: Mapping[str, object]) -> str:
    """What has to be left out for a target to be missed: nothing where it is with all."""
    return "" if len(schemes) == len(reached) else f" with {', '.join(schemes)} left out"


def spot_check(tables: Sequence[FitTargets], source: Mixture) -> dict[str, Any]:
    """Some closed-loop rows of one GPU type as the committed parameters answer them, kernel tables included."""
    mode, metric = SHOWN[0]
    table = next(t for t in tables if t.mode == mode)
    error = table.predicted_by(source)[metric] - table.observed[metric]
    here = np.flatnonzero((table.labels["gpu"] == SPOT_GPU) & np.isfinite(error))
    chosen = here[:: max(len(here) // SPOT_ROWS, 1)]
    return {
        "mode": mode,
        "metric": metric,
        "rows": table.labels["row"].iloc[chosen].tolist(),
        "predicted_over_measured": [round(float(v), 4) for v in np.exp(error[chosen])],
    }


def figures(
    errors: pd.DataFrame,
    capacity: pd.DataFrame,
    checked: pd.DataFrame,
    learnt: Mapping[str, Extrapolation],
    forms: Records,
    curve: Sequence[Mapping[str, object]],
    rows: int,
    spot: Mapping[str, Any],
    obstacles: Mapping[str, str],
) -> dict[str, Any]:
    """Everything, by title; the parameter files must have been written."""
    claimed = errors[~errors["scheme"].isin((LATER, *EXTRAPOLATED))]
    records, at_limits = error_records(claimed), capacity_records(capacity)
    return {
        "date": FITTED_ON,
        "rows": rows,
        "fingerprint": fingerprint(),
        "basis": basis_records(capacity),
        "extrapolated": extrapolated_records(errors, checked, learnt),
        "reliability_at_limits": reliability_at_limits(capacity),
        "capacity": at_limits,
        "capacity_configurations": configuration_records(capacity),
        "capacity_runs": run_records(capacity),
        "targets": target_records(records, at_limits, obstacles),
        "errors": records,
        "slices": slice_records(errors, checked),
        "coverage": coverage_records(checked[~checked["scheme"].isin(EXTRAPOLATED)]),
        "forms": forms,
        "reliability": reliability_records(checked),
        "learning_curve": list(curve),
        "worst": worst_records(errors),
        "spot_check": dict(spot),
        "capacity_check": check_record(capacity),
    }
