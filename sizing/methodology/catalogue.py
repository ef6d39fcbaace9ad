"""Chapters on the facts: files with source and date, accuracy lost to quantisation, and the catalogue itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from sizing import catalog
from sizing.base.units import BILLION, GB
from sizing.catalog.files import DATA_DIR, Row, read_rows
from sizing.methodology.content import Cell, Section, Table

LOADERS: dict[str, Callable[[], Any]] = {
    "gpus.csv": catalog.gpus,
    "systems.csv": catalog.systems,
    "cloud_instances.csv": catalog.cloud_instances,
    "models.csv": catalog.models,
    "quantization.csv": catalog.quantization,
    "api_prices.csv": catalog.api_prices,
    "gpu_street_prices.csv": catalog.street_prices,
    "tco.csv": catalog.tco,
    "use_cases.csv": catalog.use_cases,
}
"""Who reads each file of facts; the first words of its docstring say what the file holds."""

_TITLES = {
    "cloud_instances.csv": "Cloud instances",
    "api_prices.csv": "API prices",
    "tco.csv": "Cost of ownership",
    "gpu_street_prices.csv": "Prices of single GPUs",
    "use_cases.csv": "Use cases",
}

_DATES = ("source_date", "date", "price_date")
_SOURCES = ("source", "source_primary", "config_source")
_ISO = re.compile(r"\b20\d\d(?:-[01]\d(?:-[0-3]\d)?)?\b")


def sources() -> Section:
    """Every file of facts with rows and dates, and every source with the rows it gave."""
    files = [path.name for path in sorted(DATA_DIR.glob("*.csv"))]
    rows = {name: read_rows(name) for name in files}
    overview = tuple((name, _content(name), len(rows[name]), _dates(rows[name])) for name in files)
    named = tuple((name, *row) for name in files for row in _named(rows[name]))
    return Section(
        slug="sources",
        title="Sources",
        intro=f"Data version {catalog.data_version()}. Facts are rows with a source and a date of their own; a cell "
        "that no source fills stays empty, and what needs it is not computed.",
        tables=(
            Table(title="Files", columns=("File", "Content", "Rows", "Dates of the rows"), rows=overview),
            Table(title="Sources by file", columns=("File", "Source", "Rows"), rows=named, in_document=False),
        ),
    )


def quantization_losses() -> Section:
    """What quantisation costs in accuracy, as published, with its source."""
    facts = [fact for fact in catalog.quantization() if fact.record_type == "accuracy"]
    rows = tuple((f.method, f.model, f.metric, f.baseline, f.quantized, f.loss, f.source, f.date) for f in facts)
    return Section(
        slug="quantisation",
        title="Quantisation",
        intro="Accuracy lost to number formats, as published. Figures hold for the model and benchmark named; measure "
        "your own task before you decide on a format.",
        tables=(
            Table(
                title="Published losses",
                rows=rows,
                columns=("Format", "Model", "Benchmark", "Before", "After", "Loss", "Source", "Date"),
            ),
        ),
    )


def facts() -> Section:
    """The catalogue itself, for the page: accelerators, systems, models and prices."""
    return Section(
        slug="catalogue",
        title="Catalogue",
        intro="TFLOPS are dense. Links are in one direction. An empty cell is unknown.",
        tables=(_gpus(), _systems(), _models(), *map(_plain, _TITLES)),
        in_document=False,
    )


def _gpus() -> Table:
    columns = (
        "GPU",
        "Id",
        "Family",
        "Memory (GB)",
        "Bandwidth (GB/s)",
        "FP16/BF16 (TFLOPS)",
        "FP8 (TFLOPS)",
        "INT8 (TOPS)",
        "FP4 (TFLOPS)",
        "Link (GB/s)",
        "GPUs in domain",
        "TDP (W)",
        "Source",
        "Date",
    )
    rows = tuple(
        (
            g.name,
            g.id,
            g.family,
            round(g.memory_bytes / GB, 1),
            g.memory_bandwidth / GB,
            _tera(g.bf16_flops or g.fp16_flops),
            _tera(g.fp8_flops),
            _tera(g.int8_ops),
            _tera(g.fp4_flops),
            None if g.link_bytes_per_s is None else g.link_bytes_per_s / GB,
            g.domain_gpus,
            g.tdp_w,
            g.source,
            g.source_date,
        )
        for g in catalog.gpus().values()
    )
    return Table(title="Accelerators", columns=columns, rows=rows)


def _systems() -> Table:
    columns = (
        "System",
        "Id",
        "GPU",
        "GPUs",
        "GPUs in domain",
        "Power (kW)",
        "Rack units",
        "Price, low (USD)",
        "Price, high (USD)",
        "Price source",
        "Price date",
        "Source",
    )
    rows = tuple(
        (
            s.name,
            s.id,
            s.gpu_id,
            s.gpus,
            s.domain_gpus,
            s.max_power_kw,
            s.rack_units,
            s.price_low_usd,
            s.price_high_usd,
            s.price_source,
            s.price_date,
            s.source,
        )
        for s in catalog.systems().values()
    )
    return Table(title="Systems", columns=columns, rows=rows)


def _models() -> Table:
    columns = (
        "Model",
        "Family",
        "Parameters (billions)",
        "Active (billions)",
        "Layers",
        "Attention",
        "KV heads",
        "Experts",
        "Experts per token",
        "Sliding window (tokens)",
        "Context (tokens)",
        "Native format",
        "Source",
    )
    rows = tuple(
        (
            m.id,
            m.family,
            round(m.params_total / BILLION, 3),
            round(m.params_active / BILLION, 3),
            m.layers,
            m.attention.upper(),
            m.kv_heads,
            m.experts or None,
            m.experts_per_token or None,
            m.sliding_window,
            m.max_context,
            m.native_precision,
            m.source,
        )
        for m in catalog.models().values()
    )
    return Table(title="Models", columns=columns, rows=rows)


def _plain(filename: str) -> Table:
    """A file as it is, without its empty columns."""
    rows = read_rows(filename)
    kept = [name for name in rows[0] if any(row[name] for row in rows)]
    columns = [_column([row[name] for row in rows]) for name in kept]
    return Table(title=_TITLES[filename], columns=tuple(kept), rows=tuple(zip(*columns, strict=True)))


def _column(texts: list[str]) -> list[Cell]:
    """Numbers where every cell that is filled is one, else text; an empty cell is unknown."""
    try:
        return [float(text) if text else None for text in texts]
    except ValueError:
        return [text or None for text in texts]


def _tera(rate: float | None) -> float | None:
    return None if rate is None else round(rate / 1e12, 3)


def _content(filename: str) -> str:
    doc = LOADERS[filename].__doc__ if filename in LOADERS else None
    return (doc or "").split("\n")[0].split(", in file order")[0].split(" by id")[0].rstrip(".") + "."


def _dates(rows: Iterable[Row]) -> str:
    """First and last date named in the rows, and how many name none."""
    texts = [" ".join(row.get(name) or "" for name in _DATES) for row in rows]
    dates = sorted(date for text in texts for date in _ISO.findall(text))
    undated = sum(1 for text in texts if not _ISO.search(text))
    span = "no dates" if not dates else dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return span + (f", {undated} undated" if undated and dates else "")


def _named(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Distinct sources of a file with their number of rows, most first."""
    named: Counter[str] = Counter()
    for row in rows:
        named.update({row[name] for name in _SOURCES if row.get(name)})
    return named.most_common()
