"""What fills the memory of one GPU of a plan, for charts and reports."""

from typing import NamedTuple

from sizing.base.deployed import Deployed, PerInstance, Pool
from sizing.base.format import MemoryUnit, memory_unit
from sizing.base.result import Plan


class MemoryPart(NamedTuple):
    """One part of the memory of a GPU; ``size`` is in ``unit``."""

    name: str
    size: float
    unit: MemoryUnit


def memory_parts(plan: Plan) -> tuple[MemoryPart, ...]:
    """The parts of one GPU's memory: those of the instance divided by its GPUs, and what is left over.

    In the unit in which the GPU has the size of its name, GB or GiB (:func:`sizing.base.format.memory_unit`).
    Where prefill and decode run apart, of a decode instance. Nothing where nothing is deployed.
    """
    return _parts(plan.per_instance, plan.deployment)


def prefill_memory_parts(plan: Plan) -> tuple[MemoryPart, ...]:
    """The same of a prefill instance; nothing where there is none."""
    return _parts(plan.per_prefill_instance, plan.deployment.kinds[0] if plan.deployment else None)


def _parts(one: PerInstance | None, deployed: Deployed | Pool | None) -> tuple[MemoryPart, ...]:
    if one is None or deployed is None:
        return ()
    gpus = max(1, deployed.tp * deployed.pp * deployed.dp)
    of_instance = {
        "Weights": one.weights_gb,
        "KV cache in use": one.kv_used_gb,
        "KV cache free": one.free_gb,
        "Activations": one.activations_gb,
        "CUDA graphs": one.graphs_gb,
        "Driver and buffers": one.overhead_gb - one.graphs_gb,
    }
    sizes = {name: size / gpus for name, size in of_instance.items()}
    sizes["Not used"] = one.memory_per_gpu_gb - sum(max(0.0, size) for size in sizes.values())
    unit = memory_unit(one.memory_per_gpu_gb)
    return tuple(MemoryPart(name, unit.of(max(0.0, size)), unit) for name, size in sizes.items())
