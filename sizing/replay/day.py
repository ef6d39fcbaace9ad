"""Capacity over the day: base and burst instances, when to add and remove them, and what that saves.

An instance takes a start-up time before it serves, so it has to be ordered while the load still fits: the scale-out
threshold is the load per instance from which it could outgrow what is running within one start-up time.

The question is that of aggregated instances: no single count describes the two kinds of disaggregated pools.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import ROUNDING, Counts, Floats
from sizing.base.choices import Standby
from sizing.base.errors import InvalidScenario
from sizing.base.format import count, counted, ms, percent, requests_per_s
from sizing.base.result import Plan
from sizing.base.units import HOURS_PER_DAY, S_PER_DAY, S_PER_HOUR, S_PER_MINUTE
from sizing.base.version import ENGINE_VERSION
from sizing.planning.answered import Answer, question_of
from sizing.planning.instance_start import start_up_s
from sizing.planning.plan import plan as plan_of
from sizing.planning.settled import counted_on
from sizing.question.understand import Question, understand
from sizing.replay.day_result import DayMoment, DayPlan, ScaleOut
from sizing.replay.scale_out import simulated_scale_out
from sizing.replay.simulate import planned
from sizing.scenario.day_profile import over_the_day
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import Profile, TraceArrivals

STEP_S = S_PER_MINUTE
"""Between two moments that are looked at, unless the window of a trace is shorter. Chosen: because instances take
minutes to start."""

STARTUP_S = 180.0
"""Start-up time when none is given. Chosen: because a container, the weights from a local disk and the engine's own
warm-up take some minutes together."""

MOST_STARTUP_S = S_PER_DAY
LEAST_THRESHOLD = 0.3
"""Scale-out threshold at least: a load that more than triples within a start-up time is met by more base instances
instead. Chosen: because a lower one would keep most instances idle all day."""

SHOWN_MOMENTS = 1440
"""Moments of the answer at most: the minutes of a day."""

SMALLEST = 1e-300
"""Load at least, so that nothing is divided by 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DayLoad:
    """Load at moments ``step_s`` apart; ``round`` when the day repeats."""

    rps: Floats
    step_s: float
    round: bool

    @property
    def hours(self) -> float:
        """Length of the day or trace."""
        return len(self.rps) * self.step_s / S_PER_HOUR


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule:
    """Instances at every moment (N,): needed, serving and paid for; spares not counted."""

    needed: Counts
    serving: Counts
    ordered: Counts
    threshold: float
    base: int


def day(
    scenario_or_answer: Scenario | Answer, *, startup_s: float | None = None, assumed_hours: Sequence[float] = ()
) -> DayPlan:
    """How many instances run when, each taking the load that the plan finds.

    A scenario is answered first; an answer is one of aggregated instances. ``assumed_hours``: relative hourly loads of
    a scenario that tells none; ``startup_s``: seconds until an ordered instance serves; left out, those that follow
    from where its weights are read, else :data:`STARTUP_S`. Raises InvalidScenario without these, a profile or a trace,
    or when nothing is feasible.
    """
    if startup_s is not None and not 0.0 <= startup_s <= MOST_STARTUP_S:
        raise InvalidScenario([f"The start-up time must be from 0 to {MOST_STARTUP_S:,.0f} s, not {startup_s:g}."])
    scenario = question_of(scenario_or_answer).scenario
    question = question_of_day(scenario, assumed_hours)
    load = load_of_day(question)
    known = (
        scenario_or_answer
        if isinstance(scenario_or_answer, Answer)
        else Answer(question, plan_of(question.scenario, alternatives=0))
    )
    answer = known.plan
    if answer.per_instance is None or answer.deployment is None or not answer.feasible:
        raise InvalidScenario([f"There is no deployment to scale. {answer.answer}"])
    if startup_s is None:
        startup_s = start_up_s(known.question, known.chosen)
    if startup_s is None:
        startup_s = STARTUP_S
    over = schedule(load, answer.per_instance.max_rps, startup_s)
    chosen = planned(known, question) if scenario.measured is None else None
    steepest = None
    if chosen is not None:
        steepest = simulated_scale_out(
            question, chosen.replica, load.rps, load.step_s, over.serving, over.needed, startup_s
        )
    return _composed(question, answer, load, over, steepest, startup_s)


