"""Which engine speaks at a source, in which spelling and version, from the metric names that have data."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

import yaml

from collectors.vocabulary.schema import Concept, EngineVocabulary, GpuVocabulary, MetricCandidate
from collectors.vocabulary.spellings import Spelling, respelled, spellings

FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class EnginesSeen:
    """Names that tell engines, with data within the selector of a source but for its model.

    ``labelled`` are those with a label that only some engines have, by that label. ``by_model`` are the names of the
    selected model, by each label that may name it; None where no model is selected.
    """

    names: Set[str] = frozenset()
    labelled: Mapping[str, Set[str]] = field(default_factory=dict)
    by_model: Mapping[str, Set[str]] | None = None

    def of(self, vocabulary: EngineVocabulary) -> tuple[Set[str], str | None]:
        """The names of an engine within the selector, and the label that names its model there.

        Parts of an engine (a backend of Triton, a worker of Dynamo) are named by other models than what they serve.
        """
        if self.by_model is None or not vocabulary.model_labels:
            return self.names, vocabulary.model_label
        whole = [engine_vocabularies()[one] for one in (*vocabulary.covers, *vocabulary.completes)]
        if any(self.of(other)[0] & _telling(other) for other in whole):
            return self.names, vocabulary.model_label
        names = {label: self.by_model.get(label, frozenset()) for label in vocabulary.model_labels}
        label = max(vocabulary.model_labels, key=lambda one: len(names[one] & _telling(vocabulary)))
        return names[label], label


@dataclass(frozen=True, kw_only=True)
class DetectedEngine:
    """An engine with the spelling of its names and the label of its model; ``also`` lists other engines seen beside it.

    ``completed_by`` are engines whose metrics stand on the same pages and give what it does not report itself.
    """

    vocabulary: EngineVocabulary
    spelling: Spelling = None
    variant: str | None = None
    model_label: str | None = None
    also: tuple[str, ...] = ()
    completed_by: tuple[EngineVocabulary, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DetectedExporter:
    """A GPU exporter with the spelling of its names."""

    vocabulary: GpuVocabulary
    spelling: Spelling = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The candidate in use for a concept, or None with the reason why there is none."""

    concept: Concept
    candidate: MetricCandidate | None
    reason: str = ""
    overridden: bool = False
    newer_and_older: bool = False


def names_of(vocabulary: EngineVocabulary | GpuVocabulary, spelling: Spelling = None) -> tuple[str, ...]:
    """The names of an engine or exporter that tell its versions and candidates apart, in one spelling."""
    plain = [*vocabulary.detect, *(m for c in vocabulary.concepts.values() for use in c.use for m in use.metrics)]
    if isinstance(vocabulary, EngineVocabulary):
        plain += [*vocabulary.weak, *(name for names in vocabulary.variants.values() for name in names)]
        plain += vocabulary.hands_over or ()
        plain += [use.beside for c in vocabulary.concepts.values() for use in c.use if use.beside]
    return tuple(dict.fromkeys(respelled(name, spelling) for name in plain))


def wanted_names(engines: Iterable[DetectedEngine], overrides: Iterable[MetricCandidate] = ()) -> tuple[str, ...]:
    """Every name that may be asked of some engines, and of what a source maps itself."""
    names: dict[str, None] = {}
    for engine in engines:
        names |= dict.fromkeys(names_of(engine.vocabulary, engine.spelling))
        names |= dict.fromkeys(name for other in engine.completed_by for name in names_of(other))
    return tuple(names | dict.fromkeys(name for use in overrides for name in use.metrics))


def engine_names() -> tuple[str, ...]:
    """The names that tell the engine: few, for a search through everything or over a long time."""
    return tuple(dict.fromkeys(name for v in engine_vocabularies().values() for name in telling_names(v)))


