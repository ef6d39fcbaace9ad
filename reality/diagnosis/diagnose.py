"""One diagnosis: read, judge the limits, split the gap to the plan, look for what helps, learn from the past."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend
from collectors.connect import read_and
from collectors.questions.deployments import ObservedDeployment, read_deployed
from collectors.questions.details import Details, ReplicaDetails, read_details
from collectors.reading.observation import Observation
from collectors.reading.remarks import RemarkKind
from collectors.source import Source
from reality.compare import WITHOUT_DATA, Planned, planned_of
from reality.diagnosis.actions import Advice, Situation, advise, usd_per_month
from reality.diagnosis.arrivals import lead_s, served_of
from reality.diagnosis.attribution import Attribution, Splitter, StepInterval, attribute, is_noise, main_cause
from reality.diagnosis.capacity import PromisedLimits, largest_load
from reality.diagnosis.changes import steps_changed_s
from reality.diagnosis.hung import as_action, as_cause, hung_of, in_words, lost_share, names_of
from reality.diagnosis.indirect import row_of
from reality.diagnosis.learning import Known, Learned, learn
from reality.diagnosis.limits import Asked, asked_limits, utc, worst
from reality.diagnosis.observed import ObservedWorlds, seen_of
from reality.diagnosis.replan import with_new_plan
from reality.diagnosis.resize import as_measured
from reality.diagnosis.result import CauseRow, Diagnosis, LimitRow, LimitVerdict, Recalibration, Split
from reality.diagnosis.sentences import headline
from reality.diagnosis.worlds import Circumstances, OutOfTime, Ran, Worlds
from reality.identity import apart, check, ranks_as_replicas
from reality.step_times import PARTS, StepLoad, basis_of, interval_of, load_of
from sharing.bonds.records import LearnedCalibration
from sizing.base.units import MS_PER_S
from sizing.base.version import ENGINE_VERSION
from sizing.catalog import data_version
from sizing.evidence.error_factors import ErrorFactors
from sizing.planning.answered import Answer, Planner
from sizing.planning.spread import intervals_of
from sizing.question.limits import LatencyLimits
from sizing.scenario.schema import Scenario

Progress = Callable[[float], None]
"""Told between two runs which share of the work is done."""

SHORTEST_AFTER_CHANGE_S = 60.0
"""A change of replicas within the window: it is judged from then on where so much is left. Chosen: four scrapes."""
NO_LIMITS = "The scenario has no latency limit: set one on Size (limits: in a scenario file) to have it judged."


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was read of a deployment at one moment; ``steps_changed_s``: since when its steps take the time they do,
    where that changed within the window that was asked for."""

    observed: Observation
    deployed: ObservedDeployment
    details: Details
    steps_changed_s: float | None = None


def nothing(progress: float) -> None:
    """Take the progress and tell nobody of it."""


def diagnose_source(
    scenario_or_answer: Scenario | Answer,
    source: Source,
    *,
    planner: Planner | None = None,
    at_s: float | None = None,
    window_s: float | None = None,
    served_as: str = "",
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
    progress: Progress = nothing,
    learned: LearnedCalibration | None = None,
    at_most_s: float = math.inf,
) -> Diagnosis:
    """Read the source, diagnose, and plan the measured traffic anew by ``planner`` (None: :func:`sizing.plan`); a
    scenario is answered first, as by ``python -m sizing plan``. ``learned``: step times that were accepted for it;
    ``at_most_s``: see :func:`diagnose`. Raises InvalidScenario."""
    planned = planned_of(scenario_or_answer, learned)
    limits = planned.answer.question.limits
    reading = read_for_diagnosis(limits, source, at_s=at_s, window_s=window_s, backend=backend, clock=clock)
    diagnosis = diagnose(planned, reading, served_as=served_as, progress=progress, at_most_s=at_most_s)
    measured = diagnosis.as_measured
    return diagnosis if measured is None else with_new_plan(diagnosis, planned, Answer.of(measured, planner))


