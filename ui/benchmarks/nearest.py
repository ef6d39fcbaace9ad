"""The measurements nearest to a planned deployment as a table, for Benchmarks and for the reasons on Size."""

import pandas as pd

from sharing.form.choices import label
from sizing.base.format import rounded
from sizing.evidence.published import Measurement, Near
from sizing.evidence.sources import SOURCES, source_day, source_url
from sizing.methodology.accuracy import MODES
from ui.format import known

NEAREST_NUMBERS = (
    "Concurrency",
    "Input tokens",
    "Output tokens",
    "Mean ITL (ms)",
    "Mean TTFT (ms)",
    "Output tokens/s per GPU",
)
"""Columns of :func:`nearest_table` that hold numbers to be printed with separators."""


def nearest_table(measurements: tuple[Near, ...]) -> pd.DataFrame:
    """Measured rows with what sets them apart, their values and their source; nearest first."""
    return pd.DataFrame([_row(near.measurement, near.distance) for near in measurements])


def _row(measured: Measurement, distance: float) -> dict[str, object]:
    row, source = measured.configuration, SOURCES.get(measured.source)
    rate = measured.output_tokens_per_s
    return {
        "Model": measured.model.id.rpartition("/")[2],
        "GPU": f"{measured.gpus} x {row.gpu.name}",
        "Mean ITL (ms)": known(measured.itl_ms),
        "Output tokens/s per GPU": known(None if rate is None else rate / measured.gpus),
        "Source": source.label if source else measured.source,
        "Link": source_url(measured.source_link),
        "Precision": label("prec", row.precision.id),
        "Concurrency": measured.concurrency,
        "Mode": MODES[measured.mode],
        "Engine": row.engine.label,
        "Input tokens": known(measured.input_tokens),
        "Output tokens": known(measured.output_tokens),
        "Mean TTFT (ms)": known(measured.ttft_ms),
        "Distance": rounded(distance, 2),
        "Date": source_day(measured.source_date),
    }
