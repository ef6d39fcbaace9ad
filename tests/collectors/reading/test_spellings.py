"""One engine, its names written in many ways; and engines told apart by what only they have, after the selector."""

import pytest

from collectors.reading.observation import Observation, State
from tests.collectors.feeds import Feed, histogram, steady
from tests.collectors.reading.test_engines import PAGES

M = 'model_name="m"'


def read(*lines: str, **more: object) -> Observation:
    return Feed({"a:8000": steady(*lines)}).read(**more)


@pytest.mark.parametrize(
    ("engine", "own", "written"),
    [
        ("vllm", "vllm:", "vllm_"),
        ("vllm", "vllm:", "ray_vllm:"),
        ("vllm", "vllm:", "ray_vllm_"),
        ("vllm", "vllm:", "kserve_vllm_"),
        ("sglang", "sglang:", "sglang_"),
        ("sglang", "sglang:", "ray_sglang_"),
        ("sglang", "sglang:", "kserve_sglang:"),
        ("lmdeploy", "lmdeploy:", "lmdeploy_"),
        ("lmdeploy", "lmdeploy:", "ray_lmdeploy_"),
        ("trtllm_serve", "trtllm_", "trtllm:"),
        ("trtllm_serve", "trtllm_", "ray_trtllm_"),
    ],
)
def test_every_beginning_of_a_name_is_known(engine: str, own: str, written: str) -> None:
    seen = read(*[line.replace(own, written) for line in PAGES[engine]])
    assert (seen.engine, seen.state) == (engine, State.OK), seen.reasons
    assert seen.number("running") == pytest.approx(5)
    assert seen.number("generation_tokens_per_s") == pytest.approx(100)
    assert seen.distribution("ttft_ms").mean == pytest.approx(200)
    assert written in seen.mapping["running"].query


def test_a_value_of_the_selector_is_not_spelled_anew() -> None:
    lines = [line.replace("vllm:", "vllm_").replace('"m"', '"vllm:big"') for line in PAGES["vllm"]]
    assert read(*lines, selector={"model_name": "vllm:big"}).number("running") == pytest.approx(5)


TRT = 'model_name="undefined",engine_type="undefined"'


@pytest.mark.parametrize(
    "extra",
    [
        [f"kv_cache_hit_rate{{{TRT}}} 0.25"],
        [f"num_requests_running{{{TRT}}} 3", f"num_requests_waiting{{{TRT}}} 1", f"kv_cache_utilization{{{TRT}}} 0.5"],
        histogram("request_queue_time_seconds", {0.3: 2}, 0.02, TRT),
    ],
    ids=["hit rate", "iterations", "requests"],
)
def test_trtllm_serve_without_a_prefix(extra: list[str]) -> None:
    lines = [f'request_success_total{{{TRT},finished_reason="stop"}} @2']
    lines += histogram("time_to_first_token_seconds", {0.02: 0, 0.04: 2}, 0.06, TRT)
    seen = read(*lines, *extra)
    assert seen.engine == "trtllm_serve"
    assert seen.number("finished_rps") == pytest.approx(2)
    assert seen.distribution("ttft_ms").mean == pytest.approx(30)


@pytest.mark.parametrize("own", ["request_failed_total", "npu_cache_usage_perc", "request_received_total"])
def test_mindie_is_not_taken_for_nim(own: str) -> None:
    seen = read(f"num_requests_running{{{M}}} 3", f"prompt_tokens_total{{{M}}} @5", f"{own}{{{M}}} 0")
    assert (seen.engine, seen.number("running")) == ("mindie", 3)


@pytest.mark.parametrize("own", ["num_request_max", "gpu_cache_usage_perc", "request_failure_total"])
def test_nim_is_known_by_its_own_names(own: str) -> None:
    assert read(f"num_requests_running{{{M}}} 3", f"{own}{{{M}}} 0").engine == "nim"


