"""How long prompts and answers are: all alike, lognormal, or as in a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, pvariance

import numpy as np
from scipy.special import ndtri

from sizing.base.arrays import Floats
from sizing.base.units import ONE_SIDED_95
from sizing.scenario.bounds import MAX_TOKENS
from sizing.scenario.traffic import Length, LengthSpread, LengthTrace


@dataclass(frozen=True, kw_only=True)
class FixedLength:
    """Every request has the same number of tokens."""

    tokens: float

    @property
    def mean(self) -> float:
        """Mean length in tokens."""
        return self.tokens

    @property
    def variation(self) -> float:
        """Squared coefficient of variation of the length: variance over the squared mean."""
        return 0.0

    @property
    def p50(self) -> float:
        """Half of the requests are not longer."""
        return self.tokens

    @property
    def p95(self) -> float:
        """95 % of the requests are not longer."""
        return self.tokens

    def scaled(self, factor: float) -> FixedLength:
        """The same distribution, ``factor`` times as long."""
        return FixedLength(tokens=self.tokens * factor)

    def longer(self, tokens: float) -> FixedLength:
        """The same with so many tokens more."""
        return FixedLength(tokens=self.tokens + tokens)

    def at(self, shares: Floats) -> Floats:
        """The length below which each of ``shares`` of the requests lies."""
        return np.full(len(shares), self.tokens)

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """``count`` lengths in tokens, all the same."""
        return np.full(count, self.tokens)


@dataclass(frozen=True, kw_only=True)
class LognormalLength:
    """Lengths given by two percentiles: ln L is normal with median ln p50 and sigma = ln(p95 / p50) / 1.645."""

    p50: float
    p95: float

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.log(self.p95 / self.p50) / ONE_SIDED_95

    @property
    def mean(self) -> float:
        """Mean tokens: p50 exp(sigma^2 / 2)."""
        return self.p50 * math.exp(self.sigma**2 / 2.0)

    @property
    def variation(self) -> float:
        """Squared coefficient of variation: exp(sigma^2) - 1."""
        return math.expm1(self.sigma**2)

    def scaled(self, factor: float) -> LognormalLength:
        """The same distribution, ``factor`` times as long."""
        return LognormalLength(p50=self.p50 * factor, p95=self.p95 * factor)

    def longer(self, tokens: float) -> LognormalLength:
        """The same with so many tokens more: the lognormal distribution of the larger mean and the same variance."""
        mean = self.mean + tokens
        variation = self.variation * (self.mean / mean) ** 2
        p50, sigma = mean / math.sqrt(1.0 + variation), math.sqrt(math.log1p(variation))
        return LognormalLength(p50=p50, p95=p50 * math.exp(sigma * ONE_SIDED_95))

    def at(self, shares: Floats) -> Floats:
        """The length below which each of ``shares`` of the requests lies."""
        return np.asarray(self.p50 * np.exp(self.sigma * ndtri(shares)))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """``count`` lengths, whole tokens, at least 1."""
        return np.clip(np.rint(self.p50 * np.exp(self.sigma * rng.standard_normal(count))), 1.0, MAX_TOKENS)


@dataclass(frozen=True, kw_only=True)
class GroupedLength:
    """Lengths of a trace: each of the ``groups``, means of equally many requests, shortest first, is equally likely."""

    groups: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean length in tokens."""
        return fmean(self.groups)

    @property
    def variation(self) -> float:
        """Squared coefficient of variation of the length: variance over the squared mean."""
        return pvariance(self.groups, self.mean) / self.mean**2

    @property
    def p50(self) -> float:
        """Half of the requests are not longer."""
        return float(self.at(np.array([0.50]))[0])

    @property
    def p95(self) -> float:
        """95 % of the requests are not longer."""
        return float(self.at(np.array([0.95]))[0])

    def scaled(self, factor: float) -> GroupedLength:
        """The same distribution, ``factor`` times as long."""
        return GroupedLength(groups=tuple(tokens * factor for tokens in self.groups))

    def longer(self, tokens: float) -> GroupedLength:
        """The same with so many tokens more in each group."""
        return GroupedLength(groups=tuple(each + tokens for each in self.groups))

    def at(self, shares: Floats) -> Floats:
        """The length below which each of ``shares`` (below 1) of the requests lies."""
        return np.asarray(self.groups)[(shares * len(self.groups)).astype(np.intp)]

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """``count`` lengths, whole tokens, at least 1."""
        drawn: Floats = np.asarray(self.groups)[rng.integers(0, len(self.groups), count)]
        return np.asarray(np.maximum(np.rint(drawn), 1.0), dtype=np.float64)


LengthDistribution = FixedLength | LognormalLength | GroupedLength


def distribution_of(length: Length) -> LengthDistribution:
    """The distribution of a length as a scenario gives it: a number, two percentiles, or the groups of a trace."""
    if isinstance(length, LengthSpread):
        return LognormalLength(p50=length.p50, p95=length.p95)
    if isinstance(length, LengthTrace):
        return GroupedLength(groups=tuple(length.groups))
    return FixedLength(tokens=length)
