import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import SizingError
from sizing.base.units import HOURS_PER_MONTH
from sizing.catalog import gpus
from sizing.prices.cost import TIE, Offers, cheapest_option, cost_of
from sizing.prices.hardware import HardwareOption, options
from sizing.prices.packing import systems_needed
from sizing.scenario.prices import Prices


def an_option(size=8, usd=10.0, by="listed", power=5.0):
    known = None if by == "unknown" else usd
    return HardwareOption(
        id="x",
        name="x",
        gpu_id="g",
        gpus=size,
        domain_gpus=1,
        usd_per_hour=known,
        usd_per_hour_low=known and known * 0.8,
        usd_per_hour_high=known and known * 1.5,
        system_usd=None,
        system_usd_low=None,
        system_usd_high=None,
        power_kw=power,
        power_from="unknown" if power is None else "listed",
        basis="b.",
        source="s",
        assumed=False,
        kind="system",
        priced_by=by,
    )


def slow_choice(instances, each, offered):
    """The rule of cheapest_option written down for one candidate; returns the index."""

    def worse(one, other):
        (a_first, a_usd, a_systems), (b_first, b_usd, b_systems) = one, other
        if a_first != b_first:
            return a_first > b_first
        if abs(a_usd - b_usd) > TIE * min(a_usd, b_usd):
            return a_usd > b_usd
        return a_systems > b_systems

    keys = []
    for option in offered:
        systems = int(systems_needed(instances, each, option.gpus))
        usd = systems * (option.usd_per_hour or 0.0)
        keys.append(((-(-each // option.gpus), not option.priced), usd, systems))
    best = 0
    for index in range(1, len(keys)):
        if worse(keys[best], keys[index]):
            best = index
    return best


offers = st.lists(
    st.builds(
        an_option,
        st.sampled_from([1, 2, 4, 8, 72]),
        st.integers(1, 40).map(float),
        st.sampled_from(["listed", "rule", "unknown"]),
        st.none() | st.floats(0.1, 100),
    ),
    min_size=1,
    max_size=6,
)
candidate = st.tuples(st.integers(1, 500), st.sampled_from([1, 2, 3, 4, 8, 16, 72]), st.integers(0, 2))


@given(st.lists(offers, min_size=3, max_size=3), st.lists(candidate, min_size=1, max_size=40))
def test_the_vectorised_choice_agrees_with_the_rule(by_gpu, candidates):
    instances, each, gpu = np.array(candidates).T
    chosen = cheapest_option(instances, each, gpu, Offers(by_gpu))
    for row, (n, g, i) in enumerate(candidates):
        option = chosen.options[row]
        assert option is by_gpu[i][slow_choice(n, g, by_gpu[i])]
        assert chosen.systems[row] == systems_needed(n, g, option.gpus)
        assert chosen.gpus_bought[row] == chosen.systems[row] * option.gpus
        for total, single in ((chosen.usd_per_hour, option.usd_per_hour), (chosen.power_kw, option.power_kw)):
            assert (single is None and math.isnan(total[row])) or total[row] == pytest.approx(
                chosen.systems[row] * single
            )


@given(offers, st.integers(1, 500), st.integers(0, 500), st.sampled_from([1, 2, 4, 8, 16]))
def test_more_instances_never_cost_less(offered, instances, more, each):
    chosen = cheapest_option([instances, instances + more], [each, each], [0, 0], Offers([offered]))
    if not math.isnan(chosen.usd_per_hour[0]):
        assert chosen.usd_per_hour[1] >= chosen.usd_per_hour[0] * (1 - TIE)


@pytest.mark.parametrize(
    ("offered", "index"),
    [
        ([an_option(usd=12.0), an_option(usd=11.0)], 1),
        ([an_option(by="unknown"), an_option(usd=500.0)], 1),
        ([an_option(usd=9.0), an_option(usd=1.0, by="rule")], 1),
        ([an_option(size=4, usd=5.0), an_option(size=8, usd=10.0)], 1),
        ([an_option(usd=10.0), an_option(usd=10.0)], 0),
    ],
    ids=["cheapest", "known beats unknown", "by rule beside listed", "fewer systems on a tie", "listed order"],
)
def test_what_is_preferred(offered, index):
    assert cheapest_option([2], [4], [0], Offers([offered])).options[0] is offered[index]


def test_an_instance_is_not_spread_over_single_gpu_machines_because_they_are_cheaper():
    offered = [an_option(size=1, usd=1.0), an_option(size=8, usd=20.0)]
    assert cheapest_option([1, 1], [8, 1], [0, 0], Offers([offered])).options.tolist() == offered[::-1]
    assert cheapest_option([1], [16], [0], Offers([offered])).systems.tolist() == [2]


def test_thirteen_dgx_h100_for_case_1():
    found = options(gpus()["h100_sxm"], "on_prem", Prices())
    dgx = next(option for option in found if option.id == "dgx_h100")
    chosen = cheapest_option([13], [8], [0], Offers([[dgx]]))
    assert (chosen.options[0].id, chosen.systems[0], chosen.gpus_bought[0]) == ("dgx_h100", 13, 104)
    cost = cost_of(dgx, 13, 31 * 500, 31 * 500 * 3600 * 4)
    assert cost.purchase_usd == 13 * 380_000
    assert cost.usd_per_hour == pytest.approx(13 * 380_000 / (5 * 8760)) == pytest.approx(chosen.usd_per_hour[0])
    assert cost.hardware_usd_per_month_low == pytest.approx(13 * 300_000 / (5 * 8760) * 730)
    assert cost.hardware_usd_per_month_high == pytest.approx(13 * 460_000 / (5 * 8760) * 730)
    assert cost.hardware_usd_per_month == pytest.approx(cost.usd_per_hour * HOURS_PER_MONTH)
    at_full_load = cost.usd_per_hour / (15_500 * 3600) * 1e6
    assert cost.usd_per_million_output_tokens_at_full_load == pytest.approx(at_full_load)
    assert cost.usd_per_million_output_tokens == pytest.approx(6 * at_full_load)  # 4 h of the peak a day, 24 h of cost
    assert cost.power_kw == pytest.approx(13 * 10.2)


def test_a_rented_instance_has_no_purchase_price():
    rented = options(gpus()["h100_sxm"], "cloud", Prices(gpu="h100_sxm", gpu_hour_usd=2))[0]
    cost = cost_of(rented, 3, 1000, 1e6)
    assert (cost.system_usd, cost.purchase_usd) == (None, None)
    assert cost.usd_per_hour == pytest.approx(3 * 2 * rented.gpus)


def test_an_unknown_price_stays_unknown():
    cost = cost_of(an_option(by="unknown", power=None), 2, 1000, 1e6)
    assert (cost.usd_per_hour, cost.hardware_usd_per_month, cost.usd_per_million_output_tokens, cost.power_kw) == (
        None,
    ) * 4
    assert cost_of(an_option(), 2, 0, 0).usd_per_million_output_tokens is None


def test_no_candidates_give_empty_arrays():
    assert cheapest_option([], [], [], Offers([[an_option()]])).systems.shape == (0,)


@pytest.mark.parametrize("bad", [0, -1, math.nan, 1.5, 10**13])
def test_a_bad_number_of_systems_is_refused(bad):
    with pytest.raises(SizingError, match="Systems"):
        cost_of(an_option(), bad, 100, 100)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, 1e13])
def test_a_bad_token_rate_is_refused(bad):
    with pytest.raises(SizingError, match="Output tokens"):
        cost_of(an_option(), 1, bad, 100)


@pytest.mark.parametrize(
    ("instances", "each", "gpu", "by_gpu"),
    [
        ([math.nan], [1], [0], [[an_option()]]),
        ([1], [0], [0], [[an_option()]]),
        ([-1], [1], [0], [[an_option()]]),
        ([1], [1], [1], [[an_option()]]),
        ([1], [1], [0], [[]]),
    ],
)
def test_malformed_candidates_are_refused(instances, each, gpu, by_gpu):
    with pytest.raises(SizingError):
        cheapest_option(instances, each, gpu, Offers(by_gpu))


def test_numbers_out_of_the_arrays_are_accepted():
    chosen = cheapest_option([3], [8], [0], Offers([[an_option()]]))
    assert cost_of(an_option(), chosen.systems[0], np.float64(100), 100).usd_per_hour == 30
