"""What the roofline adds for unusual layers, and how software ages it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from sizing.candidates import Configuration, table
from sizing.catalog import gpus, models
from sizing.engines import engines
from sizing.precision import precisions
from sizing.steps.efficiency import efficiencies
from sizing.steps.roofline import Roofline, roofline
from sizing.steps.times import Traffic

TRAFFIC = Traffic(input_tokens=2000, output_tokens=500)
MINIMAX = "MiniMaxAI/MiniMax-M2.5"


def configuration(tp: int, gpu: str = "h200_sxm", precision: str = "fp8") -> Configuration:
    return Configuration(
        gpu=gpus()[gpu], engine=engines()["vllm"], precision=precisions()[precision], kv_precision="fp16", tp=tp
    )


@pytest.mark.parametrize(("tp", "collectives"), [(1, 0), (2, 62), (8, 62)])
def test_norms_over_all_heads_cost_a_collective_a_layer(tp, collectives):
    """62 layers of MiniMax-M2.5, each with one all-reduce of a few bytes: its latency alone."""
    model, fit = models()[MINIMAX], efficiencies()
    row = table([configuration(tp)])
    with_norms, without = (
        roofline().times(m, row, TRAFFIC, np.array([[8.0]])).decode_s.item()
        for m in (model, replace(model, norm_collectives=0))
    )
    engine = fit.overhead("vllm")
    latency = fit.common.collective_s * engine.collective * (max(tp, 2) / 2) ** fit.common.collective_growth
    device = engine.scale * fit.platform("vllm", "hopper").device
    assert with_norms - without == pytest.approx(collectives * latency * device)


def test_olmo_gathers_queries_and_keys_apart():
    assert models()["allenai/OLMo-2-1124-7B-Instruct"].norm_collectives == 2 * 32
    assert models()["MiniMaxAI/MiniMax-M3"].norm_collectives == 0, "its norms are per head"


def test_old_matrices_are_slower_by_their_own_ageing():
    """A family whose matrix arithmetic ages at log 2 a year: its prompts of a year ago are bound by half the rate."""
    fit = efficiencies()
    row, model = table([configuration(1, "l40s", "bf16")]), models()["meta-llama/Meta-Llama-3.1-8B"]

    def work_s(year: float, ageing: float) -> float:
        family = replace(fit.device("ada"), wide_ageing=ageing)
        changed = replace(fit, families=MappingProxyType({**fit.families, "ada": family}))
        return float(Roofline(changed, year).times(model, row, TRAFFIC, np.array([[1.0]])).prefill_work_s[0])

    assert work_s(2026.0, 0.0) == pytest.approx(work_s(2026.0, np.log(2.0)))
    assert 1.6 < work_s(2025.0, np.log(2.0)) / work_s(2025.0, 0.0) <= 2.0, "all but attention"
