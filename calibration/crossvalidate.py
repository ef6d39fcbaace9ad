"""Fits without one model, GPU, configuration or source, or without a source and all its configurations: what
predictions of unseen things rest on."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibration.fit_efficiency import WARM_EVALUATIONS, Fit, Progress, solve
from calibration.fit_targets import FitTargets
from sizing.base.arrays import Floats

PROCESSES = 2
"""Fits that run at once: the cores of the machine that runs them."""
UNSEEN = "unseen"
"""The scheme under which a source and every row of its configurations, whoever published it, are held out together. A
new user is in no better a position; intervals are calibrated and claimed on it."""
SCHEMES = ("fit", "model", "gpu", "configuration", "source", UNSEEN)
EXTRAPOLATED = ("generation", "engine", "layout")
"""What is left out beside the schemes to learn how wide intervals are where nothing is known of the GPU generation, the
engine or the kind of layout; no accuracy is claimed on it."""

LATER = "later"
"""The scheme under which all software from :data:`NEWEST` on is held out, whoever measured it: what a fit is worth for
what comes after it. Errors and intervals are told; nothing is chosen by it."""
NEWEST = 2026.0
"""Decimal year of the software from which it counts as later."""

FOLDS = 10
"""The 90-odd configurations are held out in this many folds of whole configurations (an approximation that saves an
hour); models, GPUs and sources are held out one at a time."""

FEW_POINTS = 30
"""Points below which groups of a scheme are held out together with others. Chosen: because that many of some 6,000 move
the fit by less than a re-run's noise."""

NO_GROUP = ""
"""Points that no scheme holds out: of a plain layout, or of an engine that was not stated."""

Masks = dict[str, NDArray[np.bool_]]
"""Which points are kept, by mode of the measurements."""


@dataclass(frozen=True, kw_only=True)
class Refit:
    """A fit that has not seen the points in ``held``, and is judged by those in ``group``: one group of a scheme.

    They differ under :data:`UNSEEN` alone: rows of other sources are held out with a source, and judged with their own.
    """

    scheme: str
    name: str
    fit: Fit
    held: Masks
    group: Masks

    @property
    def kept(self) -> Masks:
        """The points that the fit has seen: those that were not held out."""
        return {mode: ~held for mode, held in self.held.items()}


def group_of(labels: pd.DataFrame, scheme: str) -> pd.Series:
    """The group of every point under a scheme, from its labels; all points of a group are held out together."""
    match scheme:
        case "model":
            return labels["architecture"]
        case "configuration":
            return configuration_of(labels).map(_fold)
        case "unseen":
            return labels["source"]
        case "later":
            return (labels["software"] >= NEWEST).map({True: LATER, False: NO_GROUP})
        case "engine":
            return labels["engine"].replace("default", NO_GROUP)
        case _:
            return labels[scheme]


def configuration_of(labels: pd.DataFrame) -> pd.Series:
    """The configuration of every point: model by shape, GPU type, engine and format."""
    return labels["architecture"] + labels["gpu"] + labels["engine"] + labels["precision"]


def _fold(name: str) -> str:
    """A fold that depends on the name alone."""
    return str(sum(ord(c) * (i + 1) for i, c in enumerate(name)) % FOLDS)


def refits(tables: Sequence[FitTargets], fit: Fit, say: Progress) -> list[Refit]:
    """One fit per group of every scheme, each from the full fit with what it cannot know forgotten."""
    out: list[Refit] = []
    with ProcessPoolExecutor(PROCESSES, initializer=_start, initargs=(tables, fit)) as pool:
        for scheme in (*SCHEMES[1:], LATER, *EXTRAPOLATED):
            groups = _groups(tables, scheme)
            names = sorted({str(g) for values in groups.values() for g in values} - {NO_GROUP})
            judged = [{mode: values == name for mode, values in groups.items()} for name in names]
            held = [_and_alike(tables, mask) for mask in judged] if scheme == UNSEEN else judged
            for name, group, mask, vector in zip(names, judged, held, pool.map(_vector, held), strict=True):
                out.append(Refit(scheme=scheme, name=name, fit=replace(fit, vector=vector), held=mask, group=group))
            say(f"fitted again: leave one {scheme} out, {len(names)} times")
    return out


def _and_alike(tables: Sequence[FitTargets], group: Masks) -> Masks:
    """The points of a group and all others of their configurations, in every mode."""
    known = {name for t in tables for name in configuration_of(t.labels)[group[t.mode]]}
    return {t.mode: group[t.mode] | configuration_of(t.labels).isin(known).to_numpy() for t in tables}


def _groups(tables: Sequence[FitTargets], scheme: str) -> dict[str, NDArray[np.object_]]:
    """The group of every point by mode; those with few points share folds, since a refit without them alone would be
    the full fit over again."""
    groups = {t.mode: group_of(t.labels, scheme).astype(str).to_numpy() for t in tables}
    names, counts = np.unique(np.concatenate(list(groups.values())), return_counts=True)
    small = {str(name): small_group(str(name)) for name in names[counts < FEW_POINTS] if name}
    return {mode: np.array([small.get(v, v) for v in values], dtype=object) for mode, values in groups.items()}


def small_group(name: str) -> str:
    """The group that one with few points shares with others."""
    return f"small, {_fold(name)}"


_SHARED: dict[str, tuple[Sequence[FitTargets], Fit]] = {}
"""What a worker process keeps between folds."""


def _start(tables: Sequence[FitTargets], fit: Fit) -> None:
    _SHARED["now"] = (tables, fit)


def _vector(held: Masks) -> Floats:
    """Parameters fitted to everything but the points in ``held``."""
    tables, fit = _SHARED["now"]
    keep = {mode: ~mask for mode, mask in held.items()}
    return solve(tables, forgotten(tables, fit, keep), keep=keep, evaluations=WARM_EVALUATIONS).vector


def forgotten(tables: Sequence[FitTargets], fit: Fit, keep: Masks) -> Fit:
    """The fit with every departure of a family, engine or pair at 0 that has no points left: nothing of it is known."""
    labels = pd.concat([t.labels[keep[t.mode]] for t in tables])
    left = {*labels["family"], *labels["engine"], *(labels["engine"] + " on " + labels["family"]), "default"}
    vector = [v if s.member in left else 0.0 for s, v in zip(fit.parameters.slots, fit.vector, strict=True)]
    return replace(fit, vector=np.array(vector))
