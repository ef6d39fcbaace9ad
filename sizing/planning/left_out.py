"""What the defaults leave out, where it costs something: formats that lose accuracy, GPUs without published benchmarks.

Of each kind the cheapest that the analytic screen has is held against what the screen has for what is considered, so
that either is as far from a simulation. Nothing is simulated: it is a hint what to look at, not an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sizing.base.format import usd
from sizing.base.result import Fix, LeftOut, LeftOutKind, PlanWarning
from sizing.base.units import HOURS_PER_MONTH
from sizing.question.understand import Question, unmeasured_gpus
from sizing.search.aggregated import Aggregated, smallest_aggregated
from sizing.search.screen import evaluate_all
from sizing.search.serving import Screened

WORTH_TELLING = 0.9
"""Share of the cost now below which what is left out is told. Chosen: a tenth is about what screen and simulation
differ by, and less than what a customer would change a format or a GPU type for."""

_FIXES: dict[LeftOutKind, Fix] = {
    "lossy_formats": Fix(key="deployment.accurate_formats_only", value=False, label="Show it"),
    "unmeasured_gpus": Fix(key="deployment.measured_gpus_only", value=False, label="Show it"),
}
_WORDS: dict[LeftOutKind, str] = {
    "lossy_formats": "weight formats that lose accuracy",
    "unmeasured_gpus": "GPUs without published benchmarks",
}
_NUMBERS = {1: "A cheaper plan was", 2: "Two cheaper plans were"}


def left_out(screened: Screened, usd_per_month: float | None) -> tuple[LeftOut, ...]:
    """The cheapest of each kind that was left out, where it costs clearly less than the plan, ``usd_per_month``."""
    now = _cheapest(screened.together)
    if now is None or usd_per_month is None:
        return ()
    most = WORTH_TELLING * min(now[1], usd_per_month)
    cheaper = []
    for kind, question in _kinds(screened.question):
        cheapest = _cheapest(smallest_aggregated(question, evaluate_all(question)))
        if cheapest is not None and cheapest[1] < most:
            cheaper.append(LeftOut(kind=kind, configuration=cheapest[0], hardware_usd_per_month=cheapest[1]))
    return tuple(cheaper)


def about_left_out(cheaper: Sequence[LeftOut], usd_per_month: float | None) -> Iterator[PlanWarning]:
    """What was left out in one sentence, and the click that considers all of it."""
    if not cheaper:
        return
    named = ", ".join(
        f"{_WORDS[one.kind]} ({one.configuration}: about {usd(one.hardware_usd_per_month)})" for one in cheaper
    )
    fix, *also = (_FIXES[one.kind] for one in cheaper)
    yield PlanWarning(
        code="left_out",
        severity="info",
        source="analytic screen, nothing simulated",
        message=f"{_NUMBERS[len(cheaper)]} left out: {named} a month instead of {usd(usd_per_month)}.",
        fix=fix.model_copy(update={"also": tuple(also), "label": "Show them" if also else fix.label}),
    )


def _kinds(question: Question) -> Iterator[tuple[LeftOutKind, Question]]:
    """The question about what was left out alone, for each kind of it."""
    allowed = question.allowed
    if allowed.accuracy == "kept" and not allowed.precisions:
        yield "lossy_formats", replace(question, allowed=replace(allowed, accuracy="lost"))
    if unmeasured := unmeasured_gpus(question):
        yield "unmeasured_gpus", replace(question, gpus=unmeasured)


def _cheapest(kind: Aggregated) -> tuple[str, float] | None:
    """Label and USD a month of what comes first of the deployments with a price; None where none has one."""
    priced = np.flatnonzero(np.isfinite(kind.usd_per_hour))
    if not len(priced):
        return None
    first = kind.first(priced)
    return kind.label(first), float(kind.usd_per_hour[first]) * HOURS_PER_MONTH
