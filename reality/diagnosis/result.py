"""What a diagnosis answers; every public field carries its label, unit, formula and help."""

from typing import Annotated, Literal

from reality.diagnosis.causes import Cause
from sizing.base.quantity import Result
from sizing.base.quantity import quantity as described
from sizing.scenario.schema import Scenario

LimitVerdict = Literal["met", "broken", "unclear"]
ActionKind = Literal["restore", "drain", "rebalance", "raise_batch_limit", "resize", "recalibrate", "none"]


class BurnRate(Result):
    """How fast the error budget of a limit burns over one pair of windows, as in the exported alerts."""

    long: Annotated[str, described("Long window", help="As PromQL writes it.")]
    short: Annotated[str, described("Short window", help="As PromQL writes it.")]
    threshold: Annotated[
        float, described("Threshold", "times", "Google SRE workbook, chapter 5", "Alerted above, over both.")
    ]
    over_long: Annotated[
        float | None,
        described(
            "Over the long window", "times", "share of slower requests / share that may be", "None without requests."
        ),
    ]
    over_short: Annotated[
        float | None, described("Over the short window", "times", "as above", "None without requests.")
    ]
    alerts: Annotated[bool, described("Alerts", help="Whether both are above the threshold, over enough requests.")]


class LimitRow(Result):
    """One limit of the scenario, beside what is measured."""

    quantity: Annotated[
        str, described("Quantity", help="ttft_ms, tpot_ms (itl_ms where an engine has no TPOT) or e2e_ms.")
    ]
    limit_key: Annotated[
        str, described("Limit", help="Its key among the limits of the scenario: ttft_ms, itl_ms, e2e_ms.")
    ]
    percentile: Annotated[
        float, described("Percentile", "%", "limits.percentile", "Share of requests that must be within.")
    ]
    limit: Annotated[float, described("Limit", "ms", "as asked", "Latency that must not be exceeded.")]
    measured: Annotated[
        float | None, described("Measured", "ms", "within its bucket as the engine's run has it", "Percentile.")
    ]
    low: Annotated[float | None, described("Low", "ms", "bucket of q - 1.28 sqrt(q (1 - q) / n)", "Lower end, 80 %.")]
    high: Annotated[
        float | None, described("High", "ms", "bucket of q + 1.28 sqrt(q (1 - q) / n)", "Upper end; none: open.")
    ]
    attainment: Annotated[
        float | None, described("Attainment", "fraction", "requests within / requests", "Exact at a bucket edge.")
    ]
    attainment_low: Annotated[float | None, described("Attainment, low", "fraction", "80 % interval", "Lower end.")]
    attainment_high: Annotated[float | None, described("Attainment, high", "fraction", "80 % interval", "Upper end.")]
    verdict: Annotated[
        LimitVerdict, described("Verdict", help="met, broken, or unclear where the interval holds the limit.")
    ]
    reason: Annotated[str, described("Reason", help="Why it is unclear.")]
    requests: Annotated[float | None, described("Requests", "requests", "counted", "Requests behind it.")]
    broken_since: Annotated[
        str | None, described("Broken since", help="UTC; none where it is met or its beginning is not seen.")
    ]
    budget_left: Annotated[
        float | None,
        described(
            "Error budget left",
            "fraction",
            "1 - slower requests / those that may be, over three days",
            "Below 0: spent.",
        ),
    ]
    burn_rates: Annotated[
        tuple[BurnRate, ...], described("Burn rates", help="Over the windows of the exported alerts.")
    ]


class CauseRow(Result):
    """One cause and what it contributes to the gap between plan and measurement."""

    cause: Annotated[Cause, described("Cause", help="What differs.")]
    quantity: Annotated[str, described("Quantity", help="Latency that is split.")]
    share_ms: Annotated[
        float, described("Share", "ms", "Shapley value", "What it adds to the percentile; below 0 it helps.")
    ]
    low: Annotated[float, described("Low", "ms", "80 % interval", "Lower end.")]
    high: Annotated[float, described("High", "ms", "80 % interval", "Upper end.")]
    subject: Annotated[str | None, described("Subject", help="Replica or GPU; none where it is not one.")]
    since: Annotated[str | None, described("Since", help="UTC; none where its beginning is not known.")]
    planned: Annotated[float | None, described("Planned", help="Value of the plan, see unit.")]
    measured: Annotated[float | None, described("Measured", help="Value as measured, see unit.")]
    unit: Annotated[str, described("Unit", help="Unit of both.")]
    why: Annotated[str, described("Why", help="What is seen, in a sentence.")]


