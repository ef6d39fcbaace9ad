"""Result files on the Benchmarks page: read, compared, used for the scenario; the evidence library."""

import json

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from sizing.scenario.file import parse, scenario_from
from tests.app.conftest import OpenLink
from tests.app.pages_text import answer, problems
from tests.app.result_files import PAGE, SAMPLES, VLLM, drop, drop_vllm, metric, own, table, text
from ui import state
from ui.benchmarks.measured import OF_SCENARIO


@pytest.fixture
def page(app: AppTest) -> AppTest:
    return app.switch_page(PAGE).run()


def test_empty_page_says_what_can_be_dropped(page: AppTest) -> None:
    assert not page.exception
    assert "vLLM bench serve" in text(page)
    assert "64 MB" in page.file_uploader(key="benchmark_files").label


def test_real_vllm_files_are_previewed_and_compared(page: AppTest) -> None:
    drop_vllm(page)
    assert not page.exception
    assert "Read 8 runs in 2 curves (vLLM bench serve)" in text(page)
    preview = table(page, "p50 TTFT (ms)")
    assert preview["Asked (1/s)"].tolist() == [2, 4, 6, 8, 10, 12, 14]
    compared = table(page, "Within the interval")
    assert len(compared) == 7
    assert {"Measured (ms)", "Predicted (ms)", "Error", "After calibration (ms)"} <= set(compared.columns)
    assert page.selectbox(key="measured_engine").value == "vllm", "vLLM's own tool"


@pytest.mark.parametrize(
    "name",
    [
        "sglang_bench_serving.jsonl",
        "inferencex_agg_bmk.json",
        "guidellm/guidellm_rate4.json",
        "aiperf_server_tokens.json",
        "inference-perf/stage_3_lifecycle_metrics.json",
        "made_up/trtllm_report.json",
        "llmperf_summary_excerpt.json",
        "made_up/profile_export_genai_perf.json",
        "guidellm/guidellm_rate4.csv",
    ],
)
def test_every_sample_is_shown_without_a_fault(page: AppTest, name: str) -> None:
    drop(page, SAMPLES / name)
    assert not page.exception
    assert "Read " in text(page)


PASTED = (
    "============ Serving Benchmark Result ============\n"
    "Successful requests:                     100       \n"
    "Maximum request concurrency:             16        \n"
    "Total input tokens:                      99744     \n"
    "Total generated tokens:                  100000    \n"
    "Request throughput (req/s):              2.43      \n"
    "Mean TTFT (ms):                          60.77     \n"
    "Mean TPOT (ms):                          6.50      \n"
    "==================================================\n"
)


def test_what_a_benchmark_printed_is_read_as_it_is_pasted(page: AppTest) -> None:
    page.text_area(key="benchmark_pasted").set_value(PASTED).run()
    assert not page.exception
    assert "Read 1 run in 1 curve (Console of vLLM or SGLang)" in text(page)
    page.text_area(key="benchmark_pasted").set_value("it was fast").run()
    assert not page.exception
    assert "pasted text is not the result of a benchmark tool known here" in " ".join(problems(page))
    page.text_area(key="benchmark_pasted").set_value("  ").run()
    assert "vLLM bench serve" in text(page)


def test_what_the_file_says_fills_the_form(page: AppTest) -> None:
    drop(page, SAMPLES / "made_up" / "trtllm_report.json")
    held = {key: page.selectbox(key=f"measured_{key}").value for key in ("model", "gpu", "engine", "prec", "kv")}
    assert held == {
        "model": "meta-llama/Meta-Llama-3.1-8B",
        "gpu": "h100_sxm",
        "engine": "trtllm",
        "prec": "fp8",
        "kv": "fp8",
    }
    assert page.number_input(key="measured_tp").value == 2


