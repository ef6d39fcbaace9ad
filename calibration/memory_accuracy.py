"""``python -m calibration.memory_accuracy``: memory at start-up, product over printed, into ``docs/ACCURACY.md``.

``calibration/memory_runs.csv`` holds what 213 starts of vLLM, SGLang and TensorRT-LLM printed. No rule of the engine
has a constant per model or family: the few that were read from logs (bytes of the sampler, what is outside the
allocator, graphs) hold for all models of a version, so that every family is one left out. Repeats of a configuration
count once.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calibration.accuracy_report import one_line_each, write_report
from sizing.catalog.files import DATA_DIR
from sizing.catalog.resolve import known_model
from sizing.evidence.memory_runs import memory_runs
from sizing.evidence.point_file import read_points

RUNS = Path(__file__).with_name("memory_runs.csv")

PRINTED = {
    "weights_gib": ("weights_gib", "weights"),
    "activations_gib": ("activation_gib", "activations"),
    "kv_pool_gib": ("kv_gib", "KV pool"),
    "kv_tokens": ("tokens", "tokens"),
    "max_concurrency": ("conc", "concurrency"),
}
"""What the product says -> the column that was printed, and its name in the report."""

CONFIGURATION = ["model", "gpu", "tp", "pp", "fmt", "kv", "util", "engine"]
"""What makes two starts repeats of one configuration, in the median over versions and contexts."""

NOT_READ = "not read|not named|not V4|per sequence only"
"""Notes of starts whose model or GPU was guessed by who collected them; they are left out."""


def compared() -> pd.DataFrame:
    """One row for each start: its configuration, family, and product over printed of each quantity, NaN where nothing
    was printed."""
    starts_printed = read_points(RUNS)
    starts_printed = starts_printed[~starts_printed["note"].fillna("").str.contains(NOT_READ)].reset_index(drop=True)
    answers = memory_runs(starts_printed)
    table = starts_printed[CONFIGURATION].copy()
    named = {name: known_model(name) for name in starts_printed["model"].unique()}
    table["family"] = [one.model.family if (one := named[name]) else "not known" for name in starts_printed["model"]]
    for ours, (column, quantity) in PRINTED.items():
        printed = pd.to_numeric(starts_printed[column], errors="coerce")
        predicted = pd.to_numeric(answers[ours], errors="coerce").astype(float)
        table[quantity] = predicted / printed.where(printed > 0.0)
    printed_concurrency = pd.to_numeric(starts_printed["conc"], errors="coerce")
    pool = pd.to_numeric(starts_printed["kv_gib"], errors="coerce")
    table["started"] = np.where(
        printed_concurrency.notna(), printed_concurrency >= 1.0, np.where(pool <= 0, 0.0, np.nan)
    )
    table["starts"] = answers["starts"].map({"true": 1.0, "false": 0.0})
    return table


def records() -> list[dict[str, Any]]:
    """Errors by family and over all: configurations, median ratio, median and 90th percentile of the error in per
    cent."""
    table = compared()
    quantities = [name for _, name in PRINTED.values()]
    each = table.groupby([*CONFIGURATION, "family"], dropna=False)[quantities].median().reset_index("family")
    groups = [("all", each), *each.groupby("family")]
    out = []
    for family, rows in groups:
        for quantity in quantities:
            ratio = rows[quantity].dropna()
            if len(ratio):
                error = 100.0 * (ratio - 1.0).abs()
                out.append(
                    {
                        "family": str(family),
                        "quantity": quantity,
                        "configurations": len(ratio),
                        "ratio": round(float(ratio.median()), 3),
                        "median_pct": round(float(error.median()), 1),
                        "p90_pct": round(float(error.quantile(0.9)), 1),
                    }
                )
    return out


def wide(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a family, with "ratio (median / 90th percentile of the error)" of each quantity; all first."""
    table: dict[str, dict[str, Any]] = {}
    for one in errors:
        line = table.setdefault(one["family"], {"family": one["family"], "configurations": 0})
        line["configurations"] = max(line["configurations"], one["configurations"])
        line[one["quantity"]] = f"{one['ratio']:.3f} ({one['median_pct']:g} / {one['p90_pct']:g})"
    columns = ["family", "configurations", *(name for _, name in PRINTED.values())]
    return [{column: line.get(column, "") for column in columns} for line in table.values()]


def memory_figures() -> list[dict[str, Any]]:
    """What ``accuracy.json`` keeps of it."""
    return wide(records())


def main() -> None:
    """Rewrite the figures and the report."""
    argparse.ArgumentParser(prog="python -m calibration.memory_accuracy", description=__doc__).parse_args()
    path = DATA_DIR / "accuracy.json"
    figures = json.loads(path.read_text(encoding="utf-8"))
    figures["memory"] = memory_figures()
    path.write_text(one_line_each(figures), encoding="utf-8")
    write_report(figures)


if __name__ == "__main__":
    main()
