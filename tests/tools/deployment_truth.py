"""A deployment whose truth is known: continuous batching step by step, with causes put in by hand, as metrics history.

Independent of the product's simulator: a plain loop over engine steps with a step-time formula of its own, whose four
coefficients are set from a plan's step times. It writes what vLLM and dcgm-exporter would have shown at every scrape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from collectors.vocabulary import engine_vocabularies
from sizing.simulator.fleet import Replica

Floats = NDArray[np.float64]

GAP_EDGES = engine_vocabularies()["vllm"].buckets["itl"]


@dataclass(frozen=True, kw_only=True)
class StepTimes:
    """t = base + sequence x n + context x tokens held + prompt x new prompt tokens, in seconds."""

    base: float
    sequence: float
    context: float
    prompt: float

    def times(self, factor: float) -> StepTimes:
        """All of it ``factor`` times as long."""
        return StepTimes(**{name: value * factor for name, value in vars(self).items()})


def step_times_of(one: Replica, *, running: float, context: float, prompt: float) -> StepTimes:
    """The formula fitted to a plan's table of step times around a load (least squares of relative errors)."""
    n = np.unique(np.round(np.linspace(1.0, max(running * 2.0, 8.0), 24))).astype(int)
    n = n[n <= one.max_sequences]
    contexts = np.array([0.5, 0.75, 1.0, 1.5]) * context
    grid = one.grid
    rows, wanted = [], []
    for count in n:
        for length in contexts:
            seconds = float(np.interp(length, grid.knots, grid.decode_s[count]))
            rows.append(np.array([1.0, count, count * length]) / seconds)
            wanted.append(1.0)
    base, sequence, held = np.maximum(np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0], 0.0)
    many = max(running, 1.0)
    added = float(np.interp(many + prompt, grid.row_knots, grid.row_s) - np.interp(many, grid.row_knots, grid.row_s))
    added += prompt * prompt / 2.0 * grid.full_pair_s + prompt * grid.token_s
    return StepTimes(
        base=float(base), sequence=float(sequence), context=float(held), prompt=max(added, grid.launch_s) / prompt
    )


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything that decides latency, and nothing else; ``profile``: relative loads of equal parts of the time;
    ``later``: the moment from which all steps take so many times as long; ``shapes`` of prompts and answers, each with
    the mean that its percentiles have as a lognormal; ``front``: seconds of the one process of each replica that takes
    requests in, so that they queue for it."""

    steps: StepTimes
    rps: float
    prompt: tuple[float, float]
    output: tuple[float, float]
    hits: float
    replicas: int
    slots: int
    budget: int
    kv_tokens: int
    cv: float = 1.0
    shares: tuple[float, ...] = ()
    slowness: tuple[float, ...] = ()
    engine: float = 1.0
    seconds: float = 2400.0
    profile: tuple[float, ...] = ()
    seed: int = 1
    later: tuple[float, float] = (math.inf, 1.0)
    shapes: tuple[str, str] = ("lognormal", "lognormal")
    front: float = 0.0

    def changed(self, **values: Any) -> World:
        """With other values."""
        return replace(self, **values)


@njit(cache=True)
def _in_memory(active, running, asked, done, made, cached):  # type: ignore[no-untyped-def]
    """Sequences that decode, tokens that these hold, and tokens that all running ones hold; ``asked``: rows of prompts
    and what is cached of them."""
    decoding, held, used = 0, 0.0, 0.0
    for i in range(running):
        r = active[i]
        used += cached[r] + done[r] + made[r]
        if done[r] >= asked[r] - cached[r]:
            decoding += 1
            held += asked[r] + made[r]
    return decoding, held, used


@njit(cache=True)
def _continue_prompts(active, running, prompt, cached, done, left):  # type: ignore[no-untyped-def]
    """Prompt tokens of running requests that fit into what is left of the step's budget."""
    new = 0.0
    for i in range(running):
        r = active[i]
        need = prompt[r] - cached[r] - done[r]
        if need > 0 and left > 0:
            take = min(need, left)
            done[r] += take
            left -= take
            new += take
    return left, new


@njit(cache=True)
def _admit(active, running, queue, ends, prompt, cached, done, made, started, now, room):  # type: ignore[no-untyped-def]
    """Waiting requests while a slot, budget and memory are free: ``ends`` of the queue, ``room`` (slots, tokens of the
    step, tokens held, tokens of memory)."""
    (front, back), (slots, left, used, kv) = ends, room
    new = 0.0
    while front < back and running < slots and left > 0:
        r = queue[front]
        if used + prompt[r] + made[r] > kv and running > 0:
            break
        front += 1
        if np.isnan(started[r]):
            started[r] = now
        take = min(prompt[r] - cached[r], left)
        done[r] = take
        left -= take
        new += take
        used += cached[r] + take
        active[running] = r
        running += 1
    return running, front, new, used


