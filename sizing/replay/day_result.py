"""What a plan over the day answers; every public field carries its label, unit, formula and help."""

from typing import Annotated

from sizing.base.quantity import Result, quantity


class DayMoment(Result):
    """One moment of the day."""

    time_s: Annotated[float, quantity("Time", "s", "from the start of the day or trace", "Seconds since the start.")]
    rps: Annotated[
        float, quantity("Load", "requests/s", "profile or trace, scaled to the peak", "Requests per second.")
    ]
    needed: Annotated[
        int, quantity("Needed", "instances", "ceil(load / requests/s per instance)", "Spares not counted.")
    ]
    serving: Annotated[
        int, quantity("Serving", "instances", "ordered for at least the start-up time", "Ready for requests.")
    ]
    ordered: Annotated[int, quantity("Paid for", "instances", "serving + starting", "Instances that run or start.")]


class ScaleOut(Result):
    """The steepest scale-out of the day, simulated."""

    start_s: Annotated[float, quantity("From", "s", "steepest rise of instances", "Start of what was simulated.")]
    end_s: Annotated[float, quantity("To", "s", "steepest rise of instances", "End of what was simulated.")]
    instances_before: Annotated[int, quantity("Instances before", "instances", "see serving", "At the start.")]
    instances_after: Annotated[int, quantity("Instances after", "instances", "see serving", "At the end.")]
    requests: Annotated[int, quantity("Requests", "requests", "counted", "Requests simulated.")]
    ttft_ms: Annotated[
        float, quantity("TTFT", "ms", "at the asked percentile, simulated", "While instances are added in time.")
    ]
    itl_ms: Annotated[
        float | None, quantity("ITL", "ms", "at the asked percentile, simulated", "While instances are added.")
    ]
    e2e_ms: Annotated[
        float, quantity("E2E", "ms", "at the asked percentile, simulated", "While instances are added in time.")
    ]
    meets_limits: Annotated[bool, quantity("Limits met", help="Whether every limit holds at its percentile meanwhile.")]
    late_ttft_ms: Annotated[
        float,
        quantity(
            "TTFT when late",
            "ms",
            "instances ordered only once they are needed",
            "What the start-up time costs without the scale-out threshold.",
        ),
    ]


class DayPlan(Result):
    """How many instances run over a day of changing load, and what that saves."""

    answer: Annotated[str, quantity("Answer", help="The finding in one sentence.")]
    deployment: Annotated[str, quantity("Deployment", help="What one instance is.")]
    peak_rps: Annotated[float, quantity("Peak load", "requests/s", "see demand", "Busiest moment.")]
    mean_rps: Annotated[float, quantity("Mean load", "requests/s", "mean over the moments", "Average over the day.")]
    max_rps: Annotated[
        float, quantity("Requests/s per instance", "requests/s", "see per instance", "Within the limits.")
    ]
    startup_s: Annotated[
        float, quantity("Start-up time", "s", "asked", "From the order of an instance to its first request.")
    ]
    base_instances: Annotated[
        int, quantity("Base", "instances", "fewest ordered at any time", "Run all day, spares included.")
    ]
    spare_instances: Annotated[int, quantity("Spares", "instances", "asked", "Run all day; part of the base.")]
    burst_instances: Annotated[int, quantity("Burst", "instances", "most ordered - base", "Come and go with the load.")]
    threshold: Annotated[
        float,
        quantity(
            "Scale-out threshold",
            "fraction",
            "min over the day of load(t) / load(t + start-up)",
            "Order an instance when the load exceeds this share of what is running.",
        ),
    ]
    threshold_rps: Annotated[
        float,
        quantity(
            "Scale-out threshold",
            "requests/s",
            "threshold x requests/s per instance",
            "Load per instance at which the next one is ordered.",
        ),
    ]
    cool_down_s: Annotated[
        float,
        quantity(
            "Cool-down",
            "s",
            "start-up time",
            "An instance stops after not being needed for so "
            "long: a pause shorter than the start-up costs no more than a new start.",
        ),
    ]
    instance_hours: Annotated[
        float, quantity("Instance hours", "h", "sum over the day of instances paid for", "A day's use.")
    ]
    peak_instance_hours: Annotated[
        float,
        quantity("Instance hours at the peak", "h", "peak instances x hours", "If the peak were provisioned all day."),
    ]
    saved_hours: Annotated[float, quantity("Saved", "h", "at the peak - over the day", "Instance hours not needed.")]
    saved_share: Annotated[
        float, quantity("Saved", "fraction", "saved hours / hours at the peak", "Against peak provisioning.")
    ]
    scale_out: Annotated[ScaleOut | None, quantity("Scale-out", help="Simulated; none when no instance is ever added.")]
    moments: Annotated[tuple[DayMoment, ...], quantity("Over the day", help="Load and instances over time.")]
    notes: Annotated[tuple[str, ...], quantity("Notes", help="What was assumed.")]
    source: Annotated[str, quantity("Source", help="Where the step times come from.")]
    engine_version: Annotated[str, quantity("Engine version", help="Version of this engine.")]
