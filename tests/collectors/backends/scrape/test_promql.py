"""Our evaluator against a real Prometheus that scraped the same pages at the same moments."""

import contextlib
import json
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.backends.scrape.promql import evaluate, parse
from collectors.backends.scrape.promql.samples import Track, Tracks
from collectors.backends.scrape.scraper import kept
from collectors.backends.scrape.text import read_page
from collectors.errors import UnsupportedExpression
from collectors.reading.gpu_values import gpu_queries
from collectors.reading.layout import layout_queries
from collectors.vocabulary import engine_vocabularies, gpu_vocabularies
from collectors.vocabulary.detect import DetectedEngine
from collectors.vocabulary.expressions import Scope, distribution_queries, scalar_queries, scope_of
from collectors.vocabulary.schema import SCALARS
from tests.collectors.conftest import job
from tests.collectors.servers import RECORDINGS, Pages, Prometheus, recording, running_prometheus, serving


def every_expression(selector: dict[str, str], window_s: float) -> dict[str, str]:
    """Every expression of every vocabulary."""
    found = {}
    for v in engine_vocabularies().values():
        engine = DetectedEngine(vocabulary=v, model_label=v.model_label)
        scope = scope_of(selector, engine, window_s=window_s, step_s=1, front='model="ensemble"' if v.front else "")
        for key, concept in v.concepts.items():
            for i, use in enumerate(concept.use):
                make = scalar_queries if key in SCALARS else distribution_queries
                found |= {f"{v.id} {q.subject.label} {i}": q.expression for q in make(key, use, scope)}
    for gpu in gpu_vocabularies().values():
        queries = gpu_queries(gpu, Scope(window_s=window_s, step_s=1), partitioned=True)
        found |= {f"{gpu.id} {q.subject.label}": q.expression for q in queries}
    series = 'vllm:num_requests_running{model_name="tiny-llama"}'
    timing = layout_queries(series, Scope(window_s=window_s, step_s=1))
    return found | {q.subject.label: q.expression for q in timing}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, needs_prometheus: None) -> tuple[Prometheus, Tracks, float]:
    """A Prometheus and our own samples with the same times and values: two servers, a restart, GPUs, an outage."""
    pages = Pages({"/a": recording("vllm_rate4"), "/b": recording("vllm_overloaded"), "/dcgm": recording("dcgm_T4")})
    with (
        serving(pages) as server,
        running_prometheus(
            tmp_path_factory.mktemp("prometheus"),
            [job("vllm", server, "/a", "a:1"), job("more", server, "/b", "b:1"), job("dcgm", server, "/dcgm", "a:2")],
        ) as prometheus,
    ):
        for expression in ('count_over_time(up{instance="a:1"}[1m]) > 3', 'up{instance="b:1"}', 'up{instance="a:2"}'):
            prometheus.wait_for(expression)
        pages.pages |= {"/a": recording("vllm_rate6"), "/b": recording("vllm_after_overload")}
        time.sleep(3.2)
        pages.pages |= {"/a": recording("vllm_idle"), "/dcgm": None}
        time.sleep(3.2)
        now = round(time.time(), 3)
        prometheus.wait_for(f"min(timestamp(up)) > {now}")  # what was scraped before is kept by now, in both readings
        raw = prometheus.query('{job=~"vllm|more|dcgm"}[2m]', now)
        up = {s["metric"]["instance"]: s["values"] for s in raw if s["metric"].get("__name__") == "up"}
        tracks = []
        for series in raw:
            times, values = np.array([float(t) for t, _ in series["values"]]), [float(v) for _, v in series["values"]]
            scrapes = np.array([float(t) for t, _ in up[series["metric"]["instance"]]])
            tracks.append(Track(series["metric"], times, np.array(values), np.setdiff1d(scrapes, times)))
        expected = {}
        for key, text in every_expression({}, 12).items():
            expected[key] = prometheus.query(text, now)
        prometheus.expected = expected
        yield prometheus, Tracks(tracks), now


def test_every_vocabulary_expression_answers_as_prometheus_does(history: tuple[Prometheus, Tracks, float]) -> None:
    prometheus, tracks, now = history
    answered = 0
    for key, text in every_expression({}, 12).items():
        theirs = {tuple(sorted(s["metric"].items())): float(s["value"][1]) for s in prometheus.expected[key]}
        ours = {tuple(sorted(s.labels.items())): s.value for s in evaluate(parse(text), tracks, now)}
        assert set(ours) == set(theirs), (key, text)
        for labels, value in theirs.items():
            both_nan = math.isnan(value) and math.isnan(ours[labels])
            assert both_nan or ours[labels] == pytest.approx(value, rel=1e-6, abs=1e-9), (key, text, labels)
        answered += bool(theirs)
    assert answered > 60


UNSUPPORTED = [
    "",
    "sum(",
    "a{",
    'a{b="c}',
    "a[5m]",
    "rate(a)",
    "label_replace(a)",
    "a * on(b) group_left() c",
    "a[x]",
    ")",
]
UNSUPPORTED += ["1 +", 'a{b=~"("}', "topk(3, a)", "a offset 5m", "sum by (a", "((" * 200, "a @ 5"]


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_what_is_not_supported_is_said(text: str) -> None:
    with pytest.raises(UnsupportedExpression):
        evaluate(parse(text), Tracks([]), 0.0)


@given(st.text(alphabet='ab{}[]()="~5ms:, ratesumby+-*/<>\\', max_size=40))
def test_any_text_is_answered_or_refused(text: str) -> None:
    with contextlib.suppress(UnsupportedExpression):
        evaluate(parse(text), Tracks([]), 0.0)


def test_pages_keep_what_vocabularies_ask_for() -> None:
    names = {s.name for s in kept(read_page(recording("vllm_overloaded")))}
    assert {"vllm:time_to_first_token_seconds_bucket", "http_requests_total", "vllm:cache_config_info"} <= names
    assert "python_gc_objects_collected_total" not in names


def test_recorded_restart_gives_no_negative_rate() -> None:
    held = json.loads((RECORDINGS / "counter_reset.json").read_text())
    raw = held["raw"]["response"]["data"]["result"][0]["values"]
    asked = held["rate"]["response"]["data"]["result"][0]["values"]
    times, values = (np.array([float(p[i]) for p in raw]) for i in (0, 1))
    assert np.diff(values).min() < -90_000  # what a difference of two samples would say
    tracks = Tracks([Track({"__name__": "vllm:generation_tokens_total"}, times, values, np.array([]))])
    for at_s, _ in asked:
        for sample in evaluate(parse("sum(rate(vllm:generation_tokens_total[90s]))"), tracks, at_s):
            assert 0 <= sample.value < 1500


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("function", ["rate", "increase", "delta", "deriv", "max_over_time", "avg_over_time"])
def test_what_is_no_number_is_answered_without_a_warning(function: str, value: float) -> None:
    track = Track({"__name__": "x"}, np.arange(4.0), np.full(4, value), np.arange(4.0))
    for sample in evaluate(parse(f"{function}(x[4s])"), Tracks([track]), 3.0):
        assert not math.isfinite(sample.value)
