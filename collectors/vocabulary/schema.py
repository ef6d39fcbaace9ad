"""The shape of a vocabulary file.

A concept (``ttft``) lists candidates, newest first; the first one whose metric exists is used. In expressions,
``$sel`` stands for the matchers of the source, ``$other`` for those without the model, ``$front`` for the one model
label, or the servers, to count where an engine counts every stage, ``$w`` for the window, ``$step`` for the scrape
interval.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from collectors.queries.live_numbers import OF_AN_ENGINE

SCALARS = {
    "first_tokens": "requests/s",
    "arrivals": "requests/s",
    **OF_AN_ENGINE,
    "cached_prompt_tokens": "tokens/s",
    "waiting_for_capacity": "requests",
    "kv_capacity_tokens": "tokens",
    "max_concurrency": "requests",
    "requests": "requests/s",
    "workers": "replicas",
}
"""Every concept of an engine that is one number, with its unit."""

DISTRIBUTIONS = {
    "ttft": "s",
    "itl": "s",
    "tpot": "s",
    "e2e": "s",
    "queue": "s",
    "prefill": "s",
    "decode": "s",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
}
"""Every concept of an engine that is a distribution over requests (ITL: over gaps), with its unit."""

GPU_CONCEPTS = {
    "busy": "ratio",
    "engine_active": "ratio",
    "sm_active": "ratio",
    "tensor_active": "ratio",
    "dram_active": "ratio",
    "memory_used": "bytes",
    "memory_free": "bytes",
    "memory_reserved": "bytes",
    "memory_total": "bytes",
    "power": "W",
    "power_cap": "W",
    "energy": "W",
    "temperature": "°C",
    "memory_temperature": "°C",
    "sm_clock": "MHz",
    "xid": "code",
    "xid_count": "errors",
    "throttle_reasons": "bits",
    "power_throttled": "ratio",
    "thermal_throttled": "ratio",
    "ecc_corrected": "errors",
    "ecc_uncorrected": "errors",
    "row_remap_failure": "flag",
    "pcie_tx": "bytes/s",
    "pcie_rx": "bytes/s",
}
"""Every concept of a GPU, with its unit."""

_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_SPELLED = re.compile(r"(?<![\w:$\"])([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?=\{)")


def spelled_in(expression: str) -> tuple[str, ...]:
    """The metrics that an expression names, each once, in its order."""
    return tuple(dict.fromkeys(_SPELLED.findall(expression)))


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MetricCandidate(_Frozen):
    """One way to obtain a concept; exactly one of gauge, counter, histogram, info or expr.

    ``across`` aggregates a gauge over replicas; ``scale`` converts to seconds, tokens, ratios of 1, bytes or watts;
    ``below`` drops blank sentinels; ``mean`` is an expression for a mean where there is no
    histogram; ``beside`` is a metric of the same engine that has the model label when this one has none.
    """

    gauge: str | None = None
    counter: str | None = None
    histogram: str | None = None
    info: str | None = None
    expr: str | None = None
    mean: str | None = None
    across: Literal["sum", "max", "min", "avg"] = "sum"
    where: str = ""
    times: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    scale: float = 1.0
    below: float | None = None
    beside: str | None = None
    zeros: str | None = None
    versions: str = ""
    verified: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> MetricCandidate:
        kinds = [
            k for k in (self.gauge, self.counter, self.histogram, self.info, self.expr, self.mean) if k is not None
        ]
        if len(kinds) != 1:
            raise ValueError("give exactly one of gauge, counter, histogram, info, expr or mean")
        if (self.info is None) == bool(self.labels or self.times):
            raise ValueError("info goes with labels, and only info does")
        named = (self.gauge, self.counter, self.histogram, self.info)
        if any(name is not None and not _METRIC.fullmatch(name) for name in named):
            raise ValueError("a metric name holds letters, digits, underscores and colons")
        return self

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names whose presence decides whether this candidate can answer; of an expression, those it spells."""
        if self.histogram:
            return (f"{self.histogram}_count", self.histogram)
        single = self.gauge or self.counter or self.info
        if single:
            return (single,)
        return spelled_in(self.expr or self.mean or "")

    @property
    def kind(self) -> str:
        """The kind of the candidate: "gauge", "counter", "histogram", "info", "expr" or "mean"."""
        return next(
            k for k in ("gauge", "counter", "histogram", "info", "expr", "mean") if getattr(self, k) is not None
        )


