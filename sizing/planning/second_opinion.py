"""The chosen deployment once more with step times from another source, to see whether both agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sizing.base.format import requests_per_s, significant
from sizing.base.result import CrossCheck, Plan
from sizing.base.units import MS_PER_S
from sizing.catalog import gpus
from sizing.deployments.candidates import table
from sizing.question.configuration import deployed_configuration
from sizing.question.understand import understand
from sizing.queueing.capacity import at_rate
from sizing.scenario.schema import Scenario
from sizing.search.screen import evaluate, instances_needed
from sizing.steps.kernel import KernelTables

TOGETHER = "kernel tables and roofline together"
AGREES = 0.15  # differences below this are within the error of either source


def with_second_opinion(scenario: Scenario, plan: Plan) -> Plan:
    """The plan with ``cross_check`` filled in."""
    return plan.model_copy(update={"cross_check": second_opinion(scenario, plan)})


def second_opinion(scenario: Scenario, plan: Plan) -> CrossCheck:
    """Capacity of the planned deployment by NVIDIA's kernel tables and the roofline together, not the roofline alone.

    Loading the tables of a GPU and engine takes up to a second the first time.
    """
    if plan.deployment is None or scenario.measured is not None:
        return _none("There is no predicted deployment to check.")
    if plan.deployment.serving == "disaggregated":
        return _none("Kernel tables are compared with aggregated serving only: allow only that to see them.")
    question = replace(understand(scenario), benchmark=None)  # an opinion of its own, without the benchmark
    planned = plan.deployment
    gpu = next((g for g in question.gpus if g.id == planned.gpu), None) or gpus()[planned.gpu]
    row = deployed_configuration(planned, gpu)
    reason = KernelTables().reason(question.model, row)
    if reason:
        return _none(f"The kernel tables have no answer: {reason}.")
    checked = evaluate(question, table([row]), "kernel")
    if len(checked) == 0 or not checked.capacity.rps[0] > 0:
        return _none(
            f"By {TOGETHER} this deployment cannot meet the limits at any load.", [s.name for s in checked.sources]
        )
    rps = float(checked.capacity.rps[0])
    instances = int(instances_needed(plan.peak_rps, checked.capacity.rps)[0]) + plan.deployment.spare_instances
    assert plan.per_instance is not None
    at = at_rate(checked.state.rps, np.array([plan.per_instance.rps]))
    return CrossCheck(
        source=checked.sources[0].name,
        max_rps=rps,
        instances=instances,
        decode_step_ms=float(at.of(checked.times.decode_s)[0]) * MS_PER_S,
        prefill_ms=float(checked.times.prefill_s[0]) * MS_PER_S,
        message=_finding(rps / plan.per_instance.max_rps - 1, instances, plan.deployment.instances, rps),
    )


def _finding(difference: float, instances: int, planned: int, rps: float) -> str:
    """Agreement or disagreement in one sentence."""
    percent = f"{significant(abs(difference) * 100, 2)} % {'more' if difference > 0 else 'less'}"
    if abs(difference) <= AGREES:
        return f"Agrees: {TOGETHER} give {requests_per_s(rps)} per instance, {percent} than the plan."
    return (
        f"Differs: {TOGETHER} give {requests_per_s(rps)} per instance, {percent} than the plan, and {instances} "
        f"instances instead of {planned}. Benchmark this deployment before buying."
    )


def _none(message: str, sources: Sequence[str] = ()) -> CrossCheck:
    return CrossCheck(
        source=sources[0] if sources else "kernel tables",
        max_rps=None,
        instances=None,
        decode_step_ms=None,
        prefill_ms=None,
        message=message,
    )
