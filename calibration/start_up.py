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
from sizing.deployments.start_time import LAYER_KINDS, LayerKind

RUNS = Path(__file__).with_name("start_up_runs.csv")
JUDGED = Path(__file__).parents[1] / "docs" / "accuracy" / "start_up.csv"

LAYERS = {
    "Llama-3-8B": 32,
    "Llama-3-70B": 80,
    "Llama-2-13B": 40,
    "Qwen2.5-1.5B": 28,
    "Qwen2.5-7B": 28,
    "Qwen2.5-14B": 48,
    "Qwen3-235B": 94,
    "MiniMax-M2.5": 62,
    "Kimi-K2.5": 61,
    "DeepSeek-V4-Pro": 61,
    "GLM-5.1": 78,
}
"""Layers of the models of the runs."""
GRAPHS = {"runai": 35.0, "mn5": 86.0, "mref": 86.0, "rtx6k": 46.0}
"""Graphs that each source captured where its rows do not say: sizes of ``max_num_seqs`` 256, and of 64 with MTP."""
DRAFTED_GRAPHS = 66.0
"""The same of rtx6k with one drafted token."""

Estimates = dict[str, float]


def runs(also: Path | None = None) -> pd.DataFrame:
    """The published loads and starts, one a row, with the seconds that are compared (``measured_s``)."""
    frame = pd.concat([pd.read_csv(path) for path in (RUNS, also) if path is not None], ignore_index=True)
    frame = frame[frame["kind"].isin(["weights", "ready", "log"])].reset_index(drop=True)
    frame["layers"] = [
        next((n for name, n in LAYERS.items() if str(model).startswith(name)), 32) for model in frame["model"]
    ]
    latent = frame["model"].fillna("").str.startswith("GLM-5.1")
    kinds = frame["layers_kind"].fillna("dense").mask(latent, "latent_experts")
    drafted = frame["note"].fillna("").str.contains("mtp1")
    captured = frame["graphs"].fillna(frame["source"].map(GRAPHS)).mask(drafted, DRAFTED_GRAPHS)
    frame = frame.assign(layers_kind=kinds, graphs=captured)
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
    "compile": 0.75,
    "compile_experts": 1.05,
    "kept": 1.0,
    "profile_dense": 6.0,
    "profile_experts": 12.0,
    "profile_latent_experts": 40.0,
    "graph_dense": 1.6,
    "graph_experts": 2.2,
    "graph_latent_experts": 5.2,
}
"""What is taken of a quantity that no other source tells: rates in GB/s, seconds, of compilation by layer, milliseconds
of a graph by layer; ``kept`` as a share of what :data:`KEPT_S` says. As in ``sizing/data/start_up.yaml``."""
PROCESS_S = 16.0
"""Interpreter, imports, CUDA context and server."""
KEPT_S, KEPT_LAYER_S = 5.5, 0.1
"""Compilation from the cache of an earlier start, and its part by layer."""
TP_EXPONENT = 0.2
"""How the time of a graph grows with tensor parallelism."""

TELLS: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "loader": lambda f: (f["gb"] / f["weights_s"] / f["tp"].fillna(1)).where((f["kind"] == "log") & ~_streams(f)),
    "block": lambda f: (f["gb"] / f["seconds"]).where(_block(f) & (f["kind"] == "weights") & ~_streams(f)),
    "stream": lambda f: (f["gb"] / f["seconds"] / f["concurrency"]).where(f["concurrency"].between(1, 4)),
    "download": lambda f: (f["gb"] / (f["model_load_s"] - f["weights_s"])).where(_downloads(f)),
    "compile": lambda f: (f["compile_s"] / f["layers"]).where(~_kept(f) & _is(f, "dense")),
    "compile_experts": lambda f: (f["compile_s"] / f["layers"]).where(~_kept(f) & ~_is(f, "dense")),
    "kept": lambda f: (f["compile_s"] / (KEPT_S + KEPT_LAYER_S * f["layers"])).where(_kept(f)),
    **{f"profile_{kind}": lambda f, kind=kind: _profile(f).where(_is(f, kind)) for kind in LAYER_KINDS},  # type: ignore[misc]
    **{f"graph_{kind}": lambda f, kind=kind: _a_graph(f).where(_is(f, kind)) for kind in LAYER_KINDS},  # type: ignore[misc]
}
"""What a row tells of each quantity, NaN where it does not."""


def _is(frame: pd.DataFrame, kind: LayerKind) -> pd.Series:
    return frame["layers_kind"] == kind


def _profile(frame: pd.DataFrame) -> pd.Series:
    """Seconds of an initialised engine beside compilation and graphs."""
    return frame["init_engine_s"] - frame["compile_s"] - frame["graph_s"]


def _a_graph(frame: pd.DataFrame) -> pd.Series:
    """Milliseconds of one graph and layer on one GPU."""
    layers = frame["layers"] * frame["graphs"] * frame["tp"].fillna(1.0) ** TP_EXPONENT
    return 1000.0 * frame["graph_s"] / layers


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
    """Seconds of one row: bytes / min(storage, loader), and for a start compilation, graphs, profile and process."""
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
    kind, layers = row["layers_kind"], row["layers"]
    graphs = by[f"graph_{kind}"] / 1000.0 * row["graphs"] * layers * processes**TP_EXPONENT
    if row["kind"] == "ready":
        return float(seconds + graphs + PROCESS_S)
    if row["init_engine_s"] != row["init_engine_s"]:
        return float(seconds + graphs)
    each = by["compile"] if kind == "dense" else by["compile_experts"]
    kept = "warm" in str(row["note"])
    compiled = by["kept"] * (KEPT_S + KEPT_LAYER_S * layers) if kept else each * layers
    return float(seconds + graphs + compiled + by[f"profile_{kind}"])


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
    kept = read_yaml("start_up.yaml")
    assert kept["loaders"]["default"]["gb_per_s"] == PRIORS["loader"]
    assert all(kept["graph_ms"][kind]["value"] == PRIORS[f"graph_{kind}"] for kind in LAYER_KINDS)
    with JUDGED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


if __name__ == "__main__":
    main()
