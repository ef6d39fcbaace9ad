"""``python -m calibration.processors``: how fast processors and unified memory are, into
``sizing/data/processors.yaml``.

``sizing/data/processor_runs.csv`` holds published runs of llama.cpp and OpenVINO Model Server (MIT, Apache-2.0); runs
whose licence allows no copy are added by ``--also``. Decode is bandwidth / bytes read x share, prefill the matrix rate
x share; shares by family of hardware and width of the weights, with shrinkage to those of GPUs. Judged with the source
left out; where a family has one source alone, with the machine left out, which the table says.
"""

import argparse
import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from sizing.base.arrays import Floats
from sizing.catalog.engines import engines
from sizing.catalog.files import DATA_DIR, read_yaml
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import precisions
from sizing.catalog.resolve import resolve_model
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.steps.efficiency import from_mapping
from sizing.steps.hardware import hardware
from sizing.steps.rates import rates
from sizing.steps.roofline import Roofline
from sizing.steps.shape import shapes_of

RUNS = DATA_DIR / "processor_runs.csv"
JUDGED = Path(__file__).parents[1] / "docs" / "accuracy" / "processors.csv"
WRITTEN = DATA_DIR / "processors.yaml"

FAMILIES = {
    "cpu_amx": ("memory_16", "memory_8", "matrix_16", "weight_only", "layer"),
    "cpu_vector": ("memory_4", "layer"),
    "apple": ("memory_16", "memory_4", "kv", "matrix_16", "attention", "weight_only", "layer"),
    "apple_m1": ("memory_16", "memory_4", "kv", "matrix_16", "attention", "weight_only", "layer"),
    "rdna35": ("memory_4", "kv", "matrix_16", "attention", "weight_only", "layer"),
}
"""Family -> the shares that its runs tell; the others follow (:func:`_completed`)."""
PLATFORMS = {"llamacpp on blackwell": ("device", "weight_only")}
"""Engine on a family that is fitted on its own -> what its runs tell: its factor, and how fast its kernels widen."""
SPREAD, RUN_ERROR = 0.7, 0.15
"""Width of the priors and error of a run, natural logarithms. Chosen: because shares of other families differ by as
much as a factor of two, and runs of one machine by different people by some 15 %."""
LAYER_SPREAD = 2.0
"""The same of fixed times. Chosen: because hundreds of threads that meet after every product take tens of times as long
as the launch of a kernel."""
MOST, MOST_LAYER = 0.95, 50.0
"""The largest share, and the longest fixed times, beside those of GPUs. Chosen: because no kernel reaches all of it."""
VECTOR_MATRIX = 0.3
"""Share of the matrix rate of CPUs without AMX, of whose prefill no run is known. Chosen: because AMX, five to thirty
times as fast, reaches a tenth of its own, and vector units wait less for memory."""
ANSWER = 200.0
"""Tokens of an answer in the runs of OpenVINO Model Server. Assumed: prompts of 220 and answers of 200 tokens, as in
the ShareGPT conversations that its load is like."""


def runs(also: Path | None = None) -> pd.DataFrame:
    """The published runs, one a row; ``tok_s`` of all ``sequences`` together."""
    frames = [pd.read_csv(path) for path in (RUNS, also) if path is not None]
    frame = pd.concat(frames, ignore_index=True)
    frame["family"] = [gpus()[name].family for name in frame["gpu"]]
    return frame


