"""Caps on the sequences in flight: where they are tried, what they save, and that the simulator agrees."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sizing import Scenario
from sizing.base.compiled_rows import position
from sizing.planning.analytic import analytic_plan
from sizing.question.understand import Question, understand
from sizing.search.aggregated import smallest_aggregated
from sizing.search.batch_limits import first_of_each, limited, proposals, with_batch_limits
from sizing.search.refine import Search
from sizing.search.replicas import as_replica
from sizing.search.screen import Evaluated, all_configurations, evaluate, instances_needed
from tests.sizing.asking import LLAMA_70B, raw

ONE: dict[str, Any] = {
    "gpus": ["h200_sxm"],
    "engines": ["vllm"],
    "precisions": ["fp8"],
    "tp": [2],
    "pp": [1],
    "serving": ["aggregated"],
    "confidence": 50,
}


def asked(itl_ms: float | None = 25, rps: float = 60, **deployment: Any) -> Question:
    keys = raw(
        LLAMA_70B,
        workload={"peak_rps": rps},
        limits={"ttft_ms": 3000, "itl_ms": itl_ms},
        deployment={**ONE, **deployment},
    )
    return understand(Scenario.model_validate(keys))


def base(question: Question) -> Evaluated:
    return evaluate(question, all_configurations(question))


def test_a_cap_carries_more_where_the_itl_limit_binds() -> None:
    question = asked()
    free, capped = base(question), with_batch_limits(question, base(question))
    limit = capped.candidates.rows[0].batch_limit
    assert limit is not None
    assert capped.memory.max_concurrency[0] == limit < free.memory.max_concurrency[0]
    assert capped.capacity.rps[0] > free.capacity.rps[0]
    peak = question.demand.peak_rps
    assert instances_needed(peak, capped.capacity.rps)[0] < instances_needed(peak, free.capacity.rps)[0]


def test_the_simulator_needs_fewer_instances_with_the_cap_too() -> None:
    question = asked(routing="random")
    capped = Search(smallest_aggregated(question, with_batch_limits(question, base(question))), 0)
    free = Search(smallest_aggregated(question, base(question)), 0)
    free.simulate(0)
    capped.simulate(0)
    assert capped.results[0].instances < free.results[0].instances


def test_the_simulated_engine_has_the_cap() -> None:
    question = asked()
    row = base(question).candidates.rows[0]
    assert as_replica(question, replace(row, batch_limit=17)).max_sequences == 17
    assert as_replica(question, row).max_sequences == row.engine.sequences(row.gpu)


@pytest.mark.parametrize("question", [asked(itl_ms=None), asked(rps=0.2)], ids=["no ITL limit", "one instance"])
def test_nothing_is_capped_where_it_cannot_save_an_instance(question: Question) -> None:
    evaluated = base(question)
    assert not len(proposals(question, evaluated)[0])
    assert with_batch_limits(question, evaluated) is evaluated


def test_a_cap_bounds_the_gap_between_tokens_whatever_the_load() -> None:
    question = asked()
    free, one = base(question), limited(question, base(question), np.zeros(1, dtype=np.intp), np.array([24.0]))
    at_cap = np.interp(24.0, free.state.concurrency[0], free.state.itl_mean_s[0])
    assert one.latencies.itl_s.max() <= 1.02 * at_cap
    assert one.state.concurrency.max() < 24.0


def test_a_cap_at_the_maximum_changes_nothing() -> None:
    question = asked()
    free = base(question)
    same = limited(question, free, np.zeros(1, dtype=np.intp), free.memory.max_concurrency[:1])
    np.testing.assert_allclose(same.state.rps, free.state.rps, rtol=1e-9)
    np.testing.assert_allclose(same.latencies.ttft_s, free.latencies.ttft_s, rtol=1e-9)


def test_named_limits_are_kept_and_the_best_of_them_chosen() -> None:
    question = asked(batch_limits=[4, 40, 8])
    found = with_batch_limits(question, base(question))
    assert found.candidates.rows[0].batch_limit == 40
    assert found.memory.max_concurrency[0] == 40
    answer = analytic_plan(question.scenario)
    assert answer.deployment.batch_limit == 40
    assert answer.per_instance.concurrency < 40
    (explained,) = (e.numbers for e in answer.explained if e.name == "batch_limit")
    assert explained == "--max-num-seqs of an attention-DP rank x ranks: 40 x 1 = 40"


def test_the_answer_names_a_limit_that_it_chose() -> None:
    answer = analytic_plan(asked().scenario)
    assert answer.deployment.batch_limit is not None
    assert f"batch limit of {answer.deployment.batch_limit}" in answer.limited_by
    assert any("--max-num-seqs" in a for a in answer.assumptions)


def test_attention_dp_ranks_share_a_limit_evenly() -> None:
    keys = raw(
        "deepseek-ai/DeepSeek-R1",
        workload={"peak_rps": 300},
        limits={"ttft_ms": 3000, "itl_ms": 50},
        deployment={"gpus": ["b200_sxm"], "tp": [1], "pp": [1], "serving": ["aggregated"]},
    )
    question = understand(Scenario.model_validate(keys))
    rows, caps = proposals(question, base(question))
    ranks = base(question).candidates.dp[rows]
    assert len(rows)
    assert (ranks > 1).any()
    assert (caps % ranks == 0).all()


def test_interpolation_is_exact_on_straight_lines_and_goes_on_beyond_them() -> None:
    known = np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]])
    at = np.array([[0.5, 3.0, 8.0], [2.0, 6.0, 10.0]])
    np.testing.assert_allclose(position(known, at, beyond=True).of(2.0 * known + 1.0), 2.0 * at + 1.0)


def test_the_smallest_of_each_group_come_first() -> None:
    group, value = np.array([1, 0, 1, 0, 1]), np.array([3.0, 2.0, 1.0, 5.0, 2.0])
    assert first_of_each(group, value, 2).tolist() == [1, 3, 2, 4]
    assert first_of_each(group, value, 1).tolist() == [1, 2]
