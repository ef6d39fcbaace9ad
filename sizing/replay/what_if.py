"""Departures from the plan that a simulation can try: static batching, an instance that fails and returns."""

from __future__ import annotations

from dataclasses import dataclass

from sizing.base.format import ms, requests_per_s
from sizing.base.units import S_PER_MINUTE
from sizing.replay.result import Failure


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """What is tried. ``fail_minutes``: one instance fails for so long; 0: none does."""

    static_batching: bool = False
    fail_minutes: float = 0.0

    @property
    def named(self) -> str:
        """What it adds to the name of the deployment."""
        return ", static batching" if self.static_batching else ""


AS_PLANNED = WhatIf()


def said_of(one: Failure) -> str:
    """The failure in two sentences."""
    lasts = (one.end_s - one.start_s) / S_PER_MINUTE
    left = f"the other {one.instances_left} carry" if one.instances_left > 1 else "the other one carries"
    others = f"{left} at most {requests_per_s(one.stable_rps_left)}" if one.instances_left else "there is no other"
    usual = (
        "never before the end"
        if one.recovered_after_s is None
        else (f"after {one.recovered_after_s:,.0f} s" if one.recovered_after_s >= 1.0 else "at once")
    )
    meanwhile = "no first token" if one.ttft_meanwhile_ms is None else f"mean TTFT {ms(one.ttft_meanwhile_ms)}"
    return (
        f"One instance fails after {one.start_s / S_PER_MINUTE:,.3g} minutes for {lasts:,.3g}; {others}, and "
        f"{one.started_again:,} requests start again. Meanwhile {meanwhile} instead of {ms(one.ttft_before_ms)}, up to "
        f"{one.longest_queue:,.0f} requests wait; once it is back, the queue is as before {usual}."
    )
