"""Prompt, output and cached tokens of the requests: fixed, lognormal, or drawn from observed requests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.units import ONE_SIDED_95
from sizing.scenario.lengths import MAX_TOKENS


@dataclass(frozen=True, kw_only=True)
class FixedLength:
    """Every request has the same number of tokens."""

    tokens: float

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """``count`` lengths."""
        return np.full(count, self.tokens)


@dataclass(frozen=True, kw_only=True)
class LognormalLength:
    """Lengths given by two percentiles: ln L is normal with median ln p50 and sigma = ln(p95/p50) / 1.645."""

    p50: float
    p95: float

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """``count`` lengths, whole tokens, at least 1."""
        sigma = math.log(self.p95 / self.p50) / ONE_SIDED_95
        return np.clip(np.rint(self.p50 * np.exp(sigma * rng.standard_normal(count))), 1.0, MAX_TOKENS)


@dataclass(frozen=True, kw_only=True)
class GroupedLength:
    """Lengths of a trace: each of the ``groups``, means of equally many requests, is equally likely."""

    groups: tuple[float, ...]

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """``count`` lengths, whole tokens, at least 1."""
        drawn: Floats = np.asarray(self.groups)[rng.integers(0, len(self.groups), count)]
        return np.asarray(np.maximum(np.rint(drawn), 1.0), dtype=np.float64)


Length = FixedLength | LognormalLength | GroupedLength


@dataclass(frozen=True, kw_only=True)
class DrawnLengths:
    """Prompt and output drawn independently; the same part of every prompt is cached, as far as the prompt reaches.

    With ``groups`` > 0 each request belongs to one of so many prefixes, equally likely, and the cached part counts only
    on a replica that served the prefix before; without, every replica has it.
    """

    prompt: Length
    output: Length
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
