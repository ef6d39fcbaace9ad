"""Sizes of adapters against published ones, and what engines are known to do with them."""

from dataclasses import replace

import pytest

from sizing.catalog import models
from sizing.catalog.adapters import adapter_bytes, adapter_parts, adapter_support, slot_rank
from sizing.catalog.engines import engines
from sizing.catalog.files import read_rows

LLAMA_8B, LLAMA_70B, LLAMA_2 = (
    "meta-llama/Meta-Llama-3.1-8B",
    "meta-llama/Llama-3.3-70B-Instruct",
    "meta-llama/Llama-2-7b-hf",
)


@pytest.mark.parametrize(
    ("model", "rank", "megabytes"),
    [(LLAMA_8B, 16, 83.9), (LLAMA_8B, 64, 335.5), (LLAMA_70B, 16, 414.2), (LLAMA_2, 8, 40.0)],
)
def test_an_adapter_of_all_linear_layers_has_its_published_size(model, rank, megabytes):
    """Sizes of PEFT checkpoints of seven linear layers in 16 bit (transformers 5.24)."""
    assert adapter_bytes(models()[model], rank, "all") / 1e6 == pytest.approx(megabytes, rel=0.002)


def test_attention_alone_is_a_part_of_all():
    model = models()[LLAMA_8B]
    attention = adapter_parts(model, "attention")
    assert attention.whole == 32 * (4096 + 4096 + 2 * (4096 + 1024) + 4096 + 4096)
    assert attention.copied < adapter_parts(model, "all").copied


def test_experts_have_adapters_of_their_own():
    model = models()["Qwen/Qwen3-30B-A3B"]
    parts = adapter_parts(model, "all")
    assert parts.expert_copied == 3 * model.moe_layers * model.experts * model.hidden_size
    assert adapter_parts(model, "attention").expert_copied == 0.0


def test_latent_attention_is_counted_by_its_projections():
    model = models()["deepseek-ai/DeepSeek-V3"]
    one = model.latent
    queries, values = model.heads * (one.nope_dim + one.rope_dim), model.heads * (one.nope_dim + one.v_dim)
    layer = (
        (model.hidden_size + one.q_rank)
        + (one.q_rank + queries)
        + (model.hidden_size + one.kv_rank + one.rope_dim)
        + (one.kv_rank + values)
        + (model.heads * one.v_dim + model.hidden_size)
    )
    assert adapter_parts(model, "attention").whole == model.layers * layer


def test_every_engine_is_answered_and_its_doubt_holds_the_expected_slowdown():
    dense, moe = models()[LLAMA_8B], models()["Qwen/Qwen3-30B-A3B"]
    for engine in engines().values():
        for model in (dense, moe):
            known = adapter_support(engine, model, "all")
            fast, slow = known.doubt
            assert known.slower > 1.0
            assert fast < 1.0 < slow
            assert known.source
            assert known.date
    assert adapter_support(engines()["nim"], dense, "all") == adapter_support(engines()["vllm"], dense, "all")
    assert adapter_support(engines()["trtllm"], moe, "all").status == "unknown"
    assert adapter_support(engines()["trtllm"], moe, "attention").status == "supported"


def test_an_engine_without_rows_is_unknown_and_slower():
    new = replace(engines()["vllm"], id="new_engine", built_on="")
    known = adapter_support(new, models()[LLAMA_8B], "all")
    assert known.status == "unknown"
    assert known.slower > 1.0


def test_vllm_has_slots_of_some_ranks_alone():
    assert [slot_rank(engines()["vllm"], rank) for rank in (1, 9, 16, 24, 300, 512)] == [1, 16, 16, 32, 320, 512]
    assert slot_rank(engines()["nim"], 24) == 32
    assert slot_rank(engines()["sglang"], 24) == 24


def test_rows_are_of_engines_of_the_catalogue_in_order():
    for row in read_rows("engine_adapters.csv"):
        assert row["engine"] in engines()
        assert float(row["kept_low"]) < float(row["kept"]) < float(row["kept_high"]) <= 1.0
        assert row["source"]
        assert row["date"]
        assert row["note"]


def test_a_model_without_experts_is_dense_whatever_it_is_called():
    alone = replace(models()["Qwen/Qwen3-30B-A3B"], experts=0)
    assert adapter_support(engines()["trtllm"], alone, "all").status == "supported"
