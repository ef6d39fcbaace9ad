"""The answer: every public field carries its label, unit, formula and help (see :mod:`sizing.base.quantity`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import PrivateAttr

from sizing.base.choices import DecidedBy, ProposalName, Severity
from sizing.base.deployed import Deployed, PerInstance
from sizing.base.frame import as_html, cells_of, frame_of
from sizing.base.latency_and_cost import Business, Cost, Latencies
from sizing.base.mixed import MixedFleet
from sizing.base.pipeline import Pipeline
from sizing.base.provenance import Provenance
from sizing.base.quantity import Result, is_empty, is_none, quantity
from sizing.base.reuse_result import Reuse

if TYPE_CHECKING:
    import pandas as pd


class FixSection(StrEnum):
    """The sections of a scenario that a fix changes."""

    WORKLOAD = "workload"
    LIMITS = "limits"
    DEPLOYMENT = "deployment"
    COSTS = "costs"


class Fix(Result):
    """A change to one scenario key that would remove a warning or make a candidate fit."""

    key: Annotated[str, quantity("Scenario key", help="Dotted path of the key to change, e.g. limits.ttft_ms.")]
    value: Annotated[
        bool | float | int | str | list[int] | list[str] | None,
        quantity("New value", help="The smallest change that helps."),
    ]
    label: Annotated[str, quantity("Fix", help="The change in words, for a button.")]
    also: Annotated[tuple[Fix, ...], quantity("Also", help="Changes that are made with it.")] = ()

    @property
    def section(self) -> FixSection:
        """The part of the scenario that is changed."""
        return FixSection(self.key.partition(".")[0])

    @property
    def name(self) -> str:
        """What is changed within its section."""
        return self.key.partition(".")[2]

    @property
    def relaxes_a_limit(self) -> bool:
        """Whether a limit is raised; any other fix changes the workload or a choice."""
        return self.section is FixSection.LIMITS


class PlanWarning(Result):
    """Something a careful architect would point out about the chosen deployment."""

    code: Annotated[str, quantity("Code", help="Stable identifier of the rule.")]
    severity: Annotated[Severity, quantity("Severity", help="info, warning or error.")]
    message: Annotated[str, quantity("Message", help="One sentence: what is the matter and why.")]
    source: Annotated[str, quantity("Source of the rule", help="Where the rule comes from.")] = ""
    fix: Annotated[Fix | None, quantity("Fix", help="A one-click remedy, when there is one.")] = None


LeftOutKind = Literal["lossy_formats", "unmeasured_gpus", "on_demand"]
"""Why plans were not considered: lossy weights, no published benchmarks of the GPU, no spot price where it is asked."""


class LeftOut(Result):
    """The cheapest plan of a kind that was not considered, by the analytic screen."""

    kind: Annotated[LeftOutKind, quantity("Kind", help="lossy_formats, unmeasured_gpus or on_demand.")]
    configuration: Annotated[str, quantity("Configuration", help="GPU, engine, weight format and parallelism.")]
    hardware_usd_per_month: Annotated[
        float,
        quantity(
            "Hardware per month",
            "USD/month",
            "see cost",
            "List cost by the analytic screen, nothing simulated.",
            alias="usd_per_month",
        ),
    ]


class Explained(Result):
    """One number followed from the inputs to the formula to the source."""

    name: Annotated[str, quantity("Quantity", help="What is explained.")]
    value: Annotated[str, quantity("Value", help="Value with unit.")]
    formula: Annotated[str, quantity("Formula", help="Equation in words or symbols.")]
    numbers: Annotated[str, quantity("Numbers", help="The equation with this plan's numbers.")]
    steps: Annotated[
        tuple[str, ...], quantity("Steps", help="The same step by step: what it is, the expression and its result.")
    ] = ()
    source: Annotated[str, quantity("Source", help="Where formula and constants come from.")]


class Candidate(Result):
    """One deployment of the ranking, with what it takes, costs and answers."""

    deployment: Annotated[Deployed, quantity("Deployment", help="What to deploy.")]
    max_rps: Annotated[
        float, quantity("Requests/s per instance", "requests/s", "see per instance", "Within the limits.")
    ]
    ttft_ms: Annotated[float, quantity("TTFT", "ms", "at the asked percentile and load", "Time to first token.")]
    itl_ms: Annotated[
        float | None,
        quantity(
            "ITL", "ms", "at the asked percentile and load", "Inter-token latency; none where an answer has one token."
        ),
    ]
    e2e_ms: Annotated[float, quantity("E2E", "ms", "at the asked percentile and load", "Time to last token.")]
    output_tokens_per_s_per_gpu: Annotated[
        float,
        quantity("Output tokens/s per GPU", "tokens/s", "at the asked load", "Generated tokens per second and GPU."),
    ]
    gpus_low: Annotated[int, quantity("GPUs, low", "GPUs", "80 % interval", "If the engine is faster than estimated.")]
    gpus_high: Annotated[
        int | None,
        quantity(
            "GPUs, high",
            "GPUs",
            "80 % interval",
            "If the engine is slower than estimated; none when a limit could then not be met.",
        ),
    ]
    hardware_usd_per_month: Annotated[
        float | None,
        quantity("Hardware per month", "USD/month", "see cost", "Hardware list cost.", alias="usd_per_month"),
    ]
    power_kw: Annotated[float | None, quantity("Power", "kW", "see cost", "Power budget.")]
    limited_by: Annotated[
        str, quantity("Limited by", help="What binds at this load; smallest unit that fits where none does.")
    ]
    source: Annotated[
        str, quantity("Step times from", help="Measured, kernels with the roofline, or the roofline alone.")
    ]
    decided_by: Annotated[
        DecidedBy,
        quantity(
            "Instances and latency from",
            help="simulation where it was tried, else the analytic load model: an estimate "
            "that the simulation replaces once the deployment is chosen.",
        ),
    ] = "analytic"
    provenance: Annotated[
        Provenance, quantity("Provenance", help="What the numbers come from, as facts; source says it in words.")
    ]


class Proposal(Result):
    """One of the answers to a question that a customer decides between."""

    name: Annotated[
        ProposalName,
        quantity(
            "Proposal",
            help="lowest_cost: the cheapest that is as likely as not enough; balanced: the plan; resilient: the plan "
            "so that it survives the loss of a whole system.",
        ),
    ]
    deployment: Annotated[Deployed, quantity("Deployment", help="What to deploy.")]
    systems: Annotated[int, quantity("Systems", "systems", "see deployment", "Whole systems to buy or rent.")]
    hardware_usd_per_month: Annotated[
        float | None,
        quantity("Hardware per month", "USD/month", "see cost", "Hardware list cost.", alias="usd_per_month"),
    ]
    probability_within_limits: Annotated[
        float | None,
        quantity(
            "Chance that the limits hold",
            "of 1",
            "see plan",
            "At the planned peak; of a resilient proposal with its fullest system lost. None for a measured record.",
        ),
    ]
    headroom: Annotated[
        float | None,
        quantity(
            "Room for growth",
            "x",
            "working instances x requests/s per instance / peak requests/s",
            "How many times the planned load fits within the limits as surely as asked, spares aside; below 1 where "
            "less than the planned load does. None for a measured record.",
        ),
    ]


class Excluded(Result):
    """A GPU that cannot serve the scenario, why, and the smallest change that would let it."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id.")]
    closest: Annotated[str, quantity("Closest configuration", help="The configuration that came nearest.")]
    reason: Annotated[str, quantity("Reason", help="Why it does not fit.")]
    relaxation: Annotated[str, quantity("Smallest relaxation", help="What to change so that it fits.")]
    fix: Annotated[Fix | None, quantity("Fix", help="The relaxation as a scenario change.")] = None


