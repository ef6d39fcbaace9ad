"""The interface of every source of step times, and the table they return."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sizing.base.arrays import Columns, Floats, Rows
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.traffic import Traffic
from sizing.steps.ranks import unevenness


@dataclass(frozen=True, kw_only=True)
class StepTimes(Columns):
    """Durations in seconds for C candidates; NaN where the source has no answer.

    ``decode_s`` (C, K): one step of every sequence, at the concurrencies of the grid (C, K) that was asked; it emits
    ``tokens_per_step`` tokens of each (1, or (C,) numbers of 1 or more with speculative decoding).
    ``prefill_s`` (C,): one prompt alone, first to last layer; ``last_chunk`` (C,): its last chunk over that.
    ``prefill_work_s`` (C,): engine time the prompt takes
    from everything else when it shares steps with decoding sequences; smaller than ``prefill_s`` where pipeline stages
    or attention-DP ranks work in parallel. ``prompt_step_s`` (C, K): by how much a step that carries prompts is longer
    than one that only decodes, beyond their work; below 0 where part of that hides behind what the step does anyway.
    ``stall_s`` (C,): what the prompt takes more where its rank alone carries one of the ``ranks`` (C,) attention-DP
    ranks, because the others wait; ``prefill_work_s`` holds where all carry the same. ``front_s`` (C,): what a request
    of mean length takes before the engine has it (server, tokeniser, client): part of its TTFT and E2E, of no step.
    ``first_token_steps`` (C,): decode steps that its first token takes beyond, where other sequences run.
    ``apart`` (C,): how far measured kernels and the roofline, whose mean the times are, lie from each other, the log
    ratio of decode steps; NaN where one source stands alone.
    """

    decode_s: Floats
    prefill_s: Floats
    prefill_work_s: Floats
    source: str
    last_chunk: Floats | float = 1.0
    prompt_step_s: Floats | float = 0.0
    stall_s: Floats | float = 0.0
    ranks: Floats | float = 1.0
    front_s: Floats | float = 0.0
    first_token_steps: Floats | float = 0.0
    apart: Floats | float = math.nan
    tokens_per_step: Floats | float = 1.0

    def tokens_of(self, index: Rows) -> Floats:
        """``tokens_per_step`` of some of the candidates."""
        return np.broadcast_to(self.tokens_per_step, self.prefill_s.shape)[index]

    def apart_of(self, index: Rows) -> Floats:
        """``apart`` of some of the candidates."""
        return np.broadcast_to(self.apart, self.prefill_s.shape)[index]

    def work_s(self, prompts: Floats, held: Floats) -> Floats:
        """Engine time a prompt takes, with ``prompts`` (C, K) begun per step over all ranks; (C, K), or (C, 1) without
        ranks that could wait.

        work = even work + stall x unevenness, see :func:`sizing.steps.ranks.unevenness`. ``held`` (C, 1): how many of
        them the token budget of one rank holds in a step.
        """
        work = self.prefill_work_s[:, None]
        index = np.flatnonzero(self.stall_s)
        if not len(index):
            return work
        stall, ranks = (np.broadcast_to(v, self.prefill_s.shape)[index] for v in (self.stall_s, self.ranks))
        fitting = np.broadcast_to(held, work.shape)[index, 0]
        works = np.repeat(work, prompts.shape[1], axis=1)
        works[index] += stall[:, None] * unevenness(prompts[index], ranks, fitting)
        return works

    def on_grid(self, of: Callable[[Floats], Floats]) -> StepTimes:
        """With what depends on the concurrency read at other ones: ``of`` gives (C, L) from (C, K)."""
        step = self.prompt_step_s
        return replace(
            self, decode_s=of(self.decode_s), prompt_step_s=of(step) if isinstance(step, np.ndarray) else step
        )

    def before_first_token_s(self, concurrency: Floats) -> Floats:
        """What no step has of the time to the first token (C, K): the front end, and the steps of others that it waits,
        as often as others run: 1 - e^-B with B in flight (Poisson)."""
        front, steps = (np.reshape(values, (-1, 1)) for values in (self.front_s, self.first_token_steps))
        return np.asarray(front - steps * self.decode_s * np.expm1(-concurrency))

    def scaled(self, decode: Floats, prefill: Floats) -> StepTimes:
        """Durations of each candidate times its factors (C,): the ends of an interval."""
        return replace(
            self,
            decode_s=self.decode_s * decode[:, None],
            prefill_s=self.prefill_s * prefill,
            prefill_work_s=self.prefill_work_s * prefill,
            prompt_step_s=self.prompt_step_s * prefill[:, None],
            stall_s=self.stall_s * prefill,
        )


class StepTimeSource(Protocol):
    """A source of step times: measured, kernels with the roofline, or the roofline alone."""

    @property
    def name(self) -> str:
        """Short name of the source."""
        ...

    def times(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> StepTimes:
        """Step times of all candidates at the given concurrencies, shape (C, K)."""
        ...
