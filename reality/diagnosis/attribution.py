"""What made the gap between plan and measurement: the engine fitted to what traffic and deployment leave over, then the
Shapley value of every difference, and the remainder that none of them explains."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.reading.observation import Observation
from reality.diagnosis.causes import FRONT_END, Cause, CauseDifference
from reality.diagnosis.fitting import Fitted, MeasuredSteps, fit, stepped
from reality.diagnosis.front import before_engine
from reality.diagnosis.limits import utc
from reality.diagnosis.observed import ObservedWorlds
from reality.diagnosis.result import CauseRow, LimitRow, Split
from reality.diagnosis.worlds import SINGLE_GAPS, Circumstances, Ran, Worlds
from reality.sampling import mean_of
from sizing.base.shapley import Coalition, coalitions, shapley
from sizing.base.units import TWO_SIDED_80

MOST_CAUSES = 7
"""Causes that are split exactly, 2^7 runs; of more, those that change most alone."""
ALL_REQUESTS, MOST_REQUESTS = 1_500_000, 40_000
"""Requests simulated for one split, and for one run of it. Chosen: about a second."""
FIT_REQUESTS = 12_000
"""Requests of a run to which the step times are fitted."""
LEAST_FACTOR, SURE = 0.11, 3.0
"""Log factor on the step times below which the engine is as planned, and standard errors from which it is not. Chosen:
two simulators of one plan lie up to 0.10 apart (tests.tools.unlike_cases); beside saturation a queue multiplies it."""
OTHER_GAP = 0.12
"""Logarithm of a change of the planned mean gap that is no small correction any more. Chosen: above what counts as
agreement."""
SIMULATED = 0.02
"""Relative error of a simulated percentile of that many requests, and of one scheduler for another."""
AFTER_FIT = 0.04
"""Relative error of step times that were fitted to the window itself."""
AS_PLANNED = 0.10
"""Relative difference from the engine's percentile that no cause is looked for in: what counts as agreement."""
NOISE = "cannot be told apart from noise"
"""Said of what is left where it may be none."""
MOST_CANCELLED = 1.5
"""Sum of the sizes of shares over the size of their sum, from which causes cancel out."""
BEFORE_ERROR = 0.1
"""Relative error of the time before the engine: the difference of means that are each known to a few percent."""
LEAST_MS = 1e-9
"""A percentile at least, so that nothing is divided by 0."""
FIRST_TOKEN_UNTIL = 0.3
"""Share of a mean TTFT that may be spent waiting before it says nothing about step times."""


@dataclass(frozen=True, kw_only=True)
class StepInterval:
    """The 80 % interval of the step times that are planned with: (decode, prefill) factors at the fast and slow end."""

    ends: tuple[tuple[float, float], tuple[float, float]]

    def around(self, factor: float) -> str:
        """What the interval of decode steps says of a factor that was found."""
        low, high = (end[0] for end in self.ends)
        where = "within" if low <= factor <= high else "outside"
        return f"{where} the interval of the plan, {low:.2f} to {high:.2f}"


