"""What is to be said about an observation, as facts: why its state is what it is, what to know about its numbers.

Code asks for the kind; the sentence is made where an observation is shown (JSON, page, terminal).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from collectors.format import sentence
from collectors.units import S_PER_MINUTE


class RemarkKind(Enum):
    """What is said, each with its sentence; names in braces are the facts of a remark of that kind."""

    # Why there is no data, or none of now.
    SOURCE_FAILED = "{error}"
    RING_UNUSABLE = "The ring of scrapes cannot be used ({error}): free its disk or give another store."
    NO_MODEL_LABEL = "{engine} has no model label: select by job or instance instead of {label}."
    NO_PREFIX = "{engine} names its metrics without a prefix: select by job, namespace or instance."
    NO_ENGINE = "{where} answers, but holds no metrics of a known engine{targets}."
    NOTHING_SELECTED = "{engine} is seen, but no series matches {{{selector}}}{targets}.{hint}"
    STALE = "The newest sample is {age_s:.0f} s old{targets}: the engine or its scrape stopped."

    # More is asked than can be served.
    QUEUE_PERSISTS = "The queue never emptied: {waiting:.3g} requests wait on average."
    QUEUE_PERSISTS_AND_GROWS = (
        "The queue never emptied: {waiting:.3g} requests wait on average, growing by {growth_per_s:.2g} requests/s."
    )
    KV_FULL = "The KV cache is full ({kv_usage:percent}) and requests are preempted ({preemptions_per_s:.2g}/s)."
    LONG_QUEUE = "Waiting in the queue, {queue_ms:duration} on average, is {share:percent} of the mean TTFT."

    # Part of the deployment or of the answer is not in the numbers.
    PARTIAL_ANSWER = "The server marks its answer as partial{warning}."
    QUERIES_FAILED = "Some queries failed: {error}"
    QUERIES_REJECTED = "The server rejects the query of {quantities}."
    REPLICAS_LOST = "{replicas} stopped reporting within the window."
    REPLICAS_DOWN = "{replicas} {replicas:be} down: the last sample came {ago} ago{xids}."
    REPLICAS_FEWER = (
        "{replicas} stopped reporting {ago} ago: {live:g} of the {most:g} replicas of the last hour report. Scaled "
        "down, or lost."
    )
    TARGETS_DOWN = "{targets} of the same scrape job {targets:be} down."
    CORE_MISSING = "No data for {quantities}."

    # What to know about the numbers.
    DUPLICATE_JOBS = "The jobs {jobs} scrape the same servers: only {job} is counted."
    COPIES = (
        "Several Prometheus servers report the same targets here, apart by the label {label}: only {label}={value} is "
        "counted."
    )
    REPLICAS_REPLACED = "Replaced within the window: {replicas}. Others came in their place, as with an update."
    RELAYED = "A router passes on what engines report themselves (label {labels}): each engine is counted once."
    SHORT_DATA = "Data goes back {covered_s:.0f} s only: the window is {window_s:.3g} s instead of {asked_s:g} s."
    WINDOW_WIDENED = (
        "A window of {asked_s:g} s holds too few scrapes ({interval_s:g} s apart): {window_s:g} s are used."
    )
    APART = "Prefill and decode are apart: requests, tokens and latencies are those of the servers that decode."
    HANDED_OVER = (
        "Prefill and decode are apart: requests, tokens, gaps and E2E are those of the servers that decode; TTFT, "
        "queue and prefix hits are those of the {servers:g} that prefill, without moving the KV cache."
    )
    ONE_STAGE = "Of the models {models} only {model} is counted: give model in selector."
    CALM_STRETCH = (
        "Judged over {judged} of the {asked}: in the other minutes more was asked than could be served, or they lie "
        "beyond such minutes."
    )
    SATURATED_AT_TIMES = (
        "In {share:percent} of the minutes more was asked than could be served: the queue never emptied, or requests "
        "were preempted."
    )
    FLEET_OF_REPLICAS = "More than {most} replicas: quantiles of TTFT, ITL and E2E only, means of the rest."
    FLEET_OF_GPUS = "More than {most:,} GPUs: their values are those of the last scrape, not of the window."
    OTHER_ENGINES = "Also seen at this source: {engines}."
    OLD_AND_NEW_NAMES = "Old and new metric names are both present ({quantities}): the newer ones are used."
    READ_IN_TURNS = "This fleet is read in turns; values are older than this moment by up to: {ages}."
    GPU_SLOWED_DOWN = "GPU {which} is slowed down: {causes}."
    GPUS_SLOWED_DOWN = "{gpus:g} GPUs are slowed down ({which}): {causes}."
    GPU_SLOWED_BY_HEAT = "GPU {which} is slowed down by heat."
    GPUS_SLOWED_BY_HEAT = "{gpus:g} GPUs are slowed down by heat ({which})."
    XID_ON = "GPU {which} shows an XID error{codes}."
    XIDS_ON = "{gpus:g} GPUs show XID errors{codes} ({which})."
    GPUS_PARTITIONED = (
        "GPUs are partitioned (MIG): busy is the activity of the graphics engine, weighted by the slices of the parts."
    )
    ROW_NOT_REMAPPED = "A GPU failed to remap a memory row: it needs replacing."
    GPUS_OF_HOSTS = "GPUs are joined by host: all GPUs of these hosts are counted."

    # What an operator should look at although the deployment answers.
    REQUESTS_FAIL = "{ratio:percent} of the requests fail ({failed_rps:.2g} a second)."
    REQUESTS_ABORTED = (
        "About {share:percent} of the requests end early: given up by their clients, or lost with an engine that "
        "restarted."
    )
    QUEUE_GROWS = "The queue grows by {growth_per_s:.2g} requests/s; up to {waiting:.3g} wait."
    PREEMPTIONS = "Requests are preempted ({per_s:.2g}/s): the KV cache ran out, their prefill is repeated."
    KV_NEARLY_FULL = "The KV cache reached {kv_usage:percent}."
    ONE_ECC_ERROR = "1 uncorrected memory error."
    ECC_ERRORS = "{errors:g} uncorrected memory errors."
    LATE = "The newest sample is {age_s:.0f} s old; they come every {interval_s:.0f} s."


@dataclass(frozen=True)
class Names:
    """Names in a sentence: all, or the first ``most``; ``counted`` says how many more there are."""

    names: Sequence[str]
    most: int | None = None
    counted: bool = False

    def __str__(self) -> str:
        shown = ", ".join(self.names[: self.most])
        more = len(self.names) - (self.most or len(self.names))
        return f"{shown} and {more} more" if self.counted and more > 0 else shown


@dataclass(frozen=True)
class Ages:
    """Seconds by which values are older than the moment read, by what they are about."""

    seconds: Mapping[str, float]

    def __str__(self) -> str:
        return ", ".join(f"{what} {age_s:.0f} s" for what, age_s in self.seconds.items())


@dataclass(frozen=True)
class Ago:
    """How long ago something was."""

    seconds: float

    def __str__(self) -> str:
        minutes = round(self.seconds / S_PER_MINUTE)
        return f"{self.seconds:.0f} s" if minutes < 2 else f"{minutes} minutes"


@dataclass(frozen=True)
class ScrapeTargets:
    """How many scrape targets there are at a source, and how many of them answer."""

    answering: float
    all: float

    def __str__(self) -> str:
        return f" ({self.answering:g} of {self.all:g} scrape targets answer)"


@dataclass(frozen=True)
class Remark:
    """One thing to say: its kind and its facts."""

    kind: RemarkKind
    facts: Mapping[str, object]

    @property
    def sentence(self) -> str:
        """The remark as a person reads it."""
        return sentence(self.kind.value, **self.facts)

    def names(self, fact: str) -> Sequence[str]:
        """The names that are one of its facts. Raises KeyError where it has no such names."""
        value = self.facts[fact]
        if not isinstance(value, Names):
            raise KeyError(fact)
        return value.names


def remark(kind: RemarkKind, **facts: object) -> Remark:
    """A remark with its facts."""
    return Remark(kind, facts)
