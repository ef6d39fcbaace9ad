"""The terms of the field that a report uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sharing.report.content import Column, Report, Section, Table
from sizing.methodology.glossary import Term
from sizing.methodology.glossary import glossary as every_term

FORMULAS = "formulas"
"""Key of the chapter that is looked up rather than read: its terms are explained where it is computed."""


def glossary(report: Report) -> Section:
    """The chapter: every term that stands in the text of those that are read."""
    read = [section.model_dump(mode="json") for section in report.sections if section.key != FORMULAS]
    text = " ".join(_texts(read))
    rows = tuple((term.name, term.meaning) for term in every_term() if _used(term, text))
    columns = (Column(label="Term"), Column(label="Meaning"))
    return Section(key="glossary", title="Glossary", blocks=(Table(title="Terms", columns=columns, rows=rows),))


def _used(term: Term, text: str) -> bool:
    names = "|".join(map(re.escape, (term.name, *term.also)))
    case = re.NOFLAG if term.name.isupper() else re.IGNORECASE
    return re.search(rf"(?<!\w)(?:{names})s?(?!\w)", text, case) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
