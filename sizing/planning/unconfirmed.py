"""What is said of an answer of the analytic screen of which the simulation confirms none of the best candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sizing.base.format import count, ms, rounded
from sizing.base.result import Fix, PlanWarning
from sizing.base.units import MS_PER_S
from sizing.question.limits import LatencyLimits
from sizing.search.instances import NotMet
from sizing.search.trials import limited
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.quantiles import sampled_quantile

LIMITED = {TTFT: ("TTFT", "ttft_ms"), ITL: ("ITL", "itl_ms"), E2E: ("E2E", "e2e_ms")}
SLACK = 1.2
"""Beyond what nearly idle instances reach: what a relaxed limit is proposed at, so that some load fits."""


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
        return f"{label} does not carry the load with {count(one.instances)} instances.", None
    metric, limit, at = max(reached, key=lambda a: a[2].value / a[1] if math.isfinite(a[2].value) else 0.0)
    name, key = LIMITED[metric]
    close = "" if at.value > limit else "too close to the "
    value = f"p{limits.percentile:g} {name} of {ms(at.value * MS_PER_S)} ({close}limit {ms(limit * MS_PER_S)})"
    sentence = f"{label} reaches {value} with {count(one.instances)} instances."
    if not math.isfinite(at.high):
        return sentence, None
    relaxed = math.ceil(rounded(max(at.high, limit) * MS_PER_S * SLACK, 2))
    return sentence, Fix(key=f"limits.{key}", value=relaxed, label=f"Relax the {name} limit to {ms(relaxed)}")
