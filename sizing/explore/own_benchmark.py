"""The points of a scenario's own benchmark as measurements, to stand beside the published ones."""

from sizing.base.choices import is_open_loop
from sizing.calibration.benchmark import calibrated_configuration, calibration_points, overloaded
from sizing.evidence.points import Point
from sizing.evidence.published import Measurement, Near, load_distance
from sizing.question.understand import Question
from sizing.scenario.schema import Benchmark, BenchmarkPoint


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
