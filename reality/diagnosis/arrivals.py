"""How requests arrive within a window: how much their number varies beyond chance, how their rate changes, and whether
more arrive than are served."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collectors.questions.details import Details
from collectors.reading.observation import Observation
from sizing.base.arrays import Floats

FEWEST_STEPS = 12
"""Steps below which no variation is read from them: its own relative error is then half."""
PARTS = 10
"""Parts of a window whose rates are compared. Chosen: each long against the gaps, and enough to see a burst."""
SURE = 3.0
"""Standard errors from which a difference is one."""
LEAST_RATIO = 1.5
"""Times as much variation as planned from which it is a difference: a queue grows with half of what is above 1."""
CHANCE = 2.5
"""Standard deviations of the rates of the parts by chance beyond which they differ."""
LEAST_CHANGE = 0.08
"""Relative standard deviation of the rates of the parts from which a load counts as changing."""

LONGEST_LEAD = 3.0
"""Windows that a queue is taken to have grown before this one, at most."""
GROWS_FROM = 0.985
"""Share of the arrivals that get a first token below which a queue grows. Chosen: what chance moves in a window."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """``dispersion``: variance over mean of the number of arrivals in a step (1 is Poisson), with the relative standard
    error ``error``; ``profile``: relative loads of equal parts of the window, empty where it did not change, with the
    relative error ``profile_error`` of how far they lie apart."""

    dispersion: float
    error: float
    profile: tuple[float, ...] = ()
    profile_error: float = 0.0

    def error_of_share(self, planned: float) -> float:
        """Relative error of how far arrivals are from the planned dispersion: of the change of the load, where that is
        what differs, as nothing need be unusual within its parts."""
        varied = self.error / max(abs(math.log(max(self.dispersion, 0.01) / planned)), 0.1)
        return min(varied, self.profile_error if self.profile else 1.0, 1.0)


def pattern_of(counts: Sequence[float], step_s: float) -> Pattern | None:
    """The pattern of arrivals from rates in consecutive steps; None where they are too few.

    Dispersion from successive differences, which a slow change of the load does not enter: variance = mean of squared
    differences / 2 (von Neumann, 1941), its relative error sqrt(3 / n).
    """
    rates = np.array([value for value in counts if math.isfinite(value)])
    if len(rates) < FEWEST_STEPS or not rates.mean() > 0:
        return None
    dispersion = float(np.mean(np.diff(rates) ** 2) / 2.0) * step_s / float(rates.mean())
    error = math.sqrt(3.0 / (len(rates) - 1))
    profile, profile_error = _profile(rates, dispersion, step_s)
    return Pattern(dispersion=dispersion, error=error, profile=profile, profile_error=profile_error)


def _profile(rates: Floats, dispersion: float, step_s: float) -> tuple[tuple[float, ...], float]:
    """Mean rates of the parts over that of all, where they differ by more than such arrivals do by chance, and the part
    of their spread that chance may be."""
    parts = [float(part.mean()) for part in np.array_split(rates, min(PARTS, len(rates) // 2))]
    mean = float(np.mean(parts))
    chance = math.sqrt(max(dispersion, 1.0) / (mean * step_s * len(rates) / len(parts)))
    spread = float(np.std(parts)) / mean
    if spread < max(LEAST_CHANGE, CHANCE * chance):
        return (), 0.0
    return tuple(part / mean for part in parts), chance / spread


def differs(pattern: Pattern, planned: float) -> bool:
    """Whether arrivals vary otherwise than with the planned dispersion."""
    least = max(math.log(LEAST_RATIO), SURE * pattern.error)
    ratio = math.log(max(pattern.dispersion, 1e-3) / max(planned, 1e-3))
    # Regular arrivals (below 1) shorten queues a little; a scrape that comes late makes them look less regular.
    return ratio > least or bool(pattern.profile)


def lead_s(observed: Observation) -> float:
    """How long before the window a queue began to grow that grows now: its length over its growth, from its middle."""
    waiting, growth = observed.number("waiting"), observed.number("waiting_growth_per_s")
    if not waiting or not growth or growth <= 0.0:
        return 0.0
    return min(max(waiting / growth - observed.window_s / 2.0, 0.0), LONGEST_LEAD * observed.window_s)


def served_of(details: Details) -> float | None:
    """Share of the arrivals that got a first token while a queue grew; None where none did."""
    first = sum(one.first_tokens_rps or 0.0 for one in details.replicas)
    arrivals = sum(one.arrivals_rps or 0.0 for one in details.replicas)
    return first / arrivals if arrivals > 0.0 and first < GROWS_FROM * arrivals else None
