"""What the defaults leave out: told where it costs something, and considered after one click."""

import math
import re

import pytest

from sharing.form.write import with_change
from sizing import Scenario, plan
from sizing.base.format import usd as money
from sizing.base.result import Plan
from sizing.catalog.measured import well_measured
from sizing.catalog.precisions import precisions
from sizing.planning.left_out import LESS, _cheaper, _first_of, _kinds
from sizing.question.understand import understand

MODELS = ("meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-32B")
LLAMA_405B = "meta-llama/Llama-3.1-405B-Instruct"

LOOSE = {"ttft_ms": 60_000, "itl_ms": 500}


def asked(model: str = MODELS[0], rps: float = 70.0, **deployment: object) -> Scenario:
    workload = {"input_tokens": 2000, "output_tokens": 200, "peak_rps": rps}
    limits = LOOSE if rps < 1 else {}
    keys = {"model": model, "workload": workload, "limits": limits, "deployment": deployment}
    return Scenario.model_validate(keys)


def usd(found: Plan) -> float:
    assert found.cost.hardware_usd_per_month is not None
    return found.cost.hardware_usd_per_month


@pytest.mark.parametrize("model", MODELS)
def test_unasked_no_format_loses_accuracy(model: str) -> None:
    found = plan(asked(model))
    deployed = [found.deployment, *(one.deployment for one in found.alternatives)]
    formats = {one.weight_precision for one in deployed if one is not None}
    assert formats <= {"bf16", "fp16", "fp8"}
    accurate = {one.id for one in precisions().values() if one.keeps_accuracy and not one.named_only}
    assert accurate == {"bf16", "fp16", "fp8", "q8_0"}


def test_a_checkpoint_of_4_bits_keeps_its_own_format() -> None:
    found = plan(asked("openai/gpt-oss-120b", rps=5))
    assert found.deployment.weight_precision == "mxfp4"


@pytest.mark.parametrize(
    ("gpu", "model"), [("h100_nvl", LLAMA_405B), ("l4", MODELS[2]), ("l40s", "Qwen/Qwen3-235B-A22B")], ids=str
)
def test_what_is_left_out_is_cheaper_and_one_click_away(gpu: str, model: str) -> None:
    """Weights of 4 bits fit on half the cards."""
    before = asked(model, 0.05, gpus=[gpu])
    found = plan(before)
    (one,) = found.left_out
    (warning,) = [w for w in found.warnings if w.code == "left_out"]
    assert (one.kind, warning.severity) == ("lossy_formats", "info")
    assert one.hardware_usd_per_month < 0.9 * usd(found)
    assert "formats that lose accuracy" in warning.message
    assert one.configuration in warning.message
    after = plan(with_change(before, warning.fix.key, warning.fix.value))
    assert after.left_out == ()
    assert usd(after) < usd(found)


def test_two_kinds_are_one_sentence_and_one_click(monkeypatch: pytest.MonkeyPatch) -> None:
    """Had benchmarks been published of the H100 NVL alone: 405 billion parameters fit on four in 4 bits, and on four of
    the H200 NVL in 8."""
    monkeypatch.setattr("sizing.question.understand.measurements", lambda _: {"h100_nvl": 18})
    before = asked(LLAMA_405B, 0.05, measured_gpus_only=True)
    found = plan(before)
    assert [one.kind for one in found.left_out] == ["lossy_formats", "unmeasured_gpus"]
    (warning,) = [w for w in found.warnings if w.code == "left_out"]
    assert warning.message.startswith("Two cheaper plans were left out: weight formats that lose accuracy (")
    assert " and GPUs without published benchmarks (" in warning.message
    assert re.search(r"\), about \$[\d.,k]+ a month instead of \$[\d.,k]+\.$", warning.message)
    assert {warning.fix.key, *(one.key for one in warning.fix.also)} == {
        "deployment.accurate_formats_only",
        "deployment.measured_gpus_only",
    }


@pytest.mark.parametrize(
    "deployment",
    [
        {"precisions": ["bf16", "fp8"], "gpus": ["h100_sxm"]},
        {"accurate_formats_only": False, "gpus": ["h100_sxm"]},
        {"gpus": ["a100_sxm_80g"], "measured_gpus_only": True, "precisions": ["bf16"]},
        {"gpus": sorted(well_measured("gpus") & {"h100_sxm", "h200_sxm"}), "precisions": ["fp8"]},
    ],
)
def test_what_was_chosen_is_not_left_out(deployment: dict[str, object]) -> None:
    found = plan(asked(rps=70.0, **deployment))
    assert found.left_out == ()
    assert "left_out" not in [w.code for w in found.warnings]


def test_a_gpu_that_runs_the_model_in_lossy_formats_alone_says_so() -> None:
    """27 billion parameters in 8 bits are more than an L4 holds."""
    before = asked("google/gemma-3-27b-it", rps=0.1, gpus=["l4"], tp=[1], pp=[1])
    found = plan(before)
    (out,) = found.excluded
    assert (out.fix.key, out.fix.value) == ("deployment.accurate_formats_only", False)
    assert plan(with_change(before, out.fix.key, False)).feasible


@pytest.mark.parametrize("objective", ["cost", "gpus"])
@pytest.mark.parametrize("rps", [0.5, 70.0])
def test_gpus_that_could_be_cheaper_say_what_all_of_them_would(rps: float, objective: str) -> None:
    for _, question in _kinds(understand(asked(rps=rps, objective=objective))):
        whole = _first_of(question)
        if whole is None:
            assert _cheaper(question, 1e12) is None
            continue
        for share in (0.5, 0.99, 1.01, 1.5, 20.0):
            most = share * whole.usd_per_month
            assert _cheaper(question, most) == (whole if share > 1.0 else None)


@pytest.mark.parametrize(
    ("model", "rps", "limits", "location", "brings"),
    [
        ("openai/gpt-oss-120b", 5, (1500, 20), "on_prem", "tensor parallelism over PCIe."),
        ("openai/gpt-oss-120b", 2, (500, 15), "cloud", "drafts, whose gain depends on the traffic."),
        ("deepseek-ai/DeepSeek-R1", 25, (700, 30), "on_prem", "pipeline stages or prefill and decode apart."),
    ],
)
def test_what_costs_less_and_comes_later_says_what_comes_with_it(
    model: str, rps: float, limits: tuple[int, int], location: str, brings: str
) -> None:
    keys = {
        "model": model,
        "workload": {"input_tokens": 3000, "output_tokens": 500, "peak_rps": rps},
        "limits": {"ttft_ms": limits[0], "itl_ms": limits[1]},
        "deployment": {"location": location},
    }
    found = plan(Scenario.model_validate(keys))
    (told,) = (one for one in found.warnings if one.code == "cheaper_alternatives")
    assert told.message.endswith(f"with {brings}")
    least = min(one.hardware_usd_per_month for one in found.alternatives if one.hardware_usd_per_month)
    assert f"{money(least)} a month" in told.message


def test_where_the_plan_costs_least_nothing_is_said_of_dearer_ones() -> None:
    found = plan(asked(rps=5))
    assert all((one.hardware_usd_per_month or math.inf) >= LESS * usd(found) for one in found.alternatives)
    assert "cheaper_alternatives" not in {one.code for one in found.warnings}
