"""Instances that do both, their number decided by simulation: the best few of the screen, until the order is certain.

What the simulation counts corrects the capacity of a candidate, so that instances, systems, cost and order follow by
the same formulas as in the screen.

Once that is certain, what the screen may have underrated is held against it (:mod:`sizing.search.rivals`), until
nothing of that comes before it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from sizing.base.arrays import ROUNDING, Counts, Rows
from sizing.base.choices import BY_COST
from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated, aggregated, most_before, sized
from sizing.search.instances import Needed, NotMet, bounds, needed, not_at_all, sharpened
from sizing.search.replicas import arrivals_of, lengths_of, replica_at
from sizing.search.rivals import MOST_RIVALS, hopeful, underrated, unstaged
from sizing.search.screen import Evaluated, instances_needed
from sizing.search.trials import FIRST_REQUESTS, GROWTH, LARGEST_BELOW, Case, in_flight_of, looked_at, most_requests
from sizing.simulator.run_length import REPORTED_REQUESTS
from sizing.simulator.work import OutOfWork, Work

CLOSE = 1.15
"""Ratio to the best by the objective (cost, GPUs, latency or power) up to which deployments may still change places."""

FEWEST_CANDIDATES, MOST_CANDIDATES = 2, 5
"""Candidates simulated at first, and at most while one of them is :data:`CLOSE` to the best. Chosen: few, because each
costs about as much time as the first."""

MOST_FAILURES = 10
"""Candidates that break a limit with every number of instances, after which the search ends: the rest are alike but
dearer."""


@dataclass
class Search:
    """What has been simulated so far: the result for each row of the candidates that was tried."""

    screened: Aggregated
    """The candidates as the screen sizes them."""
    seed: int
    work: Work = field(default_factory=Work)
    """The events that may still be simulated, of all candidates together."""
    results: dict[int, Needed | NotMet] = field(default_factory=dict)
    """What the simulation found, by the row of the candidate."""
    cases: dict[int, Case] = field(default_factory=dict)
    certain: set[int] = field(default_factory=set)
    """Candidates of which it was simulated for longer how many instances they need."""
    behind: set[int] = field(default_factory=set)
    """Candidates that come after the best so far with any number of instances, so that none of them is simulated."""
    learned: float = 1.0
    """Instances that the last candidate needed by simulation over its analytic estimate; scales the next guess."""
    first: int = FIRST_REQUESTS
    """Requests of the first run at a count, as the last simulated candidate needed them."""
    heaviest: dict[Needed, float] = field(default_factory=dict)
    """Requests/s of one instance at which every limit still holds, by the result that was searched from."""
    pipelines_tried: bool = False
    """Whether the pipelines that the screen underrates have been simulated."""
    unstaged_tried: bool = False
    """Whether layouts without stages have been simulated because a pipeline came first."""
    rivals: set[int] = field(default_factory=set)
    """What was simulated because of what came first, beside the pipelines."""
    closer: set[int] = field(default_factory=set)
    """What was simulated again, because what could not be told from a limit might come before the first."""

    @property
    def question(self) -> Question:
        """The question that the candidates are to answer."""
        return self.screened.question

    @property
    def evaluated(self) -> Evaluated:
        """The candidates as the screen evaluates them."""
        return self.screened.evaluated

    @property
    def known(self) -> set[int]:
        """Candidates that were simulated, and those that need not be because they come after the best in any number."""
        return {*self.results, *self.behind}

    def corrected(self) -> Evaluated:
        """The candidates, each simulated capacity (requests/s) moved between the load that it met and one that failed.

        A candidate that failed with every number of instances has no capacity left.
        """
        rps, stable = self.evaluated.capacity.rps.copy(), self.evaluated.capacity.stable_rps.copy()
        requests = self.evaluated.requests.copy()
        for index, one in self.results.items():
            if isinstance(one, NotMet):
                rps[index] = min(rps[index], one.broken_rps * LARGEST_BELOW) if one.bounded else 0.0
                continue
            highest = max(one.broken_rps * LARGEST_BELOW, one.met_rps)
            rps[index] = float(np.clip(rps[index], one.met_rps, highest))
            stable[index] = one.stable_rps or stable[index]
            requests[index] = one.requests
        capacity = replace(self.evaluated.capacity, rps=rps, stable_rps=stable)
        return replace(self.evaluated, capacity=capacity, requests=requests)

    def simulate(self, index: int) -> None:
        """Decide the number of instances of one candidate, or that it needs too many to come before the best so far."""
        guess = int(self._instances(np.array([index]), self.evaluated)[0])
        learned = max(round(guess * self.learned), 1)
        most = self.most_instances(index, learned)
        if most == 0 and index not in self.behind:
            self.behind.add(index)
            return
        result = needed(self.case(index), learned, most or None, self.first)
        if isinstance(result, Needed):
            self.learned, self.first = result.instances / guess, result.tries.first
        self.results[index] = result

    def look_closer(self, index: int) -> None:
        """Simulate a candidate for longer at counts that could not be told from the limit. What was met stays so."""
        self.closer.add(index)
        known, first = self.results[index], GROWTH * most_requests(self.question.limits)
        if known.fewest_possible is None:
            return
        most = known.instances - 1 if isinstance(known, Needed) else known.instances
        result = needed(self.case(index), known.fewest_possible, most, first)
        if isinstance(result, Needed) or isinstance(known, NotMet):
            self.results[index] = result

    def most_instances(self, index: int, guess: int) -> int | None:
        """The most instances with which a candidate still comes before the best so far.

        0 when it comes after it with any number, None when nothing bounds the number.
        """
        counts = {i: one.instances for i, one in self.results.items() if isinstance(one, Needed)}
        if not counts or self.question.scenario.deployment.objective == "latency":  # more instances only lower it
            return None
        tried = looked_at(guess)
        most = most_before(self.question, self.evaluated, index, tried, counts)
        return most if most < tried[-1] else None

    def promising(self, now: Refined) -> int:
        """What to simulate next: the first in order, once what the failures say of the others is taken into account.

        The screen overrates similar candidates by similar factors. So the capacities of those not simulated are divided
        by the largest factor found so far, and those whose idle latency is nearer to a limit than that of one which
        broke it without load are left out. When that leaves nothing new before the best so far, the first by the
        screen's own order is next.
        """
        capacity, excess = now.deployments.evaluated.capacity, self.evaluated.capacity.excess
        promised = self.evaluated.capacity.rps
        too_high = max([1.0, *(promised[i] / one.broken_rps for i, one in self.results.items() if bounds(one))])
        hopeless = min((excess[i] for i, one in self.results.items() if not_at_all(one)), default=np.inf)
        rps = np.where(excess < hopeless, capacity.rps / too_high, 0.0)
        rps[list(self.results)] = capacity.rps[list(self.results)]
        lowered = replace(now.deployments.evaluated, capacity=replace(capacity, rps=rps))
        able = self._possible(now, lowered)
        if not len(able):
            return now.winner
        first = int(able[aggregated(self.question, lowered, able, sized(self.question, lowered, able)).first()])
        return now.winner if first in self.known else first

    def _possible(self, now: Refined, lowered: Evaluated) -> Rows:
        """The candidates that could come first with ``lowered`` capacities: those that have any, and are not dearer now
        than one of them is when sized again. More instances never cost less, so the others need no new size."""
        index = now.deployments.index
        able = lowered.capacity.rps[index] > 0
        if self.question.scenario.deployment.objective not in (*BY_COST, "gpus") or now.first is None or not able.any():
            return np.asarray(index[able])
        counted = now.deployments.counted()
        best = np.flatnonzero(able)[[int(counted[able].argmin())]]
        again = aggregated(self.question, lowered, index[best], sized(self.question, lowered, index[best]))
        least = min([float(again.counted()[0]), *counted[able & np.isin(index, list(self.results))]])
        return np.asarray(index[able & (counted <= least * (1.0 + ROUNDING))])

    def _instances(self, index: Rows, evaluated: Evaluated) -> Counts:
        """Instances that each candidate needs at the peak rate by its ``evaluated`` capacity, shaped like ``index``."""
        return instances_needed(self.question.demand.sustained_rps, evaluated.capacity.rps[index])

    def unclear(self, least: float) -> list[int]:
        """Candidates not yet looked at closer that would count less than ``least`` if the fewest possible did."""
        fewest = {
            index: one.fewest_possible
            for index, one in self.results.items()
            if index not in self.certain | self.closer
            and one.fewest_possible is not None
            and (isinstance(one, NotMet) or one.fewest_possible < one.instances)
        }
        rows, counts = np.array([*fewest], dtype=np.intp), np.array([*fewest.values()], dtype=np.int64)
        counted = aggregated(self.question, self.evaluated, rows, counts).counted()
        return [int(index) for index in rows[counted < least][:MOST_RIVALS]]

    def not_met(self) -> list[tuple[str, NotMet]]:
        """The candidates that met the limits with no number of instances, as they were tried."""
        rows = self.evaluated.candidates.rows
        return [(rows[i].label, one) for i, one in self.results.items() if isinstance(one, NotMet)]

    def case(self, index: int) -> Case:
        """The simulation's input for one candidate, made once."""
        if index not in self.cases:
            self.cases[index] = self._case(index)
        return self.cases[index]

    def _case(self, index: int) -> Case:
        question, state = self.question, self.evaluated.state
        rate = float(self.evaluated.capacity.rps[index])
        k = int(np.searchsorted(np.maximum.accumulate(state.rps[index]), rate))
        return Case(
            replica=replica_at(question, self.evaluated, index),
            arrivals=arrivals_of(question),
            lengths=lengths_of(question),
            limits=question.limits,
            seed=self.seed,
            work=self.work,
            max_utilization=question.scenario.deployment.max_utilization,
            routing=question.scenario.deployment.routing,
            stable_rps=float(self.evaluated.capacity.stable_rps[index]),
            in_flight=in_flight_of(1.0, float(state.concurrency[index, min(k, state.rps.shape[1] - 1)])),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Refined:
    """The deployments as far as is known, with what was simulated; ``first``: the position of the one that comes first,
    None when none is left."""

    search: Search
    deployments: Aggregated
    first: int | None

    @property
    def position(self) -> int:
        """Position of the deployment that comes first. Raises IndexError when none is left."""
        if self.first is None:
            raise IndexError("no deployment is left")
        return self.first

    @property
    def winner(self) -> int:
        """Row of the evaluated candidates that comes first. Raises IndexError when none is left."""
        return int(self.deployments.index[self.position])

    @property
    def best(self) -> Needed | None:
        """What the simulation found for the deployment that comes first; None when it did not confirm it."""
        result = None if self.first is None else self.search.results.get(self.winner)
        return result if isinstance(result, Needed) else None


def refine(screened: Aggregated, seed: int, work: Work | None = None, known: Search | None = None) -> Refined:
    """Simulate the best of the screen and near ties, then whatever comes first, until that has been simulated.

    The one that comes first is simulated for longer where its number of instances is not certain; when it then needs
    more, the search goes on, because others may come first now. When the search ends before that, such as by ``work``,
    the answer is the first of those whose number of instances is certain.
    ``known``: what was found of the same candidates for a question that differs in systems or prices alone.
    """
    search = Search(screened, seed, work or Work())
    if known is not None:
        # What was tried because of what came first there might not be tried by a question that is asked alone.
        own = {index: one for index, one in known.results.items() if index not in known.rivals | known.closer}
        search.results, search.cases, search.certain = own, dict(known.cases), known.certain & own.keys()
        search.heaviest = known.heaviest
    certain = search.certain
    try:
        _search(search, certain)
    except OutOfWork:
        return _certain(search, certain)
    last = _ranked(search, search.known)
    return last if last.best is None or last.winner in certain else _certain(search, certain)


def _search(search: Search, certain: set[int]) -> None:
    """Simulate until the deployment that comes first is in ``certain``, the set to which the search adds.

    Raises OutOfWork when the allowed events are used up.
    """
    for index in _close(search):
        if index not in search.results:
            search.simulate(index)
    for _ in range(MOST_FAILURES):
        last = _first_simulated(search)
        if last.first is None or last.winner not in search.known:
            return
        result = search.results.get(last.winner)
        if isinstance(result, Needed) and last.winner in certain:
            if _rivals_tried(search, last):
                continue
            return
        if isinstance(result, Needed):
            search.results[last.winner] = sharpened(result, REPORTED_REQUESTS)
            certain.add(last.winner)
        else:  # simulated only up to a bound that no longer holds, or not at all
            search.simulate(last.winner)


def _rivals_tried(search: Search, now: Refined) -> bool:
    """Simulate once the pipelines that the screen underrates, once, when a pipeline comes first, what serves on the
    same GPUs without stages, again and for longer what could not be told from a limit, and at most :data:`MOST_RIVALS`
    of what else might come before; whether any was."""
    if now.first is None:
        return False
    least, before = float(now.deployments.counted()[now.first]), dict(search.results)
    if not search.pipelines_tried:
        search.pipelines_tried = True
        _simulate_all(search, underrated(search.screened, now.winner, least, search.known))
    if not search.unstaged_tried and search.evaluated.candidates.pp[now.winner] > 1:
        search.unstaged_tried = True
        others = unstaged(search.screened, now.winner, least, search.known)
        search.rivals |= set(others)
        _simulate_all(search, others)
    for index in search.unclear(least):
        search.look_closer(index)
    left = MOST_RIVALS - len(search.rivals)
    others = hopeful(search.screened, least, search.known)[: max(left, 0)]
    search.rivals |= set(others)
    _simulate_all(search, others)
    return search.results != before


def _simulate_all(search: Search, rows: Sequence[int]) -> None:
    for index in rows:
        search.simulate(index)


def _first_simulated(search: Search) -> Refined:
    """The order once what comes first has been simulated, or enough has been tried: then what was simulated first."""
    while True:
        now = _ranked(search)
        if now.first is None or now.winner in search.results:
            return now
        counted = now.deployments.counted()
        simulated = np.flatnonzero(np.isin(now.deployments.index, list(search.results)))
        near = len(simulated) > 0 and counted[now.deployments.first(simulated)] <= CLOSE * counted[now.first]
        if len(search.results) >= (MOST_CANDIDATES if near else MOST_FAILURES):
            return _ranked(search, search.known)
        search.simulate(search.promising(now))


def _certain(search: Search, certain: Set[int]) -> Refined:
    """The first of the deployments in ``certain``; ``first`` is None when none of them is left."""
    first = _ranked(search, certain)
    return first if first.first is not None and first.winner in certain else replace(first, first=None)


def _ranked(search: Search, among: Set[int] = frozenset()) -> Refined:
    """All deployments by what is known; ``first`` is chosen from the candidates ``among`` while one of them is left."""
    corrected = search.corrected()
    changed = np.fromiter(search.results, dtype=np.intp, count=len(search.results))
    deployments = search.screened.resized(corrected, changed) if search.results else search.screened
    known = np.flatnonzero(np.isin(deployments.index, list(among)))
    first = deployments.first(known if len(known) else None) if len(deployments) else None
    return Refined(search=search, deployments=deployments, first=first)


def _close(search: Search) -> list[int]:
    """The best of the screen and what is near it: one of every GPU, engine and format, best first."""
    screened = search.screened
    if not len(screened):
        return []
    close: list[int] = []
    seen: set[object] = set()
    for k in screened.near(CLOSE * float(screened.counted()[screened.first()])):
        if len(close) == FEWEST_CANDIDATES:
            break
        row = screened.row(k)
        trait = (row.gpu.id, row.precision.id, row.engine.surrogate)
        if trait not in seen:
            close.append(int(screened.index[k]))
        seen.add(trait)
    return close
