"""The evidence library: search, table, chart and sources of the published measurements."""

from functools import cache

import pandas as pd
import streamlit as st

from sharing.form.choices import label
from sizing.base.format import count, counted, rounded, stated
from sizing.catalog import resolve_gpu
from sizing.evidence.published import evidence_frame
from sizing.evidence.sources import SOURCES, source_day, source_url
from sizing.explore.nearest import nearest_rows
from sizing.methodology.accuracy import MODES
from sizing.scenario.schema import Scenario
from ui import state
from ui.figures.evidence import build_evidence, drawn, evidence_alt_text
from ui.format import as_markdown
from ui.shell import draw_chart, draw_choice, draw_download, is_narrow

_ALL, _NEAR = "All", "Nearest to this scenario"
_SHOWN = 500
"""Rows sent to a browser; the CSV has them all."""
_DIGITS = 4
"""Significant digits of a number in the table; the CSV has all of them."""
_NEAREST = 100
"""Measurements that count as near to the scenario."""
_FILTERS = {
    "model": ("Model", "Any"),
    "gpu": ("GPU", "Any"),
    "engine": ("Engine", "Any"),
    "weight_precision": ("Precision", "Any"),
    "mode": ("Mode", "Any"),
    "source": ("Source", "Any"),
}
COLUMNS = {
    "model": "Model",
    "gpu": "GPU",
    "gpus": "GPUs",
    "engine": "Engine",
    "weight_precision": "Precision",
    "mode": "Mode",
    "concurrency_or_batch": "In flight",
    "itl_ms_mean": "Mean ITL (ms)",
    "per_gpu": "Tokens/s per GPU",
    "isl": "Tokens in",
    "osl": "Tokens out",
    "ttft_ms_mean": "Mean TTFT (ms)",
    "e2e_ms_mean": "Mean E2E (ms)",
    "request_rate_rps": "Requests/s asked",
    "tp": "TP",
    "source": "Source",
    "licence": "Licence",
    "link": "Link",
    "place": "Place in the source",
    "date": "Date",
    "quality": "Quality",
    "notes": "Notes",
}

_WIDTHS_PX = {
    "Model": 148,
    "GPU": 126,
    "GPUs": 40,
    "Engine": 92,
    "Precision": 80,
    "In flight": 54,
    "Tokens in": 64,
    "Tokens out": 72,
    "Mean ITL (ms)": 90,
    "Mean TTFT (ms)": 98,
    "Tokens/s per GPU": 112,
    "Link": 44,
}
"""The columns that stand in a window of 1440 pixels, with their widths; a row that is selected says the others."""


@cache
def library() -> pd.DataFrame:
    """The library in the words of the page, newest software first; the index is the row of the source file."""
    frame = evidence_frame()
    sources = {name: source.label for name, source in SOURCES.items()}
    out = pd.DataFrame({name: frame[name] for name in COLUMNS if name in frame.columns})
    known = {name: resolve_gpu(name) for name in frame["gpu"].unique()}
    out["gpu_id"] = frame["gpu"].map({name: gpu.id for name, gpu in known.items()})
    out["gpu"] = frame["gpu"].map({name: gpu.name for name, gpu in known.items()})
    out["engine"] = frame["engine"].fillna("not stated").map(lambda e: label("engine", e))
    out["weight_precision"] = frame["weight_precision"].fillna("not stated").map(lambda p: label("prec", p))
    out["mode"] = frame["mode"].map(MODES)
    out["source"] = frame["source"].map(sources)
    out["licence"] = frame["source"].map({name: source.licence for name, source in SOURCES.items()})
    out["place"] = frame["source_url_or_repo_path"]
    out["date"] = frame["source_date_or_version"].map(source_day, na_action="ignore")
    out["link"] = out["place"].map({place: source_url(place) for place in out["place"].unique()})
    out["per_gpu"] = frame["output_tokens_per_s"] / frame["gpus"]
    newest = frame["software_year"].sort_values(ascending=False, kind="stable").index
    return out.loc[newest, [*COLUMNS, "gpu_id"]]


@cache
def _options(name: str) -> list[str]:
    return sorted(library()[name].dropna().unique(), key=str.lower)


