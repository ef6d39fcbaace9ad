"""Which layouts of a model an engine runs: degrees of parallelism, as heads, layers, experts and block scales divide.

TP divides the attention heads, KV heads are copied where it exceeds them (vLLM ``config/model.py``, SGLang
``models/llama.py``); pipeline stages and expert parallelism are as each engine has them (``engine_layouts.csv``).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from sizing.catalog.engines import Engine
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import Precision
from sizing.catalog.support import (
    BLOCK,
    Reason,
    ReasonKind,
    Support,
    attention_of,
    class_of,
    has_block_scales,
    pipeline_of,
    rule_parts,
    worst_of,
)
from sizing.catalog.support_rows import Aspect

Degrees = tuple[int, int, int, int]
"""Degrees of tensor, pipeline, expert and data parallelism (TP, PP, EP, DP)."""


@dataclass(frozen=True)
class LayoutSupport:
    """What may be laid out how: one engine, GPU, model and format; ``base`` is their support, layouts aside."""

    engine: Engine
    gpu: Gpu
    model: Model
    precision: Precision
    base: Support
    speculates: bool = False

    def of(self, degrees: Degrees) -> Support:
        """Whether a layout runs: the first refusal, else what is unknown of it, else ``base``."""
        open_points = [
            stated for stated in chain(self._divides(degrees), self._aspects(degrees)) if stated.status != "supported"
        ]
        refused = next((stated for stated in open_points if stated.status == "no"), None)
        if refused is not None:
            return refused
        return open_points[0] if open_points and self.base.status == "supported" else self.base

    def _divides(self, degrees: Degrees) -> list[Support]:
        """What the model's own numbers refuse."""
        tp, pp, ep, dp = degrees
        model, out = self.model, list[Support]()
        if model.heads % tp:
            out.append(self._no("heads", str(model.heads)))
        if pp > model.layers:
            out.append(self._no("layers", str(model.layers)))
        if (ep > 1 or dp > 1) and not model.is_moe:
            out.append(self._no("dense", ""))
        if ep > 1 and ((tp * dp) % ep or ep > model.experts):
            out.append(self._no("experts_uneven", str(model.experts)))
        if self._cut(degrees):
            out.append(self._cut_blocks(degrees))
        return out

    def _no(self, kind: ReasonKind, subject: str) -> Support:
        why = Reason(kind=kind, engine=self.engine.id, subject=subject)
        return replace(self.base, status="no", why=why, source=self.model.source, date="")

    def _aspects(self, degrees: Degrees) -> list[Support]:
        """What the engine says of it."""
        tp, pp, ep, dp = degrees
        out = []
        if tp > 1:
            out.append(self._tensor)
        if pp > 1:
            out.append(self._pipeline)
            if self.speculates:
                out.append(self._aspect("pipeline_speculation"))
        if ep > 1:
            out.append(self._experts)
            if ep < tp * dp:
                out.append(self._split)
        if dp > 1:
            out.append(self._ranks)
        if self.gpu.host_gpus and tp * dp > self.gpu.host_gpus:
            out.append(self._hosts)
        return out

    def _aspect(self, aspect: Aspect) -> Support:
        e, known, attention = self.engine, class_of(self.model), attention_of(self.model)
        parts = rule_parts(e.id, e.built_on, aspect, known, attention, self.gpu.generation, self.precision.id)
        return worst_of(parts, self.base)

    @property
    def unknown_aspects(self) -> tuple[bool, bool, bool, bool, bool]:
        """Whether nobody says that it runs with tensor parallelism, in pipeline stages, with experts spread, with
        attention-DP ranks, with those of one stage over several hosts."""
        aspects = (self._tensor, self._pipeline, self._experts, self._ranks, self._hosts)
        return tuple(stated.status == "unknown" for stated in aspects)  # type: ignore[return-value]

    @cached_property
    def _tensor(self) -> Support:
        return self._aspect("tensor")

    @cached_property
    def _pipeline(self) -> Support:
        whole = self._aspect("pipeline")
        if whole.status != "supported":
            return whole
        return worst_of([pipeline_of(self.engine, self.gpu, self.model)], self.base)

    @cached_property
    def _experts(self) -> Support:
        return self._aspect("experts")

    @cached_property
    def _split(self) -> Support:
        return self._aspect("experts_split")

    @cached_property
    def _ranks(self) -> Support:
        return self._aspect("ranks")

    @cached_property
    def _hosts(self) -> Support:
        return self._aspect("hosts")

    @cached_property
    def _widths(self) -> tuple[tuple[int, ...], int]:
        """Widths that block scales must not be cut within: those that TP alone cuts, and that of routed experts."""
        if self.precision.id != "fp8" or not has_block_scales(class_of(self.model)):
            return (), 0
        model = self.model
        shared = model.shared_experts * model.moe_intermediate_size
        dense = model.intermediate_size if model.moe_layers < model.layers else 0
        return tuple(w for w in (dense, shared) if w), model.moe_intermediate_size if model.is_moe else 0

    def _cut(self, degrees: Degrees) -> int:
        """A width per rank that is no whole number of blocks; 0 where there is none."""
        tp, _, ep, dp = degrees
        by_tp, expert = self._widths
        parts = [(width, tp) for width in by_tp]
        if expert:
            parts.append((expert, max(tp * dp // ep, 1)))
        return next((width for width, n in parts if n > 1 and width % (n * BLOCK)), 0)

    def _cut_blocks(self, degrees: Degrees) -> Support:
        stated = self._aspect("blocks")
        why = replace(stated.why, kind="blocks", engine=self.engine.id, subject=str(self._cut(degrees)))
        return replace(stated, status="no", why=why)
