"""From config.json to :class:`Architecture`: which tensors the model has, family by family."""

from __future__ import annotations

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import Fields, checked_whole
from sizing.catalog.layer_plan import Layer, layer_plan
from sizing.catalog.model import LatentAttention
from sizing.catalog.model_families import family, model_families
from sizing.catalog.parameter_count import Architecture
from sizing.catalog.recurrent_mixers import recurrent_mixer

MAX_WIDTH, MAX_HEADS, MAX_VOCAB, MAX_EXPERTS = 10**6, 10**5, 10**7, 10**5
"""Largest sizes read from a config.json. Chosen: because each is at least ten times the largest of
the catalogue."""


def architecture(fields: Fields) -> Architecture:
    """The decoder that the configuration describes; raises InvalidModelConfig where it is missing or contradictory."""
    hidden = fields.needed("hidden_size", low=16, high=MAX_WIDTH)
    plan = layer_plan(fields)
    heads = _heads(fields, hidden, plan)
    kind, families = family(fields), model_families()
    compressed = any(layer.compress_ratio is not None for layer in plan)
    has_state = any(layer.mixer in ("linear", "mamba") for layer in plan)
    return Architecture(
        plan=plan,
        hidden=hidden,
        **heads,
        vocab=fields.needed("vocab_size", high=MAX_VOCAB),
        tied=fields.flag("tie_word_embeddings", default=kind in families.tied_by_default),
        position_table=(fields.whole("max_context", high=10**8) or 0) if kind in families.learned_positions else 0,
        mlp_matrices=2 if kind in families.ungated_mlp else 3,
        gated_output=fields.flag("mla_use_output_gate")
        or fields.flag("attn_output_gate", default=kind in families.gated_output),
        shared_kv=fields.flag("attention_k_eq_v"),
        latent=_latent(fields, _head_dim(fields, hidden, heads["heads"])),
        output_rank=(fields.whole("o_lora_rank", high=MAX_WIDTH) or 0) if compressed else 0,
        output_groups=(fields.whole("o_groups", high=MAX_HEADS) or 1) if compressed else 0,
        query_rank=fields.whole("q_lora_rank", low=0, high=MAX_WIDTH) or hidden,
        **_indexer(fields, plan, compressed),
        recurrent=recurrent_mixer(fields, hidden, heads["heads"]) if has_state else None,
        dense_beside_experts=fields.flag("enable_moe_block"),
        layer_input=fields.whole("hidden_size_per_layer_input", low=0, high=MAX_WIDTH) or 0,
        layer_input_vocab=fields.whole("vocab_size_per_layer_input", low=0, high=MAX_VOCAB) or 0,
        **_mlp_widths(fields, hidden, kind),
    )


def _heads(fields: Fields, hidden: int, plan: tuple[Layer, ...]) -> dict[str, int]:
    """Numbers and widths of heads, those of sliding layers apart, under the names of :class:`Architecture`."""
    attends = any(layer.mixer in ("full", "sliding") for layer in plan)
    heads = fields.needed("heads", high=MAX_HEADS)
    kv_heads = _kv_heads(fields, heads)
    dim = _head_dim(fields, hidden, heads)
    if attends and dim < 1:
        raise InvalidModelConfig(
            f"config.json says {heads:,} attention heads for a width of {hidden:,}: lower the number of heads."
        )
    v_dim = fields.whole("v_head_dim", high=MAX_WIDTH) or dim
    global_dim = fields.whole("global_head_dim", high=MAX_WIDTH)
    return {
        "heads": heads,
        "kv_heads": fields.whole("num_global_key_value_heads", high=MAX_HEADS) or kv_heads,
        "head_dim": global_dim or dim,
        "v_head_dim": global_dim or v_dim,
        "swa_kv_heads": fields.whole("swa_num_key_value_heads", high=MAX_HEADS) or kv_heads,
        "swa_head_dim": fields.whole("swa_head_dim", high=MAX_WIDTH) or dim,
        "swa_v_head_dim": fields.whole("swa_v_head_dim", high=MAX_WIDTH) or v_dim,
    }


def _head_dim(fields: Fields, hidden: int, heads: int) -> int:
    """Width of a head; with latent attention the file may leave it at 0, since its parts are given (GLM-5.3-Flash)."""
    lowest = 0 if fields.whole("kv_lora_rank", high=MAX_WIDTH) else 1
    return fields.whole("head_dim", low=lowest, high=MAX_WIDTH) or hidden // heads


def _kv_heads(fields: Fields, heads: int) -> int:
    """KV heads: as said, 1 for multi-query families, else one per head; never more than heads."""
    given = fields.whole("kv_heads", low=1, high=MAX_HEADS)
    attn = fields.section("attn_config")
    if given is None and attn.get("kv_n_heads") is not None:
        given = checked_whole("attn_config.kv_n_heads", attn["kv_n_heads"], 1, MAX_HEADS)
    multi_query = fields.flag("multi_query", default=given is None and family(fields) in model_families().multi_query)
    if multi_query and not fields.flag("new_decoder_architecture"):
        return 1
    kv_heads = given or heads
    if kv_heads > heads:
        raise InvalidModelConfig(
            f"config.json says {kv_heads:,} KV heads for {heads:,} attention heads: lower num_key_value_heads."
        )
    return kv_heads


