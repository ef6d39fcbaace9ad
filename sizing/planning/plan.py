"""From a scenario to the answer. Each stage is one module; this one only passes the results on.

The number of instances and the percentiles are decided by simulation, so that every page, export, link and command that
answers one scenario answers alike. :mod:`sizing.planning.analytic` is the estimate where thousands of answers are
needed.
"""

from functools import lru_cache

from sizing.base.result import Plan
from sizing.pipelines.loads import asked_of
from sizing.pipelines.sized import with_pipeline
from sizing.planning.analytic import ALTERNATIVES
from sizing.planning.compose import compose
from sizing.planning.measured import measured_plan
from sizing.planning.mixed import reject_unmixable, with_mix
from sizing.planning.proposals import with_proposals
from sizing.planning.reuse_answer import with_reuse
from sizing.planning.settled import settle
from sizing.question.understand import understand
from sizing.scenario.schema import Scenario


def plan(
    scenario: Scenario,
    *,
    alternatives: int = ALTERNATIVES,
    seed: int = 0,
    second_opinion: bool = False,
    brief: bool = False,
) -> Plan:
    """The answer to a scenario, its number of instances and percentiles decided by simulation.

    The same scenario and ``seed`` give the same answer. A measured record stands for itself; offline use and what the
    simulation cannot confirm is answered by the analytic load model, and says so. ``second_opinion`` adds what
    the roofline alone says of the chosen deployment; ``brief`` leaves out proposals, a mix of GPU types, trade-off,
    load curve, explanations and why other hardware is not chosen, where only the answer counts. Raises InvalidScenario
    for an unknown model, GPU, engine or precision and for impossible values; a scenario that nothing can serve is an
    answer (``feasible`` is False) that says why and what to relax.
    """
    question = understand(scenario)
    asked_of(question)  # what is wrong with a stage is said before anything is simulated
    reject_unmixable(question)
    if scenario.measured is not None:
        return with_pipeline(question, measured_plan(question, second_opinion=second_opinion))
    settled = settle(question, seed, by_simulation=scenario.workload.mode != "offline")
    seen, decided = settled.seen, settled.decided
    composed = compose(seen, decided, alternatives, second_opinion=second_opinion, brief=brief)
    composed = with_reuse(settled, composed, brief=brief, simulated=scenario.workload.mode != "offline")
    if brief:
        return with_pipeline(question, composed)
    whole = with_mix(question, with_proposals(seen, decided, composed, seed), seed)
    return with_pipeline(question, whole)


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Load catalogue, fits and simulator once, so that the first question is answered as fast as the next."""
    workload = {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 1}
    plan(Scenario.model_validate({"model": "meta-llama/Meta-Llama-3-8B", "workload": workload}))
