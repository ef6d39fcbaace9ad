"""The shipped facts: complete, sourced, in range, joined, and dense where datasheets like to print sparse."""

import csv
import hashlib
import re
from typing import get_args

import pytest

from sizing import catalog
from sizing.base.errors import UnknownName
from sizing.catalog.engines import engines
from sizing.catalog.files import DATA_DIR
from sizing.catalog.tables import CatalogKind, catalog_table

PRECISIONS = {"bf16", "fp16", "fp8", "mxfp4", "nvfp4", "int4_wo"}


def rows(filename: str) -> list[dict[str, str]]:
    with (DATA_DIR / filename).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


COLLECTED = {
    "models.csv": (catalog.models, 169),
    "gpus.csv": (lambda: [gpu for gpu in catalog.gpus().values() if not gpu.processor], 41),
    "processors.csv": (lambda: [gpu for gpu in catalog.gpus().values() if gpu.processor], 17),
    "systems.csv": (catalog.systems, 21),
    "cloud_instances.csv": (catalog.cloud_instances, 202),
    "api_prices.csv": (catalog.api_prices, 235),
    "quantization.csv": (catalog.quantization, 46),
    "tco.csv": (catalog.tco, 78),
    "use_cases.csv": (catalog.use_cases, 26),
    "gpu_street_prices.csv": (catalog.street_prices, 14),
}
"""File -> what reads it, and the rows of the first collection: there may be more, never fewer."""


@pytest.mark.parametrize("filename", COLLECTED)
def test_the_catalogue_holds_every_row(filename):
    read, collected = COLLECTED[filename]
    assert len(read()) == len(rows(filename)) >= collected


def test_every_model_names_its_class_and_where_that_was_read():
    for row in rows("models.csv"):
        source = row["hf_architecture_source"]
        assert source
        assert bool(row["hf_architecture"]) != source.startswith("unknown"), row["hf_id"]


SOURCED = {
    "models.csv": ("config_source", "source_date"),
    "gpus.csv": ("source_primary", "source_date"),
    "processors.csv": ("source", "source_date"),
    "systems.csv": ("source", "source_date"),
    "gpu_street_prices.csv": ("source", "date"),
    "cloud_instances.csv": ("source", "date"),
    "api_prices.csv": ("source", "date"),
    "quantization.csv": ("source", "date"),
    "tco.csv": ("source", "date"),
    "use_cases.csv": ("source", "source_date"),
    "checkpoints.csv": ("source", "date"),
}


@pytest.mark.parametrize("filename", SOURCED)
def test_every_row_names_its_source_and_date(filename):
    source, date = SOURCED[filename]
    for row in rows(filename):
        assert None not in row, row
        assert row[source].strip(), row
        assert row[date].strip(), row


@pytest.mark.parametrize("filename", SOURCED)
def test_no_file_has_a_row_twice(filename):
    seen = [tuple(row.values()) for row in rows(filename)]
    assert len(seen) == len(set(seen))


"""Dense FP16 and FP8 rates of the vendors' datasheets, which print twice as much "with sparsity"."""


def test_model_facts_lie_in_range_and_agree_with_each_other():
    for model in catalog.models().values():
        assert 1e8 <= model.params_active <= model.params_total <= 3e12, model.id
        assert 10 <= model.layers <= 220, model.id
        assert 500 <= model.hidden_size <= 20_000, model.id
        assert 1 <= model.kv_heads <= model.heads, model.id
        assert 40 <= model.head_dim <= 600, model.id
        assert model.full_layers + model.sliding_layers + model.linear_layers <= model.layers, model.id
        assert model.kv_elements_full + model.kv_elements_sliding > 0, model.id
        assert (model.sliding_window is not None) == (model.kv_elements_sliding > 0), model.id
        assert (model.state_elements > 0) == (model.linear_layers > 0), model.id
        assert model.native_precision in PRECISIONS, model.id
        assert model.max_context is None or model.max_context >= 1024, model.id
        assert model.is_moe == (model.moe_layers > 0), model.id
        assert model.moe_layers <= model.layers, model.id
        assert not model.is_moe or 0.5 < model.params_experts / model.params_total < 1.0, model.id


