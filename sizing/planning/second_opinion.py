"""The chosen deployment once more by the roofline alone, without measured kernels, to see whether both agree."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sizing.base.format import requests_per_s, significant
from sizing.base.result import CrossCheck
from sizing.base.units import MS_PER_S
from sizing.deployments.candidates import table
from sizing.planning.explain import Stated
from sizing.queueing.capacity import at_rate
from sizing.search.screen import evaluate, expected, instances_needed
from sizing.steps.kernel_times import covered

ALONE = "the roofline alone"
NOTHING_PREDICTED = "There is no predicted deployment to check."
AGGREGATED_ONLY = "Only aggregated serving has a second opinion: allow only that to see it."
NOT_COVERED = (
    "The plan rests on the roofline alone: measured kernels are used of mixtures of experts, where there are any for "
    "this model, GPU, engine, format and parallelism."
)
AGREES = 0.15  # differences below this are within the error of either source


def second_opinion(stated: Stated) -> CrossCheck:
    """Capacity of a planned instance that does both by the roofline alone, where the plan has it from measured kernels
    and the roofline together."""
    question = replace(stated.question, benchmark=None)  # an opinion of its own, without the benchmark
    row = table([replace(stated.row, batch_limit=None)])  # the cap was chosen for the plan's step times
    if not len(covered(question.model, row)):
        return no_opinion(NOT_COVERED)
    checked = evaluate(question, row, "roofline")
    if len(checked) == 0 or not checked.capacity.rps[0] > 0:
        return no_opinion(
            f"By {ALONE} this deployment cannot meet the limits at any load.", [s.name for s in checked.sources]
        )
    rps, one, deployed = float(checked.capacity.rps[0]), stated.one, stated.deployed
    instances = int(instances_needed(question.demand.sustained_rps, checked.capacity.rps)[0]) + deployed.spare_instances
    likely = expected(question, checked)
    at = at_rate(likely.state.rps, np.array([one.rps]))
    return CrossCheck(
        source=checked.sources[0].name,
        max_rps=rps,
        instances=instances,
        decode_step_ms=float(at.of(likely.times.decode_s)[0]) * MS_PER_S,
        prefill_ms=float(likely.times.prefill_s[0]) * MS_PER_S,
        message=_finding(rps / one.max_rps - 1, instances, deployed.instances, rps),
    )


def no_opinion(message: str = NOTHING_PREDICTED, sources: Sequence[str] = ()) -> CrossCheck:
    """Why there is no second opinion."""
    return CrossCheck(
        source=sources[0] if sources else "roofline",
        max_rps=None,
        instances=None,
        decode_step_ms=None,
        prefill_ms=None,
        message=message,
    )


def _finding(difference: float, instances: int, planned: int, rps: float) -> str:
    """Agreement or disagreement in one sentence."""
    percent = f"{significant(abs(difference) * 100, 2)} % {'more' if difference > 0 else 'less'}"
    if abs(difference) <= AGREES:
        return f"Agrees: {ALONE} gives {requests_per_s(rps)} per instance, {percent} than the plan."
    return (
        f"Differs: {ALONE} gives {requests_per_s(rps)} per instance, {percent} than the plan, and {instances} "
        f"instances instead of {planned}. Benchmark this deployment before buying."
    )
