"""Turns a config.json into an :class:`Architecture`: which tensors the model has, family by family."""

from collections.abc import Mapping

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import ConfigFields, checked_number, checked_whole
from sizing.catalog.layer_plan import Layer, layer_plan
from sizing.catalog.model import LatentAttention
from sizing.catalog.model_families import family, model_families
from sizing.catalog.parameter_count import CONSTANT_STATE, Architecture
from sizing.catalog.recurrent_mixers import inner_width, recurrent_mixer, state_heads

MAX_WIDTH, MAX_HEADS, MAX_VOCAB, MAX_EXPERTS = 10**6, 10**5, 10**7, 10**5
"""Largest sizes read from a config.json. Chosen: because each is at least ten times the largest of
the catalogue."""


DENSE_BESIDE = ("enable_moe_block", "residual_moe", "parallel_attn_mlp_res")
"""Fields that say that every layer with experts has a dense MLP, too."""


def architecture(fields: ConfigFields) -> Architecture:
    """The decoder that the configuration describes; raises InvalidModelConfig where it is missing or contradictory."""
    hidden = fields.needed("hidden_size", low=16, high=MAX_WIDTH)
    plan = layer_plan(fields)
    attends = any(layer.mixer in ("full", "sliding", "cross") for layer in plan)
    heads = _heads(fields, hidden, plan) if attends else _heads_of_state(fields, hidden)
    kind, families = family(fields), model_families()
    compressed = any(layer.compress_ratio is not None for layer in plan)
    kinds = frozenset(layer.mixer for layer in plan) | {"mamba" for layer in plan if layer.mamba_beside}
    return Architecture(
        plan=plan,
        hidden=hidden,
        **heads,
        vocab=_vocabulary(fields),
        embedding_width=_embedding_width(fields, hidden),
        tied=_tied(fields, kind),
        position_table=(fields.whole("max_context", high=10**8) or 0) if kind in families.learned_positions else 0,
        mlp_matrices=_mlp_matrices(fields, kind),
        gated_output=any(fields.flag(key) for key in ("mla_use_output_gate", "use_gqa_gate", "gated_mla"))
        or fields.text("gating") == "per-element"
        or fields.flag("attn_output_gate", default=kind in families.gated_output),
        shared_kv=fields.flag("attention_k_eq_v"),
        latent=_latent(fields, hidden, heads),
        swa_latent=_latent_in_windows(fields, hidden, heads),
        output_rank=(fields.whole("o_lora_rank", high=MAX_WIDTH) or 0) if compressed else 0,
        output_groups=(fields.whole("o_groups", high=MAX_HEADS) or 1) if compressed else 0,
        query_rank=fields.whole("q_lora_rank", low=0, high=MAX_WIDTH) or hidden,
        **_indexer(fields, plan, compressed),
        recurrent=recurrent_mixer(fields, hidden, heads["heads"], kinds) if kinds & set(CONSTANT_STATE) else None,
        shared_params=_beside_layers(fields, hidden, plan, heads),
        attention_expert=heads["kv_heads"] * heads["head_dim"] if kind == "jetmoe" else 0,
        ngram_table=_ngram_table(fields, hidden),
        visual_experts=kind in families.visual_experts,
        dense_beside_experts=any(fields.flag(key) for key in DENSE_BESIDE) or kind in families.doubled_layers,
        shared_query=fields.whole("share_q_dim", low=0, high=MAX_WIDTH) or 0,
        layer_input=fields.whole("hidden_size_per_layer_input", low=0, high=MAX_WIDTH) or 0,
        layer_input_vocab=fields.whole("vocab_size_per_layer_input", low=0, high=MAX_VOCAB) or 0,
        **_mlp_widths(fields, hidden, kind),
    )


BOTH_HALVES = ("hf_olmo", "molmo")
"""The first OLMo and its kin, whose width of an MLP is that of gate and up together."""


