"""A deployment whose truth is known: continuous batching step by step, with causes put in by hand, as metrics history.

Independent of the product's simulator: a plain loop over engine steps with a step-time formula of its own, whose four
coefficients are set from a plan's step times. It writes what vLLM and dcgm-exporter would have shown at every scrape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from collectors.vocabulary import engine_vocabularies
from sizing.simulator.fleet import Replica

Floats = NDArray[np.float64]

_VLLM = engine_vocabularies()["vllm"].buckets
TTFT_EDGES, GAP_EDGES, E2E_EDGES = _VLLM["ttft"], _VLLM["itl"], _VLLM["e2e"]
TOKEN_EDGES = tuple(float(m * 10**e) for e in range(6) for m in (1, 2, 5))[:-1]
CLOCK_MHZ, HOT = 1980.0, 0x40


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
    """Everything that decides latency, and nothing else; ``profile``: relative loads of equal parts of the time."""

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

    def changed(self, **values: Any) -> World:
        """With other values."""
        return replace(self, **values)


@njit(cache=True)
def _serve(arrive, prompt, cached, output, t0, t1, t2, t3, slots, budget, kv, marks, edges):  # type: ignore[no-untyped-def]
    """One replica, step by step. Every step decodes a token of each running sequence whose prompt is done, then takes
    prompt tokens up to the budget, of running requests first, then of waiting ones while a slot and memory are free."""
    n = len(arrive)
    started, first, ended = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    done, made = np.zeros(n), np.zeros(n)
    active = np.zeros(slots + 1, np.int64)
    running, head, now, mark = 0, 0, 0.0, 0
    queue = np.zeros(2 * n + 2, np.int64)  # room before the front, for those that come back
    back, front = n, n
    seen = np.zeros((len(marks), 3))
    gaps = np.zeros((len(marks) + 1, len(edges) + 1))
    gap_sum = np.zeros(len(marks) + 1)
    preempted = 0
    while mark < len(marks):
        while head < n and arrive[head] <= now:
            queue[back] = head
            back += 1
            head += 1
        if running == 0 and front == back:
            upcoming = arrive[head] if head < n else marks[-1] + 1.0
            while mark < len(marks) and marks[mark] <= upcoming:
                mark += 1
            now = upcoming
            continue
        left, decoding, held, new = budget, 0, 0.0, 0.0
        used = 0.0
        for i in range(running):
            r = active[i]
            used += cached[r] + done[r] + made[r]
            if done[r] >= prompt[r] - cached[r]:
                decoding += 1
                held += prompt[r] + made[r]
                left -= 1
        while used + decoding > kv and running > 1:  # the newest gives its memory back and waits at the front
            running -= 1
            r = active[running]
            used -= cached[r] + done[r] + made[r]
            if done[r] >= prompt[r] - cached[r]:
                decoding -= 1
                held -= prompt[r] + made[r]
                left += 1
            done[r] = 0.0
            preempted += 1
            if front > 0:
                front -= 1
            queue[front] = r
        for i in range(running):
            r = active[i]
            need = prompt[r] - cached[r] - done[r]
            if need > 0 and left > 0:
                take = min(need, left)
                done[r] += take
                left -= take
                new += take
                used += take
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
        duration = t0 + t1 * decoding + t2 * held + t3 * new
        now += duration
        while mark < len(marks) and marks[mark] < now:
            seen[mark, 0], seen[mark, 1], seen[mark, 2] = running, back - front, used
            mark += 1
        place = np.searchsorted(edges, duration)
        kept = 0
        for i in range(running):
            r = active[i]
            if done[r] >= prompt[r] - cached[r]:
                if np.isnan(first[r]):
                    first[r] = now
                elif made[r] > 0:
                    gaps[mark, place] += 1
                    gap_sum[mark] += duration
                made[r] += 1
                if made[r] >= output[r]:
                    ended[r] = now
                    continue
            active[kept] = r
            kept += 1
        running = kept
    return started, first, ended, seen, gaps, gap_sum, preempted


@dataclass(frozen=True, kw_only=True, eq=False)
class Served:
    """One replica's requests and what its gauges showed at the scrapes; ``gaps`` counted between scrapes."""

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
            "ttft_ms": (self.first - self.arrive)[begun] * 1e3,
            "tpot_ms": ((self.ended - self.first)[several] / (self.output[several] - 1.0)) * 1e3,
            "e2e_ms": (self.ended - self.arrive)[over] * 1e3,
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


