"""Processors and unified memory: what the product says of published runs, and what it says to whom it did not see."""

import csv
from pathlib import Path

import numpy as np
import pytest

from calibration.processors import FAMILIES, Runs, runs
from sizing import plan
from sizing.base.errors import SizingError
from sizing.catalog import resolve_gpu
from sizing.catalog.engines import resolve_engine
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import resolve_precision
from sizing.catalog.weights import weight_bytes
from sizing.evidence.extrapolation import PUBLISHED_BY, evidence_of, measured_alike, processor_runs
from sizing.planning.rules_evidence import about_evidence
from sizing.question.configuration import Configuration
from sizing.scenario.schema import Scenario
from tests.sizing.asking import LLAMA_8B, model_named

JUDGED = Path(__file__).parents[3] / "docs" / "accuracy" / "processors.csv"


def asked(**deployment):
    return Scenario.model_validate(
        {
            "schema_version": 1,
            "model": LLAMA_8B,
            "workload": {"input_tokens": 300, "output_tokens": 100, "peak_rps": 0.1},
            "limits": {"ttft_ms": 20_000, "itl_ms": 250},
            "deployment": deployment,
        }
    )


def test_the_engine_says_of_published_runs_what_was_measured():
    """Decode of the shipped runs by the shipped shares: 12 % in the median, as asked; these the fit has seen."""
    fit = read_yaml("efficiency.yaml")
    own = read_yaml("processors.yaml")
    raw = fit | {name: fit[name] | own[name] for name in ("families", "platforms")} | {"widened": own["widened"]}
    seen = runs()
    for family in FAMILIES:
        rows = Runs(seen[(seen["family"] == family) & (seen["phase"] != "prefill")])
        error = np.abs(np.exp(rows.log_predicted(raw) - rows.log_measured) - 1.0)
        assert np.median(error) <= (0.25 if family == "apple_m1" else 0.16), family


def test_decode_unseen_is_within_twelve_per_cent_in_the_median():
    with JUDGED.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    decode = next(row for row in rows if row["group"] == "all")
    assert float(decode["median_pct"]) <= 12.0
    assert {row["group"] for row in rows} >= set(FAMILIES)


def test_every_run_has_a_machine_and_a_source_that_is_told():
    for run in processor_runs():
        assert run.gpu in gpus()
        assert run.source in PUBLISHED_BY
        assert run.tok_s > 0


@pytest.mark.parametrize("name", ["EPYC Turin", "Xeon 6", "M3 Ultra", "Strix Halo", "Graviton4", "epyc_9755"])
def test_processors_are_found_by_what_people_call_them(name):
    assert resolve_gpu(name).processor


def test_a_family_alone_is_answered_with_the_nearest():
    with pytest.raises(SizingError, match="epyc_9"):
        resolve_gpu("epyc")


def test_unasked_nothing_is_planned_on_processors():
    found = plan(asked(measured_gpus_only=True))
    assert not gpus()[found.deployment.gpu].processor


@pytest.mark.parametrize(("gpu", "engine"), [("xeon_6972p", "openvino"), ("m3_ultra_96", "llamacpp")])
def test_a_plan_on_a_processor_says_what_it_rests_on(gpu, engine):
    found = plan(asked(gpus=[gpu], engines=[engine]))
    assert found.feasible
    assert found.deployment.tp == 1
    said = next(w for w in found.warnings if w.code == "processor")
    assert "counts as one GPU" in said.message
    assert "tokens/s" in said.message
    assert f"median {evidence_of(gpus()[gpu]).median_pct:.0f} %" in said.message


@pytest.mark.parametrize(
    ("model", "engine", "precision", "told"),
    [
        ("openai/gpt-oss-120b", "trtllm", "mxfp4", "of TensorRT-LLM on GB10"),
        ("openai/gpt-oss-120b", "trtllm", "mxfp4", "of gpt-oss-120b in MXFP4 by llama.cpp"),
        ("openai/gpt-oss-20b", "vllm", "mxfp4", "of gpt-oss-20b in MXFP4 by llama.cpp"),
    ],
)
def test_a_workstation_measured_by_another_engine_is_told_so(model, engine, precision, told):
    row = Configuration(
        gpu=gpus()["gb10"], engine=resolve_engine(engine), precision=resolve_precision(precision), kv_precision="fp16"
    )
    assert any(told in one.message for one in about_evidence(model_named(model), row))


def test_a_machine_without_a_run_of_its_own_is_told_so():
    row = Configuration(
        gpu=gpus()["epyc_9755"],
        engine=resolve_engine("llamacpp"),
        precision=resolve_precision("q4_k_m"),
        kv_precision="fp16",
    )
    (said,) = about_evidence(model_named(LLAMA_8B), row)
    assert "no run of this machine itself is known" in said.message
    assert measured_alike(row.gpu, "llamacpp", LLAMA_8B).gpu == "ampereone_a192"


def test_asked_for_several_gpus_an_instance_has_still_one_machine():
    found = plan(asked(gpus=["m3_ultra"], tp=[2]))
    assert not found.feasible


def test_four_bits_of_gguf_take_what_its_files_take():
    """4.58 GiB and 7.95 GiB of Llama-3-8B (llama.cpp, tools/quantize), 39.6 GiB of 70 billion parameters."""
    model = model_named("meta-llama/Meta-Llama-3-8B")
    assert weight_bytes(model, resolve_precision("Q4_K_M")) / 2**30 == pytest.approx(4.58, rel=0.04)
    assert weight_bytes(model, resolve_precision("q8_0")) / 2**30 == pytest.approx(7.95, rel=0.01)
    large = model_named("meta-llama/Meta-Llama-3-70B")
    assert weight_bytes(large, resolve_precision("Q4_K_M")) / 2**30 == pytest.approx(39.6, rel=0.03)


@pytest.mark.parametrize("name", ["strix halo", "epyc turin"])
def test_a_machine_without_cards_is_named_once_and_has_no_gpus(name):
    found = plan(asked(gpus=[name]))
    first = found.answer.partition(". ")[0]
    assert first == f"One {found.deployment.system} is enough, as one instance"