def telling_names(vocabulary: EngineVocabulary) -> tuple[str, ...]:
    """The names of an engine that tell it, in every spelling."""
    spelled = (respelled(name, spelling) for spelling in spellings(vocabulary) for name in vocabulary.detect)
    return tuple(dict.fromkeys((*spelled, *vocabulary.weak, *vocabulary.bare)))


def bare_labels() -> tuple[str, ...]:
    """The labels that tell an engine by names that others have, too."""
    return tuple(dict.fromkeys(v.bare_label for v in engine_vocabularies().values() if v.bare_label))


def detect_engine(seen: EnginesSeen | Collection[str], *, wanted: str | None = None) -> DetectedEngine | None:
    """The engine whose names are present; ``wanted`` keeps to one engine, even where none of its names is."""
    seen = seen if isinstance(seen, EnginesSeen) else EnginesSeen(names=frozenset(seen))
    present = [d for v in engine_vocabularies().values() if (d := _detected(v, seen, weak=False)) is not None]
    present = present or [d for v in engine_vocabularies().values() if (d := _detected(v, seen, weak=True)) is not None]
    if wanted is not None:
        chosen = next((d for d in present if d.vocabulary.id == wanted), None)
        chosen = chosen or _detected(engine_vocabularies()[wanted], seen, weak=True)
        if chosen is None:
            vocabulary = engine_vocabularies()[wanted]
            return DetectedEngine(vocabulary=vocabulary, model_label=vocabulary.model_label)
        return replace(chosen, completed_by=_completing(chosen, present))
    if not present:
        return None
    # An engine that cannot be asked for a model goes after those in which the model was present.
    first = min(present, key=lambda d: seen.by_model is not None and not d.vocabulary.model_labels)
    by = _completing(first, present)
    known = {first.vocabulary.id, *first.vocabulary.covers, *(v.id for v in by)}
    also = tuple(d.vocabulary.id for d in present if d.vocabulary.id not in known and not d.vocabulary.completes)
    return replace(first, also=also, completed_by=by)


def _completing(engine: DetectedEngine, present: Iterable[DetectedEngine]) -> tuple[EngineVocabulary, ...]:
    return tuple(d.vocabulary for d in present if engine.vocabulary.id in d.vocabulary.completes)


def _detected(vocabulary: EngineVocabulary, seen: EnginesSeen, *, weak: bool) -> DetectedEngine | None:
    """An engine that is seen: by names of its own, where they are ``weak`` by names that others have, too."""
    names, model_label = seen.of(vocabulary)
    spelled = spellings(vocabulary)
    own = [s for s in spelled if s is None or s[1]]
    spelling = max(own, key=partial(_present, vocabulary, names))
    if not _present(vocabulary, names, spelling):
        bare = any(name in names for name in vocabulary.bare)
        bare |= bool(seen.labelled.get(vocabulary.bare_label, frozenset()) & names & _telling(vocabulary, bare=True))
        if bare:
            spelling = next((s for s in spelled if s is not None and not s[1]), None)
        elif not (weak and any(name in names for name in vocabulary.weak)):
            return None
    variant = _variant(vocabulary, spelling, names)
    return DetectedEngine(vocabulary=vocabulary, spelling=spelling, variant=variant, model_label=model_label)


def _telling(vocabulary: EngineVocabulary, *, bare: bool = False) -> Set[str]:
    if not bare:
        return frozenset(telling_names(vocabulary))
    spelled = (s for s in spellings(vocabulary) if s is not None and not s[1])
    return frozenset(respelled(name, s) for s in spelled for name in vocabulary.detect)


def _present(vocabulary: EngineVocabulary, names: Collection[str], spelling: Spelling) -> int:
    """How many of the telling names of an engine are present in one spelling."""
    return sum(respelled(name, spelling) in names for name in vocabulary.detect)


def _variant(vocabulary: EngineVocabulary, spelling: Spelling, names: Collection[str]) -> str | None:
    for variant, signs in vocabulary.variants.items():
        if any(respelled(sign, spelling) in names for sign in signs):
            return variant
    return None


