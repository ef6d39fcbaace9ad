"""One set of circumstances as a deployment that is simulated: what the plan assumed, what is measured, or some of each.

Replicas that differ (slower GPUs, more of the load) are simulated one kind after the other, each under its share of the
arrivals, and their requests are put together. All runs have one seed: what differs is what was changed.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from reality.lengths import shared_prefix, whole_tokens
from reality.step_times import sequence_s_of, with_learned
from sharing.bonds.records import LearnedCalibration
from sizing.base.arrays import Floats
from sizing.base.units import MS_PER_S
from sizing.deployments.candidates import table
from sizing.deployments.printed_memory import printed
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, at_lengths
from sizing.search.replicas import replica_at
from sizing.search.screen import evaluate
from sizing.search.trials import share_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import BINS, E2E, FIRST_COUNT, FIRST_SUM, ITL, SMALLEST_S, TTFT, UPPER_S
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import quantile
from sizing.simulator.request_lengths import ObservedLengths

METRIC_OF = {"ttft_ms": TTFT, "tpot_ms": ITL, "e2e_ms": E2E}
"""Rows of the simulator. Its ITL is the mean gap of a request, which servers call TPOT."""
SINGLE_GAPS = "itl_ms"
"""What servers call ITL: the gaps between tokens one by one, of which those without TPOT have a histogram."""
SEED = 0
"""Chosen: any would do; always the same, so that runs differ in what was changed alone."""
MOST_KINDS = 5
"""Kinds of replicas told apart at most. Chosen: further ones are put to the nearest, and the mean stays the same."""
WARM_UP_SHARE = 0.1
"""Requests at the beginning that do not count: the replica starts empty. Chosen: one in ten."""
RUSH_WARM_UP = 0.02
"""Requests at the beginning that do not count where the load of the window is followed step by step."""
FEWEST, MOST = 1_000, 60_000
"""Requests of a run of one kind: fewer say little of a percentile, more take longer than the rest together."""
SOME, FEW = 0.004, 4
"""Share of all arrivals, and number of them, that wait at their end, from which on the time that is watched counts."""
FILLING, FILLING_ERRORS = 1.3, 3.0
"""Times the mean number of requests in the system, and standard deviations more, from which it still fills up."""
GROWING = 0.03
"""Share of all arrivals that still wait at their end, from which on the queue is taken to grow for ever."""
COUNTS_EACH = 1e9
"""What stands for all requests of a mixture, so that shares of kinds are whole numbers of a histogram."""
DELAYS = 32
"""Equally likely waits for a front end."""
NEVER = 1e-9
"""Share of the load below which a kind of replicas serves nothing."""


class OutOfTime(Exception):
    """Simulating takes longer than it may."""


@dataclass(frozen=True, kw_only=True)
class RequestIntake:
    """What takes requests in before the engine has them, beyond the plan: ``seconds`` of each; where it ``queues`` one
    of every replica takes them one after the other, and those that arrive meanwhile wait."""

    seconds: float = 0.0
    queues: bool = False

    def wait_s(self, rps: float, cv: float) -> float:
        """The mean wait for it at so many requests a second, whose gaps vary by ``cv``; infinite where it cannot keep
        up. cv^2 rho s / (2 (1 - rho)), rho = rps s (Kingman, The single server queue in heavy traffic, 1961)."""
        busy = rps * self.seconds if self.queues else 0.0
        return math.inf if busy >= 1.0 else cv**2 * busy * self.seconds / (2.0 * (1.0 - busy))

    def mean_s(self, rps: float, cv: float) -> float:
        """Wait and work together, in the mean."""
        return self.seconds + self.wait_s(rps, cv)


@dataclass(frozen=True, kw_only=True, eq=False)
class Circumstances:
    """What decides latency. ``prompt`` and ``output``: equally likely lengths; ``hits``: cached share of prompt tokens.

    ``profile``: relative loads in steps of ``profile_step_s`` within the window, ``cv`` that of the gaps. ``row`` and
    ``kv_scale``: the configuration, and its KV cache relative to what the engine prints for it. ``shares`` and
    ``slowness`` by replica: load relative to an even one, and how many times as long its steps take; replicas beyond
    them are ordinary. ``decode`` and ``prefill``: how many times as long the steps of all take, ``front`` what a
    request takes before the engine has it, and ``intake`` what takes it in beyond the plan. ``sequence_s``: seconds
    that each running sequence adds to a step beyond the plan, which no factor multiplies, as they are the host's (None:
    as many as were accepted).
    """

    rps: float
    prompt: Floats
    output: Floats
    hits: float
    cv: float
    profile: tuple[float, ...]
    profile_step_s: float
    replicas: int
    row: Configuration
    kv_scale: float
    batch_limit: int | None
    shares: tuple[float, ...]
    slowness: tuple[float, ...]
    decode: float = 1.0
    prefill: float = 1.0
    front: float = 1.0
    intake: RequestIntake = RequestIntake()
    sequence_s: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplicaKind:
    """Replicas that are alike: one of them, how many there are, and the share of all requests that each gets."""

    replica: Replica
    number: int
    share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplicaWork:
    """What one replica of a kind did: ``served`` is the share of its arrivals that it gets done in the window."""

    outcome: SimulationCounts
    growing: bool
    served: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Ran:
    """Latencies of all requests of a run: histogram (metrics, bins) in parts of all, and means in seconds.

    ``served``: share of the arrivals that are served in the window; ``running``: requests in the system; ``gap_s``: the
    mean of all single gaps between tokens, of which a run knows no percentile.
    """

    histogram: Floats
    means: Mapping[int, float]
    requests: int
    growing: bool
    running: float
    served: float
    gap_s: float

    @cached_property
    def _cumulative(self) -> Floats:
        return np.cumsum(self.histogram, axis=1)

    def percentile_ms(self, name: str, percent: float) -> float:
        """A percentile of one latency in ms; NaN where it does not exist, as the gap of answers of one token."""
        return quantile(np.rint(self.histogram[METRIC_OF[name]]).astype(np.int64), percent / 100.0) * MS_PER_S

    def mean_ms(self, name: str) -> float:
        """The mean of one latency in ms."""
        if name == SINGLE_GAPS:
            return self.gap_s * MS_PER_S
        return self.means[METRIC_OF[name]] * MS_PER_S

    def mean_excess_ms(self, name: str, edge_ms: float) -> float:
        """How far beyond an edge the requests beyond it lie in the mean."""
        row, middles = self.histogram[METRIC_OF[name]], UPPER_S * 1e3
        beyond = np.where(middles > edge_ms, row, 0.0)
        return float((beyond * (middles - edge_ms)).sum() / beyond.sum()) if beyond.sum() > 0.0 else 0.0

    def share_within(self, name: str, limit_ms: float) -> float:
        """Share of requests within a limit."""
        row = self._cumulative[METRIC_OF[name]]
        at = math.log(max(limit_ms / 1e3, SMALLEST_S) / SMALLEST_S) / math.log(UPPER_S[1] / UPPER_S[0])
        k, inside = min(int(at), len(row) - 2), at - int(at)
        return float((row[k] + inside * (row[k + 1] - row[k])) / row[-1]) if row[-1] > 0 else math.nan


class Worlds:
    """Simulates circumstances of one question over a window, and remembers replicas that were made."""

    def __init__(
        self,
        question: Question,
        *,
        window_s: float,
        lead_s: float = 0.0,
        requests: int = 20_000,
        learned: LearnedCalibration | None = None,
        at_most_s: float = math.inf,
    ) -> None:
        """``lead_s``: how long before the window a queue began to grow; ``learned``: step times in place of the
        plan's; ``at_most_s``: seconds from now after which no run begins."""
        self._question, self._learned = question.as_expected(), learned
        self._window_s, self._lead_s, self.requests = window_s, lead_s, requests
        self._replicas: dict[tuple[Configuration, float, float], Replica] = {}
        self.runs = 0
        self._until_s = time.monotonic() + at_most_s

    def replica(self, row: Configuration, prompt: float, output: float) -> Replica:
        """A configuration as a replica at mean lengths. Raises ValueError where the model does not fit."""
        key = (row, round(prompt, 3), round(output, 3))
        if key not in self._replicas:
            question = at_lengths(self._question, prompt, output)
            evaluated = evaluate(question, table([row]))
            if not len(evaluated):
                raise ValueError("the model does not fit on the planned configuration at the observed lengths")
            replica = replica_at(question, evaluated, 0)
            self._replicas[key] = replica if self._learned is None else with_learned(replica, self._learned)
        return self._replicas[key]

    def planned(self, row: Configuration) -> Replica:
        """A configuration as a replica at the planned lengths."""
        return self.replica(row, self._question.prompt.mean, self._question.output.mean)

    def printed_tokens(self, row: Configuration) -> float:
        """Tokens of the KV cache of one engine process as the engine prints them at its start."""
        context = float(self._question.served_context(row.speculation.draft_tokens))
        return float(printed(self._question.model, table([row]), context).kv_tokens[0])

    def kinds(self, one: Circumstances) -> tuple[ReplicaKind, ...]:
        """The replicas of some circumstances, alike ones together."""
        base = self.replica(one.row, float(one.prompt.mean()), float(one.output.mean()))
        most = base.max_sequences if one.batch_limit is None else min(base.max_sequences, one.batch_limit)
        base = replace(
            base,
            max_sequences=max(most, 1),
            kv_tokens=base.kv_tokens * one.kv_scale,
            request_s=base.request_s * one.front,
            prompt_token_s=base.prompt_token_s * one.front,
            first_token_steps=base.first_token_steps * one.front,
        )
        shares, slowness = _of_replicas(one)
        known = sequence_s_of(self._learned)
        adds = known if one.sequence_s is None else one.sequence_s
        kinds = []
        for members in _grouped(shares, slowness):
            slow = float(slowness[members].mean())
            decode, grid = slow * one.decode, base.grid
            if decode != 1.0 or slow * one.prefill != 1.0:
                grid = grid.stretched(decode, slow * one.prefill)
            grid = grid.with_sequences(adds - decode * known)
            share = float(shares[members].mean())
            if share > NEVER:
                kinds.append(ReplicaKind(replica=replace(base, grid=grid), number=len(members), share=share))
        return tuple(kinds)

    def run(self, one: Circumstances, *, lasting: bool = False, requests: int | None = None) -> Ran:
        """The latencies of the window; ``lasting``: of a load that goes on, for what can be carried for ever. Raises
        OutOfTime."""
        if time.monotonic() > self._until_s:
            raise OutOfTime
        kinds = self.kinds(one)
        lengths = lengths_of(one)
        parts = [self._kind(kind, one, lengths, (requests or self.requests) // len(kinds), lasting) for kind in kinds]
        self.runs += 1
        ran = _together(parts, kinds, one.rps)
        return ran if not one.intake.seconds else _behind(ran, one)

    def _kind(
        self, kind: ReplicaKind, one: Circumstances, lengths: ObservedLengths, requests: int, lasting: bool
    ) -> ReplicaWork:
        """One replica of a kind. Where requests wait at the end, exactly the window, after the time that a queue grew
        before it: what waits depends on how long one watches."""
        rate = one.rps * kind.share
        whole = self._window_s + self._lead_s
        if len(one.profile) > 1 and not lasting:  # what a rush leaves waiting depends on its true length
            outcome = self._drive(kind, one, lengths, min(self._window_s, MOST / rate), RUSH_WARM_UP)
            return ReplicaWork(outcome=outcome, growing=outcome.waiting > GROWING * outcome.arrived, served=1.0)
        asked_s = max(requests, FEWEST) / rate
        outcome = self._drive(kind, one, lengths, asked_s if lasting else min(asked_s, max(whole, FEWEST / rate)), None)
        filling, served = _fills(outcome, rate), 1.0
        if lasting:
            return ReplicaWork(outcome=outcome, growing=filling or _share_waiting(outcome) > GROWING, served=1.0)
        if filling or _share_waiting(outcome) > SOME:
            span, warm_up = min(whole, MOST / rate), self._lead_s / whole
            outcome = self._drive(kind, one, lengths, span, warm_up)
            waiting = _share_waiting(outcome)
            if waiting > SOME:  # the last arrivals get their first token later
                served = max(1.0 - waiting, NEVER)
                outcome = self._drive(kind, one, lengths, span * served, warm_up)
        return ReplicaWork(outcome=outcome, growing=_share_waiting(outcome) > GROWING, served=served)

    def _drive(
        self, kind: ReplicaKind, one: Circumstances, lengths: ObservedLengths, duration_s: float, warm_up: float | None
    ) -> SimulationCounts:
        arrivals = share_of(Arrivals(rate_rps=one.rps, cv=one.cv), kind.share)
        if len(one.profile) > 1 and warm_up is not None:
            top = max(one.profile) / (sum(one.profile) / len(one.profile))
            step = min(one.profile_step_s, duration_s / len(one.profile))
            arrivals = replace(arrivals, rate_rps=arrivals.rate_rps * top, profile=one.profile, profile_step_s=step)
        expected = max(round(one.rps * kind.share * duration_s), 1)
        first = int((WARM_UP_SHARE if warm_up is None else warm_up) * expected)
        return drive(
            Fleet(replicas=(kind.replica,)),
            arrivals.stream(lengths, duration_s, SEED),
            MeasuredSpan(expected=expected, horizon_s=duration_s, warm_up=first),
        )


def _share_waiting(outcome: SimulationCounts) -> float:
    """Share of all arrivals that wait at their end; 0 where it is a few requests."""
    return outcome.waiting / max(outcome.arrived, 1) if outcome.waiting > FEW else 0.0


def _fills(outcome: SimulationCounts, rate: float) -> bool:
    """Whether more requests are in the system at the end than the mean and chance explain: it still fills up. A few are
    there at any load."""
    usual = rate * _mean(outcome, E2E)
    return outcome.in_system > max(FILLING * usual + FILLING_ERRORS * math.sqrt(usual), FEW)


def lengths_of(one: Circumstances) -> ObservedLengths:
    """The lengths of requests under some circumstances: prompts and answers independent, the same prefix cached."""
    rng = np.random.default_rng(SEED)
    prompt, output = (whole_tokens(rng.permutation(each)) for each in (one.prompt, one.output))
    return ObservedLengths(np.stack([prompt, output, shared_prefix(prompt, one.hits)]))


def _of_replicas(one: Circumstances) -> tuple[Floats, Floats]:
    """Share of all requests and slowness of every replica: those that are known, the least ordinary first where there
    are fewer than known; the others are ordinary."""
    known = list(zip(one.shares, one.slowness, strict=True))
    if len(known) > one.replicas:
        known = sorted(known, key=lambda each: -max(abs(math.log(max(value, NEVER))) for value in each))
    known = [*known[: one.replicas], *([(1.0, 1.0)] * (one.replicas - len(known)))]
    shares, slowness = np.array(known).T
    return shares / shares.sum(), slowness


def _grouped(shares: Floats, slowness: Floats) -> list[list[int]]:
    """Replicas by kind: equal ones together, and of many kinds those that are next to each other in load."""
    kinds: dict[tuple[float, float], list[int]] = {}
    for i, (share, slow) in enumerate(zip(shares, slowness, strict=True)):
        kinds.setdefault((round(float(share) * len(shares), 2), round(float(slow), 3)), []).append(i)
    ordered = [kinds[key] for key in sorted(kinds, key=lambda key: (key[1], key[0]))]
    while len(ordered) > MOST_KINDS:
        gaps = [
            abs(shares[b].mean() - shares[a].mean()) + abs(slowness[b].mean() - slowness[a].mean())
            for a, b in pairwise(ordered)
        ]
        at = int(np.argmin(gaps))
        ordered[at : at + 2] = [ordered[at] + ordered[at + 1]]
    return ordered


def _together(parts: Sequence[ReplicaWork], kinds: tuple[ReplicaKind, ...], rps: float) -> Ran:
    """The requests of all kinds, each with its share of all that were served: a server counts no others."""
    histogram = np.zeros((len(METRIC_OF) + 1, BINS))
    sums, weights = np.zeros(len(METRIC_OF) + 1), np.zeros(len(METRIC_OF) + 1)
    running, seconds, gaps = 0.0, 0.0, 0.0
    for one, kind in zip(parts, kinds, strict=True):
        counts = np.stack([bins.every_bin() for bins in one.outcome.histogram]).astype(np.float64)
        part = kind.number * kind.share * one.served
        histogram += counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * part * COUNTS_EACH
        for metric in range(len(sums)):
            total = float(one.outcome.sums[:, FIRST_COUNT + metric].sum())
            if total:
                sums[metric] += float(one.outcome.sums[:, FIRST_SUM + metric].sum()) / total * part
                weights[metric] += part
        running += rps * part * _mean(one.outcome, E2E)
        seconds += part * (_mean(one.outcome, E2E) - _mean(one.outcome, TTFT))
        gaps += part * (one.outcome.generated_tokens / max(one.outcome.finished, 1) - 1.0)
    return Ran(
        histogram=histogram,
        means={m: float(sums[m] / weights[m]) if weights[m] else math.nan for m in range(len(sums))},
        requests=sum(one.outcome.finished for one in parts),
        growing=any(one.growing for one in parts),
        running=running,
        served=sum(kind.number * kind.share * one.served for one, kind in zip(parts, kinds, strict=True)),
        gap_s=seconds / gaps if gaps > 0.0 else math.nan,
    )


def _behind(ran: Ran, one: Circumstances) -> Ran:
    """A run behind a front end: all TTFT and E2E later by its work, and by a wait that is exponential, as in queues
    that are seldom empty, whatever else a request meets."""
    wait = one.intake.wait_s(one.rps / one.replicas, one.cv)
    if math.isinf(wait):
        return replace(ran, growing=True)
    shares = (np.arange(DELAYS) + 0.5) / DELAYS
    later = one.intake.seconds - wait * np.log1p(-shares)
    histogram = ran.histogram.copy()
    for metric in (TTFT, E2E):
        moved = [np.searchsorted(UPPER_S, UPPER_S + each) for each in later]
        rows = [np.bincount(np.minimum(at, len(UPPER_S) - 1), ran.histogram[metric], len(UPPER_S)) for at in moved]
        histogram[metric] = np.sum(rows, axis=0) / DELAYS
    more = one.intake.seconds + wait
    means = {metric: mean + more if metric in (TTFT, E2E) else mean for metric, mean in ran.means.items()}
    return replace(ran, histogram=histogram, means=means)


def _mean(outcome: SimulationCounts, metric: int) -> float:
    total = float(outcome.sums[:, FIRST_COUNT + metric].sum())
    return float(outcome.sums[:, FIRST_SUM + metric].sum()) / total if total else 0.0