def draw_library(*, dark: bool) -> None:
    """Filters, how many are left, chart, table and what to know."""
    everything = library()
    st.markdown(
        f"{count(len(everything))} published measurements, each with its source. The prediction is fitted to them and "
        "judged on them with their model, GPU, configuration or source left out (`docs/ACCURACY.md`)."
    )
    which = draw_choice(
        "Show",
        [_ALL, _NEAR],
        key="evidence_show",
        labelled=False,
        kept="session",
        help="Nearest: in model size and kind, GPU, precision, engine, lengths and load, to "
        "the deployment that Size plans now.",
    )
    rows = _nearest(everything) if which == _NEAR else everything
    rows = _filtered(rows)
    if rows.empty:
        st.info("No measurement matches: take back a filter.", icon=":material/filter_alt_off:")
        return
    st.caption(
        f"{counted(len(rows), 'measurement')} found; in the chart: the {count(len(drawn(rows)))} that state both ITL "
        "and output tokens/s."
    )
    figure = build_evidence(rows, dark=dark)
    # Another kind of axis is another chart: a browser that turns one into the other logs errors.
    kind = f"{figure.layout.xaxis.type}_{figure.layout.yaxis.type}"
    draw_chart(figure, key=f"evidence_chart_{kind}", alt=evidence_alt_text(rows))
    _table(rows)
    st.caption(
        ":material/info: TTFT with a fixed number of requests in flight (closed loop) comes from requests that start "
        "together: it is not the TTFT of a customer at a request rate. ITL is TPOT for most sources. "
        "Lengths are means as sent: 0.9 x the nominal ones where InferenceX draws them at random. "
        "Rows of quality “caution” count less in the fit. "
        "InferenceX data: attribution to InferenceX (SemiAnalysis). MLPerf is a trademark of MLCommons; figures are "
        "not verified by it. All attributions: NOTICE."
    )


def _filtered(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that every filter lets through; an empty filter lets everything through."""
    kept = pd.Series(True, index=frame.index)
    with st.grid(3, min_column_width=200, gap="small"):
        for name, (title, empty) in _FILTERS.items():
            chosen = st.multiselect(
                title,
                _options(name),
                key=f"evidence_{name}",
                placeholder=empty,
                persist_state="session",
                help=f"Only these. Empty: {empty.lower()}.",
            )
            if chosen:
                kept &= frame[name].isin(chosen)
    if st.toggle(
        "Only rows of good quality",
        key="evidence_good",
        persist_state="session",
        help="Leaves out rows to be taken with caution: old software, unclear protocol, derived values.",
    ):
        kept &= frame["quality"] == "good"
    return frame[kept]


def _nearest(everything: pd.DataFrame) -> pd.DataFrame:
    """The measurements nearest to the planned deployment, nearest first; all of them without a plan."""
    outcome = state.outcome()
    answer = outcome.answer if outcome.answer and outcome.answer.plan.deployment else outcome.last
    near = nearest_rows(answer, _NEAREST) if answer else ()
    if answer is None or not near:
        st.caption("Size has no deployment to compare with yet: all measurements are shown.")
        return everything
    st.caption(f"Nearest to {_planned(answer.scenario)}, nearest first.")
    return everything.loc[[one.measurement.row for one in near]]


def _planned(scenario: Scenario) -> str:
    return f"the deployment planned for “{as_markdown(scenario.name)}”"


def _rest(row: pd.Series) -> None:
    """What the table has no room for, of the row that was selected."""
    rest = {name: row[name] for name in COLUMNS.values() if name not in _WIDTHS_PX and pd.notna(row[name])}
    facts = (f"{name}: {stated(v) if isinstance(v, int | float) else v}" for name, v in rest.items() if v != "")
    st.markdown(as_markdown(f"{row['Model']} on {stated(row['GPUs'])} x {row['GPU']}: {'; '.join(facts)}"))


def _table(rows: pd.DataFrame) -> None:
    number = st.column_config.NumberColumn
    numeric = [title for name, title in COLUMNS.items() if pd.api.types.is_numeric_dtype(rows[name])]
    shown = rows.head(_SHOWN)[list(COLUMNS)].rename(columns=COLUMNS)
    shown[numeric] = shown[numeric].map(rounded, digits=_DIGITS, na_action="ignore")
    picked = st.dataframe(
        shown,
        hide_index=True,
        key="evidence_table",
        height=420,
        placeholder="",
        alt="Published measurements",
        column_order=list(_WIDTHS_PX),
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            name: number(format="localized", width=px)
            if name in numeric
            else st.column_config.LinkColumn(display_text="open", width=px, help="Opens the source in a new tab.")
            if name == "Link"
            else st.column_config.TextColumn(width=px, pinned=name == "Model" and not is_narrow())
            for name, px in _WIDTHS_PX.items()
        },
    )
    if chosen := picked.selection.rows:
        _rest(shown.iloc[chosen[0]])
    words = f"First {_SHOWN} of {count(len(rows))} shown. " if len(rows) > _SHOWN else ""
    words += "" if chosen else "Select a row for all that is known of it."
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_download(
            "Download these measurements (CSV)",
            lambda: rows[list(COLUMNS)].to_csv(index=False),
            "measurements.csv",
            "text/csv",
            key="evidence_csv",
            icon="table",
            help="All that match, with source and licence.",
        )
        st.caption(words)
