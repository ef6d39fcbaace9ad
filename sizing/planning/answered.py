"""The answer from what was evaluated, sized and ranked: deployment, figures, warnings, alternatives."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sizing.base.result import Candidate, Excluded, Latencies, Plan, PlanWarning
from sizing.base.version import ENGINE_VERSION
from sizing.calibration.benchmark import calibrated_configuration, calibration_note
from sizing.catalog import data_version
from sizing.planning import assumptions, rules
from sizing.planning import sentences as answer
from sizing.planning.compose import candidate_of, cost_in, deployed_as, latencies_of, load_curve_of, per_instance_of
from sizing.planning.explain import explain
from sizing.planning.pools_plan import gpu_range, pools_plan
from sizing.planning.spread import Spread, spread
from sizing.question.understand import Question
from sizing.scenario.business import in_business_terms
from sizing.search.pools import SizedPools
from sizing.search.ranking import frontier
from sizing.search.screen import Evaluated, Sized
from sizing.search.serving import Choice, alternatives_of


class Figures(Protocol):
    """Where interval, latency and ranked deployments of aggregated serving come from."""

    def spread(self, question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp]) -> Spread:
        """80 % interval of ``rows`` of ``sized``."""

    def latencies(self, question: Question, evaluated: Evaluated, sized: Sized, k: int, around: Spread) -> Latencies:
        """Percentiles of row ``k`` at the planned load."""

    def candidate(
        self, question: Question, evaluated: Evaluated, sized: Sized, k: int, gpus: tuple[int, int | None]
    ) -> Candidate:
        """Row ``k`` as an alternative, ``gpus`` its 80 % range."""


class Analytic:
    """Figures of the analytic load model."""

    def spread(self, question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp]) -> Spread:
        """The same question with all step times at the ends of their interval."""
        return spread(question, evaluated, sized, rows)

    def latencies(self, question: Question, evaluated: Evaluated, sized: Sized, k: int, around: Spread) -> Latencies:
        """Percentiles of the steady state."""
        return latencies_of(question, evaluated, sized, k, around)

    def candidate(
        self, question: Question, evaluated: Evaluated, sized: Sized, k: int, gpus: tuple[int, int | None]
    ) -> Candidate:
        """Latency of the steady state at the planned load."""
        return candidate_of(question, evaluated, sized, k, *gpus)


ANALYTIC = Analytic()


def answered(
    question: Question,
    evaluated: Evaluated,
    sized: Sized,
    pools: SizedPools | None,
    chosen: list[Choice],
    out: tuple[Excluded, ...],
    *,
    figures: Figures = ANALYTIC,
    latency: Latencies | None = None,
) -> Plan:
    """The plan whose deployment is ``chosen[0]``, of either kind, and whose alternatives are the others.

    ``figures`` may put simulated ones in the place of the analytic ones of aggregated deployments, ``latency`` in the
    place of those of the chosen pools.
    """
    rows = [c.k for c in chosen if not c.pools]
    if pools is None or not chosen[0].pools:
        plan = composed(question, evaluated, sized, rows, out, figures)
        return plan.model_copy(update={"alternatives": alternatives_of(question, pools, chosen, plan.alternatives)})
    around = figures.spread(question, evaluated, sized, np.array(rows)) if rows else None
    together = (
        [figures.candidate(question, evaluated, sized, k, gpu_range(around, n)) for n, k in enumerate(rows)]
        if around
        else []
    )
    return pools_plan(
        question,
        pools,
        chosen[0].k,
        evaluated,
        out,
        alternatives_of(question, pools, chosen, together),
        latency=latency,
        instead=fewest_beside(pools, chosen[0].k, evaluated, sized),
    )


def fewest_beside(pools: SizedPools, winner: int, evaluated: Evaluated, sized: Sized) -> int | None:
    """GPUs that aggregated serving needs at least on the winner's GPU type; None where it cannot serve."""
    gpu = pools.pools.evaluated.candidates.rows[pools.pools.decode[winner]].gpu
    same = evaluated.candidates.column(lambda r: r.gpu.id == gpu.id)[sized.index] > 0
    return int(sized.gpus[same].min()) if same.any() else None


def infeasible(question: Question, out: tuple[Excluded, ...]) -> Plan:
    """Nothing meets the limits: the reasons and the nearest way out."""
    demand, traffic = question.demand, question.traffic
    return Plan(
        answer=answer.infeasible(question, out),
        feasible=False,
        peak_rps=demand.peak_rps,
        deployment=None,
        per_instance=None,
        latency=None,
        gpus_low=None,
        gpus_high=None,
        cost=None,
        business=in_business_terms(demand.peak_rps, traffic.input_tokens, traffic.output_tokens, demand),
        limited_by="",
        warnings=tuple(rules.about_model(question)),
        assumptions=(*question.assumptions, *calibration_note(question)),
        source="",
        confidence="",
        alternatives=(),
        trade_off=(),
        excluded=out,
        load_curve=(),
        explained=(),
        cross_check=None,
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )


