"""Whole plans, compared with those of the last release: a change of any figure is seen and has to be meant.

After a change that is meant: ``pytest tests/sizing/test_golden.py --renew-golden``, and a line in CHANGELOG under
"results changed".
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from sizing import Scenario, plan
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw

FOLDER = Path(__file__).parent / "golden"
PER_RELEASE = ("engine_version", "data_version")
SIMULATED = 0.005
"""Another processor may round a step time differently in its last digit, and so two simulated events change places."""

NUMBER = re.compile(r"\d[\d,]*\.?\d*")
H100 = {"gpus": ["h100_sxm"]}

ASKED: dict[str, dict[str, Any]] = {
    "customer_43b_measured": raw(
        {"name": "NeMo 43B GPT", "params_b": 43},
        limits={"ttft_ms": 3000},
        measured={"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606, "itl_ms": 21.4},
    ),
    "customer_43b_predicted": raw({"name": "NeMo 43B GPT", "params_b": 43}, limits={"ttft_ms": 3000}, deployment=H100),
    "llama_8b_any_gpu": raw(LLAMA_8B, workload={"input_tokens": 2000, "output_tokens": 200}, limits={"ttft_ms": 500}),
    "llama_70b_spares_and_bursts": raw(
        LLAMA_70B,
        workload={"peak_rps": 8, "arrivals": {"gamma": {"cv": 2}}},
        deployment={"gpus": ["h100_sxm", "h200_sxm", "mi300x"], "spare_instances": 1, "max_utilization": 0.8},
    ),
    "deepseek_v3_cloud": raw(
        "deepseek-ai/DeepSeek-V3",
        workload={"peak_rps": 4, "prefix_cached_tokens": 1000},
        deployment={"gpus": ["h200_sxm", "b200_sxm"], "location": "cloud"},
    ),
    "lengths_that_vary_sequential": raw(
        "Qwen/Qwen3-30B-A3B",
        limits={"e2e_ms": 20_000},
        workload={
            "input_tokens": {"p50": 1500, "p95": 6000},
            "output_tokens": {"p50": 300, "p95": 900},
            "peak_rps": None,
            "average_rps": 12,
            "mode": "sequential",
        },
        deployment={"gpus": ["h100_sxm", "l40s"]},
    ),
    "llama_70b_disaggregated": raw(LLAMA_70B, limits={"ttft_ms": 3000, "itl_ms": 30}, deployment=H100),
    "llama_70b_batch_limit": raw(
        LLAMA_70B,
        limits={"ttft_ms": 3000, "itl_ms": 30},
        deployment={"gpus": ["h200_sxm"], "serving": ["aggregated"], "precisions": ["fp8"]},
    ),
    "nothing_meets_the_limit": raw(LLAMA_70B, limits={"ttft_ms": 20}, deployment={"gpus": ["h100_sxm", "t4"]}),
}


def differences(old: Any, new: Any, path: str = "", *, rel_tol: float = 1e-9) -> list[str]:
    """Where two plans differ; floats may differ in their last digits between platforms."""
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(f"{path}.{k}", old.get(k, "missing"), new.get(k, "missing")) for k in dict.fromkeys([*old, *new])]
        return [d for where, a, b in pairs for d in differences(a, b, where, rel_tol=rel_tol)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(old, new, strict=True))]
        return [d for where, a, b in pairs for d in differences(a, b, where, rel_tol=rel_tol)]
    if isinstance(old, float) and isinstance(new, float) and math.isclose(old, new, rel_tol=rel_tol):
        return []
    if isinstance(old, str) and isinstance(new, str) and _same_words(old, new, rel_tol):
        return []
    return [] if old == new else [f"{path[1:]}: {str(old)[:120]} -> {str(new)[:120]}"]


def _same_words(old: str, new: str, rel_tol: float) -> bool:
    """Whether two sentences differ in nothing but the last digits of their numbers."""
    if NUMBER.sub("#", old) != NUMBER.sub("#", new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(
        a == b or math.isclose(*(float(n.replace(",", "")) for n in (a, b)), rel_tol=2 * rel_tol) for a, b in pairs
    )


def test_a_difference_in_words_or_numbers_is_seen() -> None:
    assert differences({"a": "8 GPUs, 480 ms", "b": 1.0}, {"a": "8 GPUs, 481 ms", "b": 1.001}, rel_tol=SIMULATED) == []
    assert len(differences({"a": "8 GPUs, 480 ms"}, {"a": "9 GPUs, 480 ms"}, rel_tol=SIMULATED)) == 1
    assert len(differences({"a": "8 GPUs"}, {"a": "8 systems"}, rel_tol=SIMULATED)) == 1
    assert len(differences({"b": 1.0}, {"b": 1.02}, rel_tol=SIMULATED)) == 1


@pytest.mark.parametrize("name", ASKED)
def test_a_plan_is_that_of_the_last_release(name, renew_golden):
    found = json.loads(plan(Scenario.model_validate(ASKED[name]), alternatives=5).model_dump_json())
    kept = {k: v for k, v in found.items() if k not in PER_RELEASE}
    file = FOLDER / f"{name}.json"
    if renew_golden:
        file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    changed = differences(json.loads(file.read_text(encoding="utf-8")), kept, rel_tol=SIMULATED)
    assert not changed, "\n".join(["Meant? Then renew with --renew-golden.", *changed[:20]])


def test_no_golden_file_is_left_over():
    assert {f.stem for f in FOLDER.glob("*.json")} == set(ASKED)
