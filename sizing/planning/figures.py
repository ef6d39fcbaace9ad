"""Where the latencies of a plan come from, the analytic load model or a simulation, and what is to be said of that.

Where the simulation confirms none of the best candidates of the analytic screen, the plan says so and names the limit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from sizing.base.choices import DecidedBy, NotSimulated
from sizing.base.format import count, ms, rounded, with_noun
from sizing.base.latency_and_cost import Latencies, Latency
from sizing.base.result import Fix, PlanWarning
from sizing.base.units import MS_PER_S
from sizing.planning.deployment import LatencyMetric, PlannedDeployment
from sizing.planning.spread import Spread
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question
from sizing.search.decide import Decided
from sizing.search.deployments import Deployments
from sizing.search.instances import NotMet
from sizing.search.trials import limited
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.quantiles import counted, quantiles, sampled_quantile

METRICS: Mapping[LatencyMetric, int] = MappingProxyType({"ttft_s": TTFT, "itl_s": ITL, "e2e_s": E2E})
"""Latencies as the load model calls them, and as the simulator does."""

LIMITED = {TTFT: ("TTFT", "ttft_ms"), ITL: ("ITL", "itl_ms"), E2E: ("E2E", "e2e_ms")}
SLACK = 1.2
"""Beyond what nearly idle instances reach: what a relaxed limit is proposed at, so that some load fits."""


@dataclass(frozen=True, kw_only=True)
class AnalyticFigures:
    """Latencies of the analytic load model, where none were counted in what was ``decided``.

    ``outcome``: counted at the chosen deployment, from ``requests`` requests of one instance. ``how_sure`` and
    ``warnings``: what is to be said of the simulation, or why there is none.
    """

    percentile: float
    decided: Decided
    outcome: SimulationCounts | None = None
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

    def at_percentile_ms(self, place: int) -> dict[LatencyMetric, float] | None:
        """Latencies that were counted at the place of an alternative, in ms; None where it was not simulated."""
        outcome = self.decided.outcome_at(place)
        if outcome is None:
            return None
        return {
            name: quantiles(outcome, metric, [self.percentile])[0] * MS_PER_S
            for name, metric in METRICS.items()
            if counted(outcome, metric).any()
        }


def figures_of(question: Question, decided: Decided) -> AnalyticFigures:
    """The figures of what was decided."""
    percentile = question.limits.percentile
    if decided.outcome is not None:
        return AnalyticFigures(
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
    return AnalyticFigures(
        percentile=percentile, decided=decided, how_sure=how_sure, warnings=warnings, not_simulated=why
    )


def _how_sure(decided: Decided) -> str:
    """What the simulation adds to the confidence."""
    others, fewer = decided.others_tried, decided.fewer
    also = f", {others} other{'s' if others > 1 else ''} tried" if others else ""
    fewer_may_do = (
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
    return f"Instances and percentiles simulated with {decided.requests:,} requests{also}.{fewer_may_do}{unseen}"


def _counted(outcome: SimulationCounts, metric: int, percentile: float, analytic: Latency) -> Latency:
    """Percentiles of one latency; the analytic value where no request had it (answers of one token have no gaps)."""
    if not counted(outcome, metric).any():
        return analytic
    percentiles = tuple(value * MS_PER_S for value in quantiles(outcome, metric, Latency.percents()))
    at = sampled_quantile(outcome, metric, percentile)
    base = analytic.at_percentile or math.nan
    low = at.low * MS_PER_S * (analytic.low / base if analytic.low is not None and base > 0 else 1.0)
    high = None
    if analytic.high is not None and math.isfinite(at.high):
        high = at.high * MS_PER_S * (analytic.high / base if base > 0 else 1.0)
    return Latency(
        percentiles=percentiles,
        low=min(low, at.value * MS_PER_S),
        at_percentile=at.value * MS_PER_S,
        high=max(high, at.value * MS_PER_S) if high is not None else None,
    )


def not_confirmed(limits: LatencyLimits, tried: Sequence[tuple[str, NotMet]]) -> PlanWarning:
    """Every candidate that was simulated breaks a limit, and which.

    ``tried``: name and result of each, best first; none when only prefill and decode pools were simulated.
    """
    shown = "Instances and percentiles shown are those of the analytic load model: "
    todo = "relax the limit, or test under load before buying."
    if tried:
        reached, fix = _reached(limits, *tried[0])
        none = f"none of the {len(tried)} best candidates" if len(tried) > 1 else "not even the best candidate"
        why = f"{none} surely keeps the limits there, whatever the number of instances. {reached} {shown}{todo}"
    else:
        why, fix = f"no pair of prefill and decode pools surely keeps the limits there. {shown}{todo}", None
    return PlanWarning(
        code="not_confirmed",
        severity="error",
        source="discrete-event simulation",
        fix=fix,
        message=f"Not confirmed by simulation: {why}",
    )


def too_much_work() -> PlanWarning:
    """Simulating what would have to be simulated takes more work than an answer may."""
    return PlanWarning(
        code="not_simulated",
        severity="info",
        source="discrete-event simulation",
        message="Estimate, not simulated: simulating this many requests takes more work than an answer may. Instances "
        "and percentiles shown are those of the analytic load model.",
    )


def _reached(limits: LatencyLimits, label: str, one: NotMet) -> tuple[str, Fix | None]:
    """What the candidate reaches of the limit it misses most, and the limit it would keep; without limits it is the
    load that it does not carry."""
    reached = [(m, limit, sampled_quantile(one.outcome, m, limits.percentile)) for m, limit in limited(limits)]
    if not reached:
        return f"{label} does not carry the load with {with_noun(count(one.instances), 'instance')}.", None
    metric, limit, at = max(reached, key=lambda a: a[2].value / a[1] if math.isfinite(a[2].value) else 0.0)
    name, key = LIMITED[metric]
    close = "" if at.value > limit else "too close to the "
    value = f"p{limits.percentile:g} {name} of {ms(at.value * MS_PER_S)} ({close}limit {ms(limit * MS_PER_S)})"
    sentence = f"{label} reaches {value} with {with_noun(count(one.instances), 'instance')}."
    if not math.isfinite(at.high):
        return sentence, None
    relaxed = math.ceil(rounded(max(at.high, limit) * MS_PER_S * SLACK, 2))
    return sentence, Fix(key=f"limits.{key}", value=relaxed, label=f"Relax the {name} limit to {ms(relaxed)}")