def test_kv_cache_follows_from_heads_where_attention_is_plain():
    for model in catalog.models().values():
        plain = model.attention != "mla" and not model.sliding_layers and not model.linear_layers
        uniform = model.full_layers == model.layers and not model.family.startswith("DeepSeek-V4")
        if plain and uniform:
            indexer = 57 * 128 if model.id == "MiniMaxAI/MiniMax-M3" else 0
            assert model.kv_elements_full == 2 * model.layers * model.kv_heads * model.head_dim + indexer, model.id


@pytest.mark.parametrize(
    ("model_id", "elements"),
    [
        ("meta-llama/Meta-Llama-3-8B", 65536),
        ("meta-llama/Meta-Llama-3-70B", 163840),
        ("deepseek-ai/DeepSeek-V3", 35136),
        ("deepseek-ai/DeepSeek-V3.2", 35136 + 61 * 128),
        ("zai-org/GLM-5.2", 44928 + 21 * 128),
        ("zai-org/GLM-4.5-Air", 94208),
        ("deepseek-ai/DeepSeek-V4-Flash", 3440),
        ("deepseek-ai/DeepSeek-V4-Pro", 4924),
    ],
)
def test_kv_values_per_token_of_known_models(model_id, elements):
    """Llama: 2 x layers x 8 KV heads x 128. DeepSeek: 61 x (512 + 64), plus 128 per indexer. V4: its assumptions."""
    assert catalog.models()[model_id].kv_elements_full == elements


def test_experts_sit_only_on_the_layers_that_have_them():
    moe_layers = {
        name: catalog.models()[name].moe_layers
        for name in (
            "deepseek-ai/DeepSeek-R1",
            "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
            "ai21labs/Jamba-v0.1",
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "mistralai/Mixtral-8x7B-v0.1",
        )
    }
    assert list(moe_layers.values()) == [58, 24, 16, 23, 32]


def test_derived_figures_are_stated_as_assumptions():
    for model in catalog.models().values():
        derived = model.state_elements > 0 or model.family.startswith("DeepSeek-V4")
        assert not derived or model.assumptions, model.id


def test_systems_join_the_gpus_and_hold_their_memory():
    for row in rows("systems.csv"):
        gpu = catalog.gpus()[row["gpu_id"]]
        total_gb = float(row["total_gpu_memory_gb"])
        assert total_gb * 1e9 == pytest.approx(int(row["gpus_per_system"]) * gpu.memory_bytes, rel=0.10), row["id"]
    for system in catalog.systems().values():
        assert bool(system.price_source and system.price_date) == (system.price_low_usd is not None), system.id
        host = catalog.server_hosts()[system.host]
        assert host.form_factor == catalog.gpus()[system.gpu_id].form_factor, system.id
        assert host.max_gpus >= system.gpus, system.id
        assert system.gpus in (1, 2, 4, 8, 72), system.id
        assert system.max_power_kw is None or 0.2 * system.gpus <= system.max_power_kw <= 3.2 * system.gpus, system.id
        least = 1_900 if host.id in ("desk_machine", "desk_superchip") else 10_000
        assert system.price_low_usd is None or least * system.gpus <= system.price_low_usd <= 110_000 * system.gpus


def test_prices_join_the_gpus_and_lie_in_range():
    for price in catalog.street_prices():
        assert price.gpu_id in catalog.gpus()
        assert (
            200 * price.gpus_per_price
            <= price.price_usd_low
            <= (price.price_usd_high or 0)
            <= 100_000 * price.gpus_per_price
        )
    for instance in catalog.cloud_instances():
        assert instance.gpu_id in catalog.gpus() or not instance.gpu_id, instance.instance_type
        assert 1 <= instance.gpus <= 72 or "fractional" in instance.notes or instance.other_terms == "cluster"
        for usd in (instance.on_demand_usd_per_hour, instance.spot_usd_per_hour):
            assert usd is None or 0.02 <= usd / max(instance.gpus, 1) <= 40, instance.instance_type


