"""Prompt, output and cached tokens of the requests: drawn from distributions, or from observed requests."""

from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats
from sizing.question.length_distributions import LengthDistribution


@dataclass(frozen=True, kw_only=True)
class DrawnLengths:
    """Prompt and output drawn independently; the same part of every prompt is cached, as far as the prompt reaches.

    With ``groups`` > 0 each request belongs to one of so many prefixes, equally likely, and the cached part counts only
    on a replica that served the prefix before; without, every replica has it.
    """

    prompt: LengthDistribution
    output: LengthDistribution
    cached_tokens: float = 0.0
    groups: int = 0

    def sample(self, rngs: tuple[np.random.Generator, ...], count: int) -> Floats:
        """Rows prompt, output, cached, group of ``count`` requests, shape (4, count)."""
        prompt, output = self.prompt.sample(rngs[0], count), self.output.sample(rngs[1], count)
        group = rngs[2].integers(0, self.groups, count) if self.groups else np.full(count, -1.0)
        return np.stack([prompt, output, np.clip(prompt - 1.0, 0.0, self.cached_tokens), group])


@dataclass(frozen=True, eq=False)
class ObservedLengths:
    """Requests drawn with replacement from observed ones: ``rows`` (3, n) are prompt, output, cached tokens."""

    rows: Floats

    def sample(self, rngs: tuple[np.random.Generator, ...], count: int) -> Floats:
        """Rows prompt, output, cached, group of ``count`` requests, shape (4, count)."""
        chosen = self.rows[:, rngs[0].integers(0, self.rows.shape[1], count)]
        return np.vstack([chosen, np.full((1, count), -1.0)])


RequestLengths = DrawnLengths | ObservedLengths
