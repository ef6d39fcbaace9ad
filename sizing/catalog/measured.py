"""What performance measurements have been published of; the accuracy of anything else is less well known."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from sizing.catalog.files import read_yaml

Counted = Literal["gpus", "generations", "engines", "platforms", "layouts"]
MeasuredKind = Literal["models", "deployments", "formats", "configurations"]

FEWEST = 10
"""Measurements below which a GPU, a generation, an engine or a kind of layout counts as not measured. Chosen: because
one sweep of a benchmark has about as many, and fewer say nothing of other models and loads."""


@cache
def fitted_intervals() -> Mapping[str, Any]:
    """What ``intervals.yaml`` says, whole: read once, because every part that is asked for would parse all of it."""
    return MappingProxyType(read_yaml("intervals.yaml"))


@cache
def measurements(kind: Counted) -> Mapping[str, int]:
    """How many measurements there are of each GPU (by catalogue id), GPU generation, engine, engine on a GPU ("vllm on
    h100_sxm") and hard kind of layout by an engine on a GPU ("pipeline by vllm on h200_sxm")."""
    return MappingProxyType(dict(fitted_intervals()["measurements"][kind]))


@cache
def well_measured(kind: Counted) -> frozenset[str]:
    """The names that have at least :data:`FEWEST` measurements by :func:`measurements`."""
    return frozenset(name for name, count in measurements(kind).items() if count >= FEWEST)


@cache
def measured(kind: MeasuredKind) -> frozenset[str]:
    """Models (by shape), models by an engine on a GPU ("8B, 32 layers; vllm on h100_sxm"), these in a format
    ("8B, 32 layers; vllm on h100_sxm; fp8"), and these in a parallelism ("8B, 32 layers; vllm on h100_sxm; fp8; TP1").
    """
    deployments = fitted_intervals()["deployments"]
    match kind:
        case "models":
            names = {name.partition(";")[0] for name in deployments}
        case "deployments":
            names = set(deployments)
        case "formats":
            names = {f"{name}; {precision}" for name, formats in deployments.items() for precision in formats}
        case "configurations":
            names = {
                f"{name}; {precision}; {parallelism}"
                for name, formats in deployments.items()
                for precision, parallelisms in formats.items()
                for parallelism in parallelisms
            }
    return frozenset(names)
