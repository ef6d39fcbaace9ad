"""What a diagnosis answers; every public field carries its label, unit, formula and help."""

from typing import Literal

from reality.diagnosis.observed import Cause
from sizing.base.quantity import Result, quantity

LimitVerdict = Literal["met", "broken", "unclear"]
State = Literal["met", "broken", "unclear"]
ActionKind = Literal["restore", "drain", "rebalance", "raise_batch_limit", "resize", "recalibrate", "none"]


class BurnRate(Result):
    """How fast the error budget of a limit burns over one pair of windows, as in the exported alerts."""

    long: str = quantity("Long window", help="As PromQL writes it.")
    short: str = quantity("Short window", help="As PromQL writes it.")
    threshold: float = quantity("Threshold", "times", "Google SRE workbook, chapter 5", "Alerted above, over both.")
    over_long: float | None = quantity(
        "Over the long window", "times", "share of slower requests / share that may be", "None without requests."
    )
    over_short: float | None = quantity("Over the short window", "times", "as above", "None without requests.")
    alerts: bool = quantity("Alerts", help="Whether both are above the threshold, over enough requests.")


class LimitRow(Result):
    """One limit of the scenario, beside what is measured."""

    quantity: str = quantity("Quantity", help="ttft_ms, tpot_ms (itl_ms where an engine has no TPOT) or e2e_ms.")
    limit_key: str = quantity("Limit", help="Its key among the limits of the scenario: ttft_ms, itl_ms, e2e_ms.")
    percentile: float = quantity("Percentile", "%", "limits.percentile", "Share of requests that must be within.")
    limit: float = quantity("Limit", "ms", "as asked", "Latency that must not be exceeded.")
    measured: float | None = quantity("Measured", "ms", "within its bucket as the engine's run has it", "Percentile.")
    low: float | None = quantity("Low", "ms", "bucket of q - 1.28 sqrt(q (1 - q) / n)", "Lower end, 80 %.")
    high: float | None = quantity("High", "ms", "bucket of q + 1.28 sqrt(q (1 - q) / n)", "Upper end; none: open.")
    attainment: float | None = quantity(
        "Attainment", "fraction", "requests within / requests", "Exact at a bucket edge."
    )
    attainment_low: float | None = quantity("Attainment, low", "fraction", "80 % interval", "Lower end.")
    attainment_high: float | None = quantity("Attainment, high", "fraction", "80 % interval", "Upper end.")
    verdict: LimitVerdict = quantity("Verdict", help="met, broken, or unclear where the interval holds the limit.")
    reason: str = quantity("Reason", help="Why it is unclear.")
    requests: float | None = quantity("Requests", "requests", "counted", "Requests behind it.")
    broken_since: str | None = quantity("Broken since", help="UTC; none where it is met or its beginning is not seen.")
    budget_left: float | None = quantity(
        "Error budget left", "fraction", "1 - slower requests / those that may be, over three days", "Below 0: spent."
    )
    burn_rates: tuple[BurnRate, ...] = quantity("Burn rates", help="Over the windows of the exported alerts.")


class CauseRow(Result):
    """One cause and what it contributes to the gap between plan and measurement."""

    cause: Cause = quantity("Cause", help="What differs.")
    quantity: str = quantity("Quantity", help="Latency that is split.")
    share_ms: float = quantity("Share", "ms", "Shapley value", "What it adds to the percentile; below 0 it helps.")
    low: float = quantity("Low", "ms", "80 % interval", "Lower end.")
    high: float = quantity("High", "ms", "80 % interval", "Upper end.")
    subject: str | None = quantity("Subject", help="Replica or GPU; none where it is not one.")
    planned: float | None = quantity("Planned", help="Value of the plan, see unit.")
    measured: float | None = quantity("Measured", help="Value as measured, see unit.")
    unit: str = quantity("Unit", help="Unit of both.")
    why: str = quantity("Why", help="What is seen, in a sentence.")


class Split(Result):
    """The gap of one percentile between plan and measurement, and what made it."""

    quantity: str = quantity("Quantity", help="Latency.")
    percentile: float = quantity("Percentile", "%", "limits.percentile", "Percentile that is split.")
    planned_ms: float | None = quantity("Planned", "ms", "simulated", "What the plan's engine gives as planned.")
    measured_ms: float | None = quantity("Measured", "ms", "from the buckets", "What is measured.")
    causes: tuple[CauseRow, ...] = quantity("Causes", help="By size; together they are the gap.")