def composed(
    question: Question,
    evaluated: Evaluated,
    sized: Sized,
    chosen: list[int],
    out: tuple[Excluded, ...],
    figures: Figures,
) -> Plan:
    """The plan whose deployment is row ``chosen[0]`` of ``sized`` and whose alternatives are the other rows."""
    rows = np.array(chosen)
    around = figures.spread(question, evaluated, sized, rows)
    winner, index = chosen[0], int(sized.index[chosen[0]])
    row = evaluated.candidates.rows[index]
    deployed = deployed_as(question, evaluated, sized, winner)
    one = per_instance_of(question, evaluated, sized, winner)
    latency = figures.latencies(question, evaluated, sized, winner, around)
    cost = cost_in(sized, winner, question.demand.peak_rps * question.traffic.output_tokens)
    business = in_business_terms(
        question.demand.peak_rps, question.traffic.input_tokens, question.traffic.output_tokens, question.demand
    )
    low, high = gpu_range(around, 0)
    bound = answer.limited_by(question, evaluated, index)
    better = frontier(question, evaluated, sized, winner)
    around_better = figures.spread(question, evaluated, better, np.arange(len(better.index)))
    said = answer.sentence(question, row, deployed, latency, cost, bound, low, high)
    beyond = answer.beyond_context(question)
    return Plan(
        answer=f"{beyond} By memory and speed alone: {said}" if beyond else said,
        feasible=not beyond,
        peak_rps=question.demand.peak_rps,
        deployment=deployed,
        per_instance=one,
        latency=latency,
        gpus_low=low,
        gpus_high=high,
        cost=cost,
        business=business,
        limited_by=bound,
        warnings=_warnings(question, evaluated, sized, winner, latency.itl_ms.at_percentile, around),
        assumptions=(*question.assumptions, *calibration_note(question), *_assumed(question, evaluated, index)),
        source=evaluated.sources[index],
        confidence=answer.confidence(around.decode[0], around.prefill[0]),
        alternatives=tuple(
            figures.candidate(question, evaluated, sized, k, gpu_range(around, n)) for n, k in enumerate(chosen) if n
        ),
        trade_off=tuple(
            candidate_of(question, evaluated, better, k, *gpu_range(around_better, k)) for k in range(len(better.index))
        ),
        excluded=out,
        load_curve=load_curve_of(question, evaluated, index),
        explained=explain(question, row, deployed, one, latency, cost, business, evaluated.sources[index]),
        cross_check=None,
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )


def _warnings(
    question: Question, evaluated: Evaluated, sized: Sized, winner: int, itl_ms: float | None, around: Spread
) -> tuple[PlanWarning, ...]:
    """All rules, errors first."""
    row = evaluated.candidates.rows[sized.index[winner]]
    deployed = deployed_as(question, evaluated, sized, winner)
    calibrated = calibrated_configuration(question)
    measured = calibrated is not None and calibrated.covers(row)
    found = [
        *rules.about_model(question),
        *rules.about_hardware(question, row, sized.options[winner]),
        *rules.about_latency(question, itl_ms),
        *(() if measured else rules.about_evidence(row)),
        *rules.about_benchmark(question, row),
        *rules.about_limits(question, evaluated, sized, winner),
        *rules.about_interval(bool(np.isinf(around.e2e_s[1, 0])), gpu_range(around, 0)[1]),
        *rules.about_accuracy(question, row),
        *rules.about_purchase(question, deployed, sized.options[winner]),
        *rules.about_ranking(question, sized.options, sized.options[winner]),
    ]
    return rules.in_order(found, evaluated)


def _assumed(question: Question, evaluated: Evaluated, index: int) -> tuple[str, ...]:
    """Engine settings the answer rests on."""
    row = evaluated.candidates.rows[index]
    capped = f" ({row.engine.batch_option})" if row.batch_limit and row.engine.batch_option else ""
    notes = [
        f"{row.engine.label}: {row.engine.budget(row.gpu):,} tokens per step, at most "
        f"{row.batch_limit or row.engine.sequences(row.gpu):,} sequences{capped}, "
        f"{row.engine.memory_fraction:.0%} of GPU memory, chunked prefill.",
        f"KV cache in {'FP8' if row.kv_precision == 'fp8' else '16 bit'}.",
        *assumptions.uneven_ranks(row),
        *assumptions.analytic(question),
    ]
    if row.engine.surrogate != row.engine.id:
        notes.append(
            f"{row.engine.label} has no measurements of its own: step times of {row.engine.surrogate} are used."
        )
    return (*notes, *assumptions.usage(question))