class Split(Result):
    """The gap of one percentile between plan and measurement, and what made it."""

    quantity: Annotated[str, described("Quantity", help="Latency.")]
    percentile: Annotated[float, described("Percentile", "%", "limits.percentile", "Percentile that is split.")]
    planned_ms: Annotated[
        float | None, described("Planned", "ms", "simulated", "What the plan's engine gives as planned.")
    ]
    planned_low_ms: Annotated[
        float | None, described("Planned, low", "ms", "steps at the fast end", "80 % interval of its step times.")
    ]
    planned_high_ms: Annotated[
        float | None, described("Planned, high", "ms", "steps at the slow end", "80 % interval of its step times.")
    ]
    measured_ms: Annotated[float | None, described("Measured", "ms", "from the buckets", "What is measured.")]
    causes: Annotated[tuple[CauseRow, ...], described("Causes", help="By size; together they are the gap.")]


class OfferedAction(Result):
    """What would help, and what it would give by the same engine."""

    kind: Annotated[
        ActionKind, described("Kind", help="restore, drain, rebalance, raise_batch_limit, resize, recalibrate, none.")
    ]
    replicas: Annotated[
        int | None, described("Replicas", "replicas", "after the action", "Replicas that serve afterwards.")
    ]
    gpus: Annotated[int | None, described("GPUs", "GPUs", "replicas x GPUs of one", "GPUs that serve afterwards.")]
    change: Annotated[int, described("Change", "replicas", "after - now", "Replicas more, below 0 fewer.")]
    subject: Annotated[
        str | None, described("Subject", help="Replica that is drained or restored; none where it is not one.")
    ]
    capacity_within_limits_rps: Annotated[
        float | None,
        described("Load within the limits", "requests/s", "simulated", "What it would carry within the limits."),
    ]
    enough: Annotated[bool | None, described("Enough", help="Whether the measured load would be within the limits.")]
    usd_per_month: Annotated[
        float | None, described("Cost", "USD/month", "change x cost of a replica", "More, or below 0 less.")
    ]
    weight: Annotated[
        float | None,
        described(
            "Weight",
            "fraction",
            "step time of its peers / its own",
            "Weight of the subject at the balancer, of that of an ordinary replica; none where weights are equal.",
        ),
    ]
    why: Annotated[str, described("Why", help="Reason and effect, in a sentence.")]


class Recalibration(Result):
    """Factors on the step times of the plan that live windows at different loads ask for."""

    factor_decode: Annotated[
        float, described("Decode", "times", "fitted", "On every decode step; 1 where nothing is learned.")
    ]
    factor_prefill: Annotated[float, described("Prefill", "times", "fitted", "On the time of prompts.")]
    factor_fixed: Annotated[
        float, described("Before the engine", "times", "fitted", "On what a request takes before the engine has it.")
    ]
    sequence_ms: Annotated[
        float,
        described(
            "Each sequence", "ms", "fitted", "What each running sequence adds to a step beyond the plan; 0 if nothing."
        ),
    ]
    sequence_low_ms: Annotated[
        float | None, described("Each sequence, low", "ms", "80 % interval", "Lower end; none where nothing is known.")
    ]
    sequence_high_ms: Annotated[
        float | None, described("Each sequence, high", "ms", "80 % interval", "Upper end; none where nothing is known.")
    ]
    sequence_identifiable: Annotated[
        bool,
        described(
            "Each sequence told",
            help="Whether the windows' numbers of running sequences differ enough to tell what each adds; else it "
            "stays.",
        ),
    ]
    sequence_covariance: Annotated[
        tuple[float, ...],
        described("Covariance of each sequence", help="Of its ms with the three of the covariance, and its variance."),
    ]
    decode_low: Annotated[float, described("Decode, low", "times", "80 % interval", "Lower end.")]
    decode_high: Annotated[float, described("Decode, high", "times", "80 % interval", "Upper end.")]
    prefill_low: Annotated[float, described("Prefill, low", "times", "80 % interval", "Lower end.")]
    prefill_high: Annotated[float, described("Prefill, high", "times", "80 % interval", "Upper end.")]
    windows: Annotated[
        int, described("Windows", "windows", "counted", "Windows that it rests on, those accepted before included.")
    ]
    since: Annotated[str | None, described("Since", help="Beginning of the first window, UTC.")]
    until: Annotated[str | None, described("Until", help="End of the last window, UTC.")]
    covariance: Annotated[
        tuple[tuple[float, ...], ...],
        described("Covariance", help="Of ln decode, ln prefill and the factor before the engine."),
    ]
    basis: Annotated[str, described("Basis", help="Model, configuration and engine version whose step times they are.")]
    offered: Annotated[bool, described("Offered", help="Whether there is something new for a person to accept.")]
    drift: Annotated[
        str | None, described("Drift", help="Since when steps take another time than before; none where they do not.")
    ]
    identifiable: Annotated[
        bool,
        described(
            "Identifiable", help="Whether their loads differ enough to tell the factors apart: else nothing is learned."
        ),
    ]
    error_before: Annotated[
        float | None,
        described(
            "Error before",
            "fraction",
            "median of |predicted / measured - 1|",
            "On windows that were left out, as planned.",
        ),
    ]
    error_after: Annotated[
        float | None, described("Error after", "fraction", "the same", "With the factors of the others.")
    ]
    why: Annotated[str, described("Why", help="What was learned, or why nothing was.")]


