"""Pitfalls of metrics, continued: spikes, spellings, windows, ranges and queues."""

import re

import pytest

from collectors.queries.query import of_source
from collectors.reading import read_from
from collectors.reading.observation import State
from collectors.source import source_from
from tests.collectors.feeds import NOW, Feed, histogram, steady
from tests.collectors.reading.pitfall_pages import BASE, ID, START, vllm


def test_h_prompt_tokens_tell_computed_from_cached() -> None:
    lines = [
        f"vllm:prompt_tokens_total{{{ID}}} @1000",
        f'vllm:prompt_tokens_by_source_total{{{ID},source="local_compute"}} @600',
        f'vllm:prompt_tokens_by_source_total{{{ID},source="local_cache_hit"}} @400',
    ]
    seen = vllm(*lines).read()
    assert seen.number("prompt_tokens_per_s") == pytest.approx(1000)
    assert seen.number("computed_prompt_tokens_per_s") == pytest.approx(600)


def test_i_live_token_counter_is_preferred_to_the_one_at_finish() -> None:
    lines = [
        'sglang:num_running_reqs{model_name="m",tp_rank="0",priority=""} 4',
        'sglang:generation_tokens_total{model_name="m"} 0',
        'sglang:realtime_tokens_total{model_name="m",mode="decode",tp_rank="0"} @80',
        'sglang:realtime_tokens_total{model_name="m",mode="prefill_compute",tp_rank="0"} @300',
    ]
    seen = Feed({"a:30000": steady(*lines)}).read()
    assert seen.number("generation_tokens_per_s") == pytest.approx(80)
    assert seen.number("prompt_tokens_per_s") == pytest.approx(300)
    late = Feed({"a:8000": steady("trtllm_num_requests_running 1", "trtllm_generation_tokens_total @5")}).read()
    assert late.mapping["generation_tokens"].at_finish


def test_j_spike_between_two_looks_is_seen() -> None:
    def page(elapsed: float) -> str:
        full = 400 <= elapsed < 430
        kv, waiting = (1.0, 9) if full else (0.3, 0)
        return f"{BASE[0]}\nvllm:num_requests_waiting{{{ID}}} {waiting}\nvllm:kv_cache_usage_perc{{{ID}}} {kv}\n"

    seen = Feed({"a:8000": page}).read()
    assert seen.number("kv_usage_max") == 1
    assert seen.number("waiting_max") == 9
    assert seen.number("waiting") == pytest.approx(0.9, rel=0.2)


class TestK:
    """Restarts, extrapolation, windows that are too short."""

    def test_restart_is_not_a_negative_rate(self) -> None:
        def page(elapsed: float) -> str:
            count = 50_000 + 10 * elapsed if elapsed < 450 else 10 * (elapsed - 450)
            return "\n".join(BASE) + f"\nvllm:generation_tokens_total{{{ID}}} {count}\n"

        assert Feed({"a:8000": page}).read().number("generation_tokens_per_s") == pytest.approx(10, rel=0.05)

    def test_window_below_four_scrapes_is_widened_and_told(self) -> None:
        seen = vllm(f"vllm:generation_tokens_total{{{ID}}} @10").read(window_s=12)
        assert seen.window_s == pytest.approx(40, rel=0.3)
        assert seen.number("generation_tokens_per_s") == pytest.approx(10)
        assert any("too few scrapes" in note for note in seen.notes)

    def test_young_data_shrinks_the_window_instead_of_diluting_the_rate(self) -> None:
        feed = Feed({"a:8000": steady(*BASE, f"vllm:generation_tokens_total{{{ID}}} @10")}, seconds=60)
        seen = feed.read()
        assert seen.number("generation_tokens_per_s") == pytest.approx(10)
        assert seen.window_s < 80
        assert any("goes back 60 s only" in note for note in seen.notes)


def test_l_bucket_edges_are_numbers_and_one_token_answers_found_in_either_spelling() -> None:
    for spelling in ("1", "1.0"):
        lines = [
            *histogram("vllm:request_time_per_output_token_seconds", {0.01: 5, 0.025: 10}, 0.1, ID),
            f'vllm:request_generation_tokens_bucket{{{ID},le="{spelling}"}} @5',
        ]
        tpot = vllm(*lines).read().distribution("tpot_ms")
        assert tpot.mean == pytest.approx(20)  # s: five of ten answers had one token and recorded 0
        assert tpot.at("p50").low == 10


