"""One deployment of one instance, and what the scenario allows of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from sizing.base.deployed import Deployed, Pool
from sizing.base.format import count
from sizing.catalog.engines import Engine, engines
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import Precision, precisions
from sizing.question.adapters import NO_ADAPTERS, ResidentAdapters
from sizing.question.speculation import NO_SPECULATION, Speculation


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One deployment of one instance: what runs where and in which number format.

    ``batch_limit`` caps the sequences in flight below what memory and engine allow; None where nothing is capped.
    ``speculation``: drafts that a step of the instance verifies; ``adapters``: those of the model that it serves.
    """

    gpu: Gpu
    engine: Engine
    precision: Precision
    kv_precision: str
    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1
    batch_limit: int | None = None
    speculation: Speculation = NO_SPECULATION
    adapters: ResidentAdapters = NO_ADAPTERS

    @property
    def gpus(self) -> int:
        """GPUs of one instance: TP x PP x DP."""
        return self.tp * self.pp * self.dp

    def memory_fraction(self, model: Model) -> float:
        """Share of a GPU's memory that the engine uses for a model."""
        return self.engine.fraction(self.gpu, self.tp * self.pp, encoder=model.params_vision > 0)

    @property
    def parallelism(self) -> str:
        """Parallelism in words, "TP4 PP2"; degrees of 1 are left out, but for TP."""
        each = (("TP", self.tp), ("PP", self.pp), ("EP", self.ep), ("DP", self.dp))
        return " ".join(f"{name}{n}" for name, n in each if n > 1 or name == "TP")

    @property
    def label(self) -> str:
        """Short name for tables: GPU, engine, precision, parallelism, drafts."""
        return (
            f"{self.gpu.name}, {self.engine.label}, {self.precision.label}, {self.parallelism}{self.speculation.label}"
        )


def parallelism_text(one: Configuration | Pool | Deployed) -> str:
    """How an instance is spread over its GPUs: "TP4 PP2", "one GPU"."""
    parallelism = (("TP", one.tp), ("PP", one.pp), ("EP", one.ep), ("DP", one.dp))
    return " ".join(f"{name}{n}" for name, n in parallelism if n > 1) or "one GPU"


def instance_text(gpus: int, one: Configuration | Pool | Deployed) -> str:
    """How many GPUs an instance takes, and how it is spread over them: "2 GPUs (TP2)", "one GPU"."""
    return "one GPU" if gpus == 1 else f"{count(gpus)} GPUs ({parallelism_text(one)})"


def deployed_configuration(deployed: Deployed, gpu: Gpu) -> Configuration:
    """The configuration that an answer names, on the GPU it names."""
    return Configuration(
        gpu=gpu,
        engine=engines()[deployed.engine],
        precision=precisions()[deployed.weight_precision],
        kv_precision=deployed.kv_precision,
        tp=deployed.tp,
        pp=deployed.pp,
        ep=deployed.ep,
        dp=deployed.dp,
    )


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """What the scenario allows; an empty tuple means no restriction.

    ``accuracy``: without a choice of ``precisions``, whether only formats in which the answers of the checkpoint are
    "kept", only those in which they are "lost", or "any".
    ``pools``: layouts (TP, PP, EP, DP) asked for prefill or decode instances, considered beside the others;
    ``memory_fraction``: share of a GPU's memory that engines use; None: their own.
    ``gpus_named``: the scenario names its accelerators, so that one is considered which today's engines dropped;
    ``speculation``: the drafts that every instance takes, ``adapters``: those that it serves, as asked.
    """

    engines: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    accuracy: Literal["any", "kept", "lost"] = "any"
    kv_precisions: tuple[str, ...] = ()
    tp: tuple[int, ...] = ()
    pp: tuple[int, ...] = ()
    ep: tuple[int, ...] = ()
    dp: tuple[int, ...] = ()
    pools: tuple[tuple[int, int, int, int], ...] = ()
    gpus_named: bool = False
    memory_fraction: float | None = None
    speculation: Speculation = NO_SPECULATION
    adapters: ResidentAdapters = NO_ADAPTERS

    @property
    def speculates(self) -> bool:
        """Whether every instance guesses draft tokens, which some engines do without pipeline stages alone."""
        return self.speculation.draft_tokens > 0

    def lifted(self, *names: str) -> Allowed:
        """The same without the restrictions called ``names``."""
        changes: dict[str, Any] = dict.fromkeys(names, ())
        return replace(self, **changes)
