"""What the methodology consists of, however it is shown: sections with entries and tables, found by their words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import cache

Cell = str | float | int | bool | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing explained: a formula of the engine or a term. ``group`` is its module or theme, ``where`` its function.

    ``also`` are other names of it, ``related`` words that are only searched by.
    ``text`` and ``formula`` may hold `code`; everything else is plain.
    """

    title: str
    text: str
    group: str
    where: str = ""
    formula: str = ""
    source: str = ""
    also: tuple[str, ...] = ()
    related: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FactTable:
    """Facts in rows. ``in_document`` is False for long catalogues, which only the page shows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    in_document: bool = True

    @classmethod
    def of_records(cls, title: str, records: Iterable[Mapping[str, Cell]]) -> FactTable:
        """A table whose columns are the keys of the records, which are the same in all."""
        rows = tuple(records)
        return cls(title=title, columns=tuple(rows[0]), rows=tuple(tuple(row.values()) for row in rows))


@dataclass(frozen=True, kw_only=True)
class Prose:
    """A few paragraphs under a heading, as Markdown. ``wide``: it holds a table, which a phone must scroll."""

    title: str
    markdown: str
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class MethodologyChapter:
    """One chapter; ``slug`` is its anchor, ``title`` its value in a link, so both stay as they are."""

    slug: str
    title: str
    intro: str
    prose: tuple[Prose, ...] = ()
    entries: tuple[Entry, ...] = ()
    tables: tuple[FactTable, ...] = ()
    in_document: bool = True


def search(sections: Iterable[MethodologyChapter], query: str) -> tuple[MethodologyChapter, ...]:
    """The sections reduced to paragraphs, entries and rows that hold every word of the query, in any case.

    An entry whose name or other name is the query comes first, and its section before others. A blank query
    finds everything.
    """
    words = query.casefold().split()
    if not words:
        return tuple(sections)
    wanted = " ".join(words)
    reduced = (_reduced(section, words, wanted) for section in sections)
    kept = [section for section in reduced if section.prose or section.entries or section.tables]
    return tuple(sorted(kept, key=lambda section: not any(_is_named(entry, wanted) for entry in section.entries)))


def _reduced(section: MethodologyChapter, words: list[str], wanted: str) -> MethodologyChapter:
    entries = [entry for entry in section.entries if _holds(_entry_text(entry), words)]
    entries.sort(key=lambda entry: not _is_named(entry, wanted))
    tables = [_matching(table, words) for table in section.tables]
    return replace(
        section,
        intro="",
        prose=tuple(part for part in section.prose if _holds(f"{part.title} {part.markdown}".casefold(), words)),
        entries=tuple(entries),
        tables=tuple(t for t in tables if t.rows),
    )


def _is_named(entry: Entry, wanted: str) -> bool:
    return wanted in (entry.title.casefold(), *(other.casefold() for other in (*entry.also, *entry.related)))


def _matching(table: FactTable, words: list[str]) -> FactTable:
    texts = _row_texts(table)
    return replace(table, rows=tuple(row for row, text in zip(table.rows, texts, strict=True) if _holds(text, words)))


def _holds(text: str, words: list[str]) -> bool:
    return all(word in text for word in words)


@cache
def _entry_text(entry: Entry) -> str:
    return " ".join(map(str, astuple(entry))).casefold()


@cache
def _row_texts(table: FactTable) -> tuple[str, ...]:
    return tuple(" ".join(str(cell) for cell in row if cell is not None).casefold() for row in table.rows)
