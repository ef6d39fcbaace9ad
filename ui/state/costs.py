"""What the session says about costs: choices of the Cost page, and what was typed into its book of constants."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from sharing.form.cost_words import COST_CHOICES, chosen, cost_options
from sizing.base.errors import alternatives, nearest_names
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario
from ui.state import views

COST_BOOK = "cost_book"
"""Session key of what was typed into the book, by constant."""

RENT = ("purchase", "cloud_provider", "cloud_region", "reserved_1y_discount_percent", "reserved_3y_discount_percent")
"""Constants that say from whom and how instances are rented (:attr:`sizing.scenario.costs.Costs.rent`)."""

COST_PAGE = "cost"


def as_costs(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the controls of these session keys say, as a scenario says it; of an API the provider."""
    stated = {field: chosen[key] for key, field in COST_CHOICES.items() if key in chosen}
    stated |= {field: stated[field] or None for field in ("cloud_provider", "cloud_region") if field in stated}
    return stated | ({"api": {"provider": stated["api"] or None}} if "api" in stated else {})


def with_rent(scenario: Scenario) -> Scenario:
    """The scenario with how the session says that instances are rented: it decides what is planned in the cloud.

    As it is where what was typed as costs cannot be, which the Cost page says.
    """
    if scenario.deployment.location != "cloud":
        return scenario
    try:
        stated = with_costs(scenario).costs
    except ValidationError:
        return scenario
    rent = {name: getattr(stated, name) for name in RENT}
    return scenario.model_copy(update={"costs": scenario.costs.model_copy(update=rent)})


def _of_link() -> dict[str, Any]:
    """What a link asks for of the choices of the Cost page, until its controls have taken them from the address."""
    texts = views.carried(COST_PAGE, cost_options())
    linked = {
        key: chosen(key, texts.get(key, st.query_params.get_all(key)))
        for key in cost_options()
        if key not in st.session_state
    }
    return {key: value for key, value in linked.items() if value is not None}


def wrong_costs(address: Mapping[str, list[str]]) -> tuple[str, ...]:
    """A sentence for each choice of the Cost page in an address that cannot be, with what it may mean."""
    sentences = []
    for key, options in cost_options().items():
        for text in (text for text in address.get(key, ()) if text not in options):
            near = nearest_names(text, options)
            meant = f" Did you mean {alternatives(near)}?" if near else ""
            sentences.append(f"The link's {key} is “{text[:40]}”, which is not known here: it was left out.{meant}")
    return tuple(sentences)


def with_costs(scenario: Scenario) -> Scenario:
    """The scenario with what the session says about costs, as the Cost page computes it.

    Raises ValidationError where that cannot be.
    """
    given = as_costs(_of_link() | {key: st.session_state[key] for key in COST_CHOICES if key in st.session_state})
    if scenario.costs.api.chosen and not st.session_state.get("cost_api"):
        given.pop("api", None)
    given |= st.session_state.get(COST_BOOK, {})
    if not given:
        return scenario
    return scenario.model_copy(update={"costs": Costs.model_validate(scenario.costs.model_dump() | given)})
