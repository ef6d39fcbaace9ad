"""Latency against throughput: what each GPU can do at its best, over every deployment and load.

A frontier (Pareto front) holds the points that no other beats on both axes. Each GPU has one within the limits; where
it would do better on both axes without them, those points are kept apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats, Rows
from sizing.base.deployed import Deployed
from sizing.base.quantity import Result, quantity
from sizing.base.result import Plan
from sizing.base.units import MS_PER_S
from sizing.deployments.candidates import table
from sizing.explore.operating_point import (
    MORE_IS_BETTER,
    Loads,
    OperatingPoint,
    Performance,
    XAxis,
    YAxis,
    configuration_of,
    loads,
    operating_point,
    share_of_systems,
    without_points,
)
from sizing.explore.pareto_front import pareto_front
from sizing.explore.pools_operating_points import PoolPoints, planned_pools, pool_points
from sizing.planning.spread import interval_of, with_slower_steps
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, understand
from sizing.queueing.capacity import at_rate
from sizing.scenario.schema import Scenario
from sizing.search.screen import Evaluated, all_configurations, evaluate

Split = Literal["none", "width", "engine", "serving"]
FAR_BEHIND = 50.0
"""A point this many times worse than the best of its curve is left out. Chosen: because its hardware idles almost all
the time, and the others could not be told apart beside it."""


class Curve(Result):
    """What one GPU can do at its best, from slow and cheap to fast and dear; ``points`` are within every limit."""

    gpu: str = quantity("GPU", help="Catalogue id of the accelerator.")
    variant: str = quantity("Variant", help="Width of the weights, engine or serving it is held to; empty: the best.")
    points: tuple[OperatingPoint, ...] = quantity("Points", help="Points within every limit, by growing x.")
    beyond: tuple[OperatingPoint, ...] = quantity("Beyond a limit", help="What would be better without the limits.")


class OperatingPoints(Result):
    """Latency against throughput, a curve for every GPU."""

    x: XAxis = quantity("Across", help="What grows to the right.")
    y: YAxis = quantity("Upwards", help="What grows upwards.")
    percentile: float = quantity("Percentile", "%", "asked", "Percentile of every latency.")
    x_limit: float | None = quantity(
        "Limit on x",
        "unit of x",
        "the limit that was asked; 1000 / ITL limit for tokens/s per user",
        "Where the allowed region ends; none without such a limit.",
    )
    curves: tuple[Curve, ...] = quantity("Curves", help="One per GPU and variant, in the order of the question.")
    planned: OperatingPoint | None = quantity("Planned", help="The deployment of the plan at its load.")
    missing: tuple[str, ...] = quantity("Missing", help="GPUs that do not fit, or without price or power.")


@dataclass(frozen=True, kw_only=True)
class _Search:
    """What is searched: candidates under load and, counted on after them, pairs of pools."""

    question: Question
    evaluated: Evaluated
    figures: Loads
    pools: PoolPoints | None
    x: XAxis
    y: YAxis

    def flat(self, name: str) -> NDArray[Any]:
        """A figure of every point: candidates by load (C x K,), then pairs of pools."""
        values = getattr(self.figures, name).ravel()
        return values if self.pools is None else np.concatenate([values, getattr(self.pools.figures, name).ravel()])

    def good(self, axis: XAxis | YAxis) -> Floats:
        """An axis turned so that more is better, of every point."""
        values: Floats = self.flat(axis)
        return values if axis in MORE_IS_BETTER else -values

    def group(self, of_rows: NDArray[np.int64], apart: int) -> NDArray[np.int64]:
        """The group of every point from that of every candidate; those of pools are ``apart`` further on."""
        groups = np.repeat(of_rows, self.figures.rps.shape[1])
        return groups if self.pools is None else np.concatenate([groups, of_rows[self.pools.decode] + apart])

    def point(self, i: int, **known: Any) -> OperatingPoint:
        """Point ``i`` as a result."""
        if i >= self.figures.rps.size and self.pools is not None:
            return self.pools.point(i - self.figures.rps.size, **known)
        place = divmod(i, self.figures.rps.shape[1])
        return operating_point(self.evaluated.candidates.rows[place[0]], self.figures, place, **known)


def operating_points(
    scenario: Scenario,
    *,
    x: XAxis = "tokens_per_s_per_user",
    y: YAxis = "output_tokens_per_s_per_gpu",
    gpus: Sequence[str] = (),
    split: Split = "none",
    planned: Plan | None = None,
) -> OperatingPoints:
    """The frontier of each GPU, with the 80 % interval of every point.

    ``gpus`` narrows the considered GPUs (all of them when empty); ``split`` draws one frontier per width of the
    weights, engine or kind of serving; ``planned`` is the answer whose deployment is shown at its load. Raises
    InvalidScenario.
    """
    question = understand(scenario)
    shown = tuple(g for g in question.gpus if not gpus or g.id in gpus)
    candidates = all_configurations(replace(question, gpus=shown))
    evaluated = evaluate(question, candidates)
    share = share_of_systems(question, evaluated.candidates)
    serving = question.scenario.deployment.serving
    figures = loads(question, evaluated, share)
    if serving and "aggregated" not in serving:
        figures = without_points(figures)
    pools = pool_points(question, evaluated, share)
    search = _Search(question=question, evaluated=evaluated, figures=figures, pools=pools, x=x, y=y)
    of_rows, names = _groups(evaluated.candidates.rows, split)
    group = search.group(of_rows, len(names) if split == "serving" else 0)
    if split == "serving":
        names = [(gpu, serving) for serving in ("aggregated", "disaggregated") for gpu, _ in names]
    within, beyond = _frontiers(search, group)
    curves = _curves(search, group, names, within, beyond)
    seen = {c.gpu for c in curves}
    return OperatingPoints(
        x=x,
        y=y,
        percentile=question.limits.percentile,
        x_limit=_x_limit(question, x),
        curves=curves,
        planned=_planned(question, planned) if planned else None,
        missing=tuple(g.id for g in shown if g.id not in seen),
    )


def _groups(rows: Sequence[Configuration], split: Split) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    """Which curve each row belongs to, and the curves as (GPU, variant)."""
    variant: Callable[[Configuration], str] = {
        "none": lambda r: "",
        "width": lambda r: r.precision.width,
        "engine": lambda r: r.engine.id,
        "serving": lambda r: "",
    }[split]
    number: dict[tuple[str, str], int] = {}
    group = np.array([number.setdefault((r.gpu.id, variant(r)), len(number)) for r in rows], dtype=np.int64)
    return group, list(number)


def _frontiers(search: _Search, group: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Points on the frontier within the limits, and what beats it or goes beyond it without them."""
    good_x, good_y, feasible = search.good(search.x), search.good(search.y), search.flat("feasible")
    anywhere = np.isfinite(good_y)
    held = feasible & anywhere
    within = pareto_front(np.where(held & _near_the_best(good_y, held, group), good_x, np.nan), good_y, group)
    free = pareto_front(np.where(_near_the_best(good_y, anywhere, group), good_x, np.nan), good_y, group)
    return within, free[~held[free]]


