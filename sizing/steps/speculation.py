"""Speculative decoding: a small model guesses several tokens, one step of the large one checks them all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.steps.rates import Rates, hardware, rates
from sizing.steps.roofline import communication_s, matrices_s, roofline
from sizing.steps.shape import Shape, shape_of
from sizing.steps.times import StepTimes


@dataclass(frozen=True, kw_only=True)
class Speculation:
    """Speculative decoding: ``draft_tokens`` proposed per step, each accepted with probability ``acceptance``.

    ``draft_cost`` is the time of one draft token relative to a decode step of the model itself. Without draft tokens a
    step is an ordinary one.
    """

    draft_tokens: int = 0
    acceptance: float = 0.0
    draft_cost: float = 0.05

    @property
    def tokens_per_step(self) -> float:
        """Expected tokens of one step: (1 - a^(k+1)) / (1 - a). Source: Leviathan et al., ICML 2023, equation 1."""
        if self.acceptance >= 1.0:
            return self.draft_tokens + 1.0
        return (1.0 - self.acceptance ** (self.draft_tokens + 1)) / (1.0 - self.acceptance)

    @property
    def rows_per_sequence(self) -> float:
        """Rows of one decoding sequence in a step: 1, or drafts and the token that verifies them."""
        return self.draft_tokens + 1.0

    def step_s(self, decode_s: Floats, more_s: Floats) -> Floats:
        """Duration of a step: decode x (1 + k x cost of a draft token) + what the rows of the drafts add, in s.

        Source: Leviathan et al., ICML 2023, theorem 3.8 (k c + 1), whose verification is free of charge; here its rows
        are paid for.
        """
        return np.asarray(decode_s * (1.0 + self.draft_tokens * self.draft_cost) + more_s)


def rows_s(shape: Shape, speed: Rates, rows: Floats, fullest: float | Floats = 1.0) -> Floats:
    """Matrices and collectives of one pass over ``rows`` rows, the part of a step that grows with them, in s.

    ``fullest``: rows of the fullest attention-DP rank over those of an even one.
    """
    at = np.maximum(rows, 1.0)
    own = at * fullest
    return np.asarray(speed.scale * (matrices_s(shape, speed, at, own) + communication_s(shape, speed, own)))


def own_rows_s(shape: Shape, speed: Rates, rows: Floats) -> Floats:
    """The part of :func:`rows_s` that each attention-DP rank does for its own rows: all but the routed experts."""
    own = np.maximum(rows, 1.0)
    dense = matrices_s(shape, speed, np.zeros_like(own), own)
    return np.asarray(speed.scale * (dense + communication_s(shape, speed, own)))


def verification_s(shape: Shape, speed: Rates, sequences: Floats, speculation: Speculation) -> Floats:
    """What verifying drafts adds to a decode step of so many sequences: rows(B (k + 1) / PP) - rows(B / PP), in s."""
    each = sequences / speed.pp
    return rows_s(shape, speed, each * speculation.rows_per_sequence) - rows_s(shape, speed, each)


def speculated(
    times: StepTimes, model: Model, candidates: Candidates, concurrency: Floats, speculation: Speculation
) -> StepTimes:
    """Step times with speculative decoding; a step then emits several tokens (``StepTimes.tokens_per_step``).

    Whatever the source of the decode step is, the rows of the drafts are those of the roofline.
    """
    if not speculation.draft_tokens:
        return times
    source = roofline()
    speed = rates(candidates, hardware(candidates), source.fit, source.software_year)
    more = verification_s(shape_of(model), speed, concurrency, speculation)
    return replace(
        times, decode_s=speculation.step_s(times.decode_s, more), tokens_per_step=speculation.tokens_per_step
    )