_OFF = 1.0 + AFTER_FIT * TWO_SIDED_80
FITTED = StepInterval(ends=((1.0 / _OFF, 1.0 / _OFF), (_OFF, _OFF)))
"""The 80 % interval of step times that were fitted to the window itself."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Attribution:
    """Runs of the circumstances as planned and as measured, the factors on step times, and the splits by quantity.

    ``planned_ends``: as planned with the step times at the fast and the slow end of their interval; ``measured_ends``:
    the same as measured, where step times were fitted by what the fit leaves open: near saturation that is a multiple
    of the queue. ``now``: as measured, with the fitted factors whether they are sure or not: what capacity is computed
    for.
    """

    seen: ObservedWorlds
    now: Circumstances
    planned: Ran
    measured: Ran
    planned_ends: tuple[Ran, Ran]
    measured_ends: tuple[Ran, Ran]
    engine: CauseDifference | None
    before: CauseDifference | None
    fitted: Fitted | None
    target: MeasuredSteps | None


def attribute(
    seen: ObservedWorlds,
    observed: Observation,
    worlds: Worlds,
    interval: StepInterval,
    *,
    served: float | None,
    in_queue: bool,
    throttled_alone: bool,
    percentile: float,
    since_s: float | None = None,
) -> Attribution:
    """Fit the engine, and run both ends. ``served``: share of arrivals that were served while a queue grew (None: none
    grew); ``in_queue``: TTFT is mostly waiting; ``throttled_alone``: all replicas have GPUs that are slowed down, so
    that what the engine is slower is theirs; ``percentile`` of the limits; ``since_s``: when step times changed."""
    engine = fitted = before = None
    target = _target(seen.measured, observed, served=served, in_queue=in_queue)
    if target is not None and served is None:
        target, before = _with_intake(target, observed, worlds, percentile)
    planned, now = seen.planned, seen.measured if target is None else target.circumstances
    measured = now
    if target is not None:
        fitted = fit([target], lambda one: worlds.run(one, requests=FIT_REQUESTS))
        planned = replace(planned, front=fitted.front)
        now = stepped(measured, fitted.decode, fitted.prefill, fitted.front)
        corrected = stepped(planned, fitted.decode, fitted.prefill)
        gap, then = (worlds.run(one, requests=FIT_REQUESTS).mean_ms("tpot_ms") for one in (planned, corrected))
        engine = _engine(fitted, interval, math.log(then / gap), throttled_alone=throttled_alone, since_s=since_s)
        if engine is None:  # as fast as planned, as far as can be told: one small correction for plan and measurement
            planned = corrected
        measured = now
    return Attribution(
        seen=replace(seen, planned=planned, measured=measured, differences=_since(seen.differences, since_s)),
        now=now,
        planned=worlds.run(planned, requests=MOST_REQUESTS),
        measured=worlds.run(measured, requests=MOST_REQUESTS),
        planned_ends=_at_ends(planned, worlds, interval),
        measured_ends=_at_ends(measured, worlds, FITTED if fitted else interval, _by_chance(measured, observed)),
        engine=engine,
        before=before,
        fitted=fitted,
        target=target,
    )


def _since(differences: Sequence[CauseDifference], since_s: float | None) -> tuple[CauseDifference, ...]:
    """The same, slow replicas since the moment at which step times changed."""
    return tuple(
        replace(one, since_s=since_s) if since_s is not None and one.cause == "slow_gpu" else one for one in differences
    )


def _with_intake(
    target: MeasuredSteps, observed: Observation, worlds: Worlds, percentile: float
) -> tuple[MeasuredSteps, CauseDifference | None]:
    """What the window says about step times once what requests take before the engine has them is told apart, and that
    as a cause; as it was where that is as planned. It is told beside steps that explain the gaps alone."""

    def run(one: Circumstances) -> Ran:
        return worlds.run(one, requests=FIT_REQUESTS)

    now = target.circumstances
    if before_engine(observed, now, percentile, run) is None:
        return target, None
    gaps = fit([replace(target, ttft_ms=None)], run)
    waiting = before_engine(observed, stepped(now, gaps.decode, gaps.prefill), percentile, run)
    if waiting is None:
        return target, None
    cause = CauseDifference(
        cause="engine",
        planned=waiting.planned_ms,
        measured=waiting.planned_ms + waiting.beyond_ms,
        unit="ms",
        error=BEFORE_ERROR,
        subject=FRONT_END,
        words="they queue for it" if waiting.intake.queues else "",
    )
    return replace(target, circumstances=replace(now, intake=waiting.intake), ttft_ms=None), cause


def _engine(
    fitted: Fitted, interval: StepInterval, log_gap: float, *, throttled_alone: bool, since_s: float | None
) -> CauseDifference | None:
    """The steps of all replicas as a cause; None where they are as fast as planned, as far as can be told. ``log_gap``:
    logarithm of what the factors do to the planned mean gap. Where decode is slower and prompts are faster, as with
    another scheduler, what they have in common says nothing. The other way round, balancers do better than chance.
    """
    factor, error = fitted.common, fitted.common_error
    if abs(factor) <= max(LEAST_FACTOR, SURE * error):
        factor, error = math.log(fitted.decode), fitted.error(0)
        if log_gap <= OTHER_GAP or factor <= LEAST_FACTOR:
            return None
    return CauseDifference(
        cause="slow_gpu" if throttled_alone and factor > 0 else "engine",
        planned=1.0,
        measured=math.exp(factor),
        unit="times the planned step time",
        error=min(error / max(abs(factor), LEAST_MS), 1.0),
        words=interval.around(math.exp(factor)),
        since_s=since_s,
    )


def _at_ends(one: Circumstances, worlds: Worlds, interval: StepInterval, load: float = 0.0) -> tuple[Ran, Ran]:
    """Runs with step times at the fast and at the slow end of their interval; ``load``: by which part fewer or more
    requests arrive there."""
    ends = zip(interval.ends, (one.rps / (1.0 + load), one.rps * (1.0 + load)), strict=True)
    fast, slow = (worlds.run(replace(stepped(one, *end), rps=rps), requests=FIT_REQUESTS) for end, rps in ends)
    return fast, slow


def _by_chance(one: Circumstances, observed: Observation) -> float:
    """Relative half width of the 80 % interval of the requests that one replica got in the window."""
    return TWO_SIDED_80 * one.cv / math.sqrt(max(one.rps * observed.window_s / one.replicas, 1.0))


def _target(one: Circumstances, observed: Observation, *, served: float | None, in_queue: bool) -> MeasuredSteps | None:
    """What the window says about step times; None without gaps between tokens."""
    quantity = "tpot_ms" if observed.distribution("tpot_ms").mean else SINGLE_GAPS
    gap = observed.distribution(quantity)
    measured = mean_of(gap)
    if not gap.mean or measured.weak:
        return None
    low = measured.interval.low
    error = 0.0 if low is None else max(1.0 - low / gap.mean, 0.0) / TWO_SIDED_80
    ttft, queue = observed.distribution("ttft_ms").mean, observed.distribution("queue_ms").mean
    waits = in_queue or (queue is not None and ttft is not None and queue > FIRST_TOKEN_UNTIL * ttft)
    return MeasuredSteps(
        circumstances=one,
        gap_ms=gap.mean,
        ttft_ms=None if waits or not ttft else ttft,
        error=error,
        served=served,
        quantity=quantity,
    )


class Splitter:
    """Splits the gap of every limit's percentile with one set of runs."""

    def __init__(self, given: Attribution, worlds: Worlds, progress: Callable[[float], None]) -> None:
        self._given, self._worlds, self._progress = given, worlds, progress
        every = [*given.seen.differences, *(one for one in (given.engine, given.before) if one)]
        self.differences: dict[Cause, CauseDifference] = {}
        for one in every:
            self.differences.setdefault(one.cause, one)

    def splits(self, rows: Sequence[LimitRow]) -> tuple[Split, ...]:
        """One split for each limit that was measured."""
        runs = self._runs(rows)
        wanted = [row for row in rows if row.measured is not None]
        return tuple(self._split(row, runs) for row in wanted)

    def _mixed(self, some: Coalition) -> Circumstances:
        seen = self._given.seen
        mixed = seen.mixed(some)
        engine = self._given.engine
        if engine is not None and engine.cause == "slow_gpu" and "slow_gpu" in some:
            mixed = replace(mixed, decode=seen.measured.decode, prefill=seen.measured.prefill)
        return mixed

    def _runs(self, rows: Sequence[LimitRow]) -> dict[Coalition, Ran]:
        causes: list[Cause] = list(self.differences)
        if len(causes) > MOST_CAUSES:
            causes = self._largest(causes, rows)
        every = coalitions(causes)
        requests = min(ALL_REQUESTS // len(every), MOST_REQUESTS)
        runs = {}
        for i, some in enumerate(every):
            runs[some] = self._worlds.run(self._mixed(some), requests=requests)
            self._progress((i + 1) / len(every))
        return runs

    def _largest(self, causes: list[Cause], rows: Sequence[LimitRow]) -> list[Cause]:
        """The causes that change the percentiles most when each is simulated alone."""

        def change(cause: Cause) -> float:
            ran = self._worlds.run(self._mixed(frozenset({cause})), requests=FIT_REQUESTS)
            return max(
                abs(
                    math.log(
                        ran.percentile_ms(name, row.percentile)
                        / self._given.planned.percentile_ms(name, row.percentile)
                    )
                )
                for row in rows
                if (name := row.quantity)
            )

        return sorted(causes, key=change, reverse=True)[:MOST_CAUSES]

    def _split(self, row: LimitRow, runs: Mapping[Coalition, Ran]) -> Split:
        name = row.quantity
        values = {some: ran.percentile_ms(name, row.percentile) for some, ran in runs.items()}
        causes = max(values, key=len)
        ordered = [cause for cause in self.differences if cause in causes]
        shares = shapley(ordered, values)
        none, all_of = values[frozenset()], values[causes]
        assert row.measured is not None
        fast, slow = (ran.percentile_ms(name, row.percentile) for ran in self._given.planned_ends)
        planned = (min(fast, none), none, max(slow, none))
        left = _remainder(row, all_of, self._measured_ends(name, row.percentile))
        times = _in_proportion(shares, row.measured - none, left)
        if times != 1.0:
            left = left.model_copy(update={"share_ms": 0.0})
        rows = [self._row(self.differences[cause], row.quantity, times * shares[cause], planned) for cause in ordered]
        rows.append(left)
        return Split(
            quantity=row.quantity,
            percentile=row.percentile,
            planned_ms=none,
            planned_low_ms=planned[0],
            planned_high_ms=planned[2],
            measured_ms=row.measured,
            causes=tuple(sorted(rows, key=lambda one: -abs(one.share_ms))),
        )

    def _measured_ends(self, name: str, percentile: float) -> tuple[float, float]:
        """A percentile as measured at both ends of the step times."""
        fast, slow = (ran.percentile_ms(name, percentile) for ran in self._given.measured_ends)
        return fast, slow

    def _row(self, one: CauseDifference, quantity: str, share: float, planned: tuple[float, float, float]) -> CauseRow:
        """The share with its interval: the error of what was measured, of the simulation, and of the step times. Those
        that are fitted to the window are known; the plan's were not, so that what the engine adds to the planned
        percentile is as uncertain as that itself. ``planned``: low end, value, high end."""
        low, value, high = planned
        error = math.hypot(share * one.error, SIMULATED * value, share * AFTER_FIT) * TWO_SIDED_80
        less, more = 0.0, 0.0
        if one is self._given.engine:
            less, more = high - value, value - low
        elif self._given.fitted is None:
            less = more = abs(share) * (high - low) / 2.0 / max(value, LEAST_MS)
        return CauseRow(
            cause=one.cause,
            quantity=quantity,
            share_ms=share,
            low=share - math.hypot(error, less),
            high=share + math.hypot(error, more),
            subject=one.subject,
            since=None if one.since_s is None else utc(one.since_s),
            planned=one.planned,
            measured=one.measured,
            unit=one.unit,
            why=one.words,
        )


def _remainder(row: LimitRow, explained: float, ends: tuple[float, float]) -> CauseRow:
    """What no cause explains, with the interval of the measured percentile and of the run; ``ends``: what is explained
    with step times at theirs."""
    assert row.measured is not None
    share = row.measured - explained
    noise = SIMULATED * TWO_SIDED_80 * explained
    fast, slow = min(ends[0], explained), max(ends[1], explained)
    low = min(row.low if row.low is not None else row.measured, row.measured) - slow - noise
    high = max(row.high if row.high is not None else row.measured, row.measured) - fast + noise
    within = low <= 0.0 <= high or abs(share) <= AS_PLANNED * row.measured
    return CauseRow(
        cause="unexplained",
        quantity=row.quantity,
        share_ms=share,
        low=low,
        high=high,
        subject=None,
        since=None,
        planned=None,
        measured=None,
        unit="",
        why=NOISE if within else "no difference that can be seen explains it",
    )


def _in_proportion(shares: Mapping[str, float], gap: float, left: CauseRow) -> float:
    """What all shares are multiplied by so that nothing is left, where that cannot be told apart from noise: beside
    saturation a queue makes a multiple of whatever fills it. 1 where causes cancel out, or point the other way."""
    explained, sizes = sum(shares.values()), sum(abs(one) for one in shares.values())
    if left.why != NOISE or not explained * gap > 0.0 or sizes > MOST_CANCELLED * abs(explained):
        return 1.0
    return gap / explained


def is_noise(row: CauseRow) -> bool:
    """Whether a share may be none at all."""
    return row.low <= 0.0 <= row.high


def _is_fitted(row: CauseRow) -> bool:
    """Whether a cause is one factor on the steps of all replicas."""
    return row.cause == "engine" or (row.cause == "slow_gpu" and row.subject is None)


def is_as_planned(split: Split) -> bool:
    """Whether a percentile agrees with the plan, as nearly as that is known."""
    planned, measured = split.planned_ms or 0.0, split.measured_ms or 0.0
    return abs(measured - planned) <= AS_PLANNED * planned


def _is_inferred(row: CauseRow) -> bool:
    """Whether a cause is told from how times or numbers are spread, and nothing that was counted differs by itself."""
    by_shape = row.cause in ("prompts", "outputs") and bool(row.why)
    return row.cause in ("burstiness", "engine", "unexplained") or by_shape


def main_cause(split: Split, *, broken: bool, limit_ms: float) -> CauseRow | None:
    """The largest cause: of a broken limit the one that adds most. None where nothing differs for sure. That steps
    take another time than planned is sure where it was fitted, whatever interval the plan left them; where the
    percentile agrees with the plan there is no gap of which such a thing could be the cause.

    What is not explained is the main thing only where the known causes do not break the limit by themselves: near
    saturation a queue multiplies whatever they are off.
    """
    floor = AS_PLANNED / 2.0 * (split.planned_ms or 0.0)
    may_be = [row for row in split.causes if not (is_as_planned(split) and _is_inferred(row))]
    sure = [row for row in may_be if (_is_fitted(row) or not is_noise(row)) and abs(row.share_ms) > floor]
    named = [row for row in sure if row.cause != "unexplained"]
    explained = (split.planned_ms or 0.0) + sum(row.share_ms for row in split.causes if row.cause != "unexplained")
    left = [row for row in sure if row not in named and abs(row.share_ms) > AS_PLANNED * (split.measured_ms or 0.0)]
    if broken:
        adding = [row for row in named if row.share_ms > 0.0]
        enough = explained > limit_ms
        return _largest([*adding, *([] if enough and adding else left)]) or _largest(named)
    return _largest([*named, *left])


def _largest(rows: Sequence[CauseRow]) -> CauseRow | None:
    return max(rows, key=lambda row: abs(row.share_ms), default=None)
