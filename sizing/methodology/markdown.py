"""The methodology as Markdown: the reader's version, and the reference it leads into."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from sizing.methodology.content import Cell, Entry, FactTable, MethodologyChapter, Prose

_ONE_LINE = 120
"""Characters up to which a formula is set as code. Chosen: as long as a line of the source."""

READER_HEAD = """# Methodology

How an answer comes about, in a few pages: the way of a question, the formulas that decide it, what each assumes, where
it holds, and how accurate it was. Every formula with its source is in the [reference](METHODOLOGY_REFERENCE.md). Both
are written by `python -m sizing.methodology` (do not edit; the text is `sizing/methodology/reader.md`) and stand,
searchable, on the Methodology page of the dashboard. What changed is in [CHANGELOG.md](../CHANGELOG.md).
"""

REFERENCE_HEAD = """# Methodology: reference

Every formula, input, constant and result field, generated from the engine by `python -m sizing.methodology`; do not
edit. For reading there is [METHODOLOGY.md](METHODOLOGY.md), which leads here; the whole catalogue, with a search over
all of it, is on the Methodology page of the dashboard. Where to look:
"""

TO_THE_INDEX = "[Methodology: reference](../METHODOLOGY_REFERENCE.md)"


def reader_document(chapters: Iterable[Prose]) -> str:
    """The reader's version as Markdown, with a table of contents."""
    chapters = tuple(chapters)
    blocks = (f"## {chapter.title}\n\n{chapter.markdown}" for chapter in chapters)
    return "\n\n".join([READER_HEAD.strip(), _contents(chapter.title for chapter in chapters), *blocks]) + "\n"


def reference_documents(sections: Iterable[MethodologyChapter], folder: str) -> Mapping[str, str]:
    """The sections that belong in the reference, a document each in ``folder``, and the index of these under "": texts
    by the name of their file."""
    shown = [section for section in sections if section.in_document]
    index = "\n".join(f"- [{section.title}]({folder}/{section.slug}.md): {_what(section)}" for section in shown)
    chapters = {f"{section.slug}.md": "\n\n".join([*_chapter(section)]) + "\n" for section in shown}
    return {"": f"{REFERENCE_HEAD.strip()}\n\n{index}\n", **chapters}


def _chapter(section: MethodologyChapter) -> Iterator[str]:
    head, *blocks = _section(section)
    yield head.removeprefix("#")
    yield TO_THE_INDEX
    yield from blocks


def _what(section: MethodologyChapter) -> str:
    """What a chapter holds, for the index: how many entries, and its tables."""
    parts = [f"{len(section.entries)} entries"] if section.entries else []
    parts += [f"{table.title} ({len(table.rows)})" for table in section.tables if table.in_document]
    return "; ".join(plain(part) for part in parts) or plain(section.intro.partition("\n")[0])


def _contents(titles: Iterable[str]) -> str:
    return "\n".join(f"- [{title}](#{heading_anchor(title)})" for title in titles)


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
    return f"`{code}`" if len(code) <= _ONE_LINE and "`" not in code else rich(formula)


def plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#$~|])", r"\\\1", text)


def rich(text: str) -> str:
    """Text that Markdown shows as it is, except that `code` is set as code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if place % 2 else plain(part) for place, part in enumerate(parts))


def _section(section: MethodologyChapter) -> Iterator[str]:
    yield f"## {section.title}"
    if section.intro:
        yield section.intro
    for group, items in groupby(section.entries, key=lambda item: item.group):
        yield f"### {group}"
        yield from map(entry, items)
    for table in section.tables:
        if table.in_document:
            yield from _table(table)


def _table(table: FactTable) -> Iterator[str]:
    yield f"### {table.title}"
    yield table_lines(table.columns, table.rows)


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table as Markdown: the head, the rule below it and one line for each row."""
    head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    text = f"{value:,.12g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
    return rich(" ".join(text.split()))


def heading_anchor(title: str) -> str:
    """The anchor that GitHub and GitLab give a heading."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).replace(" ", "-")
