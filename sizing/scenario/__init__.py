"""Scenario files: what is asked."""

from sizing.scenario.schema import Scenario

__all__ = ["Scenario"]
