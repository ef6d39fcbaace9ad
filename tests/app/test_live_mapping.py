"""Live without a browser: a quantity read from something else, in this session only."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Clock
from tests.app.live import open_live, said, settled, source_file, vllm
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed
from tests.collectors.servers import Server, serving
from ui.live.mapping import candidate_of
from ui.sources import known as sessions
from ui.sources.reading import Registry


@pytest.fixture
def server(clock: Clock, sources_folder: Path) -> Iterator[Server]:
    fake = FakePrometheus(Feed({"a:8000": vllm()}), shift_s=clock.now_s - NOW)
    with serving(fake) as running:
        source_file(sources_folder, running.url, timeout_s=30)
        yield running


def fill_in(app: AppTest, fields: dict[str, str]) -> None:
    for key in ("quantity", "kind"):
        app.selectbox(key=f"map_{key}").set_value(fields[key])
    app.text_input(key="map_text").set_value(fields["text"])
    app.text_input(key="map_scale").set_value(fields.get("scale", "1"))
    next(b for b in app.button if b.label == "Try and use").click().run()


def test_a_quantity_can_be_read_from_something_else(server: Server, registry: Registry) -> None:
    app = open_live(registry, tab="Mapping")
    text = "sum(rate(vllm:request_success_total{$sel}[$w])) * 10"
    fill_in(app, {"quantity": "finished", "kind": "expr", "text": text})
    settled(app, registry)
    assert not app.error
    assert "20 completed" in said(app)
    assert "finished:" in app.code[-1].value
    rows = app.dataframe[0].value.set_index("Quantity")
    assert rows.loc["finished", "From"] == "this session or the source file"
    assert "* 10" in rows.loc["finished", "Query"]
    app.button(key="map_reset").click().run()
    settled(app, registry)
    assert "2 completed" in said(app)


BAD_MAPPINGS = [
    ({"quantity": "finished", "kind": "expr", "text": ""}, "is empty"),
    ({"quantity": "finished", "kind": "counter", "text": "not a metric!"}, "a metric name holds letters"),
    ({"quantity": "finished", "kind": "histogram", "text": "x"}, "finished needs gauge, counter, info or expr"),
    ({"quantity": "ttft", "kind": "gauge", "text": "x"}, "ttft needs histogram or mean"),
    ({"quantity": "finished", "kind": "counter", "text": "no_such_metric_total"}, "has no data for it"),
    (
        {"quantity": "running", "kind": "gauge", "text": "vllm:num_requests_running", "scale": "zero"},
        "is not a number to multiply with",
    ),
    ({"quantity": "running", "kind": "gauge", "text": "vllm:num_requests_running", "scale": "-1"}, "must be above 0"),
]


@pytest.mark.parametrize(("fields", "sentence"), BAD_MAPPINGS, ids=lambda v: str(v)[:50])
def test_a_mapping_that_cannot_be_used_is_a_sentence_and_changes_nothing(
    fields: dict[str, str], sentence: str, server: Server, registry: Registry
) -> None:
    app = open_live(registry, tab="Mapping")
    fill_in(app, fields)
    assert not app.exception
    assert sentence in app.error[0].value.replace("\\", "")
    settled(app, registry)
    assert "2 completed" in said(app)


@pytest.mark.parametrize("kind", ["gauge", "counter", "histogram"])
@pytest.mark.parametrize(
    "text", ["up{} or vector(1)", 'a{job="x"}', "a) or (b", "a[5m]", "a\nor b", "a or b", "a # ", "a,b", "a\n", "ä"]
)
def test_no_name_of_a_metric_leaves_the_selector(kind: str, text: str) -> None:
    """Who may not write PromQL may name metrics: a name that were more would read what the source does not select."""
    with pytest.raises(ValueError, match="letters, digits, underscores and colons"):
        candidate_of(kind, text, "1")
    assert candidate_of(kind, "my_gateway:ttft_ms", "1").kind == kind


@pytest.mark.parametrize(("writes", "kinds"), [(True, 5), (False, 3)])
def test_a_viewer_reads_by_names_of_metrics_alone(
    server: Server, registry: Registry, monkeypatch: pytest.MonkeyPatch, writes: bool, kinds: int
) -> None:
    monkeypatch.setattr(sessions, "may_write", lambda: writes)
    assert len(open_live(registry, tab="Mapping").selectbox(key="map_kind").options) == kinds
