"""Speculative decoding as a question asks for it: how many tokens a step emits and what drafts cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats


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