@njit(cache=True)
def _emit(active, running, prompt, cached, output, done, made, first, ended, now):  # type: ignore[no-untyped-def]
    """A token of every sequence whose prompt is done: how many go on running, and how many gaps that was."""
    kept, gaps = 0, 0
    for i in range(running):
        r = active[i]
        if done[r] >= prompt[r] - cached[r]:
            if np.isnan(first[r]):
                first[r] = now
            elif made[r] > 0:
                gaps += 1
            made[r] += 1
            if made[r] >= output[r]:
                ended[r] = now
                continue
        active[kept] = r
        kept += 1
    return kept, gaps


@njit(cache=True)
def _serve(arrive, prompt, cached, output, steps, later, slots, budget, kv, marks, edges):  # type: ignore[no-untyped-def]
    """One replica, step by step. Every step decodes a token of each running sequence whose prompt is done, then takes
    prompt tokens up to the budget, of running requests first, then of waiting ones while a slot and memory are free."""
    n = len(arrive)
    started, first, ended = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    done, made, active = np.zeros(n), np.zeros(n), np.zeros(slots + 1, np.int64)
    running, head, now, mark = 0, 0, 0.0, 0
    queue = np.zeros(2 * n + 2, np.int64)  # room before the front, for those that come back
    back, front = n, n
    seen = np.zeros((len(marks), 3))
    gaps, gap_sum = np.zeros((len(marks) + 1, len(edges) + 1)), np.zeros(len(marks) + 1)
    while mark < len(marks):
        while head < n and arrive[head] <= now:
            queue[back] = head
            back, head = back + 1, head + 1
        if running == 0 and front == back:
            now = arrive[head] if head < n else marks[-1] + 1.0
            while mark < len(marks) and marks[mark] <= now:
                mark += 1
            continue
        decoding, held, used = _in_memory(active, running, prompt, done, made, cached)
        while used + decoding > kv and running > 1:  # the newest gives its memory back and waits at the front
            running -= 1
            done[active[running]] = 0.0
            front = max(front - 1, 0)
            queue[front] = active[running]
            decoding, held, used = _in_memory(active, running, prompt, done, made, cached)
        left, new = _continue_prompts(active, running, prompt, cached, done, budget - decoding)
        room = (slots, left, used + new, kv)
        running, front, more, used = _admit(
            active, running, queue, (front, back), prompt, cached, done, made, started, now, room
        )
        duration = steps[0] + steps[1] * decoding + steps[2] * held + steps[3] * (new + more)
        duration *= later[1] if now >= later[0] else 1.0
        now += duration
        while mark < len(marks) and marks[mark] < now:
            seen[mark, 0], seen[mark, 1], seen[mark, 2] = running, back - front, used
            mark += 1
        running, count = _emit(active, running, prompt, cached, output, done, made, first, ended, now)
        gaps[mark, np.searchsorted(edges, duration)] += count
        gap_sum[mark] += count * duration
    return started, first, ended, seen, gaps, gap_sum


