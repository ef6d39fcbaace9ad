"""Turns counts into the result: percentiles, goodput, the series, and the sentence that sums it up."""

from collections.abc import Iterator, Mapping
from typing import TypedDict

import numpy as np

from commandline.percentiles import name_of
from sizing.base.arrays import Floats
from sizing.base.format import ms, percent, requests_per_s
from sizing.base.quantity import Estimate
from sizing.base.units import MS_PER_S, S_PER_MINUTE
from sizing.base.version import ENGINE_VERSION
from sizing.question.limits import LatencyLimits
from sizing.replay.offered_load import OfferedLoad
from sizing.replay.simulation_result import Distribution, Failure, RunVerdict, SimulatedBins, SimulationResult
from sizing.replay.what_if import failure_in, failure_text
from sizing.simulator.fleet import Fleet, SimulatedDeployment
from sizing.simulator.layout import E2E, ITL, QUEUE, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.quantiles import Sampled, counted, sampled_good_share, sampled_mean, sampled_quantile

SHORTEST_SHARE, SHORTEST_S = 1e-9, 1e-12
"""Share of the time that a stopped simulation has covered at least, and time at least: nothing is divided by 0."""


class Simulated(TypedDict):
    """What was simulated, as fields of the result."""

    deployment: str
    instances: int
    routing: str
    source: str


class RequestCounts(TypedDict):
    """Requests by what became of them, as fields of the result."""

    finished: int
    rejected: int
    too_long: int
    unfinished: int
    preempted: int
    failed_over: int
    peak_waiting: int


class Use(TypedDict):
    """How busy the replicas were, on average and in the busiest bin, as fields of the result."""

    running: float
    kv_use: float
    kv_use_peak: float
    busy_share: float


def instances_of(deployment: SimulatedDeployment) -> int:
    """The number of replicas in all pools of a deployment."""
    return sum(len(stage.fleet.replicas) for stage in deployment.stages)


def front_of(deployment: SimulatedDeployment) -> Fleet:
    """The replicas that requests come to first."""
    return deployment.stages[0].fleet


def source_of(deployment: SimulatedDeployment) -> str:
    """Where the step times come from."""
    return front_of(deployment).replicas[0].grid.source


NOTHING_MEETS_THE_LIMITS = (
    "Nothing considered meets the limits, so there is nothing to simulate; the plan says what to relax."
)


def infeasible(why: str, load: OfferedLoad, seed: int) -> SimulationResult:
    """The result where nothing can be simulated; ``why`` is a sentence."""
    nothing = Simulated(deployment="", instances=0, routing="", source="")
    return _uncounted(load, seed, nothing, answer=why, verdict="infeasible")


def unstable(
    name: str, deployment: SimulatedDeployment, load: OfferedLoad, stable_rps: float, seed: int
) -> SimulationResult:
    """The load is beyond capacity: no latency is stated, because it would depend on how long one watches."""
    answer = (
        f"Unstable: queue grows. {name} is offered {requests_per_s(load.rps)} and carries at most "
        f"{requests_per_s(stable_rps)}."
    )
    simulated = _simulated(name, deployment)
    return _uncounted(load, seed, simulated, answer=answer, verdict="unstable", stable_rps=stable_rps)


def _uncounted(
    load: OfferedLoad, seed: int, facts: Simulated, *, answer: str, verdict: RunVerdict, stable_rps: float | None = None
) -> SimulationResult:
    """A result without a latency; where ``stable_rps`` is known, requests came for the whole duration."""
    return SimulationResult(
        answer=answer,
        verdict=verdict,
        **facts,
        offered_rps=load.rps,
        largest_stable_rps=stable_rps,
        simulated_s=0.0 if stable_rps is None else load.duration_s,
        requests=0 if stable_rps is None else load.expected,
        finished=0,
        rejected=0,
        too_long=0,
        unfinished=0,
        preempted=0,
        failed_over=0,
        ttft_ms=None,
        itl_ms=None,
        e2e_ms=None,
        queue_ms=None,
        meets_limits=None,
        good_share=None,
        goodput_rps=None,
        output_tokens_per_s=None,
        running=None,
        kv_use=None,
        kv_use_peak=None,
        busy_share=None,
        peak_waiting=0,
        recomputed_share=None,
        failure=None,
        series=None,
        notes=load.notes,
        seed=seed,
        engine_version=ENGINE_VERSION,
    )