def load_of_day(question: Question) -> DayLoad:
    """Load at every moment, its largest the peak: lines between the middles of the hours or windows."""
    arrivals = question.scenario.workload.arrivals
    if isinstance(arrivals, Profile):
        values, width, repeats = np.asarray(arrivals.profile), HOURS_PER_DAY * S_PER_HOUR / len(arrivals.profile), True
    elif isinstance(arrivals, TraceArrivals):
        values, width, repeats = np.asarray(arrivals.rps), arrivals.window_s, False
    else:
        raise InvalidScenario(
            [
                "workload.arrivals: give {profile: [24 hourly values]} or {trace: file.csv}; the load "
                "over the day is not known otherwise."
            ]
        )
    step = min(STEP_S, width)
    time = (np.arange(max(round(len(values) * width / step), 1)) + 0.5) * step
    middles = (np.arange(len(values)) + 0.5) * width
    rps = np.interp(time, middles, values, period=len(values) * width if repeats else None)
    return DayLoad(rps=rps / values.max() * question.demand.sustained_rps, step_s=step, round=repeats)


def instances_for(rps: Floats, max_rps: float) -> Counts:
    """ceil(load / requests/s per instance), at least 1."""
    return np.maximum(np.ceil(rps / max_rps - ROUNDING), 1.0).astype(np.int64)


def schedule(load: DayLoad, max_rps: float, startup_s: float) -> Schedule:
    """Instances over the day by the rule of threshold and cool-down.

    ordered(t) = ceil(load(t) / (threshold x max)), held for the cool-down; serving(t): ordered since start-up. Where
    that would be too few, because the load triples within a start-up time, the base is raised.
    """
    ahead = math.ceil(startup_s / load.step_s - ROUNDING)
    needed = instances_for(load.rps, max_rps)
    later = _moved(load.rps, ahead, load.round)
    counts = later > max_rps
    ratio = np.where(counts, load.rps / np.maximum(later, SMALLEST), 1.0)
    threshold = float(np.clip(ratio.min(), LEAST_THRESHOLD, 1.0))
    wanted = np.maximum(instances_for(load.rps / threshold, max_rps), 1)
    peak = int(needed.max())
    wanted = np.minimum(wanted, peak)  # nothing beyond the peak is ever needed
    ordered = _over(wanted, ahead, load.round, np.maximum)
    serving = _over(ordered, ahead, load.round, np.minimum)
    short = needed > serving
    base = max(int(ordered.min()), int(needed[short].max()) if short.any() else 0)
    return Schedule(
        needed=needed,
        serving=np.maximum(serving, base),
        ordered=np.maximum(ordered, base),
        threshold=threshold,
        base=base,
    )


def _moved(values: Floats, ahead: int, repeats: bool) -> Floats:
    """The largest value from each moment up to ``ahead`` moments later."""
    out = values.copy()
    for k in range(1, min(ahead, len(values)) + 1):
        moved = np.roll(values, -k)
        if not repeats:
            moved[-k:] = values[-1]
        np.maximum(out, moved, out=out)
    return out


def _over(values: Counts, back: int, repeats: bool, of: Callable[..., Counts]) -> Counts:
    """Largest or smallest value of each moment and the ``back`` moments before; a trace starts as it goes on."""
    out = values.copy()
    for k in range(1, min(back, len(values)) + 1):
        moved = np.roll(values, k)
        if not repeats:
            moved[:k] = values[0]
        out = of(out, moved)
    return out


def _composed(
    question: Question, answer: Plan, load: DayLoad, plan: Schedule, steepest: ScaleOut | None, startup_s: float
) -> DayPlan:
    assert answer.deployment is not None
    assert answer.per_instance is not None
    unit = answer.deployment
    spares = unit.spare_instances
    hours = load.step_s / S_PER_HOUR
    used, most = float((plan.ordered + spares).sum()) * hours, float(plan.ordered.max() + spares) * load.hours
    base, burst = plan.base + spares, int(plan.ordered.max()) - plan.base
    saved = (most - used) / most
    name = f"{unit.gpu} {unit.engine} {unit.weight_precision} TP{unit.tp} PP{unit.pp} EP{unit.ep} DP{unit.dp}"
    threshold_rps = plan.threshold * answer.per_instance.max_rps
    return DayPlan(
        answer=_sentence(question, base, burst, saved, threshold_rps, startup_s, steepest),
        deployment=name,
        peak_rps=question.demand.sustained_rps,
        mean_rps=float(load.rps.mean()),
        max_rps=answer.per_instance.max_rps,
        startup_s=startup_s,
        base_instances=base,
        spare_instances=spares,
        burst_instances=burst,
        threshold=plan.threshold,
        threshold_rps=threshold_rps,
        cool_down_s=startup_s,
        instance_hours=used,
        peak_instance_hours=most,
        saved_hours=most - used,
        saved_share=saved,
        scale_out=steepest,
        moments=_moments(load, plan, spares),
        notes=_notes(question, spares),
        source=answer.source,
        engine_version=ENGINE_VERSION,
    )


