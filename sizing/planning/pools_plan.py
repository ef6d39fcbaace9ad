"""The answer when prefill and decode in pools of their own serve best."""

from __future__ import annotations

import numpy as np

from sizing.base.result import Candidate, Excluded, Latencies, Plan, PlanWarning
from sizing.base.version import ENGINE_VERSION
from sizing.calibration.benchmark import calibration_note
from sizing.catalog import data_version
from sizing.deployments.kv_transfer import link_name
from sizing.planning import assumptions, rules
from sizing.planning import sentences as answer
from sizing.planning.pools_compose import (
    candidate_of,
    cost_in,
    decode_instance,
    deployed_as,
    latencies_of,
    limited_by,
    load_curve_of,
    prefill_instance,
    rows_of,
)
from sizing.planning.pools_explain import explain_pools
from sizing.planning.pools_spread import spread_of_pools
from sizing.planning.spread import Spread
from sizing.question.understand import Question
from sizing.scenario.business import in_business_terms
from sizing.search.pools import SizedPools
from sizing.search.pools_search import grown, sized
from sizing.search.ranking import worth_a_step
from sizing.search.screen import Evaluated


def gpu_range(around: Spread, n: int) -> tuple[int, int | None]:
    """Whole GPUs at both ends of the interval; None when the limits could no longer be met."""
    high = around.gpus_high[n]
    return int(around.gpus_low[n]), int(high) if np.isfinite(high) else None


def candidates_of(question: Question, pools: SizedPools, rows: list[int]) -> list[Candidate]:
    """Ranked pairs as results, in the order of ``rows``."""
    if not rows:
        return []
    around = spread_of_pools(question, pools, np.array(rows))
    return [
        candidate_of(question, pools, k, *_at_least(gpu_range(around, n), int(pools.gpus[k])))
        for n, k in enumerate(rows)
    ]


def _at_least(found: tuple[int, int | None], gpus: int) -> tuple[int, int | None]:
    """An interval that holds the planned number: pools are rounded up apart, so an end may overtake the centre."""
    low, high = found
    return min(low, gpus), None if high is None else max(high, gpus)


def pools_plan(
    question: Question,
    pools: SizedPools,
    winner: int,
    evaluated: Evaluated,
    out: tuple[Excluded, ...],
    alternatives: tuple[Candidate, ...],
    *,
    latency: Latencies | None = None,
    instead: int | None = None,
) -> Plan:
    """The plan whose deployment is pair ``winner``. ``latency`` may be simulated; ``instead``: GPUs of the best
    aggregated deployment; ``evaluated`` says which fixes still leave something that serves."""
    around = spread_of_pools(question, pools, np.array([winner]))
    rows, deployed = rows_of(pools, winner), deployed_as(question, pools, winner)
    instances = prefill_instance(question, pools, winner), decode_instance(question, pools, winner)
    latency = latency or latencies_of(question, pools, winner, around)
    cost, traffic, demand = cost_in(question, pools, winner), question.traffic, question.demand
    business = in_business_terms(demand.peak_rps, traffic.input_tokens, traffic.output_tokens, demand)
    low, high = _at_least(gpu_range(around, 0), deployed.gpus)
    bound, source = limited_by(question, pools, winner), pools.pools.evaluated.sources[pools.pools.decode[winner]]
    said = answer.sentence(question, rows[1], deployed, latency, cost, bound, low, high)
    beyond = answer.beyond_context(question)
    return Plan(
        answer=f"{beyond} By memory and speed alone: {said}" if beyond else said,
        feasible=not beyond,
        peak_rps=demand.peak_rps,
        deployment=deployed,
        per_instance=instances[1],
        per_prefill_instance=instances[0],
        latency=latency,
        gpus_low=low,
        gpus_high=high,
        cost=cost,
        business=business,
        limited_by=bound,
        warnings=_warnings(question, pools, winner, evaluated, latency.itl_ms.at_percentile, around, instead),
        assumptions=(*question.assumptions, *calibration_note(question), *_assumed(question, pools, winner)),
        source=source,
        confidence=answer.confidence(around.decode[0], around.prefill[0]),
        alternatives=alternatives,
        trade_off=_trade_off(question, pools, winner),
        excluded=out,
        load_curve=load_curve_of(question, pools, winner),
        explained=explain_pools(
            question,
            rows,
            deployed,
            instances,
            latency,
            cost,
            business,
            source,
            float(pools.transfer_s[winner]),
            bool(pools.inside[winner]),
        ),
        cross_check=None,
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )


def _trade_off(question: Question, pools: SizedPools, winner: int) -> tuple[Candidate, ...]:
    """The winner with more instances of either kind: what none other beats on GPUs and E2E latency."""
    more = sized(question, grown(pools.pools.take(np.array([winner]))))
    return tuple(candidates_of(question, more, [int(k) for k in worth_a_step(more)]))


def _warnings(
    question: Question,
    pools: SizedPools,
    winner: int,
    evaluated: Evaluated,
    itl_ms: float | None,
    around: Spread,
    instead: int | None,
) -> tuple[PlanWarning, ...]:
    """All rules that make sense for pools, errors first; of rules that speak of both kinds of instances the first."""
    (prefill, row), option = rows_of(pools, winner), pools.options[winner]
    deployed, link = deployed_as(question, pools, winner), link_name(row.gpu, bool(pools.inside[winner]))
    found = [
        *rules.about_model(question),
        *rules.about_pools(deployed, link, instead),
        *rules.about_hardware(question, row, option),
        *rules.about_hardware(question, prefill, option),
        *rules.about_latency(question, itl_ms),
        *rules.about_evidence(row),
        *rules.about_evidence(prefill),
        *rules.about_benchmark(question, row),
        *rules.about_interval(bool(np.isinf(around.e2e_s[1, 0])), gpu_range(around, 0)[1]),
        *rules.about_accuracy(question, row),
        *rules.about_purchase(question, deployed, option),
        *rules.about_ranking(question, pools.options, option),
    ]
    found = list({w.code: w for w in reversed(found)}.values())[::-1]
    return rules.in_order(found, evaluated)


def _assumed(question: Question, pools: SizedPools, winner: int) -> tuple[str, ...]:
    """Engine settings and simplifications the answer rests on."""
    (prefill, row), inside = rows_of(pools, winner), bool(pools.inside[winner])
    named = question.scenario.deployment.batch_limits
    notes = [
        f"{row.engine.label}: {row.engine.budget(row.gpu):,} tokens per step, at most "
        f"{row.engine.sequences(row.gpu):,} sequences, {row.engine.memory_fraction:.0%} of GPU memory on prefill and "
        "decode instances alike.",
        *(
            [f"At most {max(named):,} sequences on a decode instance, as asked; prefill instances are not capped."]
            if named
            else []
        ),
        f"KV cache in {'FP8' if row.kv_precision == 'fp8' else '16 bit'}, sent over the {link_name(row.gpu, inside)} "
        "once a prompt is complete; TTFT includes the transfer, because the decode instance streams the answer.",
        "Percentiles come from the analytic load model: stationary load, each prefill and decode instance sees random "
        "arrivals of its own. Routing that evens out the load makes TTFT shorter: simulate it.",
        f"Disaggregated serving: {row.engine.disaggregated_source}.",
    ]
    if prefill.pp > 1:
        notes.append("Pipeline stages of a prefill instance work on different prompts at the same time.")
    return (*notes, *assumptions.uneven_ranks(prefill), *assumptions.usage(question))