class LoadPoint(Result):
    """One point of the load curve of an instance."""

    rps: Annotated[float, quantity("Requests/s", "requests/s", "per instance", "Load.")]
    concurrency: Annotated[float, quantity("Requests in flight", "requests", "Little's law", "Mean concurrency.")]
    ttft_ms: Annotated[float, quantity("TTFT", "ms", "at the asked percentile", "Time to first token.")]
    itl_ms: Annotated[float, quantity("ITL", "ms", "at the asked percentile", "Inter-token latency.")]
    e2e_ms: Annotated[float, quantity("E2E", "ms", "at the asked percentile", "Time to last token.")]
    output_tokens_per_s_per_gpu: Annotated[
        float,
        quantity("Output tokens/s per GPU", "tokens/s", "rate x OSL / GPUs", "Generated tokens per second and GPU."),
    ]


class CrossCheck(Result):
    """A second opinion on the chosen deployment from another source of step times."""

    source: Annotated[str, quantity("Second source", help="Which step times were used for the second opinion.")]
    max_rps: Annotated[float | None, quantity("Requests/s per instance", "requests/s", "same load model", "Capacity.")]
    instances: Annotated[int | None, quantity("Instances", "instances", "same load model", "Instances needed.")]
    decode_step_ms: Annotated[float | None, quantity("Decode step", "ms", "second source", "At the same concurrency.")]
    prefill_ms: Annotated[float | None, quantity("Prefill of one prompt", "ms", "second source", "One mean prompt.")]
    message: Annotated[
        str, quantity("Finding", help="Agreement or disagreement in one sentence, or why there is none.")
    ]


