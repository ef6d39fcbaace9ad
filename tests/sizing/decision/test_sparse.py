"""2:4-sparse weights: bytes by hand, products as much faster as was measured, and where there are kernels."""

from typing import Any

import pytest

from sizing.catalog import gpus, models
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.catalog.weights import embedding_parameters, weight_bytes
from sizing.decision.lever_changes import default_settings
from sizing.decision.lever_text import kept_accuracy, tried
from sizing.decision.levers import LeverRow, levers
from sizing.decision.outcome import Answers
from sizing.decision.sparse import made_sparse, sparse_bytes, sparse_facts
from sizing.planning.analytic import analytic_plan
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.question.understand import understand
from sizing.scenario import Scenario
from sizing.search.replicas import PlannedReplicas
from sizing.simulator.configured import configured_replica

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def asked(model: Any = LLAMA, **deployment: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "model": model,
            "workload": {"input_tokens": 1024, "output_tokens": 512, "peak_rps": 90},
            "limits": {"ttft_ms": 2000, "itl_ms": 50},
            "deployment": {"gpus": ["h100_sxm"], **deployment},
        }
    )


def row_of(scenario: Scenario) -> tuple[LeverRow, Answers]:
    answers = Answers(lambda one: analytic_plan(one, alternatives=0))
    rows = {row.name: row for row in levers(scenario, default_settings(), answers)}
    return rows["sparsity_2_4"], answers


def planned(gpu: str = "h100_sxm", name: str = LLAMA) -> tuple[PlannedReplicas, Any, Traffic]:
    question = understand(asked(name))
    row = Configuration(gpu=gpus()[gpu], engine=engines()["vllm"], precision=precisions()["fp8"], kv_precision="fp16")
    replica = configured_replica(question.model, row, question.traffic)
    return PlannedReplicas(row=row, working=1, replica=replica), question.model, question.traffic


@pytest.mark.parametrize(("width", "each"), [(1.0, 0.625), (2.0, 1.125), (0.5, 0.375)])
def test_bytes_of_a_sparse_weight(width: float, each: float) -> None:
    """Half of the values and two bits for each of them: an FP8 weight takes (1 + 0.25) / 2."""
    assert sparse_bytes(width) == each


def test_what_sparse_weights_free_becomes_kv_cache() -> None:
    """Llama 3.1 8B at FP8: 6.98 billion quantised parameters x 0.375 bytes are free for a KV cache of 131,072 bytes a
    token."""
    dense, model, traffic = planned()
    sparse = made_sparse(dense, model, traffic)
    quantised = models()["meta-llama/Meta-Llama-3.1-8B"].params_total - embedding_parameters(model)
    freed = quantised * (1.0 - sparse_bytes(1.0))
    token = 2 * 32 * 8 * 128 * 2.0
    assert sparse.replica.kv_tokens - dense.replica.kv_tokens == pytest.approx(freed / token, rel=0.02)
    assert weight_bytes(model, precisions()["fp8"]) > freed


def test_steps_gain_what_products_have_of_them() -> None:
    """Measured on an H100 with 32 in flight: 1.20 times the tokens/s of dense FP8; a long product alone 1.22."""
    dense, model, traffic = planned()
    sparse = made_sparse(dense, model, traffic)
    gain = dense.replica.grid.decode_s / sparse.replica.grid.decode_s
    assert gain[32, 2] == pytest.approx(7983.6 / 6634.8, rel=0.02)
    assert (gain[1:] >= 1.0).all()
    assert (gain <= sparse_facts().streaming_gain).all()
    rows = slice(1, None)
    prompts = dense.replica.grid.row_s[rows] / sparse.replica.grid.row_s[rows]
    assert (prompts >= 1.0 - 1e-9).all()
    assert prompts[-1] == pytest.approx(sparse_facts().products_gain, rel=0.05)
    assert (prompts <= sparse_facts().streaming_gain + 1e-9).all()
    assert sparse.replica.grid.full_pair_s == dense.replica.grid.full_pair_s


def test_the_plan_with_sparse_weights_needs_no_more_of_the_same_hardware() -> None:
    row, answers = row_of(asked(engines=["vllm"], precisions=["fp8"], tp=[1]))
    base = answers.outcome(asked(engines=["vllm"], precisions=["fp8"], tp=[1]))
    assert row.standing == "simulated"
    assert row.outcome.feasible
    assert (row.outcome.gpu, row.outcome.engine, row.outcome.precision) == ("h100_sxm", "vllm", "fp8")
    assert 0.7 * base.gpus <= row.outcome.gpus <= base.gpus
    assert "0.19.0" in row.basis
    assert tried(row).startswith("two of every four weights zero")


def test_accuracy_is_that_of_the_published_checkpoint() -> None:
    row, _ = row_of(asked())
    assert [round(one.kept, 3) for one in row.accuracy] == [0.984, 0.973]
    assert kept_accuracy(row).startswith("neuralmagic/Sparse-Llama-3.1-8B-2of4: OpenLLM v1, mean 62.16 of 63.19 (98")
    other, _ = row_of(asked("Qwen/Qwen3-8B"))
    assert other.outcome is not None
    assert other.accuracy == ()
    assert "would have to be made" in kept_accuracy(other)


@pytest.mark.parametrize(
    ("model", "gpu", "obstacle"),
    [
        (LLAMA, "a100_sxm_80g", "no_kernel"),
        (LLAMA, "b200_sxm", "no_kernel"),
        (LLAMA, "mi300x", "no_kernel"),
        ("mistralai/Mixtral-8x7B-v0.1", "h100_sxm", "experts"),
    ],
)
def test_without_kernels_it_says_so(model: str, gpu: str, obstacle: str) -> None:
    row, _ = row_of(asked(model, gpus=[gpu]))
    assert (row.standing, row.obstacle, row.outcome) == ("not_applicable", obstacle, None)
    assert tried(row)


def test_arrivals_that_change_with_the_hour_are_not_simulated_so() -> None:
    scenario = asked()
    profile = {"arrivals": {"profile": [0.2] * 12 + [1.0] * 12}}
    changed = scenario.model_dump(mode="json")
    changed["workload"] |= profile
    row, _ = row_of(Scenario.model_validate(changed))
    assert row.obstacle == "not_simulated"
