import pytest

from sizing.methodology.accuracy import accuracy_figures
from ui.figures.accuracy import (
    build_capacity,
    build_learning_curve,
    build_reliability,
    learning_alt_text,
    reliability_alt_text,
)

RELIABILITY = [
    {"nominal_pct": 50, "ttft_pct": 45.0, "itl_pct": 52.0, "e2e_pct": 50.0, "throughput_pct": 49.0},
    {"nominal_pct": 80, "ttft_pct": 70.0, "itl_pct": 81.0, "e2e_pct": 79.0, "throughput_pct": 78.0},
]
LEARNING = [
    {"mode": mode, "metric": "itl", "models": n, "median_pct": 20.0 - n, "roofline_alone_pct": 30.0 - n}
    for mode in ("fixed_concurrency", "offline_max_throughput", "static_batch")
    for n in (3, 8)
]

RUNS = [
    {"benchmark": name, "gpu": "h100_sxm", "layout": "TP2", "gpus": 8, "measured_rps": 80.0, "planned_rps": planned}
    for name, planned in (("llama2-70b", 88.0), ("llama2-70b", 0.0), ("mixtral-8x7b", 160.0))
]


@pytest.mark.parametrize("dark", [False, True])
def test_capacity_has_the_diagonal_and_the_served_runs_of_each_benchmark(dark: bool) -> None:
    figure = build_capacity(RUNS, dark=dark)
    assert [t.name for t in figure.data] == ["As measured", "llama2-70b", "mixtral-8x7b"]
    assert (list(figure.data[1].x), list(figure.data[1].y)) == ([10.0], [11.0])
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


@pytest.mark.parametrize("dark", [False, True])
def test_reliability_has_the_diagonal_and_a_line_per_metric(dark: bool) -> None:
    figure = build_reliability(RELIABILITY, dark=dark)
    assert [t.name for t in figure.data] == ["As promised", "TTFT", "ITL", "E2E", "Output tokens/s"]
    assert list(figure.data[2].y) == [52.0, 81.0]
    assert figure.layout.xaxis.title.text == "Nominal coverage (%)"


@pytest.mark.parametrize("dark", [False, True])
def test_the_learning_curve_has_a_line_per_protocol(dark: bool) -> None:
    figure = build_learning_curve(LEARNING, dark=dark)
    assert [t.name for t in figure.data] == ["Closed-loop ITL", "Offline output tokens/s", "Static-batch E2E"]
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([3, 8], [17.0, 12.0])


def test_charts_are_said_in_a_sentence() -> None:
    assert "ITL 81 %" in reliability_alt_text(RELIABILITY)
    assert "17 % with 3 models" in learning_alt_text(LEARNING)


def test_the_committed_figures_can_be_drawn() -> None:
    figures = accuracy_figures()
    assert len(build_reliability(figures["reliability"]).data) == 5
    assert len(build_capacity(figures["capacity_runs"]).data) > 1
    assert all(len(t.x) for t in build_learning_curve(figures["learning_curve"]).data)
