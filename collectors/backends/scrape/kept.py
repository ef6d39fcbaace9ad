"""Which series of a page are worth keeping: those that a vocabulary or an override of the source asks for."""

from collections.abc import Iterable, Sequence
from functools import cache

from collectors.backends.scrape.text import PageSample
from collectors.vocabulary import MetricCandidate, engine_vocabularies, gpu_vocabularies
from collectors.vocabulary.opencost import NAMES as OPENCOST_NAMES
from collectors.vocabulary.schema import spelled_in
from collectors.vocabulary.spellings import respelled, spellings

ALWAYS = ("process_start_time_seconds",)


def names_of(candidate: MetricCandidate) -> set[str]:
    """Every metric a candidate may ask for."""
    names = set(candidate.metrics)
    if candidate.histogram:
        names |= {f"{candidate.histogram}{part}" for part in ("", "_bucket", "_sum", "_count")}
    for text in (candidate.zeros, candidate.expr, candidate.mean):
        names |= set(spelled_in(text or ""))
    return names | ({candidate.beside} if candidate.beside else set())


@cache
def known_names() -> frozenset[str]:
    """Every metric of every vocabulary, in every spelling."""
    names = {*ALWAYS, *OPENCOST_NAMES}
    for vocabulary in engine_vocabularies().values():
        own = {*vocabulary.detect, *vocabulary.weak, *vocabulary.bare, *(vocabulary.hands_over or ())}
        own |= {name for names in vocabulary.variants.values() for name in names}
        own |= {name for concept in vocabulary.concepts.values() for use in concept.use for name in names_of(use)}
        names |= {respelled(name, spelling) for name in own for spelling in spellings(vocabulary)}
    for gpu in gpu_vocabularies().values():
        own = set(gpu.detect)
        own |= {name for concept in gpu.concepts.values() for use in concept.use for name in names_of(use)}
        names |= {respelled(name, spelling) for name in own for spelling in spellings(gpu)}
    return frozenset(names)


def kept(samples: Sequence[PageSample], overrides: Iterable[MetricCandidate] = ()) -> list[PageSample]:
    """The samples of the metrics that a vocabulary or the source itself names; the rest of a page is dropped."""
    known, own = known_names(), {name for candidate in overrides for name in names_of(candidate)}
    return [sample for sample in samples if sample.name in known or sample.name in own]
