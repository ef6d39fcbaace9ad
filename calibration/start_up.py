"""``python -m calibration.start_up``: start-up times, product over published, into ``docs/accuracy/start_up.csv``.

``calibration/start_up_runs.csv`` holds published loads and starts (Apache-2.0); those whose licence allows no copy are
added by ``--also``. The few rates and times of ``sizing/data/start_up.yaml`` are medians by source; here each source is
predicted from those of the others, and from what is chosen where no other has any.
"""

import argparse
import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sizing.catalog.files import read_yaml

RUNS = Path(__file__).with_name("start_up_runs.csv")
JUDGED = Path(__file__).parents[1] / "docs" / "accuracy" / "start_up.csv"

LAYERS = {"Llama-3-8B": 32, "Llama-2-13B": 40, "Qwen2.5-1.5B": 28, "Qwen2.5-7B": 28, "Qwen2.5-14B": 48, "GLM-5.1": 78}
"""Layers of the models of the runs."""

Estimates = dict[str, float]


def runs(also: Path | None = None) -> pd.DataFrame:
    """The published loads and starts, one a row, with the seconds that are compared (``measured_s``)."""
    frame = pd.concat([pd.read_csv(path) for path in (RUNS, also) if path is not None], ignore_index=True)
    frame = frame[frame["kind"].isin(["weights", "ready", "log"])].reset_index(drop=True)
    frame["layers"] = [
        next((n for name, n in LAYERS.items() if str(model).startswith(name)), 32) for model in frame["model"]
    ]
    printed = frame["model_load_s"].fillna(0.0) + frame["init_engine_s"].fillna(0.0)
    logged = printed.where(frame["init_engine_s"].notna(), frame["weights_s"] + frame["graph_s"])
    frame["measured_s"] = frame["seconds"].fillna(logged)
    return frame.dropna(subset=["measured_s", "gb"]).reset_index(drop=True)


def estimates(seen: pd.DataFrame) -> Estimates:
    """Each rate and time as the geometric mean of the medians of the sources that tell it; as chosen without any."""
    known = {name: tell(seen) for name, tell in TELLS.items()}
    return {
        name: float(np.exp(np.log([v.median() for _, v in values.groupby(seen["source"]) if v.notna().any()]).mean()))
        if values.notna().any()
        else PRIORS[name]
        for name, values in known.items()
    }


PRIORS: Mapping[str, float] = {
    "loader": 1.5,
    "block": 0.5,
    "stream": 0.3,
    "download": 0.15,
    "process": 20.0,
    "compile": 0.8,
    "kept": 8.0,
    "graphs_each": 0.15,
    "graphs_gpu": 12.0,
}
"""What is taken of a quantity that no other source tells: rates in GB/s, seconds, of compilation and graphs by layer,
of graphs over several GPUs by GPU. As published for gpt-oss-120b and in the documents of engines; else chosen."""

TELLS: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "loader": lambda f: (f["gb"] / f["weights_s"] / f["tp"].fillna(1)).where(f["kind"] == "log"),
    "block": lambda f: (f["gb"] / f["seconds"]).where(_block(f) & (f["kind"] == "weights") & ~_streams(f)),
    "stream": lambda f: (f["gb"] / f["seconds"] / f["concurrency"]).where(f["concurrency"].between(1, 4)),
    "download": lambda f: (f["gb"] / (f["model_load_s"] - f["weights_s"])).where(_downloads(f)),
    "process": lambda f: f["init_engine_s"] - f["compile_s"] - f["graph_s"],
    "compile": lambda f: (f["compile_s"] / f["layers"]).where(~_kept(f)),
    "kept": lambda f: f["compile_s"].where(_kept(f)),
    "graphs_each": lambda f: (f["graph_s"] / f["layers"]).where(f["tp"].fillna(1) <= 1),
    "graphs_gpu": lambda f: (f["graph_s"] / f["tp"]).where(f["tp"] > 1),
}
"""What a row tells of each quantity, NaN where it does not."""


def _kept(frame: pd.DataFrame) -> pd.Series:
    return frame["note"].fillna("").str.contains("warm")


def _downloads(frame: pd.DataFrame) -> pd.Series:
    return frame["protocol"].fillna("").str.contains("download")


def _block(frame: pd.DataFrame) -> pd.Series:
    return frame["storage"].fillna("").str.contains("gp3|io2")


def _streams(frame: pd.DataFrame) -> pd.Series:
    return frame["loader"].fillna("").str.contains("streamer|tensorizer|fast")


STORED = {"gp3": 1.0, "io2": 2.0, "S3": 3.0}
"""GB/s that the storages of the runs give at most: as named, and what one A10G instance is given of 4 GB/s and of
S3."""
STREAMS = 16.0
"""Streams of a streaming loader where none are stated: its default."""


def predicted(row: Mapping[str, Any], by: Estimates) -> float:
    """Seconds of one row: bytes / min(storage, loader), and for a start compilation, graphs and process."""
    processes = row["tp"] if row["tp"] == row["tp"] else _gpus(row["gpu"])
    storage = next((rate for name, rate in STORED.items() if name in str(row["storage"])), 12.0)
    loader = str(row["loader"])
    if any(name in loader for name in ("streamer", "tensorizer", "fast")):
        streams = row["concurrency"] if row["concurrency"] == row["concurrency"] else STREAMS
        rate = min(storage, by["stream"] * streams)
    elif "gp3" in str(row["storage"]) or "io2" in str(row["storage"]):
        rate = min(storage, by["block"])
    else:
        rate = min(storage, by["loader"] * processes)
    seconds = row["gb"] / rate
    if "download" in str(row["protocol"]):
        seconds += row["gb"] / by["download"]
    if row["kind"] == "weights" or str(row["protocol"]).endswith("paper"):
        return float(seconds)
    graphs = by["graphs_each"] * row["layers"] if processes <= 1 else by["graphs_gpu"] * processes
    if row["kind"] == "ready":
        return float(seconds + graphs + PRIORS["process"] - 4.0)
    if row["init_engine_s"] != row["init_engine_s"]:
        return float(seconds + graphs)
    compiled = by["kept"] if "warm" in str(row["note"]) else by["compile"] * row["layers"]
    return float(seconds + graphs + compiled + 4.0)


def _gpus(text: object) -> float:
    first = str(text).partition("x")[0]
    return float(first) if first.isdecimal() else 1.0


def judged(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Errors by source and over all, each source predicted from the others."""
    parts = []
    for source in frame["source"].unique():
        by = estimates(frame[frame["source"] != source])
        unseen = frame[frame["source"] == source]
        ratio = [predicted(row, by) for row in unseen.to_dict("records")] / unseen["measured_s"]
        parts.append(unseen.assign(ratio=ratio))
    whole = pd.concat(parts)
    return [_errors("all", whole), *(_errors(str(name), rows) for name, rows in whole.groupby("source"))]


def _errors(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    error = 100.0 * (rows["ratio"] - 1.0).abs()
    return {
        "source": name,
        "starts": len(rows),
        "ratio": round(float(rows["ratio"].median()), 3),
        "median_pct": round(float(error.median()), 1),
        "p90_pct": round(float(error.quantile(0.9)), 1),
    }


def main() -> None:
    """Judge, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m calibration.start_up", description=__doc__)
    parser.add_argument("--also", type=Path, help="further starts with the same columns")
    records = judged(runs(parser.parse_args().also))
    assert read_yaml("start_up.yaml")["loaders"]["default"]["gb_per_s"] == PRIORS["loader"]
    with JUDGED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


if __name__ == "__main__":
    main()
