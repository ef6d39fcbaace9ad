"""Bytes, loading and computing of KV cache beside published measurements, as docs/accuracy/offload.csv.

``python -m calibration.offload_accuracy ROWS.csv`` reads published figures, one a row: ``kind`` (``recompute_vs_load``,
``pd_transfer`` or ``kv_gb_per_1M``), ``source``, ``prefix_tokens``, and what the kind has of ``recompute_ms``,
``load_ms``, ``kv_gb`` and ``ratio``. Nothing of the bytes and of computing was fitted to them; of loading, start and
bandwidth are those of the other lengths of a source, as no two sources measured the same link.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from sizing.base.units import GIB, MS_PER_S
from sizing.deployments.candidates import table
from sizing.question.understand import Question, understand
from sizing.scenario.file import load_scenario
from sizing.search.screen import Evaluated, evaluate_all
from sizing.simulator.configured import kv_tokens

TABLE = Path(__file__).parent.parent / "docs" / "accuracy" / "offload.csv"
MILLION_TOKENS = 1_000_000


def one_instance(model: str, gpu: str, tp: int, tokens: float, precision: str) -> tuple[Question, Evaluated, int]:
    """A prompt of so many tokens on one configuration of vLLM, and its row among those evaluated."""
    deployment = {"gpus": [gpu], "engines": ["vllm"], "tp": [tp], "precisions": [precision], "confidence": 50}
    workload = {"input_tokens": tokens, "output_tokens": 2, "peak_rps": 0.01}
    question = understand(load_scenario({"model": model, "workload": workload, "deployment": deployment}))
    evaluated = evaluate_all(question)
    rows = evaluated.candidates.rows
    return question, evaluated, next(i for i, row in enumerate(rows) if row.tp == tp and row.pp * row.dp == 1)


def kv_gib(model: str, gpu: str, tp: int, tokens: float, precision: str) -> float:
    """GiB of KV cache of so many tokens, over all GPUs."""
    question, evaluated, index = one_instance(model, gpu, tp, min(tokens, 8192.0), precision)
    row = evaluated.candidates.rows[index]
    assert len(table([row])) == 1
    return kv_tokens(question.model, row, question.traffic).token_bytes * tp * tokens / GIB


def computed_ms(model: str, gpu: str, tp: int, tokens: float, precision: str) -> float:
    """TTFT of a prompt alone, which is how the rows measured computing."""
    _, evaluated, index = one_instance(model, gpu, tp, tokens, precision)
    front = np.reshape(np.broadcast_to(evaluated.times.front_s, (len(evaluated),)), -1)
    return float(evaluated.times.prefill_s[index] + front[index]) * MS_PER_S


def judged(rows: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """A row for each figure: what, of which source, at how many tokens, measured and predicted."""
    for row in rows:
        tokens = float(row["prefix_tokens"] or 0.0)
        if row["kind"] == "recompute_vs_load":
            own = computed_ms("openai/gpt-oss-120b", "h200_sxm", 1, tokens, "mxfp4")
            yield _row("computing, ms", row, tokens, float(row["recompute_ms"]), own)
        if row["kind"] == "pd_transfer":
            size = kv_gib("Qwen/Qwen3-8B", "h800_sxm", 8, tokens, "bf16")
            yield _row("KV cache, GiB", row, tokens, float(row["kv_gb"]), size)
        if row["kind"] == "kv_gb_per_1M":
            size = kv_gib("meta-llama/Llama-3.1-70B-Instruct", "h100_sxm", 4, MILLION_TOKENS, "bf16")
            yield _row("KV cache, GiB", row, MILLION_TOKENS, float(row["ratio"]), size)
    for kind in ("recompute_vs_load", "pd_transfer"):
        of_kind = [row for row in rows if row["kind"] == kind]
        lengths = np.array([float(row["prefix_tokens"]) for row in of_kind])
        loads = np.array([float(row["load_ms"]) for row in of_kind])
        for left_out, row in enumerate(of_kind):
            others = np.arange(len(loads)) != left_out
            form = np.column_stack([np.ones(len(loads)), lengths]) / loads[:, None]
            start, slope = np.linalg.lstsq(form[others], np.ones(int(others.sum())), rcond=None)[0]
            yield _row("loading, ms", row, lengths[left_out], loads[left_out], float(start + slope * lengths[left_out]))


def _row(what: str, row: dict[str, str], tokens: float, measured: float, predicted: float) -> dict[str, Any]:
    return {
        "what": what,
        "source": row["source"],
        "tokens": round(float(tokens)),
        "measured": float(measured),
        "predicted": round(float(predicted), 3),
        "error_percent": round(100.0 * (predicted / measured - 1.0), 1),
    }


def main(path: str) -> None:
    """Write the table."""
    with Path(path).open(encoding="utf-8") as file:
        rows = list(judged(list(csv.DictReader(file))))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for what in dict.fromkeys(row["what"] for row in rows):
        errors = [abs(row["error_percent"]) for row in rows if row["what"] == what]
        print(f"{what}: {len(errors)} rows, median error {median(errors):.1f} %.")


if __name__ == "__main__":
    main(sys.argv[1])
