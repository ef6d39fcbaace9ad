"""``python -m calibration.model_row CONFIG.json ORG/NAME --source TEXT``: a row of ``sizing/data/models.csv``.

Everything that config.json decides is filled in; family, licence and release date are left to a person.
"""

import argparse
import csv
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from sizing.base.units import BILLION
from sizing.catalog import Model, model_from_config
from sizing.catalog.config_fields import ConfigFields, load_config
from sizing.catalog.files import read_rows

Cell = str | int | float | bool


def cells(model: Model, config: Mapping[str, object], source: str, date: str) -> dict[str, Cell]:
    """The cells that are known, by column."""
    known: dict[str, Cell] = {
        "hf_id": model.id,
        "developer": model.id.split("/")[0],
        "params_total_b": model.params_total / BILLION,
        "params_active_b": model.params_active / BILLION,
        "is_moe": model.is_moe,
        "params_vision_b": model.params_vision / BILLION or "",
        "params_lookup": model.params_lookup or "",
        "param_method": "counted from config.json (sizing.catalog.parameter_count)",
        "layers": model.layers,
        "hidden_size": model.hidden_size,
        "num_attention_heads": model.heads,
        "num_kv_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": model.intermediate_size,
        "vocab_size": model.vocab_size,
        "tie_embeddings": model.tie_embeddings,
        "attention_type": model.attention.upper(),
        "n_full_attention_layers": model.full_layers,
        "n_sliding_layers": model.sliding_layers,
        "n_linear_or_mamba_layers": model.linear_layers,
        "sliding_window": model.sliding_window or "",
        "kv_elements_per_token_full_layers": model.kv_elements_full,
        "kv_elements_per_token_sliding_layers": model.kv_elements_sliding,
        "state_elements": model.state_elements,
        "convolution_elements": model.convolution_elements or "",
        "full_kv_heads": model.full_kv_heads or "",
        "norm_collectives": model.norm_collectives,
        "parallel_blocks": model.parallel_blocks,
        "max_context": model.max_context or "",
        "native_precision": model.native_precision,
        "hf_architecture": model.hf_architecture,
        "hf_architecture_source": "config.json" if model.hf_architecture else "",
        "assumptions": " | ".join(model.assumptions),
        "config_source": source,
        "source_date": f"collected {date}",
    }
    return known | _experts(model) | _latent_attention(model, ConfigFields(config)) | _sparse_attention(model)


def _experts(model: Model) -> dict[str, Cell]:
    """Columns of a mixture of experts."""
    if not model.is_moe:
        return {}
    return {
        "moe_num_experts": model.experts,
        "moe_top_k": model.experts_per_token,
        "moe_shared_experts": model.shared_experts,
        "moe_intermediate_size": model.moe_intermediate_size,
        "moe_layers": model.moe_layers,
    }


def _latent_attention(model: Model, fields: ConfigFields) -> dict[str, Cell]:
    """Columns of MLA: ranks of the query (0: not compressed) and of the latent vector, and the parts of a head."""
    if model.attention != "mla":
        return {}
    rope = fields.whole("qk_rope_head_dim", low=0) or 0
    return {
        "mla_q_lora_rank": fields.whole("q_lora_rank", low=0) or 0,
        "mla_kv_lora_rank": fields.whole("kv_lora_rank") or "",
        "mla_qk_nope_head_dim": model.head_dim - rope,
        "mla_qk_rope_head_dim": rope,
        "mla_v_head_dim": fields.whole("v_head_dim") or model.head_dim - rope,
    }


def _sparse_attention(model: Model) -> dict[str, Cell]:
    """Columns of layers with an indexer, whose keys stand apart from the other cached values."""
    sparse = model.sparse
    if sparse is None:
        return {}
    return {
        "kv_elements_per_token_full_layers": model.kv_elements_full - sparse.indexer_elements,
        "indexer_elements_per_token": sparse.indexer_elements,
        "sparse_layers": sparse.layers,
        "sparse_tokens": sparse.tokens,
        "sparse_ratio": sparse.ratio,
        "sparse_kv_elements": sparse.kv_elements,
        "indexer_heads": sparse.indexer_heads,
        "pooled_layers": sparse.pooled_layers,
        "pooled_ratio": sparse.pooled_ratio,
    }


def row(config: bytes, name: str, source: str, date: str) -> dict[str, str]:
    """All columns of the file as text. Raises InvalidModelConfig."""
    known = cells(model_from_config(config, name=name), load_config(config), source, date)
    return {column: str(known.get(column, "")) for column in read_rows("models.csv")[0]}


def main() -> None:
    """Print the row, ready to be appended."""
    parser = argparse.ArgumentParser(prog="python -m calibration.model_row", description="A row of models.csv.")
    parser.add_argument("config", type=Path, help="the model's config.json")
    parser.add_argument("name", help="Hugging Face id")
    parser.add_argument("--source", required=True, help="where the file was read, with its version")
    arguments = parser.parse_args()
    date = datetime.now(UTC).date().isoformat()
    cells = row(arguments.config.read_bytes(), arguments.name, arguments.source, date)
    csv.DictWriter(sys.stdout, list(cells), lineterminator="\n").writerow(cells)


if __name__ == "__main__":
    main()
