"""Deployments unlike what plans take for granted: shapes of lengths, engines without TPOT or with counters that move at
the end of requests, a front end that requests queue for, steps that change within the window. The whole table:
``python -m tests.tools.unlike_cases``."""

from functools import cache

import numpy as np
import pytest

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles
from collectors.questions.details import Details, GapLine
from reality.diagnosis.changes import steps_changed_s
from reality.diagnosis.diagnose import diagnose
from reality.diagnosis.result import Diagnosis
from reality.diagnosis.worlds import RequestIntake
from reality.lengths import is_as_stated
from sizing.base.arrays import Floats
from sizing.question.length_distributions import GroupedLength, LognormalLength
from tests.tools.deployment_truth import run
from tests.tools.diagnosis_cases import LEAD_S, NOW, WINDOW_S, Case, case, ground
from tests.tools.diagnosis_scores import diagnosed, from_memory

PLAN = "llama-8b-l40s"
OPTIONS = {"sglang": "--max-running-requests", "trtllm": "max_batch_size", "tgi": "--max-batch-size"}


@cache
def told(engine: str, *causes: str, shapes: tuple[str, str] = ("lognormal", "lognormal")) -> tuple[Case, Diagnosis]:
    one = case(0, ground(PLAN, engine), causes, 3, shapes=shapes)
    return one, diagnosed(one)[0]


@pytest.mark.parametrize("engine", ["vllm", "trtllm", "nim"])
def test_another_shape_around_the_same_mean_is_no_cause(engine: str) -> None:
    _, said = told(engine, shapes=("lognormal", "exponential"))
    assert said.main_cause is None, said.headline


@pytest.mark.parametrize("engine", OPTIONS)
def test_a_batch_limit_has_the_name_that_its_engine_gives_it(engine: str) -> None:
    _, said = told(engine, "batch_limit")
    assert said.main_cause == "batch_limit", said.headline
    raised = next(action for action in said.actions if action.kind == "raise_batch_limit")
    assert f"({OPTIONS[engine]})" in raised.why


@pytest.mark.parametrize(("engine", "cause"), [("sglang", "prompts"), ("trtllm", "outputs"), ("nim", "engine")])
def test_causes_are_told_from_what_an_engine_shows(engine: str, cause: str) -> None:
    """SGLang and TensorRT-LLM count tokens and no lengths; NIM has single gaps and no TPOT."""
    one, said = told(engine, cause)
    assert said.main_cause == cause, said.headline
    split = next(s for s in said.splits if s.quantity == said.worst_limit)
    assert split.measured_ms is not None
    assert split.planned_ms is not None
    share = next(row.share_ms for row in split.causes if row.cause == cause)
    assert share / (split.measured_ms - split.planned_ms) == pytest.approx(1.0, abs=0.1)
    assert one.truth["ttft_ms"] > one.planned["ttft_ms"]


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_front_end_that_requests_queue_for_is_named_and_carries_less(engine: str) -> None:
    one, said = told(engine, "front")
    first = said.causes[0]
    assert (said.main_cause, first.subject) == ("engine", "front end"), said.headline
    assert "before the engine has them" in said.headline
    assert "they queue for it" in said.headline
    # The deployment of this simulator plans no step ahead, of which the plan has 1.4: the front is left less.
    assert first.share_ms == pytest.approx(one.shares["ttft_ms"]["front"], rel=0.3 if engine == "vllm" else 0.4)
    served = 1.0 / one.history.world.front * one.history.world.replicas
    assert said.capacity_within_limits_rps is not None
    assert said.capacity_within_limits_rps < served


def test_a_front_end_takes_longer_the_more_arrive() -> None:
    queueing, steady = RequestIntake(seconds=0.05, queues=True), RequestIntake(seconds=0.05)
    assert queueing.mean_s(10.0, 1.0) == pytest.approx(0.05 + 0.5 * 0.05 / (2.0 * 0.5))  # M/D/1 at half its capacity
    assert queueing.mean_s(18.0, 1.0) > 3.0 * queueing.mean_s(10.0, 1.0)
    assert queueing.mean_s(20.0, 1.0) == np.inf
    assert steady.mean_s(20.0, 1.0) == 0.05