AnswerPart = Literal[
    "bought",
    "serves",
    "inputs",
    "speculation",
    "format",
    "redundancy",
    "cost",
    "room",
    "sure",
    "infeasible",
    "reuse",
    "pipeline",
    "mixed",
]
"""What a sentence of the answer is about."""


class PromptMedia(Result):
    """Images, pages or sound that a request brings beside its text."""

    kind: Annotated[str, quantity("Kind", help="image, page or sound.")]
    per_request: Annotated[float, quantity("Per request", "images, pages", "asked", "1 of all its sound.")]
    tokens_each: Annotated[
        float, quantity("Tokens of one", "tokens", "rule of the model's family", "Tokens of one in the prompt.")
    ]
    encoder_ms: Annotated[
        float,
        quantity("Encoding", "ms", "FLOP of the encoder / sustained matrix rate", "Engine time of all of a request."),
    ]
    source: Annotated[str, quantity("Source", help="Where the rule of the tokens was read.")]


class AnswerSentence(Result):
    """One sentence of the answer."""

    about: Annotated[
        AnswerPart,
        quantity(
            "About",
            help="bought: what is bought and what of it is used; serves: which model, for whom, how fast; inputs: "
            "adapters, images and sound; speculation: "
            "drafts that it counts on; format: where it deviates from the checkpoint; redundancy: single points of "
            "failure; cost; room: what binds and how much more load fits; sure: how sure; infeasible: why nothing "
            "serves; reuse: what the prefix caches hold of sessions; pipeline: the stages beside the language model; "
            "mixed: what several fleets would save.",
        ),
    ]
    text: Annotated[str, quantity("Sentence", help="The sentence.")]


@dataclass(frozen=True)
class MadeFor:
    """What a plan was made for, which :class:`sizing.planning.answered.Answer` reads: ``scenario`` (None: from a file),
    ``configurations``, ``caches`` it counts on, ``parts`` of a cheaper mix (question and plan of each), or ``pools``,
    the plan with prefill and decode on two GPU types that is advised. Nothing of this is compared or written."""

    scenario: object = field(default=None, compare=False, repr=False)
    configurations: tuple[object, ...] = field(default=(), compare=False, repr=False)
    caches: object = field(default=None, compare=False, repr=False)
    parts: tuple[tuple[object, object], ...] = field(default=(), compare=False, repr=False)
    pools: object = field(default=None, compare=False, repr=False)


