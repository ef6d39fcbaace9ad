"""Which parts of a report stand together on which slide: charts first, then tables; the rest is said in the notes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sharing.formats.cells import cell_text
from sharing.formats.xml_text import shortened
from sharing.report.content import Bullets, Chart, Fact, Facts, Paragraph, Report, Section, Table

MOST_SLIDES = 14
"""Slides of a presentation at most, the cover included."""
LEFT_TO_FILES = ("excluded", "sources", "formulas", "glossary")
"""Chapters to look things up in, which nobody presents."""
SMALL_COLUMNS, SMALL_ROWS, MANY_TEXTS = 3, 6, 3
NOTE_CHARACTERS = 6_000
SOURCE_COLUMNS = ("Source", "Date")
"""Labels of columns that are said in the notes."""
MOST_TITLE = 60
SAID_FIRST = ("alternatives",)
"""Chapters that are said on the first slide where they are no more than texts: one of their own would be empty."""

Visual = Chart | Table


@dataclass(frozen=True, kw_only=True)
class Page:
    """What one slide shows, and what its notes say beside that. ``lead``: of the texts, what stands above charts."""

    title: str
    lead: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    visuals: tuple[Visual, ...] = ()
    notes: tuple[str, ...] = ()


def pages_of(report: Report) -> list[Page]:
    """The slides after the cover: one for each chapter, and further ones for its other charts and tables where the
    presentation stays short."""
    presented = [section for section in report.sections if section.key not in LEFT_TO_FILES]
    brief = [section for section in presented[1:] if _is_brief(section)]
    sections = [section for section in presented if section not in brief][: MOST_SLIDES - 1]
    split = [_split(section) for section in sections]
    if split:
        split[0] = _with_texts(split[0][0], brief), split[0][1]
    room = MOST_SLIDES - 1 - len(split)
    further = _by_need([rest for _, rest in split])[:room]
    pages: list[Page] = []
    for k, (first, rest) in enumerate(split):
        pages.append(first)
        shown = _together(rest) if k in further else ()
        if shown:
            title = f"{first.title}: further" if len(first.title) > MOST_TITLE else f"{first.title}, continued"
            pages.append(Page(title=title, visuals=shown, notes=tuple(_sources(shown))))
        left = [visual.title for visual in rest if visual not in shown]
        if left:
            pages[-1] = replace(
                pages[-1], notes=(*pages[-1].notes, f"In the other files of this report: {'; '.join(left)}.")
            )
    return pages


def _is_brief(section: Section) -> bool:
    """Whether a chapter is said on the first slide."""
    return section.key in SAID_FIRST and all(isinstance(block, Paragraph) for block in section.blocks)


def _with_texts(page: Page, sections: Sequence[Section]) -> Page:
    """The page with the sentences of chapters that have no slide of their own."""
    return replace(page, texts=(*page.texts, *(text for section in sections for text in _texts(section)[0])))


def _split(section: Section) -> tuple[Page, tuple[Visual, ...]]:
    """The first slide of a chapter, and the charts and tables that it has no room for."""
    alone, points = _texts(section)
    facts = [fact for block in section.blocks if isinstance(block, Facts) for fact in block.facts]
    texts = [*alone[:1], *points, *alone[1:]] if facts else [*alone, *points]
    visuals = tuple(block for block in section.blocks if isinstance(block, Chart | Table))
    shown = _together(visuals) if not facts else tuple(v for v in visuals if isinstance(v, Table))[:1]
    spoken = texts if len(texts) > 1 or not alone else []
    page = Page(
        title=section.title,
        lead=tuple(alone[:1]),
        texts=tuple(texts),
        facts=tuple(facts),
        visuals=shown,
        notes=tuple(shortened(text, NOTE_CHARACTERS) for text in (*spoken, *_sources(shown))),
    )
    return page, tuple(visual for visual in visuals if visual not in shown)


def _texts(section: Section) -> tuple[list[str], list[str]]:
    """Paragraphs that stand for themselves; then those that lead to points, and the points."""
    blocks = section.blocks
    leads = [a.text for a, b in pairwise(blocks) if isinstance(a, Paragraph) and isinstance(b, Bullets)]
    alone = [block.text for block in blocks if isinstance(block, Paragraph) and block.text not in leads]
    items = [f"\N{BULLET} {item}" for block in blocks if isinstance(block, Bullets) for item in block.items]
    return alone, [*leads, *items]


def _together(visuals: Sequence[Visual]) -> tuple[Visual, ...]:
    """Two that a slide can hold beside each other, else one."""
    charts = [visual for visual in visuals if isinstance(visual, Chart)]
    tables = [visual for visual in visuals if isinstance(visual, Table)]
    if len(charts) > 1:
        return tuple(charts[:2])
    if charts:
        return (charts[0], *tables[:1])
    small = any(len(table.columns) <= SMALL_COLUMNS for table in tables[:2])
    return tuple(tables[: 2 if small else 1])


def _by_need(rests: Sequence[Sequence[Visual]]) -> list[int]:
    """Chapters that have more to show: those with further charts first, then those with most tables. One short table
    alone makes no slide."""
    with_more = [k for k, rest in enumerate(rests) if rest and not _is_short(rest)]
    charts = {k: sum(isinstance(visual, Chart) for visual in rests[k]) for k in with_more}
    return sorted(with_more, key=lambda k: (-charts[k], -len(rests[k]), k))


def _is_short(visuals: Sequence[Visual]) -> bool:
    return len(visuals) == 1 and isinstance(visuals[0], Table) and len(visuals[0].rows) <= SMALL_ROWS


def is_small(visuals: Sequence[Visual], texts: Sequence[str]) -> bool:
    """Whether a slide is mostly text: many texts beside one short table."""
    short = len(visuals) == 1 and isinstance(visuals[0], Table) and len(visuals[0].rows) <= SMALL_ROWS
    return short and len(texts) >= MANY_TEXTS


def _sources(visuals: Sequence[Visual]) -> Iterator[str]:
    """Where the figures of the tables come from, each source once, and the notes of charts."""
    for visual in visuals:
        if visual.note:
            yield f"{visual.title}: {visual.note}"
        if isinstance(visual, Table):
            named = dict.fromkeys(_sources_of(visual))
            if named:
                yield shortened(f"Sources of {visual.title}: {'; '.join(named)}", NOTE_CHARACTERS)


def _sources_of(table: Table) -> Iterator[str]:
    places = [k for k, column in enumerate(table.columns) if column.label in SOURCE_COLUMNS]
    for row in table.rows:
        texts = [cell_text(table.columns[k], row[k]) for k in places if row[k]]
        if texts:
            yield ", ".join(texts)
