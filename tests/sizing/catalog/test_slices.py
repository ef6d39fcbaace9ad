"""Slices of GPUs: shares of a card, one of seven, packing, and what is refused."""

from itertools import product

import pytest
import yaml

from sharing.manifests.bundle import manifests
from sizing import plan
from sizing.base.errors import InvalidScenario, UnknownName
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.slices import mig_profiles, profiles_of, slice_of
from sizing.explore.shared_pool import place
from sizing.planning.answered import Answer
from sizing.prices.hardware import options
from sizing.prices.slice_packing import cards_for, cuts_of
from sizing.scenario.prices import Prices
from sizing.scenario.schema import Scenario
from tests.sizing.asking import LLAMA_8B


def asked(name="slices", rps=1.0, **deployment):
    return Scenario.model_validate(
        {
            "schema_version": 1,
            "name": name,
            "model": LLAMA_8B,
            "workload": {"input_tokens": 500, "output_tokens": 100, "peak_rps": rps},
            "limits": {"ttft_ms": 3000, "itl_ms": 100},
            "deployment": {
                "gpus": ["h100_sxm"],
                "engines": ["vllm"],
                "precisions": ["fp8"],
                "slice": "1g.20gb",
                **deployment,
            },
        }
    )


def test_one_slice_of_seven_by_hand():
    """1g.10gb of an H100: an eighth of memory and bandwidth, 16 of 132 SMs, no link; seven to a card, whose price and
    systems they share."""
    card = gpus()["h100_sxm"]
    part = slice_of(card, "1g.10gb")
    assert part.memory_bytes == card.memory_bytes / 8
    assert part.memory_bandwidth == card.memory_bandwidth / 8
    assert part.bf16_flops == pytest.approx(card.bf16_flops * 16 / 132, rel=1e-3)
    assert (part.domain_gpus, part.link_bytes_per_s, part.kernel_tables) == (1, None, "")
    whole, cut = options(card, "on_prem", Prices()), options(part, "on_prem", Prices())
    for one, other in zip(whole, cut, strict=True):
        assert other.gpus == 7 * one.gpus
        assert other.usd_per_hour == one.usd_per_hour
    assert gpus()[part.id] == part
    assert part.id not in list(gpus())


@pytest.mark.parametrize(
    ("card", "profile", "memory_gib", "per_card"),
    [("a100_sxm_40g", "1g.5gb", 5, 7), ("h200_sxm", "3g.71gb", 71, 2), ("b200_sxm", "2g.45gb", 45, 3)],
)
def test_names_of_slices_are_their_memory(card, profile, memory_gib, per_card):
    part = slice_of(gpus()[card], profile)
    assert part.memory_bytes / 1e9 == pytest.approx(memory_gib, rel=0.12)
    assert part.slices_per_card == per_card


def test_even_parts_are_even():
    part = slice_of(gpus()["l4"], "1/4")
    assert part.memory_bandwidth == gpus()["l4"].memory_bandwidth / 4
    assert part.slices_per_card == 4
    with pytest.raises(UnknownName, match="1/8"):
        slice_of(gpus()["l4"], "1/12")


def test_every_profile_fits_its_card():
    for one in mig_profiles():
        assert one.gpu_id in gpus()
        assert one.instances * one.memory_slices <= one.memory_of
        assert cards_for(one.gpu_id, {one.profile: one.instances}) == 1
        assert cards_for(one.gpu_id, {one.profile: one.instances + 1}) == 2


def test_cards_are_as_few_as_by_brute_force():
    names = ("1g.10gb", "2g.20gb", "3g.40gb")
    known = profiles_of("h100_sxm")
    cuts = cuts_of("h100_sxm", names)
    for wanted in product((0, 1, 3, 5), (0, 2, 4), (0, 1, 2)):
        counts = dict(zip(names, wanted, strict=True))
        if not any(wanted):
            continue
        least = next(n for n in range(1, 8) if _held(cuts, wanted, n))
        assert cards_for("h100_sxm", counts) == least, counts
    assert all(sum(known[n].compute_slices * k for n, k in zip(names, cut, strict=True)) <= 7 for cut in cuts)


def _held(cuts, wanted, cards):
    left = {wanted}
    for _ in range(cards):
        left = {tuple(max(a - b, 0) for a, b in zip(rest, cut, strict=True)) for rest in left for cut in cuts}
    return any(not any(rest) for rest in left)


def test_a_plan_on_slices_has_one_to_an_instance_and_says_that_it_is_a_prior():
    found = plan(asked())
    assert found.deployment.gpu == "h100_sxm__1g_20gb"
    assert (found.deployment.tp, found.deployment.pools) == (1, None)
    said = next(w for w in found.warnings if w.code == "slice")
    assert "no measurement validates" in said.message
    assert "25 % of the bandwidth" in said.message


@pytest.mark.parametrize(
    ("gpu", "name", "nearest"),
    [("h100_sxm", "2g.30gb", "2g.20gb"), ("l4", "1g.10gb", "1/2"), ("h100_sxm", "tiny", "1g.10gb")],
)
def test_a_slice_that_a_card_does_not_have_is_refused_with_the_nearest(gpu, name, nearest):
    with pytest.raises(InvalidScenario, match=nearest):
        plan(asked(gpus=[gpu], slice=name))


def test_unnamed_cards_are_those_that_can_be_cut_so():
    found = plan(asked(gpus=[], slice="1g.10gb", precisions=["int4_awq"], accurate_formats_only=False))
    cards = {found.deployment.gpu.partition("__")[0]}
    assert cards <= {one.gpu_id for one in mig_profiles() if one.profile == "1g.10gb"}


def test_seven_small_workloads_share_one_card():
    """Apart each would take a card of its own kind of system; cut into seven, one system carries them all."""
    pool = place([asked(f"one {n}", 0.5, slice="1g.20gb") for n in range(4)])
    assert pool.feasible
    assert sum(one.systems for one in pool.systems) == 1
    assert pool.systems[0].gpus_used == 1


def test_a_pool_of_several_slices_is_packed_as_cards_are_cut():
    """Three 2g.20gb and one 1g.10gb fit one card (7 of 7 compute slices), though 3/3 + 1/7 is more."""
    assert cards_for("h100_sxm", {"2g.20gb": 3, "1g.10gb": 1}) == 1


def test_manifests_ask_for_the_slice():
    files = manifests(Answer.of(asked()))
    pods = [text for name, text in files.items() if name.endswith(".yaml") and "nvidia.com/mig-1g.20gb" in str(text)]
    assert pods
    assert not any("nvidia.com/gpu:" in str(yaml.safe_dump(one)) for one in pods)
