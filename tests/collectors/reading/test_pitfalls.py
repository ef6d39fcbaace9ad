"""Every pitfall that makes a naive collector wrong, a to s of the list of facts (n stands in test_gpus)."""

import re

import pytest

from collectors.queries.query import of_source
from collectors.reading.observation import State
from tests.collectors.feeds import NOW, Feed, histogram, steady
from tests.collectors.reading.pitfall_pages import BASE, ID, START, every_expression, vllm


class TestA:
    """Empty and NaN are not 0; a gap stays a gap."""

    def test_metric_without_data_is_unknown(self) -> None:
        seen = vllm().read()
        assert seen.state is State.PARTIAL
        for key in ("arrivals_rps", "generation_tokens_per_s", "prefix_hit_ratio", "error_ratio"):
            assert seen.number(key) is None
        assert {m.quantity for m in seen.missing} >= {"arrivals_rps", "ttft_ms", "prefix_hit_ratio"}

    def test_ratio_of_nothing_is_unknown(self) -> None:
        lines = [f"vllm:prefix_cache_{part}_total{{{ID}}} 5" for part in ("hits", "queries")]
        assert vllm(*lines).read().number("prefix_hit_ratio") is None

    def test_idle_histogram_has_no_quantile(self) -> None:
        lines = histogram("vllm:time_to_first_token_seconds", {0.1: 0, 0.25: 0}, 0, ID)
        seen = vllm(*lines).read()
        assert seen.distribution("ttft_ms").at("p95").value is None
        assert seen.distribution("ttft_ms").mean is None
        assert seen.distribution("ttft_ms").count == 0
        assert seen.number("arrivals_rps") == 0

    def test_gap_is_not_joined(self) -> None:
        def page(elapsed: float) -> str | None:
            return None if 200 <= elapsed < 400 else f"vllm:num_requests_running{{{ID}}} 8\n"

        feed = Feed({"a:8000": page})
        query = of_source("x", "sum(vllm:num_requests_running)")
        found = feed.backend.ranges([query], start_s=START, end_s=NOW, step_s=20)
        (series,) = found.of(query.subject)
        _, values = series.on_grid(found.start_s, found.end_s, found.step_s)
        assert sum(v != v for v in values) == 10


class TestB:
    """A renamed metric is not an idle server."""

    def test_old_names_of_v0_are_used(self) -> None:
        lines = [
            f"vllm:num_requests_running{{{ID}}} 3",
            f"vllm:num_requests_waiting{{{ID}}} 0",
            f"vllm:num_requests_swapped{{{ID}}} 0",
            f"vllm:gpu_cache_usage_perc{{{ID}}} 0.7",
            *histogram("vllm:time_per_output_token_seconds", {0.025: 40, 0.05: 100}, 2.5, ID),
        ]
        seen = Feed({"a:8000": steady(*lines)}).read()
        assert seen.engine_variant == "v0"
        assert seen.number("kv_usage") == pytest.approx(0.7)
        assert seen.distribution("itl_ms").mean == pytest.approx(25)
        assert seen.distribution("tpot_ms").mean is None

    @pytest.mark.parametrize(("prefix", "spelled"), [("ray_vllm_", "ray_vllm_"), ("kserve_vllm:", "kserve_vllm:")])
    def test_prefixes_of_ray_and_kserve(self, prefix: str, spelled: str) -> None:
        lines = [line.replace("vllm:", prefix) for line in (*BASE, f"vllm:generation_tokens_total{{{ID}}} @50")]
        seen = Feed({"a:8000": steady(*lines)}).read()
        assert seen.engine == "vllm"
        assert seen.number("generation_tokens_per_s") == pytest.approx(50)
        assert spelled in seen.mapping["generation_tokens"].query

    def test_unknown_name_is_reported_as_missing(self) -> None:
        lines = [line.replace("kv_cache_usage_perc", "kv_cache_utilisation") for line in BASE]
        seen = Feed({"a:8000": steady(*lines)}).read()
        assert seen.number("kv_usage") is None
        assert seen.state is State.PARTIAL
        assert any("kv_cache_usage_perc has no data" in m.reason for m in seen.missing)

    def test_old_and_new_names_together_are_told(self) -> None:
        seen = vllm(f"vllm:gpu_cache_usage_perc{{{ID}}} 0.9").read()
        assert seen.number("kv_usage") == pytest.approx(0.4)
        assert any("Old and new metric names" in note for note in seen.notes)