def read_for_diagnosis(
    limits: LatencyLimits,
    source: Source,
    *,
    at_s: float | None = None,
    window_s: float | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
) -> Reading:
    """An observation with everything a diagnosis needs. Where replicas came or went within the window, or their steps
    began to take another time, it is read again from then on: before, it was another deployment."""

    def read(end_s: float | None, window: float | None) -> Reading:
        def more(own: Backend, observed: Observation) -> tuple[ObservedDeployment, Details]:
            bounds = {one.counted_as: one.limit_ms for one in asked_limits(limits, observed)}
            deployed = read_deployed(own, source, at_s=observed.at_s, window_s=observed.window_s, clock=clock)
            return deployed, read_details(own, source, observed, bounds, clock=clock)

        observed, both = read_and(
            more, source, at_s=end_s, window_s=window, backend=backend, clock=clock, wait=time.sleep
        )
        deployed, details = both or (ObservedDeployment(), Details())
        return Reading(observed=observed, deployed=deployed, details=details)

    first = read(at_s, window_s)
    replicas, steps = first.details.changed_s, steps_changed_s(first.details)
    changed = max((moment for moment in (replicas, steps) if moment is not None), default=None)
    if changed is None:
        return first
    interval = first.observed.scrape_interval_s or 0.0
    left = first.observed.at_s - changed - interval
    if left < max(SHORTEST_AFTER_CHANGE_S, 4.0 * interval):
        return first
    return replace(read(first.observed.at_s, left), steps_changed_s=steps)


def diagnose(
    planned: Planned,
    reading: Reading,
    *,
    served_as: str = "",
    progress: Progress = nothing,
    at_most_s: float = math.inf,
) -> Diagnosis:
    """The diagnosis of one reading. After ``at_most_s`` seconds the limits are judged without a cause, and that is
    said."""
    observed = ranks_as_replicas(reading.observed, reading.deployed, planned.row)
    reading = replace(reading, observed=observed)
    bounds = asked_limits(planned.answer.question.limits, observed)
    stopped = _stopped(planned, reading, served_as, bounds)
    if stopped:
        return _unclear(planned, observed, stopped)
    lead, learned = lead_s(observed), planned.learned
    worlds = Worlds(
        planned.answer.question, window_s=observed.window_s, lead_s=lead, learned=learned, at_most_s=at_most_s
    )
    blocked = _blocked(observed)
    if hung := hung_of(reading.details, observed.window_s):
        return _hung(planned, reading, hung, _rows(bounds, planned, reading, None, blocked))
    if why := _no_cause(planned, observed):
        return _limits_alone(planned, observed, _rows(bounds, planned, reading, None, blocked), why)
    try:
        seen = seen_of(planned, observed, reading.deployed, reading.details, worlds)
        if isinstance(seen, str):
            rows = _rows(bounds, planned, reading, None, blocked or seen)
            return _unclear(planned, observed, (seen,), rows)
        progress(0.05)
        return _Diagnosis(planned, reading, bounds, seen, worlds, progress).result(blocked)
    except OutOfTime:
        return _in_time(planned, observed, _rows(bounds, planned, reading, None, blocked), at_most_s)


def _in_time(planned: Planned, observed: Observation, rows: tuple[LimitRow, ...], at_most_s: float) -> Diagnosis:
    """The limits alone, where looking for the cause takes too long."""
    why = f"The cause was not found within {at_most_s:g} s: give it longer (--at-most), or choose a shorter window."
    return _limits_alone(planned, observed, rows, why)


def _limits_alone(planned: Planned, observed: Observation, rows: tuple[LimitRow, ...], why: str) -> Diagnosis:
    """The limits, judged, with why no cause is looked for."""
    load = observed.number("arrivals_rps")
    limits = headline(rows, worst(rows), None, None, load=load, capacity=None, actions=())
    return _unclear(planned, observed, (why, *observed.reasons), rows).model_copy(
        update={"state": _state(rows), "headline": f"{limits} {why}"}
    )


