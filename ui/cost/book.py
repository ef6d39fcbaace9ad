"""What the customer pays: choices that a link carries, and a book of prices and constants that stays in the session."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from sharing.form.cost_words import BASES, FACILITIES, GROWTHS, LEFT_OUT, LICENCES, PURCHASES, RAMPS, region_words
from sizing.catalog.system_rows import cloud_instances
from sizing.economics.api import offers_of, provider_name
from sizing.economics.assumptions import Assumption, assumptions_for, default_region
from sizing.scenario.costs import Costs
from ui import state
from ui.cost.price_book import today
from ui.format import as_markdown, known
from ui.shell import draw_choice, draw_problems
from ui.shell.notes import draw_wrong_in_link

GIVEN, _EDITION = state.COST_BOOK, "cost_book_edition"
"""Session keys: what was typed into the book by constant, and a number that makes its table start over."""

ABOUT_RAMP = "The load grows evenly to the planned one; what is owned or committed to is paid for from the first month."


@dataclass(frozen=True, kw_only=True)
class CostChoices:
    """What the session says about money: as it is, and without what was typed into the book."""

    costs: Costs
    listed: Costs


_WIDTHS_PX = {"Constant": 265, "Unit": 112, "Published": 90, "From": 90, "Basis": 74, "Source": 225, "Date": 84}
_THREE_LINES_PX = 76
"""Widths of columns and height of a row. Chosen: all columns stand in a window of 1440 pixels, and most texts whole."""


def costs(model_id: str) -> CostChoices | None:
    """What the session says about money; None, with the reason on the page, where that cannot be.

    ``model_id``: whose offers behind an API can be chosen.
    """
    chosen = state.as_costs(_choices(model_id))
    try:
        costs = Costs.model_validate(chosen | st.session_state.get(GIVEN, {}))
        return CostChoices(costs=costs, listed=Costs.model_validate(chosen))
    except ValidationError as error:
        names = {str(place) for one in error.errors() for place in one["loc"]}
        draw_problems(
            [f"These constants cannot be: {', '.join(sorted(names))}. Change them under Prices and constants."]
        )
        return None


def _choices(model_id: str) -> dict[str, Any]:
    """What the controls say, by their session keys; kept in the address."""
    chosen: dict[str, Any] = {"cost_without": _left_out()}
    with st.container(horizontal=True, gap="medium"):
        about = "Price of electricity and carbon of the grid. Rented instances have their provider's region."
        chosen["cost_region"] = _one_of("Region", "cost_region", region_words(), default_region(), about)
        for title, options, key, about in (
            ("Instances", PURCHASES, "cost_purchase", "How instances are paid for."),
            ("Growth a year", GROWTHS, "cost_growth", "Of the load, over the 36 months."),
            ("Ramp-up", RAMPS, "cost_ramp", ABOUT_RAMP),
        ):
            chosen[key] = draw_choice(title, options, key=key, help=about)
        chosen |= _where_rented()
    with st.container(horizontal=True, gap="medium"):
        for title, options, key, about in (
            ("Base of a hybrid", BASES, "cost_base", "What carries the load outside the peaks."),
            ("Own systems stand in", FACILITIES, "cost_facility", "Colocation costs rent by kW."),
            ("Licence", LICENCES, "cost_licence", "Per GPU; the engines themselves are free."),
        ):
            chosen[key] = draw_choice(title, options, key=key, help=about)
        providers = {"": "Cheapest"} | _called([row.provider for row in offers_of(model_id, today())])
        about = "Provider that an API is paid from; beside it stand the cheapest and the median of all."
        chosen["cost_api"] = _one_of("API", "cost_api", providers, "", about)
    return chosen


def _where_rented() -> dict[str, str]:
    """Provider and region of instances; of a provider, the regions in which it has some."""
    providers = {"": "Any"} | {name: name for name in sorted({row.provider for row in cloud_instances()})}
    about = "What is planned in the cloud, and what renting costs, is then of this provider alone."
    provider = _one_of("Rented from", "cost_cloud", providers, "", about)
    of_it = sorted({row.region for row in cloud_instances() if provider in ("", row.provider)})
    regions_of_it = {"": "Any"} | {name: name for name in of_it}
    region = _one_of("Cloud region", "cost_cloud_region", regions_of_it, "", "Region of its instances.")
    return {"cost_cloud": provider, "cost_cloud_region": region}


def _left_out() -> list[str]:
    """Parts that are not to be counted."""
    kept = state.linked("cost_without", LEFT_OUT, default=[], several=True)
    draw_wrong_in_link("cost_without", "part of the cost")
    return st.multiselect(
        "Leave out",
        list(LEFT_OUT),
        key="cost_without",
        format_func=lambda part: LEFT_OUT[part],
        placeholder="Nothing: every part is counted",
        help="Parts beside hardware and power. All of them left out: hardware and power only.",
        **kept,
    )


def _called(keys: Sequence[str]) -> dict[str, str]:
    """Providers by key, as people call them; the key stands beside a name that several have."""
    names = {key: provider_name(key) for key in keys}
    counted = Counter(names.values())
    return {key: name if counted[name] == 1 else f"{name} ({key})" for key, name in names.items()}


def _one_of(title: str, key: str, names: Mapping[str, str], default: str, about: str) -> str:
    """A dropdown for one option, which a link keeps."""
    kept = state.linked(key, names, default=default)
    draw_wrong_in_link(key, f"option of “{title}”")
    return st.selectbox(
        title, list(names), key=key, format_func=lambda name: names[name], width=200, help=about, **kept
    )


def draw_book(now: Costs) -> None:
    """Every constant with its source; a number typed here is used from then on, until the book is reset."""
    st.markdown("**Constants**")
    st.caption(
        "Type over a value. What is typed here stays in this session: it is in no link and in no download, so a "
        "negotiated price is not passed on. What is left out stands at 0; what is published stands beside a value of "
        "yours."
    )
    constants = assumptions_for(now)
    table = pd.DataFrame([_row(one) for one in constants.values()], index=list(constants))
    edited = st.data_editor(
        table,
        key=f"{GIVEN}_{st.session_state.get(_EDITION, 0)}",
        hide_index=True,
        disabled=[str(name) for name in table if name != "Value"],
        alt="Constants of the cost",
        row_height=_THREE_LINES_PX,
        placeholder="",
        column_config={
            "Value": st.column_config.NumberColumn(min_value=0.0, format="%.4g", width=74),
            **{name: st.column_config.TextColumn(width=width) for name, width in _WIDTHS_PX.items()},
        },
    )
    changed = edited["Value"].ne(table["Value"]) & ~(edited["Value"].isna() & table["Value"].isna())
    if changed.any():
        _take({str(name): edited["Value"][name] for name in table.index[changed]})
    if st.session_state.get(GIVEN):
        st.button("Reset to the sources", icon=":material/undo:", on_click=_reset, key="cost_book_reset")


def _row(one: Assumption) -> dict[str, Any]:
    amount = one.amount
    ranged = amount is not None and (amount.low < amount.value or amount.high > amount.value)
    return {
        "Constant": one.meaning,
        "Value": None if amount is None else amount.value,
        "Unit": one.unit,
        "Published": "" if one.published is None else f"{one.published:g} ({one.published_date})",
        "From": f"{known(amount.low):g} to {known(amount.high):g}" if amount is not None and ranged else "",
        "Basis": {"gap": "not known", "left_out": "left out", "scenario": "yours"}.get(one.basis, one.basis),
        "Source": one.source,
        "Date": one.date,
    }


def _take(values: Mapping[str, Any]) -> None:
    """Keep what was typed; an emptied cell goes back to its source. Nothing is kept that cannot be."""
    given = dict(st.session_state.get(GIVEN, {}))
    for name, value in values.items():
        if pd.isna(value):
            given.pop(name, None)
        else:
            given[name] = float(value)
    try:
        Costs.model_validate(given)
    except ValidationError as error:
        reasons = "; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())
        st.error(as_markdown(f"Not taken, the last values stay: {reasons}."), icon=":material/error:")
        return
    st.session_state[GIVEN] = given
    st.session_state[_EDITION] = st.session_state.get(_EDITION, 0) + 1
    st.rerun()


def _reset() -> None:
    st.session_state.pop(GIVEN, None)
    st.session_state[_EDITION] = st.session_state.get(_EDITION, 0) + 1
