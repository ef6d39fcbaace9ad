"""The sizing engine: from a scenario to GPUs, systems, cost and latency, with reasons. Pure: no network, no clock.

>>> import sizing
>>> scenario = sizing.load_scenario("scenario.yaml")   # or a dict with the keys of such a file
>>> sizing.plan(scenario)                              # the Plan, which a notebook shows as a table
>>> answer = sizing.Answer.of(scenario)                # the plan with its question, to be priced and simulated
>>> sizing.cost(answer).to_frame()

Everything is loaded when it is first asked for: the simulator brings a compiler, which takes its time. What is wrong
with a scenario, a name or a type is an InvalidScenario with one sentence per problem.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sizing.base.errors import InvalidScenario
    from sizing.base.result import Plan
    from sizing.base.version import ENGINE_VERSION
    from sizing.base.version import ENGINE_VERSION as __version__
    from sizing.decision.comparison import compare
    from sizing.economics.cost import cost
    from sizing.planning.answered import Answer
    from sizing.planning.plan import plan
    from sizing.replay.simulate import simulate
    from sizing.scenario.file import load_scenario
    from sizing.scenario.schema import Scenario

__all__ = [
    "ENGINE_VERSION",
    "Answer",
    "InvalidScenario",
    "Plan",
    "Scenario",
    "__version__",
    "compare",
    "cost",
    "load_scenario",
    "plan",
    "simulate",
]

_WHERE = {
    "Answer": "planning.answered",
    "ENGINE_VERSION": "base.version",
    "InvalidScenario": "base.errors",
    "Plan": "base.result",
    "Scenario": "scenario.schema",
    "compare": "decision.comparison",
    "cost": "economics.cost",
    "load_scenario": "scenario.file",
    "plan": "planning.plan",
    "simulate": "replay.simulate",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    """A public name, loaded with its module when it is first asked for."""
    wanted = "ENGINE_VERSION" if name == "__version__" else name
    if wanted not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_WHERE[wanted]}"), wanted)
    return value


def __dir__() -> list[str]:
    return __all__
