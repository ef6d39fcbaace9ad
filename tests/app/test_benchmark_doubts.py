"""What the Benchmarks page asks for, refuses and doubts, in one sentence each, and never replaces."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from collectors.benchmarks import files_of_tools
from tests.app.pages_text import problems
from tests.app.result_files import PAGE, SAMPLES, VLLM, drop, metric, own, text
from ui import state
from ui.benchmarks.measured import OF_SCENARIO


@pytest.fixture
def page(app: AppTest) -> AppTest:
    return app.switch_page(PAGE).run()


def test_names_that_are_not_known_are_asked_for_and_never_replaced(page: AppTest) -> None:
    drop(page, own(1, 4, 16, model="acme/Secret-72B", gpu="H999 Ultra", engine="myengine", weight_precision="fp5"))
    assert not page.exception
    assert "model “acme/Secret-72B”, GPU “H999 Ultra”, engine “myengine” and weight precision “fp5”" in text(page)
    for name in ("model", "gpu", "engine", "prec"):
        assert page.selectbox(key=f"measured_{name}").value is None
    assert "Predicted against measured" not in [s.value for s in page.subheader]
    for name, chosen in (("model", OF_SCENARIO), ("gpu", "h100_sxm"), ("engine", "vllm"), ("prec", "fp8")):
        page.selectbox(key=f"measured_{name}").set_value(chosen)
    page.run()
    assert "Predicted against measured" in [s.value for s in page.subheader]
    assert not page.warning


def test_parallelism_beyond_all_bounds_is_asked_for_and_never_replaced(page: AppTest) -> None:
    drop(page, own(1, 4, tp="256", gpus="256"))
    assert page.number_input(key="measured_tp").value is None
    assert "TP “256”, which is not known here" in text(page)
    drop(page, own(1, 4, tp="72", gpus="72", gpu="GB200"))
    assert page.number_input(key="measured_tp").value == 72


def test_what_the_file_does_not_say_is_named(page: AppTest) -> None:
    drop(page, *VLLM)
    assert "filled in from the scenario and its plan: GPU, engine, weight precision and TP." in text(page)
    drop(page, own(1, 4))
    assert "filled in from" not in text(page)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_times_in_another_unit_are_not_used(page: AppTest, factor: float) -> None:
    drop(page, own(1, 4, 16, 64, factor=factor))
    assert not page.exception
    assert len(problems(page)) == 1
    assert "which no calibration of this deployment explains" in problems(page)[0]
    assert "(ms, not s)" in problems(page)[0]
    assert metric(page, "Decode interval after") == "unknown"
    assert page.button(key="benchmark_use").disabled


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gpu": "L4", "gpus": "1", "tp": "1"}, "with TP1 needs 67.7 GiB per GPU, and L4 24GB has 22.5 GiB"),
        ({"gpus": "6"}, "6 GPUs are no whole number of instances of 4 (TP x PP x DP)."),
    ],
)
def test_what_cannot_have_run_is_one_sentence(page: AppTest, changes: dict[str, str], sentence: str) -> None:
    drop(page, own(1, 4, **changes))
    assert not page.exception
    assert len(problems(page)) == 1
    assert sentence in problems(page)[0]


def test_points_that_contradict_each_other_are_said_to_improve_nothing(page: AppTest) -> None:
    name, one = own(8, 32)
    drop(page, (name, one.replace(b",14.96", b",30").replace(b",17.84", b",9")))
    assert "Using them improves nothing" in text(page)


def test_nothing_is_said_of_itl_where_only_first_tokens_were_measured(page: AppTest) -> None:
    name, one = own(1, 4)
    drop(page, (name, one.replace(b"tpot_ms_mean", b"colour")))
    assert not page.exception
    assert [metric(page, m) for m in ("ITL error before", "ITL error after", "ITL in 80 % interval")] == ["unknown"] * 3


def test_a_benchmark_is_removed_where_it_was_used(page: AppTest) -> None:
    drop(page, own(1, 4, 16))
    page.button(key="benchmark_use").click().run()
    assert "In use" in text(page)
    page.button(key="benchmark_unuse").click().run()
    assert "In use" not in text(page)
    assert not page.button(key="benchmark_use").disabled


def test_of_very_many_runs_as_many_are_used_as_a_scenario_holds(page: AppTest) -> None:
    drop(page, own(*range(1, 402)))
    assert "200 of 401 runs, spread evenly over the loads, are compared and used." in text(page)
    page.button(key="benchmark_use").click().run()
    loads = [p["concurrency"] for p in page.session_state[state.BENCHMARK]["points"]]
    assert (len(loads), loads[0], loads[-1]) == (200, 1, 401)


def test_a_bad_row_alone_is_named_with_its_file(page: AppTest) -> None:
    result = json.loads(VLLM[0].read_text()) | {"mean_itl_ms": "NaN"}
    drop(page, ("run.json", json.dumps(result).encode()))
    assert problems(page) == ["run.json, row 1: mean_itl_ms is not a number: “NaN”."]


def test_the_template_of_the_own_csv_is_read_and_explained(page: AppTest) -> None:
    from collectors.benchmarks.csv_columns import TEMPLATE
    from ui.benchmarks.upload import explained

    assert all(tool in text(page) for tool in files_of_tools())
    assert "ttft_ms_p99" in explained()
    drop(page, ("benchmark_template.csv", TEMPLATE.encode()))
    assert "Read 2 runs" in text(page)


def test_dp_attention_counts_gpus_once(page: AppTest) -> None:
    """InferenceX writes TP 8 and DP attention for 8 GPUs: one instance of TP1 DP8, not 64 GPUs."""
    rows = json.loads((SAMPLES / "inferencex_agg_bmk.json").read_text())
    run = rows if isinstance(rows, dict) else rows[0]
    times = ("mean_", "median_", "p99_")  # five times as long for the larger model, and rates a fifth
    slower = {k: v * 5.0 for k, v in run.items() if k.startswith(times)}
    slower |= {k: v / 5.0 for k, v in run.items() if "tput" in k}
    changed = {"tp": 8, "ep": 8, "dp_attention": "true", "hw": "h200", "precision": "fp8", "model": "DeepSeek-R1"}
    drop(page, ("agg_bmk.json", json.dumps([run | slower | changed]).encode()))
    held = {n: page.number_input(key=f"measured_{n}").value for n in ("tp", "pp", "ep", "dp", "gpus")}
    assert held == {"tp": 1, "pp": 1, "ep": 8, "dp": 8, "gpus": 8}
    assert not problems(page)
