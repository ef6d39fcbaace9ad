"""What the methodology consists of: sections with entries and tables, independent of how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
