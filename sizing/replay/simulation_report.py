"""From counts to the result: percentiles, goodput, the series, and the sentence that sums it up."""

from __future__ import annotations

from typing import Any

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.format import ms, requests_per_s
from sizing.base.units import MS_PER_S, S_PER_MINUTE
from sizing.base.version import ENGINE_VERSION
from sizing.question.limits import LatencyLimits
from sizing.replay.offered_load import Load
from sizing.replay.simulation_result import Distribution, SampledMs, Series, Share, SimulationResult, Verdict
from sizing.replay.what_if import failure_in, said_of
from sizing.search.replicas import asked_routing
from sizing.simulator.fleet import Deployment, Fleet
from sizing.simulator.layout import E2E, ITL, QUEUE, TTFT
from sizing.simulator.outcome import Outcome
from sizing.simulator.quantiles import Sampled, sampled_good_share, sampled_mean, sampled_quantile

POINTS = ("mean", "p50", "p90", "p95", "p99", "p999")
NOTHING: dict[str, Any] = {
    "ttft_ms": None,
    "itl_ms": None,
    "e2e_ms": None,
    "queue_ms": None,
    "meets_limits": None,
    "good_share": None,
    "goodput_rps": None,
    "output_tokens_per_s": None,
    "running": None,
    "kv_use": None,
    "kv_use_peak": None,
    "busy_share": None,
    "recomputed_share": None,
    "series": None,
    "finished": 0,
    "rejected": 0,
    "too_long": 0,
    "unfinished": 0,
    "preempted": 0,
    "failed_over": 0,
    "peak_waiting": 0,
    "failure": None,
}


def instances_of(deployment: Deployment) -> int:
    """Replicas of all pools."""
    if isinstance(deployment, Fleet):
        return len(deployment.replicas)
    return len(deployment.prefill.replicas) + len(deployment.decode.replicas)


def front_of(deployment: Deployment) -> Fleet:
    """The replicas that requests come to first."""
    return deployment if isinstance(deployment, Fleet) else deployment.prefill


def source_of(deployment: Deployment) -> str:
    """Where the step times come from."""
    return front_of(deployment).replicas[0].grid.source


NOTHING_MEETS_THE_LIMITS = (
    "Nothing considered meets the limits, so there is nothing to simulate; the plan says what to relax."
)


def infeasible(why: str, load: Load, seed: int) -> SimulationResult:
    """There is nothing that could be simulated; ``why`` in a sentence."""
    return SimulationResult(
        **{
            **NOTHING,
            "answer": why,
            "verdict": "infeasible",
            "deployment": "",
            "instances": 0,
            "routing": "",
            "offered_rps": load.rps,
            "largest_stable_rps": None,
            "simulated_s": 0.0,
            "requests": 0,
            "notes": load.notes,
            "source": "",
            "seed": seed,
            "engine_version": ENGINE_VERSION,
        }
    )


def unstable(
    name: str, deployment: Deployment, load: Load, limits: LatencyLimits, stable_rps: float, seed: int
) -> SimulationResult:
    """The load is beyond capacity: no latency is stated, because it would depend on how long one watches."""
    return SimulationResult(
        **{
            **NOTHING,
            "verdict": "unstable",
            "deployment": name,
            "instances": instances_of(deployment),
            "routing": asked_routing(front_of(deployment).routing),
            "answer": f"Unstable: queue grows. {name} is offered {requests_per_s(load.rps)} and carries at most "
            f"{requests_per_s(stable_rps)}.",
            "offered_rps": load.rps,
            "largest_stable_rps": stable_rps,
            "simulated_s": load.duration_s,
            "requests": load.expected,
            "notes": load.notes,
            "source": source_of(deployment),
            "seed": seed,
            "engine_version": ENGINE_VERSION,
        }
    )


def measured(
    name: str, deployment: Deployment, load: Load, limits: LatencyLimits, stable_rps: float, outcome: Outcome, seed: int
) -> SimulationResult:
    """Everything that was counted."""
    found = {m: distribution(outcome, m, limits.percentile) for m in (TTFT, ITL, E2E, QUEUE)}
    good = sampled_good_share(outcome)
    met = _meets(found, limits)
    seconds = outcome.horizon_s * (1.0 if outcome.stopped_at is None else max(outcome.stopped_at, 1e-9))
    rows = max(outcome.horizon_s * outcome.replicas, 1e-12)
    verdict: Verdict = "stable" if outcome.stopped_at is None else "stopped"
    good_value = good.value if np.isfinite(good.value) else 0.0
    return SimulationResult(
        answer=_sentence(name, load, limits, found, met, outcome),
        verdict=verdict,
        deployment=name,
        instances=instances_of(deployment),
        routing=asked_routing(front_of(deployment).routing),
        offered_rps=load.rps,
        largest_stable_rps=stable_rps,
        failure=failure_in(outcome, front_of(deployment), stable_rps),
        simulated_s=seconds,
        requests=outcome.arrived,
        finished=outcome.finished,
        rejected=outcome.rejected,
        too_long=outcome.too_long,
        unfinished=outcome.unfinished,
        preempted=outcome.preempted,
        failed_over=outcome.failed_over,
        ttft_ms=found[TTFT],
        itl_ms=found[ITL],
        e2e_ms=found[E2E],
        queue_ms=found[QUEUE],
        meets_limits=met,
        good_share=Share(value=good.value, low=max(good.low, 0.0), high=min(good.high, 1.0)) if found[TTFT] else None,
        goodput_rps=good_value * outcome.finished / seconds,
        output_tokens_per_s=outcome.generated_tokens / seconds,
        running=float(outcome.column("running_s").sum()) / rows,
        kv_use=float(outcome.column("kv_s").sum()) / rows,
        kv_use_peak=float(outcome.column("kv_s").max() / outcome.bin_s / outcome.replicas),
        busy_share=float(outcome.column("busy_s").sum()) / rows,
        peak_waiting=outcome.peak_waiting,
        recomputed_share=outcome.recomputed_tokens / max(outcome.prefilled_tokens, 1.0),
        series=series_of(outcome),
        notes=(*load.notes, *_overloads(outcome, load, stable_rps), *_turned_away(outcome)),
        source=source_of(deployment),
        seed=seed,
        engine_version=ENGINE_VERSION,
    )


