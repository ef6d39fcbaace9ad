"""From the name of a model that a person types to the catalogue entry, without ever landing on another size.

A model name is compared in stages, each ignoring more of it: capitals and organisation; weight format (``-FP8``);
variant (``-Instruct``); release date (``-0528``); version and context. Then comes a catalogue model that the name
contains (a fine-tune named after its base), and last a name of which only the size says anything. A stage decides only
when every candidate has the same architecture.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from sizing.base.errors import UnknownName, nearest_names
from sizing.base.units import BILLION
from sizing.catalog.checkpoint_names import CheckpointName, WordKind, changes_architecture, parse
from sizing.catalog.checkpoints import publishers_of_sizes
from sizing.catalog.files import read_yaml
from sizing.catalog.from_size import MAX_PARAMS_B, MIN_PARAMS_B, model_from_size
from sizing.catalog.gguf_types import USUAL_TYPE, gguf_types
from sizing.catalog.model import Model
from sizing.catalog.model_rows import models
from sizing.catalog.precisions import Precision, precisions

Match = Literal["id", "name", "architecture", "release", "alias", "descendant", "size"]
"""How a name led to a model: it is the id; the same name elsewhere; another checkpoint of the architecture; another
release of it; an entry of ``model_aliases.yaml``; a name that contains the model's; nothing but a size."""

STAGES: tuple[tuple[Match, tuple[WordKind, ...], tuple[WordKind, ...]], ...] = (
    ("name", (), ()),
    ("architecture", ("format",), ("format",)),
    ("architecture", ("format", "variant"), ("format", "variant")),
    ("release", ("format", "variant", "release"), ("format", "variant")),
)
"""What each stage leaves out of the typed name, and what of the names of the catalogue, which keeps its dates."""

BARE: tuple[WordKind, ...] = ("format", "variant", "release", "version", "context")
"""What is left out of both where a name says its size, so that nothing but family and size remains."""

DATED: tuple[WordKind, ...] = ("release", "version", "context")
"""Kinds of words that tell releases of one model apart."""

_ACTIVE = re.compile(r"^a\d+(\.\d+)?[bm]$")
"""The active parameters of a mixture of experts (``A22B``), which people leave out."""

_GENERATION = re.compile(r"^\d+(\.\d+)?$")

ALIKE = 0.75
"""Similarity (difflib) from which a word counts as another one mistyped: "quen" and "qwen" have it exactly."""

KEPT_NAMES = 4096
"""Names that are remembered. Chosen: because a table of points has a hundred, and a server must not grow."""


@dataclass(frozen=True, kw_only=True)
class ResolvedModel:
    """What a typed name stands for.

    ``precision`` is the weight format that the name tells and the catalogue does not, None otherwise; ``usual_type``
    says that it is the one which is loaded where the name of GGUF files tells none. ``note`` is what
    the data file says of an alias, for people. ``unknown_words`` of the name are of a release, version or context of
    which the catalogue knows nothing: the model is of another, and has the context window that the name says, or none.
    """

    name: str
    model: Model
    match: Match
    precision: Precision | None = None
    usual_type: bool = False
    note: str = ""
    unknown_words: tuple[str, ...] = ()

    @property
    def weight_format(self) -> Precision:
        """The weight format of the checkpoint: what its name tells, else the one the model is published in."""
        return self.precision or self.model.published_format


_SPACED_SIZE = re.compile(r"(?<=\d)\s+(?=(?:[bm]|x\s*\d+\s*b)\b)|(?<=[\d\s]x)\s+(?=\d)", re.IGNORECASE)
"""Spaces inside a size as people type it: "70 B", "8 x 7b"."""


def resolve_model(name: str) -> ResolvedModel:
    """The model for a Hugging Face id, a common name, or the name of a quantised or fine-tuned checkpoint.

    Raises UnknownName, with the three nearest names, when nothing or more than one architecture matches.
    """
    known = known_model(name)
    if known is None:
        raise UnknownName("model", name, nearest=nearest_models(name.strip()))
    return known


