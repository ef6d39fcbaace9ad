"""The chapter on accuracy: the figures of ``docs/ACCURACY.md``, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.files import DATA_DIR
from sizing.evidence.sources import SOURCES
from sizing.methodology.content import Cell, Section, Table

Record = Mapping[str, Any]

TITLES = {
    "targets": "Asked and reached",
    "errors": "Errors by protocol",
    "slices": "Errors and coverage by slice",
    "coverage": "Intervals",
    "reliability": "Reliability",
    "learning_curve": "Learning curve",
    "worst": "Worst rows",
}
"""Tables of ``accuracy.json`` in their order, with the titles of ``docs/ACCURACY.md``."""

IN_DOCUMENT = ("targets", "reliability", "learning_curve")
"""Tables that are short enough for the methodology; all of them are in ``docs/ACCURACY.md``."""

SCHEMES = {
    "fit": "Nothing (seen in the fit)",
    "model": "Its model",
    "gpu": "Its GPU",
    "configuration": "Its configuration",
    "source": "Its source",
}
MODES = {
    "fixed_concurrency": "Closed loop",
    "fixed_rate": "Open loop",
    "offline_max_throughput": "Offline",
    "static_batch": "Static batch",
}
METRICS = {
    "itl": "ITL",
    "itl_p99": "p99 ITL",
    "ttft": "TTFT",
    "ttft_p99": "p99 TTFT",
    "e2e": "E2E",
    "throughput": "Output tokens/s",
}
_WORDS: dict[str, Mapping[str, str]] = {"scheme": SCHEMES, "mode": MODES, "metric": METRICS}
_COLUMNS = {
    "scheme": "Left out of the fit",
    "mode": "Protocol",
    "metric": "Quantity",
    "quality": "Quality of the rows",
    "by": "Slice by",
    "gpu": "GPU",
    "asked_pct": "Asked (%)",
    "median_pct": "Median error (%)",
    "p90_pct": "90th percentile error (%)",
    "bias_pct": "Median bias (%)",
    "roofline_alone_pct": "Median error, roofline alone (%)",
    "inside_80_pct": "Inside the 80 % interval (%)",
    "inside_80_give_or_take_pct": "Give or take (standard error, %)",
    "width_80_pct": "Median width of the 80 % interval (%)",
    "inside_95_pct": "Inside the 95 % interval (%)",
    "nominal_pct": "Promised (%)",
    "ttft_pct": "TTFT inside (%)",
    "itl_pct": "ITL inside (%)",
    "e2e_pct": "E2E inside (%)",
    "throughput_pct": "Output tokens/s inside (%)",
    "models": "Models in the fit",
}
_FIRST = ("quantity", "verdict")
"""What a table begins with, where it has it: a long reason would be out of sight at the end."""
_TARGET_COLUMNS = {
    "model": "Model left out (%)",
    "gpu": "GPU left out (%)",
    "configuration": "Configuration left out (%)",
    "source": "Source left out (%)",
}
INTRO = (
    "How far predictions are off what was measured: {rows} published measurements, {date}. A claim counts for what the "
    "fit had not seen: every row of a model, a GPU, a configuration (model, GPU, engine and format) or a source is "
    "left out, and predicted from all others. Error: |predicted / measured - 1|; bias: predicted / measured - 1. Two "
    "runs of one benchmark differ by 8 % (median) in ITL. Closed loop: a fixed number of requests in flight; open "
    "loop: requests arrive at a rate; offline: all are queued at once; static batch: one batch to its end. Where two "
    "numbers stand, they are the median and the 90th percentile of the error."
)


def accuracy() -> Section | None:
    """Measured accuracy by stratum, from ``sizing/data/accuracy.json``; None until there is such a file."""
    figures = accuracy_figures()
    if not figures:
        return None
    tables = tuple(_table(key, figures[key]) for key in TITLES if figures.get(key))
    intro = INTRO.format(rows=f"{figures['rows']:,}", date=figures["date"])
    return Section(slug="accuracy", title="Accuracy", intro=intro, tables=tables)


def accuracy_figures() -> Mapping[str, Any]:
    """The content of ``accuracy.json``; empty until there is such a file."""
    path = DATA_DIR / "accuracy.json"
    figures: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return figures


def _table(name: str, records: Sequence[Record]) -> Table:
    keys = list(dict.fromkeys([*_FIRST, *(key for record in records for key in record)]))
    keys = [key for key in keys if key in records[0]]
    titles = _COLUMNS | (_TARGET_COLUMNS if name == "targets" else {})
    return Table(
        title=TITLES[name],
        columns=tuple(titles.get(key) or key.replace("_", " ").capitalize() for key in keys),
        rows=tuple(tuple(_cell(key, record) for key in keys) for record in _sorted(records)),
        in_document=name in IN_DOCUMENT,
    )


def _sorted(records: Sequence[Record]) -> list[Record]:
    """By protocol, quantity, quality and what was left out, as far as the records say; else as they are."""
    orders = [list(words) for words in (MODES, METRICS, ("good", "all"), SCHEMES)]
    keys = ("mode", "metric", "quality", "scheme")
    if "scheme" not in records[0]:
        return list(records)

    def place(record: Record) -> list[int]:
        return [order.index(record[key]) if key in record else 0 for key, order in zip(keys, orders, strict=True)]

    return sorted(records, key=place)


def _cell(key: str, record: Record) -> Cell:
    """One value in words; ids of the catalogue and of sources become their names."""
    value: Cell = record.get(key)
    kind = record.get("by") if key == "value" else key
    if not isinstance(value, str):
        return value
    if kind == "gpu" and value in gpus():
        return gpus()[value].name
    if kind == "engine":
        return "not stated" if value == "default" else engines()[value].label if value in engines() else value
    if kind == "source" and value in SOURCES:
        return f"{SOURCES[value].label}: {value}"
    if key == "by":
        return {"gpu": "GPU", "kind": "Kind of model"}.get(value, value.capitalize())
    return _WORDS.get(key, {}).get(value, value)
