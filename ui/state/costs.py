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
    "cost_without": "leave_out",
    "cost_ramp": "ramp_up_months",
    "cost_api": "api",
}
"""Session keys of the controls, and the keys of a scenario that they set."""


def as_costs(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the controls of these session keys say, as a scenario says it; of an API the provider."""
    stated = {field: chosen[key] for key, field in CHOICES.items() if key in chosen}
    return stated | ({"api": {"provider": stated["api"] or None}} if "api" in stated else {})


def with_costs(scenario: Scenario) -> Scenario:
    """The scenario with what the session says about costs, as the Cost page computes it.

    Raises ValidationError where that cannot be.
    """
    given = as_costs({key: st.session_state[key] for key in CHOICES if key in st.session_state})
    if scenario.costs.api.chosen and not st.session_state.get("cost_api"):
        given.pop("api", None)
    given |= st.session_state.get(COST_BOOK, {})
    if not given:
        return scenario
    return scenario.model_copy(update={"costs": Costs.model_validate(scenario.costs.model_dump() | given)})