def _sentence(
    question: Question,
    base: int,
    burst: int,
    saved: float,
    threshold_rps: float,
    startup_s: float,
    steepest: ScaleOut | None,
) -> str:
    peak = requests_per_s(question.demand.sustained_rps)
    if not burst:
        always = f"{count(base)} instances run all day" if base > 1 else "One instance is enough all day"
        return f"{always}; nothing can be switched off."
    meanwhile = ""
    if steepest is not None:
        within = "every limit is met" if steepest.meets_limits else "a limit is broken"
        meanwhile = (
            f"; while most instances are added p{question.limits.percentile:g} TTFT is {ms(steepest.ttft_ms)} "
            f"and {within}"
        )
    return (
        f"{counted(base, 'instance')} all day as the base and up to {count(burst)} more at busy "
        f"times serve a peak of {peak} and save {percent(saved)} of the instance hours; add one when each has more "
        f"than {requests_per_s(threshold_rps)}, switch it off after {startup_s:,.0f} s without need{meanwhile}."
    )


STANDING_BY: Mapping[Standby, str] = {
    "warm": "Instances that are kept warm hold their GPUs all day: saved instance hours are hours without work, not "
    "money.",
    "sleep": "An instance asleep gives its GPU memory to others and keeps its weights in the host's: saved instance "
    "hours count only where something else uses them.",
    "sleep_without_weights": "An instance asleep gives its GPU memory to others: saved instance hours count only where "
    "something else uses them.",
}
"""What saved instance hours are worth where instances that are not needed are not switched off."""


def _notes(question: Question, spares: int) -> tuple[str, ...]:
    notes = [
        "The load follows straight lines between the middles of the hours or windows.",
        "An instance that starts is paid for from its order on; on premises, saved hours are free for other work.",
    ]
    standby = question.scenario.deployment.standby
    if question.scenario.deployment.weights_from != "unstated" and standby != "none":
        notes.append(STANDING_BY[standby])
    kept = f"{spares} spare instances run all day." if spares > 1 else "1 spare instance runs all day."
    return (*notes, *([kept] if spares else []), question.demand.how)


def _moments(load: DayLoad, plan: Schedule, spares: int) -> tuple[DayMoment, ...]:
    """The day thinned out evenly to at most 1,440 moments, one a minute."""
    chosen = np.arange(0, len(load.rps), -(-len(load.rps) // SHOWN_MOMENTS))
    return tuple(
        DayMoment(
            time_s=float((k + 0.5) * load.step_s),
            rps=float(load.rps[k]),
            needed=int(plan.needed[k]),
            serving=int(plan.serving[k]) + spares,
            ordered=int(plan.ordered[k]) + spares,
        )
        for k in chosen
    )


def as_text(day_plan: DayPlan) -> str:
    """The day for a terminal."""
    lines = [
        day_plan.answer,
        "",
        f"Deployment    {day_plan.deployment}",
        f"Base          {day_plan.base_instances} instances; burst {day_plan.burst_instances}",
        f"Scale out     above {requests_per_s(day_plan.threshold_rps)} per instance ({percent(day_plan.threshold)} of "
        "its capacity)",
        f"Cool-down     {day_plan.cool_down_s:,.0f} s",
        f"Hours         {day_plan.instance_hours:,.1f} of {day_plan.peak_instance_hours:,.1f} instance hours",
    ]
    if day_plan.scale_out is not None:
        out = day_plan.scale_out
        lines.append(
            f"Scale-out     {out.instances_before} to {out.instances_after} instances: TTFT {ms(out.ttft_ms)}, E2E "
            f"{ms(out.e2e_ms)}; ordered too late, TTFT {ms(out.late_ttft_ms)} ({out.requests:,} requests simulated)"
        )
    return "\n".join([*lines, f"Source        {day_plan.source}", *day_plan.notes])


def question_of_day(scenario: Scenario, assumed_hours: Sequence[float]) -> Question:
    """What is asked, with ``assumed_hours`` for a scenario that tells no day; its peak is told as it was entered.

    Raises InvalidScenario when disaggregated pools alone are wanted.
    """
    question = counted_on(understand(aggregated_only(scenario)))
    if not assumed_hours:
        return question
    entered = question.demand
    question = counted_on(understand(over_the_day(question.scenario, entered.sustained_rps, assumed_hours)))
    return replace(question, demand=replace(question.demand, how=entered.how))


def aggregated_only(scenario: Scenario) -> Scenario:
    """The scenario without disaggregated pools, whose two kinds of instances no single count describes.

    Raises InvalidScenario when only they are wanted.
    """
    if not scenario.deployment.allows("aggregated"):
        raise InvalidScenario(
            ["deployment.serving: over the day only aggregated instances are planned; allow them under Serving, too."]
        )
    deployment = scenario.deployment.model_copy(update={"serving": ["aggregated"]})
    return scenario.model_copy(update={"deployment": deployment})
