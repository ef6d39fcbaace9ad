"""The measurements below the explanation of a figure."""

import pytest

from sizing import Scenario, plan
from sizing.base.result import Plan
from sizing.explore.nearest import narrowed_by
from sizing.methodology.accuracy import accuracy_figures
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sizing.asking import put_beside
from ui.size.explain import MEASURED
from ui.size.nearby import evidence_for, measured_nearby


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.model_validate(
        {
            "model": "meta-llama/Llama-3.3-70B-Instruct",
            "workload": {"input_tokens": 1000, "output_tokens": 300, "peak_rps": 5},
            "deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["fp8"], "tp": [4], "pp": [1]},
            "benchmark": {
                "source": "own CSV (own.csv)",
                "gpu": "h100_sxm",
                "engine": "vllm",
                "weight_precision": "fp8",
                "tp": 4,
                "points": [
                    {
                        "mode": "fixed_concurrency",
                        "concurrency": 16,
                        "input_tokens": 1000,
                        "output_tokens": 300,
                        "itl_ms": 15.9,
                        "ttft_ms": 108,
                    },
                    {
                        "mode": "fixed_rate",
                        "request_rate_rps": 4,
                        "input_tokens": 1000,
                        "output_tokens": 300,
                        "itl_ms": 16.9,
                        "ttft_ms": 98,
                    },
                ],
            },
        }
    )


@pytest.fixture(scope="module")
def answer(scenario: Scenario) -> Plan:
    return plan(scenario)


def test_own_points_come_first_and_name_their_source(scenario: Scenario, answer: Plan) -> None:
    lines = measured_nearby(Answer(understand(scenario), answer), "itl_ms").splitlines()
    assert lines[0] == "Measured nearby (mean ITL); more under Why:"
    assert len(lines) == 5, "three of them"
    own = [line for line in lines if "Your benchmark" in line]
    assert any(line.startswith("- **15.9 ms**: Llama-3.3-70B-Instruct on 4 x H100 SXM5 80GB, vLLM") for line in own)


def test_first_tokens_of_a_closed_loop_are_never_shown(scenario: Scenario, answer: Plan) -> None:
    said = measured_nearby(Answer(understand(scenario), answer), "ttft_ms")
    assert "**98 ms**" in said
    assert "108" not in said
    assert "closed loop" not in said


def test_published_measurements_are_shown_without_a_benchmark_of_ones_own(scenario: Scenario) -> None:
    alone = scenario.model_copy(update={"benchmark": None})
    said = measured_nearby(Answer.of(alone), "itl_ms")
    assert "Your benchmark" not in said
    assert said.count("H100 SXM5 80GB") >= 1
    assert "T00:00" not in said, "a day without a time of day"


def test_where_nothing_is_near_it_is_said(scenario: Scenario) -> None:
    workload = {"input_tokens": 90_000, "output_tokens": 8_000, "peak_rps": 0.01}
    asked = scenario.model_dump() | {"benchmark": None, "workload": workload, "deployment": {"gpus": ["h100_sxm"]}}
    far = Scenario.model_validate(asked)
    said = measured_nearby(Answer.of(far), "ttft_ms")
    assert said == "Measured: no median TTFT at a request rate of a deployment and load near enough to this one."


def test_every_measured_figure_can_be_asked(scenario: Scenario, answer: Plan) -> None:
    for name in MEASURED:
        assert measured_nearby(Answer(understand(scenario), answer), name)


def test_a_percentile_quotes_the_evidence_for_it_and_for_no_other(scenario: Scenario, answer: Plan) -> None:
    unseen = [row for row in accuracy_figures()["errors"] if (row["scheme"], row["quality"]) == ("unseen", "good")]
    errors = {row["metric"]: row for row in unseen if row["mode"] == "fixed_rate"}
    for percentile, metric in ((50, "ttft"), (99, "ttft_p99")):
        limits = scenario.limits.model_copy(update={"percentile": float(percentile)})
        text = evidence_for(put_beside(scenario.model_copy(update={"limits": limits}), answer), "ttft_ms")
        assert text.startswith(f"p{percentile} TTFT of published runs")
        assert f"less than {errors[metric]['median_pct']:.2g} %" in text
    asked = evidence_for(Answer(understand(scenario), answer), "ttft_ms")
    assert scenario.limits.percentile == 95
    assert "How far p95 TTFT is off has not been measured" in asked
    assert "Nobody publishes the p95" in asked
    assert "were off by" not in asked


@pytest.mark.parametrize(("gpu", "engine", "named"), [("h100_sxm", "vllm", "InferenceX"), ("l4", "vllm", "")])
def test_the_rows_that_narrow_the_interval_are_named(gpu: str, engine: str, named: str) -> None:
    """Llama 3.3 70B by vLLM on H100 was published by InferenceX; on L4 by nobody."""
    scenario = Scenario.model_validate(
        {
            "model": "meta-llama/Llama-3.3-70B-Instruct",
            "workload": {"input_tokens": 1000, "output_tokens": 300, "peak_rps": 1},
            "deployment": {"gpus": [gpu], "engines": [engine], "precisions": ["fp8"]},
        }
    )
    said = narrowed_by(Answer.of(scenario))
    assert named in said
    assert bool(said) == bool(named)
