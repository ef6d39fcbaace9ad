"""All candidates at once: memory fit, step times, steady state, capacity, instances, systems and cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import PER_ROW, Columns, Floats, Position
from sizing.base.choices import Location, StepTimesFrom
from sizing.calibration.benchmark import calibrated_configuration
from sizing.calibration.step_source import step_times
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates, enumerate_for, table
from sizing.deployments.memory import MemoryFit, memory_fit
from sizing.prices.cost import Offers, cheapest_option
from sizing.prices.hardware import HardwareOption, options
from sizing.question.configuration import Allowed
from sizing.question.traffic import Traffic, TrafficColumns
from sizing.question.understand import Question
from sizing.queueing.capacity import Capacity, Percentiles, at_percentile, at_rate, capacity
from sizing.queueing.steady_state import SteadyState, concurrency_grid, steady_state
from sizing.scenario.schema import Prices
from sizing.steps.speculation import speculated
from sizing.steps.times import StepTimes

BEYOND_ANY = 1e12  # instances; more than any load takes
ROUNDING = 1e-9  # a load that equals the capacity up to rounding needs no further instance


WASTEFUL = 4
"""By latency a deployment comes last that another beats on so many times fewer GPUs: an assumption about what is meant
by the lowest latency. The next larger size of an instance may well take twice the GPUs for a few per cent."""

RIVALS = 50
"""Candidates of each kind that a deployment is held against."""


@dataclass(frozen=True, kw_only=True)
class Evaluated(Columns):
    """Candidates that fit in memory with everything known about them; arrays (C,) or (C, K)."""

    candidates: Candidates
    memory: MemoryFit
    times: StepTimes
    sources: tuple[str, ...] = field(metadata=PER_ROW)
    state: SteadyState
    latencies: Percentiles
    capacity: Capacity


@dataclass(frozen=True, kw_only=True)
class Sized(Columns):
    """Instances, systems and cost of evaluated candidates that can serve the load; ``index`` points into Evaluated."""

    index: NDArray[np.intp]
    instances: NDArray[np.int64]
    rps: Floats
    position: Position
    ttft_s: Floats
    itl_s: Floats
    e2e_s: Floats
    gpus: NDArray[np.int64]
    options: NDArray[np.object_]
    """Of :class:`sizing.prices.hardware.HardwareOption`."""
    systems: NDArray[np.int64]
    gpus_bought: NDArray[np.int64]
    usd_per_hour: Floats
    power_kw: Floats
    dominated: NDArray[np.bool_]
    """By latency: whether another answers sooner on a :data:`WASTEFUL`-th of the GPUs; never by other objectives."""


def all_configurations(question: Question) -> Candidates:
    """Every configuration of the considered GPUs, whether it fits or not."""
    return _configurations(question.model, tuple(g for g in question.gpus if offered(question, g)), question.allowed)


def offered(question: Question, gpu: Gpu) -> bool:
    """Whether the accelerator can be had where the scenario wants it: some are only rented."""
    return question.scenario.deployment.location == "cloud" or not gpu.rented_only


@lru_cache(maxsize=32)
def _configurations(model: Model, chosen: tuple[Gpu, ...], allowed: Allowed) -> Candidates:
    return table([c for g in chosen if g.sizable for c in enumerate_for(model, g, allowed)])


def evaluate(
    question: Question,
    everything: Candidates,
    choice: StepTimesFrom | None = None,
    traffic: TrafficColumns | None = None,
) -> Evaluated:
    """Everything about the candidates that fit in memory, at the lengths and limits of the question.

    ``traffic`` may give every candidate lengths of its own; kernel tables do not know them.
    """
    fit = memory_fit(
        question.model, everything, question.traffic.resident_kv_tokens if traffic is None else held(traffic)
    )
    kept = np.flatnonzero(fit.fits)
    lengths = question.traffic if traffic is None else traffic.take(kept)
    candidates = everything if len(kept) == len(everything) else everything.take(kept)
    memory = _capped(question, fit.take(kept))
    grid = concurrency_grid(memory.max_concurrency)
    if not len(candidates):
        nothing = StepTimes(decode_s=grid, prefill_s=grid[:, 0], prefill_work_s=grid[:, 0], source="")
        return under_load(question, candidates, memory, nothing, (), grid, lengths)
    times, sources = step_times(
        choice or question.scenario.deployment.step_times,
        question.model,
        candidates,
        lengths,
        grid,
        calibrated_configuration(question),
    )
    times = speculated(times, question.model, candidates, grid, question.speculation)
    return under_load(question, candidates, memory, times, sources, grid, lengths)


def held(traffic: TrafficColumns) -> Floats:
    """Tokens of a whole sequence of every candidate, (C,)."""
    return np.asarray(traffic.resident_kv_tokens[:, 0])


def _capped(question: Question, memory: MemoryFit) -> MemoryFit:
    """No more sequences in flight than the largest batch limit that the scenario names."""
    named = question.scenario.deployment.batch_limits
    return replace(memory, max_concurrency=np.minimum(memory.max_concurrency, max(named))) if named else memory


def under_load(
    question: Question,
    candidates: Candidates,
    memory: MemoryFit,
    times: StepTimes,
    sources: tuple[str, ...],
    grid: Floats,
    traffic: Traffic | TrafficColumns | None = None,
) -> Evaluated:
    """Steady state and capacity from given step times (also used with times at the ends of their interval)."""
    budget = candidates.column(lambda r: r.engine.budget(r.gpu))
    lengths = question.traffic if traffic is None else traffic
    state = steady_state(times, grid, memory.max_concurrency, budget, lengths, question.variability)
    latencies = at_percentile(state, question.limits.percentile)
    most = capacity(state, latencies, question.limits, question.scenario.deployment.max_utilization)
    return Evaluated(
        candidates=candidates,
        memory=memory,
        times=times,
        sources=sources,
        state=state,
        latencies=latencies,
        capacity=most,
    )


def instances_needed(peak_rps: float, rps: Floats) -> NDArray[np.int64]:
    """Instances that carry the peak: ceil(peak / requests/s per instance), at least 1. Shape (C,).

    As many as :data:`BEYOND_ANY` where one carries nothing.
    """
    return np.maximum(np.ceil(peak_rps / np.maximum(rps, peak_rps / BEYOND_ANY) - ROUNDING), 1.0).astype(np.int64)


def size(
    question: Question,
    evaluated: Evaluated,
    index: NDArray[np.intp] | None = None,
    needed: NDArray[np.int64] | None = None,
) -> Sized:
    """Instances, systems and list cost of every candidate with any capacity within the limits.

    ``index`` and ``needed`` ask for other instance counts (without spares) than the smallest, for the given rows.
    """
    able = np.flatnonzero(evaluated.capacity.rps > 0) if index is None else index
    peak, deployment = question.demand.peak_rps, question.scenario.deployment
    working = instances_needed(peak, evaluated.capacity.rps[able]) if needed is None else needed
    load = peak / working
    position = at_rate(evaluated.state.rps[able], load)
    total = working + deployment.spare_instances
    each = evaluated.candidates.gpus[able].astype(np.int64)
    order = {gpu.id: i for i, gpu in enumerate(question.gpus)}
    gpu_index = evaluated.candidates.column(lambda r: order[r.gpu.id])[able].astype(np.int64)
    chosen = cheapest_option(total, each, gpu_index, all_offers(question))
    e2e = position.of(evaluated.latencies.e2e_s[able])
    return Sized(
        index=able,
        instances=total,
        rps=load,
        position=position,
        ttft_s=position.of(evaluated.latencies.ttft_s[able]),
        itl_s=position.of(evaluated.latencies.itl_s[able]),
        e2e_s=e2e,
        gpus=total * each,
        options=chosen.options,
        systems=chosen.systems,
        gpus_bought=chosen.gpus_bought,
        usd_per_hour=chosen.usd_per_hour,
        power_kw=chosen.power_kw,
        dominated=_dominated(question, evaluated, total * each, e2e),
    )


def _dominated(question: Question, evaluated: Evaluated, gpus: NDArray[np.int64], e2e_s: Floats) -> NDArray[np.bool_]:
    """Which deployments, (N,) by GPUs and E2E, another beats on a :data:`WASTEFUL`-th of the GPUs, (N,).

    A configuration that hardly meets a limit when idle needs very many nearly idle instances, and then answers sooner
    than others do at their full load: as many GPUs of those would answer far sooner still. The others looked at are the
    :data:`RIVALS` that carry most per GPU and the :data:`RIVALS` that answer soonest when idle, with all instances that
    fit in 1, 2, 4, ... GPUs.
    """
    deployment, rps = question.scenario.deployment, evaluated.capacity.rps
    if deployment.objective != "latency" or not len(gpus) or not (rps > 0).any():
        return np.zeros(len(gpus), dtype=np.bool_)
    able = np.flatnonzero(rps > 0)
    each = evaluated.candidates.gpus
    most = able[np.argsort(-rps[able] / each[able], kind="stable")[:RIVALS]]
    soonest = able[np.argsort(evaluated.latencies.e2e_s[able, 0], kind="stable")[:RIVALS]]
    rivals = np.union1d(most, soonest)
    budgets = 2 ** np.arange(int(gpus.max()).bit_length())
    best = np.array([_soonest(question, evaluated, rivals, int(b)) for b in budgets])
    within = np.floor(np.log2(np.maximum(gpus / WASTEFUL, 0.5))).astype(np.intp)  # -1: less than one GPU
    best = np.append(np.minimum.accumulate(best), np.inf)
    return np.asarray(best[within] < e2e_s)


def _soonest(question: Question, evaluated: Evaluated, rows: NDArray[np.intp], gpus: int) -> float:
    """The shortest E2E that one of the candidates at ``rows`` has with so many GPUs, seconds; inf: none can serve."""
    peak, spares = question.demand.peak_rps, question.scenario.deployment.spare_instances
    working = gpus // evaluated.candidates.gpus[rows] - spares
    enough = working >= instances_needed(peak, evaluated.capacity.rps[rows])
    rows, working = rows[enough], working[enough]
    if not len(rows):
        return float("inf")
    return float(at_rate(evaluated.state.rps[rows], peak / working).of(evaluated.latencies.e2e_s[rows]).min())


def all_offers(question: Question) -> Offers:
    """What each considered GPU can be bought or rented in, at the location and prices of the scenario.

    When some considered GPU is priced without chassis only, every GPU is priced so where such a price exists: a
    complete system is not compared with bare GPUs.
    """
    scenario = question.scenario
    return _offers(question.gpus, scenario.deployment.location, scenario.prices, tuple(question.gpu_prices.items()))


@lru_cache(maxsize=64)
def _offers(
    gpus: tuple[Gpu, ...], location: Location, prices: Prices, own_prices: tuple[tuple[str, float], ...]
) -> Offers:
    own = dict(own_prices)
    found = [options(gpu, location, prices, own.get(gpu.id)) for gpu in gpus]
    if any(_bare(offers) for offers in found):
        found = [tuple(o for o in offers if o.price_covers == "gpus_only") or offers for offers in found]
    return Offers(found)


def _bare(offers: tuple[HardwareOption, ...]) -> bool:
    """Whether the GPU has a price, but none of a complete system."""
    covers = {o.price_covers for o in offers}
    return "gpus_only" in covers and "complete" not in covers