def test_api_prices_are_per_million_tokens():
    for price in catalog.api_prices():
        for usd in (price.input_usd_per_mtok, price.output_usd_per_mtok):
            assert usd is None or 0 <= usd <= 1_000, (price.provider, price.model)


def test_a_gpu_without_a_catalogue_server_gets_the_assumed_eight_gpu_server():
    assert [s.id for s in catalog.systems_for(catalog.gpus()["h100_sxm"])] == ["dgx_h100", "hgx_h100_8", "hgx_h100_4"]
    (server,) = catalog.systems_for(catalog.gpus()["a10"])
    assert server.assumed
    assert (server.id, server.gpus, server.domain_gpus) == ("server_8x_a10", 8, 1)
    assert server.max_power_kw is None
    assert server.price_low_usd is None


def test_a_system_is_known_by_id_and_by_name():
    assert catalog.resolve_system("dgx_h100") is catalog.resolve_system("DGX h100") is catalog.systems()["dgx_h100"]
    with pytest.raises(UnknownName, match="Did you mean dgx_h100"):
        catalog.resolve_system("dgx_h1000")


def test_hosts_have_prices_and_powers_in_order_with_their_sources():
    for host in catalog.server_hosts().values():
        prices = (host.price_usd_low, host.price_usd_typical, host.price_usd_high)
        shares = (host.power_share_low, host.power_share_typical, host.power_share_high)
        powers = (host.power_kw_low, host.power_kw_typical, host.power_kw_high)
        assert (shares == (None,) * 3) != (powers == (None,) * 3), host.id
        for ends, source, date in (
            (prices, host.price_source, host.price_date),
            (shares if shares[0] else powers, host.power_source, host.power_date),
        ):
            assert ends == (None,) * 3 or (list(ends) == sorted(ends) and source and date), host.id


def test_mappings_cannot_be_changed():
    with pytest.raises(TypeError):
        catalog.gpus()["x"] = None
    with pytest.raises(AttributeError):
        catalog.gpus()["h100_sxm"].memory_bytes = 1.0


def test_the_data_version_is_a_date_and_a_hash_of_the_files():
    assert catalog.data_date() == "2026-11-25"
    assert re.fullmatch(r"2026-11-25-[0-9a-f]{10}", catalog.data_version())
    assert hashlib.sha256(b"").hexdigest()[:10] not in catalog.data_version()


@pytest.mark.parametrize("kind", get_args(CatalogKind))
def test_tables_for_reading_name_source_and_date_in_every_row(kind):
    table = catalog_table(kind)
    assert len(table) >= {"models": 169, "gpus": 41, "systems": 21, "prices": 202 + 14 + 235}[kind]
    assert table["source"].str.len().min() > 0
    assert table["date"].str.len().min() > 0


def test_every_spelling_of_a_gpu_leads_to_it():
    for gpu in catalog.gpus().values():
        for name in (gpu.id, gpu.name, *gpu.aliases):
            assert catalog.resolve_gpu(name).id == gpu.id, name


def test_kernel_tables_name_engines_that_have_some():
    known = {engine.kernel_tables for engine in engines().values()} - {""}
    assert known == {"trtllm", "vllm", "sglang"}
    for gpu in catalog.gpus().values():
        assert set(gpu.kernel_tables_engines) <= known, gpu.id
        assert gpu.kernel_tables or not gpu.kernel_tables_engines, gpu.id


def test_latent_widths_and_states_are_whole_and_agree_with_what_is_cached():
    for model in catalog.models().values():
        assert (model.latent is not None) == (model.attention == "mla"), model.id
        assert 0 <= model.convolution_elements <= model.state_elements, model.id
        if model.latent:
            cached = model.full_layers * (model.latent.kv_rank + model.latent.rope_dim)
            indexer = model.sparse.indexer_elements if model.sparse else 0.0
            assert model.kv_elements_full - indexer == cached, model.id
            assert model.head_dim == model.latent.nope_dim + model.latent.rope_dim, model.id
        if model.full_kv_heads:
            assert model.full_kv_heads != model.kv_heads, model.id
            assert model.kv_elements_full % (model.full_layers * model.full_kv_heads) == 0, model.id
