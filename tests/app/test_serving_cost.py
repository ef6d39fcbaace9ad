"""The cost by OpenCost on Live: every figure with its basis, beside the plan and an API."""

from pathlib import Path

from reality.money import PlannedCost
from tests.app.conftest import Clock
from tests.app.live import open_live, said, settled, source_file, vllm
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed, steady
from tests.collectors.questions.test_serving_cost import gauges, read
from tests.collectors.servers import serving
from ui.live.serving_cost import cost_table, notes
from ui.sources.reading import Registry

PLAN = PlannedCost(usd_per_hour=10.0, usd_per_million_tokens=2.5, api="m at here", api_usd_per_million_tokens=1.5)


def test_every_figure_names_its_basis() -> None:
    rows = cost_table(read(gauges("org/m")), PLAN)
    assert list(rows["Basis"]) == ["Allocation", "Usage", "Allocation", "compare with allocation"]
    assert "Usage: what requests consumed." in notes(read(gauges("org/m")), PLAN)
    assert list(rows["USD per million tokens"]) == [2.0, 0.75, 2.5, 1.5]
    assert list(rows["USD per hour"].dropna()) == [8.0, 3.0, 10.0]
    assert rows["What"].iloc[-1] == "API: m at here"


def test_what_opencost_does_not_know_is_not_shown_as_free() -> None:
    costs = read(gauges("m", scale=0.0))
    assert cost_table(costs, None)["USD per hour"].isna().all()
    assert "OpenCost has no cost on the basis of allocation or usage" in notes(costs, None)


def test_live_shows_opencost_where_it_is_and_nothing_where_it_is_not(
    clock: Clock, sources_folder: Path, registry: Registry
) -> None:
    page = steady(*gauges("m").splitlines())
    feed = Feed({"a:8000": vllm(), "opencost:9003": page})
    with serving(FakePrometheus(feed, shift_s=clock.now_s - NOW)) as server:
        source_file(sources_folder, server.url, timeout_s=30)
        app = settled(open_live(registry), registry, until=lambda app: "by computing time" in said(app))
        table = next(frame.value for frame in app.dataframe if "Basis" in frame.value)
        assert list(table["USD per hour"]) == [8.0, 3.0]
    with serving(FakePrometheus(Feed({"a:8000": vllm()}), shift_s=clock.now_s - NOW)) as server:
        source_file(sources_folder, server.url, timeout_s=30)
        app = open_live(registry)
        assert not any("Basis" in frame.value for frame in app.dataframe)
