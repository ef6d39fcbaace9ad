"""A chart, and its numbers as a table and a CSV: the same on every page."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ui.format import as_markdown
from ui.shell.controls import draw_download
from ui.shell.money import WITHHELD
from ui.shell.presenting import enlarged, is_presenting
from ui.shell.window import on_a_phone

CONFIG: Mapping[str, object] = MappingProxyType(
    {"displaylogo": False, "modeBarButtonsToRemove": ["zoomIn2d", "zoomOut2d", "autoScale2d"]}
)
"""What Plotly is told about every chart: nothing leads to another host; buttons that double others are left out."""


_GROUPED = 1_000.0
"""Number from which on a column has separators."""

GPU_PX, _LETTER_PX, _CELL_PX = 160, 7, 16
"""Width of a column of GPUs, chosen to hold most names, and of a letter of a longer one with what stands around it: the
grid goes by its first cells, which may be empty."""

PERCENT = "%.3g %%"
"""How a column of a table writes per cent."""

PNG_SCALE = 2
"""Pixels of a downloaded picture for one of the page. Chosen: sharp on a slide."""


_MOST_ON_A_PHONE = 6
"""Columns that a phone has room for: a comparison of five scenarios."""

_SHORT_LEGEND = 3
"""Entries of a legend that a phone has room for above the plot."""
_PLOT_PX, _ENTRY_PX, _SYMBOL_PX = 230, 21, 48
"""Width of a plot on a phone, height of a row of its legend, and what an entry takes beside its letters."""
_AXIS_PX = 70
"""Height of an axis below a plot, with its title."""
_FIGURE_PX = 450
"""Height of a figure that says none."""


def draw_chart(figure: go.Figure, *, key: str, alt: str) -> None:
    """A figure, with a button for its PNG; ``alt`` says it in one sentence to those who do not see it."""
    picture = {"toImageButtonOptions": {"format": "png", "filename": key, "scale": PNG_SCALE}}
    if is_presenting():
        figure = enlarged(figure)
    make_room_for_legend(figure)
    st.plotly_chart(figure, key=key, alt=alt, config={**CONFIG, **picture})


def make_room_for_legend(figure: go.Figure) -> None:
    """On a phone a long legend stands below the plot, with room of its own: above it, it takes half of a narrow one."""
    if not on_a_phone():
        return
    named = (trace for trace in figure.to_dict()["data"] if trace.get("name"))
    entries = [trace["name"] for trace in named if trace.get("showlegend") is not False]
    if len(entries) <= _SHORT_LEGEND:
        return
    abreast = max(_PLOT_PX // (_SYMBOL_PX + _LETTER_PX * max(map(len, entries))), 1)
    height = figure.layout.height or _FIGURE_PX
    figure.layout.legend.update({"y": -_AXIS_PX / (height - _AXIS_PX), "yanchor": "top"})
    figure.layout.height = height + _ENTRY_PX * -(-len(entries) // abreast)


def draw_table(make: Callable[[], pd.DataFrame], *, key: str, what: str) -> None:
    """The numbers of a chart behind a click, with a CSV; the table is made when it is opened."""
    with st.expander(
        f"{what}: table and CSV", icon=":material/table:", type="compact", key=f"{key}_table", on_change="rerun"
    ) as expander:
        if not expander.open:
            return
        table = make()
        draw_rows(table, key=f"{key}_rows", alt=f"{what} as a table")
        draw_csv(table, key=key, what=what)


def draw_rows(table: pd.DataFrame, *, key: str, alt: str, height: Literal["auto", "content"] = "auto") -> None:
    """A table, as high as its rows or with a scroll bar; thousands are grouped in columns that have any."""
    columns = grouped(table)
    if "GPU" in table:
        longest = max((len(str(name)) for name in table["GPU"]), default=0)
        columns["GPU"] = st.column_config.TextColumn(width=max(GPU_PX, _CELL_PX + _LETTER_PX * longest))
    st.dataframe(table, hide_index=True, height=height, key=key, placeholder="", alt=alt, column_config=columns)


ALL_DIGITS = 10
"""Digits beyond which a number has but rounding."""


def draw_wrapped(
    table: pd.DataFrame, *, alt: str, height: int | Literal["content"] = "content", digits: int = ALL_DIGITS
) -> None:
    """A small table whose cells show all of their text, in as many lines as it takes: a grid cuts it, or makes every
    row as high as the longest. ``height`` in pixels: rows scroll below their heads; ``digits`` of numbers at most. On a
    phone a wide one is a grid: sentences beside many columns would stand there a word a line."""
    if on_a_phone() and len(table.columns) > _MOST_ON_A_PHONE:
        st.dataframe(table, hide_index=True, placeholder="", alt=alt, column_config=grouped(table))
        return
    numbers = set(table.select_dtypes("number"))
    shown = pd.DataFrame(
        {as_markdown(str(name)): table[name] if name in numbers else table[name].map(_as_cell) for name in table}
    )
    styled = shown.style.format(partial(as_number, digits=digits), subset=shown.select_dtypes("number").columns)
    st.table(styled, border="horizontal", hide_index=True, alt=alt, height=height)


def _as_cell(value: Any) -> str:
    return "" if value is None or value != value else as_markdown(str(value))  # NaN alone differs from itself


def as_number(value: Any, digits: int) -> str:
    """A number with separators and the digits that it has; empty where it is unknown."""
    return "" if pd.isna(value) else f"{float(f'{value:.{digits}g}'):,.{ALL_DIGITS}g}"


def grouped(table: pd.DataFrame) -> dict[str, Any]:
    """How columns with thousands are written."""
    numbers = table.select_dtypes("number")
    largest = np.nan_to_num(np.abs(numbers.to_numpy(dtype=np.float64, na_value=np.nan))).max(axis=0, initial=0.0)
    large = [str(name) for name, value in zip(numbers, largest, strict=True) if value >= _GROUPED]
    return {name: st.column_config.NumberColumn(format="localized") for name in large}


def in_percent(table: pd.DataFrame, *names: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table to show where the columns ``names`` hold shares, and how these are written: "62 %"."""
    shown = table.assign(**{name: 100.0 * pd.to_numeric(table[name]) for name in names if name in table})
    return shown, dict.fromkeys(names, st.column_config.NumberColumn(format=PERCENT))


def draw_csv(table: pd.DataFrame, *, key: str, what: str) -> None:
    """The button that downloads a table; a sentence instead where it holds prices that were not asked for."""
    if st.session_state.get(WITHHELD):
        st.caption("No CSV: the table holds prices of your own. “Downloads with my own prices” above lets them in.")
        return
    draw_download(
        f"CSV: {what}",
        table.to_csv(index=False),
        f"{key}.csv",
        "text/csv",
        key=f"{key}_csv",
        icon="download",
        help=f"{what} as a file.",
    )
