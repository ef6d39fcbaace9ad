"""What the session says about costs: choices of the Cost page, and what was typed into its book of constants."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from sharing.form.link import COST_CHOICES
from sizing.base.choices import Purchase
from sizing.catalog.payment_terms import TERMS
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario

COST_BOOK = "cost_book"
"""Session key of what was typed into the book, by constant."""

_PURCHASE = "cost_purchase"
"""Session key and parameter of the address of the way to pay."""

RENT = ("purchase", "cloud_provider", "cloud_region", "reserved_1y_discount_percent", "reserved_3y_discount_percent")
"""Constants that say from whom and how instances are rented (:attr:`sizing.scenario.costs.Costs.rent`)."""


def as_costs(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the controls of these session keys say, as a scenario says it; of an API the provider."""
    stated = {field: chosen[key] for key, field in COST_CHOICES.items() if key in chosen}
    return stated | ({"api": {"provider": stated["api"] or None}} if "api" in stated else {})


def with_rent(scenario: Scenario) -> Scenario:
    """The scenario with how the session says that instances are rented: it decides what is planned in the cloud.

    As it is where what was typed as costs cannot be, which the Cost page says.
    """
    if scenario.deployment.location != "cloud":
        return scenario
    try:
        chosen = with_costs(scenario).costs
    except ValidationError:
        return scenario
    rent = {name: getattr(chosen, name) for name in RENT}
    rent["purchase"] = _purchase_of_address() or rent["purchase"]
    return scenario.model_copy(update={"costs": scenario.costs.model_copy(update=rent)})


def _purchase_of_address() -> Purchase | None:
    """The way to pay that a link asks for, until the control of the Cost page has taken it from the address."""
    if _PURCHASE in st.session_state:
        return None
    label = st.query_params.get(_PURCHASE)
    return next((name for name, term in TERMS.items() if term.label == label), None)


def with_costs(scenario: Scenario) -> Scenario:
    """The scenario with what the session says about costs, as the Cost page computes it.

    Raises ValidationError where that cannot be.
    """
    given = as_costs({key: st.session_state[key] for key in COST_CHOICES if key in st.session_state})
    if scenario.costs.api.chosen and not st.session_state.get("cost_api"):
        given.pop("api", None)
    given |= st.session_state.get(COST_BOOK, {})
    if not given:
        return scenario
    return scenario.model_copy(update={"costs": Costs.model_validate(scenario.costs.model_dump() | given)})
