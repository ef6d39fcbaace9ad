"""How far reality may lie from a predicted step time, as a distribution: factors at any confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

from sizing.base.units import TWO_SIDED_80, TWO_SIDED_95
from sizing.evidence.cases import Nearness

NORMAL = NormalDist()
"""The standard normal distribution, whose quantiles are the scale on which ends of intervals are joined."""


@dataclass(frozen=True, kw_only=True)
class ErrorFactors:
    """How far reality may lie from a predicted value: that value times each factor is an end of its interval.

    ``low_factor`` and ``high_factor`` are the ends of the 80 % interval, ``low_95`` and ``high_95`` those of the 95 %
    one. ``basis`` says whose errors the factors come from, ``rows`` how many there are, ``near`` what was measured near
    enough to make them narrower, ``extrapolated`` what is unlike anything that was measured
    (:data:`sizing.evidence.extrapolation.EXTRAPOLATIONS`), ``own`` that the user measured this very configuration. Not
    an :class:`sizing.base.quantity.Estimate`: it holds no value, and widens any.
    """

    low_factor: float
    high_factor: float
    low_95: float
    high_95: float
    basis: str
    rows: int
    near: Nearness = "none"
    extrapolated: tuple[str, ...] = ()
    own: bool = False

    def factor_at(self, confidence: float) -> float:
        """The factor on the prediction that reality stays below in that share of cases: 1 for 0.5, the high end of the
        80 % interval for 0.9 and of the 95 % interval for 0.975, the low ends for 0.1 and 0.025.

        Between them, and beyond, the logarithm of the factor is linear in the normal quantile of the confidence.
        Raises ValueError unless 0 < ``confidence`` < 1.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"a confidence lies between 0 and 1, not at {confidence:g}")
        z = NORMAL.inv_cdf(confidence)
        side = self._side(slow=z >= 0.0)
        return math.exp(math.copysign(side.at(abs(z)), z))

    def wider(self, fast: float, slow: float) -> ErrorFactors:
        """With another, independent doubt, whose 80 % interval has these ends: distances in logs join by the root of
        the sum of their squares, at 95 % as if the other doubt were normal."""
        if fast == slow == 1.0:
            return self
        more = (abs(math.log(end)) for end in (fast, slow))
        (low, low_95), (high, high_95) = (
            (math.hypot(side.at_80, one), math.hypot(side.at_95, one * TWO_SIDED_95 / TWO_SIDED_80))
            for side, one in zip((self._side(slow=False), self._side(slow=True)), more, strict=True)
        )
        return replace(
            self,
            low_factor=math.exp(-low),
            high_factor=math.exp(high),
            low_95=math.exp(-low_95),
            high_95=math.exp(high_95),
        )

    def _side(self, *, slow: bool) -> _Side:
        at_80, at_95 = (self.high_factor, self.high_95) if slow else (self.low_factor, self.low_95)
        return _Side(abs(math.log(at_80)), abs(math.log(at_95)))


@dataclass(frozen=True)
class _Side:
    """One side of the prediction: distance of both ends from it in logs, and by pieces between and beyond them.

    Beyond the farther end the distance grows as from the nearer to the farther one, or as on average from the
    prediction where that is more: two ends that coincide do not say that nothing lies beyond them.
    """

    at_80: float
    at_95: float

    @property
    def beyond(self) -> float:
        """Growth per unit of the normal quantile beyond the farther end."""
        return max((self.at_95 - self.at_80) / (TWO_SIDED_95 - TWO_SIDED_80), self.at_95 / TWO_SIDED_95)

    def at(self, z: float) -> float:
        """Distance at a normal quantile of at least 0."""
        if z <= TWO_SIDED_80:
            return self.at_80 * z / TWO_SIDED_80
        if z <= TWO_SIDED_95:
            return self.at_80 + (self.at_95 - self.at_80) * (z - TWO_SIDED_80) / (TWO_SIDED_95 - TWO_SIDED_80)
        return self.at_95 + self.beyond * (z - TWO_SIDED_95)
