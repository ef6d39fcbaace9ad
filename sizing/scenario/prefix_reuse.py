"""How much of its prompts a trace says was in earlier ones, from the hashes of their blocks (``hash_ids``)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from sizing.base.choices import CacheRouting
from sizing.base.format import percent
from sizing.reuse.in_flight import InCommon, of_windows
from sizing.scenario.part import ScenarioPart

if TYPE_CHECKING:  # numba, which it needs, would slow down every start
    from sizing.reuse.block_trace import BlockTrace, HitCurve

BLOCK_TOKENS = (512, 16, 32, 64, 128, 256, 1024)
"""Tokens of a block: 512 in traces of Mooncake, 16 in those of Bailian; AIPerf's and Dynamo's state one when they are
replayed."""

MOST_BLOCKS = 20_000_000
"""Different blocks that are kept. Chosen: 2 GB of text name as many, and they take up about 1 GB."""

MOST_REPLAYED = 5_000_000
"""Blocks of prompts that are replayed through caches of every size: the first of a longer trace. Chosen: it takes some
seconds."""

REPLICAS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of replicas with random routing that are replayed; between them hits are read off a line over the
logarithm."""

CAPACITIES = 48
"""Cache sizes at which hits are kept."""

REPLAYED: tuple[CacheRouting, ...] = ("random", "session_affinity")
"""Routings whose hits are replayed over replicas; by prefix they are those of one cache."""

AT_ONCE = tuple(2**power for power in range(15))
"""Numbers of requests in a row of which the different tokens are kept."""

Tokens = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class TraceReuse(ScenarioPart):
    """Hits of LRU caches by the block hashes of a trace. ``capacity_tokens`` of all replicas together grow;
    ``hit_shares``: one row for each of :data:`REPLICAS` with random routing, one replica first, which is one cache of
    all; ``session_hit_shares``: the same with session affinity. ``reused_share``: of the prompts that come again, if
    nothing is evicted. ``different_shares``: of the tokens of so many ``requests_at_once``, those that no other of them
    has, too, in as many rows.

    The file loader fills them in from the trace.
    """

    trace: str = Field(min_length=1, max_length=300)
    capacity_tokens: list[Tokens] = Field(default_factory=list, max_length=200)
    hit_shares: list[Annotated[list[Share], Field(max_length=200)]] = Field(default_factory=list, max_length=20)
    session_hit_shares: list[Annotated[list[Share], Field(max_length=200)]] = Field(default_factory=list, max_length=20)
    reused_share: Share = 0.0
    requests_at_once: list[Tokens] = Field(default_factory=list, max_length=200)
    different_shares: list[Annotated[list[Share], Field(max_length=200)]] = Field(default_factory=list, max_length=20)

    @model_validator(mode="after")
    def _was_read(self) -> TraceReuse:
        if not self.capacity_tokens:
            raise ValueError("a trace is read from beside a scenario file; here give capacity_tokens and hit_shares")
        if len(self.hit_shares) != len(REPLICAS) or any(len(r) != len(self.capacity_tokens) for r in self.hit_shares):
            raise ValueError(f"hit_shares has a row for each of {REPLICAS} replicas, a value for each capacity")
        by_session = self.session_hit_shares or self.hit_shares
        if len(by_session) != len(REPLICAS) or any(len(r) != len(self.capacity_tokens) for r in by_session):
            raise ValueError(f"session_hit_shares has a row for each of {REPLICAS} replicas, a value for each capacity")
        differ = self.different_shares or [[]] * len(REPLICAS)
        if len(differ) != len(REPLICAS) or any(len(row) != len(self.requests_at_once) for row in differ):
            raise ValueError(f"different_shares has a row for each of {REPLICAS} replicas, as long as requests_at_once")
        if self.requests_at_once != sorted(set(self.requests_at_once)):
            raise ValueError("requests_at_once must grow")
        if self.capacity_tokens != sorted(self.capacity_tokens) or any(
            row != sorted(row) for row in (*self.hit_shares, *by_session)
        ):
            raise ValueError("capacity_tokens and the rows of hit_shares and session_hit_shares must grow")
        return self

    def hit_share(self, capacity: float, replicas: int, routing: CacheRouting) -> float:
        """Share of prompt tokens held by caches of so many tokens together; beyond the last capacity all that is.

        A trace that was read before sessions were told apart has those of random routing, which are fewer.
        """
        log_of = np.log(self.capacity_tokens)
        at = math.log(max(capacity, 1.0))
        rows = self.session_hit_shares if routing == "session_affinity" and self.session_hit_shares else self.hit_shares
        shares = [float(np.interp(at, log_of, row, left=0.0)) for row in rows]
        return self._of_replicas(shares, replicas, routing)

    def in_common(self, replicas: int, routing: CacheRouting, prompt: float) -> InCommon:
        """What requests in flight at one replica have in common, of prompts of ``prompt`` tokens in the mean; nothing
        where the trace was read before that was counted."""
        if routing == "prefix_aware":  # each replica has a part of what all of them run
            counts = [count / replicas for count in self.requests_at_once]
        else:
            counts = self.requests_at_once
        rows = zip(counts, zip(*self.different_shares, strict=True), strict=bool(self.different_shares))
        some = [(count, self._of_replicas(row, replicas, routing)) for count, row in rows if count >= 1.0]
        return of_windows([count for count, _ in some], [share for _, share in some], prompt)

    @staticmethod
    def _of_replicas(shares: Sequence[float], replicas: int, routing: CacheRouting) -> float:
        """Of so many replicas, from one share for each of :data:`REPLICAS`."""
        if routing == "prefix_aware":
            return shares[0]
        return float(np.interp(math.log(max(replicas, 1)), np.log(REPLICAS), shares))

    @property
    def working_set(self) -> float:
        """Tokens of one cache that has 95 % of the hits of one without limit."""
        enough = 0.95 * self.hit_shares[0][-1]
        return self.capacity_tokens[int(np.argmax(np.asarray(self.hit_shares[0]) >= enough))]


