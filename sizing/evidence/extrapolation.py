"""How much wider an interval is for a GPU, an engine or a kind of layout that nobody measured.

Learnt by leaving such out: every GPU, generation, engine and kind of layout was predicted by a fit that had seen none
of it, and the ends are moved until they hold four of five measurements of four of five of them
(``calibration/extrapolations.py``). Where too few could be left out to say so, the ends lie as far as those of a GPU
that nobody measured, or of a whole generation.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.catalog.files import read_yaml, typed_rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.measured import fitted_intervals, well_measured
from sizing.evidence.cases import PredictionCase

EXTRAPOLATIONS: Mapping[str, str] = MappingProxyType(
    {
        "new_gpu": "this GPU was not measured, others of its generation were",
        "new_generation": "no GPU of this generation was measured",
        "new_engine": "this engine was not measured",
        "pipeline": "pipeline stages by this engine on this GPU were not measured",
        "tensor_apart": "tensor parallelism over PCIe or the network by this engine on this GPU was not measured",
        "expert_apart": "expert parallelism over PCIe or the network by this engine on this GPU was not measured",
        "attention_dp": "attention by data parallelism by this engine on this GPU was not measured",
    }
)
"""What may be unlike anything that was measured, by its name in ``intervals.yaml``."""

BY_RULE = "as wide as for an unmeasured GPU or generation, since too few measurements say how hard it is"
"""Why an extrapolation is as wide as it is where it could not be learnt."""

PUBLISHED_BY = {
    "geer": "geerlingguy/ai-benchmarks",
    "lhl": "lhl/strix-halo-testing",
    "lcpp_spark": "ggml-org/llama.cpp benches/dgx-spark.md",
    "ovms": "openvinotoolkit/openvino, graph-data-ovms-genai.json",
}
"""Sources of ``processor_runs.csv`` by their short names there."""


@dataclass(frozen=True, kw_only=True)
class Extrapolation:
    """How many times as far the ends lie, by metric, from so many measurements of so many groups that were left out;
    ``by_rule``: metrics of which these are too few, so that a rule says how far."""

    rows: int
    groups: int
    by_rule: tuple[str, ...]
    factors: Mapping[str, float]


@cache
def extrapolations() -> Mapping[str, Extrapolation]:
    """The committed ones (``data/intervals.yaml``) by name."""
    rows = fitted_intervals()["extrapolations"]
    return MappingProxyType(
        {name: Extrapolation(**{**row, "by_rule": tuple(row["by_rule"])}) for name, row in rows.items()}
    )


def extrapolated(case: PredictionCase) -> tuple[str, ...]:
    """What of a case is unlike anything that was measured, by names of :data:`EXTRAPOLATIONS`."""
    generation = case.generation not in well_measured("generations")
    new = {
        "new_gpu": case.gpu not in well_measured("gpus") and not generation,
        "new_generation": generation,
        "new_engine": case.engine not in well_measured("engines"),
    }
    known = well_measured("layouts")
    layouts = zip(case.layouts, case.platform_layouts, strict=True)
    return (*(name for name, is_new in new.items() if is_new), *(kind for kind, name in layouts if name not in known))


def widening(metric: str, names: Iterable[str]) -> float:
    """How many times as far the ends lie: sqrt(1 + sum of (factor^2 - 1)), since errors of independent causes add as
    their squares."""
    factors = (extrapolations()[name].factors[metric] for name in names)
    return math.sqrt(1.0 + sum(factor**2 - 1.0 for factor in factors))


def in_words(metric: str, names: Iterable[str]) -> list[str]:
    """What is unlike anything measured, in words, and where its width is a rule."""
    rules = {name: f" ({BY_RULE})" if metric in extrapolations()[name].by_rule else "" for name in names}
    return [EXTRAPOLATIONS[name] + rule for name, rule in rules.items()]


@dataclass(frozen=True, kw_only=True)
class ProcessorRun:
    """One published run: tokens/s of all ``sequences`` together, at ``context`` tokens or for prompts of ``tokens``."""

    source: str
    date: str
    gpu: str
    engine: str
    backend: str
    model: str
    precision: str
    phase: str
    context: float
    sequences: float
    tok_s: float
    tokens: float | None = None
    tpot_ms: float | None = None

    def is_of(self, model: str) -> bool:
        """Whether a model of the catalogue is the one that ran: its name begins with that of the run."""
        name = model.rpartition("/")[2].casefold()
        return name == self.model.casefold() or name.startswith(f"{self.model.casefold()}-")


@dataclass(frozen=True, kw_only=True)
class FamilyEvidence:
    """Runs of a family that its shares are fitted to, of so many machines and sources, and the errors of decode with
    what was left out: source, machine or model."""

    runs: int
    sources: int
    machines: int
    left_out: str
    median_pct: float
    p90_pct: float


@cache
def processor_runs() -> tuple[ProcessorRun, ...]:
    """The published runs whose licence allows a copy, in file order."""
    return typed_rows("processor_runs.csv", ProcessorRun)


def evidence_of(gpu: Gpu) -> FamilyEvidence:
    """What the shares of its family rest on. Raises KeyError for a GPU that is no such machine (a bug)."""
    return FamilyEvidence(**read_yaml("processors.yaml")["evidence"][gpu.family])


def measured_alike(gpu: Gpu, engine: str, model: str) -> ProcessorRun | None:
    """The run with the fewest sequences and the most tokens/s of this machine, by this engine and of this model where
    there is one; else of another of its family."""
    decoded = [run for run in processor_runs() if run.phase != "prefill" and gpus()[run.gpu].family == gpu.family]
    order = sorted(
        decoded,
        key=lambda run: (run.gpu != gpu.id, run.engine != engine, not run.is_of(model), run.sequences, -run.tok_s),
    )
    return order[0] if order else None
