"""Figures of the intervals for ``accuracy.json``: whether they hold, how wide they are, and the forms side by side."""

from typing import Any

import numpy as np
import pandas as pd

from calibration.conformal import INTERVAL_METRICS, LEVELS, PART
from calibration.crossvalidate import UNSEEN
from calibration.fit_efficiency import sweep_of
from calibration.held_intervals import checked, inside, width
from calibration.interval_forms import FORMS

FEWEST = 10
"""Rows below which a share inside says nothing."""

Records = list[dict[str, Any]]


def coverage_records(checked: pd.DataFrame) -> Records:
    """Coverage and median full width of the 80 % and 95 % intervals on groups that had no part in them."""
    out = []
    for (mode, metric, scheme), part in checked.groupby(["mode", "metric", "scheme"]):
        if len(part) >= FEWEST:
            names = {"mode": mode, "metric": metric, "scheme": scheme}
            give = round(standard_error(inside(part, 80), sweep_of(part)) * 100, 1)
            wide = {"inside_95_pct": _percent(inside(part, 95).mean())}
            out.append({**names, **_held(part), "inside_80_give_or_take_pct": give, **wide})
    return out


def _held(part: pd.DataFrame) -> dict[str, Any]:
    """How many, the share inside 80 % by rows and with configurations weighing alike, and the median width."""
    hit = inside(part, 80)
    return {
        **held(hit, [part[name] for name in PART], width(part, 80)),
        "worst_quarter_of_sources_pct": worst_quarter(hit, part["source"]),
    }


def worst_quarter(hit: pd.Series, source: pd.Series) -> float | None:
    """The share inside that a quarter of the sources falls below, of those with :data:`FEWEST` rows or more."""
    each = hit.groupby(source).agg(["mean", "size"])
    enough = each.loc[each["size"] >= FEWEST, "mean"]
    return _percent(float(enough.quantile(0.25))) if len(enough) else None


def held(hit: pd.Series, configuration: Any, wide: pd.Series) -> dict[str, Any]:
    """The same of any rows: whether each was ``hit``, what its ``configuration`` is, and how wide its interval."""
    each = hit.groupby(configuration).mean()
    return {
        "rows": len(hit),
        "configurations": len(each),
        "inside_80_pct": _percent(hit.mean()),
        "inside_80_by_configuration_pct": _percent(each.mean()),
        "width_80_pct": _percent(wide.median()),
    }


def compared(errors: pd.DataFrame) -> Records:
    """The forms of :mod:`calibration.interval_forms` side by side, configuration and source unseen."""
    out = []
    for form in FORMS:
        rows = checked(errors, (80,), form, (UNSEEN,))
        for (mode, metric), part in rows.groupby(["mode", "metric"]):
            if len(part) >= FEWEST:
                out.append({"mode": mode, "metric": metric, "form": form, **_held(part)})
    return sorted(out, key=lambda record: (record["mode"], record["metric"]))


def _percent(share: float) -> float:
    return round(float(share) * 100.0, 1)


def standard_error(hit: pd.Series, sweep: pd.Series) -> float:
    """Standard error of the share of ``hit``, rows of one sweep being mostly one error many times.

    sqrt(G / (G - 1) x sum over G sweeps of (sum of hit - share)^2) / rows. Source: cluster-robust variance of a mean
    (Liang and Zeger 1986). NaN with one sweep.
    """
    off = (hit - hit.mean()).groupby(sweep).sum()
    groups = len(off)
    return float(np.sqrt(groups / (groups - 1) * (off**2).sum()) / len(hit)) if groups > 1 else float("nan")


def reliability_records(checked: pd.DataFrame) -> Records:
    """Nominal against actual coverage by metric, all modes alike but latencies of open loops, which are simulated at
    two levels only; configuration and source unseen."""
    unseen = checked[(checked["scheme"] == UNSEEN) & checked[f"low_{LEVELS[0]}"].notna()]
    out = []
    for level in LEVELS:
        hit = inside(unseen, level).groupby(unseen["metric"]).mean()
        shares = {f"{metric}_pct": _percent(hit[metric]) for metric in INTERVAL_METRICS}
        out.append({"nominal_pct": level, **shares})
    return out
