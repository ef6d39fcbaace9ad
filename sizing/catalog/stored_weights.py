"""What the weights of a checkpoint take when a part of them is quantised: module by module, as its patterns say."""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sizing.catalog.layer_plan import Layer
from sizing.catalog.parameter_count import (
    CONSTANT_STATE,
    Architecture,
    attention_params,
    expert_params,
    mlp_params,
    total_params,
)
from sizing.catalog.weight_schemes import WIDE, Quantisation, Scheme

_LONGEST_PATTERN, _MOST_REPEATS = 300, 4
"""Regular expressions of a file that are tried. Chosen: longer ones, or with more repeats, could be made to run for
minutes; published ones repeat three times at most."""

_FEW = 20
"""Patterns up to which their order counts. Chosen: people write few rules that overlap, tools many that do not."""

_STEMS = ("model", "model.language_model", "language_model.model", "backbone", "transformer", "")
"""What stands before ``layers`` in the names of modules."""


_FUSED_ATTENTION = ("qkv_proj", "wqkv", "query_key_value", "c_attn", "Wqkv")
_OUTPUTS = ("out_proj", "wo", "dense", "c_proj")
"""How families call query, key and value in one matrix, and the output (InternLM2, ChatGLM, GPT-NeoX, GPT-2, MPT)."""
_MATRICES = {
    "gate_proj": ("gate_up_proj", "w1", "w13", "linear_v"),
    "up_proj": ("gate_up_proj", "w3", "w13", "fc1", "c_fc", "fc_in", "dense_h_to_4h", "linear", "w1_w3"),
    "down_proj": ("w2", "fc2", "c_proj", "fc_out", "dense_4h_to_h", "linear_1"),
}
"""Matrices of an MLP, and how else families call them (Mixtral, MiniMax, OPT, GPT-2, GPT-NeoX, Falcon, Grok)."""


_HEADS = ("lm_head", "language_model.lm_head", "model.lm_head", "model.language_model.lm_head", "thinker.lm_head")
"""How checkpoints call the output layer; a list of modules that stay in 16 bit may name any of them."""

_BESIDE_LANGUAGE = re.compile(r"vision|visual|image|audio|speech|sound|talker|code2wav|token2wav|mtp|draft|eagle")
"""What stands before the layers of an encoder, of speech or of a draft, whose numbers are also those of layers here."""


@dataclass(frozen=True, kw_only=True)
class WeightModule:
    """Weights of one kind in one layer under the names that families give them, from ``layers`` on."""

    names: tuple[str, ...]
    params: float
    kind: str


@dataclass(frozen=True, kw_only=True)
class StoredWeights:
    """``precision`` is the format of most quantised weights, ``bytes`` those of all weights; ``shares`` of the weights
    outside embeddings by format; ``untried`` are patterns that could not be tried."""

    precision: str
    bytes: float
    untried: int
    shares: tuple[tuple[str, float], ...]


def stored_weights(a: Architecture, quantised: Quantisation) -> StoredWeights:
    """Bytes of the language model as its checkpoint stores it: embeddings and head in 16 bit unless it says so."""
    left = Patterns(quantised.left)
    listed = _listed(quantised)
    by_format: defaultdict[str, float] = defaultdict(float)
    inside, total = 0.0, 0.0
    for module in modules(a):
        scheme = _scheme(module, quantised, left, listed)
        by_format[scheme.precision] += module.params
        inside += module.params
        total += module.params * scheme.bytes
    embeddings, head = a.vocab * a.hidden, 0 if a.tied else a.vocab * a.hidden
    rest = max(0.0, total_params(a) - inside - embeddings - head)
    head_bytes = WIDE.bytes if quantised.head is None or left.match(_HEADS) else quantised.head.bytes
    narrow = {name: params for name, params in by_format.items() if name != WIDE.precision}
    return StoredWeights(
        precision=max(narrow, key=lambda name: narrow[name]) if narrow else quantised.main.precision,
        bytes=total + embeddings * (quantised.embeddings or WIDE).bytes + rest * WIDE.bytes + head * head_bytes,
        untried=left.untried + sum(patterns.untried for patterns, _ in listed),
        shares=tuple(sorted(((name, params / inside) for name, params in by_format.items()), key=lambda s: -s[1])),
    )