def _embedding_width(fields: ConfigFields, hidden: int) -> int:
    """Width of an embedding, which a matrix widens to the model's where they differ (ALBERT, ELECTRA, OPT-350M).

    OLMo and Molmo call the rows of theirs ``embedding_size``, which are as many as the vocabulary or more.
    """
    if family(fields) in BOTH_HALVES:
        return hidden
    names = ("embedding_size", "word_embed_proj_dim", "input_embedding_size")
    width = next((width for key in names if (width := fields.whole(key, high=MAX_WIDTH))), hidden)
    return hidden if width >= max(fields.whole("vocab_size") or width, hidden) > hidden else width


def _mlp_matrices(fields: ConfigFields, kind: str) -> int:
    """Matrices of an MLP: up and down, and a gate in most decoders and in encoders since ModernBERT."""
    families = model_families()
    if fields.raw("position_encoding_2d") is not None:
        return 2  # the first ChatGLM, whose type later ones share
    if kind == "nomic_bert" and fields.given("activation_function"):
        return 3 if "glu" in fields.text("activation_function") else 2
    if "glu" in fields.text("feed_forward_type") or fields.text("feed_forward_proj").startswith("gated"):
        return 3
    ungated = (
        kind in families.encoder_decoders
        or kind in families.ungated_mlp
        or (kind in families.encoders and kind not in families.gated_encoders)
    )
    return 2 if ungated else 3


