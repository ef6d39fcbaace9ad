"""The answer: every public field carries its label, unit, formula and help (see :mod:`sizing.base.quantity`)."""

from __future__ import annotations

from sizing.base.choices import DecidedBy, PriceCovers, Serving, Severity
from sizing.base.provenance import Provenance
from sizing.base.quantity import Result, quantity


class Fix(Result):
    """A change to one scenario key that would remove a warning or make a candidate fit."""

    key: str = quantity("Scenario key", help="Dotted path of the scenario key to change, e.g. limits.ttft_ms.")
    value: float | int | str | list[int] | list[str] | None = quantity(
        "New value", help="The smallest change that helps."
    )
    label: str = quantity("Fix", help="The change in words, for a button.")


class PlanWarning(Result):
    """Something a careful architect would point out about the chosen deployment."""

    code: str = quantity("Code", help="Stable identifier of the rule.")
    severity: Severity = quantity("Severity", help="info, warning or error.")
    message: str = quantity("Message", help="One sentence: what is the matter and why.")
    source: str = quantity("Source of the rule", help="Where the rule comes from.", default="")
    fix: Fix | None = quantity("Fix", help="A one-click remedy, when there is one.", default=None)


class Pool(Result):
    """The instances of one kind where prefill and decode run apart."""

    tp: int = quantity("TP", "GPUs", "best of those considered", "Tensor parallelism of an instance.")
    pp: int = quantity("PP", "GPUs", "best of those considered", "Pipeline parallelism of an instance.")
    ep: int = quantity("EP", "GPUs", "best of those considered", "Expert parallelism of an instance.")
    dp: int = quantity("DP", "GPUs", "best of those considered", "Attention data parallelism of an instance.")
    instances: int = quantity(
        "Instances",
        "instances",
        "ceil(peak requests/s / requests/s per instance) + spares",
        "Instances of this kind, spares included.",
    )
    spare_instances: int = quantity("Spare instances", "instances", "asked", "Instances beyond the peak (N+k).")
    gpus: int = quantity("GPUs", "GPUs", "instances x TP x PP x DP", "GPUs of this kind, spares included.")
    max_rps: float = quantity(
        "Requests/s per instance",
        "requests/s",
        "largest rate at which its limit holds",
        "Capacity of one instance: TTFT limits prefill, ITL limits decode.",
    )
    rps: float = quantity(
        "Load per instance", "requests/s", "peak requests/s / (instances - spares)", "Load on one instance at the peak."
    )


class Deployed(Result):
    """What to deploy. Where prefill and decode run apart, parallelism is that of a decode instance."""

    gpu: str = quantity("GPU", help="Catalogue id of the accelerator.")
    engine: str = quantity("Engine", help="Serving engine.")
    weight_precision: str = quantity("Weight precision", help="Number format of the weights.")
    kv_precision: str = quantity("KV-cache precision", help="Number format of the KV cache.")
    tp: int = quantity("TP", "GPUs", "best of those considered", "Tensor parallelism: GPUs that share every layer.")
    pp: int = quantity(
        "PP", "GPUs", "best of those considered", "Pipeline parallelism: groups of layers on different GPUs."
    )
    ep: int = quantity(
        "EP", "GPUs", "best of those considered", "Expert parallelism: GPUs over which the experts are spread."
    )
    dp: int = quantity("DP", "GPUs", "best of those considered", "Attention data parallelism inside one instance.")
    instances: int = quantity(
        "Instances",
        "instances",
        "ceil(peak requests/s / requests/s per instance) + spares",
        "Copies of the model, spares included.",
    )
    spare_instances: int = quantity("Spare instances", "instances", "asked", "Instances beyond the peak (N+k).")
    gpus: int = quantity("GPUs", "GPUs", "instances x TP x PP x DP", "GPUs that run the model, spares included.")
    system: str = quantity("System", help="Server, rack or cloud instance the GPUs come in.")
    systems: int = quantity(
        "Systems", "systems", "ceil(instances / instances per system)", "Whole systems to buy or rent."
    )
    gpus_bought: int = quantity("GPUs bought", "GPUs", "systems x GPUs per system", "GPUs in the whole systems.")
    serving: Serving = quantity(
        "Serving",
        help="aggregated: every instance computes prompts and answers; disaggregated: prefill and decode "
        "instances of their own.",
        default="aggregated",
    )
    batch_limit: int | None = quantity(
        "Batch limit",
        "requests",
        "best of those tried, where it saves an instance",
        "Requests that an instance may have in flight, below what memory and engine allow: more would break the ITL "
        "limit. The rest waits for a slot. None: not limited.",
        default=None,
    )
    prefill: Pool | None = quantity("Prefill instances", help="Where prefill runs apart.", default=None)
    decode: Pool | None = quantity("Decode instances", help="Where decode runs apart.", default=None)


