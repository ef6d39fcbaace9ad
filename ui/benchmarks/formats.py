"""What can be dropped: the file of each tool, and the columns of the own CSV with a template to fill in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import streamlit as st

FILES = {
    "vLLM bench serve": "the JSON of `--save-result`",
    "SGLang bench_serving": "the JSON Lines of `--output-file`",
    "GuideLLM": "`benchmarks.json`, `.yaml` or `.csv`",
    "AIPerf": "`profile_export_aiperf.json`, or `.csv` and `profile_export.jsonl` beside it",
    "GenAI-Perf": "`profile_export_genai_perf.json` or `.csv`",
    "inference-perf": "`stage_N_lifecycle_metrics.json`, all stages at once",
    "LLMPerf": "`..._summary.json`, with `..._individual_responses.json` if you like",
    "trtllm-bench": "the JSON of `--report_json`",
    "InferenceX": "the JSON of its rows (`agg_bmk.json`)",
}
"""Tool and the file to drop."""

_DOCUMENT = Path(__file__).parents[2] / "docs" / "BENCHMARK_CSV.md"


def draw_formats() -> None:
    """Which file to drop of which tool; the own CSV explained, with its template."""
    st.markdown(
        f"Read without conversion: {', '.join(FILES)}. Results of any other tool: as a CSV with one run a row. "
        "Several files of one sweep belong together: drop them at once."
    )
    with st.expander("Which file of which tool", icon=":material/description:"):
        st.markdown("\n".join(f"- **{tool}**: {file}" for tool, file in FILES.items()))
    # Of a fixed height, so that its tables scroll inside it on a phone.
    with st.expander("Columns of the own CSV", icon=":material/table:"), st.container(height=420, border=False):
        st.markdown(explained())
    st.download_button(
        "Template of the own CSV",
        template(),
        "benchmark_template.csv",
        "text/csv",
        key="benchmark_template",
        on_click="ignore",
        icon=":material/download:",
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
    found = re.search(r"```csv\n(.*?)```", _DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]
