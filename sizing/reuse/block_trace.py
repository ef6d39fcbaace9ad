"""Prompts as the blocks that they share, replayed through LRU prefix caches of every size at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sizing.base.arrays import Counts, Floats
from sizing.base.choices import CacheRouting
from sizing.reuse.stack_distance import NEVER, stack_distances

SEED = 41
"""Of the random routing that is replayed; the hits of thousands of requests hardly depend on it."""

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
        """From the tokens of each prompt and the names of its blocks."""
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
    def reused_share(self) -> float:
        """Share of the tokens of those prompts that come again which a cache without limit holds: of prompts that begin
        with at least :data:`FEWEST_SHARED` known blocks, of any where none does."""
        known = stack_distances(self.blocks, self.starts) < NEVER
        blocks = np.bincount(self.request_of, weights=known, minlength=len(self))
        tokens = np.bincount(self.request_of, weights=known * _tokens_of_blocks(self), minlength=len(self))
        again = blocks >= min(FEWEST_SHARED, blocks.max(initial=0.0))
        return float(tokens[again].sum() / max(self.prompts[again].sum(), 1.0))

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
        return draws if routing == "random" else draws[self.sessions()]

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
        tokens.append(_tokens_of_blocks(part)[hit])
    capacity, weight = np.concatenate(distances), np.concatenate(tokens)
    order = np.argsort(capacity, kind="stable")
    capacity, share = capacity[order], np.cumsum(weight[order]) / max(float(trace.prompts.sum()), 1.0)
    last = np.append(np.diff(capacity) > 0, True)[: len(capacity)]
    return HitCurve(capacity=capacity[last], share=share[last])


def _tokens_of_blocks(trace: BlockTrace) -> Floats:
    """Prompt tokens in each block, (N,): the last of a prompt may be cut short."""
    place = np.arange(len(trace.blocks)) - trace.starts[trace.request_of]
    left = trace.prompts[trace.request_of] - place * float(trace.block_tokens)
    return np.clip(left, 0.0, float(trace.block_tokens))