class PerInstance(Result):
    """What one copy of the model needs and can do."""

    max_rps: float = quantity(
        "Requests/s per instance",
        "requests/s",
        "largest rate at which every limit holds, x utilisation cap",
        "Capacity of one instance within the limits.",
    )
    stable_rps: float = quantity(
        "Stability limit", "requests/s", "max over B of B / (OSL x ITL(B))", "Beyond this rate the queue grows forever."
    )
    rps: float = quantity(
        "Load per instance", "requests/s", "peak requests/s / (instances - spares)", "Load on one instance at the peak."
    )
    concurrency: float = quantity(
        "Requests in flight",
        "requests",
        "Little: rate x (E2E - queue time)",
        "Mean number of sequences decoding at the peak.",
    )
    max_concurrency: int = quantity(
        "Maximum concurrency",
        "requests",
        "KV memory / KV bytes per sequence, capped by the engine",
        "Sequences that fit in the KV cache at mean lengths.",
    )
    memory_per_gpu_gb: float = quantity("Memory per GPU", "GB", "datasheet", "Memory of one GPU (10^9 bytes).")
    weights_gb: float = quantity(
        "Weights", "GB", "parameters x bytes per parameter", "Weights of one instance, all its GPUs together."
    )
    kv_gb: float = quantity(
        "KV cache",
        "GB",
        "usable memory - weights - activations - overhead",
        "Memory left for the KV cache of one instance.",
    )
    kv_per_sequence_gb: float = quantity(
        "KV per sequence",
        "GB",
        "KV bytes per token x tokens, rounded up to blocks",
        "KV cache of one mean request at its full length.",
    )
    activations_gb: float = quantity(
        "Activations", "GB", "token budget x widest layer", "Working memory of one instance, all its GPUs together."
    )
    overhead_gb: float = quantity(
        "Runtime overhead",
        "GB",
        "runtime + communication buffers + reserve",
        "Memory the runtime keeps for itself, on all GPUs of one instance.",
    )
    free_gb: float = quantity("Free", "GB", "KV cache - KV in use at the asked load", "KV cache not in use.")
    kv_used_gb: float = quantity("KV in use", "GB", "requests in flight x KV per sequence", "KV cache in use.")
    output_tokens_per_s: float = quantity(
        "Output tokens/s per instance", "tokens/s", "requests/s x OSL", "Generated tokens per second at the peak load."
    )
    output_tokens_per_s_per_gpu: float = quantity(
        "Output tokens/s per GPU",
        "tokens/s",
        "per instance / GPUs",
        "Generated tokens per second and GPU at the peak load.",
    )
    prefill_share: float | None = quantity(
        "Time spent on prefill", "fraction", "rate x prefill time", "Share of engine time taken by prompts."
    )
    decode_step_ms: float | None = quantity(
        "Decode step", "ms", "see step times", "One decode step at this concurrency."
    )
    prefill_ms: float | None = quantity(
        "Prefill of one prompt", "ms", "see step times", "Engine time for one mean prompt."
    )


class Latency(Result):
    """Percentiles over requests of one latency at the asked load; low and high are for the asked percentile.

    None where a measured record does not hold the value.
    """

    p50: float | None = quantity("p50", "ms", "see load model", "Half of the requests are faster.")
    p95: float | None = quantity("p95", "ms", "see load model", "95 % of the requests are faster.")
    p99: float | None = quantity("p99", "ms", "see load model", "99 % of the requests are faster.")
    low: float | None = quantity("Low", "ms", "80 % interval", "Lower end for the asked percentile.")
    high: float | None = quantity(
        "High", "ms", "80 % interval", "Upper end for the asked percentile; none when the load would then be unstable."
    )
    at_percentile: float | None = quantity(
        "Asked percentile", "ms", "see load model", "Value at the percentile of the limit.", alias="asked"
    )


class Latencies(Result):
    """Latency of a request at the peak load."""

    ttft_ms: Latency = quantity("TTFT", "ms", "queue + prefill", "Time to first token.")
    itl_ms: Latency = quantity(
        "ITL",
        "ms",
        "(decode steps + prefill interruptions) / output tokens",
        "Mean gap between tokens of one request (TPOT); percentiles are over requests.",
    )
    e2e_ms: Latency = quantity("E2E", "ms", "TTFT + (OSL - 1) x ITL", "Time to last token.")


