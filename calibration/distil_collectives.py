"""The roofline's collectives fitted to measured ones: latency, growth with the GPUs, share of the link."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.distil_fit import Chip, Solved, chip_of, even, fastest, solved
from calibration.kernel_tables import newest
from sizing.base.arrays import Floats
from sizing.catalog.precisions import WIDE_BYTES

LEAST_MESSAGE, MOST_MESSAGE, MOST_GPUS = 1024, 2**28, 8
"""Bytes of an all-reduce from one row of a small model to a long prompt of a large one, and GPUs of a server."""
ELEMENT_BYTES = WIDE_BYTES
"""Bytes of one of the elements that the tables count messages in: all are 16 bits wide. Source: AIConfigurator,
``collector/collect_all_reduce.py``, whose ``message_size`` is the number of elements of the tensor."""
LATENCY, GROWTH, LINK = (5e-7, 5e-6, 1e-3), (1e-3, 0.2, 2.0), (0.01, 0.4, 1.2)
TWO_SHOT = (1e-7, 8e-6, 1e-3)
LEAST_MEASURED = 20
COLUMNS = ("kernel_source", "num_gpus", "message_size", "latency", "op_name")


@dataclass(frozen=True)
class Collective:
    """Fitted collective of one system and framework."""

    chip: Chip
    framework: str
    fit: Solved


def link_of(chip: Chip) -> float:
    """Bytes/s of the link between the GPUs of a server, one way."""
    return (chip.gpu.link_bytes_per_s if chip.gpu.has_fast_link else None) or chip.gpu.pcie_bytes_per_s


def all_reduces(wheel: Path) -> list[Collective]:
    """All-reduce of every system and framework, as its captured graphs run it (eager launches add tens of us)."""
    out = []
    for table in newest(wheel, "comm/custom_allreduce_perf", COLUMNS):
        chip, rows = chip_of(table.system), table.frame
        rows = rows[~rows["kernel_source"].str.contains("eager") & (rows["num_gpus"] <= MOST_GPUS)]
        rows = rows[(rows["message_size"] * ELEMENT_BYTES).between(LEAST_MESSAGE, MOST_MESSAGE)]
        rows = fastest(rows, ["num_gpus", "message_size"])
        if chip and len(rows) >= LEAST_MEASURED:
            out.append(Collective(chip, table.framework, all_reduce(rows, link_of(chip))))
    return out


def all_reduce(rows: pd.DataFrame, link: float) -> Solved:
    """Latency, growth, share of the link and time of a second shot in the roofline's all-reduce of ``message_size``
    elements."""
    gpus = rows["num_gpus"].to_numpy(dtype=np.float64)
    whole = (gpus - 1.0) * rows["message_size"].to_numpy(dtype=np.float64) * ELEMENT_BYTES / link

    def predict(x: dict[str, float]) -> Floats:
        wire = whole / x["link"]
        shots = np.minimum(wire, 2.0 / gpus * wire + x["two_shot_s"])
        return np.asarray(x["latency"] * (gpus / 2.0) ** x["growth"] + shots)

    free = {"latency": LATENCY, "growth": GROWTH, "link": LINK, "two_shot_s": TWO_SHOT}
    return solved(predict, free, rows["latency"].to_numpy(dtype=np.float64) * 1e-3, even(rows["message_size"]))


EXCHANGE = ["ep_size", "hidden_size", "topk", "num_experts", "num_tokens"]


def all_to_alls(wheel: Path) -> list[Collective]:
    """Dispatch and combine of expert parallelism within a server, fastest back end of every framework and shape."""
    out = []
    for table in newest(wheel, "comm/moe_a2a_perf", (*EXCHANGE, "comm_backend", "node_num", "phase", "latency")):
        chip, rows = chip_of(table.system), table.frame
        rows = rows[(rows["ep_size"] <= MOST_GPUS) & (rows["node_num"] == 1)]
        both = rows.pivot_table(index=["comm_backend", *EXCHANGE], columns="phase", values="latency").dropna()
        total = fastest(both.sum(axis=1).to_frame("latency").reset_index(), EXCHANGE)
        if chip and len(total) >= LEAST_MEASURED:
            out.append(Collective(chip, table.framework, all_to_all(total, link_of(chip))))
    return out


def all_to_all(rows: pd.DataFrame, link: float) -> Solved:
    """Latency of each half and share of the link in the roofline's all-to-all; latencies here are in microseconds."""
    ranks, chosen = rows["ep_size"].to_numpy(dtype=np.float64), rows["topk"].to_numpy(dtype=np.float64)
    remote = (ranks - 1.0) * (1.0 - (1.0 - 1.0 / ranks) ** chosen)
    wire = 2.0 * (rows["num_tokens"] * rows["hidden_size"]).to_numpy(dtype=np.float64) * remote * WIDE_BYTES / link

    def predict(x: dict[str, float]) -> Floats:
        return np.asarray(2.0 * x["latency"] + wire / x["link"])

    free = {"latency": LATENCY, "link": LINK}
    return solved(predict, free, rows["latency"].to_numpy(dtype=np.float64) * 1e-6, even(rows["num_tokens"]))
