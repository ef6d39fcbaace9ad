"""What a customer may conclude: what the figures rest on, what is extrapolated, and how far off that is."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from calibration.capacity_figures import shown
from calibration.extrapolations import LEFT_OUT
from calibration.held_intervals import inside
from sizing.catalog import gpus
from sizing.catalog.gpu_families import gpu_families
from sizing.evidence.extrapolation import EXTRAPOLATIONS, Extrapolation

Records = list[dict[str, Any]]

MEASURED = "configuration"
"""The scheme that stands for what was measured: a format of a model on a GPU left out, everything of it known."""

JUDGED = (("fixed_concurrency", "itl"), ("offline_max_throughput", "throughput"))
"""Protocols and metrics that say how far step times are off: those of one token, and of a full engine."""

HIGH = 0.9
"""Share of the errors that lie below what is shown beside the median."""

SHORT: Mapping[str, str] = MappingProxyType(
    {
        MEASURED: "another format or size of what was measured",
        "model": "another model",
        "new_gpu": "another GPU of a measured generation",
        "new_generation": "another GPU generation",
        "new_engine": "another engine",
        "pipeline": "pipeline stages",
        "tensor_apart": "tensor parallelism over PCIe or the network",
        "expert_apart": "expert parallelism over PCIe or the network",
        "attention_dp": "attention by data parallelism",
    }
)
"""What was left out, in words."""


def basis_records(capacity: pd.DataFrame) -> Records:
    """What the error of the capacity rests on: runs at their limits by GPU generation, with their models, GPUs and
    engines."""
    rows = shown(capacity)
    of_run = rows.assign(
        generation=rows["gpu"].map(_generation), error=(rows["planned_rps"] / rows["measured_rps"] - 1.0).abs()
    )
    out = []
    for generation, part in sorted(of_run.groupby("generation"), key=lambda one: -len(one[1])):
        out.append(
            {
                "generation": str(generation),
                "rows": len(part),
                "rows_pct": _percent(len(part) / len(rows)),
                "models": ", ".join(sorted({model.rpartition("/")[2] for model in part["model"]})),
                "gpus": ", ".join(sorted(set(part["gpu"]))),
                "engines": ", ".join(sorted(set(part["engine"].replace("default", "not stated")))),
                "median_pct": _percent(part["error"].median()),
                "p90_pct": _percent(float(part["error"].quantile(HIGH))),
            }
        )
    return out


def _generation(gpu_id: str) -> str:
    """ "Hopper", "Blackwell (10.x)"."""
    gpu = gpus()[gpu_id]
    label = gpu_families()[gpu.family].label
    return label if gpu.generation == gpu.family else f"{label} ({gpu.generation.rpartition('_')[2]}.x)"


def extrapolated_records(errors: pd.DataFrame, checked: pd.DataFrame, learnt: Mapping[str, Extrapolation]) -> Records:
    """By what was left out of the fit: how many measurements of how many groups, how far step times are off, how often
    their 80 % intervals hold, and how many times as far the ends lie as of something measured."""
    return [
        _record(name, _left_out(errors, name), _left_out(checked.assign(inside=inside(checked, 80)), name), learnt)
        for name in SHORT
    ]


def _left_out(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    scheme, group = LEFT_OUT.get(name, (name, {"model": "architecture"}.get(name, "configuration_name")))
    some = rows[rows["scheme"] == scheme]
    some = some[some[name] > 0] if name in EXTRAPOLATIONS else some
    named = some["architecture"] + some["gpu"] + some["engine"] + some["precision"]
    return some.assign(configuration_name=named, group=named if group == "configuration" else some.get(group, named))


def _record(name: str, rows: pd.DataFrame, hits: pd.DataFrame, learnt: Mapping[str, Extrapolation]) -> dict[str, Any]:
    judged = rows[[pair in JUDGED for pair in zip(rows["mode"], rows["metric"], strict=True)]]
    out: dict[str, Any] = {"left_out": SHORT[name], "rows": judged["id"].nunique(), "groups": judged["group"].nunique()}
    for mode, metric in JUDGED:
        some = (judged["mode"] == mode) & (judged["metric"] == metric)
        error = judged.loc[some, "error"].map(lambda log_ratio: abs(math.expm1(log_ratio)))
        held = hits[(hits["mode"] == mode) & (hits["metric"] == metric)]["inside"]
        out[f"{metric}_error_pct"] = _both(error)
        out[f"{metric}_inside_pct"] = _percent(held.mean()) if len(held) else "-"
    one = learnt.get(name)
    out["wider"] = "1 / 1" if one is None else f"{_factor(one, 'itl')} / {_factor(one, 'throughput')}"
    return out


def _factor(one: Extrapolation, metric: str) -> str:
    """ "1.97", "3.41 (by rule)"."""
    return f"{one.factors[metric]:g}" + (" (by rule)" if metric in one.by_rule else "")


def _both(error: pd.Series) -> str:
    """Median / 90th percentile in per cent, "-" of nothing."""
    return f"{_percent(error.median())} / {_percent(float(error.quantile(HIGH)))}" if len(error) else "-"


def _percent(share: float) -> float:
    return round(100.0 * float(share), 1)