class PrefixReuse:
    """Counts, in the order of requests, the leading blocks of each prompt that an earlier prompt had, too."""

    def __init__(self) -> None:
        self._kept: list[list[Any]] = []
        self._prompts: list[float] = []
        self._replayed = 0
        self._seen: set[Any] = set()
        self._sizes = dict.fromkeys(BLOCK_TOKENS, 0)
        """Requests whose number of blocks is that of their prompt, by tokens of a block."""
        self._requests = self._tokens = self._reused_blocks = self._blocks = 0

    def add(self, prompts: Iterable[float], hashes: Iterable[object]) -> None:
        """Requests in order: tokens of each prompt, and the list of its blocks, anything else for one without."""
        for prompt, blocks in zip(prompts, hashes, strict=True):
            if not isinstance(blocks, list) or not all(isinstance(one, int | str) for one in blocks):
                continue
            self._requests += 1
            self._tokens += int(prompt)
            self._blocks += len(blocks)
            for size in BLOCK_TOKENS:
                self._sizes[size] += len(blocks) == -(-int(prompt) // size)
            self._reused_blocks += self._known(blocks)
            if self._replayed < MOST_REPLAYED:
                self._replayed += len(blocks)
                self._kept.append(blocks)
                self._prompts.append(float(prompt))
            if len(self._seen) < MOST_BLOCKS:
                self._seen.update(blocks)

    def _known(self, blocks: Sequence[Any]) -> int:
        return next((place for place, block in enumerate(blocks) if block not in self._seen), len(blocks))

    def notes(self, name: str) -> Iterator[str]:
        """What the hashes say, in sentences; none without any."""
        if not self.has_blocks:
            return
        size = self._block_tokens
        fitting = self._sizes[size]
        if fitting < self._requests:
            yield (
                f"{name}: {self._requests - fitting:,} of {self._requests:,} requests have more or fewer blocks than "
                f"their prompts in blocks of {size}."
            )
        share = min(self._reused_blocks * size / max(self._tokens, 1), 1.0)
        yield (
            f"{name}: {percent(share)} of the prompt tokens were in an earlier prompt (hash_ids, blocks of {size}). A "
            "cache without limit would hold them, a real one holds fewer: what the plan's own caches hold is counted "
            "where the workload has prefix_reuse."
        )

    @property
    def has_blocks(self) -> bool:
        """Whether any request names its blocks."""
        return self._blocks > 0

    @property
    def _block_tokens(self) -> int:
        return max(BLOCK_TOKENS, key=lambda one: self._sizes[one])

    def replayed(self, name: str) -> TraceReuse | None:
        """The hits of caches of every size; None where no prompt comes again."""
        from sizing.reuse.block_trace import BlockTrace

        return reuse_of(BlockTrace.of(self._prompts, self._kept, self._block_tokens), name)


def reuse_of(trace: BlockTrace, name: str) -> TraceReuse | None:
    """The hits of caches of every size, and what prompts in a row have in common; None where none comes again."""
    from sizing.reuse.block_trace import different_at, hit_curve

    whole = hit_curve(trace)
    if not whole.unlimited:
        return None
    ends = math.log(16.0 * trace.block_tokens), math.log(max(float(whole.capacity[-1]) * REPLICAS[-1], 2.0))
    capacities = np.exp(np.linspace(*ends, CAPACITIES))
    of_one = _grown(whole, capacities)
    at_random, by_session = (
        [of_one, *(_grown(hit_curve(trace, n, routing), capacities) for n in REPLICAS[1:])] for routing in REPLAYED
    )
    return TraceReuse(
        trace=name,
        capacity_tokens=capacities.round(0).tolist(),
        hit_shares=at_random,
        session_hit_shares=by_session,
        reused_share=trace.reused_share,
        requests_at_once=list(AT_ONCE),
        different_shares=[different_at(trace, n, AT_ONCE).clip(0.0, 1.0).round(6).tolist() for n in REPLICAS],
    )


def _grown(curve: HitCurve, capacities: Any) -> list[float]:
    """Hit shares at the capacities; the last size holds all that there is."""
    shares = np.minimum(curve.at(capacities), 1.0)
    return [round(float(share), 6) for share in shares]
