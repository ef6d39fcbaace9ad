"""The answer by the analytic load model alone: an estimate in milliseconds, for thousands of questions at once.

It stands for :func:`sizing.plan` where so many answers are needed that simulating each would take too long (sweeps,
maps, inverse questions), and where there is nothing to simulate (offline use). What shows it says so.
"""

from sizing.base.result import Plan
from sizing.pipelines.sized import with_pipeline
from sizing.planning.compose import compose
from sizing.planning.measured import measured_plan
from sizing.planning.proposals import with_proposals
from sizing.planning.reuse_answer import with_reuse
from sizing.planning.settled import settle
from sizing.question.understand import understand
from sizing.scenario.schema import Scenario

ALTERNATIVES = 24
"""Other deployments that a plan lists. Chosen: a table that a person still reads."""


def analytic_plan(scenario: Scenario, *, alternatives: int = ALTERNATIVES, second_opinion: bool = False) -> Plan:
    """The estimate of a scenario's plan, nothing simulated. Raises InvalidScenario as :func:`sizing.plan` does."""
    question = understand(scenario)
    if scenario.measured is not None:
        return with_pipeline(question, measured_plan(question, second_opinion=second_opinion))
    settled = settle(question, 0, by_simulation=False)
    seen, decided = settled.seen, settled.decided
    composed = compose(seen, decided, alternatives, second_opinion=second_opinion)
    composed = with_reuse(settled, composed, brief=False, simulated=False)
    return with_pipeline(question, with_proposals(seen, decided, composed))
