"""Each term has its own price, its own label, and a constant that the cost model knows."""

from dataclasses import fields, replace

import pytest

from sizing.base.choices import Purchase
from sizing.catalog import cloud_instances
from sizing.catalog.payment_terms import ASSUMED, TERMS
from sizing.catalog.system import CloudInstance
from sizing.economics.assumptions import assumptions_for
from sizing.scenario.costs import Costs

PRICES = [field.name for field in fields(CloudInstance) if field.name.endswith("_usd_per_hour")]


def test_no_two_terms_share_a_price_or_a_label() -> None:
    columns = {name: float(1 + k) for k, name in enumerate(PRICES)}
    row = replace(cloud_instances()[0], **columns)
    listed = [price for term in TERMS.values() if (price := term.listed(row)) is not None]
    assert len(set(listed)) == len(listed)
    assert len({term.label for term in TERMS.values()}) == len(TERMS)


@pytest.mark.parametrize("name", [name for name in TERMS if f"{name}_usd_per_hour" in PRICES])
def test_a_term_reads_the_column_of_its_name(name: Purchase) -> None:
    row = replace(cloud_instances()[0], **dict.fromkeys(PRICES))
    assert TERMS[name].listed(row) is None
    assert TERMS[name].listed(replace(row, **{f"{name}_usd_per_hour": 12.5})) == 12.5


def test_a_term_that_nobody_lists_costs_by_its_discount() -> None:
    for name, term in TERMS.items():
        assert f"{name}_usd_per_hour" in PRICES or term.discount


def test_the_constants_of_terms_are_constants_of_the_cost_model() -> None:
    assert set(ASSUMED) <= set(assumptions_for(Costs()))
    assert set(ASSUMED) <= set(Costs.model_fields)
