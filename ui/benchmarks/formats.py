"""What can be dropped: the file of each tool, and the columns of the own CSV with a template to fill in."""

from __future__ import annotations

from functools import cache

import streamlit as st

from collectors.benchmarks import files_of_tools
from collectors.benchmarks.csv_columns import TEMPLATE, chapters
from ui.shell import draw_download


def draw_formats() -> None:
    """Which file to drop of which tool; the own CSV explained, with its template."""
    files = files_of_tools()
    st.markdown(
        f"Read without conversion: {', '.join(files)}. Results of any other tool: as a CSV with one run a row. "
        "Several files of one sweep belong together: drop them at once."
    )
    with st.expander("Which file of which tool", icon=":material/description:"):
        st.markdown("\n".join(f"- **{tool}**: {file}" for tool, file in files.items()))
    # Of a fixed height, so that its tables scroll inside it on a phone.
    with st.expander("Columns of the own CSV", icon=":material/table:"), st.container(height=420, border=False):
        st.markdown(explained())
    draw_download(
        "Template of the own CSV",
        TEMPLATE,
        "benchmark_template.csv",
        "text/csv",
        key="benchmark_template",
        icon="download",
        help="The most useful columns with two example rows to overwrite.",
    )


@cache
def explained() -> str:
    """The description of the own CSV, its headings small."""
    parts = (f"##### {chapter.title}\n\n{chapter.text}" if chapter.title else chapter.text for chapter in chapters())
    return "\n\n".join(parts)
