"""What runs where: a fact of engine and version, class of models, GPU generation, weight format and layout.

``supported``, ``unknown`` or ``no``, each with its source (:mod:`sizing.catalog.support_rows`). "Supported" is declared
in an engine's code or documentation; nothing was run. What no source speaks of is unknown, never guessed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, cast

from sizing.catalog.engines import Engine
from sizing.catalog.execution import execution, format_fact
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES, Precision, gpu_supports, wide_flops
from sizing.catalog.support_rows import (
    ANY_ENGINE,
    BLOCK_FP8,
    UNLISTED,
    Aspect,
    FormatMode,
    Status,
    SupportFact,
    by_class,
    by_generation,
    rules,
)

ReasonKind = Literal[
    "",
    "archived",
    "dropped",
    "generation",
    "class_unknown",
    "class",
    "attention",
    "half",
    "format",
    "block_scales",
    "units",
    "kv_format",
    "heads",
    "layers",
    "dense",
    "experts_uneven",
    "tensor",
    "pipeline",
    "pipeline_speculation",
    "experts",
    "experts_split",
    "ranks",
    "hosts",
    "blocks",
]
"""What an answer about support rests on."""

GENERIC_CLASS = {False: "LlamaForCausalLM", True: "MixtralForCausalLM"}
"""Mixture of experts? -> the class that a model of unstated class is taken for: the decoder that every engine has."""

BLOCK = 128
"""Rows and columns of weights that share a scale in block FP8 (``weight_block_size`` of the checkpoints)."""

MustBeNamed = Literal["engine", "gpu"]
"""What a scenario must name to be answered with something that is archived or dropped."""

_RANK: dict[Status, int] = {"supported": 0, "unknown": 1, "no": 2}


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why: its kind, the engine, what it is about (class, generation, format, number), and the source's own words."""

    kind: ReasonKind
    engine: str
    subject: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Support:
    """Whether something runs, in which mode, why, and by which source of which date.

    ``unless_named``: what the scenario has to name, where the engine is archived or today's versions dropped the GPU.
    """

    status: Status
    mode: FormatMode
    why: Reason
    source: str
    date: str
    unless_named: tuple[MustBeNamed, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SupportStatement:
    """One statement among those that decide, and what it rests on."""

    status: Status
    why: Reason
    fact: SupportFact


def support(engine: Engine, gpu: Gpu, model: Model, precision: Precision) -> Support:
    """Whether ``engine`` starts ``model`` in ``precision`` on ``gpu``, layouts aside; the worst of what is stated.

    A model whose class is not known is taken for the generic one, and is never more than unknown.
    """
    return _support(
        _Asked(
            engine=engine.id,
            built_on=engine.built_on,
            archived=engine.status == "archived",
            generation=gpu.generation,
            known=class_of(model),
            stated=bool(model.hf_architecture),
            attention=attention_of(model),
            moe=model.is_moe,
            precision=precision.id,
            own=model.native_precision == precision.id,
            units=_units(gpu, precision),
            mode=execution(engine, gpu, precision),
        )
    )


def class_of(model: Model) -> str:
    """The class by which engines know a model; the generic one where it is not stated."""
    return model.hf_architecture or GENERIC_CLASS[model.is_moe]


def attention_of(model: Model) -> str:
    """The kind of attention that rules name: sparse over a latent vector (DeepSeek sparse attention), "" for others."""
    return "sparse_latent" if model.sparse is not None and model.attention == "mla" else ""


def _units(gpu: Gpu, precision: Precision) -> FormatMode | None:
    """How the GPU could run the format at best: its matrix units have it, 16 bit can stand in, or neither."""
    if gpu_supports(gpu, precision):
        return "native"
    return "weight_only" if precision.compute != "int8" and precision.bytes < WIDE_BYTES and wide_flops(gpu) else None


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The properties of engine, GPU, model and weight format that decide whether the combination is supported."""

    engine: str
    built_on: str
    archived: bool
    generation: str
    known: str
    stated: bool
    attention: str
    moe: bool
    precision: str
    own: bool
    units: FormatMode | None
    mode: FormatMode


@lru_cache(maxsize=32768)
def _support(of: _Asked) -> Support:
    generation = _generation(of.engine, of.generation)
    parts = [
        generation,
        _class(of.engine, of.built_on, of.generation, of.known, "model"),
        *rule_parts(of.engine, of.built_on, "start", of.known, of.attention, of.generation, of.precision),
        *rule_parts(of.engine, of.built_on, "half", of.known, of.attention, of.generation, of.precision),
        _format(of),
    ]
    if not of.stated:
        why = Reason(kind="class_unknown", engine=of.engine, subject=of.known)
        parts.append(SupportStatement(status="unknown", why=why, fact=UNLISTED))
    worst = max(parts, key=lambda p: _RANK[p.status])
    named: tuple[MustBeNamed, ...] = ("engine",) if of.archived else ()
    if generation.fact.entry == "dropped":
        named = (*named, "gpu")
    return Support(
        status=worst.status,
        mode=of.mode,
        why=worst.why,
        source=worst.fact.source,
        date=worst.fact.date,
        unless_named=named,
    )


def worst_of(parts: Sequence[SupportStatement], base: Support) -> Support:
    """The worst statement beside what ``base`` says; ``base`` where nothing else is stated."""
    worst = max(parts, key=lambda p: _RANK[p.status], default=None)
    if worst is None:
        return base if base.status == "supported" else replace(base, status="supported")
    return replace(base, status=worst.status, why=worst.why, source=worst.fact.source, date=worst.fact.date)


def pipeline_of(engine: Engine, gpu: Gpu, model: Model) -> SupportStatement:
    """Whether the engine cuts models of this class into pipeline stages; where it keeps no list by class, it does."""
    if not {engine.id, engine.built_on} & _with_pipelines():
        return SupportStatement(status="supported", why=Reason(kind="pipeline", engine=engine.id), fact=UNLISTED)
    return _class(engine.id, engine.built_on, gpu.generation, class_of(model), "pipeline")


@lru_cache(maxsize=1)
def _with_pipelines() -> frozenset[str]:
    """Engines that keep a list of the classes that they cut into pipeline stages."""
    return frozenset(engine for engine, _, aspect, _ in by_class() if aspect == "pipeline")


def _generation(engine: str, generation: str) -> SupportStatement:
    fact = by_generation().get((engine, generation), UNLISTED)
    if fact.entry == "dropped":
        why = Reason(kind="dropped", engine=engine, subject=generation, note=fact.note)
        return SupportStatement(status="unknown", why=why, fact=fact)
    why = Reason(kind="generation", engine=engine, subject=generation, note=fact.note)
    return SupportStatement(status=_status(fact), why=why, fact=fact)


def _class(engine: str, built_on: str, generation: str, known: str, aspect: Aspect) -> SupportStatement:
    """What is said of the class: of this generation first, where another software serves it, then of the engine."""
    facts = by_class()
    kind: ReasonKind = "class" if aspect == "model" else "pipeline"
    own = facts.get((engine, generation, aspect, known))
    common = facts.get((engine, "", aspect, known)) or (facts.get((built_on, "", aspect, known)) if built_on else None)
    if own is None and _has_lists(engine, generation, aspect) and (common is None or common.entry != "no"):
        common = None  # a list of this generation that leaves the class out says nothing of it
    fact = own or common or UNLISTED
    return SupportStatement(
        status=_status(fact), why=Reason(kind=kind, engine=engine, subject=known, note=fact.note), fact=fact
    )


@lru_cache(maxsize=1024)
def _has_lists(engine: str, generation: str, aspect: Aspect) -> bool:
    """Whether a list of classes is of this engine on this generation alone."""
    return any((e, g, a) == (engine, generation, aspect) for e, g, a, _ in by_class())


def _status(fact: SupportFact) -> Status:
    match fact.entry:
        case "supported" | "native" | "weight_only":
            return "supported"
        case "no":
            return "no"
        case "unknown" | "dropped":
            return "unknown"


def _format(of: _Asked) -> SupportStatement:
    """Whether a format runs.

    FP8 with block scales is a format of its own. Where it alone does not run, a checkpoint with one scale per tensor
    may, unless the model is published with blocks only.
    """
    blocks = of.precision == "fp8" and has_block_scales(of.known)
    per_tensor = format_fact(of.engine, of.built_on, of.generation, of.precision, of.moe)
    fact = format_fact(of.engine, of.built_on, of.generation, BLOCK_FP8, of.moe) if blocks else per_tensor
    status = _status(fact)
    if status != "no" and (
        of.units is None or (status == "unknown" and of.units == "weight_only")
    ):  # nobody is known to widen it there
        why = Reason(kind="units", engine=of.engine, subject=of.precision, note=fact.note)
        return SupportStatement(status="no", why=why, fact=fact)
    refused = blocks and status == "no"
    if refused and not of.own and _status(per_tensor) != "no":
        status = "unknown"
    why = Reason(kind="block_scales" if refused else "format", engine=of.engine, subject=of.precision, note=fact.note)
    return SupportStatement(status=status, why=why, fact=fact)


def format_status(engine: Engine, generation: str, precision: Precision) -> Status:
    """Whether the engine runs the format of dense models or of experts on a generation, any model."""
    if _status(by_generation().get((engine.id, generation), UNLISTED)) != "supported":
        return "unknown" if _generation(engine.id, generation).status == "unknown" else "no"
    each = (format_fact(engine.id, engine.built_on, generation, precision.id, moe) for moe in (False, True))
    return min((_status(fact) for fact in each), key=_RANK.__getitem__)


@lru_cache(maxsize=16384)
def rule_parts(
    engine: str, built_on: str, aspect: Aspect, known: str, attention: str, generation: str, precision: str
) -> tuple[SupportStatement, ...]:
    """What rules say of an aspect; those of the engine that another is built on hold for it, too."""
    kind: ReasonKind = "attention" if aspect == "start" else cast(ReasonKind, aspect)
    return tuple(
        SupportStatement(
            status=_status(r.fact), why=Reason(kind=kind, engine=engine, subject=known, note=r.fact.note), fact=r.fact
        )
        for r in rules()
        if r.aspect == aspect
        and r.engine in (engine, built_on, ANY_ENGINE)
        and r.holds(known, attention, generation, precision)
    )


@lru_cache(maxsize=1024)
def has_block_scales(known: str) -> bool:
    """Whether FP8 checkpoints of a class have one scale for each block of weights."""
    return any(rule.aspect == "blocks" and known in rule.classes for rule in rules())
