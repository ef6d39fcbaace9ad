"""The sizing engine: from a scenario to GPUs, systems, cost and latency, with reasons. Pure: no network, no clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sizing.result import Plan
from sizing.scenario import Scenario
from sizing.version import ENGINE_VERSION

if TYPE_CHECKING:
    from sizing.planning import plan

__all__ = ["ENGINE_VERSION", "Plan", "Scenario", "plan"]


def __getattr__(name: str) -> Any:
    """``sizing.plan``, loaded when it is asked for: the simulator brings a compiler, which takes its time."""
    if name != "plan":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sizing.planning import plan

    return plan
