"""A model of which only the size is public: a dense transformer of that size, with every assumption stated."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sizing.base.errors import InvalidScenario, nearest_names
from sizing.base.units import BILLION
from sizing.catalog.model import Model

MIN_PARAMS_B, MAX_PARAMS_B = 0.05, 20_000.0
"""Sizes in billions of parameters that are taken; the same bounds as in :mod:`sizing.scenario.schema`."""

WIDTH_TO_DEPTH = 128
"""Model width per layer of published dense models: GPT-3 175B 12288/96, Llama 2 7B 4096/32, 13B 5120/40, Llama 3.1 405B
16384/126 (models.csv; Brown et al. 2020)."""

ATTENTION_AND_MLP = 12
"""Weights of one classic transformer layer per squared width: 4 for attention, 8 for a four times wider MLP
(Kaplan et al. 2020, "Scaling laws for neural language models", table 1)."""

VOCABULARY, SMALL_VOCABULARY, SMALL_BELOW_B = 128_256, 32_000, 1.0
"""Vocabulary of Llama 3, between 32,000 (Llama 2) and 256,000 (Nemotron, Gemma); below 1 billion parameters that of
Llama 2, because embeddings would outweigh the layers (models.csv)."""

GQA_FROM_B, GQA_KV_HEADS = 20.0, 8
"""From 20 billion parameters on, published models share keys and values among 8 groups of heads (Llama 2 and 3 70B)."""

UNTIED_FROM_B = 4.0
"""Smaller published models share input and output embeddings (Llama 3.2 1B and 3B, Qwen3 0.6B to 4B)."""

RANGES: Mapping[str, tuple[int, int]] = {
    "layers": (1, 2_000),
    "hidden_size": (64, 1_000_000),
    "heads": (1, 100_000),
    "kv_heads": (1, 100_000),
    "head_dim": (8, 100_000),
    "max_context": (16, 100_000_000),
}
"""What may be given besides the size, and the range it must lie in."""


def model_from_size(name: str, params_b: float, **overrides: Any) -> Model:
    """A dense transformer with ``params_b`` billion parameters; overrides replace what would be assumed.

    Layers and width follow ``12 x layers x width^2 = parameters without embeddings`` at 128 of width per layer; the MLP
    takes what attention and embeddings leave, so that the total is exactly the size asked for.
    Raises InvalidScenario with one sentence per fault.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    problems = _size_problems(params_b) + _override_problems(given)
    if problems:
        raise InvalidScenario(problems)
    total, sizes = float(params_b) * BILLION, _sizes(params_b, given)
    mlp = (total - sizes.embedding) / sizes.layers - 2 * sizes.width * sizes.head_dim * (sizes.heads + sizes.kv_heads)
    intermediate = round(mlp / (3 * sizes.width))
    if intermediate < 1:
        raise InvalidScenario(
            [
                f"{sizes.layers} layers of width {sizes.width} exceed {params_b:g} billion parameters: lower layers or "
                "hidden_size."
            ]
        )
    heads, kv_heads = sizes.heads, sizes.kv_heads
    return Model(
        id=name,
        family="dense transformer",
        developer="",
        params_total=total,
        params_active=total,
        layers=sizes.layers,
        hidden_size=sizes.width,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=sizes.head_dim,
        intermediate_size=intermediate,
        vocab_size=sizes.vocabulary,
        tie_embeddings=sizes.tied,
        attention="mqa" if kv_heads == 1 < heads else "mha" if kv_heads == heads else "gqa",
        full_layers=sizes.layers,
        kv_elements_full=float(2 * sizes.layers * kv_heads * sizes.head_dim),
        max_context=given.get("max_context"),
        source="size given by the user",
        assumptions=_assumptions(given, params_b, sizes),
    )


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """What of the architecture follows from the size, where it is not given; ``embedding`` counts parameters."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    embedding: int


def _sizes(params_b: float, given: Mapping[str, Any]) -> _Sizes:
    """Raises InvalidScenario for more KV heads than heads."""
    total, tied = float(params_b) * BILLION, params_b < UNTIED_FROM_B
    vocabulary = SMALL_VOCABULARY if params_b < SMALL_BELOW_B else VOCABULARY
    per_width = vocabulary * (1 if tied else 2)
    width = int(given.get("hidden_size") or _width(total, per_width))
    embedding = per_width * width
    layers = int(given.get("layers") or max(1, round((total - embedding) / (ATTENTION_AND_MLP * width**2))))
    head_dim = int(given.get("head_dim") or _head_dim(width, given))
    heads = int(given.get("heads") or max(1, width // head_dim))
    kv_heads = int(given.get("kv_heads") or (min(GQA_KV_HEADS, heads) if params_b >= GQA_FROM_B else heads))
    if kv_heads > heads:
        raise InvalidScenario([f"{kv_heads} KV heads cannot serve {heads} attention heads: lower kv_heads."])
    return _Sizes(
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=vocabulary,
        tied=tied,
        embedding=embedding,
    )


def _size_problems(params_b: object) -> list[str]:
    number = params_b if isinstance(params_b, int | float) and not isinstance(params_b, bool) else math.nan
    if MIN_PARAMS_B <= number <= MAX_PARAMS_B:
        return []
    bounds = f"{MIN_PARAMS_B:g} and {MAX_PARAMS_B:,.0f}"
    return [f"params_b must be the size in billions of parameters, between {bounds}, not {params_b!r:.40}."]


def _override_problems(given: Mapping[str, Any]) -> list[str]:
    problems = []
    for key, value in given.items():
        if key not in RANGES:
            near = nearest_names(key, RANGES, 1)
            hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(RANGES)}."
            problems.append(f"“{key[:40]}” cannot be given for a model of known size only.{hint}")
            continue
        low, high = RANGES[key]
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        if not low <= number <= high or number != int(number):
            problems.append(f"{key} must be a whole number between {low:,} and {high:,}, not {value!r:.40}.")
    return problems


def _width(total: float, embedding_per_width: int) -> int:
    """Width at 128 per layer, a multiple of eight heads; embeddings are taken off the size first."""
    width = 512.0
    for _ in range(50):
        body = max(total - embedding_per_width * width, total / 2)
        width = (body * WIDTH_TO_DEPTH / ATTENTION_AND_MLP) ** (1 / 3)
    step = 8 * (128 if width >= 2048 else 64)
    return max(step, round(width / step) * step)


def _head_dim(width: int, given: Mapping[str, Any]) -> int:
    if given.get("heads"):
        return max(1, width // int(given["heads"]))
    return 128 if width >= 2048 else 64


def _assumptions(given: Mapping[str, Any], params_b: float, sizes: _Sizes) -> tuple[str, ...]:
    """One sentence per thing that was not given."""
    notes = ["no public architecture: sized as a dense transformer with gated MLPs and full attention"]
    if not {"layers", "hidden_size"} <= given.keys():
        notes.append(
            f"{sizes.layers} layers of width {sizes.width:,}, so that 12 x layers x width² gives the size at about "
            f"{WIDTH_TO_DEPTH} of width per layer, as in published models"
        )
    if "heads" not in given or "head_dim" not in given:
        notes.append(f"{sizes.heads} attention heads of width {sizes.head_dim}")
    if "kv_heads" not in given:
        rule = "one per head" if params_b < GQA_FROM_B else "grouped-query attention, usual from 20 billion parameters"
        notes.append(f"{sizes.kv_heads} KV heads ({rule})")
    family = 2 if sizes.vocabulary == SMALL_VOCABULARY else 3
    notes.append(f"a vocabulary of {sizes.vocabulary:,} tokens, as Llama {family}")
    if "max_context" not in given:
        notes.append("context window unknown, so it is not checked")
    return tuple(notes)
