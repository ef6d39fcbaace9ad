"""The terms of the field that a report uses."""

import re
from collections.abc import Iterator

from sharing.report.content import Block, Bullets, Chart, Column, Facts, Paragraph, Report, Section, Table
from sizing.methodology.glossary import Term
from sizing.methodology.glossary import glossary as every_term

FORMULAS = "formulas"
"""Key of the chapter that is looked up rather than read: its terms are explained where it is computed."""


def glossary(report: Report) -> Section:
    """The chapter: every term that stands in the text of those that are read, under the name it has there."""
    read = [section for section in report.sections if section.key != FORMULAS]
    text = " ".join([report.answer, *(words for section in read for words in words_of(section))])
    named = ((_named(term, text), term.meaning) for term in every_term())
    rows = tuple((name, meaning) for name, meaning in named if name)
    columns = (Column(label="Term"), Column(label="Meaning"))
    return Section(
        key="glossary", title="Appendix: glossary", blocks=(Table(title="Terms", columns=columns, rows=rows),)
    )


def _named(term: Term, text: str) -> str:
    """The term as the text calls it: by its name, or its name and the other one used there; empty if by none."""
    if _used(term.name, text):
        return term.name
    other = next((name for name in term.also if _used(name, text)), "")
    return f"{term.name} ({other})" if other else ""


def _used(name: str, text: str) -> bool:
    case = re.NOFLAG if name.isupper() else re.IGNORECASE
    return re.search(rf"(?<!\w){re.escape(name)}s?(?!\w)", text, case) is not None


def words_of(section: Section) -> Iterator[str]:
    """Every text of a chapter that a reader sees."""
    yield section.title
    for block in section.blocks:
        yield from _words_of(block)


def _words_of(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield block.text
        case Bullets():
            yield from block.items
        case Facts():
            for fact in block.facts:
                yield from (fact.label, fact.value, fact.note)
        case Table():
            yield from (block.title, block.note)
            for column in block.columns:
                yield from (column.label, column.unit)
            yield from (cell for row in block.rows for cell in row if isinstance(cell, str))
        case Chart():
            yield from (block.title, block.x_label, block.y_label, block.note)
            yield from (place for place in block.x if isinstance(place, str))
            yield from (series.name for series in block.series)
            yield from (mark.label for mark in block.marks)
