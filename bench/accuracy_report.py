"""What the calibration writes: intervals and cross-validated errors that ship, and the accuracy report for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.accuracy_notes import notes, reason
from bench.crossvalidate import SCHEMES, summary
from bench.fit_efficiency import FITTED_ON
from bench.fit_targets import Targets
from sizing.catalog.files import DATA_DIR
from sizing.uncertainty import WIDENING, stratum_keys

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "ACCURACY.md"
NEW_SCHEMES = ("model", "gpu")
"""Schemes whose errors make the intervals: something about the asked configuration is new."""

MIN_ROWS = 40
"""Rows below which a stratum falls back to its parent; 80 % of 40 errors is known to about 6 % of coverage."""

MIN_ARCHITECTURES = 2
"""Errors of one model are one error many times: a stratum of a single architecture falls back to its parent."""

INTERVAL_METRICS = ("ttft", "itl", "e2e", "throughput")
MODES = ("fixed_concurrency", "fixed_rate", "offline_max_throughput", "static_batch")
SCHEME_NAMES = {
    "fit": "seen in the fit",
    "model": "model left out",
    "gpu": "GPU left out",
    "configuration": "configuration left out",
    "source": "source left out",
}


def write_report(tables: Sequence[Targets], errors: pd.DataFrame, rows: int) -> None:
    """Write ``intervals.yaml``, ``accuracy.json`` and ``docs/ACCURACY.md``."""
    strata = conformal_strata(errors)
    families, gpus = (sorted({f for t in tables for f in t.labels[kind]}) for kind in ("family", "gpu"))
    (DATA_DIR / "intervals.yaml").write_text(intervals_yaml(strata, families, gpus), encoding="utf-8")
    figures = {"date": FITTED_ON, "rows": rows, "errors": accuracy(errors), "coverage": coverage(errors, strata)}
    (DATA_DIR / "accuracy.json").write_text(_one_line_each(figures), encoding="utf-8")
    REPORT.write_text(markdown(tables, errors, strata, rows), encoding="utf-8")


def _one_line_each(figures: dict[str, Any]) -> str:
    """JSON with one line per entry of a list, so that a change can be read."""
    text = json.dumps(figures).replace("[{", "[\n{").replace("}, {", "},\n{").replace("}]", "}\n]")
    return text + "\n"


def conformal_strata(errors: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Quantiles of log(measured / predicted) of every stratum with enough rows, by its key."""
    new = errors[errors["scheme"].isin(NEW_SCHEMES) & errors["metric"].isin(INTERVAL_METRICS)]
    gathered: dict[str, list[float]] = {}
    models: dict[str, set[str]] = {}
    columns = ["metric", "mode", "kind", "engine", "family", "architecture", "error"]
    for metric, mode, kind, engine, family, architecture, error in new[columns].itertuples(index=False, name=None):
        for key in stratum_keys(metric, mode, kind, engine, family):
            gathered.setdefault(key, []).append(-error)
            models.setdefault(key, set()).add(architecture)
    enough = [
        key
        for key, values in sorted(gathered.items())
        if len(values) >= len(NEW_SCHEMES) * MIN_ROWS and len(models[key]) >= MIN_ARCHITECTURES
    ]
    return {key: _quantiles(np.array(gathered[key])) for key in enough}


def _quantiles(values: np.ndarray) -> dict[str, float]:
    """The ends of the 80 % and 95 % intervals, with the finite-sample correction (n + 1) of conformal prediction."""
    count = len(values) // len(NEW_SCHEMES)
    out: dict[str, float] = {"rows": count}
    for level in (80, 95):
        tail = (1.0 - level / 100.0) / 2.0
        low, high = max(tail * (count + 1) - 1.0, 0.0) / count, min((1.0 - tail) * (count + 1) / count, 1.0)
        out[f"low_{level}"], out[f"high_{level}"] = (round(float(np.quantile(values, q)), 4) for q in (low, high))
    return out


