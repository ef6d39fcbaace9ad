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
from sizing.plan import ALTERNATIVES, answered, plan
from sizing.question import Question, understand
from sizing.ranking import order, shortlist
from sizing.result import Excluded, Latencies, Latency, Plan
from sizing.scenario.schema import Scenario
from sizing.screen import Evaluated, Sized, all_configurations, evaluate, instances_needed, size
from sizing.serving import Choice, sized_aggregated
from sizing.simulation.choice import planned
from sizing.simulation.drive import Outcome
from sizing.simulation.layout import E2E, ITL, TTFT
from sizing.simulation.needed import (
    FARTHER,
    FARTHEST,
    FIRST_REQUESTS,
    Case,
    Needed,
    NotMet,
    in_flight_of,
    needed,
    settled,
    sharpened,
)
from sizing.simulation.planned import Planned, arrivals_of, lengths_of, replica_at, routing_of
from sizing.simulation.quantiles import sampled_quantile
from sizing.spread import Spread, spread
from sizing.unconfirmed import not_confirmed

CLOSE = 1.15
"""Candidates within so much of the best by cost (or GPUs, latency, power, as asked) may change places."""

FEWEST_CANDIDATES, MOST_CANDIDATES = 2, 5
MOST_FAILURES = 10
"""Candidates that break a limit at any count, after which the search ends: the others are like them, only dearer."""

REPORTED_REQUESTS = 12_000
"""Requests behind the percentiles of the answer, at least: some 120 beyond p99."""

LARGEST_BELOW = 1.0 - 1e-6
"""A capacity that was found broken is stated as just below."""


@dataclass
class Search:
    """What has been simulated so far: the finding per row of the candidates."""

    question: Question
    evaluated: Evaluated
    seed: int
    found: dict[int, Needed | NotMet] = field(default_factory=dict)
    learned: float = 1.0
    """Instances that the last simulated candidate needed, over those of its analytic estimate: others are like it."""
    first: int = FIRST_REQUESTS
    """Requests of the first run at a count, as the last simulated candidate needed them."""

    def corrected(self) -> Evaluated:
        """The candidates with capacities moved between the load that was met and the load that broke a limit."""
        rps, stable = self.evaluated.capacity.rps.copy(), self.evaluated.capacity.stable_rps.copy()
        sources = list(self.evaluated.sources)
        for index, one in self.found.items():
            if isinstance(one, NotMet):
                rps[index] = min(rps[index], one.broken_rps * LARGEST_BELOW) if one.bounded else 0.0
                continue
            highest = max(one.broken_rps * LARGEST_BELOW, one.met_rps)
            rps[index] = float(np.clip(rps[index], one.met_rps, highest))
            stable[index] = one.stable_rps or stable[index]
            sources[index] = f"{sources[index]}; simulated, {one.requests:,} requests"
        capacity = replace(self.evaluated.capacity, rps=rps, stable_rps=stable)
        return replace(self.evaluated, capacity=capacity, sources=tuple(sources))

    def simulate(self, index: int) -> None:
        """Decide the number of instances of one candidate, or that it needs too many to come before the best so far."""
        guess = int(instances_needed(self.question.demand.peak_rps, self.evaluated.capacity.rps[[index]])[0])
        learned = max(round(guess * self.learned), 1)
        found = needed(self.case(index), learned, self.most(index, learned), self.first)
        if isinstance(found, Needed):
            self.learned, self.first = found.instances / guess, found.tries.first
        self.found[index] = found

    def most(self, index: int, guess: int) -> int | None:
        """The most instances with which a candidate comes before the best so far; None where that is no bound."""
        counts = {i: one.instances for i, one in self.found.items() if isinstance(one, Needed)}
        objective = self.question.scenario.deployment.objective
        if not counts or objective == "latency":  # more instances, lower latency
            return None
        tried = np.arange(1, FARTHEST * guess + FARTHER + 1)
        rows = np.array([*counts, *[index] * len(tried)], dtype=np.intp)
        sized = size(self.question, self.evaluated, rows, np.array([*counts.values(), *tried], dtype=np.int64))
        ranked = order(sized, self.evaluated, objective)
        first = int(np.flatnonzero(ranked < len(counts))[0])
        most = int(max(tried[ranked[:first] - len(counts)], default=1))
        return most if most < tried[-1] else None

    def not_met(self) -> list[tuple[str, NotMet]]:
        """The candidates that met the limits with no number of instances, as they were tried."""
        rows = self.evaluated.candidates.rows
        return [(rows[i].label, one) for i, one in self.found.items() if isinstance(one, NotMet)]

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
            stable_rps=float(self.evaluated.capacity.stable_rps[index]),
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
        """Row of the evaluated candidates that comes first. Raises IndexError when none is left."""
        return int(self.sized.index[self.ranked[0]])

    @property
    def best(self) -> Needed | None:
        """What the simulation says of the one that comes first; None when it confirmed none."""
        found = self.search.found.get(self.winner) if len(self.ranked) else None
        return found if isinstance(found, Needed) else None

    @property
    def first(self) -> int | None:
        """Place of the best candidate in ``sized``; None when the simulation confirmed none."""
        return int(self.ranked[0]) if self.best is not None else None


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
    split = split_of(question, base, decided.evaluated, decided.sized, decided.first, seed)
    out = excluded(question, base, everything, served_by_pools(split.pools))
    if split.winner is not None:
        return _of_pools(question, decided, split, out, alternatives)
    if decided.best is None:
        answer = plan(scenario, alternatives=alternatives)
        if not answer.feasible:
            return answer
        return not_confirmed(answer, question.limits, decided.search.not_met())
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
    split = split_of(question, base, decided.evaluated, decided.sized, decided.first, seed=0)
    if split.winner is not None:
        return planned_pools(question, split.winner, 0)
    if decided.best is None:
        return planned(question)
    return Planned(
        row=decided.evaluated.candidates.rows[decided.winner], working=decided.best.instances,
        replica=replica_at(question, decided.search.evaluated, decided.winner),
    )


