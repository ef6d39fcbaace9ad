"""Errors of predictions for what the fit had not seen, and how much of it was known from elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pandas as pd

from calibration.crossvalidate import NO_GROUP, Masks, Refit
from calibration.fit_efficiency import Fit
from calibration.fit_mixture import Steps, compared, fit_trust, predicted, steps_of, unseen_steps
from calibration.fit_targets import METRICS, FitTargets
from sizing.base.arrays import Floats
from sizing.catalog.measured import FEWEST, Counted
from sizing.evidence.cases import LayoutKind
from sizing.evidence.points import CLOSED_LOOP, OPEN_LOOP
from sizing.evidence.uncertainty import doublings_outside
from sizing.steps.mixture import NONE, Mixture, Trust
from sizing.steps.roofline import Roofline


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Held-out ``errors``, the source of step times fitted to everything, and for each refit that which has seen
    nothing of its group: roofline and trust in the tables."""

    errors: pd.DataFrame
    whole: Mixture
    without: tuple[Mixture, ...]


def held_out_errors(
    tables: Sequence[FitTargets], kernel: Mapping[str, Floats], fit: Fit, refits: Sequence[Refit]
) -> HeldOut:
    """Errors as a long table with one row per point, metric and scheme.

    ``error`` is log(predicted / measured) of the product's answer, ``alone`` that of the roofline without tables,
    ``weight`` and ``apart`` how the tables took part, ``new_...`` what of the point no other measurement shows,
    ``derived`` whether the metric was worked out from others of the same run rather than published.
    """
    unseen = unseen_steps(tables, kernel, fit.efficiencies, refits)
    whole = fit_trust(tables, unseen)
    everything = {t.mode: np.ones(len(t.points), dtype=bool) for t in tables}
    sources = []
    parts = [_long(tables, steps_of(tables, kernel, fit.efficiencies), whole, "fit", everything, everything)]
    for refit in refits:
        trust = fit_trust(tables, unseen, refit.kept)
        sources.append(Mixture(Roofline(refit.fit.efficiencies), trust))
        steps = steps_of(tables, kernel, refit.fit.efficiencies)
        parts.append(_long(tables, steps, trust, refit.scheme, refit.group, refit.kept))
    errors = pd.concat(parts, ignore_index=True)
    errors["id"] = errors["mode"] + " " + errors["row"].astype(str)
    stable = np.isfinite(errors["error"])  # an open loop may be stable under one source of step times alone
    return HeldOut(
        errors=errors[stable].reset_index(drop=True),
        whole=Mixture(Roofline(fit.efficiencies), whole),
        without=tuple(sources),
    )


def _long(
    tables: Sequence[FitTargets], steps: Mapping[str, Steps], trust: Trust, scheme: str, held: Masks, kept: Masks
) -> pd.DataFrame:
    """Errors of the points in ``held`` under given step times and weights."""
    known = known_by(pd.concat([t.labels[kept[t.mode]] for t in tables]))
    parts = []
    for table in tables:
        rows = np.flatnonzero(held[table.mode])
        if not len(rows):
            continue
        some = [table.take(rows)], {table.mode: steps[table.mode].take(rows)}
        both, alone = (_answered(*some, each) for each in (trust, NONE))
        mixed = steps[table.mode].mixed(trust)
        loads = load_columns(table)
        labels = table.labels.assign(
            gpus=[p.configuration.gpus for p in table.points.points],
            concurrency=loads[:, 0],
            input_tokens=loads[:, 1],
            output_tokens=loads[:, 2],
            fits=table.points.fits[:, 0],
            beyond=doublings_outside(loads, *load_range(loads[kept[table.mode]])),
            weight=mixed.weight,
            apart=mixed.apart,
            scheme=scheme,
            **_news(table.labels, known),
        ).iloc[rows]
        for metric in METRICS:
            error = both[table.mode, metric]
            derived = ~np.isfinite(table.observed[metric][rows])
            part = labels.assign(metric=metric, error=error, alone=alone[table.mode, metric], derived=derived)
            parts.append(part[np.isfinite(error)])
    return pd.concat(parts, ignore_index=True)


SIMULATED = (CLOSED_LOOP, OPEN_LOOP)
"""Modes whose runs are simulated for an answer."""


def _answered(tables: Sequence[FitTargets], steps: Mapping[str, Steps], trust: Trust) -> dict[tuple[str, str], Floats]:
    """As :func:`calibration.fit_mixture.predicted`, loops as the product answers them where the tables have a part."""
    out = predicted(tables, steps, trust)
    for table in tables:
        if table.mode in SIMULATED and trust != NONE:
            source = Mixture(Roofline(steps[table.mode].fit), trust)
            out |= compared(table, table.answered_by(source))
    return out


def load_columns(table: FitTargets) -> Floats:
    """Concurrency per instance (NaN: as many as possible), input and output tokens of every point, (C, 3)."""
    points = table.points
    return np.array([(p.concurrency / p.instances, p.input_tokens, p.output_tokens) for p in points.points])


def load_range(loads: Floats) -> tuple[Floats, Floats]:
    """Lowest and highest of each column that is known; no bounds where nothing is."""
    known = np.isfinite(loads)
    low = np.min(np.where(known, loads, np.inf), axis=0, initial=np.inf)
    high = np.max(np.where(known, loads, -np.inf), axis=0, initial=-np.inf)
    return np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, np.inf)


def known_by(labels: pd.DataFrame) -> dict[str, set[str]]:
    """What points show, by the names of :func:`shown_by`; a GPU, an engine or a layout with few of them counts for
    nothing, as in :func:`sizing.catalog.measured.well_measured`."""
    out = {}
    for name, values in shown_by(labels).items():
        counts = values.value_counts()
        out[name] = set(counts.index[counts >= (FEWEST if f"{name}s" in get_args(Counted) else 1)])
    return out


def shown_by(labels: pd.DataFrame) -> dict[str, pd.Series]:
    """What each point shows, by the names of :mod:`sizing.catalog.measured` in the singular."""
    platform = labels["served_by"] + " on " + labels["gpu"]
    deployment = labels["architecture"] + "; " + platform
    of_format = deployment + "; " + labels["precision"]
    return {
        "configuration": of_format + "; " + labels["parallelism"],
        "format": of_format,
        "deployment": deployment,
        "model": labels["architecture"],
        "platform": platform,
        "gpu": labels["gpu"],
        "generation": labels["generation"],
        "engine": labels["served_by"],
        "layout": (labels["layout"] + " by " + platform).where(labels["layout"] != NO_GROUP, NO_GROUP),
    }


def _news(labels: pd.DataFrame, known: Mapping[str, set[str]]) -> dict[str, Floats]:
    """1 where no kept point has the configuration, architecture, platform...; by the names of the difficulties and of
    the extrapolations of :mod:`sizing.evidence`. A GPU is new where others of its generation are known."""
    news = {name: np.asarray(~values.isin(known[name]), dtype=np.float64) for name, values in shown_by(labels).items()}
    layout, new_layout = labels["layout"].to_numpy(), news.pop("layout")
    news["gpu"] *= 1.0 - news["generation"]
    return {
        **{f"new_{name}": values for name, values in news.items()},
        **{kind: new_layout * (layout == kind) for kind in get_args(LayoutKind)},
    }