def distribution(outcome: Outcome, metric: int, asked: float) -> Distribution | None:
    """Percentiles of one latency; None when no request had it (one token has no gaps)."""
    if not outcome.histogram[:, metric].any():
        return None
    at = {
        name: _in_ms(sampled_quantile(outcome, metric, p))
        for name, p in (
            ("p50", 50.0),
            ("p90", 90.0),
            ("p95", 95.0),
            ("p99", 99.0),
            ("p999", 99.9),
            ("at_percentile", asked),
        )
    }
    return Distribution(mean=_in_ms(sampled_mean(outcome, metric)), **at)


def _in_ms(sampled: Sampled) -> SampledMs:
    high = sampled.high * MS_PER_S if np.isfinite(sampled.high) else None
    return SampledMs(value=sampled.value * MS_PER_S, low=max(sampled.low, 0.0) * MS_PER_S, high=high)


def _meets(found: dict[int, Distribution | None], limits: LatencyLimits) -> bool:
    asked = ((TTFT, limits.ttft_s), (ITL, limits.itl_s), (E2E, limits.e2e_s))
    return all(one is None or one.at_percentile.value <= limit * MS_PER_S for m, limit in asked for one in [found[m]])


def _sentence(
    name: str, load: Load, limits: LatencyLimits, found: dict[int, Distribution | None], met: bool, outcome: Outcome
) -> str:
    labels = (("TTFT", found[TTFT]), ("ITL", found[ITL]), ("E2E", found[E2E]))
    said = [f"{label} {ms(one.at_percentile.value)}" for label, one in labels if one is not None]
    within = "every limit is met" if met else "a limit is broken"
    part = "" if outcome.stopped_at is None else f" (stopped after {outcome.stopped_at:.0%})"
    return (
        f"{name} at {requests_per_s(load.rps)}: p{limits.percentile:g} {', '.join(said)}; {within} "
        f"({outcome.finished:,} requests simulated{part})."
    )


def _overloads(outcome: Outcome, load: Load, stable_rps: float) -> list[str]:
    """Under changing traffic: how long the load was beyond what can be carried for ever."""
    minutes = merged(outcome.column("arrived"), max(int(S_PER_MINUTE / outcome.bin_s), 1))
    width = outcome.bin_s * max(int(S_PER_MINUTE / outcome.bin_s), 1)
    over = float((minutes / width > stable_rps).sum() * width)
    if load.stationary or over == 0.0:
        return []
    limit = requests_per_s(stable_rps)
    return [f"For {over / S_PER_MINUTE:,.0f} minutes the load was above the {limit} that can be carried for ever."]


def _turned_away(outcome: Outcome) -> list[str]:
    notes = []
    if outcome.too_long:
        notes.append(f"{outcome.too_long:,} requests were longer than the KV cache of a replica and were turned away.")
    if outcome.preempted:
        notes.append(f"The KV cache was full {outcome.preempted:,} times: a sequence was evicted and recomputed.")
    return notes


def series_of(outcome: Outcome) -> Series:
    """The series, second by second up to an hour."""
    width = outcome.bin_s

    def rate(column: str, per: float = width) -> tuple[float, ...]:
        return tuple((outcome.column(column) / per).tolist())

    firsts, ttft = outcome.column("first_tokens"), outcome.column("ttft_sum")
    return Series(
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
            points = zip(("mean", "p50", "p90", "p95", "p99", "p99.9"), POINTS, strict=True)
            lines.append(f"{label:13} {', '.join(f'{name} {ms(getattr(one, p).value)}' for name, p in points)}")
    if result.goodput_rps is not None and result.busy_share is not None and result.kv_use is not None:
        lines += [
            f"Goodput       {requests_per_s(result.goodput_rps)} of {requests_per_s(result.offered_rps)}",
            f"Busy          {result.busy_share:.1%} of the time, KV cache {result.kv_use:.1%} full",
        ]
    if result.largest_stable_rps is not None:
        lines.append(f"Stable up to  {requests_per_s(result.largest_stable_rps)}")
    if result.failure is not None:
        lines.append(f"Failure       {said_of(result.failure)}")
    if result.verdict == "stable":
        lines.append(
            f"Requests      {result.requests:,} came, {result.finished:,} finished, "
            f"{result.rejected + result.too_long:,} turned away, {result.preempted:,} evictions"
        )
    return "\n".join([*lines, *(f"Source        {s}" for s in [result.source] if s), *result.notes])
