"""The chapter on accuracy: the figures of ``docs/ACCURACY.md``, in words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.files import DATA_DIR, read_yaml
from sizing.evidence.sources import SOURCES
from sizing.methodology.content import Cell, FactTable, MethodologyChapter, Prose

Record = Mapping[str, Any]

WORDS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("accuracy.yaml"))
"""The words of this chapter, by the names that ``accuracy.json`` has."""

TITLES: Mapping[str, str] = WORDS["tables"]
"""Tables of ``accuracy.json`` in their order, with the titles of ``docs/ACCURACY.md``."""

MODES: Mapping[str, str] = WORDS["mode"]
"""Protocols of measurements in words."""

STEADY = "good, no bursts"
"""Rows of quality good but for offline runs of so few prompts that ramp and tail are part of the result."""
QUALITIES = ("good", STEADY, "all")
"""What errors are summed up over."""

IN_DOCUMENT = (
    *("basis", "extrapolated", "reliability_at_limits"),
    *("capacity", "targets", "reliability", "learning_curve"),
)
"""Tables that are short enough for the methodology; all of them are in ``docs/ACCURACY.md``."""

CALLED_PCT = 90
"""Confidence whose record is told in words: that of the default."""

MET = "met"
"""The verdict of a target that is met by median and 90th percentile."""

NEAR = 0.2
"""Share of the measured rate within which a planned one is called near to it."""

_FIRST = ("quantity", "verdict")
"""What a table begins with, where it has it: a long reason would be out of sight at the end."""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Errors of predictions without sign, in percent: the median, and what nine of ten stay below."""

    rows: int
    median_pct: float
    p90_pct: float


MEASURED_PERCENTILES = {("ttft_ms", 50.0): "ttft", ("ttft_ms", 99.0): "ttft_p99", ("itl_ms", 99.0): "itl_p99"}
"""Metrics of ``accuracy.json`` that are percentiles of runs at a request rate: TTFT is scored by its median there."""


def open_loop_errors(name: str, percentile: float) -> Errors | None:
    """Errors of a latency at a percentile in open loops, configuration and source unseen; None where nothing was
    measured at that percentile."""
    metric = MEASURED_PERCENTILES.get((name, percentile))
    wanted = {"scheme": "unseen", "mode": "fixed_rate", "metric": metric, "quality": "good"}
    for row in accuracy_figures().get("errors", ()) if metric else ():
        if all(row[key] == value for key, value in wanted.items()):
            return Errors(rows=row["rows"], median_pct=row["median_pct"], p90_pct=row["p90_pct"])
    return None


def accuracy() -> MethodologyChapter | None:
    """Measured accuracy by stratum, from ``sizing/data/accuracy.json``; None until there is such a file."""
    figures = accuracy_figures()
    if not figures:
        return None
    tables = tuple(_table(key, figures[key]) for key in TITLES if figures.get(key))
    intro = WORDS["intro"].format(rows=f"{figures['rows']:,}", date=figures["date"])
    return MethodologyChapter(slug="accuracy", title="Accuracy", intro=intro, tables=tables)


def accuracy_figures() -> Mapping[str, Any]:
    """The content of ``accuracy.json``; empty until there is such a file."""
    path = DATA_DIR / "accuracy.json"
    figures: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return figures


def report_chapters(figures: Record) -> tuple[Prose, ...]:
    """What ``docs/ACCURACY.md`` says beside its tables: how it was judged, before them, and the chapters after them."""
    texts = _notes()
    facts = {"rows": f"{figures['rows']:,}", "date": figures["date"]}
    judged = Prose(title="How it was judged", markdown=texts["judged"].format(**facts))
    return judged, *(Prose(title=chapter["title"], markdown=chapter["text"]) for chapter in texts["chapters"])


def capacity_in_words(figures: Record) -> tuple[str, str]:
    """The error of the answer in one paragraph, and how it was worked out."""
    shown = figures["capacity_runs"][0]["scheme"]
    of_run, today = (record for record in figures["capacity"] if record["scheme"] == shown)
    left_out = WORDS["capacity_left_out"][shown]
    with_today = {f"today_{key}": value for key, value in today.items()}
    return WORDS["capacity"].format(**of_run, **with_today, left_out=left_out), WORDS["capacity_method"]


def conclusions_in_words(figures: Record) -> str:
    """What a customer may conclude: what the error of the answer rests on, how sure "90 %" is, what was not reached."""
    shown, basis = figures["capacity_runs"], figures["basis"]
    of_run = next(record for record in figures["capacity"] if record["scheme"] == shown[0]["scheme"])
    called = next(record for record in figures["reliability_at_limits"] if record["called_pct"] == CALLED_PCT)
    names = sorted({run["model"].rpartition("/")[2] for run in shown})
    unmet = [record["quantity"] for record in figures["targets"] if record["verdict"] != MET]
    text: str = WORDS["conclusions"].format(
        **{key: of_run[key] for key in ("rows", "median_pct", "p90_pct")},
        **{key: called[key] for key in ("held_pct", "held_low_pct", "held_high_pct")},
        models=len(names),
        model_names=", ".join(names),
        generation=basis[0]["generation"],
        share_pct=basis[0]["rows_pct"],
        unmet=", ".join(f"“{name}”" for name in unmet) or "nothing",
    )
    return text


def capacity_alt_text(runs: Sequence[Record]) -> str:
    """The figure of planned against measured rates in words."""
    ratios = [run["planned_rps"] / run["measured_rps"] for run in runs]
    near = sum(abs(ratio - 1.0) <= NEAR for ratio in ratios) / len(ratios)
    text: str = WORDS["capacity_figure"].format(rows=len(runs), near_pct=round(100.0 * near))
    return text


@cache
def _notes() -> Mapping[str, Any]:
    texts: Mapping[str, Any] = read_yaml(Path(__file__).with_name("accuracy_notes.yaml"))
    return texts


def _table(name: str, records: Sequence[Record]) -> FactTable:
    keys = list(dict.fromkeys([*_FIRST, *(key for record in records for key in record)]))
    keys = [key for key in keys if key in records[0]]
    titles = WORDS["columns"] | (WORDS["target_columns"] if name == "targets" else {})
    return FactTable(
        title=TITLES[name],
        columns=tuple(titles.get(key) or key.replace("_", " ").capitalize() for key in keys),
        rows=tuple(tuple(_cell(key, record) for key in keys) for record in _sorted(records)),
        in_document=name in IN_DOCUMENT,
    )


def _sorted(records: Sequence[Record]) -> list[Record]:
    """By protocol, quantity, quality and what was left out, as far as the records say; else as they are."""
    orders = [list(words) for words in (MODES, WORDS["metric"], QUALITIES, WORDS["scheme"])]
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
    words: Mapping[str, str] = WORDS[key] if key in ("scheme", "mode", "metric") else {}
    return words.get(value, value)
