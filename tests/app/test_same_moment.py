"""Live and Plan vs reality look at one source, range and moment, whichever way a viewer goes between them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Clock, started
from tests.app.live import PAGE, open_live, said, settled, source_file, vllm
from tests.app.pages_text import answer
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed
from tests.collectors.servers import serving
from ui.sources.moment import as_text
from ui.sources.reading import Registry

REALITY = "pages/reality.py"


@pytest.fixture(autouse=True)
def two_sources(clock: Clock, sources_folder: Path) -> Iterator[None]:
    fake = FakePrometheus(Feed({"a:8000": vllm(), "b:8000": vllm()}), shift_s=clock.now_s - NOW)
    with serving(fake) as running:
        for name in ("first", "second"):
            source_file(sources_folder, running.url, name=name)
        yield


def where(app: AppTest) -> tuple[str, str, str]:
    """Source, range and moment that the page looks at."""
    end = app.query_params.get("end", "")
    return app.selectbox(key="source").value, app.radio(key="range").value, "".join(end)


def go(app: AppTest, page: str, registry: Registry) -> AppTest:
    return settled(app.switch_page(page).run(), registry)


def test_a_paused_moment_goes_along_to_the_comparison_and_back(registry: Registry, clock: Clock) -> None:
    end = as_text(clock.now_s)
    app = open_live(registry, source="second", range="15 min")
    app.button(key="live_pause").click()
    settled(app, registry)
    assert where(app) == ("second", "15 min", end)
    go(app, REALITY, registry)
    assert where(app) == ("second", "15 min", end)
    assert f"until {end.replace('T', ' ').removesuffix('Z')} UTC" in " ".join(c.value for c in app.caption)
    go(app, "pages/methodology.py", registry)
    go(app, PAGE, registry)
    assert where(app) == ("second", "15 min", end)
    assert app.button(key="live_resume")


def test_a_window_chosen_in_the_comparison_is_that_of_the_charts(registry: Registry, clock: Clock) -> None:
    app = started()
    go(app, REALITY, registry)
    app.selectbox(key="source").select("second")
    app.radio(key="range").set_value("6 h")
    settled(app, registry)
    go(app, PAGE, registry)
    assert where(app) == ("second", "6 h", "")
    assert app.button(key="live_pause")


@pytest.mark.parametrize(
    "end",
    [
        "<b>&",
        "2099-01-01T00:00:00Z",
        *(pytest.param(end, marks=pytest.mark.slow) for end in ("yesterday", "1999-01-01T00:00:00Z", "12")),
    ],
)
def test_a_bad_moment_in_a_link_is_said_on_both_pages(end: str, registry: Registry) -> None:
    app = open_live(registry, end=end)
    assert "The page shows now instead." in said(app)
    app.query_params["end"] = end
    go(app, REALITY, registry)
    assert "The page shows now instead." in said(app)
    assert answer(app)


def test_the_end_of_the_window_is_to_the_second_of_the_link(registry: Registry, clock: Clock) -> None:
    app = started(goto="reality", end=as_text(clock.now_s - 17))
    settled(app, registry)
    assert where(app)[2] == as_text(clock.now_s - 17)
    app.datetime_input(key="until").set_value(None)
    settled(app.run(), registry)
    assert where(app)[2] == ""
