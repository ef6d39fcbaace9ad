"""A plan as the panel looks at it: what is deployed, on what, in what layout, at what price, and what is said with it.

Read from the plan's JSON, the contract that other programs rely on, so that the panel judges what a customer gets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the GPUs of one kind of instance share the model."""

    tp: int
    pp: int
    ep: int
    dp: int

    @property
    def gpus(self) -> int:
        """GPUs of one instance: expert parallelism takes none of its own."""
        return self.tp * self.pp * self.dp

    def __str__(self) -> str:
        degrees = (f"{name}{n}" for name, n in (("TP", self.tp), ("PP", self.pp), ("EP", self.ep), ("DP", self.dp)))
        return " ".join(degrees)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One deployment: the first choice of a plan, or an alternative, of which less is known.

    ``layouts`` holds one layout, or those of prefill and decode where they run apart. ``kv_share`` is the KV cache of
    an instance as a share of the memory of its GPUs, ``usd`` what the hardware costs a month, ``power_kw`` what its
    systems draw at most. ``warnings`` are the codes of what is said with the plan.
    """

    gpu: str
    engine: str
    weights: str
    kv: str
    layouts: tuple[Layout, ...]
    instances: int
    gpus: int
    bought: int
    system: str
    systems: int
    usd: float | None
    power_kw: float | None = None
    kv_share: float | None = None
    warnings: frozenset[str] = frozenset()

    @property
    def apart(self) -> bool:
        """Whether prefill and decode run in instances of their own."""
        return len(self.layouts) > 1

    @property
    def largest_instance(self) -> int:
        """GPUs of the largest instance."""
        return max(layout.gpus for layout in self.layouts)

    @property
    def in_a_system(self) -> int:
        """GPUs of one system."""
        return self.bought // self.systems

    @property
    def tp(self) -> int:
        return max(layout.tp for layout in self.layouts)

    @property
    def pp(self) -> int:
        return max(layout.pp for layout in self.layouts)

    def __str__(self) -> str:
        layouts = " + ".join(map(str, self.layouts))
        money = "no price" if self.usd is None else f"${self.usd:,.0f} a month"
        return (
            f"{self.systems} x {self.system} ({self.gpu}), {self.instances} x {layouts}, {self.weights} "
            f"(KV {self.kv}) on {self.engine}, {self.gpus} of {self.bought} GPUs, {money}"
        )


def _layouts(deployed: Mapping[str, Any]) -> tuple[Layout, ...]:
    pools = [deployed[kind] for kind in ("prefill", "decode") if deployed[kind] is not None] or [deployed]
    return tuple(Layout(**{name: pool[name] for name in ("tp", "pp", "ep", "dp")}) for pool in pools)


def _deployed(deployed: Mapping[str, Any], **beside: Any) -> Answer:
    return Answer(
        gpu=deployed["gpu"],
        engine=deployed["engine"],
        weights=deployed["weight_precision"],
        kv=deployed["kv_precision"],
        layouts=_layouts(deployed),
        instances=deployed["instances"],
        gpus=deployed["gpus"],
        bought=deployed["gpus_bought"],
        system=deployed["system"],
        systems=deployed["systems"],
        **beside,
    )


def first_choice(plan: Mapping[str, Any]) -> Answer | None:
    """What a plan, as JSON, answers; None where nothing serves."""
    if plan["deployment"] is None:
        return None
    cost, each = plan["cost"] or {}, plan["per_instance"]
    answer = _deployed(
        plan["deployment"],
        usd=cost.get("usd_per_month"),
        power_kw=cost.get("power_kw"),
        warnings=frozenset(w["code"] for w in plan["warnings"]),
    )
    if each is None or each["kv_gb"] is None:
        return answer
    memory = each["memory_per_gpu_gb"] * answer.layouts[-1].gpus  # per_instance is the decode instance where apart
    return replace(answer, kv_share=each["kv_gb"] / memory)


def alternatives(plan: Mapping[str, Any]) -> tuple[Answer, ...]:
    """What a plan, as JSON, lists beside its first choice."""
    return tuple(_deployed(other["deployment"], usd=other["usd_per_month"]) for other in plan["alternatives"])
