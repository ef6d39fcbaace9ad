"""The question: what a scenario file may say. Validated here, at the edge; the engine trusts it afterwards.

Units are those a person types: milliseconds, requests per second, percent, billions of parameters. Conversion to
seconds and bytes happens where the engine reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from commandline.percentiles import HEADLINE
from sizing.base.choices import (
    BenchmarkMode,
    Confidence,
    KvTier,
    Loader,
    Location,
    Mode,
    Objective,
    Redundancy,
    Routing,
    Serving,
    SpeculationUse,
    Standby,
    StepTimesFrom,
    WeightsFrom,
)
from sizing.base.errors import BrokenRule, MissingKey
from sizing.base.units import DAYS_PER_MONTH, DAYS_PER_WEEK
from sizing.scenario import bounds
from sizing.scenario.adapters import MOST_STAGES, AdaptersAsked, Images, PerRequest, PipelineStage
from sizing.scenario.bounds import MAX_CV, MAX_RPS, MAX_TOKENS
from sizing.scenario.costs import Costs
from sizing.scenario.model_asked import ModelAsked, Name
from sizing.scenario.part import ScenarioPart, Usd
from sizing.scenario.prefix_reuse import TraceReuse
from sizing.scenario.prices import Prices
from sizing.scenario.sessions import DERIVED_KEYS, Sessions, with_derived
from sizing.scenario.traffic import Arrivals, Length, Profile, Tokens, TraceArrivals

SCHEMA_VERSION = 1
"""Version of the scenario file that is written; older ones are migrated."""

Rate = Annotated[float, Field(gt=0, le=MAX_RPS, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(gt=0, le=86_400_000, allow_inf_nan=False)]
Percentile = Annotated[float, Field(ge=50, le=99.9, allow_inf_nan=False)]


RATES = ("peak_rps", "average_rps", "users", "batch")
"""Keys of the load, of which a workload has one; a trace of arrivals takes their place."""


class Users(ScenarioPart):
    """Demand from people: users x requests each, spread over working hours, with a peak factor."""

    daily_users: Annotated[float, Field(gt=0, le=1e10, allow_inf_nan=False)]
    requests_per_user: Annotated[float, Field(gt=0, le=1e5, allow_inf_nan=False)] = 3.0
    hours: Annotated[float, Field(gt=0, le=24, allow_inf_nan=False)] = 8.0
    peak_to_mean: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] = 2.0


class Batch(ScenarioPart):
    """Documents that nobody waits for: so many a month, done within so many days of their arrival (left out: a month),
    in a window of so many hours of a day on so many days of a week."""

    documents_per_month: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
    requests_per_document: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0
    deadline_days: Annotated[float, Field(gt=0, le=DAYS_PER_MONTH, allow_inf_nan=False)] | None = None
    hours_per_day: Annotated[float, Field(gt=0, le=24, allow_inf_nan=False)] = 24.0
    days_per_week: Annotated[float, Field(gt=0, le=7, allow_inf_nan=False)] = 7.0

    @property
    def days_worked(self) -> float:
        """Days of a month on which the batch runs: ``deadline x days of a week / 7``."""
        return (self.deadline_days or DAYS_PER_MONTH) * self.days_per_week / DAYS_PER_WEEK

    @property
    def hours_per_month(self) -> float:
        """Hours of a month in which the batch runs."""
        return self.days_worked * self.hours_per_day


class Workload(ScenarioPart):
    """What is asked of the model. A ``batch`` is offline: left out, its mode is so.

    ``input_tokens`` are text; the tokens of ``images``, scanned ``pages`` and ``audio_seconds`` of each request, as the
    model takes them, come on top.
    ``sessions`` say lengths and rate: those keys are left out then, and the part that the prefix cache holds is
    computed; so it is from ``prefix_reuse``, the hits of a trace.
    """

    input_tokens: Length
    output_tokens: Length
    peak_rps: Rate | None = None
    average_rps: Rate | None = None
    peak_percentile: Percentile = 95.0
    users: Users | None = None
    batch: Batch | None = None
    sessions: Sessions | None = None
    growth_percent: Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)] = 0.0
    prefix_cached_tokens: Annotated[float, Field(ge=0, le=MAX_TOKENS, allow_inf_nan=False)] = 0.0
    images: Images | None = None
    pages: PerRequest | None = None
    audio_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None = None
    prefix_reuse: TraceReuse | None = None
    arrivals: Arrivals = "poisson"
    mode: Mode = "streaming"

    @model_validator(mode="before")
    @classmethod
    def _batch_is_offline(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("batch") is not None and "mode" not in given:
            return {**given, "mode": "offline"}
        return given

    @model_validator(mode="before")
    @classmethod
    def _said_by_sessions(cls, given: Any) -> Any:
        return with_derived(given) if isinstance(given, Mapping) and given.get("sessions") is not None else given

    @model_serializer(mode="wrap")
    def _without_what_follows(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What follows from sessions is not written beside them."""
        written: dict[str, Any] = write(self)
        return written if self.sessions is None else {k: v for k, v in written.items() if k not in DERIVED_KEYS}

    @model_validator(mode="after")
    def _one_rate(self) -> Workload:
        given = [n for n in RATES if getattr(self, n) is not None]
        if len(given) != 1 and (given or not isinstance(self.arrivals, TraceArrivals)):
            what = " and ".join(given) if given else "none of them"
            raise ValueError(f"give exactly one of peak_rps, average_rps, users or batch (found {what})")
        if self.batch is not None and self.mode != "offline":
            raise ValueError(f"nobody waits for a batch: set mode to offline (found {self.mode}), or give a rate")
        if self.batch is not None and isinstance(self.arrivals, Profile | TraceArrivals):
            raise ValueError(
                "a batch runs evenly in its working window: leave arrivals by the hour or from a trace out"
            )
        if self.sessions is not None and (self.images is not None or self.pages or self.audio_seconds):
            raise ValueError(
                "images, pages and sound of a session are not counted turn by turn: leave them out, and put their "
                "tokens into first_prompt_tokens or user_tokens"
            )
        if self.prefix_reuse is not None and (self.sessions is not None or self.prefix_cached_tokens):
            other = "sessions" if self.sessions is not None else "prefix_cached_tokens"
            raise ValueError(f"prefix_reuse and {other} both say what is cached: leave one of them out")
        prompt = self.input_tokens if isinstance(self.input_tokens, float) else self.input_tokens.typical
        if self.prefix_cached_tokens >= prompt:
            raise BrokenRule("cached_part_is_shorter", "prefix_cached_tokens must be smaller than input_tokens")
        return self