@dataclass(frozen=True, kw_only=True, eq=False)
class Served:
    """One replica's requests, ``asked`` at its front end and ``arrive`` at its engine, and what its gauges showed at
    the scrapes; ``gaps`` counted between scrapes."""

    asked: Floats
    arrive: Floats
    prompt: Floats
    cached: Floats
    output: Floats
    started: Floats
    first: Floats
    ended: Floats
    seen: Floats
    gaps: Floats
    gap_sum: Floats

    def between(self, start: float, end: float) -> Mapping[str, Floats]:
        """TTFT, mean gap and E2E in seconds of what a server would count between two moments."""
        begun = (self.first > start) & (self.first <= end)
        over = (self.ended > start) & (self.ended <= end)
        several = over & (self.output > 1)
        return {
            "ttft_ms": (self.first - self.asked)[begun] * 1e3,
            "tpot_ms": ((self.ended - self.first)[several] / (self.output[several] - 1.0)) * 1e3,
            "e2e_ms": (self.ended - self.asked)[over] * 1e3,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """All replicas of a world and the moments of their scrapes."""

    world: World
    marks: Floats
    replicas: tuple[Served, ...]

    def latencies(self, start: float, end: float) -> dict[str, Floats]:
        """The latencies of all requests counted between two moments, in ms."""
        each = [one.between(start, end) for one in self.replicas]
        return {name: np.concatenate([part[name] for part in each]) for name in ("ttft_ms", "tpot_ms", "e2e_ms")}

    def percentile(self, name: str, percent: float, start: float, end: float) -> float:
        """A percentile of a latency between two moments, in ms."""
        return float(np.percentile(self.latencies(start, end)[name], percent))


def lengths(rng: np.random.Generator, spread: tuple[float, float], count: int, shape: str) -> Floats:
    """Lengths of a shape in whole tokens, with the mean of a lognormal of this median and 95th percentile."""
    p50, p95 = spread
    sigma = math.log(p95 / p50) / 1.6448536
    mean = p50 * math.exp(sigma**2 / 2.0)
    match shape:
        case "lognormal":
            drawn = p50 * np.exp(sigma * rng.standard_normal(count))
        case "exponential":
            drawn = mean * rng.exponential(1.0, count)
        case "uniform":
            drawn = mean * rng.uniform(0.2, 1.8, count)
        case "gamma":
            drawn = mean * rng.gamma(4.0, 0.25, count)
        case "two_kinds":  # short ones and, one in six, long ones
            drawn = mean * np.where(rng.random(count) < 1.0 / 6.0, 3.0, 0.6) * rng.uniform(0.8, 1.2, count)
        case "fixed":
            drawn = np.full(count, mean)
        case _:
            raise ValueError(shape)
    return np.maximum(np.rint(drawn), 1.0)


def _through_front(times: Floats, seconds: float) -> Floats:
    """When requests leave a front end that takes so long for each, one after the other."""
    number = np.arange(len(times))
    return np.asarray(seconds * (number + 1.0) + np.maximum.accumulate(times - number * seconds))


def run(world: World, *, scrape_s: float = 15.0) -> History:
    """Serve the world's requests from an empty start; common random numbers for worlds of one seed."""
    count = int(world.rps * max(world.profile, default=1.0) * world.seconds * 1.3) + 200
    uniform = np.random.default_rng(world.seed).random(count)
    shape = 1.0 / world.cv**2
    gaps = np.random.default_rng(world.seed + 1).gamma(shape, 1.0 / shape, count) / world.rps
    times = _warped(np.cumsum(gaps), world)
    prompt = lengths(np.random.default_rng(world.seed + 2), world.prompt, count, world.shapes[0])
    output = lengths(np.random.default_rng(world.seed + 3), world.output, count, world.shapes[1])
    cached = np.floor(np.minimum(prompt - 1.0, _prefix(prompt, world.hits)))
    shares = np.array([*world.shares, *([1.0] * world.replicas)])[: world.replicas]
    chosen = np.where(times < world.seconds, np.searchsorted(np.cumsum(shares / shares.sum()), uniform), -1)
    marks = np.arange(scrape_s, world.seconds + 1e-6, scrape_s)
    slow = [*world.slowness, *([1.0] * world.replicas)][: world.replicas]
    requests = np.stack([times, prompt, cached, output])
    parts = [_served(world, requests[:, chosen == i], slow[i], marks) for i in range(world.replicas)]
    return History(world=world, marks=marks, replicas=tuple(parts))


def _served(world: World, requests: Floats, slow: float, marks: Floats) -> Served:
    """One replica with its requests: rows arrival, prompt, cached part, output."""
    steps = world.steps.times(slow * world.engine)
    times = np.array([steps.base, steps.sequence, steps.context, steps.prompt])
    asked, prompt, cached, output = (np.ascontiguousarray(row) for row in requests)
    arrive = _through_front(asked, world.front)
    memory = float(world.kv_tokens)
    started, first, ended, seen, gaps, gap_sum = _serve(
        *(arrive, prompt, cached, output, times, np.array(world.later)),
        *(world.slots, world.budget, memory, marks, np.array(GAP_EDGES)),
    )
    return Served(
        asked=asked,
        arrive=arrive,
        prompt=prompt,
        cached=cached,
        output=output,
        started=started,
        first=first,
        ended=ended,
        seen=seen,
        gaps=gaps,
        gap_sum=gap_sum,
    )


def _warped(times: Floats, world: World) -> Floats:
    """Arrivals at the mean rate moved to where the profile has as many: relative loads of equal parts of the time."""
    if not world.profile:
        return times
    edges = np.linspace(0.0, world.seconds, len(world.profile) + 1)
    expected = np.concatenate([[0.0], np.cumsum(np.array(world.profile) * np.diff(edges))])
    return np.where(times < expected[-1], np.interp(times, expected, edges), np.inf)


def _prefix(prompt: Floats, hits: float) -> float:
    """The common first part of all prompts that gives a hit rate."""
    if hits <= 0.0:
        return 0.0
    low, high = 0.0, float(prompt.max())
    for _ in range(60):
        middle = (low + high) / 2.0
        if np.minimum(prompt - 1.0, middle).mean() / prompt.mean() < hits:
            low = middle
        else:
            high = middle
    return low