class Replanned(Result):
    """The scenario as measured, planned anew, against the plan."""

    answer: Annotated[str, described("Answer", help="What the new plan says.")]
    deployment: Annotated[str, described("Deployment", help="Instances and their configuration.")]
    same_configuration: Annotated[bool, described("Same configuration", help="Whether it is that of the plan.")]
    instances: Annotated[int | None, described("Instances", "instances", "planned", "None where nothing serves it.")]
    gpus: Annotated[int | None, described("GPUs", "GPUs", "planned", "GPUs that run the model.")]
    system: Annotated[str, described("System", help="Server, rack or cloud instance.")]
    systems: Annotated[int | None, described("Systems", "systems", "planned", "Whole systems to buy or rent.")]
    usd_per_month: Annotated[float | None, described("Cost", "USD/month", "hardware", "None where no price is known.")]
    more_instances: Annotated[int | None, described("More instances", "instances", "new - old", "Against the plan.")]
    more_gpus: Annotated[int | None, described("More GPUs", "GPUs", "new - old", "Against the plan.")]
    more_systems: Annotated[int | None, described("More systems", "systems", "new - old", "Against the plan.")]
    more_usd_per_month: Annotated[float | None, described("More cost", "USD/month", "new - old", "Against the plan.")]


class Diagnosis(Result):
    """Whether the limits hold, what made the difference to the plan, and what would help."""

    state: Annotated[
        LimitVerdict,
        described("State", help="met: every limit holds; broken: one does not; unclear: it cannot be told."),
    ]
    headline: Annotated[str, described("Headline", help="The finding in one or a few sentences.")]
    reasons: Annotated[tuple[str, ...], described("Reasons", help="Why something cannot be concluded, and what to do.")]
    scenario: Annotated[str, described("Scenario", help="Name of the scenario.")]
    source: Annotated[str, described("Source", help="Name of the source of live data.")]
    at: Annotated[str, described("Until", help="End of the window, UTC.")]
    window_s: Annotated[float, described("Window", "s", "as asked", "Length of the window.")]
    limits: Annotated[tuple[LimitRow, ...], described("Limits", help="Every limit of the scenario.")]
    worst_limit: Annotated[
        str | None, described("Worst limit", help="Quantity whose percentile is highest against its limit.")
    ]
    load_rps: Annotated[float | None, described("Load", "requests/s", "mean of the window", "Arrivals.")]
    capacity_within_limits_rps: Annotated[
        float | None,
        described(
            "Load within the limits",
            "requests/s",
            "simulated",
            "The largest load that keeps every limit as it runs now.",
        ),
    ]
    headroom: Annotated[
        float | None, described("Headroom", "fraction", "capacity / load - 1", "Below 0: too much load.")
    ]
    replicas_needed: Annotated[
        int | None, described("Replicas needed", "replicas", "simulated", "For this load and traffic.")
    ]
    gap_replicas: Annotated[int | None, described("More replicas", "replicas", "needed - planned", "Against the plan.")]
    gap_usd_per_month: Annotated[
        float | None,
        described(
            "More cost", "USD/month", "more replicas x cost of one", "Against the plan; none where no cost is known."
        ),
    ]
    causes: Annotated[tuple[CauseRow, ...], described("Causes", help="Of the worst limit, by size.")]
    main_cause: Annotated[Cause | None, described("Main cause", help="The largest; none where nothing differs.")]
    splits: Annotated[tuple[Split, ...], described("Splits", help="The same of every limit.")]
    actions: Annotated[tuple[OfferedAction, ...], described("Actions", help="What would help, most useful first.")]
    recalibration: Annotated[
        Recalibration | None, described("Recalibration", help="What live windows say about step times.")
    ]
    as_measured: Annotated[
        Scenario | None,
        described(
            "Scenario as measured", help="With the measured lengths, arrivals, hits and step times: to size it again."
        ),
    ]
    replanned: Annotated[
        Replanned | None, described("Planned anew", help="The scenario as measured, against the plan.")
    ]
    assumptions: Annotated[
        tuple[str, ...], described("Assumptions", help="What could not be seen and is taken as planned.")
    ]
    runs: Annotated[int, described("Runs", "runs", "counted", "Simulations behind it.")]
    engine_version: Annotated[str, described("Engine version", help="Version of the sizing engine.")]
    data_version: Annotated[str, described("Data version", help="Content hash and date of the catalogue.")]
