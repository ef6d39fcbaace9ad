"""All chapters of the methodology, in reading order: the reader's version, then the reference."""

from functools import cache

from sizing.methodology.accuracy import accuracy
from sizing.methodology.catalogue import facts, quantization_losses, sources
from sizing.methodology.content import Entry, FactTable, MethodologyChapter
from sizing.methodology.docstrings import PACKAGE
from sizing.methodology.example import example
from sizing.methodology.formulas import formulas, overview, validity
from sizing.methodology.glossary import fields, glossary
from sizing.methodology.inputs import inputs
from sizing.methodology.numbers import constants, engines_and_formats, fitted
from sizing.methodology.reader import on_page, reader

CHANGELOG = PACKAGE.parent / "CHANGELOG.md"


@cache
def sections() -> tuple[MethodologyChapter, ...]:
    """Every chapter: a worked example, the reader's version, the reference; the same objects on every call."""
    method = MethodologyChapter(
        slug="method",
        title="The method",
        intro="How an answer comes about, in a few pages. The other chapters are the reference it leads into.",
        prose=reader(reference(), on_page),
        in_document=False,
    )
    return (example(), method, *reference())


@cache
def reference() -> tuple[MethodologyChapter, ...]:
    """The chapters of the reference for which there is content."""
    chapters = (
        overview(),
        formulas(),
        inputs(),
        constants(),
        fitted(),
        engines_and_formats(),
        validity(),
        accuracy(),
        quantization_losses(),
        sources(),
        facts(),
        results(),
        terms(),
        changes(),
    )
    return tuple(section for section in chapters if section is not None)


def results() -> MethodologyChapter:
    """Every public field of an answer, from the metadata that tooltips and exports use."""
    rows = tuple((e.result, e.name, e.label, e.unit, e.formula, e.help) for e in fields())
    table = FactTable(title="Fields", columns=("Result", "Field", "Label", "Unit", "Formula", "Meaning"), rows=rows)
    intro = "What an answer contains. Names as in the JSON of python -m sizing plan; units are those of the values."
    return MethodologyChapter(slug="results", title="Result fields", intro=intro, tables=(table,))


def terms() -> MethodologyChapter:
    """The chapter that holds every term of the glossary."""
    entries = tuple(
        Entry(title=t.name, text=t.meaning, group=t.group, also=t.also, related=t.related) for t in glossary()
    )
    return MethodologyChapter(
        slug="glossary", title="Glossary", intro="The words of the field as this product uses them.", entries=entries
    )


def changes() -> MethodologyChapter | None:
    """The changelog of the product, without its heading; None where it is not shipped."""
    if not CHANGELOG.exists():
        return None
    lines = CHANGELOG.read_text(encoding="utf-8").splitlines()
    body = [f"##{line}" if line.startswith("#") else line for line in lines if not line.startswith("# ")]
    return MethodologyChapter(slug="changelog", title="Changes", intro="\n".join(body).strip(), in_document=False)