def test_m_range_has_at_most_a_thousand_points() -> None:
    found = vllm().backend.ranges([of_source("x", "vector(1)")], start_s=START, end_s=NOW, step_s=0.1)
    assert len(next(iter(found.series.values()))[0].values) <= 1000


def test_o_window_is_the_asked_one() -> None:
    def page(elapsed: float) -> str:
        count = 100 * min(elapsed, 300)
        return "\n".join(BASE) + f"\nvllm:generation_tokens_total{{{ID}}} {count}\n"

    feed = Feed({"a:8000": page})
    source = source_from({"schema_version": 1, "scrape": {"targets": ["http://x"]}, "window_s": 250})
    before = read_from(feed.backend, source, at_s=NOW - 310)
    after = read_from(feed.backend, source, at_s=NOW - 20)
    assert before.number("generation_tokens_per_s") == pytest.approx(100)
    assert after.number("generation_tokens_per_s") == pytest.approx(0, abs=1e-9)


class TestP:
    """Nothing is counted twice."""

    def test_ranks_of_one_engine_count_once(self) -> None:
        lines = [f'sglang:num_running_reqs{{model_name="m",tp_rank="{rank}",priority=""}} 5' for rank in range(4)]
        lines += [f'sglang:token_usage{{model_name="m",tp_rank="{rank}"}} 0.5' for rank in range(4)]
        assert Feed({"a:30000": steady(*lines)}).read().number("running") == 5

    def test_priorities_do_not_add_to_their_total(self) -> None:
        lines = [
            f'sglang:num_running_reqs{{model_name="m",priority="{p}"}} {n}' for p, n in (("", 5), ("1", 3), ("2", 2))
        ]
        assert Feed({"a:30000": steady(*lines)}).read().number("running") == 5

    def test_ensemble_and_its_members_count_once(self) -> None:
        models = ("ensemble", "preprocessing", "tensorrt_llm", "postprocessing")
        lines = [f'nv_inference_request_success{{model="{m}",version="1"}} @4' for m in models]
        lines += [
            'nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled"} 7',
            'nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting"} 2',
            'nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max"} 512',
            'nv_trt_llm_kv_cache_block_metrics{model="tensorrt_llm",kv_cache_block_type="used"} 25',
            'nv_trt_llm_kv_cache_block_metrics{model="tensorrt_llm",kv_cache_block_type="max"} 100',
        ]
        seen = Feed({"a:8002": steady(*lines)}).read()
        assert seen.engine == "triton_trtllm"
        assert seen.number("finished_rps") == pytest.approx(4)
        assert seen.number("running") == 7
        assert seen.number("kv_usage") == pytest.approx(0.25)
        assert any("only ensemble is counted" in note for note in seen.notes)


class TestQ:
    """Families that are born with their first event."""

    def test_family_that_does_not_exist_yet_is_unknown(self) -> None:
        seen = Feed({"a:8000": steady('dynamo_frontend_inflight_requests{model="m"} 0')}).read()
        assert seen.engine == "dynamo"
        assert seen.number("finished_rps") is None
        assert seen.number("error_ratio") is None

    def test_no_error_series_beside_successes_is_no_error(self) -> None:
        lines = [
            'dynamo_frontend_inflight_requests{model="m"} 1',
            'dynamo_frontend_requests_total{model="m",status="success"} @3',
        ]
        seen = Feed({"a:8000": steady(*lines)}).read()
        assert seen.number("failed_rps") == 0
        assert seen.number("error_ratio") == 0


def test_r_growing_queue_shows_in_arrivals_and_state() -> None:
    def page(elapsed: float) -> str:
        waiting = 5 + 0.5 * elapsed
        ttft = "\n".join(histogram("vllm:time_to_first_token_seconds", {0.1: 10}, 0.5, ID))
        grown = re.sub(r"@(\S+)", lambda found: str(float(found.group(1)) * elapsed), ttft)
        return f"{BASE[0]}\n{BASE[2]}\nvllm:num_requests_waiting{{{ID}}} {waiting}\n{grown}\n"

    seen = Feed({"a:8000": page}).read()
    assert seen.state is State.SATURATED
    assert seen.number("arrivals_rps") == pytest.approx(10.5, rel=0.01)
    assert seen.number("waiting_growth_per_s") == pytest.approx(0.5, rel=0.05)
    assert "never emptied" in seen.reasons[0]
