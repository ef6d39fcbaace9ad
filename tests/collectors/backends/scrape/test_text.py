"""Metrics pages: recorded ones, both formats, and everything a broken page can hold."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.backends.scrape.text import PageSample, read_page
from collectors.errors import BrokenPage
from tests.collectors.servers import recording


def by_series(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {(s.name, s.labels): s.value for s in read_page(text)}


def test_recorded_page_is_read() -> None:
    page = by_series(recording("vllm_overloaded"))
    assert page["vllm:num_requests_waiting", (("engine", "0"), ("model_name", "tiny-llama"))] == 82
    gpus = by_series(recording("dcgm_L4"))
    assert {labels for name, labels in gpus if name == "DCGM_FI_DEV_GPU_TEMP"}


def test_openmetrics_gives_the_same_series() -> None:
    names = {s.name for s in read_page(recording("vllm_openmetrics"))}
    assert {"vllm:generation_tokens_total", "vllm:time_to_first_token_seconds_bucket"} <= names
    assert not any(name.endswith("_created") for name in names)


def test_openmetrics_end_exemplar_and_timestamp() -> None:
    page = read_page('a_total{x="1"} 5 1700000000.5 # {trace="t"} 0.3 1\n# EOF\nnot a metric\n')
    assert page == [PageSample("a_total", (("x", "1"),), 5.0)]


def test_quoted_names_of_prometheus_3_have_underscores() -> None:
    (sample,) = read_page('\ufeff{"gen_ai.usage_bucket",le="0.1","gen_ai.request.model"="m"} 5\n')
    assert sample == PageSample("gen_ai_usage_bucket", (("gen_ai_request_model", "m"), ("le", "0.1")), 5.0)


def test_special_values_and_escapes() -> None:
    page = by_series('a +Inf\nb -Inf\nc NaN\nd{x="a\\"b\\\\c\\nd", y="}#{",} 1e3\n')
    assert page["a", ()] == math.inf
    assert page["b", ()] == -math.inf
    assert math.isnan(page["c", ()])
    assert page["d", (("x", 'a"b\\c\nd'), ("y", "}#{"))] == 1000


BROKEN = [
    "a",
    "a b",
    'a{x="1} 2',
    "a{x=1} 2",
    'a{x="1"',
    'a{x="1",x="2"} 1',
    "a 1 2 3",
    "1a 2",
    "a 1_000",
    "<html>",
    'a{x="1"}',
    '{x="1"} 1',
    '{"",x="1"} 1',
    '{"a",""="1"} 1',
]


@pytest.mark.parametrize("page", BROKEN)
def test_broken_page_is_refused_whole(page: str) -> None:
    with pytest.raises(BrokenPage, match="Line 2"):
        read_page(f"good 1\n{page}\n")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BrokenPage):
        read_page(text)


label_names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)
label_values = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(label_names, label_values, max_size=4), st.floats())
def test_what_is_written_is_read(labels: dict[str, str], value: float) -> None:
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for k, v in labels.items()}
    inside = ",".join(f'{k}="{v}"' for k, v in escaped.items())
    (sample,) = read_page(f"metric{{{inside}}} {value!r}\n")
    assert dict(sample.labels) == labels
    assert sample.value == value or math.isnan(value)
