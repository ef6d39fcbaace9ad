"""What performance measurements have been published of; the accuracy of anything else is less well known."""

from __future__ import annotations

from functools import cache
from typing import Literal

from sizing.catalog.files import read_yaml

Kind = Literal["models", "gpus", "families", "platforms", "deployments", "configurations"]


@cache
def measured(kind: Kind) -> frozenset[str]:
    """Models (by shape), GPU types (by catalogue id), GPU families, engines on families ("vllm on hopper"), models on
    these ("8B, 32 layers; vllm on hopper"), or configurations ("8B, 32 layers; vllm on h100_sxm; fp8")."""
    return frozenset(read_yaml("intervals.yaml")["measured"][kind])
