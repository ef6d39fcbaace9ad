"""Which engine speaks at a source, in which spelling and version, from the metric names that have data."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from collectors.vocabulary.load import engine_vocabularies, gpu_vocabularies
from collectors.vocabulary.schema import Candidate, Concept, EngineVocabulary, GpuVocabulary


@dataclass(frozen=True, kw_only=True)
class DetectedEngine:
    """An engine with the spelling of its names; ``also`` lists other engines that were seen beside it."""

    vocabulary: EngineVocabulary
    spelling: tuple[str, str] | None = None
    variant: str | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The candidate in use for a concept, or None with the reason why there is none."""

    concept: Concept
    candidate: Candidate | None
    reason: str = ""
    overridden: bool = False
    newer_and_older: bool = False


def respelled(name: str, spelling: tuple[str, str] | None) -> str:
    """``name`` in the spelling of the source."""
    return name.replace(*spelling) if spelling else name


def spellings(vocabulary: EngineVocabulary) -> list[tuple[str, str] | None]:
    """Every way the names of an engine are written; None is the engine's own."""
    first, *others = vocabulary.spellings or ("",)
    return [None, *((first, other) for other in others)]


def all_names(overrides: Iterable[Candidate] = ()) -> tuple[str, ...]:
    """Every metric name that tells engines, versions and candidates apart."""
    names: dict[str, None] = {}
    for vocabulary in engine_vocabularies().values():
        plain = [*vocabulary.detect, *(n for names in vocabulary.variants.values() for n in names)]
        plain += [m for c in vocabulary.concepts.values() for use in c.use for m in use.metrics]
        for spelling in spellings(vocabulary):
            names.update(dict.fromkeys(respelled(name, spelling) for name in plain))
    for gpu in gpu_vocabularies().values():
        names.update(dict.fromkeys(gpu.detect))
    names.update(dict.fromkeys(name for use in overrides for name in use.metrics))
    return tuple(names)


def engine_names() -> tuple[str, ...]:
    """The names that alone tell the engine: few, for a search over a long time."""
    names = [
        respelled(name, spelling)
        for vocabulary in engine_vocabularies().values()
        for spelling in spellings(vocabulary)
        for name in vocabulary.detect
    ]
    return tuple(dict.fromkeys(names))


def detect_engine(names: Collection[str], *, wanted: str | None = None) -> DetectedEngine | None:
    """The engine whose names are present; ``wanted`` keeps to one engine, even where none of its names is."""
    seen = []
    for vocabulary in engine_vocabularies().values():
        spelling = max(spellings(vocabulary), key=partial(_present, vocabulary, names))
        if any(respelled(name, spelling) in names for name in vocabulary.detect):
            variant = _variant(vocabulary, spelling, names)
            seen.append(DetectedEngine(vocabulary=vocabulary, spelling=spelling, variant=variant))
    if wanted is not None:
        chosen = next((d for d in seen if d.vocabulary.id == wanted), None)
        return chosen or DetectedEngine(vocabulary=engine_vocabularies()[wanted])
    if not seen:
        return None
    first = seen[0]
    also = tuple(d.vocabulary.id for d in seen[1:] if d.vocabulary.id not in first.vocabulary.covers)
    return DetectedEngine(vocabulary=first.vocabulary, spelling=first.spelling, variant=first.variant, also=also)


def _present(vocabulary: EngineVocabulary, names: Collection[str], spelling: tuple[str, str] | None) -> int:
    """How many names of an engine are present in one spelling."""
    own = {m for concept in vocabulary.concepts.values() for use in concept.use for m in use.metrics}
    return sum(respelled(name, spelling) in names for name in own | set(vocabulary.detect))


def _variant(vocabulary: EngineVocabulary, spelling: tuple[str, str] | None, names: Collection[str]) -> str | None:
    for variant, signs in vocabulary.variants.items():
        if any(respelled(sign, spelling) in names for sign in signs):
            return variant
    return None


def available(candidate: Candidate, names: Collection[str], spelling: tuple[str, str] | None) -> bool:
    """Whether the metrics a candidate needs have data: one of a histogram's shapes, all of an expression's."""
    present = [respelled(name, spelling) in names for name in candidate.metrics]
    return any(present) if candidate.kind == "histogram" else all(present)


def choose(key: str, engine: DetectedEngine, names: Collection[str], override: Candidate | None) -> Choice:
    """The candidate for one concept: the user's own, else the newest whose metric exists."""
    concept = engine.vocabulary.concepts.get(key, Concept(unit=""))
    if override is not None:
        if available(override, names, None):
            return Choice(concept=concept, candidate=override, overridden=True)
        return Choice(
            concept=concept, candidate=None, reason="the metric named in the source has no data", overridden=True
        )
    usable = [use for use in concept.use if available(use, names, engine.spelling)]
    if usable:
        different = {use.metrics for use in usable}
        return Choice(concept=concept, candidate=usable[0], newer_and_older=len(different) > 1)
    return Choice(concept=concept, candidate=None, reason=_why_missing(concept, engine))


def _why_missing(concept: Concept, engine: DetectedEngine) -> str:
    if not concept.use:
        return concept.trap or f"{engine.vocabulary.label} has no metric for it"
    wanted = respelled(concept.use[0].metrics[0], engine.spelling) if concept.use[0].metrics else "its metric"
    hint = f"; enable it with {concept.enable}" if concept.enable else ""
    return f"{wanted} has no data{hint}"


def detect_gpus(names: Collection[str]) -> tuple[GpuVocabulary, ...]:
    """The GPU exporters whose names are present."""
    return tuple(v for v in gpu_vocabularies().values() if any(name in names for name in v.detect))