def intervals_yaml(strata: dict[str, dict[str, float]], families: Iterable[str], gpus: Iterable[str]) -> str:
    """The file that ships: one line per stratum."""
    lines = [
        "# Quantiles of log(measured / predicted) of cross-validated errors by stratum, for 80 % and 95 % intervals.",
        "# Written by `make calibrate` (bench/accuracy_report.py); read by sizing/uncertainty.py.",
        f"families: [{', '.join(families)}]",
        f"gpus: [{', '.join(gpus)}]",
        "strata:",
    ]
    for key, row in strata.items():
        lines.append(f"  {key}: {{{', '.join(f'{k}: {v}' for k, v in row.items())}}}")
    return "\n".join(lines) + "\n"


def accuracy(errors: pd.DataFrame) -> list[dict[str, object]]:
    """Errors by scheme, mode and metric, for rows of quality good and all, whole and by engine, family and kind."""
    out: list[dict[str, object]] = []
    for (scheme, mode, metric), group in errors.groupby(["scheme", "mode", "metric"]):
        for by in ("", "engine", "family", "kind") if scheme in NEW_SCHEMES else ("",):
            parts = group.groupby(by) if by else [("all", group)]
            for value, part in parts:
                for quality in ("good", "all"):
                    chosen = part if quality == "all" else part[part["quality"] == "good"]
                    if len(chosen):
                        out.append(
                            {
                                "scheme": scheme,
                                "mode": mode,
                                "metric": metric,
                                "by": by or "all",
                                "value": value,
                                "quality": quality,
                                **summary(chosen),
                            }
                        )
    return out


def covered(errors: pd.DataFrame, strata: dict[str, dict[str, float]], level: int) -> pd.DataFrame:
    """Whether each measurement lies in its interval, and the interval's full width relative to the prediction."""
    ends = []
    for metric, mode, kind, engine, family in errors[["metric", "mode", "kind", "engine", "family"]].itertuples(
        index=False, name=None
    ):
        key = next(k for k in stratum_keys(metric, mode, kind, engine, family) if k in strata)
        ends.append((min(strata[key][f"low_{level}"], 0.0), max(strata[key][f"high_{level}"], 0.0)))
    low, high = np.array(ends).T
    off = -errors["error"].to_numpy()
    return errors.assign(inside=(off >= low) & (off <= high), width=np.exp(high) - np.exp(low))


