"""The Methodology page: search, contents and chapters of :mod:`sizing.methodology`."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby

import pandas as pd
import streamlit as st

from sizing.base.format import count
from sizing.methodology import Entry, FactTable, MethodologyChapter, content, sections
from sizing.methodology.accuracy import (
    TITLES,
    accuracy_figures,
    capacity_alt_text,
    capacity_in_words,
    conclusions_in_words,
    report_chapters,
)
from sizing.methodology.content import Prose
from sizing.methodology.markdown import entry as entry_markdown
from ui import state
from ui.figures.accuracy import (
    build_capacity,
    build_learning_curve,
    build_reliability,
    learning_alt_text,
    reliability_alt_text,
)
from ui.format import as_markdown
from ui.shell import draw_chart, header
from ui.shell.notes import draw_wrong_in_link

_LONG = 60
"""Characters from which on a column holds sentences rather than names."""
_ONE_LINE, _TWO_LINES, _TALLEST = 35, 70, 640
"""Heights of table rows and of the tallest table, in pixels."""
_PROSE = 420
"""Height of the box in which a long or wide text scrolls, in pixels."""


def draw() -> None:
    """The page below its guard: a search over everything, and the contents with one chapter open."""
    header("Methodology")
    st.caption("How every number comes about: generated from the engine and its data, so it cannot disagree with them.")
    query, title = _choices()
    if query:
        shown = content(sections(), query)
        _say_how_many(shown, query)
    else:
        shown = tuple(section for section in sections() if section.title == title)
    for section in shown:
        draw_section(section)


def draw_section(section: MethodologyChapter) -> None:
    """One chapter: heading with its anchor, introduction, entries by group, tables."""
    st.subheader(section.title, anchor=section.slug, divider="gray")
    if section.intro:
        st.markdown(section.intro)
    for part in section.prose:
        with st.container(height=_PROSE if part.wide else "content", border=False):
            st.markdown(f"##### {part.title}\n\n{part.markdown}")
    for group, entries in groupby(section.entries, key=lambda item: item.group):
        st.markdown(_group_markdown(group, tuple(entries)))
    if section.slug == "accuracy":
        _draw_accuracy()
    for table in section.tables:
        _draw_table(section, table)
    if section.slug == "accuracy":
        _draw_chapters(report_chapters(accuracy_figures())[1:])


def _draw_accuracy() -> None:
    """What may be concluded, the error of the answer, how it was judged, reliability, learning curve; their tables
    follow with the others."""
    figures, dark = accuracy_figures(), st.context.theme.type == "dark"
    answer, method = capacity_in_words(figures)
    st.markdown(f"##### {TITLES['basis']}\n\n{conclusions_in_words(figures)}")
    st.markdown(f"##### {TITLES['capacity']}\n\n{answer}")
    runs = figures["capacity_runs"]
    draw_chart(build_capacity(runs, dark=dark), key="accuracy_capacity", alt=capacity_alt_text(runs))
    st.caption(method)
    _draw_chapters(report_chapters(figures)[:1])
    charts = (
        ("Reliability", "reliability", build_reliability, reliability_alt_text),
        ("Learning curve", "learning_curve", build_learning_curve, learning_alt_text),
    )
    for column, (title, name, build, alt_text) in zip(st.columns(2), charts, strict=True):
        with column:
            st.markdown(f"##### {title}", anchors=False)
            draw_chart(build(figures[name], dark=dark), key=f"accuracy_{name}", alt=alt_text(figures[name]))


def _draw_chapters(chapters: Iterable[Prose]) -> None:
    """Texts of the report, closed; their wide tables scroll inside a box."""
    for chapter in chapters:
        with st.expander(chapter.title), st.container(height=_PROSE, border=False):
            st.markdown(chapter.markdown)


def _choices() -> tuple[str, str]:
    """The words to look for and the open chapter, both part of the link."""
    titles = [section.title for section in sections()]
    query = st.text_input(
        "Search all chapters",
        key="term",
        **state.linked("term", default=""),
        type="search",
        icon=":material/search:",
        placeholder="Term, formula, constant, GPU, source",
        help="Finds entries and table rows that hold every word. The link in the address bar keeps the search.",
    )
    kept = state.linked("chapter", {title: title for title in titles}, default=titles[0])
    draw_wrong_in_link("chapter", "chapter")
    chapter = st.radio(
        "Contents",
        titles,
        horizontal=True,
        key="chapter",
        **kept,
        help="The chapter that is open. The link in the address bar keeps the choice.",
    )
    return (query or "").strip(), str(chapter)


def _say_how_many(shown: Iterable[MethodologyChapter], query: str) -> None:
    hits = sum(len(s.prose) + len(s.entries) + sum(len(t.rows) for t in s.tables) for s in shown)
    if hits:
        st.caption(f"{count(hits)} parts, entries and rows hold “{as_markdown(query)}”.")
    else:
        st.info(f"Nothing holds “{as_markdown(query)}”. Use fewer words, or clear the search to see the chapters.")


@lru_cache(maxsize=256)
def _group_markdown(group: str, entries: tuple[Entry, ...]) -> str:
    return "\n\n".join([f"##### {as_markdown(group)}", *map(entry_markdown, entries)])


def _draw_table(section: MethodologyChapter, table: FactTable) -> None:
    st.markdown(f"##### {as_markdown(table.title)}", anchors=False)
    long = _long_columns(table)
    row = _TWO_LINES if long and table.in_document else _ONE_LINE
    columns = {name: st.column_config.TextColumn(width="large") for name in long}
    frame = _frame(table)
    columns |= {str(name): st.column_config.NumberColumn(format="localized") for name in frame.select_dtypes("number")}
    st.dataframe(
        frame,
        hide_index=True,
        placeholder="",
        column_config=columns,
        key=f"{section.slug}_{table.title}",
        row_height=row,
        height="content" if len(table.rows) * row <= _TALLEST else _TALLEST,
        alt=f"{table.title}: {', '.join(table.columns)}",
    )


@lru_cache(maxsize=256)
def _long_columns(table: FactTable) -> tuple[str, ...]:
    """Columns of sentences rather than names: they are wide, and wrap."""
    lengths = {name: max((len(str(row[i])) for row in table.rows), default=0) for i, name in enumerate(table.columns)}
    return tuple(name for name, length in lengths.items() if length > _LONG)


@lru_cache(maxsize=256)
def _frame(table: FactTable) -> pd.DataFrame:
    return pd.DataFrame(list(table.rows), columns=list(table.columns)).convert_dtypes()
