"""A presentation without a browser: the answer, key figures and charts, no form; inputs stay as they are."""

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import OpenLink
from tests.app.pages_text import answer
from ui.shell.presenting import CHARTS_LARGER, enlarged

FIELDS = ("rps", "isl", "osl")


def form(app: AppTest) -> set[str]:
    return {one.key for one in app.text_input if one.key in FIELDS}


def test_presented_and_back(size: AppTest) -> None:
    size.text_input(key="rps").set_value("62").run()
    sized = answer(size)
    size.button(key="present_on").click().run()
    assert not size.exception
    assert answer(size) == sized
    assert not form(size)
    assert len(size.metric) >= 5
    assert len(size.get("plotly_chart")) == 2
    assert not size.sidebar.children
    assert size.query_params["present"] == "on"
    for page in ("pages/compare.py", "pages/cost.py"):
        size.switch_page(page).run()
        assert not size.exception
        assert answer(size) == sized
        assert not form(size)
        assert size.get("plotly_chart")
    size.switch_page("pages/size.py").run()
    size.button(key="present_off").click().run()
    assert not size.exception
    assert size.text_input(key="rps").value == "62"
    assert answer(size) == sized
    assert "present" not in size.query_params


@pytest.mark.parametrize("page", ["size", "compare", "cost"])
def test_a_link_opens_a_presentation(page: str, open_link: OpenLink) -> None:
    app = open_link(goto=page, isl="3500", present="on")
    assert not app.exception
    assert not app.warning
    assert not form(app)
    assert answer(app)


def test_other_pages_are_not_presented(size: AppTest) -> None:
    size.button(key="present_on").click().run()
    size.switch_page("pages/explore.py").run()
    assert form(size)
    assert "present_on" not in {one.key for one in size.button}


def test_writing_in_charts_grows_and_nothing_else() -> None:
    figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4], marker={"size": 9}), layout={"height": 100, "font": {"size": 10}})
    figure.update_layout(xaxis={"tickfont": {"size": 10}, "range": [0, 5]}, margin={"l": 10})
    larger = enlarged(figure)
    assert larger.layout.height == 100 * CHARTS_LARGER
    assert larger.layout.font.size == larger.layout.xaxis.tickfont.size == 10 * CHARTS_LARGER
    assert larger.layout.margin.l == 10 * CHARTS_LARGER
    assert (larger.data[0].marker.size, larger.data[0].x, larger.layout.xaxis.range) == (9, (1, 2), (0, 5))