def with_variant(engine: DetectedEngine, names: Collection[str]) -> DetectedEngine:
    """The engine with the version that all its names tell."""
    return replace(engine, variant=_variant(engine.vocabulary, engine.spelling, names) or engine.variant)


def available(candidate: MetricCandidate, names: Collection[str], spelling: Spelling) -> bool:
    """Whether the metrics a candidate needs have data: one of a histogram's shapes, all of an expression's."""
    present = [respelled(name, spelling) in names for name in candidate.metrics]
    return any(present) if candidate.kind == "histogram" else all(present)


def choose(key: str, engine: DetectedEngine, names: Collection[str], override: MetricCandidate | None) -> Choice:
    """The candidate for one concept: the user's own, else the newest whose metric exists, else what completes it."""
    concept = engine.vocabulary.concepts.get(key, Concept(unit=""))
    if override is not None:
        if available(override, names, None):
            return Choice(concept=concept, candidate=override, overridden=True)
        return Choice(
            concept=concept, candidate=None, reason="the metric named in the source has no data", overridden=True
        )
    usable = [use for use in concept.use if available(use, names, engine.spelling)]
    if usable:
        older = any(_older(use, engine) and use.kind == usable[0].kind for use in usable[1:])
        return Choice(concept=concept, candidate=usable[0], newer_and_older=older and not _older(usable[0], engine))
    for other in engine.completed_by:
        beside = next((name for name in names_of(engine.vocabulary) if respelled(name, engine.spelling) in names), None)
        for use in other.concepts.get(key, Concept(unit="")).use:
            if available(use, names, None) and use.kind in ("gauge", "counter", "histogram"):
                completing = use if beside is None else use.model_copy(update={"beside": beside})
                return Choice(concept=other.concepts[key], candidate=completing)
    return Choice(concept=concept, candidate=None, reason=_why_missing(concept, engine, names))


def _older(candidate: MetricCandidate, engine: DetectedEngine) -> bool:
    """Whether a candidate is an older name of another."""
    return any(name in engine.vocabulary.renamed for name in candidate.metrics)


def _why_missing(concept: Concept, engine: DetectedEngine, names: Collection[str]) -> str:
    if not concept.use:
        return concept.trap or f"{engine.vocabulary.label} has no metric for it"
    needed = [respelled(name, engine.spelling) for name in concept.use[0].metrics]
    wanted = next((name for name in needed if name not in names), "its metric")
    hint = f"; enable it with {concept.enable}" if concept.enable else ""
    return f"{wanted} has no data{hint}"


def detect_gpus(names: Collection[str]) -> tuple[DetectedExporter, ...]:
    """The GPU exporters whose names are present."""
    return tuple(
        DetectedExporter(vocabulary=v, spelling=spelling)
        for v in gpu_vocabularies().values()
        for spelling in spellings(v)
        if any(respelled(name, spelling) in names for name in v.detect)
    )


@cache
def engine_vocabularies() -> Mapping[str, EngineVocabulary]:
    """Every engine's vocabulary by id, in the order of detection."""
    files = sorted((FOLDER / "engines").glob("*.yaml"))
    read = [EngineVocabulary.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in files]
    return MappingProxyType({v.id: v for v in sorted(read, key=lambda v: (v.priority, v.id))})


@cache
def gpu_vocabularies() -> Mapping[str, GpuVocabulary]:
    """Every GPU exporter's vocabulary by id, the most telling first."""
    files = sorted((FOLDER / "gpus").glob("*.yaml"))
    read = [GpuVocabulary.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in files]
    return MappingProxyType({v.id: v for v in sorted(read, key=lambda v: (v.priority, v.id))})


def engine_vocabulary(name: str) -> EngineVocabulary | None:
    """The vocabulary called ``name`` (id, label or alias, any case); None when there is none."""
    key = name.strip().lower()
    for vocabulary in engine_vocabularies().values():
        if key in (vocabulary.id, vocabulary.label.lower(), *vocabulary.aliases):
            return vocabulary
    return None
