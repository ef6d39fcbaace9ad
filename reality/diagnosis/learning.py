"""Step times learned from live windows at different loads, checked on windows that were left out, or not at all.

Where a person accepted some before, they are what is departed from: windows since then make them surer, or show that
they hold no longer. What each running sequence adds to a step is among them (:mod:`reality.diagnosis.sequences`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.questions.past_windows import PastWindow
from reality.diagnosis.drift import change_of
from reality.diagnosis.fitting import (
    GAP_NOISE,
    HIGHEST,
    LOWEST,
    SHARE,
    STEP,
    Fitted,
    MeasuredSteps,
    StepPrior,
    at_solution,
    fit,
    prior_of,
    prior_with,
)
from reality.diagnosis.limits import utc
from reality.diagnosis.result import Recalibration
from reality.diagnosis.sequences import (
    LIKELY_SHARE,
    Chosen,
    about_sequences,
    accepted_time,
    error_of_share,
    level_row,
    sequences_of,
    shows_more,
    unit_of,
)
from reality.diagnosis.worlds import SINGLE_GAPS, Circumstances, Ran, Worlds
from reality.step_times import LEAST_FRONT, interval_of, relative_covariance, sequence_s_of
from sharing.bonds.records import LearnedCalibration
from sizing.base.arrays import Floats
from sizing.base.format import percent
from sizing.base.units import MS_PER_S, TWO_SIDED_80
from sizing.evidence.error_factors import ErrorFactors

FEWEST_WINDOWS = 3
"""Windows from which something is learned: two to fit, and one that was left out."""
FEWEST_REQUESTS = 200.0
"""Requests of a window whose means are taken."""
LEAST_SPREAD = 1.2
"""Highest load of the windows over the lowest, from which they tell a step's parts apart."""
MOST_ERROR = (0.10, 0.40)
"""Standard errors of the log factors of decode and prefill, from the windows alone, up to which they count as known.
Chosen: prompts are the smaller part of most steps, and what they add is checked on windows that were left out."""
LEAST_WIDTH, LEAST_APART = 0.3, 0.05
"""Prior spreads at least, of what both log factors have in common and of their difference: a plan may be surer of
itself than a deployment bears out."""
FORGOTTEN = (0.02, 0.02, 0.10, 0.02)
"""Spreads added to what was accepted, of the log factors, the front and the share of sequences: windows of another day
differ by so much."""
AS_GOOD = 0.005
"""How much larger the error after may be where windows make accepted step times surer."""
SINGULAR = 1e8
"""Condition number from which a matrix counts as singular."""
REQUESTS = 6_000
"""Requests of one simulated run."""
MOST_WAITING = 0.5
"""Requests waiting for each replica beyond which a window is saturated: its latencies are of the queue."""
MORE_ROUNDS = 4
"""Rounds of the joint fit at most, which has farther to go than the factors alone."""
FEWEST_GAIN = 0.9
"""Share of the error before that the error after may be at most: what hardly helps is not offered."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """What the windows say (None: there are too few), and those that calibrate; none where nothing is learned."""

    recalibration: Recalibration | None = None
    targets: tuple[MeasuredSteps, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """What is known before any window: the intervals of the plan's step times, and those that were accepted, which
    simulations have already. ``basis``: what all factors are factors of."""

    decode: ErrorFactors
    prefill: ErrorFactors
    accepted: LearnedCalibration | None
    basis: str

    @property
    def factors(self) -> Floats:
        """What simulations have already: (decode, prefill, front)."""
        one = self.accepted
        return np.ones(3) if one is None else np.array([one.decode, one.prefill, one.front])

    def prior(self, unit_s: float, *, drifted: bool) -> StepPrior:
        """How far from that the windows may lie: as surely as was learned, or as planned where it holds no longer.
        ``unit_s``: what a sequence adds where its share of the steps is 1."""
        expected = np.array([0.0, 0.0, 1.0, 0.0])
        if self.accepted is not None and not drifted:
            expected[SHARE] = sequence_s_of(self.accepted) / unit_s
            unit_ms = unit_s * MS_PER_S
            scale = np.array([1.0, 1.0, 1.0, 1.0 / unit_ms])
            known = relative_covariance(self.accepted, LIKELY_SHARE * unit_ms) * np.outer(scale, scale)
            return StepPrior(rows=prior_with(known + np.diag(np.square(FORGOTTEN))), expected=expected, unit_s=unit_s)
        widths = [
            math.log(one.high_factor / one.low_factor) / (2.0 * TWO_SIDED_80) for one in (self.decode, self.prefill)
        ]
        rows = np.zeros((SHARE + 1, SHARE + 1))
        rows[:SHARE, :SHARE] = prior_of(together=max(*widths, LEAST_APART), alone=max(2.0 * widths[0], LEAST_WIDTH))
        rows[SHARE, SHARE] = 1.0 / LIKELY_SHARE
        return StepPrior(rows=rows, expected=expected, unit_s=unit_s)


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """The windows that can be judged, oldest first, with their ends; those before a change of step times left out."""

    targets: tuple[MeasuredSteps, ...]
    spans_s: tuple[tuple[float, float], ...]
    drift: str | None = None

    @property
    def loads(self) -> list[float]:
        """Requests/s of a replica in each."""
        return [one.circumstances.rps / one.circumstances.replicas for one in self.targets]

    def since(self, at: int, drift: str) -> Windows:
        """The windows from number ``at`` on, with the drift that left the earlier ones out."""
        return Windows(targets=self.targets[at:], spans_s=self.spans_s[at:], drift=drift)


def windows_of(past: Sequence[PastWindow], now: Circumstances, after_s: float = 0.0) -> Windows:
    """The past windows that can be judged: enough requests, no replica came or went, no queue, not accepted before."""
    targets, spans = [], []
    for one in past:
        if not one.steady or not one.rps or not one.gap_ms or not one.replicas or one.start_s < after_s:
            continue
        if one.rps * (one.end_s - one.start_s) < FEWEST_REQUESTS:
            continue
        if (one.waiting or 0.0) > MOST_WAITING * one.replicas:
            continue
        quantity = SINGLE_GAPS if one.single_gaps else "tpot_ms"
        then = _as_then(one, now)
        targets.append(MeasuredSteps(circumstances=then, gap_ms=one.gap_ms, ttft_ms=one.ttft_ms, quantity=quantity))
        spans.append((one.start_s, one.end_s))
    return Windows(targets=tuple(targets), spans_s=tuple(spans))


def _as_then(one: PastWindow, now: Circumstances) -> Circumstances:
    """The circumstances of a past window: its load, mean lengths and hit rate, the shapes of now."""
    assert one.rps is not None
    assert one.replicas is not None
    prompt = one.prompt_tokens_per_s / one.rps if one.prompt_tokens_per_s else float(now.prompt.mean())
    output = one.generation_tokens_per_s / one.rps if one.generation_tokens_per_s else float(now.output.mean())
    return replace(
        now,
        rps=one.rps,
        prompt=_with_mean(now.prompt, prompt),
        output=_with_mean(now.output, output),
        hits=now.hits if one.prefix_hit_ratio is None else one.prefix_hit_ratio,
        replicas=round(one.replicas),
        profile=(),
        decode=1.0,
        prefill=1.0,
    )


def _with_mean(lengths: Floats, mean: float) -> Floats:
    return np.maximum(lengths * (mean / float(lengths.mean())), 1.0)


def learn(past: Sequence[PastWindow], now: Circumstances, worlds: Worlds, known: Known, *, start: float) -> Learned:
    """What the windows say. ``worlds`` simulate with the accepted step times; ``start``: the logarithm of a factor to
    begin with."""
    windows = windows_of(past, now, 0.0 if known.accepted is None else known.accepted.until.timestamp())
    if known.accepted is not None and windows.targets:
        windows = _since_accepted(windows, worlds, known, known.accepted)
    if len(windows.targets) < FEWEST_WINDOWS:
        return _too_few(windows, known)
    chosen = _fit(windows, worlds, known, start)
    if known.accepted is None:
        fitted = chosen.fitted
        misfits = _misfits_at(windows.targets, worlds, fitted.solution, fitted.prior.unit_s)
        later = _without_older(windows, misfits, None)
        if later.drift is not None:
            windows = later
            if len(windows.targets) < FEWEST_WINDOWS:
                return _too_few(windows, known)
            chosen = _fit(windows, worlds, known, start)
    return _judged(windows, worlds, known, chosen)


def _fit(windows: Windows, worlds: Worlds, known: Known, start: float) -> Chosen:
    """The factors with what a sequence adds held where it was; fitted jointly with it where the windows can tell it,
    show more than that and are predicted no worse from each other."""
    targets, drifted = windows.targets, windows.drift is not None
    prior = known.prior(unit_of(targets), drifted=drifted)

    def run(one: Circumstances) -> Ran:
        return worlds.run(one, lasting=True, requests=REQUESTS)

    held = fit(targets, run, prior=prior, start=prior.starting(start), free=np.arange(SHARE + 1) < SHARE)
    refining = known.accepted is not None and not drifted
    identifiable = error_of_share(held, with_prior=refining) <= LIKELY_SHARE / 2.0
    as_held = Chosen(fitted=held, identifiable=identifiable, errors=_left_out(targets, held, worlds))
    if not identifiable or not shows_more(held):
        return as_held
    # Prompts alone bent themselves to what sequences add: the joint fit begins with one factor for both.
    fitted = fit(targets, run, prior=prior, start=held.solution[[0, 0, 2, 3]], rounds=MORE_ROUNDS)
    joint = Chosen(fitted=fitted, identifiable=True, errors=_left_out(targets, fitted, worlds))
    return joint if shows_more(fitted) and joint.errors[1] <= as_held.errors[1] + AS_GOOD else as_held


def _misfits_at(targets: Sequence[MeasuredSteps], worlds: Worlds, solution: Floats, unit_s: float) -> Floats:
    """log(measured / predicted) of the mean gap of each window, with the factors of a solution."""
    ran = [
        worlds.run(at_solution(one.circumstances, solution, unit_s), lasting=True, requests=REQUESTS).mean_ms(
            one.quantity
        )
        for one in targets
    ]
    return np.array([math.log(one.gap_ms / gap) for one, gap in zip(targets, ran, strict=True)])


def _since_accepted(windows: Windows, worlds: Worlds, known: Known, accepted: LearnedCalibration) -> Windows:
    """The windows since the accepted step times held no longer. How far the time per sequence may be off, together with
    the factor on decode, is part of what chance explains: nothing at the loads it was learned at, more at others."""
    targets, unit_s = windows.targets, unit_of(windows.targets)
    solution = known.prior(unit_s, drifted=False).expected
    misfits = _misfits_at(targets, worlds, solution, unit_s)
    doubt: tuple[float, ...] = ()
    if accepted.sequence_covariance:
        unit_ms = unit_s * MS_PER_S
        with_decode = relative_covariance(accepted, 0.0)[SHARE, 0] / unit_ms
        spread = math.sqrt(max(relative_covariance(accepted, 0.0)[SHARE, SHARE], 0.0)) / unit_ms
        if spread > 0.0:
            steps = np.eye(SHARE + 1)[[0, SHARE]] * STEP
            ahead = [(_misfits_at(targets, worlds, solution + one, unit_s) - misfits) / STEP for one in steps]
            doubt = tuple((ahead[0] * with_decode / spread + ahead[1] * spread).tolist())
    return _without_older(windows, misfits, accepted, doubt)


def _without_older(
    windows: Windows, misfits: Floats, accepted: LearnedCalibration | None, doubt: Sequence[float] = ()
) -> Windows:
    """The windows since the last change of step times, with a sentence about it; all where there was none. ``doubt``:
    what each misfit may be by one standard deviation of the accepted time per sequence."""
    before = 0 if accepted is None else accepted.windows
    change = change_of(misfits.tolist(), GAP_NOISE, loads=windows.loads, before=before, doubt=doubt)
    if change is None:
        return windows
    times = math.exp(change.log_times)
    what = "those learned before" if accepted is not None else "in the windows before"
    since = utc(windows.spans_s[change.at][0])
    return windows.since(change.at, f"Since {since} steps take {times:.2f} times as long as {what}.")


def _too_few(windows: Windows, known: Known) -> Learned:
    """Fewer windows than teach something: what was accepted counts on, or nothing is said."""
    if known.accepted is None and windows.drift is None:
        return Learned()
    number, one = len(windows.targets), known.accepted
    more = f"{number} window{'' if number == 1 else 's'} can be judged since then, {FEWEST_WINDOWS} are needed"
    why = f"{windows.drift} {more} to learn anew." if windows.drift else f"The accepted step times count; {more} more."
    return Learned(recalibration=_unchanged(known, why, drift=windows.drift, identifiable=one is not None))


def _unchanged(
    known: Known, why: str, *, drift: str | None, identifiable: bool, sequences_known: bool = False
) -> Recalibration:
    """What was accepted, or the plan's: nothing new is learned. ``sequences_known``: whether the windows tell what each
    running sequence adds."""
    one, added = known.accepted, accepted_time(known.accepted)
    factors = known.factors
    decode = known.decode if one is None else interval_of(one, "decode")
    prefill = known.prefill if one is None else interval_of(one, "prefill")
    return Recalibration(
        factor_decode=factors[0],
        factor_prefill=factors[1],
        factor_fixed=factors[2],
        sequence_ms=added.ms,
        sequence_low_ms=added.low_ms,
        sequence_high_ms=added.high_ms,
        sequence_identifiable=sequences_known,
        sequence_covariance=added.covariance,
        decode_low=factors[0] * decode.low_factor,
        decode_high=factors[0] * decode.high_factor,
        prefill_low=factors[1] * prefill.low_factor,
        prefill_high=factors[1] * prefill.high_factor,
        windows=0 if one is None else one.windows,
        since=None if one is None else utc(one.since.timestamp()),
        until=None if one is None else utc(one.until.timestamp()),
        covariance=() if one is None else one.covariance,
        basis=known.basis,
        offered=False,
        drift=drift,
        identifiable=identifiable,
        error_before=None,
        error_after=None,
        why=why,
    )


def _judged(windows: Windows, worlds: Worlds, known: Known, chosen: Chosen) -> Learned:
    """Whether the fit may be used: the windows tell decode and prefill apart, and it predicts those left out."""
    targets, one = windows.targets, known.accepted
    refining = one is not None and windows.drift is None
    spread = max(windows.loads) / min(windows.loads)
    errors = _errors_alone(chosen.fitted, with_prior=refining)
    identifiable = (refining or spread >= LEAST_SPREAD) and errors[0] <= MOST_ERROR[0] and errors[1] <= MOST_ERROR[1]
    before, after = chosen.errors
    helps = after <= (before + AS_GOOD if refining else FEWEST_GAIN * before)
    why = _why(spread=spread, identifiable=identifiable, helps=helps, before=before, after=after, refining=refining)
    why = " ".join(filter(None, (windows.drift, why, about_sequences(chosen, sequences_of(targets)))))
    if not identifiable or not helps:
        kept = _unchanged(
            known, why, drift=windows.drift, identifiable=identifiable, sequences_known=chosen.identifiable
        )
        counted = kept.windows if one is not None else len(targets)
        kept = kept.model_copy(update={"windows": counted, "error_before": before, "error_after": before})
        return Learned(recalibration=kept)
    return Learned(recalibration=_offered(windows, known, chosen, why), targets=targets)


def _offered(windows: Windows, known: Known, chosen: Chosen, why: str) -> Recalibration:
    """What the windows teach, together with what was accepted before where they bear it out."""
    fitted, before = chosen.fitted, None if windows.drift is not None else known.accepted
    total = known.factors * np.array([fitted.decode, fitted.prefill, fitted.front])
    total[2] = max(total[2], LEAST_FRONT)
    scale = np.array([1.0, 1.0, known.factors[2], chosen.unit_ms])
    covariance = fitted.covariance * np.outer(scale, scale)
    half = [math.exp(TWO_SIDED_80 * fitted.error(part)) for part in (0, 1)]
    added = chosen.added(covariance[SHARE])
    return Recalibration(
        factor_decode=total[0],
        factor_prefill=total[1],
        factor_fixed=total[2],
        sequence_ms=added.ms,
        sequence_low_ms=added.low_ms,
        sequence_high_ms=added.high_ms,
        sequence_identifiable=chosen.identifiable,
        sequence_covariance=added.covariance,
        decode_low=total[0] / half[0],
        decode_high=total[0] * half[0],
        prefill_low=total[1] / half[1],
        prefill_high=total[1] * half[1],
        windows=len(windows.targets) + (0 if before is None else before.windows),
        since=utc(windows.spans_s[0][0] if before is None else before.since.timestamp()),
        until=utc(windows.spans_s[-1][1]),
        covariance=tuple(map(tuple, covariance[:SHARE, :SHARE].tolist())),
        basis=known.basis,
        offered=True,
        drift=windows.drift,
        identifiable=True,
        error_before=chosen.errors[0],
        error_after=chosen.errors[1],
        why=why,
    )


def _errors_alone(fitted: Fitted, *, with_prior: bool) -> tuple[float, float]:
    """Standard errors of both log factors from the windows, infinite where they say nothing: without a prior on the
    level of the step times, with that on how far decode and prefill differ and on what comes before the engine, and
    with the time per sequence as it is.

    ``with_prior``: with all that earlier windows taught.
    """
    own = fitted.jacobian[:, :SHARE]
    if not with_prior:
        own = np.delete(own, level_row(fitted), axis=0)
    information = own.T @ own
    if np.linalg.cond(information) > SINGULAR:
        return math.inf, math.inf
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    return float(errors[0]), float(errors[1])


def _left_out(targets: Sequence[MeasuredSteps], fitted: Fitted, worlds: Worlds) -> tuple[float, float]:
    """Median relative error of gap and TTFT on windows that were left out of the fit: as simulated so far, and with the
    factors of the others, each from the normal equations around the whole fit without the rows of its window."""
    before: list[float] = []
    after: list[float] = []
    ends, jacobian = np.cumsum(fitted.sizes), fitted.jacobian
    residuals, prior = fitted.residuals, fitted.prior
    for target, end, size in zip(targets, ends, fitted.sizes, strict=True):
        kept = np.ones(len(jacobian), dtype=bool)
        kept[end - size : end] = False
        change = np.zeros(len(fitted.solution))
        change[fitted.free] = np.linalg.lstsq(jacobian[kept][:, fitted.free], -residuals[kept], rcond=None)[0]
        others = np.clip(fitted.solution + change, LOWEST, HIGHEST)
        each = (target.circumstances, at_solution(target.circumstances, others, prior.unit_s))
        for one, errors in zip(each, (before, after), strict=True):
            ran = worlds.run(one, lasting=True, requests=REQUESTS)
            errors.append(abs(ran.mean_ms(target.quantity) / target.gap_ms - 1.0))
            if target.ttft_ms is not None:
                errors.append(abs(ran.mean_ms("ttft_ms") / target.ttft_ms - 1.0))
    return float(np.median(before)), float(np.median(after))


def _why(*, spread: float, identifiable: bool, helps: bool, before: float, after: float, refining: bool) -> str:
    if not identifiable and spread < LEAST_SPREAD:
        return (
            f"The loads of the windows differ by a factor of {spread:.2f}, at least {LEAST_SPREAD:g} is needed to tell "
            "decode and prefill apart: nothing is learned."
        )
    if not identifiable:
        return "The windows cannot tell decode and prefill apart: nothing is learned."
    if not helps and refining:
        return "The accepted step times explain the windows since then better than new ones would: they stay."
    if not helps:
        return "The step times of the plan explain these windows as well as fitted ones: nothing is to be learned."
    if refining:
        return (
            f"The windows since then bear the accepted step times out and make them surer: median error "
            f"{percent(before)} with them, {percent(after)} with the new ones (mean TTFT and mean gap)."
        )
    return (
        f"On windows that were left out the median error falls from {percent(before)} to {percent(after)} "
        "(mean TTFT and mean gap)."
    )
