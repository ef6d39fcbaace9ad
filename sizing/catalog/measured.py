"""What performance measurements have been published of; the accuracy of anything else is less well known."""

from __future__ import annotations

from functools import cache
from typing import Literal

from sizing.catalog.files import read_yaml

Kind = Literal["models", "gpus", "families", "platforms"]


@cache
def measured(kind: Kind) -> frozenset[str]:
    """Models (by shape), GPU types (by catalogue id), GPU families, or engines on families ("vllm on hopper")."""
    return frozenset(read_yaml("intervals.yaml")["measured"][kind])
