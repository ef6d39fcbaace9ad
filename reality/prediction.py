"""The plan's engine for the observed traffic on the deployed configuration: one replica simulated, three times.

At the central step times, and with all of them at the fast and at the slow end of their 80 % interval.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from reality.labels import QUANTILES
from reality.result import Interval
from reality.step_times import StepLoad, interval_of, load_of, with_learned
from reality.traffic import ObservedTraffic
from sharing.bonds.records import LearnedCalibration
from sizing.base.units import MS_PER_S, TWO_SIDED_80
from sizing.deployments.candidates import table
from sizing.deployments.printed_memory import printed
from sizing.evidence.error_factors import ErrorFactors
from sizing.planning.spread import intervals_of
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, at_lengths
from sizing.search.replicas import arrivals_of, replica_at
from sizing.search.screen import Evaluated, evaluate
from sizing.search.trials import share_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import E2E, ITL, QUEUE, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import Sampled, counted, sampled_mean, sampled_quantile
from sizing.simulator.request_lengths import ObservedLengths
from sizing.simulator.stability import largest_stable_rps
from sizing.simulator.step_grid import StepGrid

REQUESTS = 40_000
"""Requests of one simulation, at least: 400 beyond p99."""

MOST_REQUESTS = 400_000
"""Requests simulated at most: where the window holds more, every step of its load is shortened alike."""

UNSURE = 0.02
"""Relative error of the largest stable load: simulated with some 3,000 requests (30 per sequence slot, about 100
slots) whose work varies as much as its mean, 1 / sqrt(n). A load nearer to it may well be unstable: its queue is then
as long as the simulation, which is no answer."""

WARM_UP_SHARE = 0.05
"""Requests at the beginning that do not count: the replica starts empty. Chosen: one in twenty."""
SEED = 0
"""Chosen: any would do; always the same, so that the same question has the same answer."""
LATENCIES = {"ttft_ms": TTFT, "tpot_ms": ITL, "e2e_ms": E2E, "queue_ms": QUEUE}
"""Rows of the simulator. Its ITL is the mean gap of a request, which servers call TPOT."""

ENDS = ("value", "low", "high")
STEPS = ("decode", "prefill")


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Intervals by key (``ttft_ms.p95``, ``running``...), with what they rest on.

    ``kv_tokens``: planned KV cache of one engine process. ``stable_rps``: of one replica at the central step times.
    ``slow_share``: the observed load as a share of what a replica carries at the slow end of the step times.
    """

    values: Mapping[str, Interval]
    kv_tokens: float
    stable_rps: float
    slow_share: float
    requests: int
    source: str
    assumed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Run:
    """One simulation: None where it is not sure that the load can be carried for ever. ``front_s``: what a request
    takes in the mean before the engine has it."""

    outcome: SimulationCounts | None
    stable_rps: float
    front_s: float


def predict(
    question: Question,
    row: Configuration,
    traffic: ObservedTraffic,
    *,
    replicas: int,
    kv_tokens: float | None = None,
    spread: float = 0.0,
    learned: LearnedCalibration | None = None,
) -> Prediction:
    """What the plan's engine says for ``traffic`` on ``replicas`` replicas of ``row``.

    ``kv_tokens`` is the KV cache of one engine process as deployed; ``spread`` the relative 80 % error of the observed
    traffic itself; ``learned`` step times that live windows taught. Raises ValueError where the model does not fit on
    the configuration.
    """
    at_observed = at_lengths(question.as_expected(), traffic.input_tokens, traffic.output_tokens)
    evaluated = evaluate(at_observed, table([row]))
    if not len(evaluated):
        raise ValueError("the model does not fit on the planned configuration at the observed lengths")
    replica, as_printed = replica_at(at_observed, evaluated, 0), _printed_tokens(at_observed, row)
    if kv_tokens is not None:
        replica = replace(replica, kv_tokens=replica.kv_tokens * kv_tokens / max(as_printed, 1.0))
    arrivals = _arrivals(question, traffic, replicas)
    if learned is not None:
        replica = with_learned(replica, learned)
    runs = {"value": _run(replica, arrivals, traffic, replicas)}
    if learned is not None:
        load = _step_load(runs["value"], replica, traffic, replicas)
        decode, prefill = (interval_of(learned, metric, load) for metric in STEPS)
    else:
        decode, prefill = _planned_intervals(at_observed, row, _in_flight(evaluated, traffic, replicas))
    for end in ENDS[1:]:
        scaled = replace(replica, grid=_scaled(replica.grid, decode, prefill, end))
        runs[end] = _run(scaled, arrivals, traffic, replicas)
    values = _latencies(runs) | _throughput(runs, row, traffic, replicas, spread)
    return Prediction(
        values=values,
        kv_tokens=as_printed,
        stable_rps=runs["value"].stable_rps,
        slow_share=traffic.rps / replicas / runs["high"].stable_rps if runs["high"].stable_rps else math.inf,
        requests=runs["value"].outcome.finished if runs["value"].outcome else 0,
        source=evaluated.sources[0].name + (", as live windows corrected them" if learned else ""),
        assumed=_assumed(replicas, decode, prefill, deployed_kv=kv_tokens is not None),
    )


