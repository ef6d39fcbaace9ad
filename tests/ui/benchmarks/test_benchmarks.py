"""From imported runs to a benchmark of a scenario, and the figures of the Benchmarks page."""

from datetime import UTC, datetime

import pytest

from collectors.benchmarks import BenchmarkRun, LatencyStats, MeasuredSystem
from sizing.calibration.check import QUANTITIES, Check, check
from sizing.catalog import gpus, resolve_model
from sizing.scenario.schema import Benchmark
from ui.benchmarks.comparison import comparison_table, notes_on
from ui.benchmarks.library import COLUMNS, library
from ui.benchmarks.scenario import benchmark_of, source_of
from ui.benchmarks.upload import preview_table
from ui.figures.benchmark import benchmark_alt_text, build_benchmark
from ui.figures.evidence import build_evidence, drawn, evidence_alt_text
from ui.figures.template import MAX_POINTS, spread_out

MODEL = resolve_model("meta-llama/Llama-3.3-70B-Instruct").model
STATED = MeasuredSystem(model=MODEL.id, gpu="h100_sxm", engine="vllm", weight_precision="fp8", tp=4, gpus=4)


def run(load: float, itl: float, **more: object) -> BenchmarkRun:
    values: dict[str, object] = {
        "file": "a/run.json",
        "row": 1,
        "tool": "vLLM bench serve",
        "mode": "fixed_concurrency",
        "concurrency": load,
        "isl_mean": 1000.0,
        "osl_mean": 500.0,
        "tpot_ms": LatencyStats(mean=itl),
        "ttft_ms": LatencyStats(mean=200.0, percentiles={"p50": 150.0}),
        "output_tokens_per_s": 1000.0,
        "when": datetime(2026, 11, 20, tzinfo=UTC),
        **more,
    }
    return BenchmarkRun(**values)


CURVE = (run(4, 15.0), run(32, 22.0), run(128, 40.0))


def at_rate(rate: float, itl: float, ttft: float) -> BenchmarkRun:
    stats = LatencyStats(mean=2 * ttft, percentiles={"p50": ttft, "p99": 5 * ttft})
    asked = {"mode": "fixed_rate", "concurrency": None, "request_rate_rps": rate, "requests_per_s": rate}
    return run(0, itl, ttft_ms=stats, output_tokens_per_s=500 * rate, **asked)


RATES = (at_rate(1.0, 14.0, 90.0), at_rate(4.0, 20.0, 110.0))


def compared_of(curve: tuple[BenchmarkRun, ...]) -> tuple[Benchmark, Check]:
    benchmark, left_out = benchmark_of(curve, STATED)
    assert benchmark is not None
    assert not left_out
    return benchmark, check(benchmark, MODEL)


@pytest.fixture(scope="module")
def compared() -> tuple[Benchmark, Check]:
    return compared_of(CURVE)


@pytest.fixture(scope="module")
def rates_compared() -> tuple[Benchmark, Check]:
    return compared_of(RATES)


def test_runs_become_points_of_a_benchmark() -> None:
    benchmark, _ = benchmark_of(CURVE, STATED)
    assert [p.concurrency for p in benchmark.points] == [4, 32, 128]
    assert benchmark.points[0].ttft_ms == 200, "a closed loop's TTFT is its mean"
    assert (benchmark.tp, benchmark.ep, benchmark.gpus, benchmark.model) == (4, 1, 4, MODEL.id)
    assert benchmark.source == "vLLM bench serve of 2026-11-20 (run.json)"


def test_ttft_of_an_open_loop_is_its_median() -> None:
    benchmark, _ = benchmark_of(RATES, STATED)
    assert [(p.ttft_ms, p.ttft_p99_ms) for p in benchmark.points] == [(90, 450), (110, 550)]


def test_p99_of_a_closed_loop_is_an_effect_of_its_start_and_left_out() -> None:
    benchmark, _ = benchmark_of([run(4, 15.0, ttft_ms=LatencyStats(mean=200.0, percentiles={"p99": 900.0}))], STATED)
    assert benchmark.points[0].ttft_p99_ms is None


