"""Traces that a scenario file names: read from beside it and put into the scenario as the figures a plan needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from commandline.foreign_text import shown
from sizing.base.arrays import ROUNDING
from sizing.base.errors import InvalidScenario, InvalidTrace
from sizing.base.units import S_PER_MINUTE
from sizing.scenario.beside import path_beside
from sizing.scenario.bounds import MAX_CV

if TYPE_CHECKING:  # pandas, which it needs, would slow down every start
    from sizing.scenario.trace import Trace

MAX_TRACE_BYTES = 512_000_000
"""Largest trace file; ten million rows of numbers are about half of it."""

GROUPS = 200
"""Groups of equally many requests that stand for the lengths of a trace; their mean is that of the trace."""

WINDOW_S, MOST_WINDOWS = S_PER_MINUTE, 2880
"""A rate is counted over a minute; over longer windows where a trace would have more than two days of them."""

SHORTEST_S = 1.0
"""Shortest trace that has a rate. Chosen: because rates are per second."""

LONGEST_NAME = 80
"""Characters of a file's name that a sentence shows."""

FEWEST_GAPS = 30
"""Gaps between arrivals from which their variation is taken. Chosen: because fewer say little about it."""


KEYS = (
    ("input_tokens", 0),
    ("output_tokens", 1),
    ("prefix_cached_tokens", 2),
    ("prefix_reuse", None),
    ("arrivals", None),
)
"""Keys of a workload that may name a trace, and which row of its tokens each is about."""


def with_traces(raw: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """The keys with every ``{trace: file}`` of the workload completed. Raises InvalidScenario, a sentence per fault."""
    workload = raw.get("workload")
    if not isinstance(workload, Mapping):
        return raw
    problems: list[str] = []
    completed: dict[str, Any] = {}
    for key, about in KEYS:
        given = workload.get(key)
        if not (isinstance(given, Mapping) and set(given) == {"trace"} and isinstance(given["trace"], str)):
            continue
        try:
            trace = beside(folder, given["trace"])
        except InvalidTrace as error:
            problems += [p for p in (f"workload.{key}: {problem}" for problem in error.problems) if p not in problems]
            continue
        if key == "prefix_reuse":
            if trace.reuse is None:
                file = shown(given["trace"], LONGEST_NAME)
                problems.append(f"workload.{key}: no prompt of {file} names blocks (hash_ids) that an earlier one had.")
            else:
                completed[key] = trace.reuse.model_dump() | {"trace": given["trace"]}
            continue
        if about is None and trace.duration_s < SHORTEST_S:
            file = shown(given["trace"], LONGEST_NAME)
            problems.append(f"workload.{key}: {file} covers less than a second: too short for a rate.")
            continue
        if key == "prefix_cached_tokens":
            completed[key] = cached_in(trace)
            continue
        facts = arrivals_in(trace) if about is None else {"groups": groups_of(trace.tokens[about])}
        completed[key] = {"trace": given["trace"], **facts}
    if problems:
        raise InvalidScenario(problems)
    return {**raw, "workload": {**workload, **completed}} if completed else raw


def beside(folder: Path, name: str) -> Trace:
    """The trace in a file beside the scenario. Raises InvalidTrace."""
    file = shown(name, LONGEST_NAME)
    try:
        path = path_beside(folder, name)
        about = path.stat() if path.is_file() else None
    except (OSError, ValueError):
        raise InvalidTrace([f"there is no readable file {file} beside the scenario or in a folder below."]) from None
    if about is None:
        raise InvalidTrace([f"there is no file {file} beside the scenario."])
    if about.st_size > MAX_TRACE_BYTES:
        raise InvalidTrace([f"{file} is larger than {MAX_TRACE_BYTES // 1_000_000} MB: cut it into shorter traces."])
    return _read(path, about.st_mtime_ns)


@lru_cache(maxsize=2)
def _read(path: Path, _changed: int) -> Trace:
    """One file often describes arrivals and both lengths."""
    from sizing.scenario.trace import read_trace

    return read_trace(path)


def groups_of(tokens: NDArray[Any]) -> list[float]:
    """Means of up to 200 groups of equally many lengths, shortest first."""
    lengths = np.sort(tokens.astype(np.float64))
    count = min(GROUPS, len(lengths))
    ends = np.arange(count + 1) * (len(lengths) / count)  # a request may lie in two groups, a share in each
    total = np.interp(ends, np.arange(len(lengths) + 1.0), np.concatenate([[0.0], np.cumsum(lengths)]))
    means: list[float] = np.maximum.accumulate(np.diff(total) / np.diff(ends)).tolist()
    return means


def cached_in(trace: Trace) -> float:
    """Mean cached tokens of a request, whole, and fewer than the median prompt has: a scenario's prompts share them."""
    prompts = groups_of(trace.tokens[0])
    return float(max(min(round(float(trace.tokens[2].mean())), int(prompts[len(prompts) // 2]) - 1), 0))


def arrivals_in(trace: Trace) -> dict[str, Any]:
    """Rate in consecutive windows, and the variation of the gaps in the busiest one (of all where it has few).

    A last window that is not full counts with the one before it.
    """
    duration = trace.duration_s
    window = max(min(WINDOW_S, duration), duration / MOST_WINDOWS)
    count = max(int(duration / window + ROUNDING), 1)
    index = np.minimum((trace.time_s / window).astype(np.int64), count - 1)
    counts = np.bincount(index, minlength=count)
    widths = np.full(count, window)
    widths[-1] = duration - (count - 1) * window
    rates = counts / widths
    busiest = np.flatnonzero(index == int(rates.argmax()))
    gaps = np.diff(trace.time_s[busiest] if len(busiest) > FEWEST_GAPS else trace.time_s)
    cv = float(gaps.std() / gaps.mean()) if len(gaps) > FEWEST_GAPS and gaps.mean() > 0 else 1.0
    return {"window_s": window, "rps": rates.tolist(), "cv": min(cv, float(MAX_CV))}
