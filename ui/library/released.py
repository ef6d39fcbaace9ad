"""Which prices a reader is to see: the words for it, and what a scenario offers."""

from collections.abc import Mapping

from sharing.report.content import Released
from sharing.report.prices import has_own_prices
from sizing.scenario.schema import Scenario

PRICES: Mapping[Released, str] = {
    Released.NOTHING: "No prices",
    Released.LIST_PRICES: "List prices",
    Released.OWN_PRICES: "My own prices",
}


def offered(scenario: Scenario) -> list[Released]:
    """What can be chosen: own prices only where there are some."""
    own = has_own_prices(scenario)
    return [kind for kind in PRICES if own or kind is not Released.OWN_PRICES]
