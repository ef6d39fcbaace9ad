"""What the calibration writes: intervals and figures that ship, and from the figures the accuracy report for people."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from calibration.capacity_svg import capacity_svg
from calibration.conformal import SHIPPED_LEVELS
from calibration.crossvalidate import NO_GROUP
from calibration.fit_targets import FitTargets
from calibration.held_intervals import IntervalCalibration
from calibration.held_out import load_columns, load_range, shown_by
from sizing.catalog.measured import Counted
from sizing.evidence.cases import case_of
from sizing.evidence.extrapolation import Extrapolation
from sizing.evidence.uncertainty import LOAD_NAMES
from sizing.methodology.accuracy import (
    QUALITIES,
    TITLES,
    WORDS,
    capacity_alt_text,
    capacity_in_words,
    conclusions_in_words,
    report_chapters,
)

UNSEEN = "unseen"
"""The scheme that leaves out the source and the configuration of what is judged."""
ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "ACCURACY.md"
TRIED = REPORT.with_name("ACCURACY_TRIED.md")
ROWS = REPORT.with_name("accuracy")
"""The folder of the long tables, a CSV each, by their names in ``accuracy.json``."""
LONG = ("capacity_configurations", "errors", "open_split", "slices", "coverage", "forms", "worst")
"""Tables of which the report only tells what they say."""
TRIED_TITLES = (
    *("What was tried", "Load, tried on 2026-11-26", "Attention of prompts, tried on 2026-11-28"),
    *("Sessions, tried on 2026-11-29", "Prompts alone, tried on 2026-11-29"),
    *("Widened weights, tried on 2026-11-29", "Before the first token, tried on 2026-11-30"),
    *("Launches of prompts' steps, tried on 2026-11-30", "Start-up, tried on 2026-11-30"),
    *("Sessions, tried on 2026-11-30", "Open numbers, looked at on 2026-11-29"),
)
"""Chapters for who works on the engine, in a document of their own."""
CAPACITY_FIGURE = ROOT / "docs" / "images" / "accuracy_capacity.svg"
SCHEME_NAMES = {
    "fit": "seen in the fit",
    "model": "model left out",
    "gpu": "GPU left out",
    "configuration": "configuration left out",
    "source": "source left out",
    "unseen": "source and configuration left out",
    "later": "software of 2026 and later left out",
}


def intervals_yaml(tables: Sequence[FitTargets], calibration: IntervalCalibration) -> str:
    """The file of intervals: what was measured, difficulties, and one line per stratum."""
    lines = [
        "# Ends of log(measured / predicted) / scale of held-out errors by stratum, for 80 % and 95 % intervals, the",
        "# scale's difficulties, and how many times as far the ends lie for what is unlike anything measured.",
        "# Written by `make calibrate` (calibration/held_intervals.py), see sizing/evidence/uncertainty.py and",
        "# extrapolation.py.",
        "measurements:",
        *(f"  {kind}: {_inline(counts)}" for kind, counts in _measurements(tables).items()),
        "deployments:",
        *(f"  {_quoted(name)}: {_inline(_lists(formats))}" for name, formats in _deployments(tables).items()),
        "ranges:",
        *(f"  {t.mode}: {{{_ranges(t)}}}" for t in tables),
        "difficulties:",
        *(f"  {metric}: {_inline(weights)}" for metric, weights in calibration.hard.items()),
        "extrapolations:",
        *(f"  {name}: {_extrapolation(one)}" for name, one in calibration.extrapolations.items()),
        "strata:",
    ]
    names = [f"{end}_{level}" for end in ("low", "high") for level in SHIPPED_LEVELS]
    for key, (rows, configurations, ends) in sorted(calibration.strata.items()):
        values = {n: round(float(q), 4) for n, q in zip(names, ends, strict=True)}
        lines.append(f"  {key}: {_inline({'rows': rows, 'configurations': configurations, **values})}")
    return "\n".join(lines) + "\n"


def _measurements(tables: Sequence[FitTargets]) -> dict[str, dict[str, int]]:
    """How many measurements there are, by the kinds of :func:`sizing.catalog.measured.measurements`."""
    shown = shown_by(pd.concat([t.labels for t in tables]))
    counts = {kind: shown[kind.removesuffix("s")].value_counts() for kind in get_args(Counted)}
    return {
        kind: {str(name): int(n) for name, n in sorted(of.items()) if name != NO_GROUP} for kind, of in counts.items()
    }


def _deployments(tables: Sequence[FitTargets]) -> dict[str, dict[str, list[str]]]:
    """The parallelisms that were measured by format, by model, engine and GPU."""
    cases = {case_of(p.model, p.configuration) for t in tables for p in t.points.points}
    out: dict[str, dict[str, list[str]]] = {}
    for case in sorted(cases, key=lambda c: c.configuration):
        out.setdefault(case.deployment, {}).setdefault(case.precision, []).append(case.parallelism)
    return out


def _extrapolation(one: Extrapolation) -> str:
    by_rule, factors = f"[{', '.join(one.by_rule)}]", _inline(one.factors)
    return _inline({"rows": one.rows, "groups": one.groups, "by_rule": by_rule, "factors": factors})


def _lists(formats: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {precision: f"[{', '.join(parallelisms)}]" for precision, parallelisms in formats.items()}


def _quoted(text: str) -> str:
    return f"'{text}'" if "," in text else text


def _inline(values: Mapping[str, float | str]) -> str:
    return "{" + ", ".join(f"{k}: {v}" for k, v in values.items()) + "}"


def _ranges(table: FitTargets) -> str:
    low, high = load_range(load_columns(table))
    ends = [f"[{a:g}, {b if b < float('inf') else '.inf'}]" for a, b in zip(low, high, strict=True)]
    return ", ".join(f"{name}: {end}" for name, end in zip(LOAD_NAMES, ends, strict=True))


def one_line_each(figures: Mapping[str, Any]) -> str:
    """JSON with one line per entry of a list, so that a change can be read."""
    text = json.dumps(figures).replace("[{", "[\n{").replace("}, {", "},\n{").replace("}]", "}\n]")
    return text + "\n"


def write_report(figures: Mapping[str, Any]) -> None:
    """``docs/ACCURACY.md``, the picture on its first page, its long tables, and what was tried."""
    REPORT.write_text(markdown(figures), encoding="utf-8")
    TRIED.write_text(tried(figures), encoding="utf-8")
    CAPACITY_FIGURE.write_text(capacity_picture(figures), encoding="utf-8")
    ROWS.mkdir(exist_ok=True)
    for name in LONG:
        (ROWS / f"{name}.csv").write_text(long_table(figures, name), encoding="utf-8")


def long_table(figures: Mapping[str, Any], name: str) -> str:
    """A table of :data:`LONG` as CSV, columns as in ``accuracy.json``; shares and errors in per cent (``_pct``)."""
    records = figures[name]
    columns = list(dict.fromkeys(key for record in records for key in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def tried(figures: Mapping[str, Any]) -> str:
    """What was tried, kept and refused; depends on the hand-written notes alone."""
    chapters = {chapter.title: chapter.markdown for chapter in report_chapters(figures)}
    parts = [f"## {title}\n\n{chapters[title]}" for title in TRIED_TITLES]
    intro = (
        "Hypotheses about the engine, each with its figures, kept or refused: for who works on it. The result is in "
    )
    return "\n\n".join(["# Accuracy: what was tried", f"{intro}[ACCURACY.md](ACCURACY.md).", *parts]) + "\n"


def capacity_picture(figures: Mapping[str, Any]) -> str:
    """Planned against measured rates as SVG."""
    runs = figures["capacity_runs"]
    return capacity_svg(runs, capacity_alt_text(runs))


def markdown(figures: Mapping[str, Any]) -> str:
    """The report for a reader; depends on nothing but the figures and the hand-written notes."""
    judged, *others = report_chapters(figures)
    parts = [
        _section(TITLES["basis"], conclusions_in_words(figures), figures["basis"]),
        *(_section(TITLES[name], WORDS[name], figures[name]) for name in ("extrapolated", "reliability_at_limits")),
        _capacity(figures),
        _section(TITLES["memory"], WORDS["memory"], figures["memory"]),
        _section("Asked and reached", "Median / 90th percentile of the absolute percentage error.", figures["targets"]),
        _section(
            "Errors by protocol",
            "Rows of good quality. Median / 90th percentile of the absolute percentage error / median bias, in per "
            "cent; in brackets the median of the roofline alone. Rows of all qualities: " + _linked("errors"),
            _protocols([record for record in figures["errors"] if record["quality"] == QUALITIES[0]]),
        ),
        _told("slices", "Errors and coverage by engine, GPU, kind of model and source, one group left out."),
        _told("open_split", WORDS["open_split"]),
        f"## {judged.title}\n\n{judged.markdown}",
        *_intervals(figures),
        _section(
            "Learning curve",
            "Median error on models outside the fit against the number of models in it, a few random choices each.",
            figures["learning_curve"],
        ),
        _told(
            "worst",
            "Largest errors with the model left out, at most two of a source and configuration. Reasons are found by "
            "rule (`calibration/reasons.py`).",
        ),
        *(f"## {chapter.title}\n\n{chapter.markdown}" for chapter in others if chapter.title not in TRIED_TITLES),
    ]
    return "\n\n".join(["# Accuracy", _way(parts), *parts]) + "\n"


def _way(parts: Sequence[str]) -> str:
    """What to read for which question: every chapter by its title."""
    titles = [title for part in parts for title in re.findall(r"^## (.+)$", part, re.MULTILINE)]
    links = "\n".join(
        f"- [{title}](#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')})" for title in titles
    )
    return (
        "How far plans and predictions are off, on measurements that the fit did not see. The first four chapters are "
        "for who decides on a plan; how it was judged and whether intervals hold, for who checks that. Long tables are "
        f"CSV files in [accuracy/](accuracy/); what was tried and refused is in [{TRIED.name}]({TRIED.name}); "
        "measurements that nobody had looked at judged it in [JUDGED.md](JUDGED.md).\n\n" + links
    )


def _linked(name: str) -> str:
    return f"[accuracy/{name}.csv](accuracy/{name}.csv)."


def _told(name: str, text: str) -> str:
    """A chapter whose table is a file."""
    return f"## {TITLES[name]}\n\n{text} {_linked(name)}"


def _named_schemes(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**r, "scheme": SCHEME_NAMES[r["scheme"]]} for r in records]


def _capacity(figures: Mapping[str, Any]) -> str:
    """The error of the answer in words, a table and a figure."""
    answer, method = capacity_in_words(figures)
    picture = f"![{capacity_alt_text(figures['capacity_runs'])}](images/{CAPACITY_FIGURE.name})"
    summary = _named_schemes(figures["capacity"])
    return "\n\n".join(
        (
            _section(TITLES["capacity"], answer, summary),
            picture,
            method,
            "Medians over the runs of each configuration, furthest from 1 first: " + _linked("capacity_configurations"),
        )
    )


def _intervals(figures: Mapping[str, Any]) -> list[str]:
    """Whether intervals hold, by what is left out, by form and by what they promise."""
    return [
        _section(
            "Intervals",
            "Share of measurements inside, and median full width. Every group is judged by quantiles it had no part "
            "in. *Give or take* is the standard error of the share, a sweep counting as one observation "
            "(cluster-robust variance): so far a share may lie from 80 % by chance. *By configuration*: every "
            "configuration counts as one, however many rows it has. Here source and configuration are both unseen; "
            "with less left out: " + _linked("coverage"),
            [record for record in figures["coverage"] if record["scheme"] == UNSEEN],
        ),
        _told(
            "forms",
            "Source and configuration both unseen; the quantiles of each source come from the configurations of the "
            "others (`calibration/interval_forms.py`). At limits: the largest rate, whose ends follow from those of "
            "its step times by exponents from the other configurations. The forms that ship were chosen on this table.",
        ),
        _section(
            "Reliability",
            "Nominal and actual coverage, source and configuration both unseen, all protocols.",
            figures["reliability"],
        ),
    ]


def _section(title: str, text: str, records: Sequence[Mapping[str, Any]]) -> str:
    columns = list(records[0])
    head = [name.removesuffix("_pct").replace("_", " ") + (", %" if name.endswith("_pct") else "") for name in columns]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(str(r.get(c, '')) for c in columns)} |" for r in records]
    return f"## {title}\n\n{text}\n\n" + "\n".join(lines)


def _protocols(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One record per mode, metric and quality, schemes beside each other."""
    out: dict[tuple[str, str, str], dict[str, Any]] = {}
    order = {s: i for i, s in enumerate(SCHEME_NAMES)}
    for r in sorted(errors, key=lambda r: (r["mode"], r["metric"], QUALITIES.index(r["quality"]), order[r["scheme"]])):
        names = {"mode": r["mode"], "metric": r["metric"], "quality": r["quality"], "rows": r["rows"]}
        row = out.setdefault((r["mode"], r["metric"], r["quality"]), names)
        value = f"{r['median_pct']} / {r['p90_pct']} / {r['bias_pct']:+} ({r['roofline_alone_pct']})"
        row[SCHEME_NAMES[r["scheme"]]] = value
    return list(out.values())
