"""What a worker process runs. It loads the engine, and none of what serves pages.

What is asked of a plan takes the plan with its scenario: whoever asks has it already.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, assert_never, get_args

from sizing.base.result import Plan
from sizing.scenario.schema import Scenario

if TYPE_CHECKING:  # loaded by the first question that needs it
    from sizing.explore.frontier import FrontierSplit, OperatingPoints
    from sizing.explore.inverse import Pushed, Served
    from sizing.explore.length_map import LengthCell, RowOf
    from sizing.explore.load_band import LoadBand
    from sizing.explore.operating_point import XAxis, YAxis
    from sizing.explore.shared_pool import PoolObjective, SharedPool
    from sizing.planning.answered import Answer
    from sizing.replay.day_result import DayPlan
    from sizing.replay.simulation_result import SimulationResult
    from sizing.replay.what_if import WhatIf
    from sizing.scenario.trace import Trace
    from sizing.simulator.drive import Progress

Have = Literal["gpus", "systems", "usd", "kw"]
"""What is given where a scenario is asked the other way round."""

KEPT_MAPS = 4
"""Maps of lengths whose question a process keeps. Chosen: as many as are worked out beside each other."""


def planned(scenario_json: str, brief: bool) -> Plan:
    """The plan of a scenario, ``brief`` where only the answer counts. Raises SizingError."""
    from sizing.planning.analytic import ALTERNATIVES
    from sizing.planning.plan import plan

    return plan(_scenario(scenario_json), alternatives=0 if brief else ALTERNATIVES, brief=brief)


def frontier(
    scenario_json: str, plan: Plan, x: XAxis, y: YAxis, gpus: Sequence[str], split: FrontierSplit
) -> OperatingPoints:
    """Latency against throughput, with the plan's own deployment at its load. Raises SizingError."""
    from sizing.explore.frontier import operating_points

    return operating_points(_answer(scenario_json, plan), x=x, y=y, gpus=gpus, split=split)


def band(scenario_json: str, plan: Plan) -> LoadBand:
    """The 80 % range of the load curve of the plan's deployment. Raises SizingError."""
    from sizing.explore.load_band import load_band

    return load_band(_answer(scenario_json, plan))


def served(scenario_json: str, on: str, have: Have, amount: float) -> Served:
    """What GPUs of one kind, systems, a budget or power for them serve; ``on``: the GPU, of systems the system.
    Raises SizingError."""
    from sizing.explore.inverse import served_by_budget, served_by_gpus, served_by_power, served_by_systems
    from sizing.explore.length_map import on_gpu

    scenario = _scenario(scenario_json)
    match have:
        case "systems":
            return served_by_systems(scenario, int(amount), on)
        case "gpus":
            return served_by_gpus(on_gpu(scenario, on), int(amount))
        case "usd":
            return served_by_budget(on_gpu(scenario, on), amount)
        case "kw":
            return served_by_power(on_gpu(scenario, on), amount)
        case _:
            assert_never(have)


def pushed(scenario_json: str, on: str, have: Have, gpus: int) -> tuple[Pushed, ...]:
    """How far the prompt and each limit that holds can be pushed on these GPUs. Raises SizingError."""
    from sizing.explore.inverse import LimitName, longest_prompt, owning, systems_to_own, tightest_limit
    from sizing.explore.length_map import on_gpu

    stated = _scenario(scenario_json)
    scenario = owning(stated, systems_to_own(stated)[on]) if have == "systems" else on_gpu(stated, on)
    limited = [name for name in get_args(LimitName) if getattr(scenario.limits, name) is not None]
    streamed = scenario.workload.mode == "streaming"
    usable = limited if streamed else [n for n in limited if n == "e2e_ms" and scenario.workload.mode == "sequential"]
    return (longest_prompt(scenario, gpus), *(tightest_limit(scenario, name, gpus) for name in usable))


def pool(scenario_jsons: Sequence[str], objective: PoolObjective) -> SharedPool:
    """The shared pool of several scenarios. Raises SizingError."""
    from sizing.explore.shared_pool import place

    return place([_scenario(one) for one in scenario_jsons], objective)


def row_of_lengths(scenario_json: str, gpu: str, prompt: float, outputs: Sequence[float]) -> tuple[LengthCell, ...]:
    """GPUs needed for prompts of one length, at each length of the answers. Raises SizingError."""
    return _rows(scenario_json, gpu)(prompt, outputs)


def day(scenario_json: str, plan: Plan | None, hours: Sequence[float], startup_s: float) -> DayPlan:
    """Instances over the day; None: with a plan of instances that do both. Raises SizingError."""
    from sizing.replay.day import day as over_the_day

    subject = _scenario(scenario_json) if plan is None else _answer(scenario_json, plan)
    return over_the_day(subject, startup_s=startup_s, assumed_hours=hours)


def simulated(
    scenario_json: str,
    plan: Plan | None,
    traffic_json: str | None,
    hours: float | None,
    what_if: WhatIf,
    trace: Trace | None,
    *,
    progress: Progress,
) -> SimulationResult:
    """Some hours of a scenario, of the traffic that stands for it, or a trace, on what its plan deploys; without a plan
    it is planned first. ``progress`` is told the share done, and stops it. Raises SizingError."""
    from sizing.question.understand import model_of
    from sizing.replay.simulate import simulate

    scenario = _scenario(scenario_json)
    if trace is not None:
        model = model_of(scenario)
        trace.check_fits(model.max_context, model.id)
    return simulate(
        scenario if plan is None else _answer(scenario_json, plan),
        traffic=None if traffic_json is None else _scenario(traffic_json),
        hours=hours,
        what_if=what_if,
        trace=trace,
        progress=progress,
    )


def prepared() -> None:
    """Load what plans need, before the first question."""
    from sizing.planning.plan import warm_up

    warm_up()


@lru_cache(maxsize=KEPT_MAPS)
def _rows(scenario_json: str, gpu: str) -> RowOf:
    """What works out the rows of one map: what the prefix caches hold of sessions is looked for once for all."""
    from sizing.explore.length_map import rows_on

    return rows_on(_scenario(scenario_json), gpu)


def _scenario(scenario_json: str) -> Scenario:
    return Scenario.model_validate_json(scenario_json)


def _answer(scenario_json: str, plan: Plan) -> Answer:
    from sizing.planning.answered import Answer

    return Answer.of(_scenario(scenario_json), lambda _: plan)
