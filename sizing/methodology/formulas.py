"""Chapters on how numbers come about: the way through the engine, its formulas, and where they hold."""

from functools import cache
from pathlib import Path

from sizing.methodology.content import Entry, FactTable, MethodologyChapter
from sizing.methodology.docstrings import PACKAGE, Documented, Module, read_module

FLOW = (
    "scenario.lengths",
    "scenario.demand",
    "scenario.business",
    "scenario",
    "catalog",
    "question",
    "deployments",
    "steps",
    "queueing",
    "simulator",
    "search",
    "mixed",
    "prices",
    "planning",
    "explore",
    "replay",
    "economics",
    "decision",
    "evidence",
    "calibration",
)
"""The order in which a question runs through the engine. A package stands for its modules; others come last."""

NOT_ENGINE = (
    "methodology",
    "scenario.schema",
    "scenario.costs",
    "scenario.part",
    "scenario.traffic",
    "scenario.file",
    "scenario.traces",
    "base.format",
    "base.quantity",
    "base.provenance",
    "base.errors",
    "base.checks",
    "base.constants",
    "base.version",
    "planning.sentences",
    "economics.text",
    "economics.results",
    "economics.present_value",
    "decision.text",
    "decision.keys",
    "planning.proposal_text",
    "planning.arithmetic",
    "planning.explain",
    "planning.explain_cost",
    "planning.explain_memory",
    "planning.explain_disaggregated",
)
"""Formats, texts and entry points: nothing is computed there."""


_SPELLED = {
    **{word: word.upper() for word in ("kv", "ttft", "itl", "e2e", "gpu", "usd", "tp", "pp", "ep", "dp", "api")},
    "gpus": "GPUs",
    "pcie": "PCIe",
    "ms": "ms",
    "rps": "requests/s",
}


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the engine, in the order of :data:`FLOW`."""
    paths = [p for p in sorted(PACKAGE.rglob("*.py")) if not left_out(p)]
    read = [read_module(path) for path in paths]
    return tuple(sorted(read, key=lambda module: (_place(module.name), module.name)))


def overview() -> MethodologyChapter:
    """The way of a question through the engine: its modules, in order, with the first words of each."""
    rows = tuple((module.name, module.summary, module.source) for module in modules() if module.formulas)
    return MethodologyChapter(
        slug="overview",
        title="Overview",
        intro="A scenario says what is asked. The demand at the peak, the candidates, their memory, their step times "
        "and their behaviour under load follow from it, then instances, systems and cost. Each line is one module of "
        "the engine, in the order in which a question passes it.",
        tables=(
            FactTable(title="Modules in the order of use", columns=("Module", "What it does", "Source"), rows=rows),
        ),
    )


def formulas() -> MethodologyChapter:
    """Every formula of the engine with its source, as its docstring says."""
    entries = tuple(_entry(formula) for module in modules() for formula in module.formulas)
    return MethodologyChapter(
        slug="formulas",
        title="Formulas",
        intro="Read from the source of the engine, so that what stands here is what is computed. Inside the engine "
        "units are seconds, bytes, tokens, watts and USD.",
        entries=entries,
    )


def validity() -> MethodologyChapter | None:
    """Where formulas hold, for those that say so; None when none does."""
    rows = tuple((title(f), f.valid, _where(f)) for module in modules() for f in module.formulas if f.valid)
    if not rows:
        return None
    table = FactTable(title="Ranges", columns=("Formula", "Valid for", "Where"), rows=rows)
    return MethodologyChapter(
        slug="validity",
        title="Validity",
        intro="Outside these ranges a formula is not meant to be used.",
        tables=(table,),
    )


def title(formula: Documented) -> str:
    """The name of a function as words: ``kv_bytes_per_sequence`` is "KV bytes per sequence"."""
    words = formula.name.split(".")[-1].split("_")
    if words[-1] in ("s", "of") and "per" not in words:
        words = words[:-1]
    text = " ".join(_SPELLED.get(word, word) for word in words)
    return text if words[0] in _SPELLED else text[:1].upper() + text[1:]


def _place(module: str) -> int:
    """Position in :data:`FLOW` of a module, or of the nearest package around it."""
    name = module.removeprefix("sizing.")
    while name and name not in FLOW:
        name = name.rpartition(".")[0]
    return FLOW.index(name) if name else len(FLOW)


def _entry(formula: Documented) -> Entry:
    text = " ".join(part for part in (formula.summary, formula.text) if part)
    return Entry(
        title=title(formula),
        text=text,
        group=_theme(formula.module),
        where=_where(formula),
        formula=formula.equation,
        source=formula.source,
    )


def _theme(module: str) -> str:
    """A module as a heading: ``sizing.steps.roofline`` is "Steps: roofline"."""
    words = ": ".join(module.removeprefix("sizing.").split(".")).replace("_", " ")
    return words[:1].upper() + words[1:]


def _where(formula: Documented) -> str:
    return f"{formula.module}.{formula.name}"


def left_out(path: Path) -> bool:
    """Whether a source file holds no formulas or constants of the engine: formats, texts, entry points."""
    inside = path.relative_to(PACKAGE).with_suffix("").parts
    names = {".".join(inside[:length]) for length in range(1, len(inside) + 1)}
    return not names.isdisjoint(NOT_ENGINE) or inside[-1].startswith("__")
