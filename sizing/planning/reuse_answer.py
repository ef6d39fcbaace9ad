"""What the prefix caches of a plan hold of sessions: in figures, in sentences, and what other caches would save."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sizing.base.arrays import ROUNDING, Floats
from sizing.base.choices import Routing
from sizing.base.latency_and_cost import Latency
from sizing.base.result import Plan
from sizing.base.reuse_result import Reuse, ReuseSaving, ReuseTier, SavingName
from sizing.base.units import MS_PER_S
from sizing.catalog.kv_tiers import kv_tiers
from sizing.deployments.candidates import table
from sizing.planning.answer import joined
from sizing.planning.caches import caches_of, second_tier
from sizing.planning.compose import as_planned, as_stated
from sizing.planning.reuse_text import answer_sentence, saving_text, sentences
from sizing.planning.settled import Settled
from sizing.question.reused import EVERYTHING_HELD, CacheState, Reused
from sizing.question.understand import Question, with_caches
from sizing.scenario.schema import KvOffload
from sizing.search.all_deployments import Place
from sizing.search.replicas import PlannedReplicas, arrivals_of, lengths_of
from sizing.search.screen import evaluate
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.run_length import WARM_UP_SHARE

SIMULATED = 6000
"""Requests simulated to tell first turns from later ones. Chosen: some 60 of them lie beyond p99."""

MOST_TOGETHER = 8
"""Instances that are simulated together at most, with their share of the load."""

USUAL_OFFLOAD = KvOffload(tier="host_memory", gib_per_gpu=128.0)
"""What is tried where no second tier is planned: half of the 2 TiB that a server of eight GPUs usually has."""

ROUNDS = 6
"""How often a smaller number of instances is looked at, each time with the caches that it has."""


NEVER_EVICTED_S = 1e8
"""Three years: what caches keep as long is not evicted."""

LEAST_GAIN = 0.02
"""Hit share that a change has to bring to be told: what the model of caches is exact to."""


def with_reuse(settled: Settled, planned: Plan, *, brief: bool, simulated: bool) -> Plan:
    """The plan with what its caches hold; as it is for a question without sessions, or where nothing serves.

    ``brief``: neither the turns apart nor what would save; ``simulated``: whether the turns may be simulated.
    """
    question = settled.seen.question
    first = settled.decided.shortlist(0)
    if question.reused is None or planned.deployment is None or not first:
        return planned
    place = settled.decided.every[first[0]]
    state = caches_of(as_planned(place))
    there = with_caches(question, state)
    assert there.reused is not None
    turns = _by_turn(place) if simulated and not brief else (None, None)
    savings = () if brief else tuple(_savings(question, place, state))
    reuse = _reuse(question, there.reused, state, turns, savings, planned.deployment.gpus)
    every = (*planned.sentences, answer_sentence(reuse))
    stated = {"reuse": reuse, "sentences": every, "answer": joined(every)}
    return planned.model_copy(update=stated).marked(replace(planned.made_for, caches=question.reused.at))


def _reuse(
    question: Question,
    there: Reused,
    state: CacheState,
    turns: tuple[Latency | None, Latency | None],
    savings: tuple[ReuseSaving, ...],
    gpus: int,
) -> Reuse:
    """The figures, with the hit share that the plan counts on."""
    sessions, counted = question.scenario.workload.sessions, question.reused
    assert counted is not None
    everything = with_caches(routed(question, "prefix_aware"), None).reused
    assert everything is not None
    traffic = None if sessions is None else sessions.traffic(state.service_s, question.demand.growth_factor)
    reuse = Reuse(
        hit_share=counted.rows.hit_share,
        hit_share_unlimited=everything.rows.hit_share,
        mean_prompt_tokens=question.traffic.input_tokens,
        working_set_tokens=there.working_set,
        kv_capacity_tokens=state.capacity_tokens,
        kv_idle_tokens=max(state.capacity_tokens - there.running, 0.0),
        kept_s=None if there.kept_s is None or there.kept_s >= NEVER_EVICTED_S else there.kept_s,
        sessions_at_once=None if traffic is None else traffic.at_once,
        gap_s=None if sessions is None else sessions.shape.gap_s,
        ttft_first_turn_ms=turns[0],
        ttft_later_turns_ms=turns[1],
        savings=savings,
        second_tier=_second(question, counted, state, gpus),
        says=(),
    )
    routing = question.scenario.deployment.routing
    return reuse.model_copy(update={"says": tuple(sentences(reuse, routing, state.replicas))})


def _second(question: Question, counted: Reused, state: CacheState, gpus: int) -> ReuseTier | None:
    """The second tier as it is stated; None without one."""
    offload, second = question.scenario.deployment.kv_offload, state.second
    if offload is None or second is None:
        return None
    rows = counted.rows
    chance = float(rows.share[rows.loaded > 0.0].sum())
    history = float(rows.share @ rows.loaded) / chance if chance else 0.0
    usd = kv_tiers()[offload.tier].usd_per_gib if offload.usd_per_gib is None else offload.usd_per_gib
    return ReuseTier(
        tier=offload.tier,
        capacity_tokens=second.capacity,
        loaded_share=rows.loaded_share,
        loaded_tokens=history,
        load_ms=(second.start_s + history * second.token_s) * MS_PER_S,
        computed_ms=history * second.computed_token_s * MS_PER_S,
        pays_from_tokens=second.pays_from,
        purchase_usd=None if usd is None else usd * offload.gib_per_gpu * gpus,
    )


def _by_turn(place: Place) -> tuple[Latency | None, Latency | None]:
    """TTFT of first and of later turns, simulated with steps as long as expected."""
    planned = as_stated([place])[0]
    question, deployed = planned.question, planned.to_simulate()
    records = _records(question, deployed)
    if records is None:
        return None, None
    prompt, cached, ttft = records
    sessions = question.scenario.workload.sessions
    first = cached < 1.0 if sessions is None else prompt < sessions.shape.first_prompt + 0.5
    percentile = question.limits.percentile
    return _latency(ttft[first], percentile), _latency(ttft[~first], percentile)


def _records(question: Question, deployed: PlannedReplicas) -> tuple[Floats, Floats, Floats] | None:
    """Prompt tokens, cached ones and TTFT of simulated requests; None where the instances do not carry the load."""
    routing, arrivals = question.scenario.deployment.routing, arrivals_of(question)
    deployment = deployed.deployment(routing)
    if deployed.does_both and deployed.working > MOST_TOGETHER:
        deployment = Fleet(replicas=(deployed.replica,) * MOST_TOGETHER, routing=routing)
        arrivals = replace(arrivals, rate_rps=arrivals.rate_rps * MOST_TOGETHER / deployed.working, profile=())
    duration, warm_up = SIMULATED / arrivals.rate_rps, int(WARM_UP_SHARE * SIMULATED)
    span = MeasuredSpan(expected=SIMULATED, horizon_s=duration, warm_up=warm_up, keep_records=True)
    outcome = drive(deployment, arrivals.stream(lengths_of(question), duration, 0), span)
    kept = outcome.records[outcome.records["id"] >= warm_up]
    if outcome.overwhelmed or not len(kept):
        return None
    return kept["prompt"], kept["cached"], kept["first"] - kept["arrived"]


def _latency(ttft_s: Floats, percentile: float) -> Latency | None:
    if not len(ttft_s):
        return None
    *percentiles, value = (np.percentile(ttft_s, [*Latency.percents(), percentile]) * MS_PER_S).tolist()
    return Latency(percentiles=tuple(percentiles), low=None, high=None, at_percentile=value)


def _savings(question: Question, place: Place, state: CacheState) -> Iterator[ReuseSaving]:
    """What routing, a second tier, twice the memory and a cache without end would give, where that is more than now."""
    routing: Routing = question.scenario.deployment.routing
    assert question.reused is not None
    one = state.times(1.0 / state.replicas)
    row = place.kind.configurations(place.k)[0]
    ways: list[tuple[SavingName, Routing, CacheState]] = [
        ("prefix_aware_routing", "prefix_aware", one),
        ("host_memory_offload", routing, replace(one, second=second_tier(question, row, 1, USUAL_OFFLOAD))),
        ("twice_the_memory", routing, replace(one, capacity_tokens=2.0 * one.capacity_tokens)),
        ("everything_held", "prefix_aware", EVERYTHING_HELD),
    ]
    most = question.reused.rows.hit_share
    for name, way, of_one in ways:
        if name == "prefix_aware_routing" and (routing == "prefix_aware" or state.replicas == 1):
            continue
        if name == "host_memory_offload" and state.second is not None:
            continue
        changed, instances = _then(question, place, state, way, of_one)
        assert changed.reused is not None
        hit = changed.reused.rows.hit_share
        if hit > most + LEAST_GAIN:
            most = hit
            new = changed.traffic.new_tokens
            says = saving_text(name, hit, instances, state.replicas)
            yield ReuseSaving(name=name, hit_share=hit, new_tokens=new, instances=instances, says=says)


def _then(
    question: Question, place: Place, state: CacheState, routing: Routing, of_one: CacheState
) -> tuple[Question, int | None]:
    """The question with other caches, and how many instances would do, each with the caches ``of_one``."""
    other = routed(question, routing)
    if place.kind.splits:
        return with_caches(other, of_one.times(state.replicas)), None
    row = place.kind.configurations(place.k)[0]
    needed_now = _needed(question, evaluate(question, table([row])).capacity.rps)
    working, changed = state.replicas, other
    for _ in range(ROUNDS):
        changed = with_caches(other, replace(of_one.times(working), service_s=state.service_s))
        rps = evaluate(changed, table([row])).capacity.rps
        if not len(rps) or rps[0] <= 0.0 or not math.isfinite(needed_now):
            return changed, None
        exactly = state.replicas * _needed(changed, rps) / needed_now
        fewer = min(max(math.ceil(exactly - ROUNDING), 1), working)
        if fewer == working:
            break
        working = fewer
    return changed, working


def routed(question: Question, routing: Routing) -> Question:
    """The question with other routing."""
    deployment = question.scenario.deployment.model_copy(update={"routing": routing})
    return replace(question, scenario=question.scenario.model_copy(update={"deployment": deployment}))


def _needed(question: Question, rps: Floats) -> float:
    """Instances, not whole, that carry the load."""
    return question.demand.sustained_rps / float(rps[0]) if len(rps) and rps[0] > 0.0 else math.inf
