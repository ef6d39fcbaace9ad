"""Whole systems as a formula: what :mod:`sizing.prices.packing` computes, for counts that stand in cells."""

from __future__ import annotations

from collections.abc import Sequence


def systems_formula(counts: Sequence[str], gpus: Sequence[int], system_gpus: int) -> str:
    """Systems of ``system_gpus`` GPUs for the counts (cells or names) of instances of so many ``gpus`` each."""
    if len(counts) == 1:
        return _alone(counts[0], gpus[0], system_gpus)
    pairs = sorted(zip(gpus, counts, strict=True), key=lambda pair: -pair[0])
    (large, n_large), (small, n_small) = pairs
    per_system = system_gpus // large
    if not per_system:
        return f"{_alone(n_large, large, system_gpus)}+{_alone(n_small, small, system_gpus)}"
    full = f"INT({n_large}/{per_system})"
    rest = f"({n_large}-{full}*{per_system})"
    beside = f"{full}*{(system_gpus - per_system * large) // small}"
    last = f"IF({rest}>0,INT(({system_gpus}-{rest}*{large})/{small}),0)"
    left = f"MAX({n_small}-({beside}+{last}),0)"
    return f"{_alone(n_large, large, system_gpus)}+{_alone(left, small, system_gpus)}"


def _alone(count: str, gpus: int, system_gpus: int) -> str:
    per_system, per_instance = system_gpus // gpus, -(-gpus // system_gpus)
    if per_system > 1:
        return f"ROUNDUP({count}/{per_system},0)"
    return f"{count}*{per_instance}" if per_instance > 1 else f"{count}"
