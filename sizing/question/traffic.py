"""The traffic of a question: mean lengths in tokens, and how much lengths and gaps between arrivals vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from sizing.base.arrays import Columns, Floats, Rows
from sizing.question.media import NO_MEDIA, Media
from sizing.reuse.in_flight import NOTHING_IN_COMMON, InCommon

Length = TypeVar("Length", float, Floats)


@dataclass(frozen=True, kw_only=True)
class Lengths(Generic[Length]):
    """What follows from mean lengths in tokens, be they one number or one per row."""

    input_tokens: Length
    output_tokens: Length
    cached_tokens: Length
    output_variation: Length | float = 0.0

    @property
    def new_tokens(self) -> Length:
        """Prompt tokens that must be computed."""
        return self.input_tokens - self.cached_tokens

    @property
    def decode_context(self) -> Length:
        """Mean tokens a decoding sequence attends to: the prompt and half of the output of those in flight.

        ISL + OSL (1 + cv^2) / 2: the length-biased mean of an output is OSL (1 + cv^2) (inspection paradox; Cox 1962).
        An answer of N tokens takes N - 1 decode steps, at ISL + 1, 2, ... N - 1 tokens, so that the exact mean over the
        steps of all answers is ISL + (E[N^2] - E[N]) / (2 (E[N] - 1)): the same where lengths do not vary, and within
        cv^2 / (2 (1 - 1 / OSL)) tokens where they do.
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
    long ones than of those that arrive, because they stay longer. ``media``: images and sound of a request, whose
    tokens are part of the prompt. ``in_common``: what requests in flight at one instance begin with together, whose
    blocks they hold once: engines count who uses a block.
    """

    cached_tokens: float = 0.0
    media: Media = NO_MEDIA
    in_common: InCommon = NOTHING_IN_COMMON

    def take(self, index: Rows) -> Traffic:
        """The lengths of the rows at ``index``: the same for all."""
        return self


@dataclass(frozen=True, kw_only=True)
class TrafficColumns(Lengths[Floats], Columns):
    """Mean lengths in tokens of every row as columns (C, 1); as :class:`Traffic` otherwise."""


@dataclass(frozen=True, kw_only=True)
class Variability:
    """Squared coefficients of variation: of the gaps between arrivals, of the prompt length and of the output
    length."""

    arrivals: float = 1.0
    prompt: float = 0.0
    output: float = 0.0
