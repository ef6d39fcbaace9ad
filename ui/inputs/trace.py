"""A trace that fills in the workload: its upload, what was found in it, and the way to be rid of it."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from sharing.form.trace import TraceInUse
from sizing.base.errors import InvalidTrace
from sizing.base.format import count
from ui import state
from ui.format import as_markdown, listed
from ui.shell import draw_problems

MAX_TRACE_MB = 64
"""Largest upload; compressed CSV and Parquet hold several million requests in it."""

LONGEST_NAME = 60
"""Characters of a file's name: four bytes each at most, of the 255 that file systems take."""

_FILE, _PROBLEMS = "trace_file", "trace_problems"


def draw_upload() -> None:
    """Where to give a trace, and what is wrong with the one that was given, as long as it lies there."""
    given = st.file_uploader(
        f"Fill in from a trace of requests (CSV, JSON or Parquet, up to {MAX_TRACE_MB} MB)",
        type=["csv", "tsv", "jsonl", "json", "gz", "parquet"],
        key=_FILE,
        max_upload_size=MAX_TRACE_MB,
        on_change=_read,
        help="One row per request: timestamp (seconds or date), input_tokens, output_tokens and, optionally, "
        "cached_tokens. Azure, Mooncake, Bailian, BurstGPT and Splitwise are read as they are, as are logs of LiteLLM, "
        "Langfuse, Helicone, Bedrock and OpenTelemetry and outputs of batches. The file stays in this session.",
    )
    if given is not None:
        draw_problems(st.session_state.get(_PROBLEMS, ()))


def draw_trace() -> None:
    """The trace in use."""
    trace = state.trace()
    if trace is None:
        return
    with st.container(border=True, gap="xsmall", key="trace_block"):
        st.markdown(f":material/timeline: **Trace in use**: {as_markdown(trace.name)}")
        st.caption(" ".join(as_markdown(line) for line in trace.sentences[1:] or trace.sentences))
        st.caption(as_markdown(_what_counts(trace)))
        st.button(
            "Remove the trace",
            key="trace_remove",
            on_click=state.remove_trace,
            icon=":material/close:",
            help="Keeps lengths and rate as they stand in the form; arrivals are random again.",
        )


def _read() -> None:
    """Read the upload (for callbacks); what is wrong with it is said, row by row, below the field."""
    from sizing.scenario.trace import read_trace

    upload = st.session_state[_FILE]
    st.session_state.pop(_PROBLEMS, None)
    if upload is None:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / plain_name(upload.name)
        path.write_bytes(upload.getbuffer())
        try:
            state.use_trace(read_trace(path))
        except InvalidTrace as error:
            st.session_state[_PROBLEMS] = error.problems


def plain_name(name: str) -> str:
    """The end of a file's name as every file system takes it: who sends a file may call it anything."""
    return re.sub(r"[^\w.() -]", "_", Path(name).name)[-LONGEST_NAME:].lstrip(".") or "trace"


def _what_counts(trace: TraceInUse) -> str:
    """Which parts of the scenario are those of the trace, and which were edited since."""
    values = state.values()
    names = {"input_tokens": "prompts", "output_tokens": "outputs", "arrivals": "arrivals"}
    kept = [name for key, name in names.items() if trace.stands(key, values)]
    edited = [name for key, name in names.items() if not trace.stands(key, values)]
    sentences = f"The plan takes {listed(kept)} from every request of it." if kept else ""
    sentences += f" Edited since: {listed(edited)}." if edited else ""
    sentences += f" Sized for the busiest time, {count(trace.summary.window_s)} s long; the peak can be changed below."
    if len(trace.requests) < trace.summary.requests:
        sentences += f" A replay takes the first {count(len(trace.requests))} requests."
    return sentences.strip()