def _vocabulary(fields: ConfigFields) -> int:
    """Rows of the embedding, which the first Mamba models pad (``pad_vocab_size_multiple``)."""
    size = fields.needed("vocab_size", high=MAX_VOCAB)
    multiple = fields.whole("pad_vocab_size_multiple", high=10**5) or 1
    return -(-size // multiple) * multiple


def _tied(fields: ConfigFields, kind: str) -> bool:
    """Whether input and output embeddings are one matrix, by whatever name the file says it."""
    for key in ("tie_word_embeddings", "tie_embedding", "tie_embeddings", "share_input_output_layers", "weight_tying"):
        shared = fields.raw(key)
        if isinstance(shared, bool):
            return shared
    return fields.flag(
        "tie_word_embeddings",
        default=kind in model_families().tied_by_default
        or bool({"ssm_cfg", "position_encoding_2d"} & fields.inner.keys()),
    )


def _heads_of_state(fields: ConfigFields, hidden: int) -> dict[str, int]:
    """The heads by which a model without attention is split, under the names of :class:`Architecture`."""
    count, dim = state_heads(fields, hidden)
    numbers = dict.fromkeys(("heads", "kv_heads", "swa_kv_heads"), count)
    return numbers | dict.fromkeys(("head_dim", "v_head_dim", "swa_head_dim", "swa_v_head_dim"), dim)


def _beside_layers(fields: ConfigFields, hidden: int, plan: tuple[Layer, ...], heads: dict[str, int]) -> float:
    """Weights beside the layers: shared blocks (Zamba), or gated memory units (SambaY), two projections each."""
    if any(layer.shared_weights for layer in plan):
        return _shared_blocks(fields, hidden, plan, heads)
    if family(fields) not in model_families().decoder_decoder:
        return 0.0
    return float(sum(layer.mixer == "none" for layer in plan) * 2 * hidden * inner_width(fields, hidden))


def _ngram_table(fields: ConfigFields, hidden: int) -> float:
    """Weights of the tables of n-grams: of LongCat a multiple of the vocabulary as wide as the model; of Qwen4 in each
    of ``ple_layer_ids`` a table a head, all together as wide as ``ple_embed_dim``.

    Sources: meituan-longcat/LongCat-Flash-Lite (31.4 of 68.5 billion parameters), Qwen4ExpTextNGramEmbedding.
    """
    ratio = fields.raw("ngram_vocab_size_ratio")
    if ratio is not None:
        rows = checked_number("ngram_vocab_size_ratio", ratio, 0, 10**4) * fields.needed("vocab_size", high=MAX_VOCAB)
        return rows * hidden
    layers = len(fields.items("ple_layer_ids"))
    rows = float(fields.whole("ngram_vocab_size_base", high=10**9) or 20_000_000) if layers else 0.0
    return layers * rows * (fields.whole("ple_embed_dim", high=MAX_WIDTH) or hidden)


def _image_expert(fields: ConfigFields) -> int:
    """Width of the experts for images where a pair says both widths (ERNIE 4.5 VL); else 0."""
    widths = fields.items("moe_intermediate_size")
    pair = len(widths) == 2 and widths[0] != widths[1]
    return checked_whole("moe_intermediate_size", widths[1], 1, 10**7) if pair else 0


def _shared_blocks(fields: ConfigFields, hidden: int, plan: tuple[Layer, ...], heads: dict[str, int]) -> float:
    """Zamba: blocks of attention over twice the width and an MLP, which several layers apply; each application has a
    projection of its own, and in Zamba 2 low-rank adapters of the MLP and, where asked for, of the attention.

    Source: ZambaAttentionDecoderLayer and Zamba2MLP, Zamba2Attention of transformers 5.24.
    """
    first = family(fields) == "zamba"
    width = fields.whole("attention_hidden_size", high=MAX_WIDTH) or 2 * hidden
    inner = fields.whole("intermediate_size") or 4 * hidden
    projected = heads["heads"] * heads["head_dim"]
    attention = width * (projected + 2 * heads["kv_heads"] * heads["head_dim"]) + projected * hidden
    blocks = 1 if first else fields.whole("num_mem_blocks", high=1000) or 1
    applied = sum(layer.shared_weights for layer in plan)
    rank = 0 if first else fields.whole("adapter_rank", low=0, high=MAX_WIDTH) or 0
    adapter = rank * (hidden + 2 * inner)
    if fields.flag("use_shared_attention_adapter"):
        adapter += 3 * rank * (width + projected)
    return float(blocks * (attention + 3 * hidden * inner) + applied * (hidden * hidden + adapter))


def _heads(fields: ConfigFields, hidden: int, plan: tuple[Layer, ...]) -> dict[str, int]:
    """Numbers and widths of heads, those of sliding layers apart, under the names of :class:`Architecture`."""
    every = all(layer.heads for layer in plan)  # a list by layer, not single layers that differ
    heads = max(layer.heads or 0 for layer in plan) if every else fields.needed("heads", high=MAX_HEADS)
    every = all(layer.kv_heads for layer in plan)
    kv_heads = max(layer.kv_heads or 0 for layer in plan) if every else _kv_heads(fields, heads)
    if kv_heads > heads:
        raise InvalidModelConfig(
            f"config.json says {kv_heads:,} KV heads for {heads:,} attention heads: lower num_key_value_heads."
        )
    dim = _head_dim(fields, hidden, heads)
    if dim < 1:
        raise InvalidModelConfig(
            f"config.json says {heads:,} attention heads for a width of {hidden:,}: lower the number of heads."
        )
    v_dim = fields.whole("v_head_dim", low=0, high=MAX_WIDTH) or dim
    if family(fields) == "hymba":  # values are as wide as Mamba, with which they are averaged
        v_dim = inner_width(fields, hidden) // heads
    global_dim = fields.whole("global_head_dim", high=MAX_WIDTH)
    if not fields.section("per_layer_config"):
        global_dim = global_dim or fields.rule("global_head_dim", model_families().global_head_dim.get(family(fields)))
    return {
        "heads": heads,
        "kv_heads": fields.whole("num_global_key_value_heads", high=MAX_HEADS) or kv_heads,
        "head_dim": global_dim or dim,
        "v_head_dim": global_dim or v_dim,
        "swa_kv_heads": fields.whole("swa_num_key_value_heads", high=MAX_HEADS) or kv_heads,
        "swa_head_dim": fields.whole("swa_head_dim", high=MAX_WIDTH) or _split_width(fields, hidden) or dim,
        "swa_v_head_dim": fields.whole("swa_v_head_dim", high=MAX_WIDTH) or _split_width(fields, hidden) or v_dim,
    }


def _split_width(fields: ConfigFields, hidden: int) -> int:
    """Width of a head in windows where their number alone is said to differ (Baichuan-M1), else 0."""
    heads = None if fields.given("head_dim") else fields.whole("swa_num_attention_heads", high=MAX_HEADS)
    return hidden // heads if heads else 0


def _head_dim(fields: ConfigFields, hidden: int, heads: int) -> int:
    """Width of a head; with latent attention the file may leave it at 0, since its parts are given (GLM-5.3-Flash)."""
    lowest = 0 if fields.whole("kv_lora_rank", high=MAX_WIDTH) else 1
    return fields.whole("head_dim", low=lowest, high=MAX_WIDTH) or hidden // heads


def _kv_heads(fields: ConfigFields, heads: int) -> int:
    """KV heads: as said, 1 for multi-query families, else one per head; never more than heads."""
    given = fields.whole("kv_heads", low=1, high=MAX_HEADS)
    attn = fields.section("attn_config")
    if given is None and attn.get("kv_n_heads") is not None:
        given = checked_whole("attn_config.kv_n_heads", attn["kv_n_heads"], 1, MAX_HEADS)
    multi_query = fields.flag("multi_query", default=given is None and family(fields) in model_families().multi_query)
    if multi_query and not fields.flag("new_decoder_architecture"):
        return 1
    if given and given > heads and not fields.given("kv_heads"):
        return heads  # the class's default is of a model with more heads
    return given or heads


def _latent_in_windows(fields: ConfigFields, hidden: int, heads: dict[str, int]) -> LatentAttention | None:
    """Widths of latent attention in sliding layers; None where they are those of the others."""
    windowed = _latent(fields, hidden, heads, "swa_")
    listed = (one for one in fields.section("per_layer_config").values() if isinstance(one, Mapping))
    by_layer = any("kv_lora_rank" in one for one in listed)
    if windowed is None and (by_layer or family(fields) in ("dots3_note", "dots3_note_text")):
        raise InvalidModelConfig(
            "config.json does not say the widths of latent attention inside windows: add swa_kv_lora_rank,"
            " swa_q_lora_rank, swa_qk_nope_head_dim, swa_qk_rope_head_dim and swa_v_head_dim."
        )
    return windowed


def _latent(fields: ConfigFields, hidden: int, heads: dict[str, int], layers: str = "") -> LatentAttention | None:
    rank = fields.whole(f"{layers}kv_lora_rank", high=MAX_WIDTH)
    if rank is None:
        return None

    def width(key: str) -> int | None:
        return fields.whole(f"{layers}{key}", low=0, high=MAX_WIDTH)

    dim = _head_dim(fields, hidden, heads["heads"])
    return LatentAttention(
        q_rank=width("q_lora_rank") or 0,
        kv_rank=rank,
        nope_dim=width("qk_nope_head_dim") or dim,
        rope_dim=width("qk_rope_head_dim") or 0,
        v_dim=width("v_head_dim") or dim,
    )


def _indexer(fields: ConfigFields, plan: tuple[Layer, ...], compressed: bool) -> dict[str, int]:
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


def _mlp_widths(fields: ConfigFields, hidden: int, kind: str) -> dict[str, int]:
    """Widths of dense MLPs and experts under the names of :class:`Architecture`; contradictions are rejected."""
    ffn = fields.section("ffn_config")
    experts = fields.whole("experts", low=0, high=MAX_EXPERTS) or _in_section(ffn, "moe_num_experts") or 0
    experts = 0 if fields.raw("is_moe") is False else experts
    per_token = fields.whole("experts_per_token", low=0, high=MAX_EXPERTS) or _in_section(ffn, "moe_top_k")
    width = _dense_width(fields, hidden, kind) or _in_section(ffn, "ffn_hidden_size")
    expert_width = fields.whole("moe_intermediate_size", high=10**7) or width
    dense = fields.whole("dense_intermediate_size", high=10**7) or width or expert_width
    dense = hidden if kind == "arctic" else dense or _default_width(fields, hidden)  # ArcticMLP(is_residual_mlp=True)
    if experts > 1 and not per_token:
        raise InvalidModelConfig("config.json has experts but no num_experts_per_tok: say how many are used per token.")
    if experts > 1 and (per_token or 0) > experts:
        raise InvalidModelConfig(f"config.json uses {per_token:,} of {experts:,} experts: lower num_experts_per_tok.")
    # Of the choices of LongCat-Flash some are experts that compute nothing, chosen as often as others on average.
    zero = fields.whole("zero_expert_num", low=0, high=MAX_EXPERTS) or 0
    per_token = max(1, round((per_token or 0) * experts / (experts + zero))) if zero and experts else per_token
    return {
        "intermediate": dense,
        "experts": experts if experts > 1 else 0,
        "experts_per_token": (per_token or 0) if experts > 1 else 0,
        "moe_intermediate": expert_width or dense,
        "shared_intermediate": shared_width(fields, expert_width or dense, kind) if experts > 1 else 0,
        "expert_hidden": fields.whole("expert_hidden_size", high=MAX_WIDTH) or hidden,
        "image_expert": _image_expert(fields),
        "router_inner": fields.whole("router_hidden_size", high=MAX_WIDTH) or 0,
    }


def _dense_width(fields: ConfigFields, hidden: int, kind: str) -> int | None:
    """Width of an MLP where the file says it, with what a family does to the number.

    LFM2 takes two thirds of it, times a multiplier, rounded up (Lfm2MLP); RecurrentGemma, OLMo and the first Qwen
    count both halves of a gated MLP; a Granite 4 without experts has its shared MLP alone; RWKV has none.
    """
    listed = fields.items("intermediate_size") or fields.items("ffn_multipliers")
    if listed and len(set(map(str, listed))) > 1:
        return None  # layers have widths of their own
    width = fields.whole("intermediate_size", high=10**7)
    if kind == "granitemoehybrid" and not fields.whole("experts", low=0, high=MAX_EXPERTS):
        return fields.whole("shared_intermediate_size", high=10**7) or width
    if width and kind in ("recurrent_gemma", "qwen", *BOTH_HALVES):
        return width // 2
    if (
        width
        and kind.startswith("lfm2")
        and fields.flag("block_auto_adjust_ff_dim", default="block_ff_dim" in fields.inner)
    ):
        multiple = fields.whole("block_multiple_of", high=10**6) or 256
        factor = checked_number("block_ffn_dim_multiplier", fields.raw("block_ffn_dim_multiplier") or 1.0, 0.01, 100)
        return -(-int(factor * int(2 * width / 3)) // multiple) * multiple
    return width


def shared_width(fields: ConfigFields, expert_width: int, kind: str) -> int:
    """Total width of the shared experts; Llama 4 has one of expert width without saying so."""
    count = fields.whole("shared_experts", low=0, high=MAX_EXPERTS) or 0
    given = fields.whole("shared_intermediate_size", low=0, high=10**7)
    if given is not None:
        return given
    return (count or (1 if kind.startswith("llama4") else 0)) * expert_width


def _default_width(fields: ConfigFields, hidden: int) -> int:
    """MLP width where the file is silent: ``expansion_ratio`` (MPT), else four times the model width (GPT-2, BLOOM)."""
    return hidden * (fields.whole("expansion_ratio", high=100) or 4)


def _in_section(section: object, key: str) -> int | None:
    value = section.get(key) if isinstance(section, dict) else None
    return None if value is None else checked_whole(key, value, 1, 10**7)
