"""Every request, token and byte counts once, and all of them do: ranks, routers, workers, forms of one figure."""

import pytest

from collectors.reading.observation import Observation, State
from tests.collectors.feeds import Feed, Page, histogram, steady
from tests.collectors.reading.pitfall_pages import BASE, ID
from tests.collectors.reading.test_engines import PAGES


def sglang(rank: str, running: float) -> list[str]:
    own = f'model_name="m",{rank}'
    return [
        f"sglang:num_running_reqs{{{own}}} {running}",
        f"sglang:num_queue_reqs{{{own}}} 1",
        f"sglang:token_usage{{{own}}} {running / 10}",
        f'sglang:realtime_tokens_total{{mode="decode",{own}}} @{10 * running}',
        *histogram("sglang:queue_time_seconds", {0.1: running}, running * 0.05, own),
    ]


class TestRanks:
    """SGLang: one tensor rank of every rank of data parallelism, then the sum."""

    def read(self, ranks: list[tuple[str, float]]) -> Observation:
        return Feed({"a:30000": steady(*[line for rank, n in ranks for line in sglang(rank, n)])}).read()

    def test_data_parallel_attention_with_as_many_ranks(self) -> None:
        seen = self.read(
            [(f'tp_rank="{i}",dp_rank="{i}",pp_rank="0"', n) for i, n in enumerate((1, 1, 1, 4, 4, 4, 1, 1))]
        )
        assert seen.number("running") == 17
        assert seen.number("waiting") == 8
        assert seen.number("generation_tokens_per_s") == pytest.approx(170)
        assert seen.number("kv_usage") == pytest.approx(0.4)
        assert seen.distribution("queue_ms").count == pytest.approx(17 * 300)

    def test_two_tensor_ranks_for_each_rank_of_data_parallelism(self) -> None:
        ranks = [(f'tp_rank="{i}",dp_rank="{i // 2}",moe_ep_rank="{i}"', (3.0, 5.0)[i // 2]) for i in range(4)]
        assert self.read(ranks).number("running") == 8

    def test_pipeline_ranks_without_data_parallelism(self) -> None:
        ranks = [(f'tp_rank="{i % 2}",pp_rank="{i // 2}"', 6.0) for i in range(4)]
        assert self.read(ranks).number("running") == 6
        assert self.read(ranks).number("generation_tokens_per_s") == pytest.approx(60)

    def test_replica_rows_count_ranks_once_too(self) -> None:
        (row,) = self.read([(f'tp_rank="{i}"', 6.0) for i in range(4)]).replicas
        assert row.running == 6


class TestRouters:
    """A router that passes on the gauges of engines which are scraped themselves."""

    def engines(self) -> dict[str, Page]:
        return {f"10.0.0.{i}:8000": steady(*BASE) for i in (1, 2)}

    @pytest.mark.parametrize(
        "label", ['server="http://10.0.0.{}:8000"', 'worker_addr="grpc://10.0.0.{}:8001"', 'source="worker{}"']
    )
    def test_it_does_not_double_them(self, label: str) -> None:
        passed_on = [f"vllm:num_requests_running{{{label.format(i)}}} 8" for i in (1, 2)]
        passed_on += [f"vllm:num_requests_waiting{{{label.format(i)}}} 0" for i in (1, 2)]
        seen = Feed({**self.engines(), "router:80": steady(*passed_on)}).read()
        assert (seen.number("running"), seen.number("replicas")) == (16, 2)
        assert any("A router passes on" in note for note in seen.notes)

    def test_alone_it_stands_for_them(self) -> None:
        passed_on = [f'vllm:num_requests_running{{server="http://10.0.0.{i}:8000"}} {i}' for i in (1, 2, 3)]
        seen = Feed({"router:80": steady(*passed_on)}).read()
        assert (seen.number("running"), seen.number("replicas")) == (6, 3)
        assert {row.labels["server"]: row.running for row in seen.replicas}["http://10.0.0.3:8000"] == 3

    def test_replicas_behind_one_agent_of_ray(self) -> None:
        own = ['WorkerId="w1",model_name="m"', 'WorkerId="w2",model_name="m"']
        lines = [f"ray_vllm_num_requests_running{{{one}}} 3" for one in own]
        seen = Feed({"node:8080": steady(*lines)}).read()
        assert (seen.number("running"), seen.number("replicas")) == (6, 2)

    def test_a_label_that_all_targets_have_is_no_router(self) -> None:
        pages = {f"{i}:8000": steady(*[one.replace("{", f'{{server="box-{i}",', 1) for one in BASE]) for i in "ab"}
        assert Feed(pages).read().number("running") == 16


class TestTwoJobs:
    """The same pod under two scrape jobs is one."""

    def feed(self, addresses: tuple[str, str]) -> Feed:
        def page(job: str) -> Page:
            extra = f'exported_job="{job}",pod="vllm-0",namespace="n",'
            return steady(*[line.replace("{", "{" + extra, 1) for line in BASE])

        feed = Feed({f"{a}:{i}": page(f"j{i}") for i, a in enumerate(addresses)})
        return feed

    def test_whatever_address_each_job_has(self) -> None:
        from collectors.reading.layout import ReplicaLayout, counted_once
        from collectors.vocabulary.expressions import Scope

        rows = tuple(
            {"job": job, "instance": f"{address}:8000", "pod": pod, **space}
            for job, space, host in (("pods", {"namespace": "n"}, "10.0.0."), ("services", {}, "vllm-"))
            for pod, address in ((f"vllm-{i}", f"{host}{i}") for i in range(2))
        )
        layout = ReplicaLayout(live=rows, seen=(), newest_s=0, oldest_s=0, interval_s=15)
        once, scope = counted_once(layout, Scope(window_s=300))
        assert (layout.replicas, once.replicas, scope.labels) == (4, 2, {"job": "pods"})

    def test_pods_of_one_name_in_two_namespaces_are_two(self) -> None:
        from collectors.reading.layout import ReplicaLayout, counted_once
        from collectors.vocabulary.expressions import Scope

        rows = tuple({"job": f"{n}/vllm", "namespace": n, "pod": "vllm-0", "instance": f"{n}:1"} for n in ("a", "b"))
        once, scope = counted_once(
            ReplicaLayout(live=rows, seen=(), newest_s=0, oldest_s=0, interval_s=15), Scope(window_s=300)
        )
        assert (once.replicas, scope.labels) == (2, {})

    def test_two_engines_in_one_pod_of_one_job_are_two(self) -> None:
        feed = self.feed(("10.0.0.1", "10.0.0.1"))
        assert feed.read().number("replicas") == 2


def test_kv_use_of_dynamo_is_the_mean_of_its_workers() -> None:
    for workers in ((8000, 8200), (4096,), (1000, 2000, 3000, 4000)):
        lines = [line for line in PAGES["dynamo"] if "blocks" not in line]
        lines += ['dynamo_frontend_model_total_kv_blocks{model="m"} 16384']
        lines += [
            f'dynamo_frontend_worker_active_decode_blocks{{worker_id="w{i}",worker_type="decode"}} {n}'
            for i, n in enumerate(workers)
        ]
        lines += ['dynamo_frontend_worker_active_decode_blocks{worker_id="p",worker_type="prefill"} 16000']
        seen = Feed({"a:8000": steady(*lines)}).read()
        assert seen.number("kv_usage") == pytest.approx(sum(workers) / len(workers) / 16384)


class TestForms:
    """One figure in two forms."""

    @pytest.mark.parametrize(
        ("labels", "tokens"),
        [
            ('block_size="16",num_gpu_blocks="4574"', 73184),
            ('block_size="16",num_gpu_blocks="4574",kv_cache_size_tokens="70000"', 70000),
            ('block_size="16",num_gpu_blocks="4574",kv_cache_size_tokens="None"', 73184),
            ('block_size="None",num_gpu_blocks="None"', None),
        ],
    )
    def test_kv_capacity(self, labels: str, tokens: float | None) -> None:
        seen = Feed({"a:8000": steady(*BASE, f"vllm:cache_config_info{{{labels}}} 1")}).read()
        assert seen.number("kv_capacity_tokens") == tokens

    def test_the_smallest_of_data_parallel_engines(self) -> None:
        infos = [
            f'vllm:cache_config_info{{engine="{i}",block_size="16",num_gpu_blocks="{n}"}} 1'
            for i, n in ((0, 4574), (1, 4500))
        ]
        assert Feed({"a:8000": steady(*BASE, *infos)}).read().number("kv_capacity_tokens") == 72000

    @pytest.mark.parametrize("engine", ["nim", "mindie", "lmdeploy"])
    def test_time_per_output_token_of_gaps_is_itl(self, engine: str) -> None:
        prefix, label = ("lmdeploy:", 'model_name="m"') if engine == "lmdeploy" else ("", 'model_name="m"')
        gaps = histogram(f"{prefix}time_per_output_token_seconds", {0.01: 0, 0.025: 100}, 2.0, label)
        seen = Feed({"a:8000": steady(*PAGES[engine], *gaps)}).read()
        assert seen.distribution("itl_ms").mean == pytest.approx(20)
        assert seen.distribution("tpot_ms").mean is None

    @pytest.mark.parametrize(
        ("sources", "hit"),
        [
            ({"": 200}, 0.2),
            ({"total": 300}, 0.3),
            ({"device": 100, "host": 200, "storage_hf3fs": 50}, 0.35),
            ({"device": 100, "host": 200, "total": 300}, 0.3),
        ],
    )
    def test_cached_tokens_of_a_hierarchical_cache(self, sources: dict[str, int], hit: float) -> None:
        lines = [f'sglang:cached_tokens_total{{model_name="m",cache_source="{k}"}} @{v}' for k, v in sources.items()]
        lines += ['sglang:prompt_tokens_total{model_name="m"} @1000']
        lines += ['sglang:hicache_host_used_tokens{model_name="m",tp_rank="0"} 300']
        lines += ['sglang:hicache_host_total_tokens{model_name="m",tp_rank="0"} 400']
        seen = Feed({"a:30000": steady(*PAGES["sglang"], *lines)}).read()
        assert seen.number("prefix_hit_ratio") == pytest.approx(hit)
        assert seen.number("kv_host_usage") == pytest.approx(0.75)

    def test_a_histogram_with_only_the_last_bucket_has_no_quantile(self) -> None:
        name = "vllm:time_to_first_token_seconds"
        only = [f'{name}_bucket{{{ID},le="+Inf"}} @5', f"{name}_count{{{ID}}} @5", f"{name}_sum{{{ID}}} @2"]
        ttft = Feed({"a:8000": steady(*BASE, *only)}).read().distribution("ttft_ms")
        assert (ttft.mean, ttft.at("p50").value, ttft.at("p95").value, ttft.at("p95").low) == (
            pytest.approx(400),
            None,
            None,
            None,
        )
        beyond = Feed({"a:8000": steady(*BASE, *only, f'{name}_bucket{{{ID},le="0.01"}} 0')}).read()
        assert beyond.distribution("ttft_ms").at("p95").value is None
        partly = Feed({"a:8000": steady(*BASE, *only, f'{name}_bucket{{{ID},le="0.01"}} @1')}).read()
        assert (partly.distribution("ttft_ms").at("p95").low, partly.distribution("ttft_ms").at("p95").high) == (
            10,
            None,
        )


class TestArrivals:
    """Arrivals are what left the queue and what it grew by, step by step."""

    @staticmethod
    def page(elapsed: float) -> str:
        """22 requests/s arrive for two minutes where 18.5 are served, then 15; the queue drains."""
        start, end = 360.0, 480.0
        burst = min(max(elapsed - start, 0.0), end - start)
        waiting = max(0.0, 3.5 * burst - 3.5 * max(0.0, elapsed - end))
        served = 15 * min(elapsed, start) + 18.5 * max(0.0, elapsed - start)
        count = f"vllm:time_to_first_token_seconds_count{{{ID}}} {served}"
        return f"{BASE[0]}\n{BASE[2]}\nvllm:num_requests_waiting{{{ID}}} {waiting}\n{count}\n"

    def test_of_a_window_that_ends_within_the_burst(self) -> None:
        from collectors.reading import read_from
        from collectors.source import source_from
        from tests.collectors.feeds import NOW

        feed = Feed({"a:8000": self.page})
        source = source_from({"schema_version": 1, "scrape": {"targets": ["http://x"]}, "window_s": 100})
        seen = read_from(feed.backend, source, at_s=NOW - 600 + 480)
        assert seen.number("arrivals_rps") == pytest.approx(22, rel=0.02)

    def test_at_every_step_of_the_load(self) -> None:
        from collectors.questions.deployments import read_deployed
        from collectors.questions.history import history
        from collectors.source import source_from
        from tests.collectors.feeds import NOW

        feed = Feed({"a:8000": self.page})
        source = source_from({"schema_version": 1, "scrape": {"targets": ["http://x"]}, "window_s": 480})
        load = read_deployed(feed.backend, source, at_s=NOW, window_s=480).load
        assert max(load.rps) == pytest.approx(22, rel=0.03)
        lines = history(feed.backend, source, start_s=NOW - 400, end_s=NOW, points=10).lines["arrivals_rps"]
        assert max(value for value in lines if value == value) == pytest.approx(22, rel=0.03)

    def test_where_first_tokens_are_told_at_the_end_what_runs_counts_too(self) -> None:
        def page(elapsed: float) -> str:
            own = 'model_name="m"'
            return (
                f"trtllm_num_requests_running{{{own}}} {2 + 0.1 * elapsed}\n"
                f"trtllm_num_requests_waiting{{{own}}} {0.2 * elapsed}\n"
                f"trtllm_time_to_first_token_seconds_count{{{own}}} {3 * elapsed}\n"
            )

        assert Feed({"a:8000": page}).read().number("arrivals_rps") == pytest.approx(3.3, rel=0.02)

    def test_without_first_tokens_from_what_finished(self) -> None:
        lines = ("tgi_queue_size 0", "tgi_batch_current_size 4", "tgi_request_success @2")
        assert Feed({"a:80": steady(*lines)}).read().number("arrivals_rps") == pytest.approx(2)


class TestMinutes:
    """A window is judged by its minutes: one preemption beside a full cache does not make it saturated."""

    def read(self, preempting: tuple[float, float], window_s: float) -> Observation:
        def page(elapsed: float) -> str:
            events = 0.1 * min(max(elapsed - preempting[0], 0.0), preempting[1] - preempting[0])
            kv = f"vllm:kv_cache_usage_perc{{{ID}}} 0.97"
            return f"{BASE[0]}\n{BASE[1]}\n{kv}\nvllm:num_preemptions_total{{{ID}}} {events}\n"

        return Feed({"a:8000": page}, seconds=1900).read(window_s=window_s)

    def test_one_preemption_in_half_an_hour_blocks_nothing(self) -> None:
        seen = self.read((900, 910), 1800)
        assert seen.state is not State.SATURATED
        assert 0 < (seen.number("saturated_ratio") or 0) <= 2 / 30
        assert any("of the minutes more was asked" in note for note in seen.notes)

    def test_preemptions_all_the_time_are_saturation(self) -> None:
        seen = self.read((0, 1900), 1800)
        assert (seen.state, seen.number("saturated_ratio")) == (State.SATURATED, pytest.approx(1))
        assert "KV cache is full" in seen.reasons[0]

    def test_the_long_queue_is_said_before_the_full_cache(self) -> None:
        ttft = histogram("vllm:time_to_first_token_seconds", {40: 0, 80: 2}, 130, ID)
        queue = histogram("vllm:request_queue_time_seconds", {40: 0, 80: 2}, 124, ID)
        full = f"vllm:kv_cache_usage_perc{{{ID}}} 0.97"
        seen = Feed(
            {"a:8000": steady(*BASE[:2], full, f"vllm:num_preemptions_total{{{ID}}} @0.2", *ttft, *queue)}
        ).read()
        assert "62 s" in seen.reasons[0]
        assert "KV cache is full" in seen.reasons[1]


@pytest.mark.parametrize("interval_s", [120, 240, 290])
def test_rare_scrapes_are_not_stale(interval_s: float) -> None:
    page = steady(*BASE, f"vllm:generation_tokens_total{{{ID}}} @50")
    seen = Feed({"a:8000": page}, seconds=interval_s * 12, interval_s=interval_s).read()
    assert seen.state is not State.STALE
    assert seen.scrape_interval_s == pytest.approx(interval_s, rel=0.1)
    assert seen.number("running") == 8
    assert seen.number("generation_tokens_per_s") == pytest.approx(50, rel=0.02)


OWN = 'model_name="m"'


def sglang_stage(stage: str, running: int) -> list[str]:
    """A server of SGLang with prefill and decode apart: only the scheduler's gauges say which it is."""
    scheduler = f'model_name="m",engine_type="{stage}",tp_rank="0"'
    return [
        f"sglang:num_running_reqs{{{scheduler}}} {running}",
        f"sglang:num_queue_reqs{{{scheduler}}} 0",
        f"sglang:token_usage{{{scheduler}}} 0.4",
        f"sglang:prompt_tokens_total{{{OWN}}} @2000",
        f"sglang:generation_tokens_total{{{OWN}}} @{500 if stage != 'prefill' else 2}",
        f'sglang:cached_tokens_total{{{OWN},cache_source="device"}} @500',
        f"sglang:num_requests_total{{{OWN}}} @2",
        *histogram(
            "sglang:time_to_first_token_seconds", {0.1: 0, 0.2: 2} if stage != "prefill" else {0.1: 2}, 0.3, OWN
        ),
    ]


@pytest.mark.parametrize(
    ("stages", "requests", "prompt"),
    [
        ({"p:30000": "prefill", "d:30000": "decode"}, 2, 2000),
        ({"p:30000": "prefill", "q:30000": "prefill", "d:30000": "decode", "e:30000": "decode"}, 4, 4000),
        ({"p:30000": "prefill"}, 2, 2000),
        ({"a:30000": "unified", "b:30000": "unified"}, 4, 4000),
    ],
    ids=["one of each", "two of each", "prefill alone", "not apart"],
)
def test_requests_of_prefill_and_decode_count_once(stages: dict[str, str], requests: float, prompt: float) -> None:
    seen = Feed({place: steady(*sglang_stage(stage, 3)) for place, stage in stages.items()}).read()
    assert seen.number("running") == 3 * len(stages)
    assert seen.number("arrivals_rps") == pytest.approx(requests)
    assert seen.number("finished_rps") == pytest.approx(requests)
    assert seen.number("prompt_tokens_per_s") == pytest.approx(prompt)
    assert seen.number("prefix_hit_ratio") == pytest.approx(0.25)
    apart = len(set(stages.values())) > 1
    assert (seen.distribution("ttft_ms").at("p50").value > 100) == (apart or "unified" in stages.values())
    assert any("Prefill and decode are apart" in note for note in seen.notes) == apart


def vllm_stage(stage: str) -> list[str]:
    """A server of vLLM with NixlConnector: one that prefills answers one token and hands its requests over."""
    own = 'model_name="m",engine="0"'
    tokens = {"prefill": 2, "decode": 500, "both": 500}[stage]
    first = {0.1: 0, 0.25: 2} if stage != "decode" else {0.1: 2}
    return [
        f"vllm:num_requests_running{{{own}}} 3",
        f"vllm:num_requests_waiting{{{own}}} 0",
        f"vllm:kv_cache_usage_perc{{{own}}} 0.4",
        f"vllm:prompt_tokens_total{{{own}}} @2000",
        f"vllm:generation_tokens_total{{{own}}} @{tokens}",
        f"vllm:prefix_cache_queries_total{{{own}}} @2000",
        f"vllm:prefix_cache_hits_total{{{own}}} @{500 if stage != 'decode' else 0}",
        f'vllm:request_success_total{{{own},finished_reason="length"}} @2',
        *histogram("vllm:nixl_xfer_time_seconds", {0.1: 2 if stage == "decode" else 0}, 0.01, own),
        *histogram("vllm:time_to_first_token_seconds", first, 0.3, own),
        *histogram("vllm:e2e_request_latency_seconds", {0.3: 2 if stage == "prefill" else 0, 10.0: 2}, 9.0, own),
        *histogram("vllm:inter_token_latency_seconds", {0.025: tokens - 2}, 0.02 * (tokens - 2), own),
        *histogram("vllm:request_generation_tokens", {1.0: 2 if stage == "prefill" else 0, 500.0: 2}, tokens, own),
    ]


@pytest.mark.parametrize(
    ("stages", "requests"),
    [
        ({"p:8000": "prefill", "d:8000": "decode"}, 2),
        ({"p:8000": "prefill", "q:8000": "prefill", "d:8000": "decode", "e:8000": "decode"}, 4),
        ({"a:8000": "both", "b:8000": "both"}, 4),
        ({"p:8000": "prefill"}, 2),
    ],
    ids=["one of each", "two of each", "not apart", "prefill alone"],
)
def test_requests_that_vllm_hands_over_count_once(stages: dict[str, str], requests: float) -> None:
    seen = Feed({place: steady(*vllm_stage(stage)) for place, stage in stages.items()}).read()
    apart = len(set(stages.values())) > 1
    assert seen.number("arrivals_rps") == pytest.approx(requests)
    assert seen.number("finished_rps") == pytest.approx(requests)
    assert seen.number("prompt_tokens_per_s") == pytest.approx(1000 * requests)
    assert seen.number("prefix_hit_ratio") == pytest.approx(0.25)
    assert seen.number("running") == 3 * len(stages)
    assert seen.distribution("ttft_ms").at("p50").value > 100, "of the servers that prefill"
    if "decode" in stages.values():
        assert seen.number("generation_tokens_per_s") == pytest.approx(250 * requests)
        assert seen.distribution("output_tokens").mean == pytest.approx(250)
        assert seen.distribution("e2e_ms").at("p50").low == 300
    assert any("Prefill and decode are apart" in note for note in seen.notes) == apart