@pytest.mark.parametrize("prefix", ["llm_d_epp_", "llm_d_router_epp_"])
def test_the_router_of_llm_d_under_its_newer_names(prefix: str) -> None:
    running = "request_running" if prefix == "llm_d_epp_" else "running_requests"
    seen = read(
        f"{prefix}{running}{{{M}}} 5",
        f'{prefix}ready_endpoints{{name="p"}} 3',
        f'{prefix}average_queue_size{{name="p"}} 2',
        f'{prefix}average_kv_cache_utilization{{name="p"}} 0.5',
        f"{prefix}request_total{{{M}}} @2",
        *histogram(f"{prefix}request_duration_seconds", {1: 1, 2: 2}, 2, M),
    )
    assert seen.engine == "llm_d"
    assert [seen.number(key) for key in ("running", "waiting", "kv_usage", "finished_rps")] == pytest.approx(
        [5, 6, 0.5, 2]
    )
    assert seen.distribution("e2e_ms").mean == pytest.approx(1000)


class TestAfterTheSelector:
    """Several engines at one source: the one that is selected is read, not the one that is met first."""

    DYNAMO = tuple(line.replace('"m"', '"front/Other"') for line in PAGES["dynamo"])

    def feed(self, *more: str) -> Feed:
        return Feed({"d:8000": steady(*self.DYNAMO), "v:8000": steady(*PAGES["vllm"], *more)})

    def test_a_model_that_only_the_second_engine_has(self) -> None:
        seen = self.feed().read(selector={"model_name": "m"})
        assert (seen.engine, seen.number("running")) == ("vllm", 5)

    def test_a_model_that_only_the_first_engine_has_in_any_case(self) -> None:
        for written in ("front/Other", "front/other"):
            seen = self.feed().read(selector={"model": written})
            assert (seen.engine, seen.number("running")) == ("dynamo", 5), written

    def test_by_instance(self) -> None:
        assert self.feed().read(selector={"instance": "v:8000"}).engine == "vllm"
        assert self.feed().read(selector={"instance": "d:8000"}).engine == "dynamo"

    def test_vllm_under_triton_is_labelled_with_model(self) -> None:
        lines = [line.replace("model_name=", "model=") for line in PAGES["vllm"]]
        for selector in ({}, {"model": "m"}, {"model_name": "m"}):
            seen = read(*lines, selector=selector)
            assert (seen.engine, seen.number("running")) == ("vllm", 5), selector

    def test_what_triton_itself_counts_completes_its_backend(self) -> None:
        lines = [line.replace("model_name=", "model=") for line in PAGES["vllm"] if "success" not in line]
        lines += ['nv_inference_request_success{model="m",version="1"} @2', 'nv_inference_count{model="other"} @9']
        seen = read(*lines, selector={"model_name": "m"})
        assert (seen.engine, seen.number("running"), seen.number("finished_rps")) == ("vllm", 5, pytest.approx(2))

    def test_an_engine_without_models_does_not_stand_before_the_one_that_has_the_model(self) -> None:
        feed = Feed({"t:80": steady(*PAGES["tgi"]), "l:80": steady(*PAGES["lmdeploy"])})
        assert feed.read(selector={"model_name": "m"}).engine == "lmdeploy"

    def test_old_sglang_calls_the_model_name(self) -> None:
        old = ('sglang:num_requests_running{name="m"} 12', 'sglang:num_requests_waiting{name="m"} 3')
        seen = read(*old, 'sglang:cache_hit_rate{name="m"} 87.5', selector={"model_name": "m"})
        assert [seen.number(key) for key in ("running", "waiting", "prefix_hit_ratio")] == [12, 3, 0.875]


class TestNothingSelected:
    """A selector that fits nothing says which of its labels is wrong."""

    LINES = tuple(line.replace("{", '{namespace="prod",', 1) for line in PAGES["vllm"])

    @pytest.mark.parametrize(
        ("selector", "said"),
        [
            ({"namespace": "prdo"}, "No engine has namespace prdo: did you mean prod?"),
            ({"namespace": "zzz"}, "No engine has namespace zzz; there are prod"),
            ({"cluster": "c1"}, "No engine has a label cluster"),
            ({"namespace": "prod", "model_name": "mm"}, "No engine has model_name mm"),
            ({"job": "scrap", "namespace": "prod"}, "No engine has job scrap: did you mean scrape?"),
        ],
    )
    def test_the_wrong_label_is_named(self, selector: dict[str, str], said: str) -> None:
        seen = read(*self.LINES, selector=selector)
        assert seen.state is State.NO_DATA
        assert seen.reasons[0].startswith("vLLM is seen, but no series matches")
        assert said in seen.reasons[0]
        assert "known engine" not in seen.reasons[0]

    def test_an_engine_that_is_asked_for_and_not_there_is_not_said_to_be_seen(self) -> None:
        seen = read(*self.LINES, selector={"namespace": "prdo"}, engine="sglang")
        assert "SGLang is seen" not in seen.reasons[0]


