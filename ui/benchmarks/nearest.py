"""The measurements nearest to a planned deployment as a table, for the reasons on Size."""

import pandas as pd
import streamlit as st

from sharing.form.choices import label
from sizing.base.format import count, rounded
from sizing.evidence.published import Measurement, Near
from sizing.evidence.sources import SOURCES, source_day, source_url
from sizing.methodology.accuracy import MODES
from ui.format import known
from ui.shell import is_narrow

_FIVE_LINES_PX = 96
_TEXTS_PX = {"Measured": 150, "Load": 92, "Source": 100}
_NUMBERS_PX = {"Mean ITL (ms)": 90, "Mean TTFT (ms)": 96, "Tokens/s per GPU": 112, "Distance": 60}
"""Height of a row and widths of columns. Chosen: all stand beside the form at 1440 pixels, and texts wrap."""


def draw_nearest(measurements: tuple[Near, ...]) -> None:
    """Measured rows with what sets them apart, their values and their source; nearest first. Texts take the room of
    columns in which no measurement says anything."""
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    table = nearest_table(measurements).dropna(axis="columns", how="all")
    spare = sum(px for name, px in _NUMBERS_PX.items() if name not in table) // len(_TEXTS_PX)
    pinned = None if is_narrow() else "Measured"
    st.dataframe(
        table,
        hide_index=True,
        key="nearest",
        placeholder="",
        row_height=_FIVE_LINES_PX,
        alt="Measurements nearest to this deployment",
        column_config={
            **{name: text(width=px + spare, pinned=name == pinned) for name, px in _TEXTS_PX.items()},
            **{name: number(format="localized", width=px) for name, px in _NUMBERS_PX.items()},
            "Link": st.column_config.LinkColumn(display_text="open", width=46, help="Opens the source."),
        },
    )


def nearest_table(measurements: tuple[Near, ...]) -> pd.DataFrame:
    """One measurement a row: what ran, its load, its values (ITL and TTFT in ms, output tokens/s of a GPU)."""
    return pd.DataFrame([_row(near.measurement, near.distance) for near in measurements])


def _row(measured: Measurement, distance: float) -> dict[str, object]:
    row, day = measured.configuration, source_day(measured.source_date)
    source = SOURCES[measured.source].label if measured.source in SOURCES else measured.source
    rate = measured.output_tokens_per_s
    flight = f", {count(measured.concurrency)} in flight" if measured.concurrency else ""
    return {
        "Measured": f"{measured.model.id.rpartition('/')[2]} on {count(measured.gpus)} x {row.gpu.name}, "
        f"{row.engine.label}, {label('prec', row.precision.id)}",
        "Load": f"{count(measured.input_tokens)} in / {count(measured.output_tokens)} out{flight}, "
        f"{MODES[measured.mode].lower()}",
        "Mean ITL (ms)": known(measured.itl_ms),
        "Mean TTFT (ms)": known(measured.ttft_ms),
        "Tokens/s per GPU": known(None if rate is None else rate / measured.gpus),
        "Distance": rounded(distance, 2),
        "Source": source if day in source else f"{source}, {day}",
        "Link": source_url(measured.source_link),
    }
