"""What hardware sustains: limits of power and of the datasheet, and how a vendor's library matures."""

from dataclasses import replace

import numpy as np
import pytest

from sizing.catalog import gpus, resolve_model
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.steps.efficiency import IN_PIECES, TODAY, efficiencies
from sizing.steps.hardware import hardware, power_of, products_per_lane
from sizing.steps.rates import rates
from sizing.steps.shape import shape_of


def configuration(gpu: str, precision: str = "bf16") -> Configuration:
    return Configuration(
        gpu=gpus()[gpu], engine=engines()["vllm"], precision=precisions()[precision], kv_precision="fp16"
    )


def test_a_vendors_library_matures():
    """Hopper of 2022.8 gains until 2025.8, log 2 a year: of 2024.8 by half; Ampere of 2020.4 gained all by 2023.4."""
    fit = efficiencies()
    growing = replace(fit, common=replace(fit.common, matrix_ageing=np.log(2.0)))
    row = table([configuration(name) for name in ("h100_sxm", "a100_sxm_80g")])

    def share(year: float) -> list[float]:
        steady = replace(fit, common=replace(fit.common, matrix_ageing=0.0))
        return [
            float(a / b)
            for a, b in zip(
                rates(row, hardware(row), growing, year).matrix[:, 0],
                rates(row, hardware(row), steady, year).matrix[:, 0],
                strict=True,
            )
        ]

    assert share(2025.9) == [1.0, 1.0]
    assert share(2024.8) == pytest.approx([0.5, 1.0])
    assert share(2022.4) == pytest.approx([2.0**-3.4, 0.5])


def test_power_limits_the_sustained_rate():
    """A100: 400 W for 312 TFLOP/s are 1.81 times the watts per FLOP/s of the H100 (700 W for 989.4); at an exponent of
    0.4 its matrices sustain 1.81^0.4 = 1.268 times the share."""
    fit = efficiencies()
    flat, steep = (replace(fit, common=replace(fit.common, power=p)) for p in (0.0, 0.4))
    row = table([configuration("a100_sxm_80g"), configuration("h100_sxm")])
    speed = [rates(row, hardware(row), f, 2026.0).matrix[:, 0] for f in (flat, steep)]
    assert speed[1] / speed[0] == pytest.approx([(400.0 / 312.0e12 / (700.0 / 989.4e12)) ** 0.4, 1.0], rel=2e-3)


def test_no_power_lifts_a_rate_above_the_datasheet():
    """A10G: 300 W for 70 TFLOP/s; and a GPU whose power is unknown has the share of the H100."""
    fit = efficiencies()
    high = replace(fit, common=replace(fit.common, power_within=3.0))
    row = table([configuration("a10g"), configuration("gh200")])
    facts = hardware(row)
    assert facts.power_within[1, 0] == 1.0
    speed = rates(row, facts, high, 2026.0)
    assert speed.matrix[0, 0] == pytest.approx(facts.matrix[0, 0])
    assert speed.matrix[1, 0] == rates(row, facts, fit, 2026.0).matrix[1, 0]


def test_within_a_family_less_power_sustains_less():
    """H100 NVL: 400 W for 835.5 TFLOP/s are 0.677 times the watts per FLOP/s of the family's SXM part, which has the
    family's own factor; at an exponent of 0.7 its matrices sustain 0.677^0.7 = 0.761 times the share."""
    fit = efficiencies()
    flat, steep = (replace(fit, common=replace(fit.common, power_within=p)) for p in (0.0, 0.7))
    row = table([configuration(name) for name in ("h100_nvl", "h100_sxm", "b200_sxm")])
    assert hardware(row).power[:, 0] == pytest.approx([1.0, 1.0, power_of(gpus()["b200_sxm"])], rel=1e-3)
    speed = [rates(row, hardware(row), f, 2026.0).matrix[:, 0] for f in (flat, steep)]
    assert speed[1] / speed[0] == pytest.approx([0.761, 1.0, 1.0], rel=2e-3)


