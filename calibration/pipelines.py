"""``python -m calibration.pipelines ENCODERS.csv``: stages of a pipeline against published rates.

``ENCODERS.csv`` holds embedders and speech recognition as they were published, with source and unit. Ratios in
``docs/accuracy/pipelines.csv`` are published rate over the estimate of a full batch on one GPU. Only the share that
tuned engines reach with Whisper is fitted (``sizing.pipelines.loads.SPEECH_RATE``): the median over the GPU types of
MLPerf, each judged by that of the others. MLPerf's figures carry no unit; they can only be tokens/s, as samples/s would
exceed the GPUs' arithmetic. Rows of the Open ASR leaderboard name no GPU and run plain transformers: they are kept
aside, estimated on an A100 80 GB.
"""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sizing.base.errors import UnknownName
from sizing.catalog.encoders import encoder_named
from sizing.catalog.engines import engines
from sizing.catalog.gpu_names import resolve_gpu
from sizing.pipelines.batch_times import WINDOW_S, batch_times
from sizing.pipelines.loads import SPEECH_RATE

TABLE = Path(__file__).parents[1] / "docs" / "accuracy" / "pipelines.csv"
UNNAMED_GPU = "a100_sxm_80gb"
SENTENCE_TOKENS = 449.0
"""Tokens of a sentence of Infinity's benchmark: 1.15 million over 10 requests of 256."""


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each source, model, GPU and engine that can be estimated, with the median ratio of its rows."""
    lines = [line for row in rows.to_dict("records") if (line := _line(row))]
    keys = ["source", "model", "gpu", "engine", "quantity"]
    table = pd.DataFrame(lines).groupby(keys, as_index=False).agg(rows=("ratio", "size"), ratio=("ratio", "median"))
    table["error_percent"] = 100.0 * (1.0 / table["ratio"] - 1.0)
    speech = table["source"].eq("mlperf51")
    for place in table.index[speech]:
        others = table.loc[speech & (table.index != place), "ratio"].median()
        table.loc[place, "error_percent"] = 100.0 * (others / table.loc[place, "ratio"] - 1.0)
    aside = table["source"].eq("oasr")
    table.loc[aside, "error_percent"] = 100.0 * (SPEECH_RATE / table.loc[aside, "ratio"] - 1.0)
    return table


def _line(row: Mapping[Any, Any]) -> dict[str, object] | None:
    known = encoder_named(str(row["model"]).removesuffix(".en"))
    gpu = UNNAMED_GPU if row["source"] == "oasr" else re.sub(r"^\d+x |NVIDIA |GeForce |-PCIe-24GB", "", str(row["gpu"]))
    if known is None or (row["gpu"] != row["gpu"] and row["source"] != "oasr"):
        return None
    try:
        card = resolve_gpu(gpu)
    except UnknownName:
        return None  # a processor or an accelerator outside the catalogue
    speech = known.use == "speech"
    times = batch_times(known.model, known.use, None if speech else SENTENCE_TOKENS, card, engines()["vllm"])
    per_s = times.full / times.seconds(times.full)
    published, quantity, estimate = {
        "mlperf51": (row["per_device"], "tokens/s of transcript", per_s * times.written),
        "oasr": (row["rtfx"], "seconds of audio a second", per_s * WINDOW_S),
        "infinity": (row["tokens_s"], "tokens/s", per_s * times.tokens),
    }.get(str(row["source"]), (np.nan, "", np.nan))
    if not np.isfinite(float(str(published))):
        return None
    short = "short form" in str(row["protocol"])
    engine = row["engine"] if row["engine"] == row["engine"] else ""
    return {
        "source": row["source"],
        "model": known.model.id,
        "gpu": f"{card.id} (assumed)" if row["source"] == "oasr" else card.id,
        "engine": engine or ("transformers, " + ("short" if short else "long") if row["source"] == "oasr" else "tuned"),
        "quantity": quantity,
        "ratio": float(str(published)) / estimate,
    }


def main() -> None:
    """Compare, write the table, and print it with what it says of the fitted share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("encoders", type=Path, help="CSV of published rates")
    table = compared(pd.read_csv(parser.parse_args().encoders))
    table.round({"ratio": 3, "error_percent": 1}).to_csv(TABLE, index=False)
    tuned = table[table["source"] == "mlperf51"]
    print(table.round(3).to_string(index=False))
    print(f"Median over GPU types of MLPerf: {tuned['ratio'].median():.3f} (in use: {SPEECH_RATE})")
    print(f"Median error, GPU type left out: {tuned['error_percent'].abs().median():.0f} %")


if __name__ == "__main__":
    main()
