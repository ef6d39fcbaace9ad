"""Closed loops whose split of the GPUs into prefill and decode instances is left open: how far predictions are off.

None of them is in any fit; a benchmark's input says neither how many instances there are nor of which size, so that the
split which serves most is taken (:func:`sizing.evidence.layouts.split_layouts`). Their intervals are those of closed
loops, so much wider that four of five hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calibration.accuracy_figures import summary
from calibration.crossvalidate import SCHEMES, UNSEEN, Refit, configuration_of, group_of, small_group
from calibration.fit_targets import FitTargets
from sizing.evidence.ends import point_cases
from sizing.evidence.points import CLOSED_LOOP
from sizing.evidence.uncertainty import ErrorMetric, stratum_interval
from sizing.steps.mixture import Mixture

METRICS: tuple[ErrorMetric, ...] = ("itl", "e2e", "throughput", "ttft")
HELD = 0.8
"""Share that the intervals are to hold."""


def split_errors(
    table: FitTargets, whole: Mixture, refits: Sequence[Refit], without: Sequence[Mixture]
) -> pd.DataFrame:
    """Every run and metric by scheme: ``error``, log(predicted / measured), and ``far``, how far reality lies on the
    way to the end of a closed loop's interval. Of a group that no fit left out, by the fit on everything."""
    sources = {(r.scheme, r.name): source for r, source in zip(refits, without, strict=True)}
    parts = []
    for scheme in SCHEMES:
        groups = group_of(table.labels, scheme) if scheme != "fit" else pd.Series("", index=table.labels.index)
        names = groups.where(groups.isin([name for s, name in sources if s == scheme]), groups.map(small_group))
        for name in sorted(set(names)):
            rows = np.flatnonzero(names == name)
            parts.append(_errors(table.take(rows), sources.get((scheme, name), whole)).assign(scheme=scheme))
    return pd.concat(parts, ignore_index=True)


def _errors(table: FitTargets, source: Mixture) -> pd.DataFrame:
    predicted = table.predicted_by(source)
    size = len(table.points)
    cases = [
        replace(c, open_split=False) for c in point_cases(table.points, np.full(size, np.nan), [CLOSED_LOOP] * size)
    ]
    parts = []
    for metric in METRICS:
        error = predicted[metric] - table.observed[metric]
        ends = [stratum_interval(metric, CLOSED_LOOP, case) for case in cases]
        ratio = np.exp(-error)
        far = [np.log(r) / np.log(e.high_factor if r > 1 else e.low_factor) for r, e in zip(ratio, ends, strict=True)]
        part = table.labels.assign(metric=metric, error=error, far=far, configuration=configuration_of(table.labels))
        parts.append(part[np.isfinite(error)])
    return pd.concat(parts, ignore_index=True)


def factors(errors: pd.DataFrame) -> Mapping[str, float]:
    """By metric, how many times as far as those of a closed loop the ends lie that hold four of five runs, source and
    configuration unseen; at least 1. Sweeps weigh by the root of their rows: they are too few for a margin."""
    out = {}
    for metric, part in errors[errors["scheme"] == UNSEEN].groupby("metric"):
        weight = part.groupby("configuration")["far"].transform("size") ** -0.5
        end = np.quantile(part["far"], HELD, weights=weight, method="inverted_cdf")
        out[str(metric)] = round(max(1.0, float(end)), 2)
    return out


def split_line(errors: pd.DataFrame) -> str:
    """The line of ``intervals.yaml``."""
    runs, kinds = errors["row"].nunique(), errors["configuration"].nunique()
    inner = ", ".join(f"{name}: {value}" for name, value in factors(errors).items())
    return f"open_split: {{rows: {runs}, configurations: {kinds}, {inner}}}\n"


def split_records(errors: pd.DataFrame) -> list[dict[str, Any]]:
    """Errors by scheme and metric, and how often intervals hold whose factors come from the other configurations."""
    others = {name: factors(errors[errors["configuration"] != name]) for name in errors["configuration"].unique()}
    wide = [others[c][m] for c, m in zip(errors["configuration"], errors["metric"], strict=True)]
    inside = errors.assign(inside=errors["far"] <= wide)
    return [
        {
            "scheme": scheme,
            "metric": metric,
            **summary(part["error"]),
            "inside_80_pct": round(100.0 * float(part["inside"].mean()), 1),
        }
        for (scheme, metric), part in inside.groupby(["scheme", "metric"])
    ]