def _scheme(
    module: WeightModule, quantised: Quantisation, left: Patterns, listed: Iterable[tuple[Patterns, Scheme]]
) -> Scheme:
    if module.kind == "router" or left.match(module.names):
        return WIDE
    own = next((scheme for patterns, scheme in listed if patterns.match(module.names)), None)
    if own is not None:
        return own
    if quantised.holds == "listed" or (quantised.holds == "experts" and module.kind != "experts"):
        return WIDE
    return quantised.main


def _listed(quantised: Quantisation) -> list[tuple[Patterns, Scheme]]:
    """Patterns with their formats in the order of the file; of thousands, of which each names one module, those of one
    format together, the narrower formats first."""
    if len(quantised.listed) <= _FEW:
        return [(Patterns((pattern,)), scheme) for pattern, scheme in quantised.listed]
    names: defaultdict[Scheme, list[str]] = defaultdict(list)
    for pattern, scheme in quantised.listed:
        names[scheme].append(pattern)
    return [(Patterns(tuple(patterns)), scheme) for scheme, patterns in sorted(names.items(), key=lambda n: n[0].bytes)]


def modules(a: Architecture) -> Iterator[WeightModule]:
    """The linear layers of every layer, in groups that checkpoints name together."""
    for i, layer in enumerate(a.plan):
        yield from _attention(a, layer, f"layers.{i}")
        if (layer.mixer in CONSTANT_STATE or layer.mamba_beside) and a.recurrent:
            for part, share in (("in_proj", 0.75), ("out_proj", 0.25)):  # of three and one projections of equal width
                parts = ("linear_attn", "mamba", "mixer", "self_attn", "conv", "attention")
                names = tuple(f"layers.{i}.{at}.{part}" for at in parts)
                names += (f"layers.{i}.linear_attn.in_proj_qkvz", f"layers.{i}.linear_attn.in_proj_qkv") * (
                    part == "in_proj"
                )
                yield WeightModule(names=names, params=a.recurrent.params * share, kind="state")
        yield from _mlp(a, layer, f"layers.{i}")


def _attention(a: Architecture, layer: Layer, at: str) -> Iterator[WeightModule]:
    """Projections of an attention layer: query, key, value and output, or the parts of latent attention."""
    if layer.mixer not in ("full", "sliding", "cross") or layer.shared_weights:
        return
    parts: dict[str, float]
    total, h, heads = attention_params(a, layer), a.hidden, layer.heads or a.heads
    if m := a.latent_of(layer):
        parts = {
            "q_a_proj": h * m.q_rank,
            "q_b_proj": (m.q_rank or h) * heads * (m.nope_dim + m.rope_dim),
            "kv_a_proj_with_mqa": h * (m.kv_rank + m.rope_dim),
            "kv_b_proj": m.kv_rank * heads * (m.nope_dim + m.v_dim),
        }
    elif layer.compress_ratio is not None:
        parts = {"wq_a": h * a.query_rank, "wq_b": a.query_rank * heads * a.head_dim, "wkv": h * a.head_dim}
    else:
        sliding = layer.mixer == "sliding"
        kv = (layer.kv_heads or (a.swa_kv_heads if sliding else a.kv_heads)) * (
            a.swa_head_dim if sliding else a.head_dim
        )
        keys = 0 if layer.reuses_kv else h * kv
        output = heads * (a.swa_v_head_dim if sliding else a.v_head_dim) * h
        parts = {"k_proj": keys, "v_proj": 0 if a.shared_kv and not sliding else keys, "o_proj": output}
        parts["q_proj"] = max(0.0, total - sum(parts.values()))
    parts.setdefault("o_proj", max(0.0, total - sum(parts.values())))
    for part, params in parts.items():
        fused = _FUSED_ATTENTION if part[0] in "qkv" else _OUTPUTS
        places = ("self_attn", "attn", "mixer", "attention", "cross_attn", "self_attention")
        names = tuple(f"{at}.{place}.{name}" for place in places for name in (part, *fused))
        yield WeightModule(names=names, params=float(params), kind="attention")


