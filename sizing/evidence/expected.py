"""The expected measurements of a table of points: each mode by its own protocol, all rows of a mode at once."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from sizing.base.arrays import Floats, position
from sizing.evidence.point_table import PointSource, PointTable, alike, step_times, traffic_of
from sizing.evidence.protocols import (
    Expected,
    FirstToken,
    burst_sizes,
    fixed_concurrency,
    offline_burst,
    offline_max_throughput,
    queue_growth_s,
    static_batch,
)
from sizing.question.traffic import Variability
from sizing.queueing.steady_state import SteadyState, concurrency_grid, steady_state
from sizing.steps.efficiency import Efficiencies, efficiencies
from sizing.steps.times import StepSource

BENCHMARK_SPREAD = Variability(arrivals=1.0, prompt=0.5, output=0.5)
"""Poisson arrivals; squared coefficients of variation of 0.5 for both lengths, as in the MLPerf and ShareGPT sets."""

PUBLISHED_SHARE, PUBLISHED_SPREAD, PUBLISHED_WEIGHT = 0.98, 0.03, 0.7
"""Open-loop results are mostly published at the highest rate that still meets a limit, just below the predicted steady
capacity (the offline rate of the same system, which loses some per cent to start and drain, is 1.05 times theirs in 82
pairs of MLPerf v4.1); spread of the logarithm; how many runs are of that kind. Chosen: because they fit the MLPerf v4.1
rows best."""

CAPACITY_ERROR = 0.30
"""Standard deviation of log(measured / predicted) of capacity (offline throughput, cross-validated)."""

LOWEST_SHARE, HIGHEST_SHARE, SHARES = 0.02, 0.99, 60
"""Shares of its capacity that a run may have had: from nearly idle to just stable, and how many are looked at. Chosen:
because neighbours are 7 % apart, a fraction of :data:`CAPACITY_ERROR`."""

PREDICTION_SLACK = 1.5
"""A rate up to this factor above the predicted capacity is taken for our error, beyond it for a growing queue. Chosen:
because an error of :data:`CAPACITY_ERROR` explains up to about so much."""

NO_SLOT_LIMIT = 1e9
"""Sequences in flight where a published run had no limit that requests waited for."""

SHORTEST_S = 1e-9
"""Time whose logarithm stands for that of 0."""

AnySource = StepSource | PointSource
"""Anything that gives step times of a table of points."""


def expected(points: PointTable, source: AnySource) -> Expected:
    """What every row measures, per instance, columns (C, 1)."""
    modes = np.array([p.mode for p in points.points])
    out = {f.name: np.full((len(points), 1), np.nan) for f in fields(Expected)}
    for mode in np.unique(modes):
        index = np.flatnonzero(modes == mode)
        answers = _of_mode(str(mode), points if len(index) == len(points) else points.take(index), source)
        for name, values in out.items():
            values[index] = getattr(answers, name)
    return Expected(**out)


def _of_mode(mode: str, points: PointTable, source: AnySource) -> Expected:
    if mode == "static_batch":
        running = np.minimum(points.concurrency, points.fits)
        return static_batch(step_times(points, running, source), points.lengths, points.concurrency, points.fits)
    if mode == "fixed_concurrency":
        running = np.minimum(points.concurrency, points.fits)
        times, first = step_times(points, running, source), first_token(points, source)
        return fixed_concurrency(times, points.lengths, points.concurrency, points.fits, first)
    fits = np.minimum(points.fits, points.scheduled)
    if mode == "offline_max_throughput":
        return _offline(points, fits, source)
    return _fixed_rate(points, fits, source)


def _offline(points: PointTable, fits: Floats, source: AnySource) -> Expected:
    """All requests queued: a steady state, or a burst where the run states how many requests it sent."""
    requests = np.array([[p.concurrency / p.instances] for p in points.points])
    bursts = np.flatnonzero(np.isfinite(requests[:, 0]))
    out = offline_max_throughput(step_times(points, fits, source), points.lengths, fits)
    if len(bursts):
        some, sent = points.take(bursts), requests[bursts]
        times = step_times(some, burst_sizes(sent, fits[bursts]), source)
        answer = offline_burst(times, some.lengths, sent, fits[bursts])
        for name, values in vars(answer).items():
            getattr(out, name)[bursts] = values
    return out


def first_token(points: PointTable, source: AnySource) -> FirstToken:
    """The fitted delays of the first token by engine; sources without a fit share the committed one."""
    fit: Efficiencies = getattr(source, "fit", None) or efficiencies()
    request = np.array([fit.overhead(e).request_s for e in points.facts.engines])[points.facts.engine][:, None]
    common = fit.common
    return FirstToken(
        request_s=request,
        prompt_token_s=common.prompt_token_s,
        first_token_steps=common.first_token_steps,
        cohort=common.cohort,
        burst=common.burst,
    )


def _fixed_rate(points: PointTable, fits: Floats, source: AnySource) -> Expected:
    """Open loop: the steady state at the asked rate; medians of TTFT, means of ITL and E2E, and 99th percentiles.

    A published run is valid, so no request waits for a sequence slot. A rate above the capacity by more than
    :data:`PREDICTION_SLACK` builds up a queue.
    """
    grid = concurrency_grid(fits[:, 0])
    times = step_times(points, grid, source)
    out = {f.name: np.full((len(points), 1), np.nan) for f in fields(Expected)}
    for index in alike([traffic_of(p) for p in points.points]):
        traffic = traffic_of(points.points[index[0]])
        some, budget = times.take(index), points.facts.budget[index, 0]
        state = steady_state(some, grid[index], np.full(len(index), NO_SLOT_LIMIT), budget, traffic, BENCHMARK_SPREAD)
        for name, values in vars(_at_rate(state, points.rate_rps[index])).items():
            out[name][index] = values
    return Expected(**out)


def share_weights(predicted: Floats, shares: Floats) -> Floats:
    """Probability (C, S) of each true share of the capacity given the predicted ones (C, 1), by Bayes' rule.

    Prior: :data:`PUBLISHED_WEIGHT` normal in log share round :data:`PUBLISHED_SHARE`, the rest even in log share.
    Likelihood: log(predicted / true) normal with :data:`CAPACITY_ERROR`. An unknown share is the prior's peak.
    """
    peak = np.exp(-0.5 * (np.log(shares / PUBLISHED_SHARE) / PUBLISHED_SPREAD) ** 2) / PUBLISHED_SPREAD
    even = np.sqrt(2.0 * np.pi) / np.log(HIGHEST_SHARE / LOWEST_SHARE)
    prior = PUBLISHED_WEIGHT * peak + (1.0 - PUBLISHED_WEIGHT) * even
    bounded = np.clip(predicted, LOWEST_SHARE, HIGHEST_SHARE)
    likelihood = np.exp(-0.5 * (np.log(shares / bounded) / CAPACITY_ERROR) ** 2)
    weights = np.where(np.isnan(predicted), peak, prior * likelihood)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _at_rate(state: SteadyState, rate_rps: Floats) -> Expected:
    """The steady state at a rate (C, 1): geometric mean over the shares of capacity it may truly be.

    Near the capacity latency depends steeply on a capacity that we know to some ten per cent only. An unknown rate is
    the one at which results are published.
    """
    rising = np.maximum.accumulate(state.rps, axis=1)
    capacity = rising[:, -1:]
    shares = np.geomspace(LOWEST_SHARE, HIGHEST_SHARE, SHARES)[None, :]
    weights = share_weights(rate_rps / capacity, shares)

    place = position(rising, shares * capacity)

    def read(values: Floats) -> Floats:
        logs = np.log(np.maximum(values, SHORTEST_S))
        return np.asarray(np.exp((weights * place.of(logs)).sum(axis=1, keepdims=True)))

    rate = np.where(np.isnan(rate_rps), PUBLISHED_SHARE * capacity, rate_rps)
    over = rate > PREDICTION_SLACK * capacity
    median, last = (np.where(over, queue_growth_s(rate, capacity, share), 0.0) for share in (0.5, 0.99))
    return Expected(
        ttft_s=read(state.ttft_s(50.0)) + median,
        itl_s=read(state.itl_mean_s),
        e2e_s=read(state.e2e_mean_s) + median,
        rps=np.where(over, capacity, rate),
        ttft_p99_s=read(state.ttft_s(99.0)) + last,
        itl_p99_s=read(state.itl_s(99.0)),
    )