def _latent(fields: Fields, dim: int) -> LatentAttention | None:
    rank = fields.whole("kv_lora_rank", high=MAX_WIDTH)
    if rank is None:
        return None
    return LatentAttention(
        q_rank=fields.whole("q_lora_rank", low=0, high=MAX_WIDTH) or 0,
        kv_rank=rank,
        nope_dim=fields.whole("qk_nope_head_dim", high=MAX_WIDTH) or dim,
        rope_dim=fields.whole("qk_rope_head_dim", low=0, high=MAX_WIDTH) or 0,
        v_dim=fields.whole("v_head_dim", high=MAX_WIDTH) or dim,
    )


def _indexer(fields: Fields, plan: tuple[Layer, ...], compressed: bool) -> dict[str, int]:
    """Sparse-attention indexer (DeepSeek, GLM, MiniMax-M3 in a section of its own): heads, width, layers with one, and
    how many entries it chooses."""
    section = fields.section("sparse_attention_config")
    heads = fields.whole("index_n_heads", high=MAX_HEADS) or _in_section(section, "sparse_num_index_heads") or 0
    dim = fields.whole("index_head_dim", high=MAX_WIDTH) or _in_section(section, "sparse_index_dim") or 0
    listed, frequency = fields.items("indexer_types"), section.get("sparse_attention_freq")
    layers = sum(layer.mixer == "full" for layer in plan)
    if listed:
        layers = sum(layer.mixer == "full" and kind == "full" for layer, kind in zip(plan, listed, strict=False))
    elif isinstance(frequency, list):
        layers = sum(kind in (1, True) for kind in frequency[: len(plan)])
    has_one = bool(dim) and not compressed
    chosen = fields.whole("index_topk", low=0, high=MAX_VOCAB) or 0
    blocks, size = (_in_section(section, f"sparse_{name}") or 0 for name in ("topk_blocks", "block_size"))
    return {
        "indexer_heads": heads,
        "indexer_dim": dim,
        "indexer_layers": layers if has_one else 0,
        "indexer_entries": chosen or blocks * size,
    }


def _mlp_widths(fields: Fields, hidden: int, kind: str) -> dict[str, int]:
    """Widths of dense MLPs and experts under the names of :class:`Architecture`; contradictions are rejected."""
    ffn = fields.section("ffn_config")
    experts = fields.whole("experts", low=0, high=MAX_EXPERTS) or _in_section(ffn, "moe_num_experts") or 0
    per_token = fields.whole("experts_per_token", low=1, high=MAX_EXPERTS) or _in_section(ffn, "moe_top_k")
    width = fields.whole("intermediate_size", high=10**7) or _in_section(ffn, "ffn_hidden_size")
    expert_width = fields.whole("moe_intermediate_size", high=10**7) or width
    dense = fields.whole("dense_intermediate_size", high=10**7) or width or expert_width
    dense = dense or _default_width(fields, hidden)
    if experts > 1 and per_token is None:
        raise InvalidModelConfig("config.json has experts but no num_experts_per_tok: say how many are used per token.")
    if experts > 1 and (per_token or 0) > experts:
        raise InvalidModelConfig(f"config.json uses {per_token:,} of {experts:,} experts: lower num_experts_per_tok.")
    return {
        "intermediate": dense,
        "experts": experts if experts > 1 else 0,
        "experts_per_token": (per_token or 0) if experts > 1 else 0,
        "moe_intermediate": expert_width or dense,
        "shared_intermediate": shared_width(fields, expert_width or dense, kind) if experts > 1 else 0,
        "expert_hidden": fields.whole("expert_hidden_size", high=MAX_WIDTH) or hidden,
    }


def shared_width(fields: Fields, expert_width: int, kind: str) -> int:
    """Total width of the shared experts; Llama 4 has one of expert width without saying so."""
    count = fields.whole("shared_experts", low=0, high=MAX_EXPERTS) or 0
    given = fields.whole("shared_intermediate_size", low=0, high=10**7)
    if given is not None:
        return given
    return (count or (1 if kind.startswith("llama4") else 0)) * expert_width


def _default_width(fields: Fields, hidden: int) -> int:
    """MLP width where the file is silent: ``expansion_ratio`` (MPT), else four times the model width (GPT-2, BLOOM)."""
    return hidden * (fields.whole("expansion_ratio", high=100) or 4)


def _in_section(section: object, key: str) -> int | None:
    value = section.get(key) if isinstance(section, dict) else None
    return None if value is None else checked_whole(key, value, 1, 10**7)
