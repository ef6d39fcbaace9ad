"""What OpenCost says about the cost of a model: from pages, and from a real Prometheus that scraped it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.connect import prometheus_backend
from collectors.questions.serving_cost import ServingCost, serving_costs
from collectors.source import Source, source_from
from tests.collectors.feeds import NOW, Feed, steady
from tests.collectors.servers import Pages, running_prometheus, serving


def gauges(model: str, *, scale: float = 1.0) -> str:
    """OpenCost's page for one model: 8 USD an hour allocated, 3 used; per million tokens 2 and 0.75."""
    of = f'model_name="{model}",model_version="1",namespace="prod",workload_type="aggregated"'
    lines = []
    for basis, hourly, tokens in (("allocation", 8.0, 2.0), ("usage", 3.0, 0.75)):
        on = f'{of},cost_basis="{basis}"'
        lines.append(f"llm_total_hourly_cost{{{on}}} {hourly * scale}")
        for phase, times in (("", 1.0), ("prompt", 0.5), ("generation", 3.0)):
            method = ',allocation_method="compute_time"' if phase else ""
            lines.append(f'llm_cost_per_million_tokens{{{on},phase="{phase}"{method}}} {tokens * times * scale}')
    lines.append(f"llm_cache_savings_fraction{{{of}}} 0.4")
    return "\n".join(lines) + "\n"


def source(**more: object) -> Source:
    return source_from({"schema_version": 1, "scrape": {"targets": ["http://x/metrics"]}, **more})


def read(*pages: str, **more: object) -> tuple[ServingCost, ...]:
    feed = Feed({f"opencost-{n}:9003": steady(*page.splitlines()) for n, page in enumerate(pages)})
    return serving_costs(feed.backend, source(**more), at_s=NOW)


def holds(cost: ServingCost) -> None:
    assert (cost.model, cost.namespace, cost.version, cost.workload) == ("org/m", "prod", "1", "aggregated")
    allocation, usage = cost.basis("allocation"), cost.basis("usage")
    assert (allocation.usd_per_hour, usage.usd_per_hour) == (8.0, 3.0)
    assert allocation.usd_per_million == {"": 2.0, "prompt": 1.0, "generation": 6.0}
    assert usage.usd_per_million == {"": 0.75, "prompt": 0.375, "generation": 2.25}
    assert cost.cache_savings == 0.4


def test_both_bases_are_told_apart() -> None:
    (cost,) = read(gauges("org/m"))
    holds(cost)


def test_two_replicas_of_opencost_count_once() -> None:
    (cost,) = read(gauges("org/m"), gauges("org/m"))
    holds(cost)


@pytest.mark.parametrize(
    ("selector", "models"),
    [
        ({}, ["org/m", "org/n"]),
        ({"model_name": "org/m"}, ["org/m"]),
        ({"model": "m"}, ["org/m"]),
        ({"model_name": "other/m"}, []),
        ({"model_name": ["org/n", "org/x"], "namespace": "prod"}, ["org/n"]),
        ({"namespace": "test"}, []),
    ],
)
def test_only_what_the_selector_is_about_is_counted(selector: dict[str, object], models: list[str]) -> None:
    both = gauges("org/m") + gauges("org/n")
    assert [cost.model for cost in read(both, selector=selector)] == models


def test_nothing_that_was_joined_is_unknown_and_not_free() -> None:
    (cost,) = read(gauges("m", scale=0.0))
    for one in cost.on:
        assert one.usd_per_hour is None
        assert one.usd_per_million == {}


def test_without_opencost_there_is_nothing() -> None:
    assert read("vllm:num_requests_running 1\n") == ()


@pytest.fixture
def url(tmp_path: Path, needs_prometheus: None) -> Iterator[str]:
    """A Prometheus whose target has a namespace of its own, which moves the model's aside."""
    with serving(Pages({"/metrics": gauges("org/m")})) as server:
        target = {"targets": [f"127.0.0.1:{server.port}"], "labels": {"namespace": "opencost"}}
        with running_prometheus(tmp_path, [{"job_name": "opencost", "static_configs": [target]}]) as prometheus:
            prometheus.wait_for('llm_total_hourly_cost{exported_namespace="prod"}')
            yield prometheus.url


def test_a_real_prometheus_says_the_same(url: str) -> None:
    asked = source_from({"schema_version": 1, "prometheus": {"url": url}, "selector": {"namespace": "prod"}})
    assert asked.prometheus is not None
    (cost,) = serving_costs(prometheus_backend(asked, asked.prometheus), asked)
    holds(cost)
