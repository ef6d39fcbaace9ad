"""The choices of the Cost page in the words of links and controls, and back."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import get_args

from sizing.base.choices import HybridBase, OptionalPart, Purchase
from sizing.catalog.payment_terms import TERMS
from sizing.catalog.system_rows import cloud_instances
from sizing.economics.assumptions import regions
from sizing.scenario.costs import Costs, Facility, Licence

COST_CHOICES: Mapping[str, str] = MappingProxyType(
    {
        "cost_region": "region",
        "cost_purchase": "purchase",
        "cost_cloud": "cloud_provider",
        "cost_cloud_region": "cloud_region",
        "cost_growth": "growth_percent_per_year",
        "cost_base": "hybrid_base",
        "cost_facility": "facility",
        "cost_licence": "licence",
        "cost_without": "leave_out",
        "cost_ramp": "ramp_up_months",
        "cost_api": "api",
    }
)
"""Choices of the Cost page: the parameter of each, and the key of ``costs`` in a scenario that it sets. They say what
is paid for, and never what it costs: links, reports and released prices hold all of them."""

PURCHASES: Mapping[str, str] = {name: term.label for name, term in TERMS.items()}
BASES: Mapping[str, str] = {"on_prem": "Own systems"} | {n: term.label for n, term in TERMS.items() if term.commits}
FACILITIES: Mapping[str, str] = {"own": "Own data centre", "colocation": "Colocation"}
LICENCES: Mapping[str, str] = {"none": "None", "nvidia_ai_enterprise": "NVIDIA AI Enterprise"}
LEFT_OUT: Mapping[OptionalPart, str] = {
    "support": "Support",
    "switches": "Switches",
    "storage": "Storage",
    "staff": "Staff",
    "capital_charge": "Capital charge",
}
RAMPS: Mapping[str, str] = {"0": "None", "3": "3 months", "6": "6 months", "12": "12 months"}
GROWTHS: Mapping[str, str] = {"0": "None", "10": "10 %", "25": "25 %", "50": "50 %", "100": "100 %"}
for _words, _type in ((PURCHASES, Purchase), (BASES, HybridBase), (FACILITIES, Facility), (LICENCES, Licence)):
    assert set(_words) == set(get_args(_type)), _type


def region_words() -> dict[str, str]:
    """Regions that electricity is priced in, with the words for them."""
    return {name: name.replace("_", " ").title() for name in regions()}


@cache
def cost_options() -> Mapping[str, Mapping[str, str]]:
    """By key of the address: what each choice may be, by its words there. The provider of an API is not among them:
    which there are depends on the model."""
    rows = cloud_instances()
    words: Mapping[str, Mapping[str, str]] = {
        "cost_region": region_words(),
        "cost_purchase": PURCHASES,
        "cost_cloud": {row.provider: row.provider for row in rows},
        "cost_cloud_region": {row.region: row.region for row in rows},
        "cost_growth": GROWTHS,
        "cost_base": BASES,
        "cost_facility": FACILITIES,
        "cost_licence": LICENCES,
        "cost_without": {str(part): word for part, word in LEFT_OUT.items()},
        "cost_ramp": RAMPS,
    }
    return MappingProxyType({key: {word: value for value, word in of.items()} for key, of in words.items()})


def in_words(costs: Costs) -> dict[str, list[str]]:
    """The choices of a scenario as an address says them, defaults left out, and what its words cannot say."""
    addressed: dict[str, list[str]] = {}
    for key, options in cost_options().items():
        stated, default = getattr(costs, COST_CHOICES[key]), Costs.model_fields[COST_CHOICES[key]].default
        if stated in (default, None):
            continue
        words = {value: word for word, value in options.items()}
        texts = [words.get(_plain(one)) for one in (stated if isinstance(stated, tuple) else (stated,))]
        if all(texts):
            addressed[key] = [text for text in texts if text]
    return addressed


def chosen(key: str, texts: Sequence[str]) -> str | list[str] | None:
    """What the words of an address choose; None where they choose nothing."""
    values = [cost_options()[key][text] for text in texts if text in cost_options()[key]]
    if not values:
        return None
    return values if key == "cost_without" else values[-1]


def _plain(value: object) -> str:
    """ "25" of 25.0, as the choices are written."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)