def test_bad_rows_are_listed_and_the_good_ones_kept(page: AppTest) -> None:
    drop(page, SAMPLES / "made_up" / "own.csv")
    assert "Read 2 runs" in text(page)
    listed = table(page, "Why")
    assert listed["Row"].tolist() == [3, 5]
    assert "request_rate_rps is not a number: “fast”" in listed["Why"].tolist()
    assert not problems(page)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.json", b"", "empty.json"),
        ("broken.json", b'{"a": ', "broken.json"),
        ("random.bin", bytes(range(256)) * 4, "random.bin"),
        ("server.log", b"INFO started\n", "server.log is not the result of a benchmark tool known here"),
        ("notes.csv", b"a,b\n1,2\n", "notes.csv is not the result of a benchmark tool known here"),
        ("bad.zip", b"PK\x03\x04nonsense", "bad.zip is not a readable zip archive"),
        ("big.json", b" " * ((64 << 20) + 1), "big.json is larger than 64 MB"),
        ("odd.csv", b"mode,isl,osl\nburst,1,2\n", "mode is not fixed_concurrency"),
    ],
)
def test_a_bad_file_is_one_sentence(page: AppTest, name: str, content: bytes, sentence: str) -> None:
    drop(page, (name, content))
    assert not page.exception
    assert len(problems(page)) == 1
    assert sentence in problems(page)[0]
    assert "\n" not in problems(page)[0]


def test_names_with_markup_are_shown_as_text(page: AppTest) -> None:
    result = json.loads(VLLM[0].read_text())
    drop(page, ("<b>*x*</b>.json", json.dumps(result | {"model_id": "**m** $x$ :red[y]"}).encode()))
    assert not page.exception
    assert r"\*\*m\*\* \$x\$" in text(page)


def test_impossible_descriptions_are_one_sentence(page: AppTest) -> None:
    drop_vllm(page)
    page.selectbox(key="measured_gpu").set_value("a100_sxm_80g")
    page.selectbox(key="measured_prec").set_value("fp8").run()
    assert problems(page) == ["A100 SXM4 80GB does not run FP8 (W8A8)."]
    assert not page.exception


def test_used_benchmark_calibrates_the_scenario_until_it_is_removed(page: AppTest) -> None:
    drop_vllm(page)
    page.selectbox(key="measured_gpu").set_value("h200_sxm").run()
    page.button(key="benchmark_use").click().run()
    assert "In use" in text(page)
    assert "A link does not carry it" in text(page)
    size = page.switch_page("pages/size.py").run()
    assert not size.exception
    assert "Measured benchmark in use" in text(size)
    size.button(key="benchmark_only").click().run()
    assert "H200 SXM 141GB" in answer(size)
    size.session_state["view"] = "Why"
    size.run()
    assert "measured benchmark vLLM bench serve of 2026-11-20" in text(size)
    assert "measured points of this very configuration" in text(size)
    before = answer(size)
    size.button(key="benchmark_remove").click().run()
    assert "Measured benchmark in use" not in text(size)
    assert answer(size) != before or "measured benchmark" not in text(size)


def test_the_scenario_file_carries_the_benchmark_and_the_link_does_not(page: AppTest) -> None:
    from sharing.document import to_yaml
    from ui.state import FormAnswer

    drop_vllm(page)
    page.button(key="benchmark_use").click().run()
    held = page.session_state[state.BENCHMARK]
    size = page.switch_page("pages/size.py").run()
    last: FormAnswer = size.session_state["last_answer"]
    assert last.scenario.benchmark is not None
    again = scenario_from(parse(to_yaml(last.scenario)))
    assert again.benchmark == last.scenario.benchmark
    assert yaml.safe_load(to_yaml(last.scenario))["benchmark"]["points"]
    assert len(held["points"]) == 7
    assert all("bench" not in code.value for code in size.code)


def test_benchmark_of_another_model_can_bring_its_model(page: AppTest) -> None:
    drop(page, SAMPLES / "made_up" / "own.csv")
    assert "so this benchmark says nothing about it" in text(page)
    page.button(key="benchmark_use_model").click().run()
    assert "In use" in text(page)
    size = page.switch_page("pages/size.py").run()
    assert size.selectbox(key="model").value == "meta-llama/Meta-Llama-3.1-8B"
    assert any("did not" in w or "not this deployment" in w for w in [text(size)])


def test_thousands_are_grouped_in_what_is_compared(page: AppTest) -> None:
    drop(page, own(1, 4, factor=1000.0))
    (compared,) = [d for d in page.dataframe if "Measured (ms)" in d.value.columns]
    assert json.loads(compared.proto.columns)["Measured (ms)"]["type_config"]["format"] == "localized"


