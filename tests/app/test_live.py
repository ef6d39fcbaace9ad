"""Live without a browser: the demo, several sources and deployments, the past, thirty viewers."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from sharing.form.link_versions import LINK_VERSION
from tests.app.conftest import Clock, started
from tests.app.live import PAGE, VLLM, figures, open_live, said, settled, source_file, vllm
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed, steady
from tests.collectors.servers import Server, serving
from tests.patience import PATIENCE_S
from ui.sources import connection
from ui.sources.moment import as_text, read_end
from ui.sources.reading import Registry

TABS = ("Latency", "Load", "GPUs", "Replicas", "Mapping", "All sources")
VIEWERS = 10


def gpu(number: int, *, sm: float = 0.4, xid: int = 0, mask: int = 0) -> tuple[str, ...]:
    labels = f'gpu="{number}",UUID="GPU-a-{number}",Hostname="a",modelName="NVIDIA H100 80GB HBM3"'
    values = {
        "DCGM_FI_DEV_GPU_UTIL": 100,
        "DCGM_FI_PROF_SM_ACTIVE": sm,
        "DCGM_FI_DEV_POWER_USAGE": 400,
        "DCGM_FI_DEV_FB_USED": 70_000,
        "DCGM_FI_DEV_XID_ERRORS": xid,
        "DCGM_FI_DEV_GPU_TEMP": 60,
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": mask,
    }
    return tuple(f"{name}{{{labels}}} {value}" for name, value in values.items())


def other_model(*lines: str) -> tuple[str, ...]:
    return tuple(line.replace('model_name="m"', 'model_name="other"') for line in lines)


@pytest.fixture
def fake(clock: Clock) -> FakePrometheus:
    gpus = steady(*gpu(0), *gpu(1, sm=0.0, xid=79), *gpu(2, mask=0x40))
    return FakePrometheus(Feed({"a:8000": vllm(), "a:9400": gpus}), shift_s=clock.now_s - NOW)


@pytest.fixture
def server(fake: FakePrometheus, sources_folder: Path) -> Iterator[Server]:
    with serving(fake) as running:
        source_file(sources_folder, running.url, timeout_s=30)
        yield running


def charts(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def show(app: AppTest, registry: Registry, tab: str, **state: object) -> AppTest:
    app.session_state["tab"] = tab
    for key, value in state.items():
        app.session_state[key] = value
    return settled(app, registry)


def test_the_demo_is_shown_and_labelled_when_nothing_is_connected(
    sources_folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "DEMO_FIRST_HOURS", 0.4)
    monkeypatch.setattr(connection, "DEMO_HOURS", 0.5)
    app = open_live(registry, range="15 min")
    assert "every number is simulated" in said(app)
    assert float(figures(app)["Requests/s"]) > 1
    for tab in TABS:
        show(app, registry, tab)
        assert len(charts(app)) <= 4, tab
        for key in ("ttft_ms", "requests", "activity"):
            app.session_state[f"live_{key}_table"] = True
        settled(app, registry)


def test_every_tab_of_a_connected_deployment(server: Server, registry: Registry) -> None:
    app = open_live(registry)
    for tab in TABS:
        show(app, registry, tab)
        assert len(charts(app)) <= 4
    assert figures(app)["p95 TTFT"] == "250 ms"


def test_gpus_show_errors_and_what_slows_them_down(server: Server, registry: Registry) -> None:
    app = open_live(registry, tab="GPUs")
    text = said(app)
    assert "GPU a/1 shows an XID error 79." in text
    assert "slowed down: hardware thermal slowdown" in text
    assert "not a measure" not in text
    tables = [table.value for table in app.dataframe]
    xids = next(t for t in tables if "XID" in t)
    assert list(xids["XID"]) == [79]
    assert "fallen off the bus" in xids["Meaning"][0]
    trouble = next(t for t in tables if "Why" in t)
    assert list(trouble["GPU"]) == ["a/1", "a/2"]
    show(app, registry, "GPUs", gpu_measure="busy")
    assert "not a measure of how well the GPU is used" in said(app)
    shown = charts(app)[0]["data"][0]
    assert shown["z"] == [[100, 100, 100]]


def test_what_is_not_exported_names_the_field_to_enable(server: Server, registry: Registry) -> None:
    app = show(open_live(registry), registry, "GPUs")
    text = "\n".join(m.value for m in app.markdown).replace("\\", "")
    assert "enable DCGM_FI_DEV_POWER_MGMT_LIMIT in the counters file" in text
    show(app, registry, "Mapping")
    why = "Why, and what would enable it"
    missing = next(t.value for t in app.dataframe if why in t.value).set_index("Quantity")[why]
    assert "--enable-prefix-caching" in missing["prefix_hit_ratio"]


def test_two_models_at_one_source_are_two_deployments(server: Server, fake: FakePrometheus, registry: Registry) -> None:
    fake.feed = Feed({"a:8000": vllm(), "b:8000": vllm(), "c:8000": steady(*other_model(*VLLM))})
    app = open_live(registry)
    box = app.selectbox(key="deployment")
    assert box.options == ["m", "other", "All deployments"]
    assert figures(app)["Replicas"] == "2"
    settled(box.select("other").run(), registry)
    assert figures(app)["Replicas"] == "1"
    settled(app.selectbox(key="deployment").select("All deployments").run(), registry)
    assert figures(app)["Replicas"] == "3"


def test_a_model_name_full_of_quotes_is_only_a_name(server: Server, fake: FakePrometheus, registry: Registry) -> None:
    evil = 'x\\"} or vector(99) #{y=\\"$(id)'
    lines = tuple(line.replace('model_name="m"', f'model_name="{evil}"') for line in VLLM)
    fake.feed = Feed({"a:8000": vllm(), "b:8000": vllm(), "c:8000": steady(*lines)})
    app = open_live(registry)
    name = 'x"} or vector(99) #{y="$(id)'
    settled(app.selectbox(key="deployment").select(name).run(), registry)
    assert figures(app)["Replicas"] == "1"
    assert figures(app)["Requests/s"] == "2"


def test_pause_holds_the_moment_and_resume_goes_on(server: Server, registry: Registry, clock: Clock) -> None:
    app = open_live(registry, range="15 min")
    app.button(key="live_pause").click().run()
    settled(app, registry)
    assert app.query_params["end"] in (as_text(clock.now_s), [as_text(clock.now_s)])
    asked = len(server.asked)
    for _ in range(3):
        clock.next()
        settled(app, registry)
    assert len(server.asked) == asked, "nothing is asked while the page stands still"
    app.button(key="live_resume").click().run()
    assert "end" not in app.query_params


def test_a_link_opens_the_same_moment(server: Server, fake: FakePrometheus, registry: Registry, clock: Clock) -> None:
    end_s = clock.now_s - 200
    app = open_live(registry, source="prod", range="15 min", end=as_text(end_s))
    times = {asked.form["time"][0] for asked in server.asked if "time" in asked.form}
    assert times
    assert all(abs(float(t) - end_s) < 2 for t in times if abs(float(t) - clock.now_s) > 1)
    assert figures(app)["Requests/s"] == "2"
    code = app.code[0].value
    assert "source=prod" in code
    assert "range=15+min" in code
    assert f"end={as_text(end_s).replace(':', '%3A')}" in code
    assert server.url not in code


def test_the_plan_beside_it_is_that_of_the_address(server: Server, registry: Registry, clock: Clock) -> None:
    held = {"source": "prod", "range": "15 min", "tab": "Load", "isl": "3000", "name": "Case 1"}
    app = open_live(registry, **held)
    assert {"v": LINK_VERSION, **held}.items() - {"source": "prod"}.items() <= app.query_params.items()
    assert app.toggle(key="live_plan").label == "Plan lines of “Case 1”"
    assert "isl=3000" in app.code[0].value
    address = dict(app.query_params)
    clock.next()
    settled(app, registry)
    assert app.query_params == address
    app.switch_page("pages/size.py").run()
    assert app.text_input(key="isl").value == "3000"


def test_an_untouched_form_is_no_plan_beside_a_deployment(server: Server, registry: Registry) -> None:
    app = open_live(registry)
    assert [toggle.key for toggle in app.toggle] == []


@pytest.mark.parametrize(
    ("text", "said_"),
    [
        ("yesterday", "is not a moment"),
        ("2026-13-40T00:00:00Z", "is not a moment"),
        ("1999-01-01T00:00:00Z", "before"),
        ("2999-01-01T00:00:00Z", "in the future"),
        ("'; drop", "is not a moment"),
        ("9" * 400, "is not a moment"),
    ],
)
def test_a_moment_that_is_none_is_a_sentence(text: str, said_: str) -> None:
    at_s, problem = read_end(text)
    assert at_s is None
    assert said_ in problem


def test_many_viewers_cause_one_set_of_queries_per_refresh(
    server: Server, fake: FakePrometheus, registry: Registry, clock: Clock
) -> None:
    """Ten sessions of the page; tests/ui/sources asks from thirty threads at once."""
    alone = open_live(registry)
    before = len(server.asked)
    clock.now_s += 60
    settled(alone, registry)
    one_viewer = len(server.asked) - before
    assert one_viewer > 0

    apps = [open_live(registry) for _ in range(VIEWERS)]
    before = len(server.asked)
    clock.now_s += 60  # every question is due, those of a longer step too
    for app in apps:
        app.run()
    for app in apps:  # what a page asks next depends on the answers
        settled(app, registry)
    assert {figures(app)["Requests/s"] for app in apps} == {"2"}
    assert len(server.asked) - before == one_viewer


def test_plan_lines_only_with_a_plan_of_this_session(server: Server, registry: Registry) -> None:
    app = open_live(registry)
    assert not any("Plan" in trace.get("name", "") for chart in charts(app) for trace in chart["data"])
    app.switch_page("pages/size.py").run()
    app.session_state["pct"] = "99"
    app.text_input(key="ttft").set_value("750").run()
    settled(app.switch_page(PAGE).run(), registry)
    names = [trace["name"] for trace in charts(app)[0]["data"]]
    assert any(name.startswith("Plan p99") for name in names)
    assert "Limit p99 750 ms" in names
    assert any("plan p95" in c.value for c in app.caption), "beside the p95 of the tile"
    assert not any("plan p99" in c.value for c in app.caption)
    settled(app.toggle(key="live_plan").set_value(False).run(), registry)
    assert not any("Plan" in trace.get("name", "") for trace in charts(app)[0]["data"])


def test_all_sources_stand_side_by_side(server: Server, sources_folder: Path, registry: Registry) -> None:
    source_file(sources_folder, "http://no-such-host.invalid:9090", name="gone")
    (sources_folder / "bad.yaml").write_text("schema_version: 1\n")
    app = open_live(registry, source="prod", tab="All sources")
    settled(app, registry)
    rows = app.dataframe[0].value.set_index("Source")
    assert rows.loc["prod", "State"] == "Needs attention"
    assert rows.loc["gone", "State"] == "Unreachable"
    assert "no-such-host" in rows.loc["gone", "Why"]
    assert rows.loc["prod", "Requests/s"] == 2
    assert rows["Requests/s"].isna()["gone"]
    assert any("bad.yaml" in e.value for e in app.error)


def test_coming_from_explore_keeps_the_ranges_apart(server: Server, registry: Registry) -> None:
    """Explore has a choice of its own that is called range in the address."""
    app = started()
    app.switch_page("pages/explore.py").run()
    app.radio(key="range").set_value("all").run()
    settled(app.switch_page(PAGE).run(), registry)
    assert app.radio(key="range").value == "1 h"
    app.switch_page("pages/explore.py").run()
    assert not app.exception


def test_home_shows_connected_sources_without_waiting_for_them(
    server: Server, fake: FakePrometheus, registry: Registry
) -> None:
    fake.hold = threading.Event()
    app = started()
    rows = app.dataframe[0].value.set_index("Source")
    assert list(rows["State"]) == ["Being read"], "the demo is not simulated for this"
    fake.hold.set()
    fake.hold = None
    registry.latest.wait_for_all(PATIENCE_S)
    rows = app.run().dataframe[0].value.set_index("Source")
    assert rows.loc["prod", "State"] == "Needs attention"
    assert not app.exception


def test_home_says_nothing_of_sources_where_none_is_connected(sources_folder: Path, app: AppTest) -> None:
    assert not any("Live sources" in title.value for title in app.subheader)
    assert not app.dataframe
