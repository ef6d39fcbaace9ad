"""What a simulation answers; every public field carries its label, unit, formula and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from sizing.base.frame import frame_of
from sizing.base.quantity import Estimate, Result, WithPercentiles, quantity

if TYPE_CHECKING:
    import pandas as pd

RunVerdict = Literal["stable", "unstable", "stopped", "infeasible"]


class Distribution(WithPercentiles):
    """One latency over the requests of a simulation, each with its 95 % Monte-Carlo interval (batch means).

    More requests narrow it; high is none where too few requests were that slow to bound it.
    """

    stated = "simulation"

    mean: Annotated[Estimate, quantity("Mean", "ms", "sum / requests", "Mean over requests.")]
    percentiles: Annotated[
        tuple[Estimate, ...], quantity("Percentiles", "ms", "see simulation", "One for each that it states.")
    ]
    at_percentile: Annotated[
        Estimate, quantity("Asked percentile", "ms", "see simulation", "At the percentile of the limit.", alias="asked")
    ]

    def at(self, percent: float) -> Estimate:
        """The value in ms at one of the percentiles that a simulation states. Raises ValueError for any other."""
        return self.percentiles[self.percents().index(percent)]


class SimulatedBins(Result):
    """How the simulation went over time, one entry per bin."""

    bin_s: Annotated[float, quantity("Bin", "s", "simulated time / bins", "Width of a bin.")]
    arrived_rps: Annotated[
        tuple[float, ...], quantity("Arrivals", "requests/s", "counted / bin", "Requests that came.")
    ]
    finished_rps: Annotated[
        tuple[float, ...], quantity("Finished", "requests/s", "counted / bin", "Requests that ended.")
    ]
    rejected_rps: Annotated[
        tuple[float, ...], quantity("Rejected", "requests/s", "counted / bin", "Requests turned away.")
    ]
    output_tokens_per_s: Annotated[
        tuple[float, ...],
        quantity("Output tokens", "tokens/s", "tokens of the requests that ended / bin", "Generated tokens."),
    ]
    ttft_ms: Annotated[
        tuple[float | None, ...],
        quantity(
            "Mean TTFT", "ms", "mean over first tokens in the bin", "Time to first token; none in a bin without one."
        ),
    ]
    running: Annotated[
        tuple[float, ...], quantity("Decoding sequences", "requests", "time average", "All replicas together.")
    ]
    waiting: Annotated[tuple[float, ...], quantity("Waiting", "requests", "time average", "All queues together.")]
    kv_use: Annotated[
        tuple[float, ...], quantity("KV use", "fraction", "time average over replicas", "Share of the KV cache.")
    ]
    busy: Annotated[
        tuple[float, ...], quantity("Busy share", "fraction", "time average over replicas", "Time in steps.")
    ]


class Failure(Result):
    """One instance, or a system with all of its instances, that fails and returns, and what that does to the others."""

    start_s: Annotated[
        float, quantity("Fails at", "s", "a third of the simulated time", "From the start of the simulation.")
    ]
    end_s: Annotated[float, quantity("Returns at", "s", "start + minutes asked", "Its caches are empty then.")]
    instances_lost: Annotated[int, quantity("Instances lost", "instances", "asked", "Those that fail together.")] = 1
    instances_left: Annotated[
        int, quantity("Instances left", "instances", "all but these", "Those that serve meanwhile.")
    ]
    stable_rps_left: Annotated[
        float,
        quantity(
            "Largest stable load meanwhile",
            "requests/s",
            "stable load x left / all",
            "Beyond this the queue grows until the instance returns.",
        ),
    ]
    started_again: Annotated[
        int, quantity("Started again", "requests", "counted", "Requests that the instance had to give up.")
    ]
    ttft_before_ms: Annotated[
        float | None, quantity("Mean TTFT before", "ms", "mean over first tokens", "Until the failure.")
    ]
    ttft_meanwhile_ms: Annotated[
        float | None,
        quantity(
            "Mean TTFT meanwhile",
            "ms",
            "mean over first tokens until the queue is as before",
            "From the failure until all is as before.",
        ),
    ]
    requests: Annotated[
        int,
        quantity("Requests meanwhile", "requests", "counted", "Requests in the system while the instance was down."),
    ]
    percentile: Annotated[float, quantity("Asked percentile", "%", "asked", "The percentile of the limits.")]
    ttft_ms: Annotated[float | None, quantity("TTFT meanwhile", "ms", "at the asked percentile", "Of these requests.")]
    itl_ms: Annotated[float | None, quantity("ITL meanwhile", "ms", "at the asked percentile", "Of these requests.")]
    e2e_ms: Annotated[float | None, quantity("E2E meanwhile", "ms", "at the asked percentile", "Of these requests.")]
    meets_limits: Annotated[
        bool,
        quantity("Limits met meanwhile", help="Whether every limit holds at its percentile for these requests alone."),
    ]
    longest_queue: Annotated[
        float, quantity("Longest queue", "requests", "largest bin from the failure on", "All queues.")
    ]
    recovered_after_s: Annotated[
        float | None,
        quantity(
            "Queue as before after",
            "s",
            "first bin after the return in which no more requests wait than before the failure",
            "From the return on; none if not within the simulated time.",
        ),
    ]


class SimulationResult(Result):
    """A deployment under simulated traffic. Latencies are none unless the load can be carried."""

    answer: Annotated[str, quantity("Answer", help="The finding in one sentence.")]
    verdict: Annotated[
        RunVerdict, quantity("Verdict", help="stable, unstable (the queue grows), stopped, or infeasible.")
    ]
    deployment: Annotated[str, quantity("Deployment", help="What was simulated.")]
    instances: Annotated[
        int, quantity("Instances", "instances", "planned instances without spares", "Replicas that serve.")
    ]
    routing: Annotated[str, quantity("Routing", help="How the front end spreads requests over the instances.")]
    offered_rps: Annotated[
        float, quantity("Offered load", "requests/s", "requests / simulated time", "Mean over the run.")
    ]
    largest_stable_rps: Annotated[
        float | None,
        quantity(
            "Largest stable load",
            "requests/s",
            "rate with the queue never empty, simulated",
            "Beyond this the queue grows for ever.",
        ),
    ]
    simulated_s: Annotated[
        float, quantity("Simulated time", "s", "asked, or the length of the trace", "Time with arrivals.")
    ]
    requests: Annotated[int, quantity("Requests", "requests", "counted", "Requests that arrived.")]
    finished: Annotated[int, quantity("Finished", "requests", "counted", "Requests answered in full.")]
    rejected: Annotated[int, quantity("Rejected", "requests", "counted", "Turned away because the queue was full.")]
    too_long: Annotated[int, quantity("Too long", "requests", "prompt + output > KV cache", "Turned away as too long.")]
    unfinished: Annotated[
        int, quantity("Unfinished", "requests", "arrived - finished - turned away", "Still there at the end.")
    ]
    preempted: Annotated[
        int, quantity("Preemptions", "evictions", "counted", "Sequences evicted from a full KV cache.")
    ]
    failed_over: Annotated[int, quantity("Started again", "requests", "counted", "Requests of a replica that failed.")]
    ttft_ms: Annotated[Distribution | None, quantity("TTFT", "ms", "first token - arrival", "Time to first token.")]
    itl_ms: Annotated[
        Distribution | None,
        quantity(
            "ITL",
            "ms",
            "(last - first token) / (output tokens - 1) per request",
            "Mean gap between the tokens of one request.",
        ),
    ]
    e2e_ms: Annotated[Distribution | None, quantity("E2E", "ms", "last token - arrival", "Time to last token.")]
    queue_ms: Annotated[
        Distribution | None, quantity("Queue time", "ms", "first step - arrival", "Wait for admission.")
    ]
    meets_limits: Annotated[
        bool | None,
        quantity("Limits met", help="Whether every limit holds at its percentile, and while an instance is down, too."),
    ]
    good_share: Annotated[
        Estimate | None,
        quantity(
            "Within limits",
            "fraction",
            "requests within every limit / finished",
            "Share of answered requests that meet every limit, with its 95 % Monte-Carlo interval.",
        ),
    ]
    goodput_rps: Annotated[
        float | None,
        quantity(
            "Goodput",
            "requests/s",
            "share within limits x finished / time",
            "Requests per second that meet every limit.",
        ),
    ]
    output_tokens_per_s: Annotated[
        float | None, quantity("Output tokens/s", "tokens/s", "generated / time", "All replicas.")
    ]
    running: Annotated[float | None, quantity("Decoding sequences", "requests", "time average", "Per replica.")]
    kv_use: Annotated[float | None, quantity("KV use", "fraction", "time average", "Share of the KV cache.")]
    kv_use_peak: Annotated[
        float | None, quantity("KV use, busiest bin", "fraction", "largest bin", "Share of the KV cache.")
    ]
    busy_share: Annotated[float | None, quantity("Busy share", "fraction", "time in steps / time", "Of all replicas.")]
    peak_waiting: Annotated[
        int, quantity("Longest queue", "requests", "largest between two chunks", "All queues together.")
    ]
    recomputed_share: Annotated[
        float | None,
        quantity(
            "Recomputed",
            "fraction",
            "prompt tokens computed again / all computed",
            "Work lost to evictions and failures.",
        ),
    ]
    failure: Annotated[
        Failure | None, quantity("Failure", help="An instance that failed and returned, if that was asked.")
    ]
    series: Annotated[SimulatedBins | None, quantity("Series", help="How it went over time.")]
    notes: Annotated[tuple[str, ...], quantity("Notes", help="What was assumed, and what is odd about the traffic.")]
    source: Annotated[str, quantity("Source", help="Where the step times come from.")]
    seed: Annotated[int, quantity("Seed", help="The same seed gives the same requests, whatever the rate.")]
    engine_version: Annotated[str, quantity("Engine version", help="Version of this engine.")]

    def to_frame(self) -> pd.DataFrame:
        """How it went over time, a row for each bin: where it starts in seconds, requests/s, tokens/s, mean TTFT in ms,
        and what ran and waited; empty where nothing was simulated. ``attrs["units"]`` has the unit of each column."""
        over_time = self.series
        if over_time is None:
            return frame_of([])
        names = [name for name in SimulatedBins.model_fields if name != "bin_s"]
        columns = zip(*(getattr(over_time, name) for name in names), strict=True)
        rows = [
            {"start_s": k * over_time.bin_s, **dict(zip(names, values, strict=True))}
            for k, values in enumerate(columns)
        ]
        frame = frame_of(rows, SimulatedBins)
        frame.attrs["units"]["start_s"] = "s"
        return frame
