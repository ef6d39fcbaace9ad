"""Prices of the user's own beside list prices: downloads leave them out unless they are asked for."""

from __future__ import annotations

import streamlit as st

from sizing.scenario.schema import Prices, Scenario

WITHHELD = "downloads_withheld"
"""Session key: whether tables of this page may not be downloaded: prices of the user's own stand behind them."""

_ASKED = "downloads_with_own_prices"


def has_own_prices(scenario: Scenario) -> bool:
    """Whether a price was typed that a list says otherwise."""
    return scenario.prices.system_usd is not None or scenario.prices.gpu_hour_usd is not None


def at_list_prices(scenario: Scenario) -> Scenario:
    """The scenario with nothing but list prices."""
    prices = Prices(depreciation_years=scenario.prices.depreciation_years)
    return scenario.model_copy(update={"prices": prices})


def draw_own_prices(*, present: bool) -> bool:
    """Whether downloads may hold the user's own prices: off until it is asked for. Nothing is drawn without any."""
    let_in = present and st.toggle(
        "Downloads with my own prices",
        key=_ASKED,
        persist_state="session",
        help="Prices and constants that you typed are never in a link. They are in a file only while this is on.",
    )
    st.session_state[WITHHELD] = present and not let_in
    return bool(let_in)
