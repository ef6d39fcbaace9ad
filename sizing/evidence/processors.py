"""What is known of machines that compute in CPU memory, or in memory shared with one: published runs, and how far off.

Decode there follows bandwidth / bytes read x a share that is fitted by family (``calibration/processors.py``), not by
GPU, engine and software year as elsewhere: so its evidence is its own, too.
"""

from dataclasses import dataclass
from functools import cache

from sizing.catalog.files import read_yaml, typed_rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_rows import gpus

PUBLISHED_BY = {
    "geer": "geerlingguy/ai-benchmarks",
    "lhl": "lhl/strix-halo-testing",
    "lcpp_spark": "ggml-org/llama.cpp benches/dgx-spark.md",
    "ovms": "openvinotoolkit/openvino, graph-data-ovms-genai.json",
}
"""Sources of ``processor_runs.csv`` by their short names there."""


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
