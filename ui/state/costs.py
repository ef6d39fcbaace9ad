"""What the session says about costs: choices of the Cost page, and what was typed into its book of constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario

COST_BOOK = "cost_book"
"""Session key of what was typed into the book, by constant."""

CHOICES: Mapping[str, str] = {
    "cost_region": "region",
    "cost_purchase": "purchase",
    "cost_growth": "growth_percent_per_year",
    "cost_base": "hybrid_base",
    "cost_facility": "facility",
    "cost_licence": "licence",
}
"""Session keys of the controls, and the keys of a scenario that they set."""


def with_costs(scenario: Scenario) -> Scenario:
    """The scenario with what the session says about costs, as the Cost page computes it.

    Raises ValidationError where that cannot be.
    """
    chosen: dict[str, Any] = {field: st.session_state[key] for key, field in CHOICES.items() if key in st.session_state}
    given = chosen | st.session_state.get(COST_BOOK, {})
    if not given:
        return scenario
    return scenario.model_copy(update={"costs": Costs.model_validate(scenario.costs.model_dump() | given)})