def measured(
    name: str,
    deployment: SimulatedDeployment,
    load: OfferedLoad,
    limits: LatencyLimits,
    stable_rps: float,
    outcome: SimulationCounts,
    seed: int,
) -> SimulationResult:
    """The report of a simulation from everything that it counted."""
    latencies = {metric: distribution(outcome, metric, limits.percentile) for metric in (TTFT, ITL, E2E, QUEUE)}
    failure = failure_in(outcome, front_of(deployment), stable_rps, limits)
    over_all = _meets(latencies, limits)
    seconds = outcome.horizon_s * (1.0 if outcome.stopped_at is None else max(outcome.stopped_at, SHORTEST_SHARE))
    good = sampled_good_share(outcome)
    good_value = good.value if np.isfinite(good.value) else 0.0
    return SimulationResult(
        **_simulated(name, deployment),
        **_counts(outcome),
        **_use(outcome),
        offered_rps=load.rps,
        answer=_sentence(name, load, limits, latencies, _verdict(over_all, failure), outcome),
        verdict="stable" if outcome.stopped_at is None else "stopped",
        largest_stable_rps=stable_rps,
        failure=failure,
        simulated_s=seconds,
        requests=outcome.arrived,
        ttft_ms=latencies[TTFT],
        itl_ms=latencies[ITL],
        e2e_ms=latencies[E2E],
        queue_ms=latencies[QUEUE],
        meets_limits=over_all and (failure is None or failure.meets_limits),
        good_share=_share(good) if latencies[TTFT] else None,
        goodput_rps=good_value * outcome.finished / seconds,
        output_tokens_per_s=outcome.generated_tokens / seconds,
        recomputed_share=outcome.recomputed_tokens / max(outcome.prefilled_tokens, 1.0),
        series=series_of(outcome),
        notes=(*load.notes, *_cut_short(outcome), *_overloads(outcome, load, stable_rps), *_turned_away(outcome)),
        seed=seed,
        engine_version=ENGINE_VERSION,
    )


def _simulated(name: str, deployment: SimulatedDeployment) -> Simulated:
    return {
        "deployment": name,
        "instances": instances_of(deployment),
        "routing": front_of(deployment).routing,
        "source": source_of(deployment),
    }


def _counts(outcome: SimulationCounts) -> RequestCounts:
    return {
        "finished": outcome.finished,
        "rejected": outcome.rejected,
        "too_long": outcome.too_long,
        "unfinished": outcome.unfinished,
        "preempted": outcome.preempted,
        "failed_over": outcome.failed_over,
        "peak_waiting": outcome.peak_waiting,
    }


def _use(outcome: SimulationCounts) -> Use:
    replica_s = max(outcome.horizon_s * outcome.replicas, SHORTEST_S)
    return {
        "running": float(outcome.column("running_s").sum()) / replica_s,
        "kv_use": float(outcome.column("kv_s").sum()) / replica_s,
        "kv_use_peak": float(outcome.column("kv_s").max() / outcome.bin_s / outcome.replicas),
        "busy_share": float(outcome.column("busy_s").sum()) / replica_s,
    }


def _share(good: Sampled) -> Estimate:
    return Estimate(value=good.value, low=max(good.low, 0.0), high=min(good.high, 1.0))


def distribution(outcome: SimulationCounts, metric: int, percentile: float) -> Distribution | None:
    """Percentiles of one latency; None when no request had it (one token has no gaps)."""
    if not counted(outcome, metric).any():
        return None

    def at(percent: float) -> Estimate:
        return _in_ms(sampled_quantile(outcome, metric, percent))

    return Distribution(
        mean=_in_ms(sampled_mean(outcome, metric)),
        percentiles=tuple(map(at, Distribution.percents())),
        at_percentile=at(percentile),
    )


def _in_ms(sampled: Sampled) -> Estimate:
    high = sampled.high * MS_PER_S if np.isfinite(sampled.high) else None
    return Estimate(value=sampled.value * MS_PER_S, low=max(sampled.low, 0.0) * MS_PER_S, high=high)


def _meets(latencies: Mapping[int, Distribution | None], limits: LatencyLimits) -> bool:
    pairs = ((latencies[TTFT], limits.ttft_s), (latencies[ITL], limits.itl_s), (latencies[E2E], limits.e2e_s))
    return all(latency is None or latency.at_percentile.value <= limit * MS_PER_S for latency, limit in pairs)


def _verdict(met: bool, failure: Failure | None) -> str:
    """Whether the limits hold over the whole run, and while an instance or a system is down."""
    if not met:
        return "a limit is broken"
    if failure is None:
        return "every limit is met"
    what = "an instance" if failure.instances_lost == 1 else "a system"
    if failure.meets_limits:
        return f"every limit is met, while {what} is down, too"
    return f"over the whole run every limit is met, but while {what} is down one is broken"