def _hung(planned: Planned, reading: Reading, hung: Sequence[ReplicaDetails], rows: tuple[LimitRow, ...]) -> Diagnosis:
    """Replicas that answer nothing come before all else: nothing that is measured holds their requests."""
    deployment, row, first = planned.answer.plan.deployment, planned.row, worst(rows)
    assert deployment is not None
    assert row is not None
    live, percentile = len(reading.details.replicas), planned.answer.question.limits.percentile
    cause = as_cause(hung, "" if first is None else first.quantity, deployment.instances, live)
    limits_alone = _limits_alone(planned, reading.observed, rows, "That holds for the requests that are answered.")
    broken = lost_share(reading.details, hung) > 1.0 - percentile / 100.0
    return limits_alone.model_copy(
        update={
            "state": "broken" if broken else limits_alone.state,
            "headline": f"{in_words(hung)} {limits_alone.headline} Restore {names_of(hung)}.",
            "worst_limit": None if first is None else first.quantity,
            "causes": (cause,),
            "main_cause": cause.cause,
            "actions": (as_action(hung, live, row.gpus),),
        }
    )


def _no_cause(planned: Planned, observed: Observation) -> str:
    """Why causes cannot be told apart although the limits can be judged; "" where they can."""
    pools = planned.answer.plan.deployment is not None and bool(planned.answer.plan.deployment.pools)
    if other := apart(pools, observed):
        return other
    return "Causes are told apart for one kind of instances, not for prefill and decode apart." if pools else ""


def _stopped(planned: Planned, reading: Reading, served_as: str, bounds: Sequence[Asked]) -> tuple[str, ...]:
    """Why nothing can be concluded; nothing where something can."""
    observed = reading.observed
    silent = WITHOUT_DATA.get(observed.state)
    if silent:
        return (*observed.reasons, silent)
    if planned.answer.plan.deployment is None or planned.row is None:
        return (planned.why_not,)
    # Another format of the KV cache is a cause, and no other deployment.
    identity = check(
        planned.answer.question.model, planned.row, observed, replace(reading.deployed, kv=()), served_as=served_as
    )
    if identity.foreign:
        return identity.foreign
    return () if bounds else (NO_LIMITS,)


def _blocked(observed: Observation) -> str:
    if observed.has(RemarkKind.PARTIAL_ANSWER):
        return "the answer of the server is partial: sums may lack replicas"
    return ""


def _rows(
    bounds: Sequence[Asked], planned: Planned, reading: Reading, ran: Ran | None, blocked: str
) -> tuple[LimitRow, ...]:
    percentile = planned.answer.question.limits.percentile
    return tuple(row_of(one, percentile, reading.observed, reading.details, ran, blocked) for one in bounds)


def _state(rows: Sequence[LimitRow]) -> LimitVerdict:
    verdicts = {row.verdict for row in rows}
    if "broken" in verdicts:
        return "broken"
    return "met" if verdicts == {"met"} else "unclear"


def _unclear(
    planned: Planned, observed: Observation, reasons: Sequence[str], rows: tuple[LimitRow, ...] = ()
) -> Diagnosis:
    """Nothing can be concluded, and why."""
    return Diagnosis(
        state="unclear",
        headline=f"Nothing can be concluded: {reasons[0]}" if reasons else "Nothing can be concluded.",
        reasons=tuple(dict.fromkeys(reasons)),
        scenario=planned.answer.question.scenario.name,
        source=observed.name,
        at=utc(observed.at_s),
        window_s=observed.window_s,
        limits=rows,
        worst_limit=None,
        load_rps=observed.number("arrivals_rps"),
        capacity_within_limits_rps=None,
        headroom=None,
        replicas_needed=None,
        gap_replicas=None,
        gap_usd_per_month=None,
        causes=(),
        main_cause=None,
        splits=(),
        actions=(),
        recalibration=None,
        as_measured=None,
        replanned=None,
        assumptions=(),
        runs=0,
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )


