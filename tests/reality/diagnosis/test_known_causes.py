"""Deployments whose truth is known, from an independent simulation: causes, shares, limits, actions. The whole table:
``python -m tests.tools.diagnosis_scores``."""

from functools import cache

import pytest

from collectors.questions.details import ReplicaDetails
from reality.diagnosis.result import Diagnosis
from reality.diagnosis.slow_replicas import decode_s, fleet_of
from tests.tools.diagnosis_cases import Case, case, ground
from tests.tools.diagnosis_scores import diagnosed

PLAN = "llama-8b-l40s"
ANSWERS = {
    "load": "resize",
    "cache_hits": "restore",
    "replicas": "restore",
    "slow_gpu": "drain",
    "routing": "rebalance",
    "batch_limit": "raise_batch_limit",
}


@cache
def told(*causes: str) -> tuple[Case, Diagnosis]:
    one = case(0, ground(PLAN), causes, 3)
    return one, diagnosed(one)[0]


def test_no_cause_where_nothing_changed() -> None:
    one, said = told()
    assert (said.state, said.main_cause, said.causes) == ("met", None, ())
    assert [action.kind for action in said.actions] == ["none"]
    assert said.headline.startswith("Every limit holds: p95 TTFT")
    measured = {row.quantity: row.measured for row in said.limits}
    for name in one.limits:
        assert measured[name] == pytest.approx(one.truth[name], rel=0.12)
    assert said.capacity_within_limits_rps > said.load_rps


@pytest.mark.parametrize(
    "cause", ["load", "prompts", "outputs", "cache_hits", "replicas", "batch_limit", "slow_gpu", "weights", "engine"]
)
def test_a_single_cause_is_named_with_its_share(cause: str) -> None:
    one, said = told(cause)
    assert said.main_cause == cause, said.headline
    split = next(s for s in said.splits if s.quantity == one.worst)
    share = next(row.share_ms for row in split.causes if row.cause == cause)
    gap = one.truth[one.worst] - one.planned[one.worst]
    assert share / (split.measured_ms - split.planned_ms) == pytest.approx(1.0, abs=0.25)
    assert split.measured_ms - split.planned_ms == pytest.approx(gap, rel=0.3)
    assert sum(row.share_ms for row in split.causes) == pytest.approx(split.measured_ms - split.planned_ms, rel=1e-6)
    if one.truth[one.worst] > one.limits[one.worst]:
        assert said.state == "broken"
        assert said.actions[0].kind == ANSWERS.get(cause, said.actions[0].kind)


def test_the_slow_replica_is_named_and_drained() -> None:
    _, said = told("slow_gpu")
    assert said.causes[0].subject == "server-1"
    drain = next(action for action in said.actions if action.kind == "drain")
    # One of two cannot carry the load alone: another takes the place of what is drained.
    assert (drain.subject, drain.replicas, drain.change, drain.enough) == ("server-1", 2, 0, True)
    assert "With another in its place" in drain.why
    assert "Drain server-1 and put another in its place" in said.headline
    assert "(GPU node" in said.headline


def test_a_lost_replica_is_restored() -> None:
    _, said = told("replicas")
    restore = said.actions[0]
    assert (restore.kind, restore.replicas, restore.change) == ("restore", 2, 1)
    assert restore.capacity_within_limits_rps > said.capacity_within_limits_rps


def test_two_causes_are_both_found() -> None:
    one, said = told("outputs", "engine")
    named = [row.cause for row in said.causes if row.cause != "unexplained"]
    assert set(named) == {"outputs", "engine"}
    shares = one.shares[one.worst]
    split = next(s for s in said.splits if s.quantity == one.worst)
    mine = {row.cause: row.share_ms for row in split.causes}
    for cause, share in shares.items():
        assert mine[cause] == pytest.approx(share, rel=0.35)


def test_the_scenario_as_measured_has_the_measured_traffic() -> None:
    one, said = told("prompts")
    workload = said.as_measured.workload
    world = one.history.world
    assert workload.peak_rps == pytest.approx(world.rps, rel=0.03)
    assert workload.input_tokens.p50 == pytest.approx(world.prompt[0], rel=0.06)
    assert workload.input_tokens.p95 == pytest.approx(world.prompt[1], rel=0.08)
    assert said.as_measured.limits == one.ground.planned.answer.question.scenario.limits
    assert said.as_measured.benchmark is None
    _, slower = told("engine")
    assert slower.as_measured.benchmark is not None


def test_a_slow_replica_may_keep_the_weight_that_it_carries() -> None:
    _, said = told("slow_gpu")
    weighed = next(action for action in said.actions if action.kind == "rebalance")
    slow = next(row for row in said.causes if row.cause == "slow_gpu")
    assert (weighed.subject, weighed.change) == ("server-1", 0)
    assert weighed.weight == pytest.approx(1.0 / slow.measured, rel=0.01)
    assert (weighed.capacity_within_limits_rps or 0.0) > 0.9 * (said.capacity_within_limits_rps or 0.0)
    assert "of the capacity of all unused" in weighed.why
    even = next(action for action in told("routing")[1].actions if action.kind == "rebalance")
    assert (even.weight, even.why.count("Share it evenly.")) == (None, 1)


@pytest.mark.parametrize(
    ("slowness", "slow"),
    [
        ((1.0, 1.01, 0.99, 1.02), ()),
        ((1.3, 1.0, 1.3, 1.01), ("r0", "r2")),  # as many slow ones as others: the faster half is ordinary
        ((1.0, 1.4), ("r1",)),
        ((1.0, 1.3, 1.31, 1.29), ()),  # one fast replica makes no slow ones of the others
    ],
)
def test_slow_replicas_are_told_from_their_gaps_alone(slowness: tuple[float, ...], slow: tuple[str, ...]) -> None:
    given = ground(PLAN)
    model = given.worlds.planned(given.planned.row)
    replicas = [
        ReplicaDetails(
            name=f"r{i}",
            labels={},
            first_tokens_rps=0.01,
            arrivals_rps=8.0,
            gap_s=decode_s(model, 40.0, 900.0) * each,
            gaps=1e5,
            running=40.0,
        )
        for i, each in enumerate(slowness)
    ]
    found = fleet_of(replicas, (), model, context=900.0, prompt=500.0, window_s=1800.0)
    assert found.slow == slow


def test_a_queue_beside_saturation_hides_no_lost_replica() -> None:
    """With three of four replicas the tail of TTFT is as chance has it: what is not explained of it is no cause."""
    given = ground("llama-70b")
    for seed in (3, 12):
        one = case(0, given, ("replicas",), seed)
        said = diagnosed(one)[0]
        assert said.main_cause == "replicas", said.headline
        assert said.actions[0].kind == "restore"
        assert said.actions[0].enough
        assert said.replicas_needed == 4