class TestReasons:
    """What a page has under another name is read, not declared missing."""

    @pytest.mark.parametrize(
        ("lines", "quantity", "value"),
        [
            (['sglang:gen_throughput{model_name="m"} 601'], "generation_tokens_per_s", 601),
            ([f"vllm:avg_generation_throughput_toks_per_s{{{M}}} 34"], "generation_tokens_per_s", 34),
            ([f"vllm:gpu_prefix_cache_hit_rate{{{M}}} 0.25"], "prefix_hit_ratio", 0.25),
            ([f"vllm:cpu_cache_usage_perc{{{M}}} 0.125"], "kv_host_usage", 0.125),
        ],
    )
    def test_gauges_of_older_versions(self, lines: list[str], quantity: str, value: float) -> None:
        engine = "sglang" if "sglang" in lines[0] else "vllm"
        bare = [line for line in PAGES[engine] if "generation_tokens" not in line]
        seen = read(*bare, *lines)
        assert seen.number(quantity) == pytest.approx(value)
        assert quantity not in {one.quantity for one in seen.missing}

    def test_the_metric_that_is_named_is_one_that_is_not_there(self) -> None:
        lines = [line for line in PAGES["tgi"] if "max_total_tokens" not in line]
        told = {one.quantity: one.reason for one in read(*lines).missing}
        assert told["kv_usage"] == "tgi_batch_max_total_tokens has no data"

    def test_no_page_of_sglang_is_told_to_enable_metrics(self) -> None:
        seen = read('sglang:token_usage{model_name="m"} 0.2')
        assert not [one for one in seen.missing if "--enable-metrics" in one.reason]

    def test_a_gauge_that_is_minus_one_where_it_is_off_is_unknown(self) -> None:
        seen = read(*PAGES["vllm"], f"vllm:gpu_prefix_cache_hit_rate{{{M}}} -1")
        assert seen.number("prefix_hit_ratio") is None

    def test_a_worker_of_dynamo_completes_its_engine(self) -> None:
        engine = [line for line in PAGES["trtllm_serve"] if "num_requests" not in line and "kv_cache" not in line]
        own = 'dynamo_component="backend",dynamo_endpoint="generate",model="m"'
        seen = read(
            *engine,
            f"dynamo_component_inflight_requests{{{own}}} 4",
            'dynamo_component_inflight_requests{dynamo_endpoint="clear_kv_blocks"} 9',
            'dynamo_component_gpu_cache_usage_percent{dynamo_component="backend"} 0.5',
            selector={"model_name": "m"},
        )
        assert (seen.engine, seen.number("running"), seen.number("kv_usage")) == ("trtllm_serve", 4, 0.5)

    def test_llama_cpp_and_litellm_alone(self) -> None:
        own = read(
            "llamacpp:requests_processing 1", "llamacpp:requests_deferred 0", "llamacpp:tokens_predicted_total @50"
        )
        assert (own.engine, own.state, own.number("generation_tokens_per_s")) == ("llamacpp", State.OK, 50)
        front = read(
            'litellm_proxy_total_requests_metric_total{requested_model="m",status_code="200"} @2',
            'litellm_proxy_total_requests_metric_total{requested_model="m",status_code="500"} @1',
            *histogram("litellm_llm_api_time_to_first_token_metric", {0.1: 1, 0.5: 2}, 0.4, 'requested_model="m"'),
            selector={"model_name": "m"},
        )
        assert front.engine == "litellm"
        assert (front.number("arrivals_rps"), front.number("finished_rps")) == pytest.approx((3, 2))
        assert front.distribution("ttft_ms").mean == pytest.approx(200)

    def test_litellm_does_not_stand_before_the_engine_behind_it(self) -> None:
        front = 'litellm_proxy_total_requests_metric_total{requested_model="m"} @2'
        assert Feed({"p:4000": steady(front), "v:8000": steady(*PAGES["vllm"])}).read().engine == "vllm"
