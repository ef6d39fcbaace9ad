"""The roofline's attention fitted to measured kernels: arithmetic of prompts, KV-cache reads of decoding."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.distil_fit import Chip, Solved, chip_of, even, geometric_mean, solved, thinned
from calibration.distil_matrices import START
from calibration.kernel_tables import KernelTable, newest
from sizing.base.arrays import Floats
from sizing.catalog.precisions import KV_BYTES, WIDE_BYTES
from sizing.steps.attention import bound

DEFAULTS: dict[str, str | int] = {"head_dim": 128, "kv_cache_dtype": "bfloat16", "window_size": 0, "step": 0}
"""What a table without the column measured."""
COLUMNS = ("batch_size", "isl", "num_heads", "num_key_value_heads", "latency", *DEFAULTS)
KV_FORMATS = {"bfloat16": "fp16", "fp8": "fp8"}
HEAD_WEIGHTS = {128: 2.0, 64: 1.0}
"""Head sizes that are fitted, and how often models have them. Chosen: because two of three dense families have 128."""
LEAST_CONTEXT, LEAST_PROMPT, MOST_SHARED = 256, 512, 16
"""Tokens of context in decode, of a prompt, and query heads that share a KV head, as serving has them."""
COLD_BYTES = 2**26
"""KV-cache bytes of a layer from which a kernel that is repeated cannot find them in a cache of the GPU, as one of a
whole model never does. Chosen: because the largest such cache holds 128 MB, of which a run of kernels keeps half."""
LEAST_MEASURED, ROWS = 100, 150
SHARE = (0.03, 0.6, 1.2)
QUERY_PAIRS = (10.0, 300.0, 3000.0)
PROMPT_FORMAT = "bfloat16"
"""KV format of the prompts that are fitted: with others some engines multiply at 8 bit, some widen."""


@dataclass(frozen=True)
class Kernel:
    """Fitted attention of one system, framework, KV format and head size: the share of its rate that it reaches."""

    chip: Chip
    framework: str
    head: int
    fit: Solved


def read_bytes(rows: pd.DataFrame, kv: str) -> Floats:
    """KV-cache bytes that one decode step reads in one layer."""
    context = (rows["isl"] + rows["step"]).to_numpy(dtype=np.float64) * rows["batch_size"].to_numpy(dtype=np.float64)
    values = 2.0 * (rows["num_key_value_heads"] * rows["head_dim"]).to_numpy(dtype=np.float64)
    return np.asarray(context * values * KV_BYTES[KV_FORMATS[kv]])


def decode_s(rows: pd.DataFrame, chip: Chip, kv: str, share: float, attention: float, exposed: float) -> Floats:
    """Seconds of one decode step's attention in one layer: the roofline's, cache reads against arithmetic."""
    context = (rows["isl"] + rows["step"]).to_numpy(dtype=np.float64) * rows["batch_size"].to_numpy(dtype=np.float64)
    score = 4.0 * context * (rows["num_heads"] * rows["head_dim"]).to_numpy(dtype=np.float64)
    read = read_bytes(rows, kv) / (chip.bandwidth * share)
    return bound(score / (chip.wide * attention), read, exposed)


def prompt_s(rows: pd.DataFrame, chip: Chip, values: Mapping[str, float], memory: float, exposed: float) -> Floats:
    """Seconds of causal attention of whole prompts in one layer, products and softmax overlapping, with reading
    and writing what it works on."""
    batch, new = rows["batch_size"].to_numpy(dtype=np.float64), rows["isl"].to_numpy(dtype=np.float64)
    heads, size = rows["num_heads"].to_numpy(dtype=np.float64), rows["head_dim"].to_numpy(dtype=np.float64)
    both = 2.0 * heads + 2.0 * rows["num_key_value_heads"].to_numpy(dtype=np.float64)
    scores = batch * new * (new / 2.0 + values["query_pairs"]) * heads
    moved = batch * new * both * size * WIDE_BYTES
    products = 4.0 * scores * size / (chip.wide * values["share"])
    computed = bound(products, scores / chip.scores, exposed)
    return np.asarray(computed + moved / (chip.bandwidth * memory))


def prompts(wheel: Path, memory: Mapping[str, float], exposed: float, query_pairs: float | None = None) -> list[Kernel]:
    """Share of the 16-bit rate that products of prompts' attention reach, and pairs that a query takes beyond its own
    where none are given; ``memory``: share of bandwidth by family."""
    free = {"start": START, "share": SHARE} | ({"query_pairs": QUERY_PAIRS} if query_pairs is None else {})
    given = {} if query_pairs is None else {"query_pairs": query_pairs}
    out = []
    for table, chip, (kv, head), rows in _tables(wheel, "attention/context_attention_perf"):
        rows = rows[(rows["isl"] >= LEAST_PROMPT) & (rows["step"] == 0)]
        if kv == PROMPT_FORMAT and len(rows) >= LEAST_MEASURED:
            rows = thinned(rows, "isl", ROWS)

            def predict(x: Mapping[str, float], rows: pd.DataFrame = rows, chip: Chip = chip) -> Floats:
                return x["start"] + prompt_s(rows, chip, {**x, **given}, memory[chip.family], exposed)

            fit = solved(predict, free, _seconds(rows), even(rows["isl"]))
            out.append(Kernel(chip, table.framework, head, fit))
    return out


def decodes(wheel: Path, attention: Mapping[str, float], exposed: float) -> list[Kernel]:
    """Share of the bandwidth at which decoding reads the KV cache; ``attention``: share of matrix rate by family."""
    out = []
    for table, chip, (kv, head), rows in _tables(wheel, "attention/generation_attention_perf"):
        shared = rows["num_heads"] // rows["num_key_value_heads"]
        grouped = (shared > 1) & (shared <= MOST_SHARED)
        cold = read_bytes(rows, kv) >= COLD_BYTES
        rows = rows[grouped & cold & (rows["isl"] + rows["step"] >= LEAST_CONTEXT)]
        if len(rows) >= LEAST_MEASURED:
            rows = thinned(rows, "step", ROWS)

            def predict(x: Mapping[str, float], rows: pd.DataFrame = rows, chip: Chip = chip, kv: str = kv) -> Floats:
                return x["start"] + decode_s(rows, chip, kv, x["share"], attention[chip.family], exposed)

            fit = solved(predict, {"start": START, "share": SHARE}, _seconds(rows), even(rows["step"]))
            out.append(Kernel(chip, table.framework, head, fit))
    return out


def _tables(wheel: Path, kind: str) -> Iterator[tuple[KernelTable, Chip, tuple[str, int], pd.DataFrame]]:
    """Tables of full attention by KV format and head size."""
    for table in newest(wheel, kind, COLUMNS):
        if chip := chip_of(table.system):
            frame = table.frame.copy()
            for column in set(DEFAULTS) - set(frame):
                frame[column] = DEFAULTS[column]
            frame = frame[frame["window_size"] == 0]
            for kv in KV_FORMATS:
                for head in HEAD_WEIGHTS:
                    same = (frame["kv_cache_dtype"] == kv) & (frame["head_dim"] == head)
                    yield table, chip, (kv, head), frame[same]


def _seconds(rows: pd.DataFrame) -> Floats:
    return rows["latency"].to_numpy(dtype=np.float64) * 1e-3


def over_heads(by_head: Mapping[int, float]) -> float:
    """Geometric mean over head sizes, weighted by how common they are."""
    return geometric_mean([v for head, v in by_head.items() for _ in range(int(HEAD_WEIGHTS[head]))])