def test_p99_of_an_open_loop_is_compared_and_calibrates_nothing(rates_compared: tuple[Benchmark, Check]) -> None:
    benchmark, found = rates_compared
    table = comparison_table(benchmark, found, "ttft_p99_ms")
    assert table["Measured (ms)"].tolist() == [450.0, 550.0]
    median, last = ([r for r in found.rows if r.quantity == q] for q in ("ttft_ms", "ttft_p99_ms"))
    for low, high in zip(median, last, strict=True):
        assert high.predicted > low.predicted
        assert high.low < high.predicted < high.high
        assert high.high > low.high, "an engine that is slower queues longer"
    without = benchmark.model_copy(
        update={"points": [p.model_copy(update={"ttft_p99_ms": None}) for p in benchmark.points]}
    )
    assert check(without, MODEL).calibrated == found.calibrated


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"isl_mean": None}, "The file does not say the prompt length."),
        ({"osl_mean": None}, "The file does not say the output length."),
        ({"mode": None}, "The file does not say how the load was offered."),
        ({"concurrency": None}, "concurrency is required with mode fixed_concurrency."),
    ],
)
def test_a_run_that_says_too_little_is_named_and_the_others_are_kept(more: dict[str, object], sentence: str) -> None:
    benchmark, left_out = benchmark_of([run(4, 15.0, **more), *CURVE], STATED)
    assert len(benchmark.points) == 3
    assert [e.message for e in left_out] == [sentence]


def test_a_source_names_tool_day_and_files() -> None:
    assert source_of([run(1, 1.0), run(2, 2.0, file="b.json")]).endswith("(run.json and 1 more)")
    assert source_of([run(1, 1.0, when=None)]) == "vLLM bench serve (run.json)"


def test_preview_leaves_out_what_no_run_says() -> None:
    table = preview_table(CURVE)
    assert "Asked (1/s)" not in table.columns
    assert table["Mean ITL (ms)"].tolist() == [15.0, 22.0, 40.0]


def test_comparison_states_error_interval_and_calibration(compared: tuple[Benchmark, Check]) -> None:
    benchmark, found = compared
    table = comparison_table(benchmark, found, "itl_ms")
    assert table["Measured (ms)"].tolist() == [15.0, 22.0, 40.0]
    itl = [r for r in found.rows if r.quantity == "itl_ms"]
    for row, error in zip(itl, table["Error"], strict=True):
        assert error == pytest.approx(row.predicted / row.measured - 1, rel=0.06)
    assert set(table["Within the interval"]) <= {"yes", "no"}
    assert found.calibrated.after <= found.calibrated.before
    assert found.left_out_median is not None


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_figure_names_statistic_and_unit(
    compared: tuple[Benchmark, Check], rates_compared: tuple[Benchmark, Check], quantity: str, dark: bool
) -> None:
    benchmark, found = rates_compared if quantity == "ttft_p99_ms" else compared
    figure = build_benchmark(benchmark.points, found.rows, quantity, dark=dark)
    title = figure.layout.yaxis.title.text
    assert "(" in title
    assert {"ttft_p99_ms": "p99", "output_tokens_per_s": "tokens/s"}.get(quantity, "Mean") in title
    assert {t.name for t in figure.data} >= {"Predicted", "After calibration", "Measured"}
    assert figure.to_json() == build_benchmark(benchmark.points, found.rows, quantity, dark=dark).to_json()


def test_beyond_the_largest_stable_rate_no_latency_is_compared_and_the_page_says_so(
    rates_compared: tuple[Benchmark, Check],
) -> None:
    assert not rates_compared[1].unstable
    benchmark, found = compared_of((*RATES, at_rate(90.0, 120.0, 900.0)))
    assert list(found.unstable) == [2]
    assert found.unstable[2] < 90.0
    assert {r.point for r in found.rows if r.quantity == "itl_ms"} == {0, 1}
    (served,) = [r.predicted for r in found.rows if r.point == 2 and r.quantity == "output_tokens_per_s"]
    assert served == pytest.approx(500 * found.unstable[2])
    (note,) = notes_on(benchmark, found, "itl_ms")
    assert note.startswith("Unstable at 90 requests/s: more than the ")
    assert build_benchmark(benchmark.points, found.rows, "itl_ms").to_json()