class Cost(Result):
    """List cost of the deployment; None where no price is known."""

    basis: str = quantity("Cost basis", help="What the figure covers and where the price comes from.")
    covers: PriceCovers = quantity(
        "Price covers",
        help="complete (whole systems), gpus_only (without server and network) or unknown.",
        default="unknown",
    )
    system_usd: float | None = quantity("Price per system", "USD", "price list", "List price of one system.")
    purchase_usd: float | None = quantity("Purchase", "USD", "systems x price", "List price of all systems.")
    usd_per_hour: float | None = quantity(
        "Cost per hour",
        "USD/h",
        "purchase / depreciation, or cloud list price",
        "Hardware cost per hour, whole systems.",
    )
    usd_per_month: float | None = quantity("Cost per month", "USD/month", "USD/h x 730", "Hardware cost per month.")
    usd_per_million_output_tokens: float | None = quantity(
        "Cost per million output tokens",
        "USD",
        "USD/h / output tokens/h at the peak load",
        "If the peak load ran all the time; idle hours make it dearer.",
    )
    power_kw: float | None = quantity("Power", "kW", "systems x maximum power, or GPUs x TDP", "Power budget.")
    source: str = quantity("Price source", help="Source and date of the price.")


class Business(Result):
    """What the deployment serves, in business terms."""

    requests_per_day: float = quantity(
        "Requests a day", "requests", "requests/s x 3600 x hours", "At the peak rate through the working day."
    )
    daily_users: float = quantity("Daily users", "users", "requests a day / requests per user", "People served.")
    input_tokens_per_day: float = quantity("Input tokens a day", "tokens", "requests a day x ISL", "Prompt tokens.")
    output_tokens_per_day: float = quantity(
        "Output tokens a day", "tokens", "requests a day x OSL", "Generated tokens."
    )
    hours: float = quantity("Hours a day", "h", "asked; 8 by default", "Working day.")
    requests_per_user: float = quantity("Requests per user", "requests", "asked; 3 by default", "Per day.")
    growth: float = quantity("Growth included", "fraction", "asked", "Demand growth the plan has room for.")


class Explained(Result):
    """One number followed from the inputs to the formula to the source."""

    name: str = quantity("Quantity", help="What is explained.")
    value: str = quantity("Value", help="Value with unit.")
    formula: str = quantity("Formula", help="Equation in words or symbols.")
    numbers: str = quantity("Numbers", help="The equation with this plan's numbers.")
    source: str = quantity("Source", help="Where formula and constants come from.")


class Candidate(Result):
    """One ranked deployment."""

    deployment: Deployed = quantity("Deployment", help="What to deploy.")
    max_rps: float = quantity("Requests/s per instance", "requests/s", "see per instance", "Within the limits.")
    ttft_ms: float = quantity("TTFT", "ms", "at the asked percentile and load", "Time to first token.")
    itl_ms: float = quantity("ITL", "ms", "at the asked percentile and load", "Inter-token latency.")
    e2e_ms: float = quantity("E2E", "ms", "at the asked percentile and load", "Time to last token.")
    output_tokens_per_s_per_gpu: float = quantity(
        "Output tokens/s per GPU", "tokens/s", "at the asked load", "Generated tokens per second and GPU."
    )
    gpus_low: int = quantity("GPUs, low", "GPUs", "80 % interval", "If the engine is faster than estimated.")
    gpus_high: int | None = quantity(
        "GPUs, high",
        "GPUs",
        "80 % interval",
        "If the engine is slower than estimated; none when a limit could then not be met.",
    )
    usd_per_month: float | None = quantity("Cost per month", "USD/month", "see cost", "Hardware list cost.")
    power_kw: float | None = quantity("Power", "kW", "see cost", "Power budget.")
    limited_by: str = quantity("Limited by", help="What sets the capacity of one instance.")
    source: str = quantity("Step times from", help="Measured, kernel tables or roofline.")
    decided_by: DecidedBy = quantity(
        "Instances and latency from",
        help="simulation where it was tried, else the analytic load model: an estimate "
        "that the simulation replaces once the deployment is chosen.",
        default="analytic",
    )
    provenance: Provenance = quantity(
        "Provenance", help="What the numbers come from, as facts; source says it in words."
    )


class Excluded(Result):
    """A GPU that cannot serve the scenario, why, and the smallest change that would let it."""

    gpu: str = quantity("GPU", help="Catalogue id.")
    closest: str = quantity("Closest configuration", help="The configuration that came nearest.")
    reason: str = quantity("Reason", help="Why it does not fit.")
    relaxation: str = quantity("Smallest relaxation", help="What to change so that it fits.")
    fix: Fix | None = quantity("Fix", help="The relaxation as a scenario change.", default=None)


