"""Figures of capacity at the limits for ``accuracy.json``: by scheme, by configuration, and every run."""

from typing import Any

import numpy as np
import pandas as pd

from calibration.crossvalidate import SCHEMES

Records = list[dict[str, Any]]

SHOWN_SCHEMES = ("model", "fit")
"""The scheme of runs and configurations, the first that was worked out: predictions by a fit without their model."""

OF_RUN, TODAY = "of the run", "of today"
"""The serving software that the plan of a run has: that of the run's year, like for like, or what is planned with."""

CONFIGURATION = ["benchmark", "model", "gpu", "engine", "precision", "layout"]

CHECKED_EVERY = 3
"""One in so many configurations is planned again by a test."""

RUN_COLUMNS = ("row", *CONFIGURATION, "gpus", "gpus_needed", "measured_rps", "planned_rps")


def capacity_records(runs: pd.DataFrame) -> Records:
    """By what was left out of the fit: error and bias of the largest rate, and of the GPUs needed for it.

    ``gpus_over_used`` is the geometric mean of GPUs needed over GPUs used; ``inside_80_pct`` how often the plan's
    80 % range holds the GPUs used, ``high_over_low`` how wide it is (median); ``rate_inside_80_pct`` and
    ``rate_high_over_low`` the same of the rate, which is not rounded to whole instances. A run that the plan cannot
    serve counts as an error of 100 %.
    """
    groups = dict(iter(runs.groupby(["software", "scheme"])))
    keys = [(software, scheme) for software in (OF_RUN, TODAY) for scheme in SCHEMES]
    return [_summary(groups[key], *key) for key in keys if key in groups]


def _summary(rows: pd.DataFrame, software: str, scheme: str) -> dict[str, Any]:
    ratio = (rows["planned_rps"] / rows["measured_rps"]).to_numpy()
    error = np.abs(ratio - 1.0)
    needed = (rows["gpus_needed"] / rows["gpus"]).dropna()
    rate_inside = (rows["rps_low"] <= rows["measured_rps"]) & (rows["measured_rps"] <= rows["rps_high"])
    inside = (rows["gpus_low"] <= rows["gpus"]) & (rows["gpus"] <= rows["gpus_high"])
    return {
        "software": software,
        "scheme": scheme,
        "rows": len(rows),
        "configurations": len(rows.drop_duplicates(CONFIGURATION)),
        "median_pct": _percent(np.median(error)),
        "p90_pct": _percent(np.quantile(error, 0.9)),
        "bias_pct": _percent(np.median(ratio) - 1.0),
        "gpus_over_used": round(float(np.exp(np.log(needed).mean())), 2),
        "exact_pct": _percent((rows["gpus_needed"] == rows["gpus"]).mean()),
        "rate_inside_80_pct": _percent(rate_inside.mean()),
        "rate_high_over_low": round(float((rows["rps_high"] / rows["rps_low"]).median(skipna=True)), 2),
        "inside_80_pct": _percent(inside.mean()),
        "high_over_low": round(float((rows["gpus_high"] / rows["gpus_low"]).median(skipna=True)), 2),
    }


def _percent(share: float) -> float:
    return round(float(share) * 100.0, 1)


def configuration_records(runs: pd.DataFrame) -> Records:
    """Median of planned over measured rate by configuration, furthest from 1 first."""
    rows = shown(runs)
    rows = rows.assign(planned_over_measured=rows["planned_rps"] / rows["measured_rps"])
    grouped = rows.groupby(CONFIGURATION, sort=True)["planned_over_measured"]
    table = grouped.agg(["size", "median"]).reset_index()
    far = np.abs(np.log(table["median"].clip(lower=1e-9)))
    ordered = table.loc[far.sort_values(ascending=False, kind="stable").index]
    named = ordered.rename(columns={"size": "rows", "median": "planned_over_measured"})
    return _records(named.round({"planned_over_measured": 2}))


def run_records(runs: pd.DataFrame) -> Records:
    """Every run with its planned and its measured rate, and GPUs needed and used."""
    rows = shown(runs)[["scheme", *RUN_COLUMNS]]
    return _records(rows.round({"measured_rps": 2, "planned_rps": 2}))


def check_record(runs: pd.DataFrame) -> dict[str, list[float]]:
    """Some runs as the committed fit answers them: rows of the library, and planned rates."""
    seen = (
        runs[(runs["scheme"] == SCHEMES[0]) & (runs["software"] == OF_RUN)]
        .drop_duplicates(CONFIGURATION)
        .iloc[::CHECKED_EVERY]
    )
    return {"rows": seen["row"].tolist(), "planned_rps": seen["planned_rps"].round(3).tolist()}


def shown(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that are shown: by :data:`SHOWN_SCHEMES`, with software of their own year."""
    scheme = next(s for s in SHOWN_SCHEMES if (runs["scheme"] == s).any())
    return runs[(runs["scheme"] == scheme) & (runs["software"] == OF_RUN)]


def _records(table: pd.DataFrame) -> Records:
    """Plain numbers and texts, None where nothing is known."""
    plain = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): _plain(value) for name, value in record.items()} for record in plain]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
