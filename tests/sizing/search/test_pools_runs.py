"""Runs of pools that are kept: the same counts, and the same work, as without."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from sizing import Scenario
from sizing.question.understand import understand
from sizing.search import pools_simulated
from sizing.search.pools_simulated import (
    BATCHES,
    FEW_REQUESTS,
    T_QUANTILE,
    FirstTokens,
    PoolsCase,
    case_of,
    decoded,
    first_tokens,
    ttft_at_most,
)
from sizing.search.serving import screened
from sizing.simulator.kept_runs import KeptRuns
from sizing.simulator.layout import TTFT
from sizing.simulator.quantiles import quantiles
from sizing.simulator.run_length import WARM_UP_SHARE
from sizing.simulator.work import OutOfWork, Work

KEYS = {
    "model": "meta-llama/Llama-3.3-70B-Instruct",
    "workload": {"input_tokens": {"p50": 2000, "p95": 6000}, "output_tokens": 300, "peak_rps": 30},
    "limits": {"ttft_ms": 2000, "itl_ms": 40},
    "deployment": {"gpus": ["h100_sxm"], "serving": ["disaggregated"]},
}


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> PoolsCase:
    """A pair of pools, nothing kept of it."""
    pools_simulated._kept_first_tokens.cache_clear()
    pools_simulated._kept_short.cache_clear()
    monkeypatch.setattr(pools_simulated, "_DECODE_RUNS", KeptRuns(pools_simulated.KEPT))
    question = understand(Scenario.model_validate(KEYS))
    (pools,) = screened(question).pools
    return case_of(question, pools, 0, seed=0, work=Work())


def test_kept_first_tokens_take_as_much_work(case: PoolsCase) -> None:
    first, spent = first_tokens(case, 8), case.work.left
    again = replace(case, limits=replace(case.limits, ttft_s=9.0), work=Work())
    assert first_tokens(again, 8) is first
    assert again.work.left == spent
    with pytest.raises(OutOfWork):
        first_tokens(replace(case, work=Work(first.events)), 8)


def test_other_transfers_and_loads_are_simulated(case: PoolsCase) -> None:
    first = first_tokens(case, 8)
    slower = first_tokens(replace(case, transfer_latency_s=case.transfer_latency_s + 1.0), 8)
    np.testing.assert_allclose(slower.ttft_s, first.ttft_s + 1.0)
    assert first_tokens(case, 9).ttft_s.mean() < first.ttft_s.mean()


def test_kept_decode_runs_count_the_same_and_take_as_much_work(case: PoolsCase) -> None:
    first = first_tokens(case, 8)
    left = case.work.left
    outcome = decoded(case, first, 4)
    other = replace(case, work=Work(left))
    again = decoded(other, first, 4)
    assert other.work.left == case.work.left
    for name in vars(outcome):
        np.testing.assert_array_equal(getattr(again, name), getattr(outcome, name), err_msg=name)


def test_the_front_end_counts_once_in_what_users_see(case: PoolsCase) -> None:
    slow = {"request_s": 0.5, "prompt_token_s": 1e-4}
    fronted = replace(case, prefill=replace(case.prefill, **slow), decode=replace(case.decode, **slow))
    first = first_tokens(fronted, 8)
    counted = first.ttft_s[int(WARM_UP_SHARE * case.requests) :]
    (seen,) = quantiles(decoded(fronted, first, 4), TTFT, [95.0])
    assert seen == pytest.approx(np.percentile(counted, 95.0), rel=0.01)


def test_a_prompt_too_long_for_the_cache_has_no_first_token(case: PoolsCase) -> None:
    small = replace(case, prefill=replace(case.prefill, kv_tokens=4_000.0))
    assert 0 < len(first_tokens(small, 40).ttft_s) < len(first_tokens(case, 40).ttft_s)


def test_short_runs_drive_no_whole_one_out(case: PoolsCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools_simulated, "_kept_first_tokens", lru_cache(maxsize=1)(pools_simulated._first_tokens))
    first = first_tokens(case, 8)
    short = first_tokens(replace(case, requests=FEW_REQUESTS), 8)
    assert len(short.ttft_s) < len(first.ttft_s)
    assert first_tokens(case, 8) is first


@pytest.mark.parametrize("count", [12_000, 12_003, 999, 19])
def test_the_interval_of_a_percentile_is_that_of_its_parts_one_by_one(count: int) -> None:
    ttft_s = np.random.default_rng(0).exponential(size=count)
    counted = ttft_s[int(WARM_UP_SHARE * count) :]
    parts = [np.percentile(part, 95.0) for part in np.array_split(counted, BATCHES)]
    margin = T_QUANTILE * np.std(parts, ddof=1) / np.sqrt(BATCHES)
    first = FirstTokens(queue_s=np.zeros(count), ttft_s=ttft_s, events=0)
    assert ttft_at_most(first, 95.0).seconds == np.percentile(counted, 95.0) + margin
