"""A plan with 2:4-sparse weights: of every four weights two are kept, and sparse tensor cores skip the others.

Kept weights are FP8, each with the two bits that say where among its four it stood.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.model import Model
from sizing.catalog.precisions import BYTE, precisions
from sizing.decision.keys import with_values
from sizing.decision.lever_changes import Obstacle, ScenarioChange, lever_facts
from sizing.decision.other_instances import simulated_instances, with_other_instances
from sizing.decision.outcome import Answers, Outcome
from sizing.planning.answered import Answer
from sizing.question.traffic import Traffic
from sizing.question.understand import model_of
from sizing.search.replicas import PlannedReplicas
from sizing.simulator.configured import KvTokens, configured_replica, kv_tokens
from sizing.simulator.fleet import Replica
from sizing.simulator.step_grid import StepGrid
from sizing.steps.efficiency import efficiencies
from sizing.steps.roofline import Roofline

LEVER = "sparsity_2_4"

KEPT_OF_FOUR, PLACE_BITS = 2, 2
"""Weights kept of every four, and the bits that say where one of them stood (CUTLASS, sparse GEMM: metadata of two
bits a non-zero)."""

BITS_PER_BYTE = 8


def sparse_bytes(width: float) -> float:
    """Bytes per weight of a 2:4-sparse matrix whose kept weights are ``width`` bytes wide: (width + 2 / 8) x 2 / 4.

    0.625 at FP8, 1.125 at 16 bit.
    """
    return (width + PLACE_BITS / BITS_PER_BYTE) * KEPT_OF_FOUR / 4.0


@dataclass(frozen=True, kw_only=True)
class SparseFacts:
    """Where 2:4-sparse weights run and what they give, as published: generations of GPUs and the engine with kernels,
    the format of what is kept, and how many times as fast a sparse product is as a dense one of that format where
    arithmetic binds, and where its weights are streamed."""

    generations: tuple[str, ...]
    engine: str
    precision: str
    products_gain: float
    streaming_gain: float


@cache
def sparse_facts() -> SparseFacts:
    """What ``levers.yaml`` says of kernels for 2:4 sparsity."""
    kernels = lever_facts()[LEVER]["kernels"]
    return SparseFacts(**{**kernels, "generations": tuple(kernels["generations"])})


def dense_twin(answer: Answer) -> ScenarioChange | Obstacle:
    """The scenario on the GPU of its plan with the engine and the format that sparse kernels exist for."""
    facts, deployed = sparse_facts(), answer.plan.deployment
    if deployed is None:
        return "not_simulated"
    gpu = next((one for one in answer.question.gpus if one.id == deployed.gpu), None)
    if gpu is None or gpu.generation not in facts.generations:
        return "no_kernel"
    if model_of(answer.scenario).is_moe:
        return "experts"
    return ScenarioChange(
        values={
            "deployment.gpus": [deployed.gpu],
            "deployment.engines": [facts.engine],
            "deployment.precisions": [facts.precision],
        }
    )


def with_sparse_weights(answer: Answer, answers: Answers) -> tuple[ScenarioChange, Outcome] | Obstacle:
    """The dense deployment on the plan's GPU with its weights 2:4-sparse: the same layout, the fewest instances that
    hold every limit as surely. Raises InvalidScenario as :meth:`Answers.answer`."""
    change = dense_twin(answer)
    if not isinstance(change, ScenarioChange):
        return change
    scenario = with_values(answer.scenario, change.values)
    dense = None if scenario is None else answers.answer(scenario)
    instances = None if dense is None else simulated_instances(dense)
    if dense is None or instances is None:
        return "not_simulated"
    sized, expected = (made_sparse(one, dense.question.model, dense.question.traffic) for one in instances)
    outcome = with_other_instances(dense, sized, expected.replica, too_few=0)
    return "not_simulated" if outcome is None else (change, outcome)


def made_sparse(chosen: PlannedReplicas, model: Model, traffic: Traffic) -> PlannedReplicas:
    """The instances with sparse weights: products as much faster as was measured, and more KV cache."""
    facts, row = sparse_facts(), chosen.row
    dense = configured_replica(model, row, traffic)
    faster = Roofline(efficiencies(), products_gain=facts.products_gain, streaming_gain=facts.streaming_gain)
    sparse = configured_replica(model, row, traffic, source=faster)
    cache = sparse_kv_tokens(chosen, model, traffic)
    room = chosen.replica.kv_tokens * cache.capacity / dense.kv_tokens
    grid = _moved(chosen.replica.grid, dense, sparse)
    return replace(chosen, replica=replace(chosen.replica, grid=grid, kv_tokens=room))


def sparse_kv_tokens(chosen: PlannedReplicas, model: Model, traffic: Traffic) -> KvTokens:
    """The KV cache that sparse weights leave. The size of a dense checkpoint says nothing of them."""
    precision = replace(precisions()[chosen.row.precision.id], bytes=sparse_bytes(BYTE))
    return kv_tokens(replace(model, stored_bytes=()), replace(chosen.row, precision=precision), traffic)


def _moved(grid: StepGrid, dense: Replica, sparse: Replica) -> StepGrid:
    """The grid with every duration changed as from the dense to the sparse one, so that how slow the plan takes its
    steps to be stays as it is."""

    def ratio(then: Floats, now: Floats) -> Floats:
        return np.divide(then, now, out=np.ones_like(now), where=now > 0)

    before, after = dense.grid, sparse.grid
    return replace(
        grid,
        decode_s=grid.decode_s * ratio(after.decode_s, before.decode_s),
        row_s=grid.row_s * ratio(after.row_s, before.row_s),
        own_s=grid.own_s * ratio(after.own_s, before.own_s),
        lag_s=grid.lag_s * ratio(after.lag_s, before.lag_s),
    )
