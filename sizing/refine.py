"""The plan with its number of instances decided by simulation: the best few of the screen, until the order is certain.

What the simulation finds corrects the capacity of a candidate, so that instances, systems, cost and order follow by the
same formulas as in the screen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sizing.assumptions import simulated
from sizing.batch_limits import with_batch_limits
from sizing.candidates import Floats
from sizing.compose import MS, latencies_of
from sizing.disaggregated.compose import latencies_of as latencies_of_pools
from sizing.disaggregated.refine import Split, shortlist_beside, split_of
from sizing.disaggregated.search import served_by_pools
from sizing.disaggregated.simulate import planned_pools
from sizing.disaggregated.spread import spread_of_pools
from sizing.exclusion import excluded
from sizing.plan import ALTERNATIVES, answered, infeasible, plan
from sizing.question import Question, understand
from sizing.ranking import order, shortlist
from sizing.result import Excluded, Latencies, Latency, Plan
from sizing.scenario.schema import Scenario
from sizing.screen import Evaluated, Sized, all_configurations, evaluate
from sizing.serving import Choice, sized_aggregated
from sizing.simulation.choice import planned
from sizing.simulation.drive import Outcome
from sizing.simulation.layout import E2E, ITL, TTFT
from sizing.simulation.needed import Case, Needed, in_flight_of, needed, settled
from sizing.simulation.planned import Planned, arrivals_of, lengths_of, replica_at, routing_of
from sizing.simulation.quantiles import sampled_quantile
from sizing.spread import Spread, spread

CLOSE = 1.15
"""Candidates within so much of the best by cost (or GPUs, latency, power, as asked) may change places."""

FEWEST_CANDIDATES, MOST_CANDIDATES = 2, 5
MOST_FAILURES = 10
"""Candidates that break a limit at any count, after which the search ends: the others are like them, only dearer."""

REPORTED_REQUESTS = 12_000
"""Requests behind the percentiles of the answer, at least: some 120 beyond p99."""

NOT_CONFIRMED = (
    f"Not confirmed by simulation: the {MOST_FAILURES} best candidates break a limit there, whatever their number."
)

LARGEST_BELOW = 1.0 - 1e-6
"""A capacity that was found broken is stated as just below."""


@dataclass
class Search:
    """What has been simulated so far: the finding per row of the candidates, None where every count failed."""

    question: Question
    evaluated: Evaluated
    seed: int
    found: dict[int, Needed | None] = field(default_factory=dict)

    def corrected(self) -> Evaluated:
        """The candidates with capacities moved between the load that was met and the load that broke a limit."""
        rps, stable = self.evaluated.capacity.rps.copy(), self.evaluated.capacity.stable_rps.copy()
        sources = list(self.evaluated.sources)
        for index, one in self.found.items():
            if one is None:
                rps[index] = 0.0
                continue
            highest = max(one.broken_rps * LARGEST_BELOW, one.met_rps)
            rps[index] = float(np.clip(rps[index], one.met_rps, highest))
            stable[index] = one.stable_rps
            sources[index] = f"{sources[index]}; simulated, {one.requests:,} requests"
        capacity = replace(self.evaluated.capacity, rps=rps, stable_rps=stable)
        return replace(self.evaluated, capacity=capacity, sources=tuple(sources))

    def simulate(self, index: int) -> None:
        """Decide the number of instances of one candidate."""
        question, evaluated = self.question, self.evaluated
        case = self.case(index)
        guess = max(math.ceil(question.demand.peak_rps / evaluated.capacity.rps[index] - 1e-9), 1)
        self.found[index] = needed(case, guess)

    def case(self, index: int) -> Case:
        """One candidate as the simulation sees it."""
        question, state = self.question, self.evaluated.state
        rate = float(self.evaluated.capacity.rps[index])
        k = int(np.searchsorted(np.maximum.accumulate(state.rps[index]), rate))
        return Case(
            replica=replica_at(question, self.evaluated, index), arrivals=arrivals_of(question),
            lengths=lengths_of(question), limits=question.limits, seed=self.seed,
            max_utilization=question.scenario.deployment.max_utilization,
            routing=routing_of(question),
            in_flight=in_flight_of(1.0, float(state.concurrency[index, min(k, state.rps.shape[1] - 1)])),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Decided:
    """The candidates in their final order, with what was simulated."""

    search: Search
    evaluated: Evaluated
    sized: Sized
    ranked: NDArray[np.intp]

    @property
    def winner(self) -> int:
        """Row of the evaluated candidates that comes first."""
        return int(self.sized.index[self.ranked[0]])


def refined(scenario: Scenario, *, alternatives: int = ALTERNATIVES, seed: int = 0) -> Plan:
    """The answer to a scenario, its number of instances and percentiles decided by simulation.

    A measured record, offline use and a scenario that nothing can serve are answered as by :func:`sizing.plan`. Raises
    InvalidScenario as that does.
    """
    question = understand(scenario)
    if scenario.measured is not None or scenario.workload.mode == "offline":
        return plan(scenario, alternatives=alternatives)
    everything = all_configurations(question)
    base = evaluate(question, everything)
    evaluated = with_batch_limits(question, base)
    decided = decide(question, evaluated, seed)
    first = int(decided.ranked[0]) if len(decided.ranked) else None
    split = split_of(question, base, decided.evaluated, decided.sized, first, seed)
    out = excluded(question, base, everything.rows, served_by_pools(split.pools))
    if split.winner is not None:
        return _of_pools(question, decided, split, out, alternatives)
    if first is None:
        return infeasible(question, excluded(question, base, everything.rows))
    if decided.winner not in decided.search.found:
        answer = plan(scenario, alternatives=alternatives)
        return answer.model_copy(update={"confidence": f"{answer.confidence} {NOT_CONFIRMED}"})
    chosen = shortlist_beside(
        question, decided.evaluated, decided.sized, decided.ranked, split.pools, alternatives
    )
    figures = _Figures(decided)
    answer = answered(
        question, decided.evaluated, decided.sized, split.pools, chosen, out, spread_of=figures.spread,
        latencies=figures.latencies,
    )
    return answer.model_copy(update={
        "confidence": f"{answer.confidence} {figures.how_sure()}",
        "assumptions": (*(a for a in answer.assumptions if "analytic load model" not in a), *figures.assumptions()),
    })


def _of_pools(
    question: Question, decided: Decided, split: Split, out: tuple[Excluded, ...], alternatives: int
) -> Plan:
    """The answer whose prefill and decode instances were simulated."""
    pools, found = split.winner, split.found
    assert pools is not None
    assert found is not None
    around = spread_of_pools(question, pools, np.zeros(1, dtype=np.intp))
    analytic, asked = latencies_of_pools(question, pools, 0, around), question.limits.percentile
    latency = Latencies(
        ttft_ms=_simulated(found.outcome, TTFT, asked, analytic.ttft_ms),
        itl_ms=_simulated(found.outcome, ITL, asked, analytic.itl_ms),
        e2e_ms=_simulated(found.outcome, E2E, asked, analytic.e2e_ms),
    )
    others = shortlist(decided.sized, decided.evaluated, decided.ranked, max(alternatives - 1, 0))
    chosen = [Choice(pools=True, k=0), *(Choice(pools=False, k=k) for k in others[:alternatives])]
    answer = answered(
        question, decided.evaluated, decided.sized, pools, chosen, out, latency=latency,
    )
    return answer.model_copy(update={
        "confidence": f"{answer.confidence} Instances and percentiles simulated with {found.outcome.finished:,} "
        "requests per instance.",
        "source": f"{answer.source}; simulated, {found.outcome.finished:,} requests",
        "assumptions": (
            *(a for a in answer.assumptions if "analytic load model" not in a), *simulated("random"),
        ),
    })


def planned_by_simulation(question: Question) -> Planned | None:
    """The deployment of :func:`refined`, to be simulated; that of the screen for offline use."""
    if question.scenario.workload.mode == "offline":
        return planned(question)
    base = evaluate(question, all_configurations(question))
    decided = decide(question, with_batch_limits(question, base), seed=0)
    first = int(decided.ranked[0]) if len(decided.ranked) else None
    split = split_of(question, base, decided.evaluated, decided.sized, first, seed=0)
    if split.winner is not None:
        return planned_pools(question, split.winner, 0)
    if first is None:
        return None
    found = decided.search.found.get(decided.winner)
    if found is None:
        return planned(question)
    return Planned(
        row=decided.evaluated.candidates.rows[decided.winner], working=found.instances,
        replica=replica_at(question, decided.search.evaluated, decided.winner),
    )


def decide(question: Question, evaluated: Evaluated, seed: int) -> Decided:
    """Simulate the best of the screen and near ties, then whatever comes first, until that has been simulated."""
    search, objective = Search(question, evaluated, seed), question.scenario.deployment.objective
    sized = sized_aggregated(question, evaluated)
    ranked = order(sized, evaluated, objective)
    for index in _close(question, evaluated, sized, ranked):
        search.simulate(index)
    while True:
        corrected = search.corrected()
        sized = sized_aggregated(question, corrected)
        ranked = order(sized, corrected, objective)
        simulated = [k for k in ranked if int(sized.index[k]) in search.found]
        if not len(ranked) or int(sized.index[ranked[0]]) in search.found:
            break
        cost = _measure(question, sized)
        near = bool(simulated) and cost[simulated[0]] <= CLOSE * cost[ranked[0]]
        if len(search.found) >= (MOST_CANDIDATES if near else MOST_FAILURES):
            ranked = np.array(simulated + [k for k in ranked if int(sized.index[k]) not in search.found])
            break
        search.simulate(int(sized.index[ranked[0]]))
    return Decided(search=search, evaluated=corrected, sized=sized, ranked=ranked)


def _close(question: Question, evaluated: Evaluated, sized: Sized, ranked: NDArray[np.intp]) -> list[int]:
    """The best of the screen and what is near it: one of every GPU, engine and format, best first."""
    measure = _measure(question, sized)
    found: list[int] = []
    seen: set[object] = set()
    for k in ranked:
        row = evaluated.candidates.rows[sized.index[k]]
        trait = (row.gpu.id, row.precision.id, row.engine.runs_as)
        if measure[k] > CLOSE * measure[ranked[0]] or len(found) == FEWEST_CANDIDATES:
            break
        if trait not in seen:
            found.append(int(sized.index[k]))
        seen.add(trait)
    return found


def _measure(question: Question, sized: Sized) -> Floats:
    """What the objective counts first; infinite where it is not known."""
    counted = {
        "cost": sized.usd_per_hour, "gpus": sized.gpus.astype(np.float64), "latency": sized.e2e_s,
        "energy": sized.power_kw,
    }[question.scenario.deployment.objective]
    return np.asarray(np.nan_to_num(counted, nan=np.inf), dtype=np.float64)


class _Figures:
    """Simulated figures in the place of analytic ones."""

    def __init__(self, decided: Decided) -> None:
        self.decided = decided
        found = decided.search.found[decided.winner]
        assert found is not None
        self.found = found
        self.outcome = settled(decided.search.case(decided.winner), found, REPORTED_REQUESTS)

    def spread(self, question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp]) -> Spread:
        """The interval of the screen, its GPUs moved by as much as the simulation moved the capacity."""
        around = spread(question, self.decided.search.evaluated, sized, rows)
        index = sized.index[rows]
        ratio = self.decided.search.evaluated.capacity.rps[index] / evaluated.capacity.rps[index]
        each = evaluated.candidates.gpus[index].astype(np.float64)
        return replace(
            around, gpus_low=np.minimum(_whole(around.gpus_low, ratio, each), sized.gpus[rows]),
            gpus_high=np.maximum(_whole(around.gpus_high, ratio, each), sized.gpus[rows]),
        )

    def latencies(
        self, question: Question, evaluated: Evaluated, sized: Sized, k: int, around: Spread
    ) -> Latencies:
        """Simulated percentiles; Monte-Carlo interval widened by that of the step times."""
        analytic = latencies_of(question, evaluated, sized, k, around)
        asked = question.limits.percentile
        return Latencies(
            ttft_ms=_simulated(self.outcome, TTFT, asked, analytic.ttft_ms),
            itl_ms=_simulated(self.outcome, ITL, asked, analytic.itl_ms),
            e2e_ms=_simulated(self.outcome, E2E, asked, analytic.e2e_ms),
        )

    def how_sure(self) -> str:
        """What the simulation adds to the confidence."""
        others = len(self.decided.search.found) - 1
        also = f", {others} other{'s' if others > 1 else ''} tried" if others else ""
        each = self.outcome.finished // self.outcome.replicas
        return f"Instances and percentiles simulated with {each:,} requests per instance{also}."

    def assumptions(self) -> tuple[str, ...]:
        """What the simulation assumes."""
        return simulated(self.decided.search.question.scenario.deployment.routing)


def _whole(gpus: Floats, ratio: Floats, each: Floats) -> Floats:
    """GPUs of whole instances after a change of capacity; infinite stays so."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.ceil(gpus / each * ratio - 1e-9) * each, dtype=np.float64)


def _simulated(outcome: Outcome, metric: int, asked: float, analytic: Latency) -> Latency:
    """Percentiles of one latency; the analytic value where no request had it (answers of one token have no gaps)."""
    if not outcome.histogram[:, metric].any():
        return analytic
    p50, p95, p99 = (sampled_quantile(outcome, metric, p).value * MS for p in (50.0, 95.0, 99.0))
    at = sampled_quantile(outcome, metric, asked)
    base = analytic.asked or math.nan
    low = at.low * MS * (analytic.low / base if analytic.low is not None and base > 0 else 1.0)
    high = None
    if analytic.high is not None and math.isfinite(at.high):
        high = at.high * MS * (analytic.high / base if base > 0 else 1.0)
    return Latency(
        p50=p50, p95=p95, p99=p99, low=min(low, at.value * MS), asked=at.value * MS,
        high=max(high, at.value * MS) if high is not None else None,
    )
