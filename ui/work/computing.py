"""What a worker process runs. It loads the engine, and none of what serves pages."""

from __future__ import annotations

from sizing.base.result import Plan
from sizing.scenario.schema import Scenario


def planned(scenario_json: str, brief: bool) -> Plan:
    """The plan of a scenario, ``brief`` where only the answer counts. Raises SizingError."""
    from sizing.planning.analytic import ALTERNATIVES
    from sizing.planning.plan import plan

    scenario = Scenario.model_validate_json(scenario_json)
    return plan(scenario, alternatives=0 if brief else ALTERNATIVES, brief=brief)


def prepared() -> None:
    """Load what plans need, before the first question."""
    from sizing.planning.plan import warm_up

    warm_up()
