"""How long the tornado of a scenario takes: every input moved to both ends of its range, each planned by simulation."""

from collections.abc import Iterator

from bench.plan_speed import KINDS, presets
from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from sizing import Scenario
from sizing.decision.outcome import Answers
from sizing.decision.tornado import tornado

NAME = "Cost: the tornado of every preset, its own plan known, as the page draws it"

LIMIT = in_yardsticks(quiet_ms=1500.0)
"""Longest tornado of a preset as it is; the page shows how far it has come."""
RUNS = 3
"""Tornados of each preset; their median is reported."""
LIMITED = "as it is"
"""The kind of question that has the limit; others are shown."""


def run() -> list[Row]:
    """One row per preset as it is, and with every GPU type considered."""
    return [row for kind in (LIMITED, "every GPU type") for row in _of_kind(kind)]


def _of_kind(kind: str) -> Iterator[Row]:
    for name, keys in presets().items():
        scenario, times = Scenario.model_validate(KINDS[kind](keys)), Times()
        for step in range(1, RUNS + 1):
            _time(_busier(scenario, step), times)
        yield times.row(f"{name}, {kind}", LIMIT if kind == LIMITED else None)


def _busier(scenario: Scenario, step: int) -> Scenario:
    """A rate never seen before: what is measured is an answer, not a cache."""
    rate = (scenario.workload.peak_rps or 1.0) * (1.0 + 0.01 * step)
    return scenario.model_copy(update={"workload": scenario.workload.model_copy(update={"peak_rps": rate})})


def _time(scenario: Scenario, times: Times) -> None:
    answers = Answers()
    answers.answer(scenario)
    times.time(lambda: tornado(scenario, answers))
