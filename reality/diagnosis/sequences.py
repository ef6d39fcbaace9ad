"""What each running sequence adds to a step beyond what the plan knows: the host's time to sample, detokenise, schedule
and send, which rises with how many run. It is fitted together with the factors on step times, as its *share*: of the
mean time between two tokens, at the tokens/s of a replica that the windows have in the (geometric) mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reality.diagnosis.fitting import SHARE, Fitted, MeasuredSteps
from reality.step_times import milliseconds
from sharing.bonds.records import LearnedCalibration
from sizing.base.arrays import Floats
from sizing.base.units import MS_PER_S, TWO_SIDED_80

LIKELY_SHARE = 0.2
"""Prior spread of the share around 0. Of 272 published closed loops at five loads or more (5 sources, 2026-11) the root
mean square is 0.06 in all and 0.19 in the source farthest off, which stands for a deployment that nobody published."""
SURE = 2.0
"""Standard errors from which a share is one: below, it stays where it was, and one parameter fewer is fitted."""
SINGULAR = 1e8
"""Condition number from which a matrix counts as singular."""


@dataclass(frozen=True, kw_only=True)
class AddedTime:
    """Milliseconds that each running sequence adds to a step, with the ends of the 80 % interval (None: nothing is
    known) and the covariances with decode, prefill and front, the variance last."""

    ms: float = 0.0
    low_ms: float | None = None
    high_ms: float | None = None
    covariance: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """The fit that is used. ``identifiable``: whether the windows can tell what a sequence adds; ``errors``: on windows
    that were left out, before and after."""

    fitted: Fitted
    identifiable: bool
    errors: tuple[float, float]

    @property
    def unit_ms(self) -> float:
        """What a sequence adds where its share is 1."""
        return self.fitted.prior.unit_s * MS_PER_S

    @property
    def sequence_ms(self) -> float:
        """What each running sequence adds to a step, beyond the plan."""
        return float(self.fitted.solution[SHARE]) * self.unit_ms

    def added(self, covariance: Floats) -> AddedTime:
        """The same with its 80 % interval; ``covariance`` (4,): with the rest of what is learned, its variance last."""
        return _with_interval(self.sequence_ms, tuple(covariance.tolist()))


def accepted_time(one: LearnedCalibration | None) -> AddedTime:
    """What was accepted of it; nothing is known where it was never looked for."""
    return AddedTime() if one is None else _with_interval(one.sequence_ms, one.sequence_covariance)


def _with_interval(ms: float, covariance: tuple[float, ...]) -> AddedTime:
    if not covariance:
        return AddedTime(ms=ms)
    half = TWO_SIDED_80 * math.sqrt(max(covariance[-1], 0.0))
    return AddedTime(ms=ms, low_ms=max(ms - half, 0.0), high_ms=ms + half, covariance=covariance)


def tokens_per_s(targets: Sequence[MeasuredSteps]) -> Floats:
    """Tokens a second after the first ones, of one replica in each window: sequences that decode over the mean gap."""
    each = [one.circumstances for one in targets]
    return np.array([one.rps / one.replicas * max(float(one.output.mean()) - 1.0, 1.0) for one in each])


def sequences_of(targets: Sequence[MeasuredSteps]) -> Floats:
    """Sequences that decode in one replica in each window, by Little's law."""
    return np.asarray(tokens_per_s(targets) * [one.gap_ms / MS_PER_S for one in targets])


def unit_of(targets: Sequence[MeasuredSteps]) -> float:
    """Seconds that a sequence adds to a step where its share of the mean gap is 1."""
    return 1.0 / math.exp(float(np.mean(np.log(tokens_per_s(targets)))))


def level_row(fitted: Fitted) -> int:
    """Row of the jacobian with the prior of a plan on the level of the step times (:func:`fitting.prior_of`)."""
    return len(fitted.jacobian) - len(fitted.solution) + 1


def error_of_share(fitted: Fitted, *, with_prior: bool) -> float:
    """Standard error of the share that the windows leave, without a prior on it and on the level of the step times;
    infinite where they say nothing. ``with_prior``: with all that earlier windows taught."""
    own = fitted.jacobian
    if not with_prior:
        own = np.delete(own, [level_row(fitted), len(own) - 1], axis=0)
    information = own.T @ own
    if np.linalg.cond(information) > SINGULAR:
        return math.inf
    return math.sqrt(float(np.linalg.inv(information)[SHARE, SHARE]))


def shows_more(fitted: Fitted) -> bool:
    """Whether the windows surely show a share, or one was learned before that they refine."""
    if fitted.prior.expected[SHARE] > 0.0:
        return True
    change = np.linalg.lstsq(fitted.jacobian, -fitted.residuals, rcond=None)[0]
    error = math.sqrt(float(fitted.covariance[SHARE, SHARE]))
    return float(fitted.solution[SHARE] + change[SHARE]) >= SURE * error


def about_sequences(chosen: Chosen, sequences: Floats) -> str:
    """What was found of them, as a sentence; "" where the plan knows all that the windows show."""
    stays = f"{milliseconds(chosen.sequence_ms)} ms"
    if not chosen.identifiable:
        low, high = (f"{number:.3g}" for number in (sequences.min(), sequences.max()))
        return (
            f"The windows' numbers of running sequences ({low} to {high} a replica) are too alike to tell what each "
            f"adds to a step beyond the plan: that stays at {stays}."
        )
    if not chosen.sequence_ms:
        return ""
    half = TWO_SIDED_80 * math.sqrt(float(chosen.fitted.covariance[SHARE, SHARE])) * chosen.unit_ms
    low, high = (milliseconds(max(chosen.sequence_ms + end, 0.0)) for end in (-half, half))
    return f"Each running sequence adds {stays} to a step beyond the plan (80 %: {low} to {high} ms)."
