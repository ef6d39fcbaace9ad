"""Result files: read once when they are dropped, kept for the session, shown with what could not be read.

Beside it stands what can be dropped: the file of each tool, and the columns of the own CSV with a template.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache

import pandas as pd
import streamlit as st

from collectors.benchmarks import (
    BenchmarkFileError,
    BenchmarkRun,
    Imported,
    RowError,
    curves,
    files_of_tools,
    read_benchmarks,
)
from collectors.benchmarks.csv_columns import TEMPLATE, chapters
from sizing.base.format import counted, stated
from ui.benchmarks import measured
from ui.format import as_markdown, bullets, listed
from ui.shell import draw_download, is_narrow

MAX_MB = 64
"""Largest result file: per-request exports of a long run have tens of MB."""
MAX_PASTED = 200_000
"""Characters of pasted text: some hundred runs of thirty lines."""
_FILES, _PASTED, _KEPT, _CURVE = "benchmark_files", "benchmark_pasted", "benchmark_import", "benchmark_curve"
PASTED_NAME = "pasted text"

Curve = tuple[BenchmarkRun, ...]


def draw_upload() -> Curve | None:
    """The drop area, what the files hold, and the curve that is looked at; None without a readable run."""
    st.file_uploader(
        f"Result files of a benchmark, also packed (zip, gz) (up to {MAX_MB} MB each)",
        key=_FILES,
        on_change=_read,
        accept_multiple_files=True,
        help="Read on this server, sent nowhere.",
    )
    with st.expander("Or paste what the benchmark printed", icon=":material/content_paste:"):
        st.text_area(
            "Console of a benchmark (vLLM, SGLang, AIPerf, trtllm-bench, llama-bench), also several runs in a row",
            key=_PASTED,
            on_change=_read,
            max_chars=MAX_PASTED,
            placeholder="============ Serving Benchmark Result ============",
            help="The block that begins with “Serving Benchmark Result”, with the options above it if you have them.",
        )
    imported: Imported | None = st.session_state.get(_KEPT)
    if imported is None:
        draw_formats()
        return None
    _say_what_was_read(imported)
    if not imported.points:
        draw_formats()
    return _choice(imported)


def _read() -> None:
    """Read what was dropped or pasted; when all of it is taken away, forget it."""
    files = [(file.name, file.getvalue()) for file in st.session_state[_FILES]]
    if pasted := st.session_state[_PASTED].strip():
        files.append((PASTED_NAME, pasted.encode()))
    st.session_state.pop(_CURVE, None)
    if not files:
        st.session_state.pop(_KEPT, None)
        return
    try:
        imported = read_benchmarks(files)
    except BenchmarkFileError as error:  # nothing to read at all; faults of single files are in the result
        imported = Imported(format="none", notes=(str(error),))
    st.session_state[_KEPT] = imported
    groups = curves(imported.points)
    if groups:
        measured.prefill(groups[0])


def _say_what_was_read(imported: Imported) -> None:
    groups = curves(imported.points)
    if imported.points:
        runs, number = counted(len(imported.points), "run"), counted(len(groups), "curve")
        st.markdown(f":material/check_circle: Read {runs} in {number} ({as_markdown(imported.format)}).")
    else:
        first = _placed(imported.errors[0]) if imported.errors else "There is no run in these files."
        st.error(
            as_markdown(
                first
                if len(imported.errors) == 1
                else "None of these files holds a run that can be used; the reasons are listed below."
            ),
            icon=":material/error:",
        )
    if imported.errors and (imported.points or len(imported.errors) > 1):
        with st.expander(
            f"{counted(len(imported.errors), 'row or file', 'rows or files')} left out",
            expanded=True,
            icon=":material/warning:",
        ):
            rows = [(e.file, e.row, e.message) for e in imported.errors]
            st.dataframe(
                pd.DataFrame(rows, columns=["File", "Row", "Why"]),
                hide_index=True,
                key="benchmark_errors",
                placeholder="",
                alt="Rows and files that were left out, with the reason",
                column_config={
                    "Row": st.column_config.NumberColumn(width="small"),
                    "Why": st.column_config.TextColumn(width="large"),
                },
            )
    if imported.notes:
        with st.expander("What to know about these files"):
            st.markdown(bullets(imported.notes))


def _placed(error: RowError) -> str:
    """The message with file and row, as far as it does not name the file itself."""
    return error.message if error.row is None else f"{error.file}, row {error.row}: {error.message}."


def _choice(imported: Imported) -> Curve | None:
    groups = curves(imported.points)
    if not groups:
        return None
    number = 0
    if len(groups) > 1:
        number = st.selectbox(
            "Curve",
            range(len(groups)),
            key=_CURVE,
            format_func=lambda i: _name(groups[i]),
            persist_state="session",
            on_change=lambda: measured.prefill(groups[st.session_state[_CURVE] or 0]),
            help="Runs that differ only in load make up one curve; one curve calibrates one deployment.",
        )
    curve = groups[min(number, len(groups) - 1)]
    _preview(curve)
    return curve


def _name(curve: Curve) -> str:
    """What tells one curve of an import from another."""
    first = curve[0]
    lengths = " / ".join("?" if v is None else f"{v:,.0f}" for v in (first.isl_mean, first.osl_mean))
    parallelism = f", TP{first.tp}" if first.tp else ""
    modes = {"fixed_concurrency": "fixed number in flight", "fixed_rate": "fixed rate", "offline": "offline"}
    mode = modes.get(first.mode or "")
    where = ", ".join(filter(None, [first.model or first.tool, first.gpu, mode]))
    return f"{where}{parallelism}: {counted(len(curve), 'run')} of {lengths} tokens in / out"


def _preview(curve: Curve) -> None:
    """The runs as they were understood; what all of them have alike, and what is noted of some, in words."""
    table = preview_table(curve)
    alike = {name: table[name].iloc[0] for name in table if len(table) > 1 and table[name].nunique(dropna=False) == 1}
    every = [str(name) for name in table if name not in alike and name != "Notes"]
    shown = _within_a_window(every)
    st.dataframe(
        table[shown],
        hide_index=True,
        key="benchmark_preview",
        placeholder="",
        alt="The runs as they were read",
        column_config={
            "File": st.column_config.TextColumn(width=_WIDTHS_PX["File"], pinned=not is_narrow()),
            **{
                name: st.column_config.NumberColumn(format="localized", width=px, help=_HELP.get(name))
                for name, px in _WIDTHS_PX.items()
                if name != "File"
            },
        },
    )
    if same := ", ".join(f"{name} {stated(value)}" for name, value in alike.items() if name in _NUMBERS):
        st.caption(as_markdown(f"The same in all {len(table)} runs: {same}."))
    if left := [name.removesuffix(" (ms)") for name in every if name not in shown]:
        st.caption(f"Read, too, and in the CSV below: {listed(left)}.")
    if notes := noted(curve):
        st.caption(bullets(notes))


def _within_a_window(columns: list[str]) -> list[str]:
    """The columns that need no movement sideways to be read."""
    shown = list(columns)
    for name in _GIVES_WAY:
        if name in shown and sum(_WIDTHS_PX[n] for n in shown) > _ROOM_PX:
            shown.remove(name)
    return shown


def noted(curve: Curve) -> list[str]:
    """What is noted of the runs, each remark once, with the runs that it is of unless these are all."""
    runs_of = Counter(p.file for p in curve)
    of: dict[str, list[str]] = {}
    for p in curve:
        run = p.file if runs_of[p.file] == 1 else f"{p.file} row {p.row}"
        for note in p.notes:
            of.setdefault(note, []).append(run)
    return [note if len(runs) == len(curve) else f"{listed(runs)}: {note}" for note, runs in of.items()]


_WIDTHS_PX: Mapping[str, int] = {
    "File": 130,
    "Row": 46,
    "Concurrency": 84,
    "Asked (1/s)": 78,
    "Tokens in": 64,
    "Tokens out": 70,
    "Mean TTFT (ms)": 100,
    "p50 TTFT (ms)": 94,
    "p99 TTFT (ms)": 94,
    "Mean ITL (ms)": 90,
    "p99 ITL (ms)": 84,
    "Mean E2E (ms)": 94,
    "Served (1/s)": 84,
    "Output tokens/s": 102,
}
_NUMBERS = tuple(name for name in _WIDTHS_PX if name not in ("File", "Row"))
_ROOM_PX, _GIVES_WAY = 1066, ("Mean E2E (ms)", "p50 TTFT (ms)")
"""Widths of the columns, what a window of 1440 pixels has for them, and which are left out first where that is less."""
_HELP = {"Asked (1/s)": "Requests/s that were asked for.", "Served (1/s)": "Requests/s that were answered."}


def preview_table(curve: Curve) -> pd.DataFrame:
    """One run a row; columns in which no run says anything are left out. ITL is TPOT where the tool measured it."""
    rows = []
    for p in curve:
        step = p.tpot_ms if p.tpot_ms.stated else p.itl_ms
        values = (
            p.concurrency,
            p.request_rate_rps,
            p.isl_mean,
            p.osl_mean,
            p.ttft_ms.mean,
            p.ttft_ms.at(50.0),
            p.ttft_ms.at(99.0),
            step.mean,
            step.at(99.0),
            p.e2e_ms.mean,
            p.requests_per_s,
            p.output_tokens_per_s,
        )
        short = [None if v is None else float(f"{v:.4g}") for v in values]
        rows.append([p.file, p.row, *short, "; ".join(p.notes)])
    table = pd.DataFrame(rows, columns=["File", "Row", *_NUMBERS, "Notes"])
    return table.replace("", None).dropna(axis=1, how="all")


def draw_formats() -> None:
    """Which file to drop of which tool; the own CSV explained, with its template."""
    files = files_of_tools()
    st.markdown(
        "What was measured is held against the prediction, and the scenario can be sized with it. Files of "
        f"{len(files)} tools are read as they are, those of any other as a CSV with one run a row. Drop all files of a "
        "sweep at once."
    )
    with st.expander("Which file of which tool", icon=":material/description:"):
        st.markdown("\n".join(f"- **{tool}**: {file}" for tool, file in files.items()))
    # Of a fixed height, so that its tables scroll inside it on a phone.
    with (
        st.expander("Columns of the CSV for any other tool", icon=":material/table:"),
        st.container(height=420, border=False),
    ):
        st.markdown(explained())
    draw_download(
        "Template of that CSV",
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
