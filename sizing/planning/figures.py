"""Where the latencies of a plan come from, the analytic load model or a simulation, and what is to be said of that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from sizing.base.choices import DecidedBy, NotSimulated
from sizing.base.format import count
from sizing.base.latency_and_cost import Latencies, Latency
from sizing.base.result import PlanWarning
from sizing.base.units import MS_PER_S
from sizing.planning.deployment import Metric, PlannedDeployment
from sizing.planning.spread import Spread
from sizing.planning.unconfirmed import not_confirmed, too_much_work
from sizing.question.understand import Question
from sizing.search.decide import Decided
from sizing.search.deployments import Deployments
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import Outcome
from sizing.simulator.quantiles import counted, quantiles, sampled_quantile

METRICS: Mapping[Metric, int] = MappingProxyType({"ttft_s": TTFT, "itl_s": ITL, "e2e_s": E2E})
"""Latencies as the load model calls them, and as the simulator does."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Latencies of the analytic load model, where none were counted in what was ``decided``.

    ``outcome``: counted at the chosen deployment, from ``requests`` requests of one instance. ``how_sure`` and
    ``warnings``: what is to be said of the simulation, or why there is none.
    """

    percentile: float
    decided: Decided
    outcome: Outcome | None = None
    requests: int = 0
    how_sure: str = ""
    warnings: tuple[PlanWarning, ...] = ()
    not_simulated: NotSimulated | None = None

    @property
    def load_model(self) -> DecidedBy:
        """What the latencies of the chosen deployment come from."""
        return "analytic" if self.outcome is None else "simulation"

    def latencies(self, one: PlannedDeployment[Deployments], around: Spread) -> Latencies:
        """Percentiles of the chosen deployment; a Monte-Carlo interval is widened by that of the step times."""
        analytic = one.latencies(around)
        if self.outcome is None:
            return analytic
        return Latencies(
            ttft_ms=_counted(self.outcome, TTFT, self.percentile, analytic.ttft_ms),
            itl_ms=_counted(self.outcome, ITL, self.percentile, analytic.itl_ms),
            e2e_ms=_counted(self.outcome, E2E, self.percentile, analytic.e2e_ms),
        )

    def at_percentile_ms(self, place: int) -> dict[Metric, float] | None:
        """Latencies that were counted at the place of an alternative, in ms; None where it was not simulated."""
        outcome = self.decided.outcome_at(place)
        if outcome is None:
            return None
        return {
            name: quantiles(outcome, metric, [self.percentile])[0] * MS_PER_S
            for name, metric in METRICS.items()
            if counted(outcome, metric).any()
        }


def figures_of(question: Question, decided: Decided) -> Figures:
    """The figures of what was decided."""
    percentile = question.limits.percentile
    if decided.outcome is not None:
        return Figures(
            percentile=percentile,
            decided=decided,
            outcome=decided.outcome,
            requests=decided.requests,
            how_sure=_how_sure(decided),
        )
    why = decided.not_simulated
    warnings: tuple[PlanWarning, ...] = ()
    match why:
        case "not_confirmed":
            how_sure = "Not confirmed by simulation."
            warnings = (not_confirmed(question.limits, decided.unconfirmed),)
        case "work_limit":
            how_sure, warnings = "Not simulated: that takes too long.", (too_much_work(),)
        case "estimate" | "offline" | None:
            how_sure = ""
        case unknown:
            assert_never(unknown)
    return Figures(percentile=percentile, decided=decided, how_sure=how_sure, warnings=warnings, not_simulated=why)


def _how_sure(decided: Decided) -> str:
    """What the simulation adds to the confidence."""
    others, fewer = decided.others_tried, decided.fewer
    also = f", {others} other{'s' if others > 1 else ''} tried" if others else ""
    perhaps = (
        f" {fewer} instance{'s' if fewer > 1 else ''} fewer may be enough, too: so many requests cannot tell."
        if fewer
        else ""
    )
    are = "s are" if decided.left_out > 1 else " is"
    unseen = (
        f" {count(decided.left_out)} deployment{are} left out that would come first by an estimate or an unconfirmed "
        "simulation: what was confirmed of their kind needs more than it first seemed."
        if decided.left_out
        else ""
    )
    return f"Instances and percentiles simulated with {decided.requests:,} requests{also}.{perhaps}{unseen}"


def _counted(outcome: Outcome, metric: int, percentile: float, analytic: Latency) -> Latency:
    """Percentiles of one latency; the analytic value where no request had it (answers of one token have no gaps)."""
    if not counted(outcome, metric).any():
        return analytic
    p50, p95, p99 = (value * MS_PER_S for value in quantiles(outcome, metric, (50.0, 95.0, 99.0)))
    at = sampled_quantile(outcome, metric, percentile)
    base = analytic.at_percentile or math.nan
    low = at.low * MS_PER_S * (analytic.low / base if analytic.low is not None and base > 0 else 1.0)
    high = None
    if analytic.high is not None and math.isfinite(at.high):
        high = at.high * MS_PER_S * (analytic.high / base if base > 0 else 1.0)
    return Latency(
        p50=p50,
        p95=p95,
        p99=p99,
        low=min(low, at.value * MS_PER_S),
        at_percentile=at.value * MS_PER_S,
        high=max(high, at.value * MS_PER_S) if high is not None else None,
    )