class LoadPoint(Result):
    """One point of the load curve of an instance."""

    rps: float = quantity("Requests/s", "requests/s", "per instance", "Load.")
    concurrency: float = quantity("Requests in flight", "requests", "Little's law", "Mean concurrency.")
    ttft_ms: float = quantity("TTFT", "ms", "at the asked percentile", "Time to first token.")
    itl_ms: float = quantity("ITL", "ms", "at the asked percentile", "Inter-token latency.")
    e2e_ms: float = quantity("E2E", "ms", "at the asked percentile", "Time to last token.")
    output_tokens_per_s_per_gpu: float = quantity(
        "Output tokens/s per GPU", "tokens/s", "rate x OSL / GPUs", "Generated tokens per second and GPU."
    )


class CrossCheck(Result):
    """A second opinion on the chosen deployment from another source of step times."""

    source: str = quantity("Second source", help="Which step times were used for the second opinion.")
    max_rps: float | None = quantity("Requests/s per instance", "requests/s", "same load model", "Capacity.")
    instances: int | None = quantity("Instances", "instances", "same load model", "Instances needed.")
    decode_step_ms: float | None = quantity("Decode step", "ms", "second source", "At the same concurrency.")
    prefill_ms: float | None = quantity("Prefill of one prompt", "ms", "second source", "One mean prompt.")
    message: str = quantity("Finding", help="Agreement or disagreement in one sentence, or why there is none.")


class Plan(Result):
    """The whole answer to one scenario."""

    answer: str = quantity("Answer", help="The answer in one sentence.")
    feasible: bool = quantity("Feasible", help="Whether anything considered meets every limit.")
    peak_rps: float = quantity("Peak requests/s", "requests/s", "see demand", "The load that is sized for.")
    deployment: Deployed | None = quantity("Deployment", help="What to deploy.")
    per_instance: PerInstance | None = quantity("Per instance", help="One copy of the model.")
    per_prefill_instance: PerInstance | None = quantity(
        "Per prefill instance",
        help="One prefill instance, where prefill runs apart; per_instance is then a decode instance.",
        default=None,
    )
    latency: Latencies | None = quantity("Latency", "ms", "see load model", "At the peak load.")
    gpus_low: int | None = quantity("GPUs, low", "GPUs", "80 % interval of capacity", "Fewest that may suffice.")
    gpus_high: int | None = quantity("GPUs, high", "GPUs", "80 % interval of capacity", "Most that may be needed.")
    cost: Cost | None = quantity("Cost", "USD", "see cost", "Hardware list cost.")
    business: Business = quantity("In business terms", help="What the deployment serves.")
    limited_by: str = quantity("Limited by", help="What sets the capacity of one instance.")
    warnings: tuple[PlanWarning, ...] = quantity("Warnings", help="What a careful architect would point out.")
    assumptions: tuple[str, ...] = quantity("Assumptions", help="What was assumed where the scenario does not say.")
    source: str = quantity("Source", help="Where the step times of the chosen deployment come from.")
    decided_by: DecidedBy = quantity(
        "Instances and latency from",
        help="simulation; analytic for offline use and where no simulation confirms the "
        "limits; measured for a measured record.",
        default="analytic",
    )
    provenance: Provenance | None = quantity(
        "Provenance",
        help="What the numbers come from, as facts; source says it in words. None where nothing is deployed.",
        default=None,
    )
    confidence: str = quantity("How sure", help="Interval and the evidence it comes from, in one sentence.")
    alternatives: tuple[Candidate, ...] = quantity("Alternatives", help="Other deployments, ranked.")
    trade_off: tuple[Candidate, ...] = quantity(
        "Throughput to latency", help="Deployments from fewest GPUs to lowest latency; none is beaten on both."
    )
    excluded: tuple[Excluded, ...] = quantity("Excluded", help="GPUs that cannot serve the scenario.")
    load_curve: tuple[LoadPoint, ...] = quantity("Load curve", help="Latency of one instance against its load.")
    explained: tuple[Explained, ...] = quantity("Explained", help="Each figure from input to formula to source.")
    cross_check: CrossCheck | None = quantity("Second opinion", help="The same from kernel tables.")
    engine_version: str = quantity("Engine version", help="Version of this engine.")
    data_version: str = quantity("Data version", help="Content hash and date of the catalogue.")
