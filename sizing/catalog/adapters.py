"""Adapters (LoRA) on a model and an engine: their sizes, whether the engine serves them, and what that slows down.

An adapter of rank r adds two thin matrices to each matrix W of d_in x d_out: r (d_in + d_out) values of 16 bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import cast

from sizing.base.choices import AdapterTargets
from sizing.catalog.engines import Engine
from sizing.catalog.files import number, read_rows
from sizing.catalog.model import LatentAttention, Model
from sizing.catalog.precisions import WIDE_BYTES
from sizing.catalog.support_rows import Status


@dataclass(frozen=True, kw_only=True)
class AdapterSupport:
    """What an engine is known to do with adapters of dense layers, or of routed experts.

    ``kept``: output tokens/s with adapters over the same without, expected, and the ends of what was published.
    """

    status: Status
    kept_low: float
    kept: float
    kept_high: float
    note: str
    source: str
    date: str

    @property
    def slower(self) -> float:
        """How many times as long a step takes with adapters enabled."""
        return 1.0 / self.kept

    @property
    def doubt(self) -> tuple[float, float]:
        """Time of a step over the expected one at the fast and at the slow end of what was published."""
        return self.kept / self.kept_high, self.kept / self.kept_low


@cache
def adapter_facts() -> Mapping[tuple[str, str], AdapterSupport]:
    """Adapters by engine and kind of layers: whether they are served, and the share of the tokens/s that is kept."""
    return MappingProxyType(
        {
            (row["engine"], row["layers"]): AdapterSupport(
                status=cast(Status, row["status"]),
                kept_low=number(row["kept_low"]) or 1.0,
                kept=number(row["kept"]) or 1.0,
                kept_high=number(row["kept_high"]) or 1.0,
                note=row["note"],
                source=row["source"],
                date=row["date"],
            )
            for row in read_rows("engine_adapters.csv")
        }
    )


def adapter_support(engine: Engine, model: Model, targets: AdapterTargets) -> AdapterSupport:
    """What is known of adapters on an engine, or on the one that it is built on; unknown where no row speaks of it."""
    layers = "experts" if model.is_moe and targets == "all" else "dense"
    known = adapter_facts()
    stated = known.get((engine.id, layers)) or known.get((engine.built_on or "", layers))
    return stated or replace(known["vllm", layers], status="unknown", note="nothing was looked up; slower as vLLM")


VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM has slots for (0.33.0, config/lora.py, MaxLoRARanks)."""


def slot_rank(engine: Engine, rank: int) -> int:
    """The rank of the slots that hold adapters of a rank on an engine: vLLM has some of them, others each."""
    of_vllm = "vllm" in (engine.id, engine.built_on)
    return next(one for one in VLLM_RANKS if one >= rank) if of_vllm else rank


@dataclass(frozen=True, kw_only=True)
class AdapterParts:
    """Values of an adapter of rank 1 by how a TP group holds them: ``copied`` on every GPU, ``sharded`` over TP, and
    of routed experts ``expert_copied`` and ``expert_sharded``, which expert parallelism spreads, too."""

    copied: float
    sharded: float
    expert_copied: float = 0.0
    expert_sharded: float = 0.0

    @property
    def whole(self) -> float:
        """All values of an adapter of rank 1."""
        return self.copied + self.sharded + self.expert_copied + self.expert_sharded


@lru_cache(maxsize=256)
def adapter_parts(model: Model, targets: AdapterTargets) -> AdapterParts:
    """Values of an adapter of rank 1: the sum of d_in + d_out over its matrices.

    A matrix whose output TP splits (query, key, value, gate, up) has its first thin matrix on every GPU, one whose
    input it splits (output, down) its second. Source: Hu et al., "LoRA" (2021); vLLM 0.33.0, lora/layers
    (fully_sharded_loras off by default).
    """
    hidden = float(model.hidden_size)
    copied, sharded = _attention(model)
    copied, sharded = copied * model.layers, sharded * model.layers
    if targets == "attention":
        return AdapterParts(copied=copied, sharded=sharded)
    dense = model.layers - model.moe_layers
    shared = model.moe_layers * model.shared_experts
    copied += 3.0 * hidden * (dense + shared)
    sharded += 3.0 * (dense * model.intermediate_size + shared * model.moe_intermediate_size)
    routed = 3.0 * model.moe_layers * model.experts
    return AdapterParts(
        copied=copied,
        sharded=sharded,
        expert_copied=routed * hidden,
        expert_sharded=routed * model.moe_intermediate_size,
    )


def _attention(model: Model) -> tuple[float, float]:
    """Values of a layer's attention that every GPU holds, and those that TP splits; recurrent layers as the others."""
    hidden = float(model.hidden_size)
    if isinstance(model.latent, LatentAttention):
        latent = model.latent
        queries = float(model.heads * (latent.nope_dim + latent.rope_dim))
        values = float(model.heads * (latent.nope_dim + latent.v_dim))
        down = hidden + latent.kv_rank + latent.rope_dim
        narrow = hidden + 2.0 * latent.q_rank if latent.q_rank else hidden
        return narrow + down + latent.kv_rank + hidden, queries + values + model.heads * latent.v_dim
    queries, keys = float(model.heads * model.head_dim), float(model.kv_heads * model.head_dim)
    return 4.0 * hidden, 2.0 * queries + 2.0 * keys


def adapter_bytes(model: Model, rank: int, targets: AdapterTargets) -> float:
    """Bytes of one adapter in 16 bit: 2 r x sum of (d_in + d_out) over its matrices.

    Llama 3.1 8B, all seven linear layers, rank 16: 2 x 16 x 81,920 x 32 = 83.9 MB.
    """
    return WIDE_BYTES * rank * adapter_parts(model, targets).whole