def _planned_intervals(question: Question, row: Configuration, in_flight: float) -> tuple[ErrorFactors, ErrorFactors]:
    """The intervals of the plan's step times with so many requests in flight: decode, prefill."""
    decode, prefill = (one for metric in STEPS for one in intervals_of(question, metric, [row], np.array([in_flight])))
    return decode, prefill


def _printed_tokens(question: Question, row: Configuration) -> float:
    """Tokens of the KV cache of one engine process as the engine prints them at its start."""
    context = float(question.served_context(row.speculation.draft_tokens))
    return float(printed(question.model, table([row]), context).kv_tokens[0])


def _assumed(replicas: int, decode: ErrorFactors, prefill: ErrorFactors, *, deployed_kv: bool) -> tuple[str, ...]:
    """What was simulated, as sentences."""
    one = f"one of {replicas} replicas, each request goes to any of them at random"
    return (
        f"Simulated: {one if replicas > 1 else 'the one replica that serves'}.",
        f"80 % interval: decode steps x {decode.low_factor:.2f} to {decode.high_factor:.2f}, prefill x "
        f"{prefill.low_factor:.2f} to {prefill.high_factor:.2f} ({decode.basis}).",
        *(("KV cache of the size that is deployed.",) if deployed_kv else ()),
    )


def _in_flight(evaluated: Evaluated, traffic: ObservedTraffic, replicas: int) -> float:
    """Requests in flight of one replica by the steady state, for intervals that depend on it."""
    state = evaluated.state
    rates = np.maximum.accumulate(state.rps[0])
    return float(np.interp(traffic.rps / replicas, rates, state.concurrency[0]))


def _arrivals(question: Question, traffic: ObservedTraffic, replicas: int) -> Arrivals:
    """Arrivals at one replica: the load of the window over and over, as bursty within its steps as planned."""
    whole = Arrivals(rate_rps=traffic.rps, cv=arrivals_of(question).cv)
    one = share_of(whole, 1.0 / replicas)
    if len(traffic.rates) < 2:
        return one
    expected = traffic.rps / replicas * traffic.step_s * len(traffic.rates)
    step = traffic.step_s * min(1.0, MOST_REQUESTS / expected)
    return replace(one, rate_rps=max(traffic.rates) / replicas, profile=traffic.rates, profile_step_s=step)


def _scaled(grid: StepGrid, decode: ErrorFactors, prefill: ErrorFactors, end: str) -> StepGrid:
    """The grid with decode and prefill times at one end of their intervals."""
    d, p = (getattr(factors, f"{end}_factor") for factors in (decode, prefill))
    return grid.stretched(d, p)


def _run(replica: Replica, arrivals: Arrivals, traffic: ObservedTraffic, replicas: int) -> _Run:
    fleet, lengths = Fleet(replicas=(replica,)), ObservedLengths(traffic.lengths)
    stable = largest_stable_rps(fleet, lengths, SEED)
    rate = traffic.rps / replicas
    prompt, _, cached = traffic.lengths
    front = float(fleet.front_end_s(prompt - cached).mean())
    if rate >= stable * (1.0 - UNSURE):
        return _Run(outcome=None, stable_rps=stable, front_s=front)
    period = len(arrivals.profile) * arrivals.profile_step_s
    duration = REQUESTS / rate
    if period:
        duration = math.ceil(duration / period) * period
    expected = round(rate * duration)
    outcome = drive(
        fleet,
        arrivals.stream(lengths, duration, SEED),
        MeasuredSpan(expected=expected, horizon_s=duration, warm_up=int(WARM_UP_SHARE * expected)),
    )
    return _Run(outcome=None if outcome.overwhelmed else outcome, stable_rps=stable, front_s=front)


def _latencies(runs: Mapping[str, _Run]) -> dict[str, Interval]:
    """Means and quantiles in ms; the mean single gap is time between first and last tokens over the gaps."""
    values: dict[str, Interval] = {}
    for name, metric in LATENCIES.items():
        values[f"{name}.mean"] = _interval({end: _mean(run, metric) for end, run in runs.items()}, MS_PER_S)
        for quantile, percent in QUANTILES.items():
            at = {end: _quantile(run, metric, percent) for end, run in runs.items()}
            values[f"{name}.{quantile}"] = _interval(at, MS_PER_S)
    values["itl_ms.mean"] = _interval({end: _gap(run) for end, run in runs.items()}, MS_PER_S)
    return values


