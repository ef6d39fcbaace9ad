from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from sizing.methodology import sections
from tests.patience import PATIENCE_S

APP = Path(__file__).parents[3] / "app.py"


@pytest.fixture(scope="module")
def app() -> AppTest:
    test = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
    test.run()
    test.switch_page("pages/methodology.py").run()
    return test


@pytest.fixture(autouse=True)
def _without_search(app: AppTest) -> None:
    app.text_input(key="term").set_value("")


def headings(app: AppTest) -> list[str]:
    return [item.value for item in app.subheader]


@pytest.mark.parametrize("section", sections(), ids=lambda section: section.slug)
def test_every_chapter_opens(app: AppTest, section: object) -> None:
    app.radio(key="chapter").set_value(section.title).run()
    assert not app.exception
    assert headings(app) == [section.title]
    assert app.subheader[0].anchor == section.slug
    assert len(app.dataframe) == len(section.tables)


def test_search_looks_in_every_chapter_and_says_how_much_it_found(app: AppTest) -> None:
    app.text_input(key="term").set_value("kv cache").run()
    assert not app.exception
    assert headings(app)[0] == "Glossary"
    assert {"Formulas", "Result fields"} <= set(headings(app))
    assert any("kv cache" in caption.value for caption in app.caption)


def test_search_without_result_says_what_to_do(app: AppTest) -> None:
    app.text_input(key="term").set_value("qwxyz $5 [").run()
    assert not app.exception
    assert headings(app) == []
    assert "Use fewer words" in app.info[0].value


@pytest.mark.parametrize("chapter", ["Formulas", "no such chapter"])
def test_a_link_opens_its_chapter_and_a_broken_one_the_first(chapter: str) -> None:
    test = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
    test.query_params["chapter"] = chapter
    test.query_params["goto"] = "methodology"
    test.run()
    test.switch_page("pages/methodology.py").run()
    assert not test.exception
    titles = [section.title for section in sections()]
    assert headings(test) == [chapter if chapter in titles else titles[0]]