def test_closed_loop_ttft_is_said_to_be_a_cohort_effect(page: AppTest) -> None:
    drop(page, SAMPLES / "made_up" / "own.csv")
    page.session_state["benchmark_quantity"] = "ttft_ms"
    page.run()
    assert "never with the TTFT at a request rate" in text(page)


def test_import_survives_a_visit_to_another_page(page: AppTest) -> None:
    drop_vllm(page)
    page.selectbox(key="measured_gpu").set_value("h200_sxm").run()
    page.switch_page("pages/size.py").run()
    back = page.switch_page(PAGE).run()
    assert "Read 8 runs" in text(back)
    assert back.selectbox(key="measured_gpu").value == "h200_sxm"


def test_the_other_curve_can_be_chosen(page: AppTest) -> None:
    drop_vllm(page)
    page.selectbox(key="benchmark_curve").set_value(1).run()
    page.selectbox(key="measured_model").set_value(OF_SCENARIO).run()
    assert not page.exception
    assert metric(page, "ITL in 80 % interval").endswith("of 1")
    assert metric(page, "ITL error after") == "unknown"


def test_model_by_size_is_compared_too(app: AppTest) -> None:
    size = app.switch_page("pages/size.py").run()
    size.session_state["model_by"] = "size"
    size.run()
    size.text_input(key="size_b").set_value("8").run()
    page = drop_vllm(size.switch_page(PAGE).run())
    assert not page.exception
    assert not problems(page)
    page.button(key="benchmark_use").click().run()
    assert "In use" in text(page)


def test_library_is_searched_and_states_sources(page: AppTest) -> None:
    page.session_state["bench"] = "Evidence library"
    page.run()
    assert "10,235 published measurements" in text(page)
    page.multiselect(key="evidence_engine").set_value(["SGLang"]).run()
    page.multiselect(key="evidence_gpu").set_value(["H200 SXM 141GB"]).run()
    shown = table(page, "Licence")
    assert set(shown["Engine"]) == {"SGLang"}
    assert set(shown["GPU"]) == {"H200 SXM 141GB"}
    assert shown["Link"].str.startswith("https://").all()
    assert "it is not the TTFT of a customer at a request rate" in text(page)


def test_a_search_without_a_match_says_so(page: AppTest) -> None:
    page.session_state["bench"] = "Evidence library"
    page.run()
    page.multiselect(key="evidence_gpu").set_value(["L40S 48GB"])
    page.multiselect(key="evidence_engine").set_value(["SGLang"]).run()
    assert any("No measurement matches" in i.value for i in page.info)
    assert not page.exception


def test_nearest_measurements_follow_the_scenario(page: AppTest) -> None:
    page.session_state["bench"] = "Evidence library"
    page.session_state["evidence_show"] = "Nearest to this scenario"
    page.run()
    assert "nearest first" in text(page)
    assert "100 measurements found" in text(page)


def test_why_shows_the_nearest_measurements_with_their_source(size: AppTest) -> None:
    size.session_state["view"] = "Why"
    size.run()
    near = table(size, "Distance")
    assert len(near) == 5
    assert near["Distance"].is_monotonic_increasing
    assert near["Source"].notna().all()
    assert near.reindex(columns=["Mean ITL (ms)", "Tokens/s per GPU"]).notna().any(axis=1).all()


def test_own_points_stand_in_why_and_in_explore(page: AppTest) -> None:
    drop(page, own(1, 4, 16, 64))
    page.button(key="benchmark_use").click().run()
    size = page.switch_page("pages/size.py").run()
    size.button(key="benchmark_only").click().run()
    size.session_state["view"] = "Why"
    size.run()
    near = table(size, "Distance")
    assert near["Source"].str.startswith("Your benchmark: own CSV (own.csv)").tolist()[:4] == [True] * 4
    assert near["Load"].str.contains("16 in flight|64 in flight")[0], "nearest in load first"
    assert len(near) == 9, "published ones follow"
    explore = size.switch_page("pages/explore.py").run()
    assert not explore.exception
    chart = next(c for c in explore.get("plotly_chart") if "Your benchmark" in c.proto.spec)
    assert "diamond" in chart.proto.spec
    assert "Measured points are means of their runs, the lines p95 at a steady load" in text(explore)


def test_cold_link_opens_the_library(open_link: OpenLink) -> None:
    page = open_link(goto="benchmarks", bench="Evidence library")
    assert not page.exception
    assert "published measurements" in text(page)