class Limits(ScenarioPart):
    """Latency limits in milliseconds at ``percentile``; None means no limit."""

    ttft_ms: Milliseconds | None = 2000.0
    itl_ms: Milliseconds | None = 100.0
    e2e_ms: Milliseconds | None = None
    percentile: Percentile = HEADLINE


MatrixRate = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
"""Dense matrix rate of a GPU in TFLOPS, or TOPS of whole numbers. Bounded far above any datasheet."""


class CustomGpu(ScenarioPart):
    """An accelerator outside the catalogue, as its datasheet states it: GB of 10^9 bytes, GB/s, dense TFLOPS, W, USD.

    A matrix rate that is given is a format that the accelerator supports. ``link_gbs`` counts both directions of the
    link that joins ``domain_gpus`` accelerators; without one they are joined by PCIe.
    """

    id: str = Field(pattern=r"^[a-z0-9_]{2,40}$")
    name: str = Field(default="", max_length=bounds.LONGEST_GPU_NAME)
    memory_gb: Annotated[float, Field(ge=1, le=10_000, allow_inf_nan=False)]
    bandwidth_gbs: Annotated[float, Field(ge=10, le=1_000_000, allow_inf_nan=False)]
    fp16_tflops: MatrixRate
    bf16_tflops: MatrixRate | None = None
    fp8_tflops: MatrixRate | None = None
    int8_tops: MatrixRate | None = None
    fp4_tflops: MatrixRate | None = None
    link_gbs: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = None
    domain_gpus: int | None = Field(default=None, ge=1, le=1024)
    tdp_watts: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = None
    price_usd: Usd | None = None

    @model_validator(mode="after")
    def _linked(self) -> CustomGpu:
        if self.domain_gpus is not None and self.domain_gpus > 1 and self.link_gbs is None:
            raise ValueError("domain_gpus needs link_gbs: give the link bandwidth per GPU, both directions together")
        return self

    @property
    def label(self) -> str:
        """What it is called: its name, or its id where it has none."""
        return self.name.strip() or self.id