@lru_cache(maxsize=KEPT_NAMES)
def known_model(name: str) -> ResolvedModel | None:
    """As :func:`resolve_model`; None when nothing or more than one architecture matches."""
    wanted = _SPACED_SIZE.sub("", name.strip())
    exact = models().get(_ids().get(wanted.lower(), ""))
    if exact:
        return ResolvedModel(name=wanted, model=exact, match="id")
    alias = _aliases().get(wanted.lower())
    typed = parse(wanted)
    known = _as_alias(alias) if alias else _by_name(typed) or _inside(typed) or _by_size(wanted, typed)
    if known is None:
        return None
    model, match, note = known.model, known.match, known.note
    unknown = _unknown_words(typed, known)
    if known.max_context or unknown:
        model = replace(model, max_context=known.max_context if not unknown else _told_context(unknown))
    usual = typed.precision is None and typed.of_files
    other = _other_format(precisions()[gguf_types()[USUAL_TYPE].precision] if usual else typed.precision, model)
    model = _without_foreign_size(model, wanted, other) if other else model
    return ResolvedModel(
        name=wanted,
        model=model,
        match=match,
        precision=other,
        usual_type=usual and other is not None,
        note=note,
        unknown_words=tuple(unknown),
    )


def _other_format(stated: Precision | None, model: Model) -> Precision | None:
    """The weight format that a name tells where the model's own is another; GGUF files of a model that was trained in a
    narrow format keep its experts in that, whatever their names say (gpt-oss: 12 to 14 GB from Q2_K to F16)."""
    own = model.published_format
    if stated is None or stated.id == model.native_precision or (stated.gguf_type and own.from_training):
        return None
    return stated


def _without_foreign_size(model: Model, name: str, precision: Precision) -> Model:
    """The model without the size of its weights in that format where the ``name`` is of another publisher's checkpoint
    than the one whose size is known: each keeps other modules in 16 bit."""
    publisher, _, rest = name.lower().partition("/")
    if not rest or precision.id not in dict(model.stored_bytes):
        return model
    if publisher in publishers_of_sizes(model.id, precision.id):
        return model
    return replace(model, stored_bytes=tuple(one for one in model.stored_bytes if one[0] != precision.id))


class Alias(NamedTuple):
    """An entry of the data file. ``max_context`` marks another release of the model, whose context window it is."""

    model: str
    note: str
    name: str
    max_context: int | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """The model that a name led to, and the name of the catalogue or of the aliases that it was taken for."""

    model: Model
    match: Match
    name: str
    note: str = ""
    max_context: int | None = None


def _as_alias(alias: Alias) -> Found:
    return Found(
        model=models()[alias.model],
        match="release" if alias.max_context else "alias",
        name=alias.name,
        note=alias.note,
        max_context=alias.max_context,
    )


_FIRST_VERSION = re.compile(r"^v[01](\.0)?$")
"""What says no more than that there is a version."""


def _unknown_words(typed: CheckpointName, known: Found) -> list[str]:
    """Words of a release, a version or a context that the name has beyond the one it was taken for."""
    if known.match not in ("release", "alias"):
        return []
    known_words = {*parse(known.name).texts(*DATED), *parse(known.model.id).texts(*DATED)}
    words = [w for w in typed.texts(*DATED) if w not in known_words and not _FIRST_VERSION.match(w)]
    return [w for w in words if known.model.max_context is None or _tokens(w) not in _spans(known.model.max_context)]


def _told_context(words: Iterable[str]) -> int | None:
    """The context window that a name says ("1m", "32k"), None where it says a date or a version."""
    windows = [_tokens(word) for word in words]
    return windows[0] if len(windows) == 1 else None


def _tokens(word: str) -> int | None:
    if word.endswith("k") and word[:-1].isdigit():
        return 1024 * int(word[:-1])
    return 1_000_000 if word == "1m" else int(word) if word in _WINDOWS else None


_WINDOWS = frozenset({"2048", "4096", "8192"})
"""What hosts write behind a model for its context window, which looks like a date."""