def test_an_upper_end_that_slow_step_times_do_not_have_is_said_to_be_that_of_the_most_they_carry() -> None:
    _, beyond = compared_of((at_rate(90.0, 120.0, 900.0),))
    much = round(0.95 * beyond.unstable[0], 1)
    benchmark, found = compared_of((*RATES, at_rate(much, 60.0, 400.0)))
    assert (found.overloaded, found.unstable) == ({2}, {})
    (note,) = notes_on(benchmark, found, "itl_ms")
    assert note.startswith(f"At {much:g} requests/s an engine as slow as the interval allows would not keep up")
    assert not notes_on(benchmark, found, "output_tokens_per_s"), "what is served has an upper end"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"requests_completed": 1000, "osl_mean": 201.4}, "are taken to vary in length as those of ShareGPT"),
        ({"requests_completed": 1000}, "are taken to be of equal length"),
        ({"requests_completed": 1000, "osl_variation": 0.3}, "vary in length as they did"),
        ({}, "does not say how many requests"),
    ],
)
def test_what_an_offline_run_is_compared_with_is_said(more: dict[str, object], said: str) -> None:
    offline = {"mode": "offline", "concurrency": None, "output_tokens_per_s": 4000.0}
    benchmark, found = compared_of((run(0, 40.0, **offline, **more),))
    (note,) = notes_on(benchmark, found, "output_tokens_per_s")
    assert said in note
    assert not notes_on(benchmark, found, "itl_ms")
    assert not compared_of(RATES)[1].overloaded


def test_the_interval_of_a_p99_is_its_own(rates_compared: tuple[Benchmark, Check]) -> None:
    (note,) = notes_on(*rates_compared, "ttft_p99_ms")
    assert "median" not in note
    assert "step times" in note


def test_a_single_point_has_its_interval_as_a_bar() -> None:
    benchmark, _ = benchmark_of(CURVE[:1], STATED)
    found = check(benchmark, MODEL)
    figure = build_benchmark(benchmark.points, found.rows, "itl_ms")
    assert any(trace.error_y.array for trace in figure.data)
    assert found.left_out_median is None


def test_a_quantity_nobody_measured_is_said(compared: tuple[Benchmark, Check]) -> None:
    benchmark, found = compared
    assert "Nothing" in build_benchmark(benchmark.points, (), "itl_ms").layout.annotations[0].text
    assert benchmark_alt_text(benchmark.points, found.rows, "itl_ms").startswith("Measured and predicted mean ITL")


def test_library_holds_every_measurement_with_source_and_licence() -> None:
    rows = library()
    assert len(rows) == 10235
    assert rows[["source", "licence", "link", "place"]].notna().all().all()
    assert set(COLUMNS) <= set(rows.columns)


def test_library_names_every_gpu_as_the_catalogue_does() -> None:
    assert set(library()["gpu_id"]) <= set(gpus())


@pytest.mark.parametrize(("values", "kind"), [((3.0, 4.0), "linear"), ((0.0, 90.0), "linear"), ((1.0, 90.0), "log")])
def test_an_axis_is_logarithmic_only_where_values_span_much(values: tuple[float, float], kind: str) -> None:
    assert spread_out(values)["type"] == kind


def test_evidence_figure_draws_what_states_both() -> None:
    rows = library()
    figure = build_evidence(rows)
    assert sum(len(t.x) for t in figure.data) == len(drawn(rows)) <= MAX_POINTS
    assert len({(t.marker.color, t.marker.symbol) for t in figure.data}) == len(figure.data)
    assert evidence_alt_text(rows).startswith("2,558 measurements on")
    assert "Hardly any" in build_evidence(rows.head(0)).layout.annotations[0].text
