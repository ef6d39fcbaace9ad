"""All candidates at once: memory fit, step times, steady state and capacity of one instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from sizing.base.arrays import PER_ROW, ROUNDING, Columns, Counts, Floats, least_by_group, moved
from sizing.base.choices import Location, StepTimesFrom
from sizing.base.provenance import StepSource
from sizing.calibration.benchmark import calibrated_configuration
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.calibration.step_source import step_times
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates, enumerate_for, table
from sizing.deployments.concurrency import RunningFit, running_fit
from sizing.prices.cost import Offers
from sizing.prices.hardware import HardwareOption, offers_of, options, rented_there
from sizing.prices.packing import MAX_GPUS_PER_SYSTEM, Reserve
from sizing.question.configuration import Allowed
from sizing.question.traffic import Traffic, Variability
from sizing.question.understand import EXPECTED, Question
from sizing.queueing.capacity import Capacity, Percentiles, at_percentile, capacity
from sizing.queueing.steady_state import SteadyState, concurrency_grid, steady_state
from sizing.scenario.costs import Rent
from sizing.scenario.prices import Prices
from sizing.search.caution import Slowness, slowness, with_doubt_of_extras
from sizing.steps.extras import with_extras
from sizing.steps.speculation import speculated
from sizing.steps.times import StepTimes

BEYOND_ANY = 1e12
"""Instances: more than any load takes."""


@dataclass(frozen=True, kw_only=True)
class Evaluated(Columns):
    """Candidates that fit in memory with everything known about them; arrays (C,) or (C, K).

    ``times`` and all that follows from them are ``slowness`` times as long as expected (:func:`expected`).
    """

    candidates: Candidates
    memory: RunningFit
    times: StepTimes
    slowness: Slowness
    sources: tuple[StepSource, ...] = field(metadata=PER_ROW)
    state: SteadyState
    latencies: Percentiles
    capacity: Capacity
    requests: Counts
    """Requests of one instance that were simulated to find the capacity; 0 where it is that of the load model."""
    screened_rps: Floats | None = None
    """Requests/s by the analytic load model, where a simulation may have moved those of ``capacity`` since."""
    expected_rps: Floats | None = None
    """Requests/s by the analytic load model with steps as long as expected, where deployments are ranked by that."""

    @property
    def moved_by_simulation(self) -> Floats:
        """The capacity over the same by the analytic load model, (C,)."""
        screened = self.capacity.rps if self.screened_rps is None else self.screened_rps
        return moved(self.capacity.rps, screened)


KEPT_STATES = 6
"""Tables of all candidates under load that are kept, 15 MB each at most. Chosen: the question and the one before it,
each with what it leaves out (:mod:`sizing.planning.left_out`) and with the excluded GPUs once they are given what they
lack, which are few (:mod:`sizing.planning.exclusion`)."""


Had = tuple[tuple[Gpu, int], ...]
"""Accelerators, each with the most GPUs that one instance of a model may have."""


def all_configurations(question: Question) -> Candidates:
    """Every configuration of the considered GPUs, whether it fits or not."""
    return _configurations(question.model, _to_be_had(question), question.allowed)


def _to_be_had(question: Question) -> Had:
    """The considered accelerators that are :func:`offered`, each with :func:`most_gpus` of an instance."""
    each = zip(question.gpus, all_offers(question).by_gpu, strict=True)
    return tuple((g, _most_gpus(offers)) for g, offers in each if offered(question, g))


def most_gpus(question: Question, gpu: Gpu) -> int:
    """The most GPUs that one instance may have: those of the largest system or cloud instance that it comes in, unless
    a fabric joins several of one (:mod:`sizing.prices.hardware`)."""
    return _most_gpus(offers_of(question, gpu))


def _most_gpus(offers: Sequence[HardwareOption]) -> int:
    return MAX_GPUS_PER_SYSTEM if any(o.fabric for o in offers) else max(o.gpus for o in offers)


def offered(question: Question, gpu: Gpu) -> bool:
    """Whether the accelerator can be had where the scenario wants it: some are only rented, some only for players, some
    not by the provider that is asked for.

    Those for players, whose licence forbids data centres, are considered where the scenario names them.
    """
    deployment = question.scenario.deployment
    if gpu.consumer and not deployment.gpus:
        return False
    if deployment.location == "cloud":
        return rented_there(gpu, question.prices, question.scenario.costs.rent)
    return not gpu.rented_only


@lru_cache(maxsize=32)
def _configurations(model: Model, chosen: Had, allowed: Allowed) -> Candidates:
    return table([c for g, most in chosen if g.sizable for c in enumerate_for(model, g, allowed) if c.gpus <= most])


def evaluate_all(question: Question) -> Evaluated:
    """As :func:`evaluate` of every configuration. Their states under load are kept for the next questions that differ
    from this one in limits, prices or rate alone."""
    if question.benchmark is not None:
        return evaluate(question, all_configurations(question))
    choice = question.scenario.deployment.step_times
    kept = _kept_states(_Conditions.by(question), _to_be_had(question), question.allowed, choice)
    return _within_limits(question, kept)


def evaluate(question: Question, everything: Candidates, choice: StepTimesFrom | None = None) -> Evaluated:
    """Everything about the candidates that fit in memory, at the lengths and limits of the question."""
    choice = choice or question.scenario.deployment.step_times
    states = _states(_Conditions.by(question), everything, choice, calibrated_configuration(question))
    return _within_limits(question, states)


@dataclass(frozen=True, kw_only=True)
class _Conditions:
    """What of a question decides how candidates do under load: no limit, no price, no rate.

    ``in_flight``: the largest batch limit that the scenario names; ``confidence``: how surely it is to suffice.
    """

    confidence: float
    model: Model
    traffic: Traffic
    variability: Variability
    in_flight: int | None

    @classmethod
    def by(cls, question: Question) -> _Conditions:
        """The conditions that a question sets."""
        return cls(
            confidence=question.confidence,
            model=question.model,
            traffic=question.traffic,
            variability=question.variability,
            in_flight=max(question.scenario.deployment.batch_limits, default=None),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _States:
    """The candidates that fit in memory, under load."""

    candidates: Candidates
    memory: RunningFit
    times: StepTimes
    slowness: Slowness
    sources: tuple[StepSource, ...]
    state: SteadyState


@lru_cache(maxsize=KEPT_STATES)
def _kept_states(conditions: _Conditions, chosen: Had, allowed: Allowed, choice: StepTimesFrom) -> _States:
    return _states(conditions, _configurations(conditions.model, chosen, allowed), choice, None)


def _states(
    conditions: _Conditions, everything: Candidates, choice: StepTimesFrom, calibrated: CalibratedConfiguration | None
) -> _States:
    fit = running_fit(conditions.model, everything, conditions.traffic)
    kept = np.flatnonzero(fit.fits)
    candidates = everything if len(kept) == len(everything) else everything.take(kept)
    memory = fit.take(kept)
    if conditions.in_flight is not None:
        memory = replace(memory, max_concurrency=np.minimum(memory.max_concurrency, conditions.in_flight))
    grid = concurrency_grid(memory.max_concurrency)
    if not len(candidates):
        nothing = StepTimes(decode_s=grid, prefill_s=grid[:, 0], prefill_work_s=grid[:, 0], source="")
        return _under_load(conditions, candidates, memory, nothing, Slowness.none(0), (), grid)
    times, sources = step_times(choice, conditions.model, candidates, conditions.traffic, grid, calibrated)
    times = speculated(times, conditions.model, candidates, grid, conditions.traffic.decode_context)
    times = with_extras(times, conditions.model, candidates, conditions.traffic)
    slow = slowness(conditions.model, candidates, conditions.traffic, times, calibrated, conditions.confidence)
    slow = with_doubt_of_extras(slow, conditions.model, candidates, conditions.traffic, conditions.confidence)
    if conditions.confidence != EXPECTED:
        times = slow.put_on(times)
    return _under_load(conditions, candidates, memory, times, slow, sources, grid)


def under_load(
    question: Question,
    candidates: Candidates,
    memory: RunningFit,
    times: StepTimes,
    sources: tuple[StepSource, ...],
    grid: Floats,
    slow: Slowness | None = None,
) -> Evaluated:
    """Steady state and capacity from given step times (also used with times at the ends of their interval), which are
    ``slow`` times as long as expected."""
    slow = slow or Slowness.none(len(candidates))
    states = _under_load(_Conditions.by(question), candidates, memory, times, slow, sources, grid)
    return _within_limits(question, states)


def expected(question: Question, evaluated: Evaluated) -> Evaluated:
    """The same candidates with steps as long as expected: what a deployment that is sized with more caution will do.

    What a simulation moved of the capacity, it moves here in proportion.
    """
    there = under_load(
        question,
        evaluated.candidates,
        evaluated.memory,
        evaluated.slowness.taken_off(evaluated.times),
        evaluated.sources,
        evaluated.state.concurrency,
    )
    if evaluated.screened_rps is None:
        return replace(there, requests=evaluated.requests)
    return replace(
        there,
        requests=evaluated.requests,
        capacity=replace(there.capacity, rps=there.capacity.rps * evaluated.moved_by_simulation),
        screened_rps=there.capacity.rps,
    )


def _under_load(
    conditions: _Conditions,
    candidates: Candidates,
    memory: RunningFit,
    times: StepTimes,
    slow: Slowness,
    sources: tuple[StepSource, ...],
    grid: Floats,
) -> _States:
    budget = candidates.column(lambda r: r.engine.budget(r.gpu))
    slots, traffic = memory.max_concurrency, conditions.traffic
    state = steady_state(times, grid, slots, budget, traffic, conditions.variability, memory.recomputed)
    return _States(candidates=candidates, memory=memory, times=times, slowness=slow, sources=sources, state=state)


def _within_limits(question: Question, states: _States) -> Evaluated:
    """What the candidates carry within the limits of the question."""
    latencies = at_percentile(states.state, question.limits.percentile)
    most = capacity(states.state, latencies, question.limits, question.scenario.deployment.max_utilization)
    evaluated = Evaluated(
        candidates=states.candidates,
        memory=states.memory,
        times=states.times,
        slowness=states.slowness,
        sources=states.sources,
        state=states.state,
        latencies=latencies,
        capacity=most,
        requests=np.zeros(len(states.candidates), dtype=np.int64),
    )
    if question.scenario.deployment.objective != "expected_cost":
        return evaluated
    as_likely = most if question.confidence == EXPECTED else expected(question.as_expected(), evaluated).capacity
    return replace(evaluated, expected_rps=as_likely.rps)


def instances_needed(peak_rps: float, rps: Floats) -> Counts:
    """Instances that carry the peak: ceil(peak / requests/s per instance), at least 1. Shape (C,).

    As many as :data:`BEYOND_ANY` where one carries nothing.
    """
    return np.maximum(np.ceil(peak_rps / np.maximum(rps, peak_rps / BEYOND_ANY) - ROUNDING), 1.0).astype(np.int64)


def fewest_on_gpu(peak_rps: float, evaluated: Evaluated) -> Floats:
    """For each candidate the fewest GPUs of its type with which any candidate carries the peak, shape (C,)."""
    gpu = evaluated.candidates.gpu_number
    gpus = instances_needed(peak_rps, evaluated.capacity.rps) * evaluated.candidates.gpus
    return np.asarray(least_by_group(gpu, gpus, int(gpu.max(initial=-1)) + 1)[gpu])


def reserve_of(question: Question) -> Reserve:
    """What stands by at the peak, as the scenario asks for it."""
    deployment = question.scenario.deployment
    return Reserve(spares=deployment.spare_instances, redundancy=deployment.redundancy)


def all_offers(question: Question) -> Offers:
    """What each considered GPU can be bought or rented in, at the location and prices of the scenario."""
    location, rent = question.scenario.deployment.location, question.scenario.costs.rent
    own_prices = tuple(question.gpu_prices.items())
    return _offers(question.gpus, location, question.prices, own_prices, rent, question.system)


@lru_cache(maxsize=64)
def _offers(
    gpus: tuple[Gpu, ...],
    location: Location,
    prices: Prices,
    own_prices: tuple[tuple[str, float], ...],
    rent: Rent,
    system: str | None,
) -> Offers:
    own = dict(own_prices)
    each = [options(gpu, location, prices, own.get(gpu.id), rent) for gpu in gpus]
    return Offers([[one for one in offered if system in (None, one.id)] for offered in each])
