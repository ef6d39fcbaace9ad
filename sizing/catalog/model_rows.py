"""Models of the catalogue: ``models.csv`` as :class:`Model` values.

The file holds facts (config.json of the vendors); what follows from a rule is derived here, and each assumption is
said in ``Model.assumptions``.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from sizing.base.units import BILLION
from sizing.catalog.checkpoints import published_formats, stored_bytes
from sizing.catalog.files import DATA_DATE, Row, cells, count, flag, number, read_rows
from sizing.catalog.model import AttentionKind, LatentAttention, Model, SparseAttention


@cache
def models() -> Mapping[str, Model]:
    """Every model of the catalogue by Hugging Face id, in file order."""
    return MappingProxyType({row["hf_id"]: model_of_row(row) for row in read_rows("models.csv")})


def _whole(row: Row, column: str, unknown: int = 0) -> int:
    value = count(row[column])
    return unknown if value is None else value


def _attention(row: Row) -> AttentionKind:
    """Kind of the layers that keep keys and values per token; linear layers do not count."""
    if row["mla_kv_lora_rank"]:
        return "mla"
    heads, kv_heads = int(row["num_attention_heads"]), int(row["num_kv_heads"])
    if kv_heads == 1:
        return "mqa"
    return "mha" if kv_heads == heads else "gqa"


def _head_dim(row: Row) -> int:
    """Width of one query/key head: as given, or for MLA the part without plus the part with position (nope + rope)."""
    given = count(row["head_dim"])
    if row["mla_kv_lora_rank"]:
        return _whole(row, "mla_qk_nope_head_dim") + _whole(row, "mla_qk_rope_head_dim")
    return given or int(row["hidden_size"]) // int(row["num_attention_heads"])


def _moe_layers(row: Row) -> int:
    """Layers with routed experts: as read from the layer pattern, else all but the leading dense layers."""
    if not flag(row["is_moe"]):
        return 0
    from_pattern = count(row["moe_layers"])
    return int(row["layers"]) - _whole(row, "moe_dense_layers") if from_pattern is None else from_pattern


def _latent(row: Row) -> LatentAttention | None:
    """Widths of latent attention, where the layers have it; a query rank of 0 is a query that is not compressed."""
    if not row["mla_kv_lora_rank"]:
        return None
    return LatentAttention(
        q_rank=int(row["mla_q_lora_rank"]),
        kv_rank=int(row["mla_kv_lora_rank"]),
        nope_dim=int(row["mla_qk_nope_head_dim"]),
        rope_dim=int(row["mla_qk_rope_head_dim"]),
        v_dim=int(row["mla_v_head_dim"]),
    )


def _sparse(row: Row) -> SparseAttention | None:
    """Layers with an indexer, where there are any."""
    if not row["sparse_layers"]:
        return None
    return SparseAttention(
        layers=int(row["sparse_layers"]),
        tokens=int(row["sparse_tokens"]),
        ratio=_whole(row, "sparse_ratio", 1),
        kv_elements=float(row["sparse_kv_elements"]),
        indexer_heads=int(row["indexer_heads"]),
        indexer_elements=float(row["indexer_elements_per_token"]),
        pooled_layers=_whole(row, "pooled_layers"),
        pooled_ratio=_whole(row, "pooled_ratio", 1),
    )


def model_of_row(row: Row) -> Model:
    """One row as a model."""
    is_moe = flag(row["is_moe"])
    values = cells(
        row,
        Model,
        id="hf_id",
        heads="num_attention_heads",
        kv_heads="num_kv_heads",
        full_layers="n_full_attention_layers",
        sliding_layers="n_sliding_layers",
        linear_layers="n_linear_or_mamba_layers",
        kv_elements_sliding="kv_elements_per_token_sliding_layers",
    ) | {
        "params_total": float(row["params_total_b"]) * BILLION,
        "params_active": float(row["params_active_b"]) * BILLION,
        "params_vision": (number(row["params_vision_b"]) or 0.0) * BILLION,
        "head_dim": _head_dim(row),
        "intermediate_size": _whole(row, "intermediate_size"),
        "attention": _attention(row),
        "latent": _latent(row),
        "kv_elements_full": (number(row["kv_elements_per_token_full_layers"]) or 0.0)
        + (number(row["indexer_elements_per_token"]) or 0.0),
        "sparse": _sparse(row),
        "experts": _whole(row, "moe_num_experts") if is_moe else 0,
        "experts_per_token": _whole(row, "moe_top_k") if is_moe else 0,
        "shared_experts": _whole(row, "moe_shared_experts") if is_moe else 0,
        "moe_intermediate_size": _whole(row, "moe_intermediate_size") if is_moe else 0,
        "moe_layers": _moe_layers(row),
        "published_formats": published_formats(row["hf_id"], row["native_precision"]),
        "stored_bytes": stored_bytes(row["hf_id"]),
        "source": f"{row['config_source']}; collected {DATA_DATE}",
        "assumptions": tuple(part for part in row["assumptions"].split(" | ") if part),
    }
    return Model(**values)