def _near_the_best(good_y: Floats, counted: NDArray[np.bool_], group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which points are less than ``FAR_BEHIND`` times worse than the best counted point of their group."""
    best = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, group[counted], good_y[counted])
    factor = np.where(best > 0, 1.0 / FAR_BEHIND, FAR_BEHIND)  # where less is better, the values are negative
    return np.asarray(good_y >= (best * factor)[group])


def _curves(
    search: _Search, group: NDArray[np.int64], names: Sequence[tuple[str, str]], within: Rows, beyond: Rows
) -> tuple[Curve, ...]:
    """One curve per group that has points, each by growing x."""
    everyone = np.zeros(len(within), dtype=np.int64)
    good_x, good_y = search.good(search.x)[within], search.good(search.y)[within]
    best = set(within[pareto_front(good_x, good_y, everyone)].tolist())
    ends = _ends(search, within)
    inside: dict[int, list[OperatingPoint]] = {}
    outside: dict[int, list[OperatingPoint]] = {}
    for i in within.tolist():
        fast, slow = ends[i]
        inside.setdefault(int(group[i]), []).append(search.point(i, best=i in best, fast=fast, slow=slow))
    for i in beyond.tolist():
        outside.setdefault(int(group[i]), []).append(search.point(i))

    def by_x(points: list[OperatingPoint]) -> tuple[OperatingPoint, ...]:
        return tuple(sorted(points, key=lambda p: float(getattr(p.expected, search.x))))

    return tuple(
        Curve(gpu=gpu, variant=variant, points=by_x(inside.get(g, [])), beyond=by_x(outside.get(g, [])))
        for g, (gpu, variant) in enumerate(names)
        if g in inside or g in outside
    )


def _ends(search: _Search, points: Rows) -> dict[int, tuple[Performance, Performance]]:
    """Each point with all step times at the fast and the slow end of their interval, at the same concurrency."""
    first, each = search.figures.rps.size, search.figures.rps.shape[1]
    ends: dict[int, tuple[Performance, Performance]] = {}
    if search.pools is not None and (points >= first).any():
        apart = points[points >= first]
        fast, slow = search.pools.ends(apart - first)
        for k, i in enumerate(apart.tolist()):
            expected = search.pools.figures.performance(i - first, 0)
            ends[i] = _ordered(expected, fast.performance(k, 0), slow.performance(k, 0))
    points = points[points < first]
    index = np.unique(points // each)
    if not len(index):
        return ends
    candidates = search.evaluated.candidates.take(index)
    share = share_of_systems(search.question, candidates)
    spreads = [[interval_of(search.question, what, r) for r in candidates.rows] for what in ("decode", "prefill")]
    at_end = []
    for end in ("low_factor", "high_factor"):
        decode, prefill = (np.array([getattr(s, end) for s in kind]) for kind in spreads)
        there = with_slower_steps(search.question, search.evaluated, index, decode, prefill)
        at_end.append(loads(search.question, there, share))
    place = {int(row): i for i, row in enumerate(index)}
    for i in points.tolist():
        at = place[i // each], i % each
        fast_end, slow_end = (end.performance(*at) for end in at_end)
        ends[i] = _ordered(search.figures.performance(i // each, i % each), fast_end, slow_end)
    return ends


def _ordered(expected: Performance, fast: Performance, slow: Performance) -> tuple[Performance, Performance]:
    """Both ends, each figure no better (slow) and no worse (fast) than expected: at the same concurrency slower steps
    carry a smaller rate, so that a prompt may even wait less."""
    ends = []
    for end, more, less in ((fast, max, min), (slow, min, max)):
        figures = {
            name: value if value is None else (more if name in MORE_IS_BETTER else less)(value, getattr(expected, name))
            for name, value in end.model_dump().items()
        }
        ends.append(Performance(**figures))
    return ends[0], ends[1]


def _planned(question: Question, plan: Plan) -> OperatingPoint | None:
    """The deployment of a plan at its load, with the latency that the plan states; None when it is not one of the
    considered ones, or measured."""
    deployed, instance, latency = plan.deployment, plan.per_instance, plan.latency
    if plan.decided_by == "measured" or deployed is None or instance is None or latency is None:
        return None
    if deployed.prefill is not None and deployed.decode is not None:
        point = planned_pools(question, deployed, deployed.prefill, deployed.decode)
    else:
        point = _planned_instance(question, deployed, instance.rps)
    if point is None:
        return None
    at = {name: getattr(latency, name).at_percentile for name in ("ttft_ms", "itl_ms", "e2e_ms")}
    stated = {name: value for name, value in at.items() if value}
    if "itl_ms" in stated:
        stated["tokens_per_s_per_user"] = MS_PER_S / stated["itl_ms"]
    return point.model_copy(update={"expected": point.expected.model_copy(update=stated)})


def _planned_instance(question: Question, deployed: Deployed, rps: float) -> OperatingPoint | None:
    row = configuration_of(question, deployed)
    evaluated = evaluate(question, table([row] if row else []))
    if not len(evaluated):
        return None
    figures = loads(question, evaluated, share_of_systems(question, evaluated.candidates))
    position = at_rate(evaluated.state.rps, np.array([rps]))
    there = {name: position.of(getattr(figures, name))[:, None] for name in vars(figures) if name != "feasible"}
    there["usd_per_million_output_tokens"] *= there["rps"] / rps  # interpolated in a rate that is known exactly
    at_plan = Loads(feasible=np.ones((1, 1), dtype=np.bool_), **there)
    return operating_point(evaluated.candidates.rows[0], at_plan, (0, 0))


def _x_limit(question: Question, x: XAxis) -> float | None:
    """The limit in the unit of the axis; None without one."""
    limits = question.limits
    limit = {
        "tokens_per_s_per_user": 1.0 / limits.itl_s,
        "ttft_ms": limits.ttft_s * MS_PER_S,
        "e2e_ms": limits.e2e_s * MS_PER_S,
    }[x]
    return float(limit) if np.isfinite(limit) and limit > 0 else None