def _sentence(
    name: str,
    load: OfferedLoad,
    limits: LatencyLimits,
    latencies: Mapping[int, Distribution | None],
    verdict: str,
    outcome: SimulationCounts,
) -> str:
    labels = (("TTFT", latencies[TTFT]), ("ITL", latencies[ITL]), ("E2E", latencies[E2E]))
    values = [f"{label} {ms(latency.at_percentile.value)}" for label, latency in labels if latency is not None]
    part = "" if outcome.stopped_at is None else f" (stopped after {percent(outcome.stopped_at)})"
    return (
        f"{name} at {requests_per_s(load.rps)}: p{limits.percentile:g} {', '.join(values)}; {verdict} "
        f"({outcome.finished:,} requests simulated{part})."
    )


def _cut_short(outcome: SimulationCounts) -> Iterator[str]:
    """That the simulation stopped by itself, and what would let it end."""
    if outcome.exhausted:
        yield (
            f"Stopped after {outcome.finished:,} requests, which took all the work that a simulation may: ask for "
            "fewer hours to see them whole."
        )


def _overloads(outcome: SimulationCounts, load: OfferedLoad, stable_rps: float) -> list[str]:
    """Under changing traffic: how long the load was beyond what can be carried for ever."""
    minutes = merged(outcome.column("arrived"), max(int(S_PER_MINUTE / outcome.bin_s), 1))
    width = outcome.bin_s * max(int(S_PER_MINUTE / outcome.bin_s), 1)
    over = float((minutes / width > stable_rps).sum() * width)
    if load.stationary or over == 0.0:
        return []
    limit = requests_per_s(stable_rps)
    return [f"For {over / S_PER_MINUTE:,.0f} minutes the load was above the {limit} that can be carried for ever."]


def _turned_away(outcome: SimulationCounts) -> list[str]:
    notes = []
    if outcome.too_long:
        notes.append(f"{outcome.too_long:,} requests were longer than the KV cache of a replica and were turned away.")
    if outcome.preempted:
        notes.append(f"The KV cache was full {outcome.preempted:,} times: a sequence was evicted and recomputed.")
    return notes


def series_of(outcome: SimulationCounts) -> SimulatedBins:
    """The series, second by second up to an hour."""
    width = outcome.bin_s

    def rate(column: str, per: float = width) -> tuple[float, ...]:
        return tuple((outcome.column(column) / per).tolist())

    firsts, ttft = outcome.column("first_tokens"), outcome.column("ttft_sum")
    return SimulatedBins(
        bin_s=width,
        arrived_rps=rate("arrived"),
        finished_rps=rate("finished"),
        rejected_rps=rate("rejected"),
        output_tokens_per_s=rate("output_tokens"),
        running=rate("running_s"),
        waiting=rate("waiting_s"),
        kv_use=rate("kv_s", width * outcome.replicas),
        busy=rate("busy_s", width * outcome.replicas),
        ttft_ms=tuple(float(t / n) * MS_PER_S if n else None for t, n in zip(ttft, firsts, strict=True)),
    )


def merged(column: Floats, factor: int) -> Floats:
    """Sums of ``factor`` neighbouring bins; the last may hold fewer."""
    return np.add.reduceat(column, np.arange(0, len(column), factor))


def as_text(result: SimulationResult) -> str:
    """The result for a terminal."""
    lines = [result.answer, ""]
    for label, one in (
        ("TTFT", result.ttft_ms),
        ("ITL", result.itl_ms),
        ("E2E", result.e2e_ms),
        ("Queue", result.queue_ms),
    ):
        if one is not None:
            points = {"mean": one.mean} | dict(zip(map(name_of, one.percents()), one.percentiles, strict=True))
            lines.append(f"{label:13} {', '.join(f'{name} {ms(point.value)}' for name, point in points.items())}")
    if result.goodput_rps is not None and result.busy_share is not None and result.kv_use is not None:
        lines += [
            f"Goodput       {requests_per_s(result.goodput_rps)} of {requests_per_s(result.offered_rps)}",
            f"Busy          {percent(result.busy_share)} of the time, KV cache {percent(result.kv_use)} full",
        ]
    if result.largest_stable_rps is not None:
        lines.append(f"Stable up to  {requests_per_s(result.largest_stable_rps)}")
    if result.failure is not None:
        lines.append(f"Failure       {failure_text(result.failure)}")
    if result.verdict == "stable":
        lines.append(
            f"Requests      {result.requests:,} came, {result.finished:,} finished, "
            f"{result.rejected + result.too_long:,} turned away, {result.preempted:,} evictions"
        )
    return "\n".join([*lines, *(f"Source        {s}" for s in [result.source] if s), *result.notes])