class Runs:
    """The runs of one family as columns of the engine: predicted tokens/s for any shares."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame.reset_index(drop=True)
        rows = [_configuration(run) for _, run in self.frame.iterrows()]
        self.candidates = table(rows)
        self.facts = hardware(self.candidates)
        self.shapes = shapes_of([resolve_model(name).model for name in self.frame["model"]])
        self.log_measured = np.log(self.frame["tok_s"].to_numpy(dtype=float))

    def log_predicted(self, raw: Mapping[str, Any]) -> Floats:
        """Logarithm of tokens/s of each run (N,), by an efficiency file as it is parsed."""
        fit = from_mapping(raw)
        speed, frame = rates(self.candidates, self.facts, fit, 2026.0), self.frame
        sequences = frame["sequences"].to_numpy(dtype=float)[:, None]
        context = frame["context"].to_numpy(dtype=float)[:, None]
        new = frame["tokens"].fillna(1.0).to_numpy(dtype=float)[:, None]
        times = Roofline(fit).at_rates(self.shapes, speed, new, context, context, sequences)
        decode = times.decode_s[:, 0] + np.where(
            frame["phase"] == "serving", sequences[:, 0] / ANSWER * times.prefill_work_s, 0.0
        )
        prompts = frame["phase"] == "prefill"
        tokens = np.where(prompts, new[:, 0], sequences[:, 0])
        return np.asarray(np.log(tokens / np.where(prompts, times.prefill_s, decode)))


def _configuration(run: pd.Series) -> Configuration:
    return Configuration(
        gpu=gpus()[run["gpu"]],
        engine=engines()[run["engine"]],
        precision=precisions()[run["precision"]],
        kv_precision="fp16",
        tp=1,
        pp=1,
        ep=1,
        dp=1,
    )


def fitted(of: Runs, group: str) -> dict[str, float]:
    """The shares of one family, or the factors of one platform, that its runs tell best; each source weighs alike."""
    names = FAMILIES.get(group) or PLATFORMS[group]
    start = _prior(group)
    prior = np.log([start[name] for name in names])
    fixed = np.array([name in ("layer", "device") for name in names])
    spread, most = np.where(fixed, LAYER_SPREAD, SPREAD), np.log(np.where(fixed, MOST_LAYER, MOST))
    counts = of.frame.groupby("source")["source"].transform("size").to_numpy(dtype=float)
    weight = np.sqrt(len(of.frame) / counts / of.frame["source"].nunique())

    def residuals(logs: Floats) -> Floats:
        values = dict(zip(names, np.exp(logs), strict=True))
        difference = of.log_predicted(_with(group, values)) - of.log_measured
        return np.concatenate([weight * difference / RUN_ERROR, (logs - prior) / spread])

    best = least_squares(residuals, np.minimum(prior, most - 0.1), bounds=(-np.inf, most), loss="soft_l1").x
    return {name: float(f"{value:.3g}") for name, value in zip(names, np.exp(best), strict=True)}


def _prior(group: str) -> dict[str, float]:
    """Where a share is without runs: that of GPUs; of what they have not, no loss by widening weights."""
    return {**read_yaml("efficiency.yaml")["families"]["default"], "weight_only": 1.0, "device": 1.0}


def _completed(group: str, values: Mapping[str, float]) -> dict[str, float]:
    """Shares that no run tells, taken from those that some do: memory of another width from the nearest width, the KV
    cache and attention as 16-bit memory and products."""
    out = dict(values)
    memory = [name for name in ("memory_16", "memory_8", "memory_4") if name in out]
    for name, nearest in (("memory_16", memory[0]), ("memory_8", memory[-1]), ("memory_4", memory[-1])):
        out.setdefault(name, out[nearest])
    out.setdefault("kv", out["memory_16"])
    if group == "cpu_vector":
        out["matrix_16"] = VECTOR_MATRIX
    for name in ("matrix_8", "attention"):
        out.setdefault(name, out["matrix_16"])
    return out


def _with(group: str, values: Mapping[str, float]) -> dict[str, Any]:
    """The efficiencies of GPUs with those of one group."""
    fit = dict(read_yaml("efficiency.yaml"))
    where = "families" if group in FAMILIES else "platforms"
    shares, widened = _apart(_completed(group, values) if group in FAMILIES else values)
    return fit | {where: fit[where] | {group: shares}, "widened": {group: widened}}


def _apart(values: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """The shares of a family, and how fast weights are that have to be widened: 1 where no run tells."""
    shares = dict(values)
    return shares, shares.pop("weight_only", 1.0)


def groups(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each family and platform with its runs."""
    for group in FAMILIES:
        yield group, frame[frame["family"] == group]
    for group in PLATFORMS:
        engine, _, family = group.partition(" on ")
        yield group, frame[(frame["family"] == family) & (frame["engine"] == engine)]