class TestC:
    """Ratios are never summed over replicas, percentiles never averaged, means never over a lifetime."""

    def test_kv_usage_of_two_replicas_is_the_fuller_one(self) -> None:
        two = {"a:8000": steady(*BASE), "b:8000": steady(*BASE[:2], f"vllm:kv_cache_usage_perc{{{ID}}} 0.9")}
        seen = Feed(two).read()
        assert seen.number("kv_usage") == pytest.approx(0.9)
        assert seen.number("running") == 16
        assert seen.number("replicas") == 2
        assert {r.labels["instance"]: r.kv_usage for r in seen.replicas} == {"a:8000": 0.4, "b:8000": 0.9}

    def test_quantile_of_two_replicas_comes_from_their_added_buckets(self) -> None:
        name = "vllm:time_to_first_token_seconds"
        fast = histogram(name, {0.1: 90, 1.0: 90}, 4.5, ID)
        slow = histogram(name, {0.1: 0, 1.0: 10}, 9.0, ID)
        seen = Feed({"a:8000": steady(*BASE, *fast), "b:8000": steady(*BASE, *slow)}).read()
        ttft = seen.distribution("ttft_ms")
        assert (ttft.at("p50").low, ttft.at("p50").high) == (0, 100)
        assert (ttft.at("p95").low, ttft.at("p95").high) == (100, 1000)
        assert ttft.at("p95").value == pytest.approx(100 + 900 * 0.5)
        assert ttft.mean == pytest.approx(1000 * 13.5 / 100)

    def test_mean_is_of_the_window_not_of_the_lifetime(self) -> None:
        def page(elapsed: float) -> str:
            # 1,000 requests of 2.4 s long ago, then 1 a second of 42 ms.
            count, total = 1000 + elapsed, 2400 + 0.042 * elapsed
            name = "vllm:time_to_first_token_seconds"
            buckets = (
                f'{name}_bucket{{{ID},le="+Inf"}} {count}\n{name}_count{{{ID}}} {count}\n{name}_sum{{{ID}}} {total}\n'
            )
            return "\n".join(BASE) + "\n" + buckets

        assert Feed({"a:8000": page}).read().distribution("ttft_ms").mean == pytest.approx(42)

    def test_no_expression_sums_a_ratio_or_averages_quantiles(self) -> None:
        for key, text in every_expression().items():
            assert "histogram_quantile" not in text, key  # quantiles are computed from added buckets
            if "/kv_usage" in key and "sum(" in text:
                assert "/" in text, key  # only as a ratio of sums


class TestD:
    """Quantiles from buckets added by le, over rates."""

    def test_every_histogram_is_added_by_le_over_a_rate(self) -> None:
        found = {key: text for key, text in every_expression().items() if ".buckets" in key}
        assert len(found) > 40
        once = r"(max without \([\w, ]+\) \()?"
        for key, text in found.items():
            assert re.match(rf"sum by \(le\) \({once}rate\(\S+_bucket\{{.*\}}\[300s\]\)+ or sum\(rate\(", text), key

    def test_extra_labels_do_not_split_the_quantile(self) -> None:
        name = "sglang:time_to_first_token_seconds"
        lines = ['sglang:token_usage{model_name="m"} 0.2', 'sglang:num_running_reqs{model_name="m",priority=""} 2']
        for streaming in ("true", "false"):
            lines += histogram(name, {0.1: 1, 0.2: 2}, 0.2, f'model_name="m",is_streaming="{streaming}"')
        seen = Feed({"a:30000": steady(*lines)}).read()
        assert seen.distribution("ttft_ms").count == pytest.approx(4 * 300)
        assert seen.distribution("ttft_ms").at("p50").value == pytest.approx(100)