def _mlp(a: Architecture, layer: Layer, at: str) -> Iterator[WeightModule]:
    """Matrices of a dense MLP, or router, experts and shared experts."""
    if layer.mlp == "none" or layer.shared_weights:
        return
    places: tuple[str, ...] = ("mlp", "block_sparse_moe", "ffn", "feed_forward", "mixer", "moe")
    matrices = tuple(_MATRICES)[3 - a.mlp_matrices :]
    dense_width = layer.mlp_width or a.intermediate

    def each(holders: tuple[str, ...], params: float, kind: str) -> Iterator[WeightModule]:
        for matrix in matrices:
            spelled = (matrix, *_MATRICES[matrix])
            names = tuple(f"{at}.{place}.{holder}{name}" for place in places for holder in holders for name in spelled)
            yield WeightModule(names=names, params=params / len(matrices), kind=kind)

    if layer.mlp == "dense" or a.dense_beside_experts:
        yield from each(("",), float(a.mlp_matrices * a.hidden * dense_width), "mlp")
    if layer.mlp == "dense":
        return
    routed = a.experts * expert_params(a)
    shared = float(a.mlp_matrices * a.hidden * a.shared_intermediate)
    if a.dense_beside_experts:  # Gemma 4 keeps experts beside the MLP, not in it
        places = ("moe",)
        yield WeightModule(names=(f"{at}.experts.0", f"{at}.moe.experts.0"), params=routed, kind="experts")
    else:
        yield from each(("experts.0.",), routed, "experts")
    yield from each(("shared_experts.", "shared_expert.", "shared_mlp."), shared, "shared")
    rest = mlp_params(a, layer) - routed - shared
    rest -= a.mlp_matrices * a.hidden * dense_width if a.dense_beside_experts else 0
    names = tuple(f"{at}.{place}.{name}" for place in places for name in ("gate", "router"))
    yield WeightModule(names=(*names, f"{at}.router"), params=max(0.0, rest), kind="router")


@dataclass
class Patterns:
    """Patterns of module names: "re:" begins a regular expression, "*" is anything, else the name of a module or of
    what holds it, in whole words ("gate" is no "gate_proj")."""

    texts: tuple[str, ...]
    untried: int = 0
    _words: set[str] = field(default_factory=set)
    _starts: tuple[str, ...] = ()
    _globs: list[re.Pattern[str]] = field(default_factory=list)
    _expressions: list[re.Pattern[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        starts = set()
        for text in dict.fromkeys(self.texts):
            bare = text.removesuffix(".weight")
            if text.startswith("re:"):
                expression = _expression(text[3:])
                self._expressions.extend(expression)
                self.untried += not expression
                continue
            if _BESIDE_LANGUAGE.search(bare.partition("layers.")[0]):
                continue
            bare = bare[at:] if (at := bare.find("layers.")) > 0 and "*" not in bare[:at] else bare
            if "*" not in bare and "?" not in bare:
                self._words.add(bare)
            elif bare.startswith("layers.") and bare.endswith("*") and not set(bare[:-1]) & set("*?["):
                starts.add(bare[:-1])
            elif len(bare) <= _LONGEST_PATTERN and len(self._globs) < _LONGEST_PATTERN:
                self._globs.append(re.compile(fnmatch.translate(bare)))
        self._starts = tuple(starts)

    def match(self, names: Iterable[str]) -> bool:
        """Whether one of the names is meant."""
        return any(self._means(name) for name in names)

    def _means(self, name: str) -> bool:
        if self._starts and (name.startswith(self._starts) or f"{name}.".startswith(self._starts)):
            return True
        parts = name.split(".")
        if self._words and any(
            ".".join(parts[i:j]) in self._words for i in range(len(parts)) for j in range(i + 1, len(parts) + 1)
        ):
            return True
        if not (self._globs or self._expressions):
            return False
        holders = [".".join(parts[: end + 1]) for end in range(1 if parts[0] == "layers" else 0, len(parts))]
        whole = [f"{stem}.{holder}".lstrip(".") for stem in _STEMS[:3] for holder in holders] + holders
        if any(glob.match(text) for glob in self._globs for text in whole):
            return True
        full = [f"{stem}.{name}".lstrip(".") for stem in _STEMS]
        return any(expression.match(text) for expression in self._expressions for text in full)


def _expression(text: str) -> list[re.Pattern[str]]:
    """A regular expression of a file, if it can be tried at no risk; else none."""
    repeats = len(re.findall(r"[*+]|\{", text))
    nested = re.search(r"\)[*+{]", text)
    if len(text) > _LONGEST_PATTERN or repeats > _MOST_REPEATS or nested:
        return []
    try:
        return [re.compile(text)]
    except (re.error, OverflowError, RecursionError):
        return []
