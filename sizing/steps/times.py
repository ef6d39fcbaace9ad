"""The interface of every source of step times, and the table they return."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from sizing.base.arrays import Columns, Floats, Rows
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.steps.ranks import unevenness

Length = TypeVar("Length", float, Floats)


@dataclass(frozen=True, kw_only=True)
class Lengths(Generic[Length]):
    """What follows from mean lengths in tokens, be they one number or one per row."""

    input_tokens: Length
    output_tokens: Length
    cached_tokens: Length
    output_variation: float = 0.0

    @property
    def new_tokens(self) -> Length:
        """Prompt tokens that must be computed."""
        return self.input_tokens - self.cached_tokens

    @property
    def decode_context(self) -> Length:
        """Mean tokens a decoding sequence attends to: the prompt and half of the output of those in flight.

        ISL + OSL (1 + cv^2) / 2: the length-biased mean of an output is OSL (1 + cv^2) (inspection paradox; Cox 1962).
        """
        return self.input_tokens + self.output_tokens * (1.0 + self.output_variation) / 2.0

    @property
    def resident_kv_tokens(self) -> Length:
        """Mean full length of a sequence in flight: ISL + OSL (1 + cv^2)."""
        return self.input_tokens + self.output_tokens * (1.0 + self.output_variation)


@dataclass(frozen=True, kw_only=True)
class Traffic(Lengths[float]):
    """Mean lengths in tokens: prompt, part of it found in the prefix cache, and output.

    ``output_variation`` is the squared coefficient of variation of the output: of the sequences in flight, more are
    long
    ones than of those that arrive, because they stay longer.
    """

    cached_tokens: float = 0.0

    def take(self, index: Rows) -> Traffic:
        """The lengths of the rows at ``index``: the same for all."""
        return self


@dataclass(frozen=True, kw_only=True)
class TrafficColumns(Lengths[Floats], Columns):
    """Mean lengths in tokens of every row as columns (C, 1); as :class:`Traffic` otherwise."""


@dataclass(frozen=True, kw_only=True)
class StepTimes(Columns):
    """Durations in seconds for C candidates; NaN where the source has no answer.

    ``decode_s`` (C, K): one step of every sequence, at the concurrencies of the grid (C, K) that was asked; it emits
    ``tokens_per_step`` tokens of each (1, or more with speculative decoding).
    ``prefill_s`` (C,): one prompt alone, first to last layer. ``prefill_work_s`` (C,): engine time the prompt takes
    from everything else when it shares steps with decoding sequences; smaller than ``prefill_s`` where pipeline stages
    or attention-DP ranks work in parallel. ``prompt_step_s`` (C,): fixed time by which a step that carries prompt
    tokens is longer than one that only decodes, however few they are (launches that no captured graph replays).
    ``stall_s`` (C,): what the prompt takes more where its rank alone carries one of the ``ranks`` (C,) attention-DP
    ranks, because the others wait; ``prefill_work_s`` holds where all carry the same.
    """

    decode_s: Floats
    prefill_s: Floats
    prefill_work_s: Floats
    source: str
    prompt_step_s: Floats | float = 0.0
    stall_s: Floats | float = 0.0
    ranks: Floats | float = 1.0
    tokens_per_step: float = 1.0

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
        found = np.repeat(work, prompts.shape[1], axis=1)
        found[index] += stall[:, None] * unevenness(prompts[index], ranks, fitting)
        return found

    def scaled(self, decode: Floats, prefill: Floats) -> StepTimes:
        """Durations of each candidate times its factors (C,): the ends of an interval."""
        return replace(
            self,
            decode_s=self.decode_s * decode[:, None],
            prefill_s=self.prefill_s * prefill,
            prefill_work_s=self.prefill_work_s * prefill,
            prompt_step_s=self.prompt_step_s * prefill,
            stall_s=self.stall_s * prefill,
        )


class StepSource(Protocol):
    """A source of step times: measured, kernel tables or roofline."""

    @property
    def name(self) -> str:
        """Short name of the source."""
        ...

    def times(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> StepTimes:
        """Step times of all candidates at the given concurrencies, shape (C, K)."""
        ...