class _Diagnosis:
    """The way from what was seen to the result; each part needs those before it."""

    def __init__(
        self,
        planned: Planned,
        reading: Reading,
        bounds: Sequence[Asked],
        seen: ObservedWorlds,
        worlds: Worlds,
        progress: Progress,
    ) -> None:
        self.planned, self.reading, self.bounds = planned, reading, bounds
        self.seen, self.worlds, self.progress = seen, worlds, progress

    def result(self, blocked: str) -> Diagnosis:
        observed = self.reading.observed
        given = self._attributed()
        self.progress(0.15)
        rows = _rows(self.bounds, self.planned, self.reading, given.measured, blocked)
        splitter = Splitter(given, self.worlds, lambda share: self.progress(0.15 + 0.4 * share))
        splits = splitter.splits(rows)
        state, highest = _state(rows), worst(rows)
        split = next((one for one in splits if highest and one.quantity == highest.quantity), None)
        main = None
        if split is not None and highest is not None and highest.attainment is not None:
            main = main_cause(split, broken=highest.verdict == "broken", limit_ms=highest.limit)
        promise, learned = self._promise(rows, given), self._learned(given)
        self.progress(0.7)
        now = self._at_other_loads(given.now, learned.recalibration)
        capacity = largest_load(self.worlds, now, promise)
        self.progress(0.85)
        situation = self._situation(now, splitter, main, state, capacity, learned.recalibration)
        advice = advise(situation, self.worlds, promise)
        self.progress(1.0)
        composed = self._composed(observed, rows, highest, split, main, capacity, advice)
        return composed.model_copy(
            update={
                "splits": splits,
                "recalibration": learned.recalibration,
                "as_measured": self._as_measured(given, learned),
                "runs": self.worlds.runs,
            }
        )

    def _as_measured(self, given: Attribution, learned: Learned) -> Scenario:
        """The scenario with the measured traffic; calibrated where windows or this one say other step times."""
        now = [given.target] if given.engine is not None and given.target is not None else []
        load = self.reading.observed.number("arrivals_rps") or given.now.rps
        accepted = "" if self.planned.learned is None else self.planned.learned.benchmark
        scenario = self.planned.answer.question.scenario
        known, own = learned.recalibration, scenario.benchmark
        sequence_ms = 0.0 if known is None else known.sequence_ms
        if own is not None and own.sequence_ms:  # what is learned lies beyond the plan, which has it already
            sequence_ms += own.sequence_ms * (1.0 if known is None else known.factor_decode)
        return as_measured(scenario, given.now, load, learned.targets or tuple(now), accepted, sequence_ms)

    def _attributed(self) -> Attribution:
        devices, fleet = self.reading.details.devices, self.seen.fleet
        alone = bool(fleet.throttled) and not fleet.slow and len(fleet.throttled) >= len(devices)
        queued = (self.reading.observed.number("waiting") or 0.0) > self.seen.measured.replicas
        return attribute(
            self.seen,
            self.reading.observed,
            self.worlds,
            self._interval(),
            served=served_of(self.reading.details),
            in_queue=queued,
            throttled_alone=alone,
            percentile=self.planned.answer.question.limits.percentile,
            since_s=self.reading.steps_changed_s,
        )

    def _promise(self, rows: Sequence[LimitRow], given: Attribution) -> PromisedLimits:
        """The limits; where the measured percentile surely is another than the simulated one, in proportion: not where
        step times that differ as little as they are known explain it, as beside saturation."""
        scale: dict[str, float] = {}
        for row in rows:
            every = (given.measured, *given.measured_ends)
            ran, *ends = (one.percentile_ms(row.quantity, row.percentile) for one in every)
            if row.measured is None or not ran > 0.0 or given.measured.growing:
                continue
            low, high = min(ran, *ends), max(ran, *ends)
            beyond = (row.low is not None and high < row.low) or (row.high is not None and low > row.high)
            if beyond:
                scale[row.quantity] = min(max(row.measured / ran, 0.5), 2.0)
        return PromisedLimits(
            limits=self.bounds, percentile=self.planned.answer.question.limits.percentile, scale=scale
        )

    def _intervals(self) -> tuple[ErrorFactors, ErrorFactors]:
        """The intervals of the plan's step times: decode, prefill."""
        row = self.planned.row
        assert row is not None
        question = self.planned.answer.question.as_expected()
        decode, prefill = (intervals_of(question, metric, [row])[0] for metric in ("decode", "prefill"))
        return decode, prefill

    def _interval(self) -> StepInterval:
        """The interval of the step times that are planned with: the plan's, or those accepted since."""
        learned = self.planned.learned
        load = self._step_load()
        both = self._intervals() if learned is None else tuple(interval_of(learned, part, load) for part in PARTS)
        fast, slow = (tuple(getattr(one, end) for one in both) for end in ("low_factor", "high_factor"))
        return StepInterval(ends=(fast, slow))

    def _step_load(self) -> StepLoad | None:
        """The sequences that each replica runs now, with their step; None where the engine does not say."""
        now, running = self.seen.measured, self.reading.observed.number("running")
        if not running:
            return None
        prompt, output = float(now.prompt.mean()), float(now.output.mean())
        replica = self.worlds.replica(now.row, prompt, output)
        return load_of(replica, running / now.replicas, prompt + output / 2.0)

    def _known(self) -> Known:
        """What is known of the step times before any window."""
        row = self.planned.row
        assert row is not None
        decode, prefill = self._intervals()
        basis = basis_of(self.planned.answer.question, row)
        return Known(decode=decode, prefill=prefill, accepted=self.planned.learned, basis=basis)

    def _learned(self, given: Attribution) -> Learned:
        unfitted = replace(given.seen.measured, decode=1.0, prefill=1.0, front=1.0)
        start = given.fitted.common if given.fitted is not None else 0.0
        return learn(self.reading.details.past, unfitted, self.worlds, self._known(), start=start)

    def _at_other_loads(self, now: Circumstances, one: Recalibration | None) -> Circumstances:
        """What capacity and actions are simulated from: as the window has it; where the windows tell what each running
        sequence adds, with all that they teach, as one factor that explains this load says too little of others."""
        if one is None or not one.offered or not one.sequence_ms:
            return now
        known = self._known().factors
        return replace(
            now,
            decode=one.factor_decode / known[0],
            prefill=one.factor_prefill / known[1],
            front=one.factor_fixed / known[2],
            sequence_s=one.sequence_ms / MS_PER_S,
        )

    def _situation(
        self,
        now: Circumstances,
        splitter: Splitter,
        main: CauseRow | None,
        state: LimitVerdict,
        capacity: float | None,
        recalibration: Recalibration | None,
    ) -> Situation:
        return Situation(
            planned=self.planned,
            load_rps=self.reading.observed.number("arrivals_rps") or now.rps,
            now=now,
            differences=tuple(splitter.differences.values()),
            main=None if main is None else main.cause,
            state=state,
            capacity=capacity,
            recalibration=recalibration,
        )

    def _composed(
        self,
        observed: Observation,
        rows: tuple[LimitRow, ...],
        highest: LimitRow | None,
        split: Split | None,
        main: CauseRow | None,
        capacity: float | None,
        advice: Advice,
    ) -> Diagnosis:
        planned, load = self.planned.answer.plan.deployment, observed.number("arrivals_rps")
        gap = None if split is None or split.planned_ms is None else (split.measured_ms or 0.0) - split.planned_ms
        more = None if advice.needed is None or planned is None else advice.needed - planned.instances
        problems = (*observed.reasons, *self.reading.details.problems)
        return _unclear(self.planned, observed, problems, rows).model_copy(
            update={
                "state": _state(rows),
                "headline": headline(rows, highest, main, gap, load=load, capacity=capacity, actions=advice.actions),
                "worst_limit": None if highest is None else highest.quantity,
                "capacity_within_limits_rps": capacity,
                "headroom": None if capacity is None or not load else capacity / load - 1.0,
                "replicas_needed": advice.needed,
                "gap_replicas": more,
                "gap_usd_per_month": None if more is None else usd_per_month(self.planned, more),
                "causes": _shown(split),
                "main_cause": None if main is None else main.cause,
                "actions": advice.actions,
                "assumptions": (*self.seen.assumed, *self.planned.about_step_times),
            }
        )


def _shown(split: Split | None) -> tuple[CauseRow, ...]:
    """The causes of the worst limit; none where nothing differs and the remainder is noise."""
    if split is None:
        return ()
    named = [row for row in split.causes if row.cause != "unexplained"]
    if not named and all(is_noise(row) for row in split.causes):
        return ()
    return split.causes