class SpeculativeDecoding(ScenarioPart):
    """``draft_tokens`` guessed per step, each right with probability ``acceptance``.

    ``draft_cost``: time of one guess relative to a decode step of the model (below 0.05 for draft models about a
    hundred times smaller: Leviathan et al., ICML 2023).
    """

    draft_tokens: int = Field(ge=1, le=16)
    acceptance: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    draft_cost: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.05


class KvOffload(ScenarioPart):
    """A second tier for the KV cache: so many GiB for each GPU, from which a history is loaded instead of computed.

    ``gbs_per_gpu`` and ``latency_ms``: how fast one GPU loads, and after what time it begins; left out, published
    values of the ``tier`` (:mod:`sizing.catalog.kv_tiers`). ``usd_per_gib``: price of the memory.
    """

    tier: KvTier
    gib_per_gpu: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
    gbs_per_gpu: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = None
    latency_ms: Annotated[float, Field(ge=0, le=600_000, allow_inf_nan=False)] | None = None
    usd_per_gib: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _bandwidth_is_known(self) -> KvOffload:
        if self.tier == "ssd" and self.gbs_per_gpu is None:
            raise MissingKey("gbs_per_gpu is required with tier ssd: drives differ too much for a default")
        return self


class Layout(ScenarioPart):
    """How the GPUs of one instance share a model: degrees of parallelism."""

    tp: int = Field(default=1, ge=1, le=128)
    pp: int = Field(default=1, ge=1, le=64)
    ep: int = Field(default=1, ge=1, le=128)
    dp: int = Field(default=1, ge=1, le=128)


MOST_FLEETS = 4
"""Fleets that share a load at most. Chosen: each is one more to run, and a router has a threshold between two."""


