"""From a scenario to the answer. Each stage is one module; this one only passes the results on.

The number of instances and the percentiles are decided by simulation, so that every page, export, link and command that
answers one scenario answers alike. :mod:`sizing.planning.analytic` is the estimate where thousands of answers are
needed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sizing.base.result import Plan
from sizing.planning.analytic import ALTERNATIVES, Screened, estimate, screened
from sizing.planning.answered import answered
from sizing.planning.assumptions import simulated, simulated_pools
from sizing.planning.exclusion import excluded
from sizing.planning.explain import SIMULATED
from sizing.planning.measured import measured_plan
from sizing.planning.pools_compose import latencies_of as latencies_of_pools
from sizing.planning.pools_spread import spread_of_pools
from sizing.planning.simulated_figures import Simulated, Tried, as_simulated, simulated_latencies
from sizing.planning.unconfirmed import not_confirmed
from sizing.question.understand import understand
from sizing.scenario.schema import Scenario
from sizing.search.pools_refine import Split, shortlist_beside, split_of
from sizing.search.pools_search import served_by_pools
from sizing.search.ranking import shortlist
from sizing.search.refine import Decided, decide
from sizing.search.serving import Choice

FIRST_PAIR = 0


def plan(scenario: Scenario, *, alternatives: int = ALTERNATIVES, seed: int = 0) -> Plan:
    """The answer to a scenario, its number of instances and percentiles decided by simulation.

    The same scenario and ``seed`` give the same answer. A measured record stands for itself; offline use and what the
    simulation cannot confirm is answered by the analytic load model, and says so. Raises InvalidScenario for an unknown
    model, GPU, engine or precision and for impossible values; a scenario that nothing can serve is an answer
    (``feasible`` is False) that says why and what to relax.
    """
    question = understand(scenario)
    if scenario.measured is not None:
        return measured_plan(question)
    seen = screened(question)
    if scenario.workload.mode == "offline":
        return estimate(seen, alternatives)
    decided = decide(question, seen.evaluated, seed)
    split = split_of(question, seen.pools, decided.evaluated, decided.sized, decided.first, seed)
    if split.winner is not None:
        return _of_pools(seen, decided, split, alternatives)
    if decided.best is not None:
        return _aggregated(seen, decided, split, alternatives)
    answer = estimate(seen, alternatives)
    return not_confirmed(answer, question.limits, decided.search.not_met()) if answer.deployment else answer


def _aggregated(seen: Screened, decided: Decided, split: Split, alternatives: int) -> Plan:
    """The answer whose instances do both, simulated."""
    question = seen.question
    chosen = shortlist_beside(question, decided.evaluated, decided.sized, decided.ranked, split.pools, alternatives)
    out = excluded(question, seen.base, seen.everything, served_by_pools(split.pools))
    figures = Simulated(decided)
    answer = answered(question, decided.evaluated, decided.sized, split.pools, chosen, out, figures=figures)
    return as_simulated(
        answer,
        how_sure=figures.how_sure(),
        requests=figures.requests,
        assumptions=simulated(question.scenario.deployment.routing),
    )


def _of_pools(seen: Screened, decided: Decided, split: Split, alternatives: int) -> Plan:
    """The answer whose prefill and decode instances were simulated."""
    question, pools, found = seen.question, split.winner, split.found
    assert pools is not None
    assert found is not None
    around = spread_of_pools(question, pools, np.array([FIRST_PAIR]))
    analytic = latencies_of_pools(question, pools, FIRST_PAIR, around)
    others = shortlist(decided.sized, decided.evaluated, decided.ranked, max(alternatives - 1, 0))
    chosen = [Choice(pools=True, k=FIRST_PAIR), *(Choice(pools=False, k=k) for k in others[:alternatives])]
    answer = answered(
        question,
        decided.evaluated,
        decided.sized,
        pools,
        chosen,
        excluded(question, seen.base, seen.everything, served_by_pools(split.pools)),
        figures=Tried(decided),
        latency=simulated_latencies(found.outcome, analytic, question.limits.percentile),
    )
    requests = found.outcome.finished
    answer = as_simulated(
        answer,
        how_sure=f"Instances and percentiles simulated with {requests:,} requests per instance.",
        requests=requests,
        assumptions=simulated_pools(question.scenario.deployment.routing),
    )
    return answer.model_copy(update={"source": f"{answer.source}{SIMULATED}{requests:,} requests"})


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Load catalogue, fits and simulator once, so that the first question is answered as fast as the next."""
    workload = {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 1}
    plan(Scenario.model_validate({"model": "meta-llama/Meta-Llama-3-8B", "workload": workload}))
