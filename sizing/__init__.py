"""The sizing engine: from a scenario to GPUs, systems, cost and latency, with reasons. Pure: no network, no clock."""

from sizing.plan import plan
from sizing.result import Plan
from sizing.scenario import Scenario
from sizing.version import ENGINE_VERSION

__all__ = ["ENGINE_VERSION", "Plan", "Scenario", "plan"]
