"""Whole plans and predictions, compared with those of the last release: a change of any figure is seen and meant.

After a change that is meant: raise the version of the engine where a figure moved (sizing/base/version.py), then
``pytest tests/sizing/test_golden.py --renew-golden``, and a line in CHANGELOG under "Results changed".
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sizing import Scenario, plan
from sizing.evidence.predict import NUMBERS, predict_points
from tests import golden
from tests.golden import Golden, differences, split, whole
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw

FOLDER = Path(__file__).parent / "golden"
GOLDEN = Golden(FOLDER, versioned=True)
PER_RELEASE = ("engine_version", "data_version")
SIMULATED = 0.005
"""Another processor may round a step time differently in its last digit, and so two simulated events change places."""

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


def test_a_difference_in_words_or_numbers_is_seen() -> None:
    assert differences({"a": "8 GPUs, 480 ms", "b": 1.0}, {"a": "8 GPUs, 481 ms", "b": 1.001}, rel_tol=SIMULATED) == []
    assert len(differences({"a": "8 GPUs, 480 ms"}, {"a": "9 GPUs, 480 ms"}, rel_tol=SIMULATED)) == 1
    assert len(differences({"a": "8 GPUs"}, {"a": "8 systems"}, rel_tol=SIMULATED)) == 1
    assert len(differences({"b": 1.0}, {"b": 1.02}, rel_tol=SIMULATED)) == 1


@pytest.mark.parametrize("name", ASKED)
def test_a_plan_is_that_of_the_last_release(name, renew_golden):
    found = json.loads(plan(Scenario.model_validate(ASKED[name]), alternatives=5).model_dump_json())
    kept = {k: v for k, v in found.items() if k not in PER_RELEASE}
    GOLDEN.check(name, kept, renew=renew_golden, rel_tol=SIMULATED)


def test_predictions_are_those_of_the_last_release(renew_golden):
    """Answers of a small table: a change of the engine or the fit shows here."""
    found = predict_points(pd.read_csv(FOLDER / "points.csv"))
    figures, texts = found[list(NUMBERS)].astype(float), found[["source", "error"]]
    figures_file, texts_file = (part / "points_answers.csv" for part in (GOLDEN.figures, GOLDEN.sentences))

    def same() -> bool:
        return np.allclose(figures, pd.read_csv(figures_file), rtol=1e-5, atol=0, equal_nan=True)

    if renew_golden:
        changed = not same()
        text = figures.to_csv(index=False, float_format="%.6g")
        GOLDEN.renew_figures(figures_file.name, text, changed=changed, moved=changed)
        texts.to_csv(texts_file, index=False)
    assert same(), GOLDEN.moved()
    kept = pd.read_csv(texts_file, keep_default_na=False)
    assert texts.to_numpy().tolist() == kept.to_numpy().tolist(), "Meant? Then renew with --renew-golden."


def test_no_golden_file_is_left_over():
    assert GOLDEN.names() == set(ASKED)


def test_the_version_is_that_of_the_golden_figures():
    assert json.loads(GOLDEN.record.read_text(encoding="utf-8")) == GOLDEN.recorded_today(), (
        "golden/version.json is of another version or of other figures: renew with --renew-golden, "
        "under a raised ENGINE_VERSION (sizing/base/version.py) where a figure moved."
    )


def test_figures_are_kept_apart_from_sentences():
    """A text that is new in the answer has to be named as one, or every wording of it would ask for a version."""
    named = {"system", "price_dates"}

    def texts(value: Any, key: str = "") -> list[str]:
        if isinstance(value, dict):
            return [text for name, one in value.items() for text in texts(one, name)]
        if isinstance(value, list):
            return [text for one in value for text in texts(one, key)]
        return [f"{key}: {value}"] if isinstance(value, str) and " " in value and key not in named else []

    assert [text for name in ASKED for text in texts(split(GOLDEN.answer(name))[0])] == []


def test_an_answer_is_the_same_after_it_was_split():
    answer = {"a": [{"source": "x", "n": 1.5}, {"n": None, "fix": {"label": "y"}}], "warnings": [{"code": "z"}]}
    figures, texts = split(answer)
    assert figures == {"a": [{"n": 1.5}, {"n": None, "fix": {}}]}
    assert texts == {"a[0].source": "x", "a[1].fix.label": "y", "warnings": [{"code": "z"}]}
    assert whole(figures, texts) == answer


@pytest.fixture
def kept_under(tmp_path, monkeypatch):
    """A golden answer of 8 GPUs, kept under engine 0.9.0, which is the latest release."""
    monkeypatch.setattr(golden, "released", lambda: ["0.9.0"])
    made = Golden(tmp_path, versioned=True)
    for folder in (made.figures, made.sentences):
        folder.mkdir()

    def renewed(version: str, answer: dict[str, Any]) -> Golden:
        monkeypatch.setattr(golden, "ENGINE_VERSION", version)
        made.check("a", answer, renew=True, rel_tol=SIMULATED)
        return made

    renewed("0.9.0", {"gpus": 8, "ms": 1.0, "answer": "8 GPUs."})
    return renewed


@pytest.mark.parametrize("version", ["0.9.0", "0.9.1"])
def test_figures_of_a_released_version_are_not_renewed(kept_under, version):
    with pytest.raises(pytest.fail.Exception, match=f"Engine {version} was released with other figures in a.json"):
        kept_under(version, {"gpus": 9, "ms": 1.0, "answer": "9 GPUs."})


def test_figures_edited_by_hand_are_not_renewed(kept_under):
    made = kept_under("0.9.0", {"gpus": 8, "ms": 1.0, "answer": "8 GPUs."})
    (made.figures / "a.json").write_text('{"gpus": 9, "ms": 1.0}')
    with pytest.raises(pytest.fail.Exception, match=r"Engine 0\.9\.0 was released with other figures"):
        kept_under("0.9.0", {"gpus": 9, "ms": 1.0, "answer": "9 GPUs."})


def test_sentences_and_new_fields_of_a_released_version_are_renewed(kept_under):
    made = kept_under("0.9.1", {"gpus": 8, "ms": 1.001, "answer": "Eight."})
    assert made.answer("a") == {"gpus": 8, "ms": 1.0, "answer": "Eight."}, "digits that a processor rounds stay"
    made = kept_under("0.9.1", {"gpus": 8, "ms": 1.0, "answer": "Eight.", "power_kw": 10.0})
    assert made.answer("a")["power_kw"] == 10.0


def test_figures_are_renewed_under_a_raised_version(kept_under):
    made = kept_under("0.10.0", {"gpus": 9, "ms": 1.0, "answer": "9 GPUs."})
    assert made.answer("a")["gpus"] == 9
    assert json.loads(made.record.read_text()) == made.recorded_today()
    assert made.recorded_today()["version"] == "0.10.0"


def test_a_changed_figure_says_what_to_do(kept_under):
    made = kept_under("0.9.0", {"gpus": 8, "ms": 1.0, "answer": "8 GPUs."})
    with pytest.raises(AssertionError, match=r"raise the minor number of ENGINE_VERSION in sizing/base/version\.py"):
        made.check("a", {"gpus": 9, "ms": 1.0, "answer": "8 GPUs."}, renew=False, rel_tol=SIMULATED)
    with pytest.raises(AssertionError, match=r"Sentences changed\. Meant\? Then renew with --renew-golden"):
        made.check("a", {"gpus": 8, "ms": 1.0, "answer": "Eight."}, renew=False, rel_tol=SIMULATED)
