"""A plan beside a deployment: read, check that they belong together, predict for the observed traffic, judge."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from collectors.backends.backend import Backend
from collectors.questions.deployments import ObservedDeployment
from collectors.questions.judged import read_judged
from collectors.reading.observation import Observation, State
from collectors.reading.remarks import RemarkKind
from collectors.source import Source
from reality.answer import answer
from reality.identity import Identity, apart, check, facts_of, ranks_as_replicas
from reality.performance import Blocked, performance_rows
from reality.prediction import Prediction, predict, traffic_spread
from reality.result import RealityComparison
from reality.step_times import basis_of, factors_in_words
from reality.traffic import length_variation, observed_traffic, traffic_rows
from sharing.bonds.records import LearnedCalibration
from sizing.base.version import ENGINE_VERSION
from sizing.catalog import data_version
from sizing.mixed.text import BESIDE_ONE_FLEET
from sizing.planning.answered import Answer, as_answer
from sizing.question.configuration import Configuration
from sizing.scenario.schema import Scenario

SATURATED = (
    "Too close to saturation to judge latency: while a queue grows, it depends on how long one watches. Choose a "
    "window in which the queue empties, or add replicas."
)
WITHOUT_DATA = {
    State.UNREACHABLE: "The source cannot be read: check its address and access, then compare again.",
    State.NO_DATA: "There are no metrics of this deployment: check selector and engine of the source.",
    State.STALE: "The deployment reports no more: start it or its scrape again, or choose a window before (--at).",
}


@dataclass(frozen=True, kw_only=True)
class Planned:
    """An answer and the configuration of its instances (None where none is deployed that can be stepped).

    ``learned``: step times that were accepted for its scenario; ``unused`` says why those that were accepted are not
    of this plan.
    """

    answer: Answer
    row: Configuration | None
    why_not: str = ""
    learned: LearnedCalibration | None = None
    unused: str = ""

    @property
    def about_step_times(self) -> tuple[str, ...]:
        """What was accepted of step times, as sentences."""
        if self.learned is not None:
            return (f"Step times accepted for this scenario: {factors_in_words(self.learned)}.",)
        return (self.unused,) if self.unused else ()


def compare_source(
    scenario_or_answer: Scenario | Answer,
    source: Source,
    *,
    at_s: float | None = None,
    window_s: float | None = None,
    served_as: str = "",
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
    learned: LearnedCalibration | None = None,
) -> RealityComparison:
    """Read the source and compare; a scenario is answered first, as by ``python -m sizing plan``. ``learned``: step
    times that were accepted for it. Raises InvalidScenario."""
    # Before anything is read: a scenario that cannot be understood ends here.
    planned = planned_of(scenario_or_answer, learned)
    observed, deployed = read_judged(source, at_s=at_s, window_s=window_s, backend=backend, clock=clock)
    return compare(planned, observed, deployed, served_as=served_as)


def planned_of(scenario_or_answer: Scenario | Answer, learned: LearnedCalibration | None = None) -> Planned:
    """The plan of a scenario, ready to be compared, with the step times accepted for it. Raises InvalidScenario."""
    answer = as_answer(scenario_or_answer)
    if answer.plan.deployment is None:
        return Planned(answer=answer, row=None, why_not=f"The plan deploys nothing. {answer.plan.answer}")
    if answer.scenario.measured is not None:
        return Planned(
            answer=answer,
            row=None,
            why_not="The scenario rests on a measured record, which says nothing about other loads: leave measured out "
            "to have the engine predict.",
        )
    row = answer.chosen[-1]
    basis = basis_of(answer.question, row)
    if learned is None or learned.basis == basis:
        return Planned(answer=answer, row=row, learned=learned)
    unused = f"The accepted step times are of {learned.basis}; this plan is of {basis}: they are not used, learn again."
    return Planned(answer=answer, row=row, unused=unused)


def compare(
    planned: Planned, observed: Observation, deployed: ObservedDeployment, *, served_as: str = ""
) -> RealityComparison:
    """The comparison of a plan with one observation."""
    question, observed = planned.answer.question, ranks_as_replicas(observed, deployed, planned.row)
    silent = WITHOUT_DATA.get(observed.state, "")
    identity = Identity() if silent else _identity(planned, observed, deployed, served_as)
    foreign = " ".join(identity.foreign)
    prediction, problem = (None, "") if silent or foreign else _predicted(planned, observed, deployed)
    blocked = Blocked(all=_short(foreign), load=_load_blocked(observed, problem))
    traffic = traffic_rows(question, observed, deployed, blocked.all)
    performance = performance_rows(observed, prediction, planned.row, planned.answer.plan.deployment, blocked)
    reasons = (
        *([silent] if silent else []),
        *identity.foreign,
        *_load_reasons(observed),
        *([problem] if problem else []),
    )
    comparison = RealityComparison(
        answer="",
        state=observed.state.value,
        judged=any(r.verdict != "cannot_judge" for r in performance),
        reasons=tuple(dict.fromkeys((*observed.reasons, *reasons))),
        unmatched_name=identity.unmatched_name,
        scenario=question.scenario.name,
        source=observed.name,
        at=_utc(observed.at_s),
        window_s=observed.window_s,
        planned_deployment=_named(planned),
        deployed=facts_of(observed, deployed),
        traffic=traffic,
        performance=performance,
        requests=prediction.requests if prediction else 0,
        stable_rps=prediction.stable_rps * _replicas(planned, observed) if prediction else None,
        step_times=prediction.source if prediction else "",
        assumptions=(*identity.unknown, *_assumptions(planned, observed, deployed, prediction)),
        notes=_notes(observed, deployed),
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )
    return comparison.model_copy(update={"answer": answer(comparison, foreign=identity.foreign, silent=silent)})


def _identity(planned: Planned, observed: Observation, deployed: ObservedDeployment, served_as: str) -> Identity:
    """Whether it is the planned deployment, prefill and decode apart or not included."""
    identity = check(planned.answer.question.model, planned.row, observed, deployed, served_as=served_as)
    deployment = planned.answer.plan.deployment
    other = apart(deployment is None or bool(deployment.pools), observed)
    return replace(identity, foreign=(*identity.foreign, other)) if other else identity


def _short(text: str) -> str:
    return "not the planned deployment: see the reasons" if text else ""


def _predicted(planned: Planned, observed: Observation, deployed: ObservedDeployment) -> tuple[Prediction | None, str]:
    """The prediction for the observed traffic, or why there is none."""
    if planned.row is None:
        return None, planned.why_not
    traffic = observed_traffic(planned.answer.question, observed, deployed)
    if traffic is None:
        if observed.number("arrivals_rps") is None:
            return None, "The deployment does not report how many requests arrive, so that nothing can be predicted."
        return None, "No request arrived in the window: choose another window (--at, --window)."
    spread = traffic_spread(traffic.rps * observed.window_s, length_variation(observed))
    kv = observed.number("kv_capacity_tokens")
    try:
        return predict(
            planned.answer.question,
            planned.row,
            traffic,
            replicas=_replicas(planned, observed),
            kv_tokens=kv,
            spread=spread,
            learned=planned.learned,
        ), ""
    except ValueError as error:
        return None, f"There is no prediction: {error}."


def _replicas(planned: Planned, observed: Observation) -> int:
    """Replicas that serve: those seen, else those planned."""
    seen = observed.number("replicas")
    if seen:
        return int(seen)
    return planned.answer.plan.deployment.instances if planned.answer.plan.deployment else 1


def _load_blocked(observed: Observation, problem: str) -> str:
    if observed.state is State.SATURATED:
        return "too close to saturation to judge latency"
    if _partial(observed):
        return "the answer of the server is partial: sums may lack replicas"
    if observed.number("replicas_lost"):
        return "the number of replicas changed within the window"
    return "there is no prediction: see the reasons" if problem else ""


def _partial(observed: Observation) -> bool:
    return observed.has(RemarkKind.PARTIAL_ANSWER)


def _load_reasons(observed: Observation) -> tuple[str, ...]:
    if observed.state is State.SATURATED:
        return (SATURATED,)
    if _partial(observed):
        return (
            "Repair what the server could not reach (a Thanos store, a shard), or choose a window that it has whole.",
        )
    lost = observed.number("replicas_lost")
    if lost:
        return (
            f"{lost:.0f} replica{'s' if lost > 1 else ''} stopped within the window, so that the load of the others "
            "changed: choose a window without a change.",
        )
    return ()


def _assumptions(
    planned: Planned, observed: Observation, deployed: ObservedDeployment, prediction: Prediction | None
) -> tuple[str, ...]:
    if prediction is None:
        return ()
    traffic = observed_traffic(planned.answer.question, observed, deployed)
    assumed = traffic.assumed if traffic else ()
    mixed = planned.answer.plan.mixed
    beside = (BESIDE_ONE_FLEET,) if mixed is not None and mixed.advised else ()
    seen = () if observed.number("replicas") else ("Replicas are not seen: as many as planned.",)
    return (
        *assumed,
        *beside,
        *seen,
        *prediction.assumed,
        *planned.about_step_times,
        "Requests arrive independently within each step of the load, unless the scenario says otherwise.",
    )


def _notes(observed: Observation, deployed: ObservedDeployment) -> tuple[str, ...]:
    """What to know about the measured numbers."""
    notes = [*observed.notes, *observed.warnings]
    if deployed.problem:
        notes.append(f"What is deployed could not be read: {deployed.problem}")
    if observed.number("arrivals_rps") is not None:
        notes.append(
            "Latencies are those of the server: a client also sees network, gateway and its own queue, and its "
            "TTFT may be twice as long at low load."
        )
    if (observed.number("prefix_hit_ratio") or 0.0) > 0.0:
        notes.append(
            "Cached blocks that requests share are kept once: the lower end of the predicted KV use takes all "
            "of them as shared."
        )
    return tuple(dict.fromkeys(notes))


def _named(planned: Planned) -> str:
    deployment = planned.answer.plan.deployment
    if deployment is None:
        return ""
    if planned.row is None:
        gpu = planned.answer.question.gpu_name(deployment.gpu)
        return f"{deployment.instances} x {gpu} TP{deployment.tp}"
    return f"{deployment.instances} x {planned.row.label}"


def _utc(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
