"""The scenario with the traffic that was measured: lengths, hits, arrivals, and step times from live windows."""

import math

import numpy as np

from reality.diagnosis.fitting import MeasuredSteps
from reality.diagnosis.worlds import Circumstances
from reality.lengths import shared_prefix
from sizing.base.arrays import Floats
from sizing.base.units import ONE_SIDED_95
from sizing.question.media import media_of
from sizing.question.understand import model_of
from sizing.scenario.bounds import LONGEST_NAME, MAX_CV
from sizing.scenario.schema import RATES, Benchmark, BenchmarkPoint, Scenario

SPREAD_FROM = 0.02
"""Coefficient of variation of a length from which it is given as a distribution."""
BURSTY_FROM = 1.2
"""Coefficient of variation of the gaps between arrivals from which they are given as bursty."""
MOST_POINTS = 8
"""Windows that calibrate, at most: the last ones."""


def as_measured(
    scenario: Scenario,
    now: Circumstances,
    load_rps: float,
    learned: tuple[MeasuredSteps, ...],
    accepted: str = "",
    sequence_ms: float = 0.0,
) -> Scenario:
    """The scenario with the measured traffic in place of the planned one, limits and everything else as they are.

    ``learned``: windows that calibrate the step times of the configuration that runs; none where the plan's are right,
    or those that were ``accepted`` before (their benchmark in JSON) count. ``sequence_ms``: what each running sequence
    adds to a step beside them.
    A length is a lognormal one with the measured mean and variance; the same first part of all prompts is cached.
    """
    cached = float(np.floor(shared_prefix(now.prompt, now.hits).max())) if now.hits > 0.0 else 0.0
    plain = scenario.workload.model_dump()
    plain |= dict.fromkeys(RATES) | {
        "input_tokens": _length(_text_of(scenario, now.prompt)),
        "output_tokens": _length(now.output),
        "peak_rps": round(load_rps, 3),
        "prefix_cached_tokens": min(cached, math.floor(float(np.median(now.prompt))) - 1.0) if cached else 0.0,
        "arrivals": {"gamma": {"cv": round(min(now.cv, float(MAX_CV)), 2)}} if now.cv >= BURSTY_FROM else "poisson",
    }
    given = scenario.model_dump() | {
        "name": f"{scenario.name[: LONGEST_NAME - len(AS_MEASURED)]}{AS_MEASURED}",
        "workload": plain,
    }
    benchmark = _benchmark(now, learned, sequence_ms)
    if benchmark is None and accepted:
        benchmark = Benchmark.model_validate_json(accepted)
    if benchmark is not None:
        given["benchmark"] = benchmark.model_dump()
    return Scenario.model_validate(given)


def _text_of(scenario: Scenario, prompts: Floats) -> Floats:
    """Prompts without the tokens of images and sound, which the scenario has apart."""
    beside = media_of(scenario.workload, model_of(scenario)).tokens
    return np.maximum(prompts - beside, 1.0) if beside else prompts


AS_MEASURED = ", as measured"


def _length(lengths: Floats) -> float | dict[str, float]:
    """Median and 95th percentile of the lognormal length with this mean and variance: sigma^2 = ln(1 + cv^2)."""
    mean = float(lengths.mean())
    variation = float(lengths.var()) / mean**2
    if variation < SPREAD_FROM**2:
        return round(mean, 1)
    sigma = math.sqrt(math.log1p(variation))
    median = mean * math.exp(-(sigma**2) / 2.0)
    return {"p50": max(round(median, 1), 1.0), "p95": max(round(median * math.exp(ONE_SIDED_95 * sigma), 1), 1.0)}


def _benchmark(now: Circumstances, learned: tuple[MeasuredSteps, ...], sequence_ms: float) -> Benchmark | None:
    """The windows as a measured curve of the configuration that runs."""
    if not learned:
        return None
    row = now.row
    replicas = learned[-1].circumstances.replicas
    points = [_point(one, replicas) for one in learned[-MOST_POINTS:]]
    return Benchmark(
        source="live windows",
        gpu=row.gpu.id,
        engine=row.engine.id,
        weight_precision=row.precision.id,
        kv_precision=row.kv_precision,
        gpus=replicas * row.gpus,
        tp=row.tp,
        pp=row.pp,
        ep=row.ep,
        dp=row.dp,
        sequence_ms=sequence_ms,
        points=points,
    )


def _point(one: MeasuredSteps, replicas: int) -> BenchmarkPoint:
    """A window as an open loop at its rate: its load for as many replicas as the last one had."""
    load = one.circumstances
    prompt = float(load.prompt.mean())
    return BenchmarkPoint(
        mode="fixed_rate",
        request_rate_rps=load.rps / load.replicas * replicas,
        input_tokens=prompt,
        output_tokens=float(load.output.mean()),
        output_variation=float(load.output.var()) / float(load.output.mean()) ** 2,
        prefix_cached_tokens=float(shared_prefix(load.prompt, load.hits).mean()),
        itl_ms=one.gap_ms,
        requests_per_s=None if one.served is None else load.rps / load.replicas * replicas * one.served,
    )
