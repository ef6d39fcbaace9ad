"""Deployments of both kinds in one ranking, through one interface."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from sizing import Scenario
from sizing.base.choices import Objective
from sizing.question.understand import understand
from sizing.search.all_deployments import AllDeployments
from sizing.search.decide import Decided, decide, estimate
from sizing.search.deployments import Deployments, comes_before
from sizing.search.screen import all_configurations, evaluate
from sizing.search.serving import Screened, fewest_gpus, screened
from tests.sizing.asking import LLAMA_70B, raw

TIGHT = {"ttft_ms": 3000, "itl_ms": 30}
TWO_GPUS = {"gpus": ["h100_sxm", "h200_sxm"], "spare_instances": 1}


@pytest.fixture(scope="module")
def seen() -> Screened:
    return screened(understand(Scenario.model_validate(raw(LLAMA_70B, limits=TIGHT, deployment=TWO_GPUS))))


@pytest.fixture(scope="module")
def every(seen: Screened) -> AllDeployments:
    assert seen.pools
    return seen.deployments


def test_places_count_on_from_one_kind_to_the_next(every: AllDeployments) -> None:
    together, pools = every.kinds
    first = len(together)
    assert len(every) == first + len(pools) == len(every.gpus) == len(every.usd_per_hour) == len(every.max_rps)
    assert (every[first - 1].kind, every[first - 1].k) == (together, first - 1)
    assert (every[first].kind, every[first].k) == (pools, 0)
    assert every[len(every) - 1].label == pools.label(len(pools) - 1)
    for place in (-1, len(every)):
        with pytest.raises(IndexError):
            every[place]


def test_gpus_are_those_of_all_kinds_of_instances_with_their_spares(every: AllDeployments) -> None:
    for place in range(len(every)):
        one = every[place]
        kinds = one.kind.gpus_of_kinds(one.k)
        assert every.gpus[place] == sum(instances * gpus for instances, gpus in kinds)
        assert [instances - 1 for instances, _ in kinds] == list(one.kind.working(one.k))


def test_the_order_of_all_keeps_that_of_each_kind(every: AllDeployments) -> None:
    order, first = every.order(), 0
    for kind in every.kinds:
        own = order[(order >= first) & (order < first + len(kind))] - first
        np.testing.assert_array_equal(own, kind.order())
        first += len(kind)


def by_objective(kind: Deployments, objective: Objective) -> Deployments:
    """The same deployments, ranked by something else."""
    scenario = kind.question.scenario
    deployment = scenario.deployment.model_copy(update={"objective": objective})
    return replace(
        kind, question=replace(kind.question, scenario=scenario.model_copy(update={"deployment": deployment}))
    )


@pytest.mark.parametrize("objective", get_args(Objective))
def test_the_first_is_that_of_the_order(every: AllDeployments, objective: Objective) -> None:
    """Of all, and of any of them: what the search looks at instead of sorting."""
    rng = np.random.default_rng(0)
    for kind in every.kinds:
        asked = by_objective(kind, objective)
        order = asked.order()
        assert asked.first() == order[0]
        for size in (1, 2, len(asked) // 2):
            among = np.sort(rng.choice(len(asked), size, replace=False))
            assert asked.first(among) == order[np.isin(order, among)][0]


@pytest.mark.parametrize("objective", get_args(Objective))
def test_what_comes_before_and_after_a_place_is_that_of_the_order(every: AllDeployments, objective: Objective) -> None:
    """The shortlist, too, without sorting what no shortlist looks at."""
    asked = AllDeployments(tuple(by_objective(kind, objective) for kind in every.kinds))
    order = asked.order()
    for position in (0, 1, len(order) // 3, len(order) - 1):
        before = asked.before(int(order[position]))
        np.testing.assert_array_equal(np.sort(order[:position]), before)
        for count in (0, 3, 40):
            assert asked.shortlist(asked.contenders(without=before), count) == asked.shortlist(order[position:], count)
    assert not len(asked.contenders(without=order))


def test_the_near_are_the_head_of_the_order(every: AllDeployments) -> None:
    for kind in every.kinds:
        order, counted = kind.order(), kind.counted()
        most = 1.2 * counted[order[0]]
        np.testing.assert_array_equal(kind.near(most), order[counted[order] <= most])
        assert not len(kind.near(0.5 * counted[order[0]]))


def test_the_better_of_two_deployments_comes_first(every: AllDeployments) -> None:
    together, pools = every.kinds
    best = [kind.take(kind.order()[:1]) for kind in (together, pools)]
    leads = every[int(every.order()[0])].kind
    assert comes_before(best[1], best[0]) == (leads is pools)
    assert not comes_before(best[0], best[0])


def test_the_fewest_gpus_without_systems_and_prices_are_those_of_the_deployments(
    seen: Screened, every: AllDeployments
) -> None:
    base = evaluate(seen.question, all_configurations(seen.question))
    smallest = fewest_gpus(seen.question, base)
    assert smallest[0] == every.gpus.min()
    assert smallest[1] in {every[int(place)].label for place in np.flatnonzero(every.gpus == smallest[0])}


def test_the_shortlist_starts_with_the_best_and_holds_every_gpu_and_both_kinds(every: AllDeployments) -> None:
    order = every.order()
    few = every.shortlist(order, 10)
    assert few[0] == order[0]
    assert len(set(few)) == len(few) <= 11
    shown = [every[place] for place in few]
    assert {one.kind.gpu(one.k) for one in shown} == {"h100_sxm", "h200_sxm"}
    assert {one.kind.serving for one in shown} == {"aggregated", "disaggregated"}


@pytest.fixture(scope="module")
def decided(seen: Screened) -> Decided:
    return decide(seen, seed=0)


def test_an_estimate_has_nothing_that_was_counted(seen: Screened) -> None:
    plain = estimate(seen)
    assert plain.outcome is None
    assert plain.requests == 0
    assert plain.outcome_at(0) is None
    assert plain.shortlist(3)[0] == plain.every.order()[0]


def test_what_is_decided_first_was_counted(decided: Decided) -> None:
    assert decided.outcome is not None
    assert decided.requests > 0
    assert decided.not_simulated is None
    few = decided.shortlist(4)
    assert len(few) == len(set(few)) <= 5
    assert decided.shortlist(0) == few[:1]
