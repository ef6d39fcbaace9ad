"""The shipped prices: of the right GPU and edition, on a stated basis, dated, and none of them from the future."""

import datetime
from typing import get_args

import pytest

from sizing import catalog
from sizing.base.choices import OtherTerms, PriceBasis
from sizing.economics.dates import first_and_last_day
from tests.sizing.catalog.test_data import rows

KNOWN_ON = datetime.date.fromisoformat(catalog.data_date())

PRICED = {
    "cloud_instances.csv": ("on_demand_usd_per_hour", "price_basis", "date", "source"),
    "gpu_street_prices.csv": ("price_usd_low", "basis", "date", "source"),
    "systems.csv": ("price_usd_low", "price_basis", "price_date", "price_source"),
    "server_hosts.csv": ("price_usd_typical", "price_basis", "price_date", "price_source"),
}
"""File -> the columns of a price, its basis, its date and its source."""


@pytest.mark.parametrize("filename", PRICED)
def test_every_price_states_its_basis_its_date_and_its_source(filename):
    price, basis, date, source = PRICED[filename]
    for row in rows(filename):
        if row[price]:
            assert row[basis] in get_args(PriceBasis), row
            assert row[date].strip(), row
            assert row[source].strip(), row


DATED = {
    "gpus.csv": "source_date",
    "systems.csv": "source_date",
    "lead_times.csv": "date",
    **{name: date for name, (_, _, date, _) in PRICED.items() if name != "systems.csv"},
}


@pytest.mark.parametrize("filename", DATED)
def test_no_fact_is_dated_after_the_facts_were_collected(filename):
    for row in rows(filename):
        days = first_and_last_day(row[DATED[filename]])
        assert days is None or days[0] <= KNOWN_ON, row


def test_the_price_of_no_system_is_dated_after_the_facts_were_collected():
    for system in catalog.systems().values():
        days = first_and_last_day(system.price_date)
        assert days is None or days[0] <= KNOWN_ON, system.id


def test_every_cloud_instance_has_the_memory_of_its_gpu():
    """What the provider sells by the GPU, read of its name or documentation, against the gigabytes of the GPU."""
    for instance in catalog.cloud_instances():
        if instance.gpu_id and instance.gpus:
            known = catalog.gpus()[instance.gpu_id].memory_gb
            assert instance.gpu_memory_gb == pytest.approx(known, rel=0.01), (instance.provider, instance.instance_type)


def test_the_v100_instances_that_sold_thirty_two_gigabytes_have_sixteen():
    small = {(one.provider, one.instance_type) for one in catalog.cloud_instances() if one.gpu_id.endswith("16g")}
    assert {
        ("verda", "1V100.6V"),
        ("azure", "Standard_NC6s_v3"),
        ("oci", "VM.GPU3.1"),
        ("lambda", "gpu_8x_v100"),
    } <= small
    large = {one.instance_type for one in catalog.cloud_instances() if one.gpu_id == "v100_sxm"}
    assert large == {"p3dn.24xlarge", "Standard_ND40rs_v2"}


def test_every_street_price_is_of_the_edition_of_its_gpu_or_says_that_none_is_stated():
    for price in catalog.street_prices():
        assert price.edition in (catalog.gpus()[price.gpu_id].edition, "not stated"), price
        assert "undated" not in price.date, price


def test_gpus_of_one_product_name_differ_in_edition_or_memory():
    named = [(gpu.name, gpu.edition, gpu.memory_gb) for gpu in catalog.gpus().values()]
    assert len(named) == len(set(named))
    assert all(gpu.edition for gpu in catalog.gpus().values())


def test_a_superseded_price_names_the_date_of_one_that_is_there():
    for price in catalog.street_prices():
        if price.superseded:
            newer = {one.date for one in catalog.street_prices() if one.gpu_id == price.gpu_id and not one.superseded}
            assert price.superseded in newer, price


def test_an_offer_on_other_terms_has_a_price_and_no_offer_is_there_twice():
    seen = set()
    for one in catalog.cloud_instances():
        assert one.other_terms in get_args(OtherTerms)
        assert bool(one.other_terms) == (one.other_usd_per_hour is not None), one.instance_type
        key = (one.provider, one.instance_type, one.gpu_id, one.gpus, one.region)
        assert key not in seen, key
        seen.add(key)


def test_availability_is_words_and_no_price_is():
    """ "contact sales" says how to get an instance; a price is a number or not there."""
    for row in rows("cloud_instances.csv"):
        for column in (name for name in row if name.endswith("usd_per_hour")):
            assert not row[column] or float(row[column]) > 0, row
    assert any("contact sales" in one.availability for one in catalog.cloud_instances())


def test_lead_times_are_of_known_gpus_and_say_something():
    for one in catalog.lead_times():
        assert one.gpu_id in catalog.gpus()
        assert one.statement or (one.weeks_low or 0) < (one.weeks_high or 0)
        assert one.source
