"""Why a prediction is far from a measurement: by rule from the row, its neighbours and its group, never by hand."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

CONCERNED = 0.5
"""Share of a row's log error that a group or a neighbour must explain to be named as the reason."""

NEIGHBOURS_APART = 0.4
"""Difference of log errors between adjacent loads of one curve beyond which the source contradicts itself."""

JUMP = f"a factor of {np.exp(NEIGHBOURS_APART):.1f}"


@dataclass(frozen=True, kw_only=True)
class ErrorRow:
    """One row of the error table with its cells in the library, its curve, and the median log error of its group."""

    error: float
    cells: pd.Series
    label: pd.Series
    neighbours: tuple[float, ...]
    group: float

    @property
    def slower(self) -> bool:
        """Whether it was measured slower than predicted."""
        return bool((self.error < 0) == (self.label["metric"] != "throughput"))

    def noted(self, *words: str) -> bool:
        """Whether the library's remark on the row holds one of the words."""
        return any(w.lower() in str(self.cells["notes"]).lower() for w in words)

    def value(self, name: str) -> float:
        """A numeric cell, NaN where empty."""
        return float(self.cells[name])


def _other_load(row: ErrorRow) -> bool:
    """Far fewer requests were running than stated: by Little's law those in flight are rate x E2E."""
    tokens, itl, first = (row.value(n) for n in ("output_tokens_per_s", "itl_ms_mean", "ttft_ms_mean"))
    running = float(tokens * itl * 1e-3)
    if np.isfinite(running):
        return running < 0.5 * row.value("concurrency_or_batch")
    answer = itl * (row.value("osl") - 1.0)
    return bool(np.isfinite(first + answer) and first > answer)


def _self_contradiction(row: ErrorRow) -> bool:
    return any(abs(row.error - other) > NEIGHBOURS_APART for other in row.neighbours)


def _whole_group(row: ErrorRow) -> bool:
    return row.group * row.error > 0 and abs(row.group) >= CONCERNED * abs(row.error)


RULES: tuple[tuple[Callable[[ErrorRow], bool], str], ...] = (
    (lambda r: r.noted("SUSPECT", "typo", "unclear", "doubtful"), "the library marks the row as doubtful"),
    (lambda r: r.noted("overload"), "the source calls the run overloaded"),
    (
        lambda r: r.label["mode"] == "fixed_concurrency" and _other_load(r),
        "most of a request's stay was queueing: far fewer sequences ran than were sent",
    ),
    (
        lambda r: r.label["fits"] < r.label["concurrency"],
        "more sequences than fit in memory by our estimate: how they wait decides",
    ),
    (lambda r: r.noted("MTP") and not r.slower, "speculative decoding may have been on; the source does not say"),
    (
        lambda r: r.value("software_year") < 2025.3 and r.label["architecture"].startswith("671B") and r.slower,
        "software of the first months of DeepSeek support",
    ),
    (_self_contradiction, f"the curve contradicts itself: the error of an adjacent load differs by {JUMP} or more"),
    (
        lambda r: r.value("software_year") < 2025.0 and r.label["family"].startswith("cdna"),
        "ROCm software of 2024 and before, whose tuning differs from run to run",
    ),
    (
        lambda r: r.value("software_year") < 2024.5 and r.label["mode"] == "static_batch",
        "software before mid 2024 without today's batching",
    ),
    (
        lambda r: bool(pd.isna(r.cells["tp"])) and bool(pd.isna(r.cells["weight_precision"])),
        "neither format nor layout are stated",
    ),
    (lambda r: bool(pd.isna(r.cells["tp"])), "the layout is not stated"),
    (_whole_group, "all of this model on this engine and GPU family is off in this direction: kernels of its own"),
    (lambda r: r.label["apart"] > 0.3, "kernel tables and roofline contradict each other"),
)
"""Conditions in order of how specific they are, and the reason each stands for."""


def reason(row: ErrorRow) -> str:
    """The first rule that fits, or that none does."""
    return next((text for rule, text in RULES if rule(row)), "no rule explains it")


def rows_of(chosen: pd.DataFrame, errors: pd.DataFrame, cells: pd.DataFrame) -> list[ErrorRow]:
    """The chosen errors with what the rules look at; ``errors`` are all of the same scheme, ``cells`` the library."""
    group = errors.groupby([*GROUP, "metric"])["error"].median()
    out = []
    for _, label in chosen.iterrows():
        same = errors[(errors["metric"] == label["metric"]) & (errors["mode"] == label["mode"])]
        for name in CURVE:
            same = same[same[name] == label[name]]
        loads = same["concurrency"].sort_values()
        place = int(np.searchsorted(loads.to_numpy(), label["concurrency"]))
        near = [loads.index[i] for i in (place - 1, place + 1) if 0 <= i < len(loads)]
        out.append(
            ErrorRow(
                error=float(label["error"]),
                cells=cells.iloc[int(label["row"])],
                label=label,
                neighbours=tuple(float(errors.loc[i, "error"]) for i in near if i != label.name),
                group=float(group.loc[tuple(label[n] for n in (*GROUP, "metric"))]),
            )
        )
    return out


GROUP = ("architecture", "engine", "family", "mode")
CURVE = ("source", "model", "gpu", "engine", "precision", "gpus", "input_tokens", "output_tokens")
"""What makes rows of one curve."""