class Deployment(ScenarioPart):
    """What may be bought or rented. Empty lists mean: consider all.

    ``serving``: prefill and decode in the same instances (aggregated) or in pools of their own (disaggregated).
    ``prefill``, ``decode``: the one layout that such an instance may have; none: the best that ``tp`` to ``dp`` leave.
    ``batch_limits``: sequences in flight per instance; empty: whatever serves best. ``memory_fraction``: share of a
    GPU's memory that the engine may use; none: its default. ``max_utilization`` is room for more load than asked,
    ``confidence`` (percent) for an engine slower than expected: two doubts, neither counted in the other.
    ``redundancy``: what may fail at the peak without a limit being broken, beside single instances
    (``spare_instances``): nothing, a whole system (N+1), or one of two sites (2N). ``measured_gpus_only`` narrows an
    empty ``gpus`` to the types with published benchmarks; by default all that are sold for servers are considered, as
    one that nobody measured pays for that by ``confidence``. ``accurate_formats_only`` narrows an empty ``precisions``
    to the checkpoint's own format and those that answer as well as measurable (FP8); by default it does, as what 4 bits
    cost is not in dollars: a test on the customer's own task decides about them. ``routing``: how requests are spread
    over the instances; by default to the least loaded, as gateways for inference do
    (:data:`sizing.base.choices.Routing`). ``speculation``: whether drafts published for the model are considered where
    they decide; ``speculative_decoding``: those that every instance takes. ``weights_from``: the storage that a
    starting instance reads its weights from, at ``weights_gb_per_s`` (10^9 bytes a second; none: what its kind gives)
    by ``weights_loader``; stated, start-up times are computed from it. ``standby``: how instances wait that are not
    needed. ``kv_offload``: a second tier for the KV cache of sessions and traces with blocks. ``mixed``: fleets at
    most, each of one GPU type, over which the load may be split by the length of its prompts; 1: one takes all.
    """

    gpus: list[str] = Field(default_factory=list, max_length=100)
    engines: list[str] = Field(default_factory=list, max_length=20)
    precisions: list[str] = Field(default_factory=list, max_length=30)
    kv_precisions: list[str] = Field(default_factory=list, max_length=10)
    tp: list[Annotated[int, Field(ge=1, le=128)]] = Field(default_factory=list, max_length=16)
    pp: list[Annotated[int, Field(ge=1, le=64)]] = Field(default_factory=list, max_length=16)
    ep: list[Annotated[int, Field(ge=1, le=320)]] = Field(default_factory=list, max_length=16)
    dp: list[Annotated[int, Field(ge=1, le=320)]] = Field(default_factory=list, max_length=16)
    serving: list[Serving] = Field(default_factory=list, max_length=2)
    prefill: Layout | None = None
    decode: Layout | None = None
    batch_limits: list[Annotated[int, Field(ge=1, le=100_000)]] = Field(default_factory=list, max_length=16)
    memory_fraction: Annotated[float, Field(ge=0.1, le=0.99, allow_inf_nan=False)] | None = None
    custom_gpus: list[CustomGpu] = Field(default_factory=list, max_length=20)
    slice: str = Field(default="", max_length=20)
    mixed: int = Field(default=1, ge=1, le=MOST_FLEETS)
    measured_gpus_only: bool = False
    accurate_formats_only: bool = True
    location: Location = "on_prem"
    spare_instances: int = Field(default=0, ge=0, le=1000)
    redundancy: Redundancy = "none"
    max_utilization: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    confidence: Confidence = 90
    objective: Objective = "cost"
    step_times: StepTimesFrom = "kernel"
    routing: Routing = "least_loaded"
    kv_offload: KvOffload | None = None
    weights_from: WeightsFrom | Literal["unstated"] = "unstated"
    weights_gb_per_s: Annotated[float, Field(ge=0.001, le=1000, allow_inf_nan=False)] | None = None
    weights_loader: Loader = "default"
    standby: Standby = "none"
    speculation: SpeculationUse = "auto"
    speculative_decoding: SpeculativeDecoding | None = None

    @model_validator(mode="after")
    def _own_by_id(self) -> Deployment:
        """Accelerators of one's own may be named by what they are called, too: everything else knows their ids."""
        ids = {card.label.casefold(): card.id for card in self.custom_gpus}
        known = {card.id for card in self.custom_gpus}
        named = [name if name in known else ids.get(name.strip().casefold(), name) for name in self.gpus]
        if named != self.gpus:
            self.gpus[:] = dict.fromkeys(named)
        return self

    def allows(self, serving: Serving) -> bool:
        """Whether deployments of this kind may be considered."""
        return not self.serving or serving in self.serving


class Measured(ScenarioPart):
    """A measured operating point of one system: replaces the model's prediction."""

    system: str = Field(min_length=1, max_length=80)
    rps_per_system: Rate
    ttft_ms: Milliseconds | None = None
    itl_ms: Milliseconds | None = None
    source: str = Field(default="", max_length=bounds.LONGEST_SOURCE)


