"""How long the instances of an answer take to start, where the scenario says what they read their weights from."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sizing.base.format import significant
from sizing.base.units import S_PER_MINUTE
from sizing.catalog.model import Model
from sizing.deployments.start_time import StartTime, can_sleep, start_time, storage_label
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario

RENTED_S = 120.0
"""Seconds until a rented machine runs, before its instance starts. Chosen: what the default start-up of rented
instances (5 minutes, ``cost_assumptions.yaml``) has beyond the 3 minutes of an instance on a machine that is there."""

STANDING_BY = {
    "none": "",
    "sleep": " from sleep with its weights in host memory",
    "sleep_without_weights": " from sleep without its weights",
    "warm": "",
}
"""How an instance waits that is not needed, in words."""


def start_up_of(scenario: Scenario, model: Model, rows: Iterable[Configuration]) -> StartTime | None:
    """The start of an instance, of the slowest of several kinds; None where the scenario does not say where weights
    are, or nothing is deployed."""
    allowed = scenario.deployment
    if allowed.weights_from == "unstated":
        return None
    each = [
        start_time(
            model,
            row,
            allowed.weights_from,
            gb_per_s=allowed.weights_gb_per_s,
            loader=allowed.weights_loader,
            standby=allowed.standby,
        )
        for row in rows
    ]
    return max(each, key=lambda one: one.total_s, default=None)


def start_up_s(question: Question, rows: Iterable[Configuration]) -> float | None:
    """Seconds from the start of an instance to its first request; None as :func:`start_up_of`."""
    start = start_up_of(question.scenario, question.model, rows)
    return None if start is None else start.total_s


def with_start_up(question: Question, rows: Iterable[Configuration]) -> Costs:
    """The constants of cost with the start-up of rented instances that follows from storage, where none is typed.

    A rented instance starts from nothing, whatever those of one's own do: asleep or warm it would be paid for.
    """
    scenario = question.scenario
    switched_off = scenario.model_copy(
        update={"deployment": scenario.deployment.model_copy(update={"standby": "none"})}
    )
    start = start_up_of(switched_off, question.model, rows)
    if start is None or scenario.costs.burst_start_up_minutes is not None:
        return scenario.costs
    return scenario.costs.model_copy(update={"burst_start_up_minutes": (start.total_s + RENTED_S) / S_PER_MINUTE})


def start_up_in_words(scenario: Scenario, model: Model, row: Configuration) -> Iterator[str]:
    """What the start of an instance takes, part by part; nothing where the scenario does not say where weights are."""
    start, allowed = start_up_of(scenario, model, [row]), scenario.deployment
    if start is None or allowed.weights_from == "unstated":
        return
    if allowed.standby == "warm":
        yield "Start-up: instances that are not needed are kept warm, ready at once and paid for."
        return
    parts = [
        (
            f"{significant(start.gb)} GB of weights",
            start.weights_s,
            f" at {significant(start.gb_per_s)} GB/s from {storage_label(allowed.weights_from)}",
        ),
        ("compilation", start.compile_s, ""),
        ("CUDA graphs", start.graphs_s, ""),
        ("the process", start.process_s, ""),
    ]
    listed = ", ".join(f"{name} {significant(seconds)} s{more}" for name, seconds, more in parts if seconds >= 0.05)
    ends = f" ({significant(start.low_s)} to {significant(start.high_s)} s)" if start.high_s > start.low_s else ""
    kept = kept_compilation_of(start, scenario, model, row)
    less = f" With the compile cache of an earlier start {significant(kept.total_s)} s." if kept is not None else ""
    standby = STANDING_BY[allowed.standby]
    if standby and not can_sleep(row.engine):
        standby = f" ({row.engine.label} has no sleep mode)"
    yield (
        f"Start-up of an instance on a machine that runs{standby}: "
        f"{significant(start.total_s)} s{ends}: {listed}.{less}"
    )


def kept_compilation_of(start: StartTime, scenario: Scenario, model: Model, row: Configuration) -> StartTime | None:
    """The same start with the compile cache of an earlier one; None where nothing is compiled."""
    if not start.compile_s or scenario.deployment.weights_from == "unstated":
        return None
    kept = start_time(model, row, scenario.deployment.weights_from, kept_compilation=True)  # its reading aside
    return replace(start, compile_s=kept.compile_s)
