"""Prompts as the blocks that they share, replayed through LRU prefix caches of every size at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sizing.base.arrays import Counts, Floats
from sizing.base.choices import CacheRouting
from sizing.reuse.stack_distance import NEVER, stack_distances

SEED = 41
"""Of the random routing that is replayed; the hits of thousands of requests hardly depend on it."""

MOST_COUNTED = 1_000_000
"""Blocks of a trace whose rows of requests are counted: its first. Chosen: it takes about a second for all replicas."""

FEWEST_SHARED = 2
"""Full blocks that make two requests one session: a first block alone is a system prompt that everybody has."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockTrace:
    """Requests in order: ``blocks`` (N,) numbered from 0, where each prompt begins (R + 1,), and its tokens (R,).

    Blocks are hashes of all that comes before them too, so that two prompts with the same block share all up to it.
    """

    blocks: Counts
    starts: Counts
    prompts: Floats
    block_tokens: int

    @classmethod
    def of(cls, prompts: Iterable[float], hashes: Sequence[Sequence[Any]], block_tokens: int) -> BlockTrace:
        """A trace of the tokens of each prompt and the names of its blocks."""
        numbers: dict[Any, int] = {}
        flat = [numbers.setdefault(block, len(numbers)) for blocks in hashes for block in blocks]
        starts = np.concatenate([[0], np.cumsum([len(blocks) for blocks in hashes], dtype=np.int64)])
        return cls(
            blocks=np.array(flat, dtype=np.int64),
            starts=starts.astype(np.int64),
            prompts=np.array(list(prompts), dtype=np.float64),
            block_tokens=block_tokens,
        )

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def request_of(self) -> Counts:
        """The request of each block, (N,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def tokens_of_blocks(self) -> Floats:
        """Prompt tokens in each block, (N,): the last of a prompt may be cut short."""
        place = np.arange(len(self.blocks)) - self.starts[self.request_of]
        left = self.prompts[self.request_of] - place * float(self.block_tokens)
        return np.clip(left, 0.0, float(self.block_tokens))

    @property
    def reused_share(self) -> float:
        """Share of the tokens of those prompts that come again which a cache without limit holds: of prompts that begin
        with at least :data:`FEWEST_SHARED` known blocks, of any where none does."""
        known = stack_distances(self.blocks, self.starts) < NEVER
        blocks = np.bincount(self.request_of, weights=known, minlength=len(self))
        tokens = np.bincount(self.request_of, weights=known * self.tokens_of_blocks, minlength=len(self))
        again = blocks >= min(FEWEST_SHARED, blocks.max(initial=0.0))
        return float(tokens[again].sum() / max(self.prompts[again].sum(), 1.0))

    @cached_property
    def sessions(self) -> Counts:
        """The session of each request, (R,): that of the longest earlier request all of whose full blocks, at least
        :data:`FEWEST_SHARED`, it begins with; one of its own without such."""
        ended_with: dict[int, int] = {}
        session = np.empty(len(self), dtype=np.int64)
        full = (self.prompts // self.block_tokens).astype(np.int64)
        for request in range(len(self)):
            begin, end = self.starts[request], self.starts[request + 1]
            mine = self.blocks[begin:end].tolist()
            session[request] = next((ended_with[b] for b in reversed(mine) if b in ended_with), request)
            last = min(int(full[request]), len(mine)) - 1
            if last >= FEWEST_SHARED - 1:
                ended_with[mine[last]] = int(session[request])
        return session

    def routed(self, replicas: int, routing: CacheRouting) -> Counts:
        """The replica of each request, (R,); all in one cache where the routing follows what caches hold."""
        if replicas == 1 or routing == "prefix_aware":
            return np.zeros(len(self), dtype=np.int64)
        draws = np.random.default_rng(SEED).integers(0, replicas, len(self))
        return draws if routing == "random" else draws[self.sessions]

    def take(self, kept: Counts) -> BlockTrace:
        """The trace of those requests alone whose places are ``kept`` (K,)."""
        sizes = np.diff(self.starts)[kept]
        parts = [self.blocks[self.starts[r] : self.starts[r + 1]] for r in kept]
        return BlockTrace(
            blocks=np.concatenate(parts) if parts else self.blocks[:0],
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            prompts=self.prompts[kept],
            block_tokens=self.block_tokens,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class HitCurve:
    """Share of prompt tokens that caches of so many tokens in all hold: steps of ``share`` from each ``capacity`` on.

    ``capacity`` (S,) grows; ``share`` (S,) with it.
    """

    capacity: Floats
    share: Floats

    def at(self, tokens: float | Floats) -> Floats:
        """Hit share of caches that hold ``tokens`` together; 0 below the smallest that has any hit."""
        place = np.searchsorted(self.capacity, np.asarray(tokens, dtype=np.float64), side="right")
        return np.concatenate([[0.0], self.share])[place]

    @property
    def unlimited(self) -> float:
        """Hit share of a cache that never evicts."""
        return float(self.share[-1]) if len(self.share) else 0.0


def hit_curve(trace: BlockTrace, replicas: int = 1, routing: CacheRouting = "prefix_aware") -> HitCurve:
    """Hits of LRU caches of every size, one in each of ``replicas`` that share the capacity evenly.

    A block hits when it and all before it in the prompt are held. ``random`` and ``session_affinity`` are replayed
    exactly. ``prefix_aware`` routing with a look at the load keeps a prefix in one replica, so that the caches together
    are one: within 1 point of a replay of each decision over 4 and 8 replicas (docs/accuracy/reuse.csv).
    """
    replica = trace.routed(replicas, routing)
    caches = 1 if routing == "prefix_aware" else replicas
    distances, tokens = [], []
    for one in range(caches):
        part = trace.take(np.flatnonzero(replica == one)) if caches > 1 else trace
        needed = stack_distances(part.blocks, part.starts)
        hit = needed < NEVER
        distances.append(needed[hit] * float(caches * trace.block_tokens))
        tokens.append(part.tokens_of_blocks[hit])
    capacity, weight = np.concatenate(distances), np.concatenate(tokens)
    order = np.argsort(capacity, kind="stable")
    capacity, share = capacity[order], np.cumsum(weight[order]) / max(float(trace.prompts.sum()), 1.0)
    last = np.append(np.diff(capacity) > 0, True)[: len(capacity)]
    return HitCurve(capacity=capacity[last], share=share[last])


def different_shares(trace: BlockTrace, at_once: Sequence[int]) -> Floats:
    """Share of the tokens of prompts in a row that differ, over all rows of so many requests ``at_once``, (S,).

    A block that an earlier prompt of the row had counts once: of R - N + 1 rows, those that contain a request and the
    one before it with the same block.
    """
    requests, tokens = trace.request_of, trace.tokens_of_blocks
    order = np.argsort(trace.blocks, kind="stable")
    again = np.flatnonzero(np.diff(trace.blocks[order]) == 0)
    before, after, weight = requests[order][again], requests[order][again + 1], tokens[order][again + 1]
    place, shares = np.arange(len(trace)), []
    for count in at_once:
        last = len(trace) - count
        rows = np.minimum(place, last) - np.maximum(place - count + 1, 0) + 1
        both = np.maximum(np.minimum(before, last) - np.maximum(after - count + 1, 0) + 1, 0)
        shares.append(1.0 - float(weight @ both) / max(float(trace.prompts @ rows), 1.0))
    return np.array(shares)


def different_at(trace: BlockTrace, replicas: int, at_once: Sequence[int]) -> Floats:
    """The same of requests that fall on ``replicas`` at random, in the mean. Beyond half of the requests of a replica
    as its longest row says."""
    kept = int(np.searchsorted(trace.starts, MOST_COUNTED, side="right")) - 1
    first = trace if kept >= len(trace) else trace.take(np.arange(kept))
    assigned = first.routed(replicas, "random")
    parts = [first.take(np.flatnonzero(assigned == one)) for one in range(replicas)] if replicas > 1 else [first]
    rows = []
    for part in parts:
        counts = [count for count in at_once if 2 * count <= len(part)] or [1]
        known = different_shares(part, counts) if len(part) else np.ones(1)
        rows.append(np.interp(np.log(at_once), np.log(counts), known))
    return np.asarray(np.mean(rows, axis=0))