class Action(Result):
    """What would help, and what it would give by the same engine."""

    kind: ActionKind = quantity("Kind", help="restore, drain, rebalance, raise_batch_limit, resize, recalibrate, none.")
    replicas: int | None = quantity("Replicas", "replicas", "after the action", "Replicas that serve afterwards.")
    gpus: int | None = quantity("GPUs", "GPUs", "replicas x GPUs of one", "GPUs that serve afterwards.")
    change: int = quantity("Change", "replicas", "after - now", "Replicas more, below 0 fewer.")
    subject: str | None = quantity("Subject", help="Replica that is drained or restored; none where it is not one.")
    capacity_within_limits_rps: float | None = quantity(
        "Load within the limits", "requests/s", "simulated", "What it would carry within the limits."
    )
    enough: bool | None = quantity("Enough", help="Whether the measured load would be within the limits.")
    usd_per_month: float | None = quantity("Cost", "USD/month", "change x cost of a replica", "More, or below 0 less.")
    why: str = quantity("Why", help="Reason and effect, in a sentence.")


class Recalibration(Result):
    """Factors on the step times of the plan that live windows at different loads ask for."""

    factor_decode: float = quantity("Decode", "times", "fitted", "On every decode step; 1 where nothing is learned.")
    factor_prefill: float = quantity("Prefill", "times", "fitted", "On the time of prompts.")
    decode_low: float = quantity("Decode, low", "times", "80 % interval", "Lower end.")
    decode_high: float = quantity("Decode, high", "times", "80 % interval", "Upper end.")
    windows: int = quantity("Windows", "windows", "counted", "Windows that it rests on.")
    identifiable: bool = quantity(
        "Identifiable", help="Whether their loads differ enough to tell the factors apart: else nothing is learned."
    )
    error_before: float | None = quantity(
        "Error before", "fraction", "median of |predicted / measured - 1|", "On windows that were left out, as planned."
    )
    error_after: float | None = quantity("Error after", "fraction", "the same", "With the factors of the others.")
    why: str = quantity("Why", help="What was learned, or why nothing was.")


class Diagnosis(Result):
    """Whether the limits hold, what made the difference to the plan, and what would help."""

    state: State = quantity("State", help="met: every limit holds; broken: one does not; unclear: it cannot be told.")
    headline: str = quantity("Headline", help="The finding in one or a few sentences.")
    reasons: tuple[str, ...] = quantity("Reasons", help="Why something cannot be concluded, and what to do.")
    scenario: str = quantity("Scenario", help="Name of the scenario.")
    source: str = quantity("Source", help="Name of the source of live data.")
    at: str = quantity("Until", help="End of the window, UTC.")
    window_s: float = quantity("Window", "s", "as asked", "Length of the window.")
    limits: tuple[LimitRow, ...] = quantity("Limits", help="Every limit of the scenario.")
    worst_limit: str | None = quantity("Worst limit", help="Quantity whose percentile is highest against its limit.")
    load_rps: float | None = quantity("Load", "requests/s", "mean of the window", "Arrivals.")
    capacity_within_limits_rps: float | None = quantity(
        "Load within the limits", "requests/s", "simulated", "The largest load that keeps every limit as it runs now."
    )
    headroom: float | None = quantity("Headroom", "fraction", "capacity / load - 1", "Below 0: too much load.")
    replicas_needed: int | None = quantity("Replicas needed", "replicas", "simulated", "For this load and traffic.")
    gap_replicas: int | None = quantity("More replicas", "replicas", "needed - planned", "Against the plan.")
    gap_usd_per_month: float | None = quantity(
        "More cost", "USD/month", "more replicas x cost of one", "Against the plan; none where no cost is known."
    )
    causes: tuple[CauseRow, ...] = quantity("Causes", help="Of the worst limit, by size.")
    main_cause: Cause | None = quantity("Main cause", help="The largest; none where nothing differs.")
    splits: tuple[Split, ...] = quantity("Splits", help="The same of every limit.")
    actions: tuple[Action, ...] = quantity("Actions", help="What would help, most useful first.")
    recalibration: Recalibration | None = quantity("Recalibration", help="What live windows say about step times.")
    assumptions: tuple[str, ...] = quantity("Assumptions", help="What could not be seen and is taken as planned.")
    runs: int = quantity("Runs", "runs", "counted", "Simulations behind it.")
    engine_version: str = quantity("Engine version", help="Version of the sizing engine.")
    data_version: str = quantity("Data version", help="Content hash and date of the catalogue.")
