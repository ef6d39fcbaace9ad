"""What the prefix cache holds of the requests of a question, where that is computed and not typed.

Sessions and traces with block hashes say how often a prompt comes again; the plan says how much the caches hold. Before
there is a plan they are taken to hold everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.choices import CacheRouting, Routing
from sizing.question.length_distributions import LengthDistribution
from sizing.reuse.in_flight import InCommon
from sizing.reuse.sessions import PromptRows, SecondTier
from sizing.scenario.prefix_reuse import TraceReuse
from sizing.scenario.sessions import Sessions

GOLDEN_SHARE = 0.6180339887498949
"""Steps of this share of all, over and over, fall evenly everywhere: answers are as long beside any prompt (Weyl)."""

PROMPT_KINDS = 100
"""Lengths of prompts of a trace that are told apart, equally likely."""

TINY = 1e-12
"""Keeps a division by 0 from being one, where nothing comes again."""

DRAWN_ROWS = 4000
"""Requests that stand for the kinds of requests and their shares. Chosen: so that 20 of them lie beyond p99.5."""


@dataclass(frozen=True, kw_only=True)
class CacheState:
    """What of a plan decides about its prefix caches: tokens of KV cache of all instances that take prompts, how many
    these are, and the mean seconds that a request takes."""

    capacity_tokens: float
    replicas: int
    service_s: float
    second: SecondTier | None = None

    def times(self, instances: float) -> CacheState:
        """The caches of so many times as many instances."""
        second = self.second and replace(self.second, capacity=self.second.capacity * instances)
        many = max(round(self.replicas * instances), 1)
        return replace(self, capacity_tokens=self.capacity_tokens * instances, replicas=many, second=second)


EVERYTHING_HELD = CacheState(capacity_tokens=1e15, replicas=1, service_s=0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reused:
    """The kinds of requests with what is cached of each, ``at`` a state of the caches (None: before any plan).

    ``working_set``: tokens of everything that comes again, running or waiting; ``running``: those being answered.
    """

    rows: PromptRows
    at: CacheState | None
    working_set: float
    running: float
    kept_s: float | None
    in_common: InCommon
    outputs: LengthDistribution | None = None
    """Lengths of the answers, where they are not those of ``rows``."""

    @property
    def new_variation(self) -> float:
        """Squared coefficient of variation of the prompt tokens that are computed: how unevenly prompts take time."""
        new = self.rows.prompt - self.rows.cached
        mean = float(self.rows.share @ new)
        return float(self.rows.share @ (new - mean) ** 2) / mean**2

    def drawn(self) -> Floats:
        """Rows prompt, output, cached (3, n): equally likely requests in the shares of their kinds."""
        ends = np.cumsum(self.rows.share) / float(self.rows.share.sum())
        kinds = np.searchsorted(ends, (np.arange(DRAWN_ROWS) + 0.5) / DRAWN_ROWS)
        kinds = np.minimum(kinds, len(ends) - 1)
        output = self.rows.output[kinds]
        if self.outputs is not None:
            spread: Floats = np.linspace(GOLDEN_SHARE, GOLDEN_SHARE * DRAWN_ROWS, DRAWN_ROWS) % 1.0
            output = self.outputs.at(spread)
        return np.stack([np.rint(each) for each in (self.rows.prompt[kinds], output, self.rows.cached[kinds])])


def _of_both(reuse: TraceReuse, state: CacheState, second: SecondTier, room: float, way: CacheRouting) -> float:
    """Hit share of both tiers together: the second holds what the first has ``room`` for."""
    capacity = max(second.capacity, room)
    return reuse.hit_share(capacity, state.replicas, "prefix_aware" if second.of_all else way)


def cache_routing(routing: Routing) -> CacheRouting:
    """What a front end's routing means for the caches: all but two look at neither prefix nor session, as if at
    random."""
    match routing:
        case "prefix_aware" | "session_affinity":
            return routing
        case "random" | "round_robin" | "weighted" | "least_loaded":
            return "random"
        case unknown:
            assert_never(unknown)


def reused_by_sessions(sessions: Sessions, routing: CacheRouting, growth: float, at: CacheState | None) -> Reused:
    """What is cached of the turns of ``sessions`` (:class:`sizing.reuse.sessions.SessionTraffic`)."""
    state = at or EVERYTHING_HELD
    service = state.service_s if at else sessions.assumed_service_s
    traffic = sessions.traffic(service, growth)
    rows = traffic.rows(state.capacity_tokens, state.replicas, routing, state.second)
    return Reused(
        rows=rows,
        at=at,
        working_set=traffic.working_set,
        running=traffic.running,
        kept_s=traffic.kept_s(state.capacity_tokens, state.replicas, routing) if at else None,
        in_common=traffic.in_common(state.replicas, routing),
    )


def reused_by_trace(
    reuse: TraceReuse,
    lengths: tuple[LengthDistribution, LengthDistribution],
    rps: float,
    way: CacheRouting,
    at: CacheState | None,
) -> Reused:
    """What is cached of the prompts of a trace by the hits that were replayed; ``lengths`` of prompt and output.

    Prompts of running requests are among what was asked for last, which the replay counts; their answers take room
    beside it (held against a replay in which running requests keep their blocks: tests/sizing/reuse). Of a prompt that
    comes again the trace's share is cached, of others nothing, of so many that the mean is that of the hits.
    """
    state, (prompt, output) = at or EVERYTHING_HELD, lengths
    in_common = reuse.in_common(state.replicas, way, prompt.mean)
    running = rps * state.service_s
    room = max(state.capacity_tokens - running * output.mean / 2.0, 0.0)
    hit = reuse.hit_share(room, state.replicas, way)
    both = hit if state.second is None else _of_both(reuse, state, state.second, room, way)
    again = min(both / reuse.reused_share, 1.0) if reuse.reused_share else 0.0
    at_shares = np.linspace(0.5, PROMPT_KINDS - 0.5, PROMPT_KINDS, dtype=np.float64) / PROMPT_KINDS
    prompts = prompt.at(at_shares) * prompt.mean / prompt.at(at_shares).mean()
    known = np.minimum(prompts * both / max(again, TINY), prompts - 1.0)
    saved = known if state.second is None else state.second.saves(known)
    each, nothing = np.full(PROMPT_KINDS, 1.0 / PROMPT_KINDS), np.zeros(PROMPT_KINDS)
    first_tier = again * hit / max(both, TINY)
    return Reused(
        rows=PromptRows(
            share=np.concatenate([each * first_tier, each * (again - first_tier), each * (1.0 - again)]),
            prompt=np.tile(prompts, 3),
            output=np.full(3 * PROMPT_KINDS, output.mean),
            cached=np.concatenate([known, saved, nothing]),
            first=np.arange(3 * PROMPT_KINDS) >= 2 * PROMPT_KINDS,
            loaded=np.concatenate([nothing, known, nothing]),
        ),
        at=at,
        working_set=reuse.working_set,
        running=running * (prompt.mean + output.mean / 2.0 - in_common.tokens)
        + state.replicas * in_common.held_of(running / state.replicas),
        kept_s=None,
        in_common=in_common,
        outputs=output,
    )
