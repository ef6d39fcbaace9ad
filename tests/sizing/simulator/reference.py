"""A slow, obviously correct engine: one step after the other, every sequence an object, nothing leapt over."""

import math
from dataclasses import dataclass, field

import numpy as np

from sizing.simulator.fleet import Replica
from sizing.steps.ranks import busiest_share


@dataclass(eq=False)
class Sequence:
    number: int
    arrived: float
    prompt: float
    output: float
    cached: float = 0.0
    emitted: float = 0.0
    computed: float = 0.0
    steps_left: int = -1
    cache: float = 0.0
    started: float = math.nan
    first: float = math.nan
    finished: float = math.nan
    preempted: int = 0
    lag: float = 0.0
    grown: float = field(default=0.0)

    @property
    def target(self) -> float:
        """Tokens to process before the next one can be emitted."""
        return self.prompt + self.emitted

    @property
    def decoding(self) -> bool:
        return self.steps_left > 0


class SlowEngine:
    """The rules of sizing.simulator.replica, spelled out."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.now = 0.0
        self.queue: list[Sequence] = []
        self.running: list[Sequence] = []
        self.processed = 0.0

    def kv(self) -> float:
        reserved = self.replica.reserve_output
        return sum((s.prompt + s.output if reserved else s.cache) + self.replica.waste_tokens for s in self.running)

    def step(self) -> None:
        """One engine step; the caller makes sure that there is something to do."""
        per_step = self.replica.speculation.tokens_per_step
        evicted = self.make_room(per_step)
        decoding = [s for s in self.running if s.decoding]
        chunks, pair_s = self.prompt_chunks(decoding, per_step, admitting=not evicted)
        waits = self.replica.prompts_apart and bool(chunks)
        self.now += self.duration([] if waits else decoding, [c for _, c in chunks], pair_s)
        for s in [] if waits else decoding:
            s.cache += per_step
            s.grown += per_step
            s.steps_left -= 1
            if s.steps_left == 0:
                self.end(s)
        for s, _ in chunks:
            if s.computed >= s.target:
                self.emit_first(s)

    def make_room(self, per_step: float) -> bool:
        """Evict until the next token of every decoding sequence fits; whether anything was evicted."""
        evicted = False
        while any(s.decoding for s in self.running) and not self.replica.reserve_output:
            decoding = [s for s in self.running if s.decoding]
            if self.kv() + len(decoding) * per_step <= self.replica.kv_tokens:
                break
            victim = self.running.pop()
            victim.emitted += victim.grown
            victim.grown = victim.cache = 0.0
            victim.computed, victim.steps_left = victim.cached, -1
            victim.preempted += 1
            self.queue.insert(0, victim)
            evicted = True
        return evicted

    def prompt_chunks(
        self, decoding: list[Sequence], per_step: float, *, admitting: bool
    ) -> tuple[list[tuple[Sequence, float]], float]:
        """The prompt tokens of a step by sequence, and the time of their attention."""
        replica = self.replica
        beside = 0 if replica.prompts_apart else len(decoding)
        budget = replica.token_budget - beside * replica.speculation.rows_per_sequence
        of_rank = budget / replica.grid.ranks
        chunks: list[tuple[Sequence, float]] = []
        pair_s, unfinished = 0.0, 0
        candidates = [s for s in self.running if not s.decoding]
        while budget > 0 and unfinished < replica.grid.ranks:
            sequence = candidates.pop(0) if candidates else self.admitted(len(decoding), per_step, admitting)
            if sequence is None:
                break
            chunk = min(budget, of_rank, sequence.target - sequence.computed)
            sequence.lag = self.lag(chunk, self.pairs(chunk, sequence.computed))
            pair_s += self.pairs(chunk, sequence.computed)
            sequence.computed += chunk
            self.processed += chunk
            budget -= chunk
            chunks.append((sequence, chunk))
            unfinished += sequence.computed < sequence.target
        return chunks, pair_s

    def admitted(self, decoding: int, per_step: float, admitting: bool) -> Sequence | None:
        """The next of the queue, if a slot and the cache have room for it."""
        replica = self.replica
        if not (admitting and self.queue and len(self.running) < replica.max_sequences):
            return None
        sequence = self.queue[0]
        promises = replica.promises
        left = sum(s.prompt + s.output + replica.waste_tokens for s in self.running) - self.kv()
        own = min(sequence.output - sequence.emitted, promises.most_tokens)
        promised = promises.of_new * own + promises.of_running * left
        need = sequence.target + replica.waste_tokens + max((decoding + 1) * per_step, promised)
        if replica.reserve_output:
            need += sequence.output - sequence.emitted
        if self.kv() + need > replica.kv_tokens:
            return None
        self.running.append(self.queue.pop(0))
        sequence.cache = sequence.target
        if math.isnan(sequence.started):
            sequence.started = self.now
        return sequence

    def emit_first(self, s: Sequence) -> None:
        if math.isnan(s.first):
            s.first = self.now + s.lag
        s.emitted += 1.0
        left = math.ceil((s.output - s.emitted) / self.replica.speculation.tokens_per_step - 1e-9)
        if left <= 0:
            self.end(s)
        else:
            s.steps_left = left

    def end(self, s: Sequence) -> None:
        s.finished = self.now + s.lag
        self.running.remove(s)

    def pairs(self, new: float, before: float) -> float:
        grid, full = self.replica.grid, new * (before + new / 2.0)
        windowed = grid.sliding_pair_s * min(full, new * grid.window)
        return grid.full_pair_s * full + windowed + grid.token_s * new

    def lag(self, chunk: float, pair_s: float) -> float:
        """From the end of a step until the other pipeline stages are through with the chunk."""
        grid = self.replica.grid
        return float(np.interp(chunk, grid.row_knots, grid.lag_s)) + grid.pair_lag * pair_s

    def duration(self, decoding: list[Sequence], chunks: list[float], pair_s: float) -> float:
        grid, n = self.replica.grid, len(decoding)
        mean = sum(s.cache for s in decoding) / n if n else 0.0
        seconds = float(np.interp(mean, grid.knots, grid.decode_s[n]))
        tokens = sum(chunks)
        if tokens > 0:
            rows = n * self.replica.speculation.rows_per_sequence
            of_rank = (self.replica.token_budget - rows) / grid.ranks
            fullest = min(float(busiest_share(grid.ranks)[len(chunks)]) * tokens, of_rank) * grid.ranks
            # Experts work for the tokens of all ranks, the rest for as many as the fullest rank has.
            experts = np.interp([rows, rows + tokens], grid.row_knots, grid.row_s - grid.own_s)
            own = np.interp([rows, rows + fullest], grid.row_knots, grid.own_s)
            computed = float(experts[1] - experts[0] + own[1] - own[0]) + pair_s * fullest / tokens
            hidden = 0.0 if self.replica.prompts_apart else seconds
            seconds += max(computed, grid.launch_s - hidden)
        return seconds

    @property
    def idle(self) -> bool:
        return not self.queue and not self.running

    def run_until(self, time: float) -> None:
        """Start every step that can start before ``time``."""
        while self.now < time and not self.idle:
            self.step()

    def arrive(self, s: Sequence) -> None:
        self.run_until(s.arrived)
        self.now = max(self.now, s.arrived)
        s.computed = s.cached
        self.queue.append(s)


def simulate_slowly(replica: Replica, requests: list[Sequence]) -> list[Sequence]:
    """Every request through one engine, in order of arrival."""
    engine = SlowEngine(replica)
    for s in requests:
        engine.arrive(s)
    engine.run_until(math.inf)
    return requests
