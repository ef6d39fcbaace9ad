"""Latency against throughput: what each GPU can do at its best, over every deployment and load.

A frontier (Pareto front) holds the points that no other beats on both axes. Each GPU has one within the limits; where
it would do better on both axes without them, those points are kept apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats, Rows
from sizing.base.quantity import Result, quantity
from sizing.base.units import MS_PER_S
from sizing.explore.aggregated_points import AggregatedPoints
from sizing.explore.disaggregated_points import DisaggregatedPoints
from sizing.explore.operating_point import OperatingPoint, XAxis, YAxis, share_of_systems
from sizing.explore.points import AllPoints, Points, pareto_front
from sizing.planning.answered import Answer, question_of
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.scenario.schema import Scenario
from sizing.search.aggregated import Aggregated
from sizing.search.considered import as_considered
from sizing.search.deployments import Deployments
from sizing.search.disaggregated import PoolPairs
from sizing.search.screen import Evaluated, all_configurations, evaluate

FrontierSplit = Literal["none", "width", "engine", "serving"]
POINTS: dict[type[Deployments], type[Points[Any]]] = {Aggregated: AggregatedPoints, PoolPairs: DisaggregatedPoints}
"""The points of deployments of each kind: the only place here that lists the kinds."""

FAR_BEHIND = 50.0
"""A point this many times worse than the best of its curve is left out. Chosen: because its hardware idles almost all
the time, and the others could not be told apart beside it."""


class FrontierCurve(Result):
    """What one GPU can do at its best, from slow and cheap to fast and dear; ``points`` are within every limit."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    gpu_name: Annotated[
        str, quantity("GPU name", help="What the accelerator is called; of one's own, as the scenario names it.")
    ]
    variant: Annotated[
        str, quantity("Variant", help="Width of the weights, engine or serving it is held to; empty: the best.")
    ]
    points: Annotated[tuple[OperatingPoint, ...], quantity("Points", help="Points within every limit, by growing x.")]
    beyond: Annotated[
        tuple[OperatingPoint, ...], quantity("Beyond a limit", help="What would be better without the limits.")
    ]


class OperatingPoints(Result):
    """Latency against throughput, a curve for every GPU."""

    x: Annotated[XAxis, quantity("Across", help="What grows to the right.")]
    y: Annotated[YAxis, quantity("Upwards", help="What grows upwards.")]
    percentile: Annotated[float, quantity("Percentile", "%", "asked", "Percentile of every latency.")]
    x_limit: Annotated[
        float | None,
        quantity(
            "Limit on x",
            "unit of x",
            "the limit that was asked; 1000 / ITL limit for tokens/s per user",
            "Where the allowed region ends; none without such a limit.",
        ),
    ]
    curves: Annotated[
        tuple[FrontierCurve, ...], quantity("Curves", help="One per GPU and variant, in the order of the question.")
    ]
    planned: Annotated[OperatingPoint | None, quantity("Planned", help="The deployment of the plan at its load.")]
    missing: Annotated[tuple[str, ...], quantity("Missing", help="GPUs that do not fit, or without price or power.")]


@dataclass(frozen=True, kw_only=True)
class _Search:
    """What is searched: ``points``, each in its ``group`` (N,), upon two axes."""

    points: AllPoints
    x: XAxis
    y: YAxis
    group: NDArray[np.int64]


def operating_points(
    scenario_or_answer: Scenario | Answer,
    *,
    x: XAxis = "tokens_per_s_per_user",
    y: YAxis = "output_tokens_per_s_per_gpu",
    gpus: Sequence[str] = (),
    split: FrontierSplit = "none",
) -> OperatingPoints:
    """The frontier of each GPU, with the 80 % interval of every point.

    ``gpus`` narrows the considered GPUs (all of them when empty); ``split`` draws one frontier per width of the
    weights, engine or kind of serving. Of an answer, its deployment is shown at its load, too. Raises InvalidScenario.
    """
    question = question_of(scenario_or_answer).as_expected()
    shown = tuple(g for g in question.gpus if not gpus or g.id in gpus)
    evaluated = evaluate(question, all_configurations(replace(question, gpus=shown)))
    points = points_of(question, evaluated)
    of_rows, names = _groups(evaluated.candidates.rows, split)
    group = points.groups(of_rows, len(names) if split == "serving" else 0)
    if split == "serving":
        names = [(gpu, kind.serving) for kind in points.kinds for gpu, _ in names]
    search = _Search(points=points, x=x, y=y, group=group)
    curves = _curves(search, [(gpu, question.gpu_name(gpu), variant) for gpu, variant in names], *_frontiers(search))
    seen = {c.gpu for c in curves}
    return OperatingPoints(
        x=x,
        y=y,
        percentile=question.limits.percentile,
        x_limit=_x_limit(question, x),
        curves=curves,
        planned=_planned(scenario_or_answer) if isinstance(scenario_or_answer, Answer) else None,
        missing=tuple(g.id for g in shown if g.id not in seen),
    )