class BenchmarkPoint(ScenarioPart):
    """One run of a benchmark at one load: mean lengths, means of latencies, rates of everything that served it.

    ``ttft_ms`` is the mean in a closed loop and the median in an open one, whose ``ttft_p99_ms`` is compared and
    calibrates nothing. A run of so many ``requests`` is answered from its start to its end, an offline one until its
    longest answer ends (``output_variation``: squared coefficient of variation of the answers); left out, a closed loop
    has ten for each in flight, others have no end.
    """

    mode: BenchmarkMode
    concurrency: Rate | None = None
    request_rate_rps: Rate | None = None
    requests: Rate | None = None
    input_tokens: Tokens
    output_tokens: Tokens
    output_variation: Annotated[float, Field(ge=0, le=MAX_CV**2, allow_inf_nan=False)] | None = None
    prefix_cached_tokens: Annotated[float, Field(ge=0, le=MAX_TOKENS, allow_inf_nan=False)] = 0.0
    ttft_ms: Milliseconds | None = None
    ttft_p99_ms: Milliseconds | None = None
    itl_ms: Milliseconds | None = None
    requests_per_s: Rate | None = None
    output_tokens_per_s: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _complete(self) -> BenchmarkPoint:
        needed = {"fixed_concurrency": "concurrency", "fixed_rate": "request_rate_rps"}.get(self.mode)
        if needed and getattr(self, needed) is None:
            raise MissingKey(f"{needed} is required with mode {self.mode}")
        measured = (self.ttft_ms, self.itl_ms, self.requests_per_s, self.output_tokens_per_s)
        if all(value is None for value in measured):
            raise ValueError("give ttft_ms, itl_ms, requests_per_s or output_tokens_per_s: nothing was measured")
        return self


class Benchmark(ScenarioPart):
    """A measured curve of one configuration: calibrates the step times of exactly that one
    (``sizing.calibration.fit``).

    ``model`` left out means the scenario's; ``gpus`` all that served the load, replicas together, or one instance.
    ``sequence_ms``: what each running sequence adds to a step beyond the prediction, where that is known beside the
    points, as live windows teach it; the points calibrate the rest.
    """

    source: str = Field(default="", max_length=bounds.LONGEST_SOURCE)
    model: str | None = Field(default=None, min_length=1, max_length=200)
    gpu: str = Field(min_length=1, max_length=80)
    engine: str = Field(min_length=1, max_length=80)
    weight_precision: str = Field(min_length=1, max_length=80)
    kv_precision: str | None = Field(default=None, min_length=1, max_length=80)
    gpus: int | None = Field(default=None, ge=1, le=100_000)
    tp: int = Field(default=1, ge=1, le=128)
    pp: int = Field(default=1, ge=1, le=64)
    ep: int = Field(default=1, ge=1, le=128)
    dp: int = Field(default=1, ge=1, le=128)
    sequence_ms: Annotated[float, Field(ge=0, le=1e4, allow_inf_nan=False)] = 0.0
    points: list[BenchmarkPoint] = Field(min_length=1, max_length=200)


class Scenario(ScenarioPart):
    """One sizing question. ``Scenario.model_validate(dict)`` reads the same keys as the file."""

    schema_version: Literal[1] = 1
    name: Name = Field(default="Untitled scenario", max_length=bounds.LONGEST_NAME)
    model: ModelAsked
    workload: Workload
    limits: Limits = Limits()
    deployment: Deployment = Deployment()
    adapters: AdaptersAsked | None = None
    measured: Measured | None = None
    benchmark: Benchmark | None = None
    pipeline: list[PipelineStage] = Field(default_factory=list, max_length=MOST_STAGES)
    prices: Prices = Prices()
    costs: Costs = Costs()

    @model_validator(mode="after")
    def _can_be_mixed(self) -> Scenario:
        if self.deployment.mixed == 1:
            return self
        if self.measured is not None:
            raise ValueError("a measured record is of one fleet: leave deployment.mixed out, or measured")
        if self.workload.sessions is not None or self.workload.prefix_reuse is not None:
            raise ValueError(
                "what prefix caches hold depends on where requests go: leave deployment.mixed out, or give lengths and "
                "prefix_cached_tokens in place of sessions and prefix_reuse"
            )
        return self

    @model_validator(mode="after")
    def _can_be_written(self) -> Scenario:
        try:
            self.model_dump_json()
        except ValueError:  # what "\\ud800" in JSON or YAML becomes
            raise ValueError("a text holds half a character (a lone surrogate): type it again") from None
        return self
