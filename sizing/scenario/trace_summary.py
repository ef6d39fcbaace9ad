"""What a trace of requests says about a workload: lengths, rates, gaps; and the keys of a scenario that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from sizing.base.errors import InvalidTrace
from sizing.base.format import count, counted, percent, requests_per_s, significant
from sizing.base.quantity import Result, quantity
from sizing.base.units import S_PER_HOUR, S_PER_MINUTE
from sizing.scenario.traces import SHORTEST_S, arrivals_in, cached_in, groups_of

if TYPE_CHECKING:
    from sizing.scenario.trace import Trace


class LengthSummary(Result):
    """How long prompts or outputs are."""

    mean: Annotated[float, quantity("Mean", "tokens", "sum / requests", "Mean over requests.")]
    p50: Annotated[float, quantity("p50", "tokens", "empirical", "Half of the requests are shorter.")]
    p95: Annotated[float, quantity("p95", "tokens", "empirical", "95 % of the requests are shorter.")]
    longest: Annotated[float, quantity("Longest", "tokens", "empirical", "The longest one.")]


class TraceSummary(Result):
    """What was found in a trace."""

    name: Annotated[str, quantity("Trace", help="Name of the file.")]
    requests: Annotated[int, quantity("Requests", "requests", "rows", "Rows that were read.")]
    duration_s: Annotated[float, quantity("Duration", "s", "last - first timestamp", "Time the trace covers.")]
    mean_rps: Annotated[float, quantity("Mean rate", "requests/s", "requests / duration", "Over the whole trace.")]
    window_s: Annotated[
        float, quantity("Window", "s", "60, or the trace if shorter", "Over which the busiest rate is counted.")
    ]
    peak_rps: Annotated[
        float, quantity("Busiest window", "requests/s", "requests / window", "What a plan is sized for.")
    ]
    peak_at_s: Annotated[float, quantity("Busiest window from", "s", "since the first request", "When it starts.")]
    peak_hour_rps: Annotated[
        float | None,
        quantity(
            "Busiest hour", "requests/s", "largest mean over 3600 s of windows", "None in a trace shorter than an hour."
        ),
    ]
    gap_cv: Annotated[
        float,
        quantity("Burstiness", "CV of the gaps", "deviation / mean of the gaps in the busiest window", "1 is Poisson."),
    ]
    longest_gap_s: Annotated[
        float, quantity("Longest gap", "s", "largest difference of timestamps", "Without any request.")
    ]
    longest_gap_at_s: Annotated[float, quantity("Longest gap from", "s", "since the first request", "When it starts.")]
    input_tokens: Annotated[LengthSummary, quantity("Prompts", help="Prompt tokens.")]
    output_tokens: Annotated[LengthSummary, quantity("Outputs", help="Output tokens.")]
    cached_mean: Annotated[float, quantity("Cached tokens", "tokens", "sum / requests", "Mean per request.")]
    cached_share: Annotated[float, quantity("Cached share", "fraction", "cached / prompt tokens", "Over all requests.")]
    notes: Annotated[tuple[str, ...], quantity("Notes", help="What is odd about the trace.")]


def summary_of(trace: Trace) -> TraceSummary:
    """What a trace says. Raises InvalidTrace for one that is too short for a rate."""
    if trace.duration_s < SHORTEST_S:
        prompt, output, _ = trace.tokens.mean(axis=1)
        raise InvalidTrace(
            [
                f"{trace.name} covers less than a second: too short for a rate. Read: "
                f"{counted(len(trace), 'request')} of {count(float(prompt))} prompt and {count(float(output))} output "
                "tokens on average."
            ]
        )
    arrivals = arrivals_in(trace)
    rates, window = np.asarray(arrivals["rps"]), float(arrivals["window_s"])
    gaps = np.diff(trace.time_s)
    longest, busiest = int(gaps.argmax()), int(rates.argmax())
    cached = trace.tokens[2]
    return TraceSummary(
        name=trace.name,
        requests=len(trace),
        duration_s=trace.duration_s,
        mean_rps=trace.mean_rps,
        window_s=window,
        peak_rps=float(rates[busiest]),
        peak_at_s=busiest * window,
        peak_hour_rps=_busiest_hour(rates, window),
        gap_cv=float(arrivals["cv"]),
        longest_gap_s=float(gaps[longest]),
        longest_gap_at_s=float(trace.time_s[longest]),
        input_tokens=_length(trace.tokens[0]),
        output_tokens=_length(trace.tokens[1]),
        cached_mean=float(cached.mean()),
        cached_share=float(cached.sum(dtype=np.float64) / trace.tokens[0].sum(dtype=np.float64)),
        notes=trace.notes,
    )


def _length(tokens: Any) -> LengthSummary:
    p50, p95 = np.percentile(tokens, [50, 95])
    return LengthSummary(mean=float(tokens.mean()), p50=float(p50), p95=float(p95), longest=float(tokens.max()))


def _busiest_hour(rates: Any, window_s: float) -> float | None:
    """Largest mean rate over an hour of consecutive windows."""
    windows = round(S_PER_HOUR / window_s)
    if windows < 1 or len(rates) < windows:
        return None
    total = np.concatenate([[0.0], np.cumsum(rates)])
    return float((total[windows:] - total[:-windows]).max() / windows)


def workload_of(trace: Trace) -> dict[str, Any]:
    """The keys of a scenario's workload that a trace fills in, so that no second file is needed."""
    lengths = {
        key: {"trace": trace.name, "groups": groups_of(trace.tokens[row])}
        for row, key in enumerate(("input_tokens", "output_tokens"))
    }
    return {
        **lengths,
        "prefix_cached_tokens": cached_in(trace),
        **({} if trace.reuse is None else {"prefix_reuse": trace.reuse.model_dump()}),
        "arrivals": {"trace": trace.name, **arrivals_in(trace)},
    }


