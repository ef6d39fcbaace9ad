"""Simulated figures of an answer in the place of analytic ones: percentiles, intervals, how sure."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.result import Candidate, Explained, Latencies, Latency, Plan
from sizing.base.units import MS_PER_S
from sizing.planning.answered import Analytic
from sizing.planning.compose import candidate_of, latencies_of
from sizing.planning.spread import Spread, spread
from sizing.question.understand import Question
from sizing.search.instances import Needed, settled
from sizing.search.refine import REPORTED_REQUESTS, Decided
from sizing.search.screen import Evaluated, Sized
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import Outcome
from sizing.simulator.quantiles import sampled_quantile

LATENCIES = {"ttft_ms": TTFT, "itl_ms": ITL, "e2e_ms": E2E}


class Tried(Analytic):
    """Analytic figures, but the simulated latency of every alternative that was tried."""

    def __init__(self, decided: Decided) -> None:
        self.decided = decided

    def candidate(
        self, question: Question, evaluated: Evaluated, sized: Sized, k: int, gpus: tuple[int, int | None]
    ) -> Candidate:
        """Simulated latency where the deployment was tried, too."""
        analytic = candidate_of(question, evaluated, sized, k, *gpus)
        found = self.decided.search.found.get(int(sized.index[k]))
        if not isinstance(found, Needed):
            return analytic
        counted = {name: m for name, m in LATENCIES.items() if found.outcome.histogram[:, m].any()}
        asked = question.limits.percentile
        at = {name: sampled_quantile(found.outcome, m, asked).value * MS_PER_S for name, m in counted.items()}
        return analytic.model_copy(update={**at, "decided_by": "simulation"})


class Simulated(Tried):
    """Figures of what a simulation decided; those of deployments that were not simulated stay analytic."""

    def __init__(self, decided: Decided) -> None:
        super().__init__(decided)
        assert decided.best is not None
        self.found = decided.best
        self.outcome = settled(decided.search.case(decided.winner), self.found, REPORTED_REQUESTS)

    def spread(self, question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp]) -> Spread:
        """The interval of the screen, its GPUs moved by as much as the simulation moved the capacity."""
        around = spread(question, self.decided.search.evaluated, sized, rows)
        index = sized.index[rows]
        ratio = self.decided.search.evaluated.capacity.rps[index] / evaluated.capacity.rps[index]
        each = evaluated.candidates.gpus[index].astype(np.float64)
        return replace(
            around,
            gpus_low=np.minimum(_whole(around.gpus_low, ratio, each), sized.gpus[rows]),
            gpus_high=np.maximum(_whole(around.gpus_high, ratio, each), sized.gpus[rows]),
        )

    def latencies(self, question: Question, evaluated: Evaluated, sized: Sized, k: int, around: Spread) -> Latencies:
        """Simulated percentiles; Monte-Carlo interval widened by that of the step times."""
        return simulated_latencies(
            self.outcome, latencies_of(question, evaluated, sized, k, around), question.limits.percentile
        )

    def how_sure(self) -> str:
        """What the simulation adds to the confidence."""
        others = len(self.decided.search.found) - 1
        also = f", {others} other{'s' if others > 1 else ''} tried" if others else ""
        fewer = self.found.instances - self.found.perhaps
        perhaps = (
            f" Not certain: {fewer} instance{'s' if fewer > 1 else ''} fewer may do, too; so many requests cannot tell."
            if fewer
            else ""
        )
        requests = f"{self.requests:,} requests per instance"
        return f"Instances and percentiles simulated with {requests}{also}.{perhaps}"

    @property
    def requests(self) -> int:
        """Requests behind the percentiles, per instance."""
        return self.outcome.finished // self.outcome.replicas


def simulated_latencies(outcome: Outcome, analytic: Latencies, asked: float) -> Latencies:
    """Percentiles that were counted; their interval is the Monte-Carlo one widened by that of the step times."""
    return Latencies(
        **{name: _simulated(outcome, metric, asked, getattr(analytic, name)) for name, metric in LATENCIES.items()}
    )


def as_simulated(plan: Plan, *, how_sure: str, requests: int, assumptions: tuple[str, ...]) -> Plan:
    """The plan with simulated figures, saying so wherever it says where figures come from."""
    return plan.model_copy(
        update={
            "decided_by": "simulation",
            "confidence": f"{plan.confidence} {how_sure}",
            "assumptions": (*(a for a in plan.assumptions if "analytic load model" not in a), *assumptions),
            "explained": tuple(_explained(one, requests) for one in plan.explained),
        }
    )


def _explained(one: Explained, requests: int) -> Explained:
    """A figure that was counted: the formula is how the analytic load model puts it together."""
    if one.name not in (*LATENCIES, "max_rps"):
        return one
    counted = f"{requests:,} requests simulated (module sizing.simulation); the formula is that of the screen"
    return one.model_copy(update={"source": f"{counted}: {one.source}"})


def _whole(gpus: Floats, ratio: Floats, each: Floats) -> Floats:
    """GPUs of whole instances after a change of capacity; infinite stays so."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.ceil(gpus / each * ratio - 1e-9) * each, dtype=np.float64)


def _simulated(outcome: Outcome, metric: int, asked: float, analytic: Latency) -> Latency:
    """Percentiles of one latency; the analytic value where no request had it (answers of one token have no gaps)."""
    if not outcome.histogram[:, metric].any():
        return analytic
    p50, p95, p99 = (sampled_quantile(outcome, metric, p).value * MS_PER_S for p in (50.0, 95.0, 99.0))
    at = sampled_quantile(outcome, metric, asked)
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
