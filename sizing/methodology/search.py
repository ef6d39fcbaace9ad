"""Finding an entry or a row by its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, replace
from functools import cache

from sizing.methodology.content import Entry, Section, Table


def search(sections: Iterable[Section], query: str) -> tuple[Section, ...]:
    """The sections reduced to entries and rows that hold every word of the query, in any case; empty ones left out.

    An entry whose name or other name is the query comes first. A blank query finds everything.
    """
    words = query.casefold().split()
    if not words:
        return tuple(sections)
    wanted = " ".join(words)
    found = (_reduced(section, words, wanted) for section in sections)
    return tuple(section for section in found if section.entries or section.tables)


def _reduced(section: Section, words: list[str], wanted: str) -> Section:
    entries = [entry for entry in section.entries if _holds(_entry_text(entry), words)]
    entries.sort(key=lambda e: wanted not in (e.title.casefold(), *(a.casefold() for a in e.also)))
    tables = [_matching(table, words) for table in section.tables]
    return replace(section, intro="", entries=tuple(entries), tables=tuple(t for t in tables if t.rows))


def _matching(table: Table, words: list[str]) -> Table:
    texts = _row_texts(table)
    return replace(table, rows=tuple(row for row, text in zip(table.rows, texts, strict=True) if _holds(text, words)))


def _holds(text: str, words: list[str]) -> bool:
    return all(word in text for word in words)


@cache
def _entry_text(entry: Entry) -> str:
    return " ".join(map(str, astuple(entry))).casefold()


@cache
def _row_texts(table: Table) -> tuple[str, ...]:
    return tuple(" ".join(str(cell) for cell in row if cell is not None).casefold() for row in table.rows)
