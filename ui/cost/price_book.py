"""The price book: list prices and negotiated ones of systems and rented GPUs, typed over, kept in the session."""

from collections.abc import Mapping
from datetime import UTC, date, datetime

import pandas as pd
import streamlit as st

from sharing.form.problems import sentence
from sizing.base.errors import SizingError
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from sizing.scenario.price_file import read_csv, to_csv
from sizing.scenario.prices import PriceList, Prices
from sizing.scenario.schema import Scenario
from ui import state
from ui.cost.price_rows import EDITED, ListName, book_table, taken
from ui.format import as_markdown
from ui.shell import WITHHELD, draw_choice, draw_download

_EDITION, _PROBLEM = "price_book_edition", "price_book_problem"
LISTS: Mapping[ListName, str] = {"listed": "List prices", "negotiated": "Negotiated prices"}
_WIDTHS_PX = {"What": 165, "Unit": 105, "Basis": 84, "Date": 112, "Age": 98, "Whose": 76, "Source": 200}
_TWO_LINES_PX = 66
"""Widths of columns and height of a row. Chosen: all columns stand in a window of 1440 pixels, most texts whole; lower
rows do not wrap."""


def today() -> date:
    """The day that prices are dated and judged by."""
    return datetime.now(UTC).date()


def draw_price_book(answer: Answer) -> None:
    """Every system of the considered GPUs, those of the planned one first, and each of them rented; what is typed is
    used from then on."""
    st.markdown("**Price book**")
    name = draw_choice("Price book", LISTS, key="cost_price_list", help=None, labelled=False)
    st.caption(
        "Each price is of one system or GPU alone; emptied, it goes back to the catalogue. List prices are public: "
        "files hold them. A negotiated price comes first; it is in no link, and in files only where they are asked to "
        "hold it."
    )
    scenario, deployed = answer.scenario, answer.plan.deployment
    planned = deployed.gpu if deployed else ""
    gpus = sorted(answer.question.gpus, key=lambda gpu: gpu.id != planned)
    table = book_table(gpus, scenario.prices, name, today())
    edited = st.data_editor(
        table,
        key=f"price_book_{name}_{st.session_state.get(_EDITION, 0)}",
        hide_index=True,
        disabled=[str(column) for column in table if column not in EDITED],
        row_height=_TWO_LINES_PX,
        column_config={
            "Price": st.column_config.NumberColumn(format="localized", width=80),
            "List price": st.column_config.NumberColumn(format="localized", width=80),
            **{name: st.column_config.TextColumn(width=width) for name, width in _WIDTHS_PX.items()},
        },
        placeholder="",
        alt="Price book",
    )
    _take_typed(scenario, name, table, edited)
    if problem := st.session_state.get(_PROBLEM):
        st.error(as_markdown(f"{problem} The last prices stay."), icon=":material/error:")
    _draw_files(scenario)


def _take_typed(scenario: Scenario, name: ListName, table: pd.DataFrame, edited: pd.DataFrame) -> None:
    """Use what was typed; what cannot be is a sentence, and the table shows the last prices again."""
    now: PriceList = getattr(scenario.prices, name)
    try:
        typed = taken(table, edited, now, today())
        if typed == now:
            return
        use(scenario, scenario.prices.model_copy(update={name: typed}))
    except SizingError as error:
        _refuse(sentence(error))
    st.rerun()


def _refuse(problem: str) -> None:
    st.session_state[_PROBLEM] = problem
    _start_over()


def _start_over() -> None:
    """Let the table and the file be new ones, which show the prices in use."""
    st.session_state[_EDITION] = st.session_state.get(_EDITION, 0) + 1


def use(scenario: Scenario, prices: Prices) -> None:
    """Size with these prices from now on. Raises SizingError where they cannot be, and keeps the last."""
    understand(scenario.model_copy(update={"prices": prices}))
    state.use_price_book(prices)
    st.session_state.pop(_PROBLEM, None)
    _start_over()


def _draw_files(scenario: Scenario) -> None:
    """The price book out as CSV and in again; negotiated prices only where files may hold them."""
    prices = scenario.prices.without_private() if st.session_state.get(WITHHELD) else scenario.prices
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_download(
            "CSV: Price book",
            to_csv(prices),
            "price_book.csv",
            "text/csv",
            key="price_book_csv",
            icon="download",
            help="Your prices as a file, which can be opened here again.",
        )
        with st.popover("Open a price book", icon=":material/upload:"):
            edition = st.session_state.get(_EDITION, 0)
            file = st.file_uploader(
                "Price book (CSV)", type="csv", key=f"price_book_file_{edition}", help="Replaces every price of yours."
            )
            if file is not None:
                _open(scenario, file.getvalue())
        if state.price_book():
            st.button(
                "Reset to the catalogue",
                icon=":material/undo:",
                key="price_book_reset",
                on_click=_reset,
                help="Forgets every price of yours, negotiated ones too.",
            )


def _open(scenario: Scenario, content: bytes) -> None:
    try:
        own = [gpu for gpu in understand(scenario).gpus if gpu.custom]
        lists = read_csv(content.decode("utf-8-sig"), today(), own)
        use(scenario, scenario.prices.model_copy(update=dict(lists)))
    except UnicodeDecodeError:
        _refuse("The price book is no text in UTF-8.")
    except SizingError as error:
        _refuse(sentence(error))
    st.rerun()


def _reset() -> None:
    state.use_price_book(Prices())
    st.session_state.pop(_PROBLEM, None)
    _start_over()