def lengths(rng: np.random.Generator, spread: tuple[float, float], count: int) -> Floats:
    """Lognormal lengths of a median and a 95th percentile, whole tokens."""
    p50, p95 = spread
    sigma = math.log(p95 / p50) / 1.6448536
    return np.maximum(np.rint(p50 * np.exp(sigma * rng.standard_normal(count))), 1.0)


def run(world: World, *, scrape_s: float = 15.0) -> History:
    """Serve the world's requests from an empty start; common random numbers for worlds of one seed."""
    rng = np.random.default_rng(world.seed)
    count = int(world.rps * max(world.profile, default=1.0) * world.seconds * 1.3) + 200
    uniform = rng.random(count)
    shape = 1.0 / world.cv**2
    gaps = np.random.default_rng(world.seed + 1).gamma(shape, 1.0 / shape, count) / world.rps
    times = _warped(np.cumsum(gaps), world)
    prompt = lengths(np.random.default_rng(world.seed + 2), world.prompt, count)
    output = lengths(np.random.default_rng(world.seed + 3), world.output, count)
    cached = np.floor(np.minimum(prompt - 1.0, _prefix(prompt, world.hits)))
    kept = times < world.seconds
    shares = np.array([*world.shares, *([1.0] * world.replicas)])[: world.replicas]
    chosen = np.searchsorted(np.cumsum(shares / shares.sum()), uniform)
    marks = np.arange(scrape_s, world.seconds + 1e-6, scrape_s)
    slow = [*world.slowness, *([1.0] * world.replicas)][: world.replicas]
    parts = []
    for i in range(world.replicas):
        own = kept & (chosen == i)
        steps = world.steps.times(slow[i] * world.engine)
        given = (times[own], prompt[own], cached[own], output[own])
        started, first, ended, seen, gap, gap_sum, _ = _serve(
            *given,
            steps.base,
            steps.sequence,
            steps.context,
            steps.prompt,
            world.slots,
            world.budget,
            float(world.kv_tokens),
            marks,
            np.array(GAP_EDGES),
        )
        parts.append(
            Served(
                arrive=given[0],
                prompt=given[1],
                cached=given[2],
                output=given[3],
                started=started,
                first=first,
                ended=ended,
                seen=seen,
                gaps=gap,
                gap_sum=gap_sum,
            )
        )
    return History(world=world, marks=marks, replicas=tuple(parts))


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


Row = tuple[str, tuple[tuple[str, str], ...], Floats]
"""A series: name, sorted labels, one value a scrape."""


def series_of(history: History, *, model: str, product: str, gpus: int, kv_tokens: int | None = None) -> Iterator[Row]:
    """Every series of the history as vLLM and dcgm-exporter name them; one pod a replica."""
    slow = [*history.world.slowness, *([1.0] * len(history.replicas))]
    for i, one in enumerate(history.replicas):
        pod = f"server-{i}"
        own = (("engine", "0"), ("instance", f"{pod}:8000"), ("job", "vllm"), ("model_name", model), ("pod", pod))
        yield from _engine_series(history, one, own, kv_tokens or history.world.kv_tokens)
        for k in range(gpus):
            hot = slow[i] > 1.0
            labels = (
                ("UUID", f"GPU-{i}-{k}"),
                ("exported_pod", pod),
                ("gpu", str(i * gpus + k)),
                ("instance", "node:9400"),
                ("job", "dcgm"),
                ("modelName", product),
                ("pod", pod),
            )
            labels = tuple(pair for pair in labels if pair[0] != "exported_pod")
            full = np.ones(len(history.marks))
            yield "DCGM_FI_DEV_SM_CLOCK", labels, full * (CLOCK_MHZ / slow[i] if hot else CLOCK_MHZ)
            yield "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", labels, full * (HOT if hot else 0.0)
            yield "DCGM_FI_DEV_GPU_UTIL", labels, full * 97.0
            yield "DCGM_FI_DEV_POWER_USAGE", labels, full * 500.0


