"""What is simulated: replicas, how requests are shared among them, failures, and pools for prefill and decode."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sizing.base.arrays import Floats
from sizing.base.choices import Routing
from sizing.catalog.admission import NO_PROMISES, Promises
from sizing.question.speculation import Speculation
from sizing.simulator.layout import LEAST_LOADED, PREFIX_AWARE, RANDOM, ROUND_ROBIN, WEIGHTED
from sizing.simulator.step_grid import StepGrid

POLICIES: Mapping[Routing, int] = {
    "random": RANDOM,
    "round_robin": ROUND_ROBIN,
    "weighted": WEIGHTED,
    "least_loaded": LEAST_LOADED,
    "session_affinity": RANDOM,
    "prefix_aware": PREFIX_AWARE,
}
"""How each routing chooses. Of many sessions at once that a hash spreads, an instance sees requests as if at random."""


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One copy of the model: step times and scheduler settings.

    ``token_budget`` tokens per step, ``max_sequences`` in flight, ``kv_tokens`` of KV cache in blocks of
    ``block_tokens``. ``queue_limit``: requests beyond so many waiting are rejected. ``reserve_output``: a request is
    admitted when its whole answer fits in the KV cache, and never evicted; ``promises``: what is kept free of it for
    answers to come where it may be. ``prompts_apart``: a step that carries prompts carries nothing else.
    ``sequence_tokens``: what a sequence has in the KV cache whatever its length (windows, recurrent state), as tokens
    of the part that grows. ``static_batching``: a batch runs to the end of its longest answer before the next starts.
    ``weight``: share of the load under weighted routing, and speed relative to others under least-loaded routing.
    ``request_s`` and ``prompt_token_s``: what a request, and each token of its prompt, takes before the engine has it
    (server, tokeniser, client): it delays the first token and no other request. ``first_token_steps``: decode steps of
    the running sequences that tokens take to the client beyond those that compute them, see
    :class:`~sizing.steps.efficiency.CommonEfficiency`; they hold no place.
    """

    grid: StepGrid
    max_sequences: int
    token_budget: float
    kv_tokens: float = math.inf
    block_tokens: float = 1.0
    speculation: Speculation = field(default_factory=Speculation)
    reserve_output: bool = False
    promises: Promises = NO_PROMISES
    prompts_apart: bool = False
    sequence_tokens: float = 0.0
    static_batching: bool = False
    queue_limit: int | None = None
    weight: float = 1.0
    request_s: float = 0.0
    prompt_token_s: float = 0.0
    first_token_steps: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.max_sequences <= self.grid.max_sequences:
            raise ValueError(f"max_sequences must be from 1 to {self.grid.max_sequences}, the size of the grid")
        if self.token_budget < self.max_sequences * self.speculation.rows_per_sequence:
            raise ValueError("token_budget must hold one token of every sequence, drafts included")
        if not (self.kv_tokens > 0 and self.weight > 0 and self.block_tokens >= 1):
            raise ValueError("kv_tokens and weight must be above 0, block_tokens at least 1")

    @property
    def waste_tokens(self) -> float:
        """KV cache of a sequence beside its tokens: the mean unused part of its last block, (block - 1) / 2 tokens, and
        what does not depend on its length."""
        return (self.block_tokens - 1.0) / 2.0 + self.sequence_tokens


@dataclass(frozen=True, kw_only=True)
class Outage:
    """A replica that fails at ``start_s`` and serves again from ``end_s``. Its requests start again elsewhere."""

    replica: int
    start_s: float
    end_s: float = math.inf


class SimulatedDeployment(ABC):
    """What is simulated: one fleet, or several that every request passes one after the other."""

    @property
    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """The fleets in the order in which a request passes them."""

    @abstractmethod
    def transfer_s(self, prompt_tokens: Floats) -> Floats:
        """Seconds that the KV cache of each prompt takes from one stage to the next."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """A fleet and what it does of every request: everything, its prompt alone, or its answer alone."""

    fleet: Fleet
    prefill_only: bool = False
    decode_only: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Fleet(SimulatedDeployment):
    """Replicas behind one front end.

    ``prefix_life_s``: how long a prefix stays in the cache of a replica; ``prefix_groups``: how many different prefixes
    are told apart (more share a place).
    """

    replicas: Sequence[Replica]
    routing: Routing = "round_robin"
    outages: Sequence[Outage] = ()
    prefix_life_s: float = math.inf
    prefix_groups: int = 1

    def __post_init__(self) -> None:
        if not self.replicas:
            raise ValueError("a fleet needs at least one replica")
        if len({(one.request_s, one.prompt_token_s) for one in self.replicas}) > 1:
            raise ValueError("the replicas of a fleet have one front end")
        for outage in self.outages:
            if not (0 <= outage.replica < len(self.replicas) and 0 <= outage.start_s < outage.end_s):
                raise ValueError("an outage needs a replica of the fleet, and a start before its end")

    def front_end_s(self, new_tokens: Floats) -> Floats:
        """Seconds that each request takes before the engine has it, by the tokens of its prompt that are not cached."""
        first = self.replicas[0]
        return first.request_s + new_tokens * first.prompt_token_s

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The fleet alone: every request is served whole by one of its replicas."""
        return (Stage(fleet=self),)

    def transfer_s(self, prompt_tokens: Floats) -> Floats:
        """Zeros in the shape of ``prompt_tokens``, because prefill and decode share one KV cache."""
        return prompt_tokens * 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Disaggregated(SimulatedDeployment):
    """A pool that computes prompts and a pool that decodes; the KV cache moves between them.

    transfer time = ``transfer_latency_s`` + prompt tokens x ``transfer_s_per_token``. The user sees the first token
    after the transfer, because the decode instance streams the answer.
    """

    prefill: Fleet
    decode: Fleet
    transfer_latency_s: float = 0.0
    transfer_s_per_token: float = 0.0

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The prefill pool, then the decode pool."""
        return Stage(fleet=self.prefill, prefill_only=True), Stage(fleet=self.decode, decode_only=True)

    def transfer_s(self, prompt_tokens: Floats) -> Floats:
        """Seconds that the KV cache of each prompt takes to the decode pool: latency plus a time per prompt token."""
        return self.transfer_latency_s + prompt_tokens * self.transfer_s_per_token
