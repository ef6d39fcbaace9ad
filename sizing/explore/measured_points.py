"""Measurements near a scenario, published or its own, as points that stand beside the operating points."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Annotated

import numpy as np

from sizing.base.choices import is_open_loop
from sizing.base.quantity import Result, quantity
from sizing.base.units import MILLION, MS_PER_S, S_PER_HOUR
from sizing.calibration.benchmark import calibrated_configuration, calibration_points, overloaded
from sizing.deployments.candidates import table
from sizing.deployments.memory import memory_fit
from sizing.evidence.points import Point
from sizing.evidence.published import Measurement, Near, evidence, load_distance, nearest
from sizing.explore.at_load import fleet_for, usd_per_million
from sizing.explore.operating_point import known, share_of_systems
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, understand
from sizing.scenario.schema import Benchmark, BenchmarkPoint, Scenario
from sizing.search.screen import all_configurations

FARTHEST = 2.0
"""Distance (see :func:`sizing.evidence.published.nearest`) up to which a measurement says something about the scenario.
Chosen: because two doublings of load or size away, others would be as good."""
COMPARABLE = 2.0
"""Prompt and output may be this many times longer or shorter. Chosen: because throughput follows their lengths
closely."""
PER_GPU = 12
"""Measurements shown of each GPU at most. Chosen: because more could not be told apart in the chart."""
SEARCHED = 300
"""Nearest measurements looked at for each GPU and width of weights. Chosen: because those of one GPU are rarely
more."""
MODES = ("fixed_concurrency", "fixed_rate")
"""Runs with requests in flight; a static batch or an offline run has no user to be fast for."""


class MeasuredPoint(Result):
    """One measurement; latencies are means, and None where the source does not hold them."""

    own: Annotated[bool, quantity("Own", help="Whether it is a point of the scenario's own benchmark.")]
    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    configuration: Annotated[
        str, quantity("Deployment", help="GPU, engine, precision and parallelism that were measured.")
    ]
    model: Annotated[str, quantity("Model", help="The model that was measured.")]
    source: Annotated[str, quantity("Source", help="Who published it.")]
    source_link: Annotated[str, quantity("Link", help="Where it was published.")]
    source_date: Annotated[str, quantity("Date", help="Date or version of the source.")]
    software_year: Annotated[
        float, quantity("Software", "year", "as published", "When the engine that ran was released.")
    ]
    input_tokens: Annotated[float, quantity("ISL", "tokens", "as measured", "Mean prompt length.")]
    output_tokens: Annotated[float, quantity("OSL", "tokens", "as measured", "Mean output length.")]
    concurrency: Annotated[float | None, quantity("Requests in flight", "requests", "as measured", "Of all its GPUs.")]
    distance: Annotated[
        float, quantity("Distance", "doublings", "see nearest evidence", "How far it is from the scenario.")
    ]
    tokens_per_s_per_user: Annotated[
        float, quantity("Tokens/s per user", "tokens/s", "1000 / mean ITL", "As measured.")
    ]
    ttft_ms: Annotated[float | None, quantity("Mean TTFT", "ms", "as measured", "Time to first token.")]
    e2e_ms: Annotated[float | None, quantity("Mean E2E", "ms", "as measured", "Time to last token.")]
    output_tokens_per_s_per_gpu: Annotated[
        float,
        quantity(
            "Output tokens/s per GPU", "tokens/s", "rate / GPUs, else concurrency x OSL / E2E / GPUs", "As measured."
        ),
    ]
    usd_per_million_output_tokens: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens",
            "USD",
            "see operating point",
            "At the prices and the load of the scenario.",
        ),
    ]
    usd_per_million_output_tokens_at_full_load: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens at full load",
            "USD",
            "see operating point",
            "At the prices of the scenario.",
        ),
    ]
    output_tokens_per_s_per_kw: Annotated[
        float | None,
        quantity(
            "Output tokens/s per kW", "tokens/s per kW", "see operating point", "At the power budget of the systems."
        ),
    ]


def measured_points(scenario: Scenario, gpus: Sequence[str]) -> tuple[MeasuredPoint, ...]:
    """The scenario's own benchmark where it is of one of ``gpus``, then the published measurements nearest to the
    scenario on each of them, at most 12 of each, nearest first."""
    question = understand(scenario)
    own = [
        (n.distance, n.measurement)
        for n in own_measurements(question)
        if n.measurement.configuration.gpu.id in gpus
        and _alike(question, n.measurement)
        and _output_rate(n.measurement) is not None
    ]
    comparable = {m.row for m in _usable() if m.configuration.gpu.id in gpus and _alike(question, m)}
    measured_gpus = {m.configuration.gpu.id for m in _usable() if m.row in comparable}
    nearest_of: dict[int, tuple[float, Measurement]] = {}
    for row in _references(question, measured_gpus) if measured_gpus else ():
        near = nearest(
            question.model,
            row,
            input_tokens=question.traffic.input_tokens,
            output_tokens=question.traffic.output_tokens,
            count=SEARCHED,
        )
        for n in near:
            m = n.measurement
            here = m.row in comparable and m.configuration.gpu.id == row.gpu.id
            if here and n.distance <= nearest_of.get(m.row, (FARTHEST, m))[0]:
                nearest_of[m.row] = n.distance, m
    ranked = sorted(nearest_of.values(), key=lambda near: (near[0], near[1].row))
    kept = [near for gpu in gpus for near in [r for r in ranked if r[1].configuration.gpu.id == gpu][:PER_GPU]]
    return _points(question, own + kept)


@cache
def _usable() -> tuple[Measurement, ...]:
    """The measurements that have a place in the chart."""
    return tuple(m for m in evidence() if _output_rate(m) is not None)


def _alike(question: Question, m: Measurement) -> bool:
    """Whether both lengths are comparable."""
    traffic = question.traffic
    ratios = m.input_tokens / traffic.input_tokens, m.output_tokens / traffic.output_tokens
    return all(1 / COMPARABLE <= r <= COMPARABLE for r in ratios)


def _output_rate(m: Measurement) -> float | None:
    """Output tokens/s of all GPUs: as measured, else concurrency x OSL / E2E of a closed loop; None when unknown."""
    if m.mode not in MODES or not m.itl_ms:
        return None
    if m.output_tokens_per_s:
        return m.output_tokens_per_s
    if m.mode != "fixed_concurrency" or not m.concurrency or m.ttft_ms is None:
        return None
    e2e_ms = m.e2e_ms or m.ttft_ms + (m.output_tokens - 1) * m.itl_ms
    return m.concurrency * m.output_tokens / e2e_ms * MS_PER_S


def _references(question: Question, gpus: Collection[str]) -> list[Configuration]:
    """What measurements are held against: on each GPU and in each width of weights the smallest instance that fits."""
    candidates = all_configurations(question)
    fits = memory_fit(question.model, candidates, question.traffic.input_tokens + question.traffic.output_tokens).fits
    smallest: dict[tuple[str, str], Configuration] = {}
    for i in np.flatnonzero(fits):
        row = candidates.rows[i]
        key = row.gpu.id, row.precision.width
        if row.gpu.id in gpus and (key not in smallest or row.gpus < smallest[key].gpus):
            smallest[key] = row
    return list(smallest.values())


def _points(question: Question, kept: Sequence[tuple[float, Measurement]]) -> tuple[MeasuredPoint, ...]:
    if not kept:
        return ()
    measured = table([m.configuration for _, m in kept])
    share = share_of_systems(question, measured)
    usd, power = share.usd_per_hour / measured.gpus, share.power_kw / measured.gpus
    rps = np.array([(_output_rate(m) or 0.0) / question.traffic.output_tokens for _, m in kept])
    fleet = fleet_for(question, rps, np.array([m.gpus for _, m in kept], dtype=np.float64))
    at_load = usd_per_million(question, measured.place_of_gpu(question.gpus), fleet)
    return tuple(_point(m, d, float(usd[i]), float(power[i]), float(at_load[i])) for i, (d, m) in enumerate(kept))


def _point(
    m: Measurement, distance: float, usd_per_gpu_hour: float, kw_per_gpu: float, usd_at_load: float
) -> MeasuredPoint:
    total = _output_rate(m)
    assert m.itl_ms
    assert total
    rate = total / m.gpus
    cost = usd_per_gpu_hour / (rate * S_PER_HOUR) * MILLION
    return MeasuredPoint(
        own=m.row < 0,
        gpu=m.configuration.gpu.id,
        configuration=m.configuration.label,
        model=m.model.id,
        source=m.source,
        source_link=m.source_link,
        source_date=m.source_date,
        software_year=m.software_year,
        input_tokens=m.input_tokens,
        output_tokens=m.output_tokens,
        concurrency=m.concurrency,
        distance=distance,
        tokens_per_s_per_user=MS_PER_S / m.itl_ms,
        ttft_ms=m.ttft_ms,
        e2e_ms=m.e2e_ms,
        output_tokens_per_s_per_gpu=rate,
        usd_per_million_output_tokens=known(usd_at_load),
        usd_per_million_output_tokens_at_full_load=known(cost),
        output_tokens_per_s_per_kw=rate / kw_per_gpu if np.isfinite(kw_per_gpu) else None,
    )


def own_measurements(question: Question, concurrency: float | None = None) -> tuple[Near, ...]:
    """The points of the benchmark that calibrates the scenario, nearest in lengths and load first; none without one.

    ``concurrency`` is what the plan has in flight per instance, if it counts. Overloaded open loops are left out: what
    they measured grows for as long as they run.
    """
    if question.benchmark is None or calibrated_configuration(question) is None:
        return ()
    benchmark, traffic = question.benchmark.given, question.traffic
    points = [known.point for known in calibration_points(question.benchmark)]
    kept = [
        _measurement(benchmark, measured, point)
        for measured, point in zip(benchmark.points, points, strict=True)
        if not overloaded(measured)
    ]
    near = [
        Near(measurement=one, distance=load_distance(one, concurrency, traffic.input_tokens, traffic.output_tokens))
        for one in kept
    ]
    return tuple(sorted(near, key=lambda one: one.distance))


def _measurement(benchmark: Benchmark, measured: BenchmarkPoint, point: Point) -> Measurement:
    """One point; an open loop's TTFT is its median, all other latencies are means."""
    open_loop = is_open_loop(measured.mode)
    rate = measured.output_tokens_per_s
    if rate is None and measured.requests_per_s is not None:
        rate = measured.requests_per_s * measured.output_tokens
    return Measurement(
        row=-1 - point.row,
        quality="good",
        source=f"Your benchmark: {benchmark.source}" if benchmark.source else "Your benchmark",
        source_link="",
        source_date="",
        model=point.model,
        configuration=point.configuration,
        software_year=point.software_year,
        engine_version="",
        gpus=benchmark.gpus or point.configuration.gpus,
        input_tokens=measured.input_tokens,
        output_tokens=measured.output_tokens,
        mode=point.mode,
        concurrency=measured.concurrency,
        rate_rps=measured.request_rate_rps,
        ttft_ms=None if open_loop else measured.ttft_ms,
        ttft_ms_p50=measured.ttft_ms if open_loop else None,
        ttft_ms_p99=None,
        itl_ms=measured.itl_ms,
        itl_ms_p50=None,
        itl_ms_p99=None,
        e2e_ms=None,
        output_tokens_per_s=rate,
        requests_per_s=measured.requests_per_s,
        notes="",
    )