def _spans(tokens: int) -> tuple[int, ...]:
    """A context window, and the same in thousands where it is written so (128,000 for 131,072)."""
    return (tokens, 1024 * (tokens // 1000), 1024 * (tokens // 1024))


def _by_name(typed: CheckpointName) -> Found | None:
    """The model whose name is the typed one, with less and less of both compared."""
    for match, typed_without, known_without in (*STAGES, ("release", BARE, BARE)):
        bare = known_without == BARE
        if bare and not typed.texts("size"):
            return None
        for key in _spellings(typed.key(*typed_without)):
            model = _one_architecture(_index(known_without).get(key, ()))
            if model:
                return Found(model=model, match=match, name=model.id)
            alias = _alias_index(known_without).get(key)
            if alias:
                return _as_alias(alias)
    model = _one_architecture(_without_active().get(typed.key(*BARE), ()))
    return Found(model=model, match="release", name=model.id) if model else None


def _spellings(key: str) -> Iterator[str]:
    """A name, and the same without the "v" that hosts write before a generation (``llama-v3p1-8b``)."""
    yield key
    without_v = re.sub(r"^([a-z]+)-v(\d)", r"\1-\2", key)
    if without_v != key:
        yield without_v


def _inside(typed: CheckpointName) -> Found | None:
    """The model that a longer name contains in order, its size included: ``Hermes-3-Llama-3.1-8B`` is a Llama 3.1 8B.

    Of several the longest, and the one whose words come first.
    """
    words, sizes = typed.texts("model", "size"), typed.texts("size")
    if not sizes:
        return None
    inside = {key: at for key in _contained() if key.sizes == sizes and (at := _positions(key.words, words))}
    if not inside:
        return None
    rank = {key: (-len(at), at) for key, at in inside.items() if not _another_generation(at, words)}
    if not rank:
        return None
    best = [key for key in rank if rank[key] == min(rank.values())]
    kept = set(best[0].words)
    if any(changes_architecture(word) for word in words if word not in kept):
        return None
    named = [key.model for key in best if key.by_alias]
    model = _one_architecture(key.model for key in best) or _one_architecture(named)
    return Found(model=model, match="descendant", name=model.id) if model else None


def _another_generation(at: tuple[int, ...], words: tuple[str, ...]) -> bool:
    """Whether a number follows the family that the name inside does not have: Qwen 4 is no Qwen."""
    return any(
        i not in at and i - 1 in at and words[i - 1][0].isalpha() and _GENERATION.match(words[i])
        for i in range(1, len(words))
    )


@dataclass(frozen=True, kw_only=True)
class _Contained:
    """Words of a name of the catalogue that may stand inside a longer one."""

    words: tuple[str, ...]
    sizes: tuple[str, ...]
    model: str
    by_alias: bool


@cache
def _contained() -> tuple[_Contained, ...]:
    """Every name of the catalogue and every alias that says a size beside a family.

    Not those of a family alone of which several generations have that size: "Qwen-7B" in a name may be any of four.
    """
    names = [(model_id, model_id, False) for model_id in models()]
    names += [(alias, target.model, True) for alias, target in _aliases().items()]
    keys = []
    for name, model_id, by_alias in names:
        parsed = parse(name)
        words, sizes = parsed.texts("model", "size"), parsed.texts("size")
        if sizes and len(words) > len(sizes):
            keys.append(_Contained(words=words, sizes=sizes, model=model_id, by_alias=by_alias))
    sized = {(key.words[0], key.sizes) for key in keys if len(key.words) > 2 and _GENERATION.match(key.words[1])}
    return tuple(key for key in keys if len(key.words) > 2 or (key.words[0], key.sizes) not in sized)


def _positions(few: tuple[str, ...], many: tuple[str, ...]) -> tuple[int, ...]:
    """Where the words of one name stand in another, in order; () where one is missing."""
    positions: list[int] = []
    for word in few:
        start = positions[-1] + 1 if positions else 0
        if word not in many[start:]:
            return ()
        positions.append(many.index(word, start))
    return tuple(positions)


def _by_size(name: str, typed: CheckpointName) -> Found | None:
    """A dense transformer of the size in the name, if nothing tells experts and no word is or looks like that of a
    family of the catalogue: there another size is a mistake."""
    size = re.fullmatch(r"(\d+(?:\.\d+)?)([bm])", "-".join(typed.texts("size")))
    words = typed.texts("model")
    if size is None or any(
        changes_architecture(w) or nearest_names(w, _family_words(), 1, cutoff=ALIKE) for w in words
    ):
        return None
    params_b = float(size[1]) * (1.0 if size[2] == "b" else 1e6 / BILLION)
    if not MIN_PARAMS_B <= params_b <= MAX_PARAMS_B:
        return None
    return Found(model=model_from_size(name[:120], params_b), match="size", name=name)


@cache
def _family_words() -> frozenset[str]:
    """Words of two letters and more in the ids of the catalogue."""
    return frozenset(w for name in models() for w in parse(name).texts("model") if re.match(r"^[a-z]{2,}", w))


@cache
def _ids() -> Mapping[str, str]:
    return MappingProxyType({model_id.lower(): model_id for model_id in models()})


@cache
def _index(left_out: tuple[WordKind, ...]) -> Mapping[str, tuple[str, ...]]:
    """Catalogue ids by their name without the words of those kinds."""
    index: dict[str, tuple[str, ...]] = {}
    for model_id in models():
        key = parse(model_id).key(*left_out)
        index[key] = (*index.get(key, ()), model_id)
    return MappingProxyType(index)


@cache
def _without_active() -> Mapping[str, tuple[str, ...]]:
    """Catalogue ids by family and total size, of those whose name also says the active parameters."""
    index: dict[str, tuple[str, ...]] = {}
    for model_id in models():
        words = [word.text for word in parse(model_id).words if word.kind not in BARE]
        key = "-".join(word for word in words if not _ACTIVE.match(word))
        if len(key) < len("-".join(words)) and parse(key).texts("size"):
            index[key] = (*index.get(key, ()), model_id)
    return MappingProxyType(index)


def _one_architecture(ids: Iterable[str]) -> Model | None:
    """The first of the candidates when all have the same shape, else None: a size is never guessed."""
    candidates = [models()[model_id] for model_id in ids]
    shapes = {(m.params_total, m.layers, m.hidden_size, m.heads, m.kv_elements_full, m.vocab_size) for m in candidates}
    return candidates[0] if len(shapes) == 1 else None


@cache
def _aliases() -> Mapping[str, Alias]:
    """Aliases of the data file by their names in lower case."""
    entries = read_yaml("model_aliases.yaml")
    aliases = (
        Alias(entry["model"], entry.get("note", ""), name, entry.get("max_context")) for name, entry in entries.items()
    )
    return MappingProxyType({alias.name.lower(): alias for alias in aliases})


@cache
def _alias_index(left_out: tuple[WordKind, ...]) -> Mapping[str, Alias]:
    """Aliases by their names without the words of those kinds; without its date a release is none."""
    dropped = set(DATED) & set(left_out)
    named = {name: alias for name, alias in _aliases().items() if not (dropped and alias.max_context)}
    return MappingProxyType({parse(name).key(*left_out): target for name, target in named.items()})


@lru_cache(maxsize=KEPT_NAMES)
def nearest_models(name: str) -> tuple[str, ...]:
    """The three models whose names are nearest: as they are written, else with most words in common."""
    typed = parse(name)
    known = [*models(), *(model_id.rsplit("/", 1)[-1] for model_id in models())]
    written = nearest_names(name[:200], known, 6)
    words = set(typed.texts("model", "size"))
    shared = sorted(models(), key=lambda model_id: -len(words & set(parse(model_id).texts("model", "size"))))
    by_words = [model_id for model_id in shared if words & set(parse(model_id).texts("model", "size"))]
    distinct: dict[str, str] = {}
    sizes = set(typed.texts("size"))  # another size is another model, however alike the names are
    for near in sorted((*written, *by_words), key=lambda name: not sizes <= set(parse(name).texts("size"))):
        distinct.setdefault(near.rsplit("/", 1)[-1].lower(), near)
    return tuple(distinct.values())[:3]
