"""The Scenarios page below its guard: the list, one scenario with its history, totals, and files in and out."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from sharing.access import Right
from sharing.document import read_document
from sharing.library.records import LibraryEntry, ScenarioQuery
from sizing.base.errors import SizingError
from sizing.base.format import counted
from sizing.decision.comparison import MOST_COMPARED
from sizing.scenario.file import MAX_FILE_MB
from ui import shell, state
from ui.access import allowed, draw_open_to_everybody
from ui.compare.beside import choose_kept
from ui.currency import DOLLARS, Currency
from ui.format import known
from ui.library import library, open_document, open_version, refused
from ui.library.unsaved import draw_unsaved
from ui.scenarios.customer import draw_customer_view
from ui.scenarios.one import draw_one
from ui.shell import draw_currency

MOST_SHOWN = 500
"""Rows of the list. Chosen: what a browser scrolls through; search finds the others."""


def draw() -> None:
    """Search, the list, what can be done with one of it; totals and import in tabs of their own."""
    if draw_customer_view():
        return
    with shell.header("Scenarios"):
        currency = draw_currency(below_an_answer=False)
    draw_unsaved()
    with refused():
        library()
        draw_open_to_everybody()
        views: dict[str, Callable[[], None]] = {
            "Scenarios": partial(_scenarios, currency),
            "Projects": partial(_projects, currency),
        }
        if allowed(Right.SAVE):
            views["Import"] = _import
        shell.draw_tabs(views, key="scenarios_view")


def _nothing(*, searched: bool, deleted: bool) -> None:
    """Why the list is empty, and the way to a scenario where there is none yet."""
    if searched:
        st.info("No scenario has all of these words.", icon=":material/search_off:")
    elif deleted:
        st.info("Nothing was deleted.", icon=":material/inventory_2:")
    else:
        hint = " Save one on Size, or import a file." if allowed(Right.SAVE) else ""
        st.info(f"No scenario is kept yet.{hint}", icon=":material/inventory_2:")
        st.page_link("pages/size.py", icon=":material/straighten:", query_params=state.address_of("size"))


def _scenarios(currency: Currency) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Search",
            key="scenarios_text",
            max_chars=200,
            help="Words in name, model, project, customer or tags.",
            persist_state="session",
        )
        deleted = allowed(Right.RESTORE) and st.toggle(
            "Deleted", key="scenarios_deleted", help="Show what was deleted, to restore it."
        )
    listed = library().search(ScenarioQuery(text=text, deleted=deleted, limit=MOST_SHOWN))
    if not listed.entries:
        _nothing(searched=bool(text.strip()), deleted=deleted)
        return
    more = "" if listed.total <= MOST_SHOWN else f", the latest {MOST_SHOWN} of them shown"
    st.caption(f"{counted(listed.total, 'scenario')}{more}, the latest changed first.")
    st.dataframe(
        table(listed.entries, currency),
        hide_index=True,
        key="scenarios_rows",
        alt="Scenarios",
        placeholder="",
        column_config=_cost_column(currency),
    )
    by_id = {entry.id: entry for entry in listed.entries}
    if st.session_state.get("scenarios_chosen") not in by_id:
        st.session_state["scenarios_chosen"] = next(iter(by_id))
    chosen = st.selectbox(
        "Scenario",
        list(by_id),
        key="scenarios_chosen",
        format_func=lambda number: title(by_id[number]),
        help="What the buttons below are about.",
    )
    draw_one(by_id[chosen], currency)
    if not deleted:
        draw_comparing(by_id, chosen)


def _cost(currency: Currency) -> str:
    return f"Hardware ({currency.code}/month)"


def _cost_column(currency: Currency) -> dict[str, Any]:
    return {_cost(currency): st.column_config.NumberColumn(format="localized")}


def table(entries: tuple[LibraryEntry, ...], currency: Currency = DOLLARS) -> pd.DataFrame:
    """The list as it is shown."""
    return pd.DataFrame(
        {
            "Name": [entry.name for entry in entries],
            "Customer": [entry.project.customer if entry.project else "" for entry in entries],
            "Project": [entry.project.name if entry.project else "" for entry in entries],
            "Model": [entry.model for entry in entries],
            "GPUs": pd.array([entry.gpus for entry in entries], dtype="Int64"),
            _cost(currency): [_rounded(entry.usd_per_month, currency) for entry in entries],
            "Updated (UTC)": [f"{entry.updated_at:%Y-%m-%d %H:%M}" for entry in entries],
            "By": [entry.updated_by for entry in entries],
            "Tags": [", ".join(entry.tags) for entry in entries],
            "Id": [entry.id for entry in entries],
        }
    )


def _rounded(usd: float | None, currency: Currency) -> float | None:
    """A number to three digits, as the answer has it."""
    return None if usd is None else known(currency.of(usd))


def _projects(currency: Currency) -> None:
    totals = library().totals()
    if not totals:
        st.info("No scenario belongs to a project yet.", icon=":material/inventory_2:")
        return
    st.dataframe(
        pd.DataFrame(
            {
                "Customer": [total.project.customer for total in totals],
                "Project": [total.project.name for total in totals],
                "Scenarios": [total.scenarios for total in totals],
                "GPUs": [total.gpus for total in totals],
                _cost(currency): [_rounded(total.usd_per_month, currency) for total in totals],
                "Power (kW)": [round(total.power_kw, 1) for total in totals],
                "Without a cost": [total.without_usd for total in totals],
            }
        ),
        hide_index=True,
        key="projects_rows",
        alt="Totals of projects",
        column_config=_cost_column(currency),
    )
    st.caption("Scenarios whose cost is not known are counted in the last column, not added as zero.")


def _import() -> None:
    file = st.file_uploader(
        f"Scenario (YAML or JSON, up to {MAX_FILE_MB} MB)",
        type=["yaml", "yml", "json"],
        key="scenario_file",
        max_upload_size=MAX_FILE_MB,
        help="As Size exports it.",
    )
    if file is None:
        return
    try:
        scenario = read_document(file.getvalue(), file.name)
    except SizingError as error:
        shell.draw_problems(error.problems)
        return
    if st.button("Open in Size", key="open_file", type="primary", on_click=partial(open_document, scenario)):
        st.switch_page("pages/size.py", query_params=state.address_of("size"))


def title(entry: LibraryEntry) -> str:
    """A scenario in a list of choices."""
    customer = entry.project.customer if entry.project else ""
    return f"{entry.id}: {entry.name}" + (f" ({customer})" if customer else "")


def draw_comparing(entries: Mapping[int, LibraryEntry], first: int) -> None:
    """Which scenarios stand beside the one that is chosen, and the way to Compare."""
    others = [number for number in entries if number != first]
    if not others:
        return
    if kept := st.session_state.get("scenarios_beside"):  # the list may have become shorter
        st.session_state["scenarios_beside"] = [number for number in kept if number in others]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        beside = st.multiselect(
            "Compare with",
            others,
            key="scenarios_beside",
            max_selections=MOST_COMPARED - 1,
            format_func=lambda number: title(entries[number]),
            placeholder="Choose up to four scenarios",
            help="They stand beside the scenario above on Compare, which fills the form.",
        )
        if st.button(
            "Compare",
            key="scenarios_compare",
            icon=":material/compare_arrows:",
            disabled=not beside,
            help="What differs, what it costs, and which difference drives that.",
        ):
            with refused():
                _compare(first, beside)


def _compare(first: int, beside: list[int]) -> None:
    open_version(library().version(first))
    choose_kept(beside)
    st.switch_page("pages/compare.py", query_params=state.address_of("compare"))
