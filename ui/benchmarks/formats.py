"""What can be dropped: the file of each tool, and the columns of the own CSV with a template to fill in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import streamlit as st

from collectors.benchmarks import files_of_tools
from ui.shell import draw_download

_DOCUMENT = Path(__file__).parents[2] / "docs" / "BENCHMARK_CSV.md"


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
        template(),
        "benchmark_template.csv",
        "text/csv",
        key="benchmark_template",
        icon="download",
        help="The most useful columns with two example rows to overwrite.",
    )


@cache
def explained() -> str:
    """The description of the own CSV, its title left out and its headings small."""
    text = _DOCUMENT.read_text(encoding="utf-8").partition("\n")[2]
    return re.sub(r"^#+ ", "##### ", text, flags=re.MULTILINE)


@cache
def template() -> str:
    """The example of the description, which is tested to be read."""
    example = re.search(r"```csv\n(.*?)```", _DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    return example[1]
