"""Ranges of prompt length: what they hold together, how a router tells them, and how a part of the requests arrives."""

import math

import numpy as np
import pytest

from sizing import Scenario
from sizing.base.mixed import PromptRange
from sizing.mixed.ranges import GROUPS, LengthRange, part_of, ranges_of, thinned, together
from sizing.question.length_distributions import FixedLength, GroupedLength, LognormalLength
from sizing.question.understand import understand
from sizing.scenario.traffic import Gamma, GammaArrivals
from tests.sizing.asking import LLAMA_8B, raw

SPREAD = LognormalLength(p50=1000, p95=8000)


def mean(ranges: tuple[LengthRange, ...]) -> float:
    return math.fsum(one.share * math.fsum(one.groups) / len(one.groups) for one in ranges)


def test_ranges_keep_the_mean_and_follow_each_other() -> None:
    ranges = ranges_of(SPREAD)
    assert mean(ranges) == pytest.approx(SPREAD.mean, rel=1e-6)
    assert math.fsum(one.share for one in ranges) == pytest.approx(1.0)
    assert [one.low for one in ranges][1:] == [one.high for one in ranges][:-1]
    assert ranges[0].low is None
    assert ranges[-1].high is None
    assert ranges[2].high == pytest.approx(SPREAD.p50, abs=1), "half of the requests are shorter than the median"
    for one in ranges:
        assert len(one.groups) == GROUPS
        assert all((one.low or 0) <= tokens <= (one.high or math.inf) for tokens in one.groups[1:-1])


def test_conditional_means_are_those_of_a_large_sample() -> None:
    drawn = np.exp(np.log(1000) + SPREAD.sigma * np.random.default_rng(1).standard_normal(400_000))
    edges = np.quantile(drawn, np.linspace(0, 1, 7))
    for k, one in enumerate(ranges_of(SPREAD)[:-1]):
        sampled = drawn[(drawn >= edges[k]) & (drawn < edges[k + 1])].mean()
        assert math.fsum(one.groups) / len(one.groups) == pytest.approx(sampled, rel=0.01)


def test_prompts_that_are_alike_are_told_apart_by_share_alone() -> None:
    ranges = ranges_of(FixedLength(tokens=700.0))
    assert len(set(ranges)) == 1
    assert together(ranges[:2]) == ()


def test_lengths_of_a_trace_keep_all_groups_and_their_shares() -> None:
    ranges = ranges_of(GroupedLength(groups=(10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0)))
    assert [len(one.groups) for one in ranges] == [2, 1, 1, 1, 1, 1]
    assert ranges[0].share == pytest.approx(2 / 7)
    assert ranges[0].high == 25.0
    assert mean(ranges) == pytest.approx(40.0)
    few = ranges_of(GroupedLength(groups=(10.0, 90.0)))
    assert [one.groups for one in few] == [(10.0,), (90.0,)]


def test_neighbouring_ranges_are_one_to_a_router() -> None:
    ranges = ranges_of(SPREAD)
    joined = together([ranges[0], ranges[1], ranges[4]])
    assert joined == (
        PromptRange(from_tokens=None, below_tokens=ranges[1].high),
        PromptRange(from_tokens=ranges[4].low, below_tokens=ranges[4].high),
    )


def test_a_part_has_its_share_of_the_load_and_its_own_lengths() -> None:
    scenario = Scenario.model_validate(
        raw(LLAMA_8B, workload={"input_tokens": {"p50": 1000, "p95": 8000}, "peak_rps": 60}, deployment={"mixed": 2})
    )
    ranges = ranges_of(SPREAD)
    part = understand(part_of(scenario, 60.0, ranges[4:]))
    assert part.demand.sustained_rps == pytest.approx(20.0)
    assert part.scenario.deployment.mixed == 1
    assert part.prompt.mean == pytest.approx(mean(ranges[4:]) * 3, rel=1e-6)
    everything = understand(part_of(scenario, 60.0, ranges))
    assert everything.prompt.mean == pytest.approx(SPREAD.mean, rel=1e-6)
    assert everything.prompt.p95 == pytest.approx(SPREAD.p95, rel=0.04)


def test_a_thinned_renewal_process_comes_nearer_to_poisson() -> None:
    def cv(of: float, share: float) -> float:
        arrivals = thinned(Gamma(gamma=GammaArrivals(cv=of)), share)
        assert isinstance(arrivals, Gamma)
        return arrivals.gamma.cv

    assert cv(3.0, 1.0) == pytest.approx(3.0)
    assert cv(3.0, 0.25) == pytest.approx(math.sqrt(1 + 0.25 * 8))
    assert cv(0.0, 0.5) == pytest.approx(math.sqrt(0.5))
    assert thinned("poisson", 0.3) == "poisson"
    gaps = np.random.default_rng(3).gamma(1 / 9, 9.0, size=2_000_000)
    kept = np.diff(np.cumsum(gaps)[np.random.default_rng(4).random(len(gaps)) < 0.25])
    assert np.std(kept) / np.mean(kept) == pytest.approx(cv(3.0, 0.25), rel=0.02)
