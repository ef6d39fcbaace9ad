"""Legends of charts on a phone."""

import plotly.graph_objects as go
import pytest

from ui.shell import charts


def figure(entries: int, height: int | None = 300) -> go.Figure:
    data = [{"type": "bar", "name": f"Part {n} of a cost", "x": [1.0], "y": ["all"]} for n in range(entries)]
    return go.Figure(data=data, layout={"height": height})


@pytest.mark.parametrize(("phone", "entries", "moved"), [(True, 10, True), (True, 3, False), (False, 10, False)])
def test_a_long_legend_stands_below_the_plot_on_a_phone(
    phone: bool, entries: int, moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "on_a_phone", lambda: phone)
    shown = figure(entries)
    charts.make_room_for_legend(shown)
    assert (shown.layout.legend.yanchor == "top") is moved
    assert (shown.layout.height > 300) is moved
    if moved:
        assert shown.layout.legend.y < 0
        assert shown.layout.height >= 300 + 10 * charts._ENTRY_PX  # one beside the other leaves no room for names


def test_a_figure_without_a_height_gets_one_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "on_a_phone", lambda: True)
    shown = figure(6, height=None)
    charts.make_room_for_legend(shown)
    assert shown.layout.height > charts._FIGURE_PX