class Plan(Result):
    """The whole answer to one scenario."""

    _made_for: MadeFor = PrivateAttr(default_factory=MadeFor)

    answer: Annotated[str, quantity("Answer", help="The answer in a few short sentences.")]
    sentences: Annotated[
        tuple[AnswerSentence, ...],
        quantity("Sentences of the answer", help="The answer, each sentence with what it is about."),
    ]
    feasible: Annotated[bool, quantity("Feasible", help="Whether anything considered meets every limit.")]
    peak_rps: Annotated[
        float,
        quantity("Peak requests/s", "requests/s", "see demand", "The busiest time; of an average, its busiest second."),
    ]
    sustained_rps: Annotated[
        float,
        quantity(
            "Sustained requests/s",
            "requests/s",
            "see demand",
            "The mean rate of the busiest time, which is sized for: arrivals vary around it as the scenario says.",
        ),
    ]
    media: Annotated[
        tuple[PromptMedia, ...],
        quantity(
            "Images and sound", help="What each request brings beside text; left out without.", exclude_if=is_empty
        ),
    ] = ()
    deployment: Annotated[Deployed | None, quantity("Deployment", help="What to deploy.")]
    per_instance: Annotated[PerInstance | None, quantity("Per instance", help="One copy of the model.")]
    per_prefill_instance: Annotated[
        PerInstance | None,
        quantity(
            "Per prefill instance",
            help="One prefill instance, where prefill runs apart; per_instance is then a decode instance.",
        ),
    ] = None
    latency: Annotated[Latencies | None, quantity("Latency", "ms", "see load model", "At the peak load.")]
    gpus_low: Annotated[
        int | None, quantity("GPUs, low", "GPUs", "80 % interval of capacity", "Fewest that may suffice.")
    ]
    gpus_high: Annotated[
        int | None, quantity("GPUs, high", "GPUs", "80 % interval of capacity", "Most that may be needed.")
    ]
    cost: Annotated[Cost | None, quantity("Cost", "USD", "see cost", "Hardware list cost.")]
    business: Annotated[Business, quantity("In business terms", help="What the deployment serves.")]
    limited_by: Annotated[
        str, quantity("Limited by", help="What binds at this load; smallest unit that fits where none does.")
    ]
    headroom: Annotated[
        float | None,
        quantity(
            "Room for growth",
            "x",
            "working instances x requests/s per instance / peak requests/s",
            "How many times the planned load fits within the limits, spares aside: simulated where the plan is and "
            "every instance does prefill and decode, else by the load model.",
        ),
    ] = None
    reuse: Annotated[
        Reuse | None,
        quantity("Prefix caches", help="What they hold of sessions; none where a load is not stated by sessions."),
    ] = None
    warnings: Annotated[tuple[PlanWarning, ...], quantity("Warnings", help="What a careful architect would point out.")]
    left_out: Annotated[
        tuple[LeftOut, ...], quantity("Left out", help="Clearly cheaper plans that the scenario's defaults leave out.")
    ] = ()
    assumptions: Annotated[
        tuple[str, ...], quantity("Assumptions", help="What was assumed where the scenario does not say.")
    ]
    source: Annotated[str, quantity("Source", help="Where the step times of the chosen deployment come from.")]
    decided_by: Annotated[
        DecidedBy,
        quantity(
            "Instances and latency from",
            help="simulation; analytic for offline use and where no simulation confirms the "
            "limits; measured for a measured record.",
        ),
    ] = "analytic"
    provenance: Annotated[
        Provenance | None,
        quantity(
            "Provenance",
            help="What the numbers come from, as facts; source says it in words. None where nothing is deployed.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        quantity(
            "Confidence asked",
            "%",
            "asked",
            "Chance with which what is planned is to suffice, for doubt about the engine; none for a measured record.",
        ),
    ]
    probability_within_limits: Annotated[
        float | None,
        quantity(
            "Chance that the limits hold",
            "of 1",
            "chance that steps are no slower than those at which the planned instances just carry the peak",
            "With the planned instances at the planned peak; stated from 0.01 to 0.99. None where nothing is "
            "predicted.",
        ),
    ]
    gpus_expected: Annotated[
        int | None,
        quantity(
            "GPUs expected to be enough",
            "GPUs",
            "ceil(peak / expected requests/s per instance) x GPUs per instance",
            "If steps take as long as predicted: as likely as not. What is planned beyond is for being sure.",
        ),
    ]
    how_sure: Annotated[str, quantity("How sure", help="Interval and the evidence it comes from, in one sentence.")]
    proposals: Annotated[
        tuple[Proposal, ...],
        quantity(
            "Proposals",
            help="Lowest cost, balanced (the plan) and resilient (N+1 systems), to decide between; empty where no plan "
            "keeps the limits, and in brief plans.",
        ),
    ] = ()
    alternatives: Annotated[tuple[Candidate, ...], quantity("Alternatives", help="Other deployments, ranked.")]
    trade_off: Annotated[
        tuple[Candidate, ...],
        quantity(
            "Throughput to latency", help="Deployments from fewest GPUs to lowest latency; none is beaten on both."
        ),
    ]
    excluded: Annotated[tuple[Excluded, ...], quantity("Excluded", help="GPUs that cannot serve the scenario.")]
    load_curve: Annotated[
        tuple[LoadPoint, ...], quantity("Load curve", help="Latency of one instance against its load.")
    ]
    explained: Annotated[
        tuple[Explained, ...], quantity("Explained", help="Each figure from input to formula to source.")
    ]
    cross_check: Annotated[CrossCheck | None, quantity("Second opinion", help="The same by the roofline alone.")]
    pipeline: Annotated[
        Pipeline | None,
        quantity("Pipeline", help="Stages beside the language model, and the whole; none where none is asked."),
    ] = None
    mixed: Annotated[
        MixedFleet | None,
        quantity(
            "Mixed fleet",
            help="Held against the plan, which is one fleet; left out where none is asked.",
            exclude_if=is_none,
        ),
    ] = None
    engine_version: Annotated[str, quantity("Engine version", help="Version of this engine.")]
    data_version: Annotated[str, quantity("Data version", help="Content hash and date of the catalogue.")]

    def to_frame(self) -> pd.DataFrame:
        """The ranking, the chosen deployment first: a row each, 28 columns, empty where nothing serves.

        What to deploy, then requests/s of an instance, latencies in ms at the asked percentile, GPUs with the ends of
        their 80 % interval, USD of hardware per month, kW; ``attrs["units"]`` has the unit of each column. None where
        a price or power is not known; where the step times of a row come from is its column ``source``.
        """
        rows = [cells_of(one.deployment) | cells_of(one) for one in self.alternatives]
        return frame_of([*self._chosen(), *rows], Deployed, Candidate)

    def _chosen(self) -> list[dict[str, object]]:
        """The row of the chosen deployment, as one of an alternative."""
        deployed, one, latency = self.deployment, self.per_instance, self.latency
        if deployed is None or one is None or latency is None:
            return []
        return [
            cells_of(deployed)
            | {
                "max_rps": one.max_rps,
                **{name: getattr(latency, name).at_percentile for name in ("ttft_ms", "itl_ms", "e2e_ms")},
                "output_tokens_per_s_per_gpu": one.output_tokens_per_s_per_gpu,
                "gpus_low": self.gpus_low,
                "gpus_high": self.gpus_high,
                "hardware_usd_per_month": self.cost and self.cost.hardware_usd_per_month,
                "power_kw": self.cost and self.cost.power_kw,
                **{name: getattr(self, name) for name in ("limited_by", "source", "decided_by")},
            }
        ]

    def _repr_html_(self) -> str:
        """The plan as a notebook shows it: the answer, the best deployments, and what to mind."""
        return as_html(self.answer, self.to_frame(), [warning.message for warning in self.warnings])

    @property
    def made_for(self) -> MadeFor:
        """The scenario that this plan answers, and the configurations it chose."""
        return self._made_for

    def marked(self, made_for: MadeFor) -> Self:
        """The plan with what it was made for; copies of it keep that."""
        marked = self.model_copy()
        marked._made_for = made_for
        return marked

    @property
    def headroom_is_simulated(self) -> bool:
        """Whether a simulation found the headroom: where it decided, and one kind of instance does both."""
        return self.decided_by == "simulation" and self.per_prefill_instance is None