class Concept(_Frozen):
    """One quantity: candidates newest first, its trap, and the flag that makes a missing metric appear.

    ``at_finish``: it moves only when a request finishes, so long answers arrive in lumps. ``absent_means_zero``: the
    series is born with the first event, so while the engine is seen, no series means none so far. ``optional``: some
    versions lack it, so that nothing is wrong where it is missing.
    """

    unit: str
    use: tuple[MetricCandidate, ...] = ()
    trap: str = ""
    enable: str = ""
    at_finish: bool = False
    absent_means_zero: bool = False
    optional: bool = False


class _Vocabulary(_Frozen):
    """What names of engines and of GPU exporters have in common.

    ``detect`` holds names that only this one has. ``prefix`` is how its names begin; ``spellings`` are other beginnings
    of the same names, beside those of :mod:`collectors.vocabulary.spellings`. ``priority``: the lowest of several goes
    first.
    """

    id: str
    label: str
    endpoint: str
    source: str
    date: str
    verified: str
    detect: tuple[str, ...]
    labels: tuple[str, ...]
    concepts: dict[str, Concept]
    priority: int = 50
    prefix: str = ""
    spellings: tuple[str, ...] = ()


class EngineVocabulary(_Vocabulary):
    """Names of one engine.

    ``engine`` is the engine of the sizing catalogue that computes behind these names, "" where they do not tell;
    ``front_end`` says that latencies are measured before the engine, by what routes to it. ``covers`` are engines whose
    names it exposes too; ``completes`` are those whose missing quantities it has, on the same page.

    ``model_labels`` are the labels that name the model, the usual one first; ``any_case`` says that its value is
    written in several cases. ``ranks`` tell processes apart that report the same requests: they count once;
    ``rank_label`` tells ranks of data parallelism apart, each with requests of its own. ``again`` is a label with the
    value of servers whose requests others report, too: where there are others, ``$front`` leaves them out. Without such
    a label ``hands_over`` tells them: where the first of these names is seen (KV cache is moved between servers), those
    that count first tokens (the second) and no gaps between tokens (the third), while others
    count both; ``$back`` is them alone.

    Names without a prefix are shared by engines. ``weak`` ones stand for this engine only where nothing stronger is
    seen; ``bare`` ones are its own although they lack the prefix, and so is any of its names with ``bare_label``.
    """

    engine: str = ""
    front_end: bool = False
    aliases: tuple[str, ...] = ()
    model_labels: tuple[str, ...] = ()
    any_case: bool = False
    ranks: tuple[str, ...] = ()
    rank_label: str = ""
    variants: dict[str, tuple[str, ...]] = {}
    front: tuple[str, ...] = ()
    again: dict[str, str] = {}
    hands_over: tuple[str, str, str] | None = None
    weak: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    bare_label: str = ""
    needs_selector: bool = False
    covers: tuple[str, ...] = ()
    completes: tuple[str, ...] = ()
    renamed: dict[str, str] = {}
    buckets: dict[str, tuple[float, ...]] = {}

    @property
    def model_label(self) -> str | None:
        """The usual label that names the model; None where there is none."""
        return self.model_labels[0] if self.model_labels else None

    @model_validator(mode="after")
    def _known_concepts(self) -> EngineVocabulary:
        _check(self.concepts, SCALARS | DISTRIBUTIONS)
        return self


class GpuVocabulary(_Vocabulary):
    """Names of one GPU exporter: which labels tell devices, hosts and pods apart; blanks are ``blank_from`` or more.

    The first name of ``detect`` that has data stands for a GPU and carries its labels. ``partition_labels`` tell the
    parts of a device apart (MIG), ``profile_label`` says how large a part is. ``product_label`` names the product;
    where it is empty, the first of ``product_else`` does.
    """

    device_labels: tuple[str, ...]
    host_labels: tuple[str, ...]
    pod_labels: tuple[str, ...]
    product_label: str
    product_else: tuple[str, ...] = ()
    partition_labels: tuple[str, ...] = ()
    profile_label: str = ""
    blank_from: float | None = None

    @property
    def product_labels(self) -> tuple[str, ...]:
        """The labels that may name the product, the best first."""
        return (self.product_label, *self.product_else)

    @model_validator(mode="after")
    def _known_concepts(self) -> GpuVocabulary:
        _check(self.concepts, GPU_CONCEPTS)
        return self


def _check(concepts: dict[str, Concept], units: dict[str, str]) -> None:
    unknown = sorted(set(concepts) - set(units))
    if unknown:
        raise ValueError(f"unknown concepts {', '.join(unknown)}")
    for key, concept in concepts.items():
        if concept.unit != units[key]:
            raise ValueError(f"the unit of {key} is {units[key]}, not {concept.unit}: use scale")
