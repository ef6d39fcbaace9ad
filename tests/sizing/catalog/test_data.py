"""The shipped facts: complete, sourced, in range, joined, and dense where datasheets like to print sparse."""

from __future__ import annotations

import csv
import hashlib
import re

import pytest

from sizing import catalog
from sizing.base.errors import UnknownName
from sizing.catalog.engines import engines
from sizing.catalog.files import DATA_DIR
from sizing.catalog.gpu_families import gpu_families
from sizing.catalog.gpu_rows import PCIE_X16_BYTES_PER_S, pcie_bytes_per_s
from sizing.catalog.tables import CATALOG_KINDS, catalog_table

PRECISIONS = {"bf16", "fp16", "fp8", "mxfp4", "nvfp4", "int4_wo"}
TERA = 1e12


def rows(filename: str) -> list[dict[str, str]]:
    with (DATA_DIR / filename).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


COLLECTED = {
    "models.csv": (catalog.models, 169),
    "gpus.csv": (catalog.gpus, 41),
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


SOURCED = {
    "models.csv": ("config_source", "source_date"),
    "gpus.csv": ("source_primary", "source_date"),
    "systems.csv": ("source", "source_date"),
    "gpu_street_prices.csv": ("source", "date"),
    "cloud_instances.csv": ("source", "date"),
    "api_prices.csv": ("source", "date"),
    "quantization.csv": ("source", "date"),
    "tco.csv": ("source", "date"),
    "use_cases.csv": ("source", "source_date"),
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


def test_gpu_facts_lie_in_the_range_of_real_hardware():
    for gpu in catalog.gpus().values():
        assert gpu.family in gpu_families(), gpu.id
        assert 15e9 <= gpu.memory_bytes <= 300e9, gpu.id
        assert 250e9 <= gpu.memory_bandwidth <= 10e12, gpu.id
        assert gpu.sizable, gpu.id
        assert gpu.fp16_flops is None or 60 * TERA <= gpu.fp16_flops <= 3000 * TERA, gpu.id
        assert gpu.tdp_w is None or 50 <= gpu.tdp_w <= 1500, gpu.id
        assert gpu.domain_gpus in (1, 2, 4, 8, 12, 72, 256), gpu.id
        assert gpu.link_bytes_per_s is None or 50e9 <= gpu.link_bytes_per_s <= 900e9, gpu.id
        assert gpu.pcie_bytes_per_s in {*PCIE_X16_BYTES_PER_S.values(), 32e9}, gpu.id


DENSE_TFLOPS = {
    "h100_sxm": (989, 1979),
    "h200_sxm": (989, 1979),
    "h100_pcie": (756.5, 1513),
    "h100_nvl": (835.5, 1671),
    "h200_nvl": (835.5, 1671),
    "a100_sxm_80g": (312, None),
    "a100_sxm_40g": (312, None),
    "a100_pcie_80g": (312, None),
    "a40": (149.7, None),
    "a10": (125, None),
    "l4": (121, 242),
    "l40": (181, 362),
    "l40s": (362, 733),
    "rtx_6000_ada": (364.2, 728.5),
    "b200_sxm": (2250, 4500),
    "b300_sxm": (2250, 4500),
    "gb200": (2500, 5000),
    "gb300": (2500, 5000),
    "mi300x": (1307, 2615),
    "mi325x": (1307, 2615),
    "mi355x": (2500, 5000),
    "mi250x": (383, None),
    "v100_sxm": (125, None),
    "t4": (65, None),
    "gh200": (989, 1979),
    "rtx_4090": (165.2, 330.3),
    "rtx_5090": (209.6, 419.2),
}
"""Dense FP16 and FP8 rates of the vendors' datasheets, which print twice as much "with sparsity"."""


@pytest.mark.parametrize("gpu_id", DENSE_TFLOPS)
def test_matrix_rates_are_the_dense_ones(gpu_id):
    gpu = catalog.gpus()[gpu_id]
    fp16, fp8 = DENSE_TFLOPS[gpu_id]
    assert gpu.fp16_flops == pytest.approx(fp16 * TERA, rel=0.01)
    assert (gpu.fp8_flops is None) if fp8 is None else gpu.fp8_flops == pytest.approx(fp8 * TERA, rel=0.01)


def test_no_eight_bit_rate_is_more_than_twice_the_sixteen_bit_rate_but_int8_on_geforce():
    for gpu in catalog.gpus().values():
        wide = max(gpu.fp16_flops or 0, gpu.bf16_flops or 0)
        assert gpu.fp8_flops is None or gpu.fp8_flops <= 2.05 * wide, gpu.id
        limit = 4.05 if gpu.id.startswith("rtx_4090") or gpu.id.startswith("rtx_5090") else 2.05
        assert gpu.int8_ops is None or gpu.int8_ops <= limit * wide, gpu.id


def test_a_format_without_hardware_has_no_rate():
    for gpu in catalog.gpus().values():
        assert gpu.supports_fp8 or gpu.fp8_flops is None, gpu.id
        assert gpu.supports_fp4 or gpu.fp4_flops is None, gpu.id
        assert gpu.supports_bf16 or gpu.bf16_flops is None, gpu.id


@pytest.mark.parametrize(
    ("gpu_id", "one_way_gbs", "domain"),
    [
        ("h100_sxm", 450, 8),
        ("h100_nvl", 300, 2),
        ("h200_nvl", 450, 4),
        ("a40", 56.25, 2),
        ("gb200", 900, 72),
        ("mi300x", 448, 8),
        ("mi355x", 537.5, 8),
    ],
)
def test_links_are_one_direction_of_the_datasheet_figure(gpu_id, one_way_gbs, domain):
    gpu = catalog.gpus()[gpu_id]
    assert gpu.link_bytes_per_s == pytest.approx(one_way_gbs * 1e9)
    assert gpu.domain_gpus == domain
    assert gpu.has_fast_link


def test_memory_is_what_the_driver_reports_where_that_is_known():
    gpus = catalog.gpus()
    assert gpus["h100_sxm"].memory_bytes == 80 * 2**30
    assert gpus["l40s"].memory_bytes == 46068 * 2**20
    assert gpus["h100_nvl"].memory_bytes == 94e9
    assert all(row["memory_source"] for row in rows("gpus.csv"))


def test_pcie_bandwidth_doubles_with_each_generation_and_falls_with_fewer_lanes():
    assert pcie_bytes_per_s(5) == 2 * pcie_bytes_per_s(4) == 4 * pcie_bytes_per_s(3)
    assert pcie_bytes_per_s(5, lanes=8) == pcie_bytes_per_s(4)
    assert catalog.gpus()["b60"].pcie_bytes_per_s == 32e9


def test_filled_gaps_say_where_they_come_from():
    filled = {row["id"] for row in rows("gpus.csv") if row["gaps_filled"]}
    assert {"h100_nvl", "h200_nvl", "l40", "rtx_6000_ada", "a40", "gh200", "mi355x", "t4", "mi250x"} <= filled


def test_model_facts_lie_in_range_and_agree_with_each_other():
    for model in catalog.models().values():
        assert 3e8 <= model.params_active <= model.params_total <= 3e12, model.id
        assert 10 <= model.layers <= 130, model.id
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
        assert (system.price_covers == "unknown") == (system.price_low_usd is None), system.id
        said = f"{system.price_source} {system.notes}".lower()
        assert (system.price_covers == "gpus_only") == ("gpus only" in said or "kit only" in said), system.id
        assert system.gpus in (1, 2, 4, 8, 72), system.id
        assert system.max_power_kw is None or 0.3 * system.gpus <= system.max_power_kw <= 2.5 * system.gpus, system.id
        assert system.price_low_usd is None or 10_000 * system.gpus <= system.price_low_usd <= 60_000 * system.gpus


def test_prices_join_the_gpus_and_lie_in_range():
    for price in catalog.street_prices():
        assert price.gpu_id in catalog.gpus()
        assert price.price_usd_low is not None
        assert 1_000 <= price.price_usd_low <= (price.price_usd_high or 0) <= 100_000
    for instance in catalog.cloud_instances():
        assert instance.gpu_id in catalog.gpus() or not instance.gpu_id, instance.instance_type
        assert 1 <= instance.gpus <= 72 or "fractional" in instance.notes, instance.instance_type
        for usd in (instance.on_demand_usd_per_hour, instance.spot_usd_per_hour):
            assert usd is None or 0.02 <= usd / max(instance.gpus, 1) <= 40, instance.instance_type


def test_api_prices_are_per_million_tokens():
    for price in catalog.api_prices():
        for usd in (price.input_usd_per_mtok, price.output_usd_per_mtok):
            assert usd is None or 0 <= usd <= 1_000, (price.provider, price.model)


def test_a_gpu_without_a_catalogue_server_gets_the_assumed_eight_gpu_server():
    assert [s.id for s in catalog.systems_for("h100_sxm")] == ["dgx_h100", "hgx_h100_8"]
    (server,) = catalog.systems_for("l4")
    assert server.assumed
    assert (server.id, server.gpus, server.domain_gpus) == ("server_8x_l4", 8, 1)
    assert server.max_power_kw is None
    assert server.price_low_usd is None
    with pytest.raises(UnknownName):
        catalog.systems_for("h900")


def test_mappings_cannot_be_changed():
    with pytest.raises(TypeError):
        catalog.gpus()["x"] = None
    with pytest.raises(AttributeError):
        catalog.gpus()["h100_sxm"].memory_bytes = 1.0


def test_the_data_version_is_a_date_and_a_hash_of_the_files():
    assert catalog.data_date() == "2026-11-20"
    assert re.fullmatch(r"2026-11-20-[0-9a-f]{10}", catalog.data_version())
    assert hashlib.sha256(b"").hexdigest()[:10] not in catalog.data_version()


@pytest.mark.parametrize("kind", CATALOG_KINDS)
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