@pytest.mark.parametrize(("watts", "relative"), [(1.0, 0.5), (700.0, 1.0), (100_000.0, 8.0)])
def test_an_impossible_power_is_taken_for_the_nearest_of_the_catalogue(watts, relative):
    odd = replace(gpus()["h100_sxm"], tdp_w=watts)
    facts = hardware(table([replace(configuration("h200_sxm", "fp8"), gpu=odd)]))
    assert (facts.power * facts.power_within)[0, 0] == pytest.approx(relative, rel=1e-3)
    # Pascal has no matrix units, so that its watts per FLOP/s lie beyond the range and are taken for its end.
    assert all(0.5 < p < 8.0 for g in gpus().values() if g.tdp_w and g.family != "pascal" for p in [power_of(g)])


def test_experts_are_no_faster_than_the_datasheet():
    fit = efficiencies()
    fast = replace(fit, common=replace(fit.common, expert_matrix=5.0))
    row = table([configuration("h200_sxm", "fp8")])
    assert rates(row, hardware(row), fast, 2026.0).expert_matrix[0, 0] == hardware(row).matrix[0, 0]


@pytest.mark.parametrize(
    ("gpu", "share"),
    [
        ("a100_sxm_80g", 0.61),  # Marlin, 4,000 rows: 141 of 232 TFLOP/s (vLLM, pull request 2497)
        ("rtx_6000_ada", 0.82),  # Marlin, 16,384 rows (IST-DASLab/marlin, issue 21)
        ("rtx_4090", 0.99),  # Marlin, 1,024 rows on a card of 168 TFLOP/s (vLLM, pull request 24722)
        ("l40s", 0.83),  # experts in MXFP4 beside 16 bit, vLLM 0.24 (aisimulate 0.13)
        ("h100_sxm", 0.43),  # what serving on Hopper was fitted to
    ],
)
def test_widened_weights_are_held_back_most_where_matrix_units_are_fastest_beside_the_lanes(gpu, share):
    """Of what was measured on the H100 alone, which is fitted: kernels elsewhere within an eighth."""
    row = gpus()[gpu]
    assert efficiencies().widened_rate("vllm", row.family, products_per_lane(row)) == pytest.approx(share, rel=0.12)


def test_widening_on_gpus_of_other_makers_costs_what_it_does_on_the_h100():
    amd, hopper = (gpus()[name] for name in ("mi300x", "h100_sxm"))
    assert products_per_lane(amd) == pytest.approx(products_per_lane(hopper), rel=0.01)


def test_what_was_measured_by_itself_keeps_its_own_rate():
    fit = efficiencies()
    assert fit.widened_rate("llamacpp", "apple", 5.0) == fit.widened["apple"]
    own = fit.widened["llamacpp on blackwell"]
    assert fit.widened_rate("llamacpp", "blackwell", 0.3) == own < fit.widened_rate("vllm", "blackwell", 0.3)


@pytest.mark.parametrize(
    ("engine", "gpu", "layout", "year", "replayed"),
    [
        ("sglang", "h100_sxm", {}, TODAY, True),
        ("sglang", "h100_sxm", {}, 2026.2, False),
        ("sglang", "h100_sxm", {"pp": 2}, TODAY, False),
        ("sglang", "h100_sxm", {"dp": 2}, TODAY, False),
        ("sglang", "mi355x", {}, TODAY, False),
        ("trtllm", "h100_sxm", {}, TODAY, False),
        ("vllm", "h100_sxm", {}, TODAY, False),
    ],
)
def test_sglang_replays_prompts_in_pieces_since_0_5_10(engine, gpu, layout, year, replayed):
    """On NVIDIA GPUs, without pipeline stages and attention-DP; vLLM always did, which its fitted launches say."""
    row = table([replace(configuration(gpu), engine=engines()[engine], **layout)])
    found = rates(row, hardware(row), efficiencies(), year)
    assert bool(found.in_pieces[0, 0] < found.eager[0, 0]) is replayed
    if replayed:
        assert found.in_pieces / found.eager == pytest.approx(
            efficiencies().overhead(IN_PIECES).eager / efficiencies().overhead(engine).eager
        )


@pytest.mark.parametrize(
    ("model", "captured"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", True),
        ("MiniMaxAI/MiniMax-M2.5", True),
        ("moonshotai/Kimi-K2.5", False),
        ("deepseek-ai/DeepSeek-V4-Pro", False),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", False),
        ("Qwen/Qwen3-VL-8B-Instruct", False),
    ],
)
def test_images_latent_and_recurrent_layers_are_not_captured(model, captured):
    assert shape_of(resolve_model(model).model).captured_prompts == float(captured)
