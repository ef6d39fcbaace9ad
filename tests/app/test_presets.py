"""Every preset on every page: no exception, an answer, and the same scenario that the preset holds."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from sharing.form.link_versions import LINK_VERSION
from sharing.form.presets import presets
from sharing.form.read import to_scenario
from sizing.scenario import Scenario
from tests.app.conftest import OpenLink
from tests.app.pages_text import answer, figure, problems
from ui.home.page import question

PAGES = ("pages/home.py", "pages/size.py", "pages/methodology.py")
VIEWS = ("Alternatives", "Why", "Throughput or latency", "Simulate", "Memory", "Export")


@pytest.mark.parametrize("preset", list(presets()))
def test_every_page_shows_a_preset(app: AppTest, preset: str) -> None:
    app.button(key=f"open_{preset}").click().run()
    for page in PAGES:
        app.switch_page(page).run()
        assert not app.exception, f"{page}: {app.exception[0].message}"
    app.switch_page("pages/size.py").run()
    assert answer(app)
    assert not problems(app)


@pytest.mark.parametrize("preset", list(presets()))
def test_form_holds_the_scenario_of_the_preset(size: AppTest, preset: str) -> None:
    size.text_input(key="isl").set_value("1,234").run()
    size.selectbox(key="preset").select(preset).run()
    wanted = presets()[preset].scenario
    held = Scenario.model_validate(to_scenario({key: size.session_state[key] for key in _shown_and_default(size)}))
    assert held == wanted


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_of_the_answer_is_drawn(size: AppTest, view: str) -> None:
    size.session_state["view"] = view
    size.run()
    assert not size.exception


def test_the_example_that_the_form_holds_is_the_one_that_is_chosen(size: AppTest, open_link: OpenLink) -> None:
    first = next(iter(presets()))
    assert size.selectbox(key="preset").value == first
    assert open_link(v=LINK_VERSION).selectbox(key="preset").value == first
    size.text_input(key="isl").set_value("1,234").run()
    assert size.selectbox(key="preset").value is None
    size.selectbox(key="preset").select(first).run()
    assert size.text_input(key="isl").value != "1,234"
    assert size.selectbox(key="preset").value == first


def test_measured_customer_case_needs_13_systems(size: AppTest) -> None:
    size.selectbox(key="preset").select("nemo").run()
    assert figure(size, "Systems") == "13"
    assert "13 x DGX H100" in answer(size)


def test_measured_llama_case_serves_two_million_requests_a_day(size: AppTest) -> None:
    size.selectbox(key="preset").select("llama").run()
    assert figure(size, "Requests a day") == "2.04M"
    assert figure(size, "Daily users") == "679k"


def _shown_and_default(app: AppTest) -> dict[str, object]:
    from ui.state import defaults

    missing = [key for key in defaults() if key not in app.session_state]
    assert not missing, f"loading a preset has to set every field; {missing} are not"
    return defaults()


def test_every_card_says_a_load() -> None:
    for preset in presets().values():
        load = r"out, [\d,.]+ (requests/s|sessions at once|sessions an hour|documents a month)$"
        assert re.search(load, question(preset.scenario))
