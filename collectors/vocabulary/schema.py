"""The shape of a vocabulary file.

A concept (``ttft``) lists candidates, newest first; the first one whose metric exists is used. In expressions,
``$sel`` stands for the matchers of the source, ``$other`` for those without the model, ``$front`` for the one model
label to count where an engine counts every stage, ``$w`` for the window, ``$step`` for the scrape interval.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

SCALARS = (
    "first_tokens",
    "arrivals",
    "finished",
    "prompt_tokens",
    "computed_prompt_tokens",
    "cached_prompt_tokens",
    "generation_tokens",
    "running",
    "waiting",
    "waiting_for_capacity",
    "kv_usage",
    "kv_capacity_tokens",
    "max_concurrency",
    "preemptions",
    "prefix_hit",
    "requests",
    "failed",
    "client_errors",
)
DISTRIBUTIONS = ("ttft", "itl", "tpot", "e2e", "queue", "prefill", "decode", "input_tokens", "output_tokens")
GPU_CONCEPTS = (
    "busy",
    "engine_active",
    "sm_active",
    "tensor_active",
    "dram_active",
    "memory_used",
    "memory_free",
    "memory_reserved",
    "memory_total",
    "power",
    "power_cap",
    "energy",
    "temperature",
    "memory_temperature",
    "sm_clock",
    "xid",
    "xid_count",
    "throttle_reasons",
    "power_throttled",
    "thermal_throttled",
    "ecc_corrected",
    "ecc_uncorrected",
    "row_remap_failure",
    "pcie_tx",
    "pcie_rx",
)

_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_SPELLED = re.compile(r"(?<![\w:$\"])([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?=\{)")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Candidate(_Frozen):
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
    def _one_kind(self) -> Candidate:
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
        return tuple(dict.fromkeys(_SPELLED.findall(self.expr or self.mean or "")))

    @property
    def kind(self) -> str:
        """Which of the kinds it is."""
        return next(
            k for k in ("gauge", "counter", "histogram", "info", "expr", "mean") if getattr(self, k) is not None
        )


class Concept(_Frozen):
    """One quantity: candidates newest first, its trap, and the flag that makes a missing metric appear.

    ``at_finish``: it moves only when a request finishes, so long answers arrive in lumps. ``absent_means_zero``: the
    series is born with the first event, so while the engine is seen, no series means none so far.
    """

    unit: str
    use: tuple[Candidate, ...] = ()
    trap: str = ""
    enable: str = ""
    at_finish: bool = False
    absent_means_zero: bool = False


class _Vocabulary(_Frozen):
    id: str
    label: str
    endpoint: str
    source: str
    date: str
    verified: str
    detect: tuple[str, ...]
    labels: tuple[str, ...]
    concepts: dict[str, Concept]


class EngineVocabulary(_Vocabulary):
    """Names of one engine. ``always`` holds matchers that keep series from being counted twice; ``covers``
    are engines whose names it exposes too.

    ``engine`` is the engine of the sizing catalogue that computes behind these names, "" where they do not tell;
    ``front_end`` says that latencies are measured before the engine, by what routes to it.
    """

    engine: str = ""
    front_end: bool = False
    aliases: tuple[str, ...] = ()
    priority: int = 50
    model_label: str | None = None
    always: str = ""
    spellings: tuple[str, ...] = ()
    variants: dict[str, tuple[str, ...]] = {}
    front: tuple[str, ...] = ()
    needs_selector: bool = False
    covers: tuple[str, ...] = ()
    renamed: dict[str, str] = {}
    buckets: dict[str, tuple[float, ...]] = {}

    @model_validator(mode="after")
    def _known_concepts(self) -> EngineVocabulary:
        _check(self.concepts, (*SCALARS, *DISTRIBUTIONS))
        return self


class GpuVocabulary(_Vocabulary):
    """Names of one GPU exporter: which labels tell devices, hosts and pods apart; blanks are ``blank_from`` or more."""

    device_labels: tuple[str, ...]
    host_labels: tuple[str, ...]
    pod_labels: tuple[str, ...]
    product_label: str
    partition_labels: tuple[str, ...] = ()
    blank_from: float | None = None

    @model_validator(mode="after")
    def _known_concepts(self) -> GpuVocabulary:
        _check(self.concepts, GPU_CONCEPTS)
        return self


def _check(concepts: dict[str, Concept], known: tuple[str, ...]) -> None:
    unknown = sorted(set(concepts) - set(known))
    if unknown:
        raise ValueError(f"unknown concepts {', '.join(unknown)}")