def coverage(errors: pd.DataFrame, strata: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Coverage and median full width of the 80 % and 95 % intervals, by scheme, mode and metric."""
    out: list[dict[str, Any]] = []
    some = errors[errors["metric"].isin(INTERVAL_METRICS) & (errors["scheme"] != "fit")]
    for level in (80, 95):
        checked = covered(some, strata, level)
        for (scheme, mode, metric), group in checked.groupby(["scheme", "mode", "metric"]):
            out.append(
                {
                    "level": level,
                    "scheme": scheme,
                    "mode": mode,
                    "metric": metric,
                    "rows": len(group),
                    "inside_pct": round(float(group["inside"].mean()) * 100, 1),
                    "median_width_pct": round(float(group["width"].median()) * 100, 1),
                }
            )
    return out


def markdown(tables: Sequence[Targets], errors: pd.DataFrame, strata: dict[str, dict[str, float]], rows: int) -> str:
    """The report."""
    before, after = notes(rows=f"{rows:,}", date=FITTED_ON, widening=WIDENING)
    parts = [
        "# Accuracy",
        "",
        before,
        "",
        "## Errors by protocol",
        "",
        "Median and 90th percentile of the absolute percentage error, and the median bias, in per cent.",
        "",
        *_protocol_table(errors),
        "",
        "## Errors by engine, GPU family and kind of model",
        "",
        "One model left out; closed-loop ITL and offline output tokens/s, all qualities.",
        "",
        *_slice_table(errors),
        "",
        "## Intervals",
        "",
        *_coverage_table(errors, strata),
        "",
        "## Worst rows",
        "",
        "The largest errors with the model left out, at most two of a source and configuration.",
        "",
        *_worst_table(tables, errors),
        "",
        after,
    ]
    return "\n".join(parts) + "\n"


def _protocol_table(errors: pd.DataFrame) -> list[str]:
    lines = ["| Mode | Metric | Quality | Rows | " + " | ".join(SCHEME_NAMES[s] for s in SCHEMES) + " |"]
    lines.append("|---|---|---|---:|" + "---|" * len(SCHEMES))
    for (mode, metric), group in errors.groupby(["mode", "metric"]):
        for quality in ("good", "all"):
            chosen = group if quality == "all" else group[group["quality"] == "good"]
            if chosen.empty:
                continue
            cells = [summary(chosen[chosen["scheme"] == s]) for s in SCHEMES]
            texts = [f"{c['median_pct']} / {c['p90_pct']} / {c['bias_pct']:+}" for c in cells]
            lines.append(f"| {mode} | {metric} | {quality} | {cells[0]['rows']:,} | {' | '.join(texts)} |")
    return lines


def _slice_table(errors: pd.DataFrame) -> list[str]:
    lines = ["| Slice | ITL rows | ITL median / p90 / bias | Offline rows | Offline median / p90 / bias |"]
    lines.append("|---|---:|---|---:|---|")
    left = errors[errors["scheme"] == "model"]
    closed = left[(left["mode"] == "fixed_concurrency") & (left["metric"] == "itl")]
    offline = left[(left["mode"] == "offline_max_throughput") & (left["metric"] == "throughput")]
    for by in ("engine", "family", "kind"):
        for value in sorted({*closed[by], *offline[by]}):
            cells = [_cell(part[part[by] == value]) for part in (closed, offline)]
            lines.append(f"| {by}: {value} | {' | '.join(cells)} |")
    return lines


def _cell(part: pd.DataFrame) -> str:
    if part.empty:
        return "0 | "
    s = summary(part)
    return f"{s['rows']:,} | {s['median_pct']} / {s['p90_pct']} / {s['bias_pct']:+}"


def _coverage_table(errors: pd.DataFrame, strata: dict[str, dict[str, float]]) -> list[str]:
    lines = ["| Mode | Metric | Left out | Rows | 80 %: inside | median full width | 95 %: inside |"]
    lines.append("|---|---|---|---:|---:|---:|---:|")
    found = coverage(errors, strata)
    wide = {(r["mode"], r["metric"], r["scheme"]): r for r in found if r["level"] == 95}
    for row in sorted((r for r in found if r["level"] == 80), key=lambda r: (r["mode"], r["metric"], r["scheme"])):
        mode, metric, scheme = row["mode"], row["metric"], row["scheme"]
        lines.append(
            f"| {mode} | {metric} | {scheme} | {row['rows']:,} | {row['inside_pct']:.0f} % | "
            f"{row['median_width_pct']:.0f} % | {wide[mode, metric, scheme]['inside_pct']:.0f} % |"
        )
    return lines


def _worst_table(tables: Sequence[Targets], errors: pd.DataFrame, count: int = 20) -> list[str]:
    lines = ["| Source | Model | GPU | Engine | Format | Mode | Metric | Error | Likely reason |"]
    lines.append("|---|---|---|---|---|---|---|---:|---|")
    left = errors[(errors["scheme"] == "model") & errors["metric"].isin(("itl", "e2e", "throughput"))]
    ranked = left.reindex(left["error"].abs().sort_values(ascending=False, kind="stable").index)
    some = ranked.groupby(["source", "model", "gpu", "engine", "precision"]).head(2).head(count)
    for row in some.to_dict("records"):
        why = reason(row["source"], row["model"], row["gpu"], row["mode"])
        names = ("source", "model", "gpu", "engine", "precision", "mode", "metric")
        lines.append(f"| {' | '.join(str(row[n]) for n in names)} | x{np.exp(row['error']):.2f} | {why} |")
    return lines
