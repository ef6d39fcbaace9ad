"""What a comparison answers; every public field carries its label, unit, formula and help
(:mod:`sizing.base.quantity`)."""

from typing import Annotated, Literal

from sizing.base.quantity import Result, quantity

FigureVerdict = Literal["within", "higher", "lower", "cannot_judge"]

VERDICT_WORDS: dict[FigureVerdict, str] = {
    "within": "as expected",
    "higher": "higher",
    "lower": "lower",
    "cannot_judge": "cannot judge",
}
"""What a verdict reads as: the measured value against the planned or predicted one."""

UNIT_OF_ROW = "see unit"


class Interval(Result):
    """A number with its ends; None where it is not known, or where there is no end.

    Not an :class:`sizing.base.quantity.Estimate`: there, value and lower end are known; here a load that only fast step
    times carry has a lower end alone.
    """

    value: Annotated[float | None, quantity("Value", UNIT_OF_ROW, "see the row", "Central value.")]
    low: Annotated[float | None, quantity("Low", UNIT_OF_ROW, "see the row", "Lower end.")]
    high: Annotated[float | None, quantity("High", UNIT_OF_ROW, "see the row", "Upper end; none where it is open.")]


RowKey = Annotated[str, quantity("Key", help="Stable identifier of the row.")]
MeasuredAs = Annotated[
    str, quantity("Measured as", help="Quantity of the observation that it is read from.", exclude=True)
]
MeasuredInterval = Annotated[
    Interval,
    quantity(
        "Measured",
        UNIT_OF_ROW,
        "80 % interval from the number of requests, and the bucket a quantile fell in",
        "What was measured over the window.",
    ),
]
RequestsBehind = Annotated[
    float | None, quantity("Requests behind it", "requests", "counted", "Requests the value rests on.")
]
"""What traffic and performance rows state alike."""


class TrafficRow(Result):
    """One property of the traffic: planned, and as it is."""

    key: RowKey
    measured_as: MeasuredAs
    label: Annotated[str, quantity("Quantity", help="What is compared, with its statistic.")]
    unit: Annotated[str, quantity("Unit", help="Unit of planned and measured values.")]
    planned: Annotated[
        float | None, quantity("Planned", UNIT_OF_ROW, "from the scenario", "None where the plan says nothing.")
    ]
    measured: MeasuredInterval
    count: RequestsBehind
    difference: Annotated[
        float | None,
        quantity(
            "Difference",
            "fraction",
            "measured / planned - 1 (of a ratio: measured - planned)",
            "Measured against planned.",
        ),
    ]
    verdict: Annotated[
        FigureVerdict,
        quantity(
            "Verdict", help="within: measured within planned +- 10 %; higher, lower: its whole interval is beyond."
        ),
    ]
    reason: Annotated[str, quantity("Reason", help="Why there is no verdict, or what to know about it.")]


class PerformanceRow(Result):
    """One property of the deployment: what the plan's engine predicts for the observed traffic, and as it is."""

    key: RowKey
    measured_as: MeasuredAs
    label: Annotated[str, quantity("Quantity", help="What is compared, with its statistic and where it is measured.")]
    unit: Annotated[str, quantity("Unit", help="Unit of predicted and measured values.")]
    predicted: Annotated[
        Interval,
        quantity(
            "Predicted",
            UNIT_OF_ROW,
            "simulated with step times at both ends of their 80 % interval",
            "What the plan's engine says for the observed traffic.",
        ),
    ]
    measured: MeasuredInterval
    count: RequestsBehind
    error: Annotated[
        float | None, quantity("Error", "fraction", "predicted / measured - 1", "Error of the prediction.")
    ]
    verdict: Annotated[
        FigureVerdict,
        quantity(
            "Verdict", help="within: the intervals of measured and predicted value meet, less than a factor of 2 apart."
        ),
    ]
    reason: Annotated[str, quantity("Reason", help="Why there is no verdict, or what to know about it.")]
    query: Annotated[str, quantity("Read from", help="PromQL of the measured value, to copy.")] = ""


class DeployedFacts(Result):
    """What is seen to be deployed; empty or None where it cannot be told."""

    models: Annotated[tuple[str, ...], quantity("Models served", help="Names under which models are served.")]
    engine: Annotated[str | None, quantity("Engine", help="Engine whose metrics are seen.")]
    gpu_products: Annotated[tuple[str, ...], quantity("GPU products", help="Products the GPU exporter names.")]
    replicas: Annotated[float | None, quantity("Replicas", "replicas", "counted", "Replicas with data now.")]
    gpus: Annotated[float | None, quantity("GPUs", "GPUs", "counted", "GPUs joined to the deployment.")]
    gpus_per_replica: Annotated[
        float | None,
        quantity(
            "GPUs per replica", "GPUs", "GPUs / replicas within the window", "None where GPUs cannot be told apart."
        ),
    ]
    kv_tokens: Annotated[
        float | None, quantity("KV cache", "tokens", "blocks x tokens per block", "Of one engine process.")
    ]


class RealityComparison(Result):
    """A plan beside a deployment over one window."""

    answer: Annotated[str, quantity("Answer", help="The finding in one sentence.")]
    state: Annotated[str, quantity("State of the data", help="ok, partial, saturated, stale, no_data or unreachable.")]
    judged: Annotated[bool, quantity("Judged", help="Whether there is at least one verdict on the prediction.")]
    reasons: Annotated[tuple[str, ...], quantity("Reasons", help="Why something was not judged, and what to do.")]
    unmatched_name: Annotated[
        str,
        quantity(
            "Unmatched name", help="Name served that may or may not be the planned model; state it to have it judged."
        ),
    ] = ""
    scenario: Annotated[str, quantity("Scenario", help="Name of the scenario.")]
    source: Annotated[str, quantity("Source", help="Name of the source of live data.")]
    at: Annotated[str, quantity("Until", help="End of the window, UTC.")]
    window_s: Annotated[
        float, quantity("Window", "s", "as asked, widened to hold four scrapes", "Length of the window.")
    ]
    planned_deployment: Annotated[
        str, quantity("Planned deployment", help="What the plan deploys; empty without a plan.")
    ]
    deployed: Annotated[DeployedFacts, quantity("Deployed", help="What is seen to be deployed.")]
    traffic: Annotated[tuple[TrafficRow, ...], quantity("Traffic", help="Planned traffic beside what it is.")]
    performance: Annotated[
        tuple[PerformanceRow, ...],
        quantity("Performance", help="Prediction for the observed traffic beside what is measured."),
    ]
    requests: Annotated[int, quantity("Requests simulated", "requests", "counted", "Behind the central prediction.")]
    stable_rps: Annotated[
        float | None,
        quantity(
            "Largest stable load",
            "requests/s",
            "of one replica, simulated, x replicas",
            "What the deployed replicas carry for ever by the plan's engine at the observed lengths.",
        ),
    ]
    step_times: Annotated[str, quantity("Step times from", help="Source of the step times behind the prediction.")]
    assumptions: Annotated[tuple[str, ...], quantity("Assumptions", help="What the prediction assumes.")]
    notes: Annotated[tuple[str, ...], quantity("Notes", help="What to know about the measured numbers.")]
    engine_version: Annotated[str, quantity("Engine version", help="Version of the sizing engine.")]
    data_version: Annotated[str, quantity("Data version", help="Content hash and date of the catalogue.")]
