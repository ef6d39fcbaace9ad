"""The panel that foresees, and the bond between a scenario of the library and its source."""

from pathlib import Path

import plotly.graph_objects as go
import pytest
import yaml
from streamlit.testing.v1 import AppTest

from bench.load_seasons import Recipe, made
from bench.server import free_port
from collectors.questions.load import LoadHistory
from sharing.author import owner
from sharing.bonds import Bonds
from sharing.bonds.records import SourcePlace
from sharing.library import Library
from sharing.library.records import ScenarioDraft
from tests.app.conftest import scenario, started
from tests.app.test_reality import opened, settled, write_source
from ui.figures.forecast import build_forecast, forecast_alt_text, forecast_table

NOW = 1_800_000_000.0 // 3600 * 3600


@pytest.fixture
def app(sources_folder: Path, library: Library) -> AppTest:
    return started()


def with_panel(app: AppTest) -> AppTest:
    app.session_state["foresight"] = True
    return settled(opened(app).run())


def bold(page: AppTest) -> list[str]:
    return [one.value for one in page.markdown if one.value.startswith("**")]


def test_a_history_of_hours_is_said_to_be_too_short(app: AppTest) -> None:
    page = with_panel(app)
    assert not page.exception
    assert any("day and week are seen from 14 days on" in text for text in bold(page))


def test_a_source_that_is_down_is_one_sentence(sources_folder: Path, app: AppTest) -> None:
    write_source(sources_folder, prometheus={"url": f"http://127.0.0.1:{free_port()}", "timeout_s": 1})
    page = with_panel(app)
    assert not page.exception
    assert any("No forecast: the source cannot be read." in error.value for error in page.error)


def test_four_weeks_are_drawn(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    rps = made(Recipe(growth=0.05), 28, seed=8).rps / 10.0
    loaded = LoadHistory(start_s=NOW - 28 * 86_400, step_s=3600.0, rps=tuple(rps), engine="vllm", replicas=4)
    monkeypatch.setattr("ui.reality.foresight.load_history", lambda *given, **more: loaded)
    app.session_state["foresight_days"] = "3 months"  # four weeks of the demo may have been asked for by another test
    page = with_panel(app)
    assert not page.exception
    (said,) = [text for text in bold(page) if text.startswith("**The busiest hour of the last week had")]
    (stated,) = [one.value for one in page.metric if one.label == "Limits hold up to, requests/s"]
    assert f"{stated} requests/s that the present 4 replicas carry within the limits, as measured" in said.replace(
        "\xa0", " "
    )
    assert any("seasonal naive" in caption.value for caption in page.caption)


def test_the_figure_shows_history_band_and_limit_in_both_themes() -> None:
    from tests.reality.test_forecast import foreseen

    answer = foreseen(made(Recipe(growth=0.05, noise=0.05), 28, seed=2).rps, replicas=6)
    figures = [
        go.Figure(build_forecast(answer, dark=dark).to_dict()) for dark in (False, True)
    ]  # checks every property
    names = [{trace.name.split()[0] for trace in figure.data} for figure in figures]
    assert names[0] == names[1] >= {"Busiest", "Forecast", "80", "Within", "Reached"}
    assert figures[0].data[0].fillcolor != figures[1].data[0].fillcolor
    assert len(forecast_table(answer)) == len(answer.days) == 84
    assert "as foreseen over 84" in forecast_alt_text(answer)


def test_a_scenario_of_the_library_opens_with_its_source(sources_folder: Path, library: Library, app: AppTest) -> None:
    for name in ("mine", "other"):
        raw = {"schema_version": 1, "name": name, "prometheus": {"url": f"http://127.0.0.1:{free_port()}"}}
        (sources_folder / f"{name}.yaml").write_text(yaml.safe_dump(raw))
    library.add(ScenarioDraft(scenario=scenario("Acme")), by=owner("ann"))
    Bonds(library).bind(1, SourcePlace(source="other"), by=owner("ann"))
    page = app.switch_page("pages/scenarios.py").run()
    page.button(key="scenario_open").click().run()
    page = opened(page)
    assert page.selectbox(key="source").value == "other"
    assert any("Scenario 1 runs here." in caption.value for caption in page.caption)
    settled(page.selectbox(key="source").set_value("mine").run())
    settled(page.button(key="bind_source").click().run())
    assert Bonds(library).of_scenario(1).place.source == "mine"
    assert not page.exception
    live = page.switch_page("pages/live.py").run()
    assert live.selectbox(key="source").value == "mine"
