"""What the tables of support say: engine by generation, by class of models, by weight format and by layout.

``engine_generations.csv``, ``engine_architectures.csv``, ``engine_formats.csv`` and ``engine_layouts.csv``, each row
with source and date; :mod:`sizing.catalog.support` puts them together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal, cast, get_args

from sizing.base.errors import SizingError
from sizing.catalog.files import Row, names, read_rows
from sizing.catalog.gguf_types import formats_of
from sizing.catalog.gpu_families import generations

Status = Literal["supported", "unknown", "no"]
"""``supported`` is declared in code or documentation, ``no`` refused there or seen to fail, ``unknown`` neither."""

FormatMode = Literal["native", "weight_only"]
"""``native`` multiplies in the weight format, ``weight_only`` widens narrow weights to 16 bit and multiplies there."""

StatementEntry = Literal["supported", "unknown", "no", "dropped", "native", "weight_only"]
"""What a row states: a status, that later versions dropped it, or the mode of a format that is supported."""

Aspect = Literal[
    "start",
    "half",
    "tensor",
    "pipeline",
    "pipeline_speculation",
    "experts",
    "experts_split",
    "ranks",
    "hosts",
    "blocks",
    "model",
]
"""What a rule is about: whether the model starts; whether it computes in FP16 (``half``); tensor parallelism;
pipeline stages, and those with speculation; expert parallelism, and one over fewer GPUs than an instance has;
attention-DP ranks; TP and DP over several hosts; block scales that ranks must not cut; the class."""

ANY_ENGINE = "*"
"""Engine of a rule that holds for all."""

BLOCK_FP8 = "fp8_block"
"""Column of formats for FP8 checkpoints with one scale for each block of weights, a format of its own to kernels."""


@dataclass(frozen=True, kw_only=True)
class SupportFact:
    """One statement with its source; ``note`` says why in the words of the source, "" where it gives none."""

    entry: StatementEntry
    note: str
    source: str
    date: str


UNLISTED = SupportFact(entry="unknown", note="no statement found", source="", date="")
"""Where no row says anything."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A statement about some models, generations and formats; an empty set is all of them.

    ``attention`` narrows it to models whose attention is sparse over a latent vector ("sparse_latent"), "" to none.
    """

    engine: str
    aspect: Aspect
    classes: frozenset[str]
    attention: str
    generations: frozenset[str]
    formats: frozenset[str]
    fact: SupportFact

    def holds(self, classes: str, attention: str, generation: str, precision: str) -> bool:
        """Whether it is about this class, attention, generation and format."""
        return (
            (not self.classes or classes in self.classes)
            and (not self.attention or attention == self.attention)
            and (not self.generations or generation in self.generations)
            and (not self.formats or precision in self.formats)
        )


@cache
def by_generation() -> Mapping[tuple[str, str], SupportFact]:
    """Whether today's versions of each engine run on each GPU generation, by both."""
    rows = read_rows("engine_generations.csv")
    return MappingProxyType({(r["engine"], g): _fact(r, r["status"]) for r in rows for g in _generations(r)})


@cache
def by_class() -> Mapping[tuple[str, str, Aspect, str], SupportFact]:
    """What each engine says of classes of models, by engine, generation ("" for all), aspect and class."""
    return MappingProxyType(
        {
            (r["engine"], generation, cast(Aspect, _known(r["aspect"], get_args(Aspect))), name): _fact(r, r["status"])
            for r in read_rows("engine_architectures.csv")
            for generation in (_generations(r) or ("",))
            for name in names(r["classes"])
        }
    )


@cache
def by_format() -> Mapping[tuple[str, str, str, bool], SupportFact]:
    """The mode in which each format runs, by engine, generation, format and whether it is of a mixture of experts."""
    facts: dict[tuple[str, str, str, bool], SupportFact] = {}
    for row in read_rows("engine_formats.csv"):
        kinds = {"dense": (False,), "moe": (True,), "all": (False, True)}[row["layers"]]
        cells = {g: row[g] for g in generations() if row.get(g)}
        for generation, cell in cells.items():
            for name in formats_of(names(row["formats"])):
                facts.update({(row["engine"], generation, name, kind): _fact(row, cell) for kind in kinds})
    return MappingProxyType(facts)


@cache
def rules() -> tuple[Rule, ...]:
    """Layouts, attention and formats that an engine runs only in part, in file order."""
    return tuple(
        Rule(
            engine=engine,
            aspect=cast(Aspect, _known(r["aspect"], get_args(Aspect))),
            classes=frozenset(names(r["classes"])),
            attention=r["attention"],
            generations=frozenset(_generations(r)),
            formats=frozenset(names(r["formats"])),
            fact=_fact(r, r["status"]),
        )
        for r in read_rows("engine_layouts.csv")
        for engine in names(r["engine"])
    )


def _generations(row: Row) -> tuple[str, ...]:
    return tuple(_known(g, generations()) for g in names(row["generations"]))


def _fact(row: Row, entry: str) -> SupportFact:
    note = row.get("why") or row.get("note") or ""
    known = cast(StatementEntry, _known(entry, get_args(StatementEntry)))
    return SupportFact(entry=known, note=note, source=row["source"], date=row["date"])


def _known(word: str, words: tuple[str, ...]) -> str:
    """The word, if the tables may hold it. Raises SizingError: a typing error in a table must not pass for a fact."""
    if word not in words:
        raise SizingError(f"The tables of support hold “{word}”, which is none of {', '.join(words)}.")
    return word