def points_of(question: Question, evaluated: Evaluated) -> AllPoints:
    """The points of every kind of serving that the question lets be considered."""
    share = share_of_systems(question, evaluated.candidates)
    of_kinds = (kind.considered(question, evaluated, share) for kind in POINTS.values())
    return AllPoints([points for points in of_kinds if points is not None])


def _groups(rows: Sequence[Configuration], split: FrontierSplit) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
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


def _frontiers(search: _Search) -> tuple[Rows, Rows]:
    """Points on the frontier within the limits, and what beats it or goes beyond it without them."""
    good_x, good_y, group = search.points.good(search.x), search.points.good(search.y), search.group
    anywhere = np.isfinite(good_y)
    held = search.points.column("feasible") & anywhere
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
    search: _Search, names: Sequence[tuple[str, str, str]], within: Rows, beyond: Rows
) -> tuple[FrontierCurve, ...]:
    """One curve per group that has points, each by growing x; ``names``: GPU, its name and the variant of each."""
    points, group = search.points, search.group
    everyone = np.zeros(len(within), dtype=np.int64)
    good_x, good_y = points.good(search.x)[within], points.good(search.y)[within]
    best = set(within[pareto_front(good_x, good_y, everyone)].tolist())
    ends = points.ends(within)
    inside: dict[int, list[OperatingPoint]] = {}
    outside: dict[int, list[OperatingPoint]] = {}
    for i in within.tolist():
        inside.setdefault(int(group[i]), []).append(points.point(i, best=i in best, ends=ends[i]))
    for i in beyond.tolist():
        outside.setdefault(int(group[i]), []).append(points.point(i))

    def by_x(points: list[OperatingPoint]) -> tuple[OperatingPoint, ...]:
        return tuple(sorted(points, key=lambda p: float(getattr(p.expected, search.x))))

    return tuple(
        FrontierCurve(
            gpu=gpu, gpu_name=name, variant=variant, points=by_x(inside.get(g, [])), beyond=by_x(outside.get(g, []))
        )
        for g, (gpu, name, variant) in enumerate(names)
        if g in inside or g in outside
    )


def _planned(answer: Answer) -> OperatingPoint | None:
    """The deployment of the plan at its load, with the latency that the plan states; None when it is not one of the
    considered ones, or measured."""
    plan = answer.plan
    deployed, latency = plan.deployment, plan.latency
    if plan.decided_by == "measured" or deployed is None or latency is None:
        return None
    deployments = as_considered(answer.question.as_expected(), deployed, answer.chosen)
    if deployments is None:
        return None
    point = POINTS[type(deployments)].planned(deployments)
    at = {name: getattr(latency, name).at_percentile for name in ("ttft_ms", "itl_ms", "e2e_ms")}
    stated = {name: value for name, value in at.items() if value}
    if plan.cost and plan.cost.usd_per_million_output_tokens is not None:
        stated["usd_per_million_output_tokens"] = plan.cost.usd_per_million_output_tokens
    if "itl_ms" in stated:
        stated["tokens_per_s_per_user"] = MS_PER_S / stated["itl_ms"]
    return point.model_copy(update={"expected": point.expected.model_copy(update=stated)})


def _x_limit(question: Question, x: XAxis) -> float | None:
    """The limit in the unit of the axis; None without one."""
    limits = question.limits
    limit = {
        "tokens_per_s_per_user": 1.0 / limits.itl_s,
        "ttft_ms": limits.ttft_s * MS_PER_S,
        "e2e_ms": limits.e2e_s * MS_PER_S,
    }[x]
    return float(limit) if np.isfinite(limit) and limit > 0 else None
