"""How far the capacity of an instance lies from the plan, in terms of the interval of its step times.

A score is log(measured / planned) over log(end / planned), where the end is the capacity with all step times at a
confidence: 1 where reality lies there, more where it lies outside. Its quantile over runs at their limits is the
exponent by which a capacity of that confidence lies farther from the plan, or nearer, than its step times alone would
have it: submitters choose layouts, formats and schedulers that nobody publishes, but errors of decode steps and of
prompts do not all point the same way, nor does every limit bind where they are largest. How much runs of one
configuration weigh together is the form of :mod:`calibration.interval_forms`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from calibration.capacity_figures import CONFIGURATION, OF_RUN, Records
from calibration.crossvalidate import UNSEEN
from calibration.interval_figures import held
from calibration.interval_forms import CAPACITY, FORMS
from sizing.base.arrays import Floats

SLOW: Mapping[str, tuple[str, float]] = MappingProxyType(
    {"at_80": ("slow_80_rps", 0.8), "high_factor": ("slow_rps", 0.9), "at_95": ("slow_95_rps", 0.95)}
)
"""For each exponent on the slow side, the rate with step times at a confidence, and that confidence."""

FAST_SHARE = 0.9
"""Share of runs that stay below the fast end of an 80 % range."""

AT_LIMITS = "at_limits"
"""Runs at their limits, where the protocol of other measurements stands."""

Exponents = Mapping[str, float]
"""By end of the step times: ``low_factor`` (fast), ``high_factor`` (slow), and others of the slow side."""


def exponents(runs: pd.DataFrame, form: str = CAPACITY) -> Exponents:
    """The exponents from judged runs (:func:`calibration.capacity_at_limits.judged`), at least 0: the range holds the
    plan.

    Runs that the plan cannot serve, or not at the slow end, count as inside: their range has no upper end. So no
    exponent is below that of a lower confidence: a surer plan never counts on more.
    """
    unit = configurations(runs)

    def end(slow: str, share: float) -> float:
        return float(FORMS[form](_scores(runs, slow), unit, [share])[0])

    slow_ends = np.maximum.accumulate([max(0.0, -end(slow, 1.0 - confidence)) for slow, confidence in SLOW.values()])
    return {
        "low_factor": round(max(0.0, end("slow_rps", FAST_SHARE)), 3),
        **{name: round(float(one), 3) for name, one in zip(SLOW, slow_ends, strict=True)},
    }


def _scores(runs: pd.DataFrame, slow: str) -> pd.Series:
    """Positive where more was measured than planned, over the way to the fast end; negative over that to ``slow``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(runs["measured_rps"] / runs["planned_rps"])
        up, down = (np.abs(np.log(runs[end] / runs["planned_rps"])) for end in ("fast_rps", slow))
        score = np.where(off > 0, off / up, off / down)
    return pd.Series(np.nan_to_num(score, nan=0.0), index=runs.index)


def configurations(runs: pd.DataFrame) -> pd.Series:
    """The configuration of each run in one text."""
    return runs[CONFIGURATION].astype(str).agg("; ".join, axis=1)


def with_ranges(runs: pd.DataFrame, form: str = CAPACITY) -> pd.DataFrame:
    """The runs with the range of the rate and of the GPUs, each by exponents of the other configurations alone."""
    names, known = configurations(runs), unseen_runs(runs)
    known = known if len(known) else runs
    parts = []
    for name, part in runs.groupby(names):
        others = known[names[known.index] != name]
        parts.append(ranged(part, exponents(others if len(others) else known, form)))
    return pd.concat(parts).sort_index()


def unseen_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Those that the exponents come from: like for like, by fits that saw neither source nor configuration."""
    return runs[(runs["scheme"] == UNSEEN) & (runs["software"] == OF_RUN)]


def ranged(runs: pd.DataFrame, by_end: Exponents) -> pd.DataFrame:
    """``rps_low`` and ``rps_high``, the rate at both ends, and ``gpus_low`` and ``gpus_high``, the GPUs of whole
    instances needed for the measured rate there; the range holds the planned number."""
    planned = runs["planned_rps"].to_numpy()
    served = planned > 0

    def rate(end: str, exponent: float) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(planned * (runs[end].to_numpy() / planned) ** exponent)

    def gpus(rps: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.ceil(runs["measured_rps"] * runs["gpus"] / (rps * runs["layout_gpus"]) - 1e-9)
        return np.where(served, np.nan_to_num(needed, nan=np.inf) * runs["layout_gpus"], np.nan)

    fast, slow = rate("fast_rps", by_end["low_factor"]), rate("slow_rps", by_end["high_factor"])
    low, high = np.fmin(gpus(fast), runs["gpus_needed"]), np.fmax(gpus(slow), runs["gpus_needed"])
    return runs.assign(
        rps_low=np.fmin(slow, planned),
        rps_high=np.fmax(fast, planned),
        gpus_low=np.where(served, low, np.nan),
        gpus_high=np.where(served, high, np.nan),
    )


def compared_ranges(runs: pd.DataFrame) -> Records:
    """The forms of :mod:`calibration.interval_forms` side by side: how often the range of the rate holds and how wide
    it is, source and configuration unseen, in the terms of :func:`calibration.interval_figures.compared`."""
    return [{"mode": AT_LIMITS, "metric": "throughput", "form": form, **_held(runs, form)} for form in FORMS]


def _held(runs: pd.DataFrame, form: str) -> dict[str, Any]:
    ranges = unseen_runs(with_ranges(runs, form))
    low, high, measured = ranges["rps_low"], ranges["rps_high"], ranges["measured_rps"]
    return held((low <= measured) & (measured <= high), configurations(ranges), (high - low) / ranges["planned_rps"])


def capacity_line(runs: pd.DataFrame) -> str:
    """What ``intervals.yaml`` says of capacity."""
    known = unseen_runs(runs)
    ends = exponents(known)
    values = {"runs": len(known), "configurations": configurations(known).nunique(), **ends}
    return "capacity: {" + ", ".join(f"{k}: {v}" for k, v in values.items()) + "}\n"
