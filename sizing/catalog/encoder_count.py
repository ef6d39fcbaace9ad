"""Encoders and encoder-decoders: what of their tensors decoders do not have.

Sources: modelling code of transformers 5.24 (bert, albert, t5, bart, whisper); checked against published sizes in
``tests/sizing/catalog``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import ConfigFields
from sizing.catalog.model_families import family, model_families
from sizing.catalog.parameter_count import Architecture, attention_params, mlp_params, total_params

_WIDEST = 10**6
_MOST = 2_000


def as_encoder(fields: ConfigFields, a: Architecture) -> Architecture:
    """The same layers read as an encoder's: a table of positions and token types where the family has them, a pooler,
    and in ALBERT one layer that all apply."""
    kind, families = family(fields), model_families()
    bert_like = kind in families.encoders and kind not in families.rotary_encoders
    absolute = fields.text("position_embedding_type") in ("", "absolute")
    positions = (fields.whole("max_context", high=10**8) or 0) if bert_like and absolute else 0
    extra = float((fields.whole("type_vocab_size", low=0) or 0) * a.embedding_width)
    extra += a.hidden * a.hidden if bert_like else 0  # pooler, or the first layer of a head
    if kind == "deberta-v2":
        extra += 2 * (fields.whole("position_buckets", low=-1) or 0) * a.hidden
    if kind == "longformer":  # a second set of projections for tokens that attend to everything
        extra += 3.0 * len(a.plan) * a.hidden * a.hidden
    if kind == "albert":
        groups = fields.whole("num_hidden_groups", high=_MOST) or 1
        extra += groups * (attention_params(a, a.plan[0]) + mlp_params(a, a.plan[0]))
        a = replace(a, plan=tuple(replace(layer, shared_weights=True) for layer in a.plan))
    return replace(a, tied=True, position_table=positions, shared_params=a.shared_params + extra)


@dataclass(frozen=True, kw_only=True)
class EncoderDecoder:
    """Counts of an encoder-decoder: all weights, and what its decoder caches per generated token."""

    params: float
    layers: int
    hidden: int
    heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool
    kv_elements: float


def encoder_decoder(fields: ConfigFields) -> EncoderDecoder:
    """An encoder-decoder whose two halves stand side by side in the file (T5, BART, Whisper and their descendants)."""
    hidden = fields.needed("hidden_size", low=16, high=_WIDEST)
    reading = _first(fields, "encoder_layers", "num_encoder_layers", "num_layers", "num_hidden_layers")
    writing = _first(fields, "decoder_layers", "num_decoder_layers", "num_layers", "num_hidden_layers")
    heads = _first(fields, "decoder_attention_heads", "num_heads", "num_attention_heads")
    head_dim = fields.whole("d_kv", high=_WIDEST) or max(1, hidden // heads)
    width = _first(fields, "decoder_ffn_dim", "d_ff", "intermediate_size")
    vocab = fields.needed("vocab_size")
    matrices = 3 if fields.text("feed_forward_proj").startswith("gated") or fields.flag("is_gated_act") else 2
    attention, mlp = 4.0 * hidden * heads * head_dim, float(matrices * hidden * width)
    tied = fields.flag("tie_word_embeddings", default=True)
    embeddings = vocab * hidden * (1 if tied else 2) + _positions(fields) * hidden
    layers = reading * (attention + mlp) + writing * (2 * attention + mlp) + _experts(fields, reading, writing, mlp)
    return EncoderDecoder(
        params=embeddings + layers + _listening(fields, hidden),
        layers=reading + writing,
        hidden=hidden,
        heads=heads,
        head_dim=head_dim,
        intermediate=width,
        vocab=vocab,
        tied=tied,
        kv_elements=2.0 * writing * heads * head_dim,
    )


def _first(fields: ConfigFields, *keys: str) -> int:
    """The first of several numbers that the file gives, then the class. Raises InvalidModelConfig without one."""
    ordered = sorted(keys, key=lambda key: not fields.given(key))
    number = next((n for key in ordered if (n := fields.whole(key)) is not None), None)
    unsaid = keys[0].endswith("_layers") and len(fields.sections) == 1 and not any(map(fields.given, keys))
    if number is None or unsaid:
        raise InvalidModelConfig(
            f"config.json of an encoder-decoder has none of {', '.join(keys)}: use the whole file."
        )
    if keys[0].endswith("_layers") and number > _MOST:
        raise InvalidModelConfig(f"config.json says {number:,} layers: change it to at most {_MOST:,}.")
    return number


def _positions(fields: ConfigFields) -> int:
    """Rows of the tables of positions: both halves of BART, source and target of Whisper; T5 has relative ones."""
    if family(fields) in ("bart", "mbart", "plbart", "florence2_language", "blenderbot-small", "blenderbot"):
        return 2 * (fields.whole("max_position_embeddings") or 0)
    if family(fields) == "led":
        halves_of = ("max_encoder_position_embeddings", "max_decoder_position_embeddings")
        return sum(fields.whole(key) or 0 for key in halves_of)
    targets = fields.whole("max_target_positions") or 0
    return targets + (fields.whole("max_source_positions") or 0) if targets else 0


def _listening(fields: ConfigFields, hidden: int) -> float:
    """Whisper: two convolutions of width 3 over the spectrogram."""
    bins = fields.whole("num_mel_bins", high=10**5)
    return 3.0 * hidden * (bins + hidden) if bins else 0.0


def _experts(fields: ConfigFields, reading: int, writing: int, mlp: float) -> float:
    """Weights of the experts beside the first one of a layer: Switch (so many sparse layers), NLLB-MoE (every n-th)."""
    experts = fields.whole("num_experts", high=10**5) or 1
    if experts == 1:
        return 0.0
    steps = [fields.whole(f"{half}_sparse_step", low=0, high=_MOST) or 0 for half in ("encoder", "decoder")]
    every = sum(layers // step for layers, step in zip((reading, writing), steps, strict=True) if step)
    sparse = [fields.whole(f"num_sparse_{half}_layers", low=0, high=_MOST) or 0 for half in ("encoder", "decoder")]
    return (sum(sparse) or every) * (experts - 1) * mlp


def halves(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The sections of an encoder-decoder that holds two models (T5Gemma, EncoderDecoderModel); None for any other."""
    encoder, decoder = config.get("encoder"), config.get("decoder")
    both = isinstance(encoder, Mapping) and isinstance(decoder, Mapping) and encoder and decoder
    return (encoder, decoder) if both else None  # type: ignore[return-value]


def of_halves(
    encoder: Architecture, decoder: Architecture, kv_elements: float, *, one_table: bool = False
) -> EncoderDecoder:
    """An encoder-decoder of two models: cross-attention has the size of the decoder's own; with ``one_table`` both have
    the same embeddings (T5Gemma 2)."""
    crossing = sum(attention_params(decoder, layer) for layer in decoder.plan)
    if one_table:
        crossing -= encoder.vocab * encoder.embedding_width
    return EncoderDecoder(
        params=total_params(encoder) + total_params(decoder) + crossing,
        layers=len(encoder.plan) + len(decoder.plan),
        hidden=decoder.hidden,
        heads=decoder.heads,
        head_dim=decoder.head_dim,
        intermediate=decoder.intermediate,
        vocab=decoder.vocab,
        tied=decoder.tied,
        kv_elements=kv_elements,
    )
