"""What a report is made of, drawn on a page as it was stored. All of it is text: nothing in it is markup."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from sharing.formats.cells import cell_text, heading
from sharing.report.content import Block, Bullets, Chart, Facts, Paragraph, Report, Section, Table
from ui.figures.report import build_report_chart, report_chart_alt_text, report_chart_table
from ui.format import as_markdown, bullets
from ui.shell import draw_chart, draw_table

ROW_PX, HEAD_PX, MOST_ROWS = 35, 38, 40
"""Heights that Streamlit gives rows, and rows from which a table scrolls."""
LONG = 40
"""Characters from which a cell would be cut: a table with such a text wraps it instead."""


def draw_sections(report: Report, *, dark: bool) -> None:
    """Every section in its order."""
    for section in report.sections:
        _draw_section(section, report, dark=dark)


def _draw_section(section: Section, report: Report, *, dark: bool) -> None:
    st.header(as_markdown(section.title), anchor=False, divider="gray")
    for n, block in enumerate(section.blocks):
        if isinstance(block, Paragraph) and block.text == report.answer:
            st.info(as_markdown(report.answer), icon=":material/check_circle:")
        else:
            _draw_block(block, report, key=f"report_{section.key}_{n}", dark=dark)


def _draw_block(block: Block, report: Report, *, key: str, dark: bool) -> None:
    match block:
        case Paragraph():
            st.markdown(as_markdown(block.text))
        case Bullets():
            st.markdown(bullets(block.items))
        case Facts():
            _draw_facts(block)
        case Table():
            _draw_rows(block, report.currency, key=key)
        case Chart():
            _draw_figure(block, key=key, dark=dark)


def _draw_facts(facts: Facts) -> None:
    with st.container(horizontal=True, gap="medium"):
        for fact in facts.facts:
            with st.container(width=220, gap="xxsmall"):
                st.metric(as_markdown(fact.label), as_markdown(fact.value))
                if fact.note:
                    st.caption(as_markdown(fact.note))


def _draw_rows(table: Table, currency: str, *, key: str) -> None:
    if table.title:
        st.markdown(f"**{as_markdown(table.title)}**")
    columns = {
        heading(column, currency): [cell_text(column, row[n]) for row in table.rows]
        for n, column in enumerate(table.columns)
    }
    if any(len(cell) > LONG for cells in columns.values() for cell in cells):
        _draw_text(columns, alt=table.title)
    else:
        st.dataframe(
            columns,
            hide_index=True,
            key=key,
            alt=table.title,
            height=HEAD_PX + ROW_PX * min(len(table.rows), MOST_ROWS),
            column_config={
                heading(column, currency): st.column_config.Column(
                    alignment="left" if column.holds == "text" else "right"
                )
                for column in table.columns
            },
        )
    if table.note:
        st.caption(as_markdown(table.note))


def _draw_text(columns: Mapping[str, list[str]], *, alt: str) -> None:
    """Cells with all of their text, which Streamlit reads as Markdown there."""
    shown = {as_markdown(head): [as_markdown(cell) for cell in cells] for head, cells in columns.items()}
    st.table(shown, border="horizontal", hide_index=True, alt=alt)


def _draw_figure(chart: Chart, *, key: str, dark: bool) -> None:
    st.markdown(f"**{as_markdown(chart.title)}**")
    draw_chart(build_report_chart(chart, dark=dark), key=key, alt=report_chart_alt_text(chart))
    draw_table(partial(report_chart_table, chart), key=key, what=as_markdown(chart.title))
    if chart.note:
        st.caption(as_markdown(chart.note))