@pytest.mark.parametrize(("engine", "times"), [("vllm", 1.4), ("trtllm", 0.7)])
def test_steps_that_change_within_the_window_are_judged_since_then(engine: str, times: float) -> None:
    given = ground(PLAN, engine)
    moment = LEAD_S + WINDOW_S / 2.0
    history = run(given.world.changed(later=(moment, times), seed=7))
    reading = from_memory(Case(number=0, ground=given, causes=(), history=history, truth={}, shares={}))
    changed = NOW - WINDOW_S / 2.0
    assert reading.steps_changed_s == pytest.approx(changed, abs=45.0)
    assert reading.observed.window_s < WINDOW_S / 2.0 + 15.0
    said = diagnose(given.planned, reading)
    assert said.main_cause == "engine", said.headline
    engine_row = next(row for row in said.causes if row.cause == "engine")
    assert engine_row.measured == pytest.approx(times, rel=0.1)
    assert engine_row.since is not None
    assert f" since {engine_row.since[11:16]} UTC" in said.headline


def line(gaps: Floats, loads: Floats) -> GapLine:
    times = tuple(15.0 * i for i in range(len(gaps)))
    return GapLine(times_s=times, gaps_s=tuple(gaps.tolist()), gaps=tuple(loads.tolist()))


def test_only_a_jump_that_the_load_does_not_explain_is_a_change_of_steps() -> None:
    rng = np.random.default_rng(1)
    noise, half = np.exp(rng.normal(0.0, 0.04, 120)), np.arange(120) >= 60
    even = np.full(120, 800.0)
    jump = 0.03 * noise * np.where(half, 1.4, 1.0)
    assert steps_changed_s(Details(gaps=(line(jump, even),))) == pytest.approx(900.0, abs=30.0)
    assert steps_changed_s(Details(gaps=(line(0.03 * noise, even),))) is None
    assert steps_changed_s(Details(gaps=(line(jump, np.where(half, 1.3, 1.0) * even),))) is None
    ramp = 0.03 * noise * np.linspace(1.0, 1.5, 120)
    assert steps_changed_s(Details(gaps=(line(ramp, even),))) is None
    one_of_four = (line(jump, even), *(line(0.03 * noise, even) for _ in range(3)))
    assert steps_changed_s(Details(gaps=one_of_four)) == pytest.approx(900.0, abs=30.0)
    assert steps_changed_s(Details()) is None


def histogram(lengths: Floats, edges: tuple[float, ...]) -> HistogramQuantiles:
    counts, _ = np.histogram(lengths, bins=[0.0, *edges])
    buckets = tuple(
        Bucket(low=low, high=high, count=float(number))
        for low, high, number in zip((0.0, *edges), edges, counts, strict=False)
    )
    return HistogramQuantiles(mean=float(lengths.mean()), count=float(len(lengths)), buckets=buckets)


def test_what_a_plan_states_of_lengths_is_two_percentiles() -> None:
    """Coarse buckets leave both open; fine ones show twice as many long answers. Of a trace all of its shape counts."""
    planned = LognormalLength(p50=250.0, p95=700.0)
    rng = np.random.default_rng(2)
    coarse, fine = (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0), tuple(50.0 * k for k in range(1, 100))
    exponential = planned.mean * rng.exponential(1.0, 20_000)
    assert is_as_stated(histogram(exponential, coarse), planned, 1.0)
    two_kinds = planned.mean * np.where(rng.random(20_000) < 1.0 / 6.0, 3.0, 0.6)
    assert not is_as_stated(histogram(two_kinds, fine), planned, 1.0)
    assert not is_as_stated(histogram(2.0 * exponential, fine), planned, 1.0)
    assert is_as_stated(histogram(2.0 * planned.sample(rng, 20_000), fine), planned, 2.0)
    trace = GroupedLength(groups=tuple(planned.at((np.arange(100) + 0.5) / 100).tolist()))
    assert not is_as_stated(histogram(exponential, coarse), trace, 1.0)