def decide(question: Question, evaluated: Evaluated, seed: int) -> Decided:
    """Simulate the best of the screen and near ties, then whatever comes first, until that has been simulated.

    Last, the one that comes first is simulated for longer where its number of instances is not certain.
    """
    search, given_up = Search(question, evaluated, seed), False
    for index in _close(search):
        search.simulate(index)
    while not given_up:
        now = _ranked(search)
        if not len(now.ranked) or now.winner in search.found:
            break
        simulated = [k for k in now.ranked if int(now.sized.index[k]) in search.found]
        cost = objective_of(question, now.sized)
        near = bool(simulated) and cost[simulated[0]] <= CLOSE * cost[now.ranked[0]]
        given_up = len(search.found) >= (MOST_CANDIDATES if near else MOST_FAILURES)
        if not given_up:
            search.simulate(now.winner)
    return _sharpened(search, _ranked(search, simulated_first=given_up))


def _sharpened(search: Search, last: Decided) -> Decided:
    """The order once the one that comes first has been simulated for longer, whatever that makes come first."""
    sharp: set[int] = set()
    for _ in range(MOST_FAILURES):
        found = search.found.get(last.winner) if len(last.ranked) else None
        if found is None or (isinstance(found, Needed) and last.winner in sharp):
            break
        if isinstance(found, Needed):
            search.found[last.winner] = sharpened(found, REPORTED_REQUESTS)
            sharp.add(last.winner)
        else:  # was looked at only as far as it could have come before one that now needs more
            search.simulate(last.winner)
        # Fewer instances answer later: by latency one that was not simulated could come first now.
        last = _ranked(search, simulated_first=True)
    return last


def _ranked(search: Search, simulated_first: bool = False) -> Decided:
    """The candidates in order by what is known."""
    corrected = search.corrected()
    sized = sized_aggregated(search.question, corrected)
    ranked = order(sized, corrected, search.question.scenario.deployment.objective)
    if simulated_first:
        ranked = ranked[np.argsort([int(i) not in search.found for i in sized.index[ranked]], kind="stable")]
    return Decided(search=search, evaluated=corrected, sized=sized, ranked=ranked)


def _close(search: Search) -> list[int]:
    """The best of the screen and what is near it: one of every GPU, engine and format, best first."""
    screen = _ranked(search)
    evaluated, sized, ranked = screen.evaluated, screen.sized, screen.ranked
    measure = objective_of(search.question, sized)
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


def objective_of(question: Question, sized: Sized) -> Floats:
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
        assert decided.best is not None
        self.found = decided.best
        self.outcome = settled(decided.search.case(decided.winner), self.found, REPORTED_REQUESTS)

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
        fewer = self.found.instances - self.found.perhaps
        perhaps = (
            f" Not certain: {fewer} instance{'s' if fewer > 1 else ''} fewer may do, too; so many requests cannot tell."
            if fewer else ""
        )
        requests = f"{self.outcome.finished // self.outcome.replicas:,} requests per instance"
        return f"Instances and percentiles simulated with {requests}{also}.{perhaps}"

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
