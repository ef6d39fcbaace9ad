"""What is said of a deployment that nobody has measured."""

import pytest

from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.measured import measurements
from sizing.catalog.precisions import resolve_precision
from sizing.planning.rules_evidence import about_evidence
from sizing.question.configuration import Configuration

LLAMA = resolve_model("meta-llama/Llama-3.3-70B-Instruct").model


def said(gpu, engine="vllm", **parallelism):
    row = Configuration(
        gpu=resolve_gpu(gpu),
        engine=resolve_engine(engine),
        precision=resolve_precision("fp8"),
        kv_precision="fp16",
        **({"tp": 4} | parallelism),
    )
    return {warning.code: warning for warning in about_evidence(LLAMA, row)}


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        (("h100_sxm",), set()),
        (("gaudi3",), {"no_evidence"}),
        (("a10g",), {"no_evidence", "layout_unmeasured"}),
        (("rtx_pro_6000_server",), {"engine_unmeasured", "layout_unmeasured"}),
        (("rtx_5090",), {"no_evidence", "layout_unmeasured"}),
        (("h20_3e",), {"no_evidence"}),
        (("h100_sxm", "tgi"), {"engine_unmeasured"}),
        (("l40s", "sglang"), {"engine_unmeasured", "layout_unmeasured"}),
        (("l40s", "trtllm"), set()),
    ],
)
def test_evidence_of_another_product_or_engine_is_not_its_own(asked, codes):
    assert set(said(*asked)) == codes


def test_pipeline_stages_say_what_is_assumed_of_them():
    warning = said("h100_sxm", pp=4)["pipeline_unmeasured"]
    assert "10 %" in warning.message
    assert "H100 SXM5" in warning.message


def test_what_stands_in_is_named():
    assert "step times of vLLM are used" in said("h100_sxm", "tgi")["engine_unmeasured"].message
    few = said("h20_3e")["no_evidence"].message
    assert f"Only {measurements('gpus')['h20_3e']} published measurements" in few
    assert "others of its generation" in few
    assert "or its generation" in said("gaudi3")["no_evidence"].message