def _mean(run: _Run, metric: int) -> Sampled | None:
    if run.outcome is None or not counted(run.outcome, metric).any():
        return None
    return sampled_mean(run.outcome, metric)


def _quantile(run: _Run, metric: int, percent: float) -> Sampled | None:
    if run.outcome is None or not counted(run.outcome, metric).any():
        return None
    return sampled_quantile(run.outcome, metric, percent)


def _gap(run: _Run) -> Sampled | None:
    """Mean over gaps: mean time from first to last token / mean gaps of a request, weighting long answers more."""
    if run.outcome is None:
        return None
    first, last = sampled_mean(run.outcome, TTFT), sampled_mean(run.outcome, E2E)
    tokens = run.outcome.generated_tokens / max(run.outcome.finished, 1) - 1.0
    if tokens <= 0:
        return None
    return _same((last.value - first.value) / tokens)


def _same(value: float) -> Sampled:
    return Sampled(value=value, low=value, high=value)


def _interval(at: Mapping[str, Sampled | None], scale: float) -> Interval:
    """Central value with the fast end's lower and the slow end's upper edge; an end that cannot be carried is open."""
    centre, fast, slow = at["value"], at["low"], at["high"]
    if fast is None:
        return Interval(value=None, low=None, high=None)
    low = max(min(fast.low, centre.value if centre else fast.value), 0.0)
    high = None
    if slow is not None and centre is not None:
        high = max(slow.high, centre.value)
    return Interval(
        value=centre.value * scale if centre else None,
        low=low * scale,
        high=high * scale if high is not None and math.isfinite(high) else None,
    )


def _throughput(
    runs: Mapping[str, _Run], row: Configuration, traffic: ObservedTraffic, replicas: int, spread: float
) -> dict[str, Interval]:
    """Output tokens/s per GPU, requests in flight of all replicas, and KV use; widened by the error of the traffic."""
    rate = traffic.rps / replicas
    carried = {end: min(rate, run.stable_rps) * traffic.output_tokens / row.gpus for end, run in runs.items()}
    tokens = Interval(
        value=carried["value"], low=carried["high"] * (1.0 - spread), high=carried["low"] * (1.0 + spread)
    )
    flight = _interval({end: _running(run, traffic.rps) for end, run in runs.items()}, 1.0)
    kv = _interval({end: _kv_use(run) for end, run in runs.items()}, 1.0)
    shared = traffic.cached_tokens / traffic.decode_context
    return {
        "output_tokens_per_s_per_gpu": tokens,
        "running": _wider(flight, spread, spread),
        "kv_usage": _at_most_one(_wider(kv, 1.0 - (1.0 - shared) * (1.0 - spread), spread)),
    }


def _wider(interval: Interval, below: float, above: float) -> Interval:
    return Interval(
        value=interval.value,
        low=None if interval.low is None else interval.low * (1.0 - below),
        high=None if interval.high is None else interval.high * (1.0 + above),
    )


def _at_most_one(share: Interval) -> Interval:
    return Interval(value=share.value, low=share.low, high=None if share.high is None else min(share.high, 1.0))


def _running(run: _Run, rps: float) -> Sampled | None:
    """Little's law: rate x (time in the system - front end - time in the queue)."""
    if run.outcome is None:
        return None
    in_engine = sampled_mean(run.outcome, E2E).value - run.front_s
    return _same(rps * (in_engine - sampled_mean(run.outcome, QUEUE).value))


def _step_load(run: _Run, replica: Replica, traffic: ObservedTraffic, replicas: int) -> StepLoad:
    """The sequences that one replica runs, with their step; all that it may where it cannot carry the load."""
    running = _running(run, traffic.rps)
    sequences = float(replica.max_sequences) if running is None else running.value / replicas
    return load_of(replica, sequences, traffic.decode_context)


def _kv_use(run: _Run) -> Sampled | None:
    if run.outcome is None:
        return None
    return _same(float(run.outcome.column("kv_s").sum()) / (run.outcome.horizon_s * run.outcome.replicas))


def traffic_spread(count: float | None, squared_variation: float) -> float:
    """Relative 80 % error of a rate of tokens from so many requests: 1.28 sqrt((1 + cv^2) / n); 0 where unknown."""
    return TWO_SIDED_80 * math.sqrt((1.0 + squared_variation) / count) if count else 0.0
