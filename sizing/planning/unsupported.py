"""Why nothing that is asked for runs on a GPU at all, memory and limits aside, and the nearest that does."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sizing.base.result import Excluded, Fix
from sizing.catalog.engines import engines
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_families import generation_labels
from sizing.catalog.layout_support import Degrees, LayoutSupport
from sizing.catalog.model import Model
from sizing.catalog.precisions import Precision, precisions
from sizing.catalog.support import Reason, Support, format_status, support
from sizing.deployments.candidates import engines_allowed, enumerate_for, formats_tried, kv_formats, named_enough
from sizing.deployments.layouts import layouts
from sizing.planning.rules_support import because
from sizing.question.configuration import Allowed, Configuration

RESTRICTIONS = (
    ("tp", "TP size"),
    ("pp", "PP size"),
    ("ep", "EP size"),
    ("dp", "DP size"),
    ("kv_precisions", "KV precision"),
    ("precisions", "weight precision"),
    ("engines", "engine"),
)
"""What a scenario may narrow, the most easily changed first, and what it is called."""

LOSSY = Fix(key="deployment.accurate_formats_only", value=False, label="Consider formats that lose accuracy")
"""What considers the formats that are left out unless they are asked for."""

DEGREES = ("tp", "pp", "ep", "dp")

MOST_NAMED = 3
"""Values that a proposal names. Chosen: a person picks one of them."""

KEPT = 1024
"""GPUs whose refusal is kept, 1 kB each. Chosen: those of the catalogue for some ten models or restrictions in turn,
since a question that differs in load, lengths, limits or prices is refused on the same GPUs."""

_BINDS = {
    "heads": "tp",
    "blocks": "tp",
    "layers": "pp",
    "pipeline": "pp",
    "pipeline_speculation": "pp",
    "experts": "ep",
    "experts_split": "ep",
    "experts_uneven": "ep",
    "ranks": "dp",
    "hosts": "tp",
    "dense": "ep",
    "format": "precisions",
    "block_scales": "precisions",
    "units": "precisions",
    "kv_format": "kv_precisions",
}
"""What a scenario narrowed that a reason is about: to be changed first."""

_STAGES = {
    "archived": 0,
    "generation": 1,
    "dropped": 2,
    "class": 3,
    "attention": 4,
    "format": 5,
    "block_scales": 5,
    "units": 5,
    "kv_format": 6,
}
"""What is asked of an engine one after the other; everything beyond is about the layout."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """What was asked for and does not run, why, and how far it came."""

    support: Support
    engine: str
    precision: Precision | None = None

    @property
    def stage(self) -> int:
        """How far it came before it was refused."""
        kind = self.support.why.kind
        return _STAGES.get(kind, len(_STAGES))


@lru_cache(maxsize=KEPT)
def unsupported(model: Model, allowed: Allowed, gpu: Gpu) -> Excluded:
    """The reason that binds: of everything asked for, why that is refused which comes furthest; and the nearest way."""
    refused = max(_refusals(model, allowed, gpu), key=lambda r: r.stage, default=None)
    reason = "No layout of what is asked for exists." if refused is None else because(refused.support, gpu.name)
    relaxation, fix = _way_out(model, allowed, gpu, refused)
    return Excluded(gpu=gpu.id, closest="", reason=reason, relaxation=relaxation, fix=fix)


def _refusals(model: Model, allowed: Allowed, gpu: Gpu) -> Iterator[Refusal]:
    """Why each engine and format that is allowed is refused, and of those that run every layout asked for."""
    for engine in engines_allowed(model, allowed, gpu):
        tried = layouts(model, gpu, allowed, engine)
        for precision in formats_tried(model, gpu, engine, allowed):
            stated = support(engine, gpu, model, precision)
            if not named_enough(stated, allowed):  # before what such an engine says of the model: nobody asked it
                yield Refusal(support=_unnamed(stated, engine.id, gpu), engine=engine.id, precision=precision)
            elif stated.status == "no":
                yield Refusal(support=stated, engine=engine.id, precision=precision)
            else:
                running = LayoutSupport(engine, gpu, model, precision, stated, allowed.speculates)
                yield from _refused_layouts(running, tried, allowed)


def _refused_layouts(running: LayoutSupport, tried: tuple[Degrees, ...], allowed: Allowed) -> Iterator[Refusal]:
    """The refused layouts of what runs otherwise; the KV format where that is what is refused."""
    if not kv_formats(running.gpu, running, running.precision, allowed):
        why = Reason(kind="kv_format", engine=running.engine.id)
        refused = replace(running.base, status="no", why=why, source=running.gpu.source, date=running.gpu.source_date)
        yield Refusal(support=refused, engine=running.engine.id, precision=running.precision)
    else:
        for degrees in tried:
            stated = running.of(degrees)
            if stated.status == "no":
                yield Refusal(support=stated, engine=running.engine.id, precision=running.precision)


def _unnamed(stated: Support, engine: str, gpu: Gpu) -> Support:
    """The support of what only a scenario that names it is answered with, refused for that."""
    kind = "archived" if "engine" in stated.unless_named else "dropped"
    source = engines()[engine].status_source if kind == "archived" else stated.source
    why = replace(stated.why, kind=kind, subject=gpu.generation, note="")  # type: ignore[arg-type]
    return replace(stated, status="no", why=why, source=source)


def _way_out(model: Model, allowed: Allowed, gpu: Gpu, refused: Refusal | None) -> tuple[str, Fix | None]:
    """The nearest that works: another value of one restriction, every degree of parallelism open, else another GPU."""
    if rows := lossy(model, allowed, gpu):
        return f"Allow {' or '.join(dict.fromkeys(row.precision.label for row in rows))}, which lose accuracy.", LOSSY
    binding = _BINDS.get(refused.support.why.kind, "") if refused else ""
    for name, what in sorted(RESTRICTIONS, key=lambda one: one[0] != binding):
        if getattr(allowed, name) and (rows := enumerate_for(model, gpu, allowed.lifted(name))):
            return _other_values(rows, allowed, name, what)
    free = allowed.lifted(*DEGREES, "kv_precisions")
    if free != allowed and enumerate_for(model, gpu, free):
        return "Leave TP, PP, EP, DP and KV precision open.", None
    if enumerate_for(model, gpu, allowed.lifted(*(name for name, _ in RESTRICTIONS))):
        return "Leave engine, precision, KV precision, TP, PP, EP and DP open.", None
    if refused is not None and refused.support.unless_named and refused.support.status == "no":
        return "Name it to have it considered, with the last version that ran there.", None
    return _other_gpus(refused), None


def lossy(model: Model, allowed: Allowed, gpu: Gpu) -> tuple[Configuration, ...]:
    """Configurations that the scenario leaves out because their format loses accuracy."""
    if allowed.precisions or allowed.accuracy != "kept":
        return ()
    return enumerate_for(model, gpu, replace(allowed, accuracy="any"))


def _other_values(rows: tuple[Configuration, ...], allowed: Allowed, name: str, what: str) -> tuple[str, Fix]:
    """What one restriction could be instead: the degrees next to the one asked for, or every name that works."""
    values = list(dict.fromkeys(_value(row, name) for row in rows))
    if name in DEGREES:
        before = getattr(allowed, name)
        values = sorted(values, key=lambda v: (min(abs(v - one) for one in before), v))[:MOST_NAMED]
        words = " or ".join(str(v) for v in sorted(values))
        return f"{what.partition(' ')[0]} {words}.", Fix(
            key=f"deployment.{name}", value=sorted(values), label=f"Allow {what} {words}"
        )
    values = sorted(values)
    labels = _labels(name, values)
    return f"Allow {what} {' or '.join(labels)}.", Fix(
        key=f"deployment.{name}", value=values, label=f"Allow {', '.join(labels)}"
    )


def _value(row: Configuration, name: str) -> Any:
    """What a configuration has of a restriction."""
    match name:
        case "engines":
            return row.engine.id
        case "precisions":
            return row.precision.id
        case "kv_precisions":
            return row.kv_precision
        case _:
            return getattr(row, name)


def _labels(name: str, values: list[str]) -> list[str]:
    if name == "engines":
        return [engines()[one].label for one in values]
    return [precisions()[one].label if one in precisions() else one.upper() for one in values]


def _other_gpus(refused: Refusal | None) -> str:
    """The generations on which the refused engine runs the refused format."""
    if refused is None or refused.precision is None:
        return "Choose another GPU."
    engine = engines()[refused.engine]
    able = [
        label for g, label in generation_labels().items() if format_status(engine, g, refused.precision) == "supported"
    ]
    if not able:
        return "Choose another GPU."
    return f"Choose another GPU: {engine.label} runs {refused.precision.label} on {', '.join(able)}."
