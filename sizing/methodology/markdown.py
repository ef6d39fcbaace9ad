"""The methodology as one Markdown document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from sizing.methodology.content import Cell, Entry, Section, Table

_SHORT = 120

HEAD = """# Methodology

Generated from the engine by `python -m sizing.methodology`; do not edit. The same content, searchable and with the
whole catalogue, is on the Methodology page of the dashboard. What changed is in [CHANGELOG.md](../CHANGELOG.md).
"""


def document(sections: Iterable[Section]) -> str:
    """The sections that belong in a document, with a table of contents, as Markdown."""
    shown = [section for section in sections if section.in_document]
    contents = "\n".join(f"- [{section.title}](#{_heading_anchor(section.title)})" for section in shown)
    return "\n\n".join([HEAD.strip(), contents, *(block for section in shown for block in _section(section))]) + "\n"


def entry(item: Entry) -> str:
    """One entry as Markdown: what it is, its formula, source and place, each on a line of its own."""
    also = f" ({', '.join(item.also)})" if item.also else ""
    lines = [f"**{plain(item.title)}**{plain(also)}" + (f": {rich(item.text)}" if item.text else "")]
    if item.formula:
        lines.append(f"Formula: {_formula(item.formula)}")
    if item.where:
        source = f"Source: {rich(item.source.rstrip('.'))}. " if item.source else ""
        lines.append(f"{source}In `{item.where}`.")
    return "  \n".join(lines)


def _formula(formula: str) -> str:
    """A formula as code where it is short and nothing else; prose around it stays prose."""
    code = formula.rstrip(".")
    return f"`{code}`" if len(code) <= _SHORT and "`" not in code else rich(formula)


def plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#$~|])", r"\\\1", text)


def rich(text: str) -> str:
    """Text that Markdown shows as it is, except that `code` is set as code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if place % 2 else plain(part) for place, part in enumerate(parts))


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    if section.intro:
        yield section.intro
    for group, items in groupby(section.entries, key=lambda item: item.group):
        yield f"### {group}"
        yield from map(entry, items)
    for table in section.tables:
        if table.in_document:
            yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.title}"
    head = [f"| {' | '.join(table.columns)} |", "|" + "---|" * len(table.columns)]
    yield "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in table.rows)])


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    text = f"{value:,.12g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
    return rich(" ".join(text.split()))


def _heading_anchor(title: str) -> str:
    """The anchor that GitHub and GitLab give a heading."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).replace(" ", "-")