def sentences(summary: TraceSummary) -> tuple[str, ...]:
    """What was found, a line each: how much, how fast, how long, how bursty, what is odd."""
    hour = "" if summary.peak_hour_rps is None else f", in the busiest hour {requests_per_s(summary.peak_hour_rps)}"
    window = "minute" if summary.window_s == S_PER_MINUTE else f"{significant(summary.window_s)} s"
    prompt, output = summary.input_tokens, summary.output_tokens
    cached = (
        f" {count(summary.cached_mean)} of them are cached ({percent(summary.cached_share)})."
        if summary.cached_mean > 0
        else ""
    )
    return (
        f"{summary.name}: {counted(summary.requests, 'request')} in {_time(summary.duration_s)}.",
        f"Rate: {requests_per_s(summary.mean_rps)} on average{hour}, in the busiest {window} "
        f"{requests_per_s(summary.peak_rps)} (from {_time(summary.peak_at_s)} on); coefficient of variation of the "
        f"gaps {summary.gap_cv:.2g}, longest gap {_time(summary.longest_gap_s)}.",
        f"Prompt: {count(prompt.mean)} tokens on average, p50 {count(prompt.p50)}, p95 {count(prompt.p95)}, longest "
        f"{count(prompt.longest)}.{cached}",
        f"Output: {count(output.mean)} tokens on average, p50 {count(output.p50)}, p95 {count(output.p95)}, longest "
        f"{count(output.longest)}.",
        *summary.notes,
    )


def _time(seconds: float) -> str:
    """ "45 s", "58.9 minutes", "3.2 hours"."""
    if seconds < 120.0:
        return f"{significant(seconds)} s"
    if seconds < 2 * S_PER_HOUR:
        return f"{significant(seconds / S_PER_MINUTE)} minutes"
    return f"{significant(seconds / S_PER_HOUR)} hours"