class TestE:
    """Seconds, milliseconds, microseconds; ratios and percent."""

    def test_triton_is_converted(self) -> None:
        lines = [
            'nv_inference_request_success{model="ensemble",version="1"} @10',
            'nv_inference_request_duration_us{model="ensemble",version="1"} @5000000',
            *histogram("nv_inference_first_response_histogram_ms", {100: 5, 500: 10}, 2000, 'model="ensemble"'),
            "nv_gpu_utilization 0.85",
        ]
        seen = Feed({"a:8002": steady(*lines)}).read()
        assert seen.engine == "triton"
        assert seen.distribution("e2e_ms").mean == pytest.approx(500)
        assert seen.distribution("ttft_ms").mean == pytest.approx(200)
        assert (seen.distribution("ttft_ms").at("p95").low, seen.distribution("ttft_ms").at("p95").high) == (100, 500)
        assert seen.number("gpu_busy") == pytest.approx(0.85)

    def test_dcgm_percent_mebibytes_and_millijoules(self) -> None:
        gpu = 'gpu="0",UUID="GPU-1",Hostname="a"'
        fields = {"DCGM_FI_DEV_GPU_UTIL": 85, "DCGM_FI_PROF_SM_ACTIVE": 0.6, "DCGM_FI_DEV_FB_USED": 1024}
        fields |= {"DCGM_FI_DEV_FB_FREE": 1024, "DCGM_FI_DEV_FB_RESERVED": 0, "DCGM_FI_DEV_POWER_USAGE": 500}
        lines = [f"{name}{{{gpu}}} {value}" for name, value in fields.items()]
        seen = Feed({"a:8000": steady(*BASE), "a:9400": steady(*lines)}).read()
        assert seen.number("gpu_busy") == pytest.approx(0.85)
        assert seen.number("gpu_sm_active") == pytest.approx(0.6)
        assert seen.number("gpu_memory_used_gb") == pytest.approx(1.073741824)
        assert seen.number("gpu_memory_total_gb") == pytest.approx(2.147483648)
        assert seen.number("power_w") == pytest.approx(500)


class TestF:
    """request_success_total is not success; aborts and HTTP errors are elsewhere."""

    LINES = (
        f'vllm:request_success_total{{{ID},finished_reason="stop"}} @2',
        f'vllm:request_success_total{{{ID},finished_reason="abort"}} @0.5',
        *histogram("vllm:time_to_first_token_seconds", {0.1: 3, 0.25: 3}, 0.2, ID),
        'http_requests_total{handler="/v1/completions",status="2xx"} @2.6',
        'http_requests_total{handler="/v1/completions",status="4xx"} @0.3',
        'http_requests_total{handler="/v1/completions",status="5xx"} @0.1',
        'http_requests_total{handler="/metrics",status="2xx"} @5',
    )

    def test_finished_aborted_failed_and_client_errors_are_apart(self) -> None:
        seen = vllm(*self.LINES).read(selector={"model_name": "m"})
        assert seen.number("finished_rps") == pytest.approx(2)
        assert seen.number("aborted_rps") == pytest.approx(1)
        assert seen.number("failed_rps") == pytest.approx(0.1)
        assert seen.number("error_ratio") == pytest.approx(0.1 / 3.0)
        assert seen.number("client_error_ratio") == pytest.approx(0.3 / 3.0)

    def test_errors_of_another_model_are_not_ours(self) -> None:
        other = [line.replace('"m"', '"other"') for line in BASE]
        failing = 'http_requests_total{handler="/v1/completions",status="5xx"} @9'
        feed = Feed({"a:8000": steady(*BASE, *self.LINES), "b:8000": steady(*other, failing)})
        assert feed.read(selector={"model_name": "m"}).number("failed_rps") == pytest.approx(0.1)


class TestG:
    """The gap between tokens and the mean of a request are two things."""

    def test_itl_and_tpot_are_read_from_their_own_metrics(self) -> None:
        lines = [
            *histogram("vllm:inter_token_latency_seconds", {0.01: 0, 0.025: 100}, 2.0, ID),
            *histogram("vllm:request_time_per_output_token_seconds", {0.025: 0, 0.05: 2}, 0.08, ID),
        ]
        seen = vllm(*lines).read()
        assert seen.distribution("itl_ms").mean == pytest.approx(20)
        assert seen.distribution("tpot_ms").mean == pytest.approx(40)

    def test_engine_with_one_of_them_says_so(self) -> None:
        seen = Feed({"a:8000": steady("trtllm_num_requests_running 1", "trtllm_request_success_total @1")}).read()
        assert any(m.quantity == "itl_ms" and "only the mean per request" in m.reason for m in seen.missing)