def judged(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Errors of runs that the fit had not seen, by group, phase and what was left out."""
    out, parts = [], []
    for group, rows in groups(frame):
        for phase, of_phase in rows.groupby("phase"):
            by = next((key for key in ("source", "gpu", "model") if of_phase[key].nunique() > 1), "")
            part = of_phase.assign(ratio=np.nan) if not by else pd.concat(list(_unseen(group, rows, of_phase, by)))
            out.append({"group": group, "phase": phase, "left_out": LEFT_OUT[by], **_errors(part)})
            parts.append(part)
    all_decode = [part for part in parts if set(part["phase"]) != {"prefill"}]
    return [{"group": "all", "phase": "decode", "left_out": "as below", **_errors(pd.concat(all_decode))}, *out]


def _errors(part: pd.DataFrame) -> dict[str, Any]:
    """How far predictions lay from runs that the fit had not seen; empty where every run was seen."""
    error = 100.0 * (part["ratio"] - 1.0).abs()
    known = {
        "ratio": round(float(part["ratio"].median()), 3),
        "median_pct": round(float(error.median()), 1),
        "p90_pct": round(float(error.quantile(0.9)), 1),
    }
    return {
        "runs": len(part),
        "sources": part["source"].nunique(),
        "machines": part["gpu"].nunique(),
        **(known if len(error.dropna()) else dict.fromkeys(known, "")),
    }


LEFT_OUT = {"source": "source", "gpu": "machine (one source)", "model": "model (one machine)", "": "nothing"}
"""What was left out of the fit, by the column that tells it apart."""


def _unseen(group: str, rows: pd.DataFrame, of_phase: pd.DataFrame, by: str) -> Iterator[pd.DataFrame]:
    """The runs of a phase with predicted over measured, each part by a fit that had none of it."""
    for name in of_phase[by].unique():
        unseen = Runs(of_phase[of_phase[by] == name])
        values = fitted(Runs(rows[rows[by] != name]), group)
        ratio = np.exp(unseen.log_predicted(_with(group, values)) - unseen.log_measured)
        yield unseen.frame.assign(ratio=ratio)


def main() -> None:
    """Fit, judge, and write both."""
    parser = argparse.ArgumentParser(prog="python -m calibration.processors", description=__doc__)
    parser.add_argument("--also", type=Path, help="further runs with the same columns")
    frame = runs(parser.parse_args().also)
    shares = {group: fitted(Runs(rows), group) for group, rows in groups(frame)}
    records = judged(frame)
    WRITTEN.write_text(_as_yaml(frame, shares, records), encoding="utf-8")
    with JUDGED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0] | records[-1]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def _as_yaml(frame: pd.DataFrame, shares: Mapping[str, dict[str, float]], records: list[dict[str, Any]]) -> str:
    """The file that the engine reads: shares, and what of each group is known and how far off it was."""
    lines = [
        "# Shares of bandwidth and matrix rate that processors and unified memory reach, as in efficiency.yaml.",
        "# Written by python -m calibration.processors; widened: matrix rate of weight-only formats beside 16 bit.",
    ]
    families = {group: _apart(_completed(group, values)) for group, values in shares.items() if group in FAMILIES}
    platforms = {group: _apart(values) for group, values in shares.items() if group in PLATFORMS}
    widened = ", ".join(f"{group}: {factor:g}" for group, (_, factor) in (families | platforms).items())
    lines.append(f"widened: {{{widened}}}")
    for title, rows in (("families", families), ("platforms", platforms)):
        lines.append(f"{title}:")
        lines += [
            f"  {name}: {{{', '.join(f'{k}: {v:g}' for k, v in row.items())}}}" for name, (row, _) in rows.items()
        ]
    lines.append("evidence:")
    for group, part in groups(frame):
        judged_by = next(r for r in records if r["group"] == group and r["phase"] != "prefill")
        row = {
            "runs": len(part),
            "sources": part["source"].nunique(),
            "machines": part["gpu"].nunique(),
            "left_out": judged_by["left_out"].partition(" ")[0],
            "median_pct": judged_by["median_pct"],
            "p90_pct": judged_by["p90_pct"],
        }
        lines.append(f"  {group}: {{{', '.join(f'{key}: {value}' for key, value in row.items())}}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
