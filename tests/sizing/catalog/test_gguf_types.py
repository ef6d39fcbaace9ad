"""Every type of GGUF files is a weight format of its own, on every way that leads to one, with its published size."""

import pytest

from sizing import Scenario, plan
from sizing.catalog import models, resolve_model
from sizing.catalog.engines import engines
from sizing.catalog.gguf_types import GROUP, formats_of, gguf_types
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import precisions, resolve_precision
from sizing.catalog.support import support
from sizing.catalog.weights import weight_bytes
from sizing.question.named_model import assumed

LLAMA = "meta-llama/Meta-Llama-3.1-8B"
PUBLISHED = [one for one in gguf_types().values() if one.published_bits]


@pytest.mark.parametrize("kind", PUBLISHED, ids=lambda one: one.type)
def test_a_type_has_its_published_size(kind):
    model = models()[LLAMA]
    bits = 8 * weight_bytes(model, precisions()[kind.precision]) / model.params_total
    assert bits == pytest.approx(kind.published_bits, rel=0.003)


# Files of a 70B model of Llama 3.1 in GB (ozeki.chat/p_8590, from the model card of bartowski; read 2026-11-30).
@pytest.mark.parametrize(
    ("kind", "gigabytes"),
    [
        ("Q8_0", 74.98),
        ("Q6_K", 57.89),
        ("Q5_K_M", 49.95),
        ("Q5_K_S", 48.66),
        ("Q4_K_M", 42.52),
        ("Q4_K_S", 40.35),
        ("Q4_0", 40.12),
        ("IQ4_XS", 37.90),
        ("Q3_K_L", 37.14),
        ("Q3_K_M", 34.27),
        ("IQ3_M", 31.94),
        ("Q3_K_S", 30.91),
    ],
)
def test_files_of_another_model_have_their_published_size(kind, gigabytes):
    resolved = resolve_model(f"bartowski/Meta-Llama-3.1-70B-Instruct-GGUF/Meta-Llama-3.1-70B-Instruct-{kind}.gguf")
    assert resolved.weight_format.gguf_type == kind
    assert weight_bytes(resolved.model, resolved.weight_format) / 1e9 == pytest.approx(gigabytes, rel=0.015)


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("llama3.3:70b", "q4_k_m"),
        ("ollama/llama3.1:8b", "q4_k_m"),
        ("deepseek-r1:671b", "q4_k_m"),
        ("bartowski/Llama-3.3-70B-Instruct-GGUF", "q4_k_m"),
        ("bartowski/Llama-3.3-70B-Instruct-GGUF:IQ3_M", "iq3_m"),
        ("hf.co/unsloth/Qwen3-8B-GGUF:Q6_K", "q6_k"),
        ("mixtral:8x7b-instruct-v0.1-q5_0", "q5_0"),
        ("llama-2-7b.Q5_K_M.gguf", "q5_k_m"),
        ("Llama-3.1-8B.i1-IQ4_XS.gguf", "iq4_xs"),
        ("unsloth/Qwen3-235B-A22B-GGUF/Q2_K/Qwen3-235B-A22B-Q2_K-00001-of-00002.gguf", "q2_k"),
        ("Meta-Llama-3.1-8B-Instruct-Q3_K_XL.gguf", "q3_k_l"),
        ("meta-llama/llama-3.3-70b-instruct:free", "bf16"),
        ("mistral.mixtral-8x7b-instruct-v0:1", "bf16"),
        ("gpt-oss:20b", "mxfp4"),
        ("gpt-oss-20b-Q8_0.gguf", "mxfp4"),
    ],
)
def test_names_of_files_and_tags_tell_their_type(name, precision):
    assert resolve_model(name).weight_format.id == precision


def test_a_tag_without_a_type_says_what_was_taken():
    said = " ".join(assumed(resolve_model("llama3.3:70b")))
    assert "tells no type" in said
    assert "GGUF Q4_K_M" in said
    assert "tells weights in GGUF Q5_0" in " ".join(assumed(resolve_model("llama3.1:8b-instruct-q5_0")))


@pytest.mark.parametrize("named", ["Q5_K_M", "q5_k", "GGUF Q6_K", "iq2_xxs", "Q3_K_XL", "gguf_q4_0"])
def test_a_scenario_may_name_any_type(named):
    assert resolve_precision(named).gguf_type


def test_llama_cpp_reads_all_types_and_nobody_else_is_said_to():
    card, model = gpus()["l40s"], models()[LLAMA]
    for name in formats_of([GROUP]):
        stated = {one.id: support(one, card, model, precisions()[name]).status for one in engines().values()}
        assert stated["llamacpp"] == "supported"
        assert stated["trtllm"] == "no"
        assert stated["vllm"] == "unknown"


def test_a_tag_is_planned_in_its_type_by_its_engine():
    workload = {"input_tokens": 512, "output_tokens": 128, "peak_rps": 0.2}
    keys = {"model": "llama3.1:8b-instruct-q5_K_M", "workload": workload, "deployment": {"gpus": ["rtx_4090"]}}
    found = plan(Scenario.model_validate(keys | {"limits": {"ttft_ms": 60_000, "itl_ms": 500}}))
    assert (found.deployment.weight_precision, found.deployment.engine) == ("q5_k_m", "llamacpp")
    assert found.per_instance.weights_gb == pytest.approx(5.73, rel=0.01)
