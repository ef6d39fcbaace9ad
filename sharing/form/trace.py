"""A trace of requests as the form holds it: what it fills in, and which of that still stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sharing.form.numbers import show_number
from sizing.base.format import rounded
from sizing.scenario.trace_summary import TraceSummary, sentences, summary_of, workload_of

if TYPE_CHECKING:
    from sizing.scenario.trace import Trace

MOST_KEPT = 2_000_000
"""Requests that a session keeps for a replay: 40 MB. All of a longer trace count for lengths and rates."""

_OF = {
    "input_tokens": ("isl", "isl95", "unit", "compose"),
    "output_tokens": ("osl", "osl95", "unit"),
    "prefix_cached_tokens": ("cached", "isl", "isl95", "unit", "compose"),
    "prefix_reuse": ("cached", "isl", "isl95", "unit", "compose"),
    "arrivals": ("cv", "profile"),
}
"""The fields that decide about each key of the workload; once one was edited, what it says counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TraceInUse:
    """A trace that fills in the form. ``workload``: the keys it gives; ``filled``: the fields as it filled them in."""

    summary: TraceSummary
    workload: Mapping[str, Any]
    filled: Mapping[str, Any]
    requests: Trace

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.summary.name

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in sentences."""
        return sentences(self.summary)

    def stands(self, key: str, values: Mapping[str, Any]) -> bool:
        """Whether the fields that make up a key of the workload are still as the trace filled them in."""
        return all(values[field] == self.filled[field] for field in _OF[key])


def in_use(trace: Trace) -> TraceInUse:
    """A trace ready for the form. Raises InvalidTrace for one that is too short."""
    summary = summary_of(trace)
    kept = trace.first(MOST_KEPT) if len(trace) > MOST_KEPT else trace
    workload = workload_of(trace)
    filled = _filled(summary, workload["prefix_cached_tokens"])
    return TraceInUse(summary=summary, workload=workload, filled=filled, requests=kept)


def _filled(summary: TraceSummary, cached: float) -> dict[str, Any]:
    """The fields of the form: median and 95th percentile of the lengths, the busiest window as the peak."""
    prompt, output = summary.input_tokens, summary.output_tokens
    return {
        "isl": show_number(round(prompt.p50)),
        "isl95": show_number(round(prompt.p95)),
        "osl": show_number(round(output.p50)),
        "osl95": show_number(round(output.p95)),
        "unit": "tokens",
        "compose": False,
        "load": "rps",
        "rps": show_number(rounded(summary.peak_rps, 4)),
        "cached": show_number(cached),
        "cv": "",
        "profile": "",
    }