def _engine_series(history: History, one: Served, own: tuple[tuple[str, str], ...], kv_tokens: int) -> Iterator[Row]:
    marks = history.marks
    queries = np.where(np.isnan(one.first), 0.0, one.prompt)
    yield "vllm:num_requests_running", own, one.seen[:, 0]
    yield "vllm:num_requests_waiting", own, one.seen[:, 1]
    yield "vllm:kv_cache_usage_perc", own, np.minimum(one.seen[:, 2] / history.world.kv_tokens, 1.0)
    yield "vllm:prompt_tokens_total", own, _summed(one.first, queries, marks)
    yield "vllm:prefix_cache_queries_total", own, _summed(one.first, one.prompt, marks)
    yield "vllm:prefix_cache_hits_total", own, _summed(one.first, one.cached, marks)
    first = _summed(one.first, np.ones(len(one.first)), marks)
    yield "vllm:generation_tokens_total", own, first + one.gaps.sum(axis=1)[: len(marks)].cumsum()
    yield "vllm:num_preemptions_total", own, np.zeros(len(marks))
    done = _summed(one.ended, np.ones(len(one.ended)), marks)
    yield "vllm:request_success_total", _with(own, "finished_reason", "stop"), done
    blocks = kv_tokens // 16
    config = {
        "block_size": "16",
        "cache_dtype": "auto",
        "kv_cache_size_tokens": str(blocks * 16),
        "num_gpu_blocks": str(blocks),
    }
    info = tuple(sorted([*((k, v) for k, v in own if k != "model_name"), *config.items()]))
    yield "vllm:cache_config_info", info, np.ones(len(marks))
    several = np.where(one.output > 1, one.output - 1.0, np.nan)
    zero_gap = np.where(one.output > 1, (one.ended - one.first) / several, 0.0)
    for name, at, values, edges in (
        ("vllm:time_to_first_token_seconds", one.first, one.first - one.arrive, TTFT_EDGES),
        ("vllm:request_time_per_output_token_seconds", one.ended, zero_gap, GAP_EDGES),
        ("vllm:e2e_request_latency_seconds", one.ended, one.ended - one.arrive, E2E_EDGES),
        ("vllm:request_queue_time_seconds", one.ended, one.started - one.arrive, E2E_EDGES),
        ("vllm:request_prompt_tokens", one.ended, one.prompt, TOKEN_EDGES),
        ("vllm:request_generation_tokens", one.ended, one.output, TOKEN_EDGES),
    ):
        yield from _histogram(name, own, at, values, edges, marks)
    counts = one.gaps[: len(marks)].cumsum(axis=0)
    name = "vllm:inter_token_latency_seconds"
    for k, edge in enumerate((*GAP_EDGES, math.inf)):
        yield f"{name}_bucket", _with(own, "le", _edge(edge)), counts[:, : k + 1].sum(axis=1)
    yield f"{name}_count", own, counts.sum(axis=1)
    yield f"{name}_sum", own, one.gap_sum[: len(marks)].cumsum()


def _summed(at: Floats, values: Floats, marks: Floats) -> Floats:
    """What a counter of ``values`` shows at every mark."""
    known = ~np.isnan(at)
    order = np.argsort(at[known])
    total = np.concatenate([[0.0], np.cumsum(values[known][order])])
    return total[np.searchsorted(at[known][order], marks, side="right")]


def _histogram(
    name: str, own: tuple[tuple[str, str], ...], at: Floats, values: Floats, edges: tuple[float, ...], marks: Floats
) -> Iterator[Row]:
    for edge in (*edges, math.inf):
        yield f"{name}_bucket", _with(own, "le", _edge(edge)), _summed(at, (values <= edge).astype(float), marks)
    yield f"{name}_count", own, _summed(at, np.ones(len(at)), marks)
    yield f"{name}_sum", own, _summed(at, np.nan_to_num(values), marks)


def _edge(edge: float) -> str:
    return "+Inf" if math.isinf(edge) else repr(float(edge))


def _with(labels: tuple[tuple[str, str], ...], key: str, value: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((*labels, (key, value))))
