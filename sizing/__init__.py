"""The sizing engine: from a scenario to GPUs, systems, cost and latency, with reasons. Pure: no network, no clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sizing.base.result import Plan
from sizing.base.version import ENGINE_VERSION
from sizing.scenario import Scenario

if TYPE_CHECKING:
    from sizing.planning.plan import plan

__all__ = ["ENGINE_VERSION", "Plan", "Scenario", "plan"]


def __getattr__(name: str) -> Any:
    """``sizing.plan``, loaded when it is asked for: the simulator brings a compiler, which takes its time."""
    if name != "plan":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sizing.planning.plan import plan

    return plan
