"""Capacity at the limits: the largest rate within latency limits as planned, against what was measured.

It decides how many GPUs are bought. The physics is that of ``sizing.plan`` with GPU, engine, format and parallelism
fixed: the screen's evaluation with the best cap on the batch, then the simulator's own finding whether one instance
meets every limit at a rate. Only the step times can be those of another fit, so that every run can be judged by one
that has not seen it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from calibration.capacity_figures import OF_RUN, TODAY
from calibration.crossvalidate import EXTRAPOLATED, LATER, SCHEMES, Refit, group_of
from calibration.runs_at_limits import RunAtLimits, labels
from sizing.base.provenance import StepSource
from sizing.deployments.candidates import table
from sizing.deployments.concurrency import running_fit
from sizing.planning.aggregated import step_intervals
from sizing.planning.spread import with_slower_steps
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, understand
from sizing.queueing.steady_state import concurrency_grid
from sizing.scenario import Scenario
from sizing.search.aggregated import aggregated
from sizing.search.batch_limits import with_batch_limits
from sizing.search.replicas import arrivals_of, as_replica, lengths_of
from sizing.search.screen import Evaluated, instances_needed, under_load
from sizing.search.trials import Case, Tries, in_flight_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.step_grid import roofline_grid
from sizing.steps.efficiency import TODAY as TODAYS_SOFTWARE
from sizing.steps.mixture import Mixture

RATES: Mapping[str, float] = MappingProxyType(
    {"fast_rps": 0.1, "slow_80_rps": 0.8, "slow_rps": 0.9, "slow_95_rps": 0.95}
)
"""Rates beside the planned one, and the confidence that steps take no longer than those of each: the ends of the 80 %
interval, and on the slow side whatever a plan can be asked to be sure of."""

LARGE_RPS = 1e6
"""Peak for which caps on the batch are chosen: so large that whatever carries more per GPU saves an instance."""

P95 = 1.6449
"""Standard normal quantile at 95 %."""

FIRST_STEP, STEP_GROWTH, LARGEST_STEP, RESOLUTION = 1.06, 1.7, 4.0, 1.01
"""Factors on the rate: first step away from the analytic capacity, how its logarithm grows, the largest, and the width
at which the bisection stops."""

FARTHEST = 1e4
"""Factor from the analytic capacity beyond which no rate is tried: a limit is broken there without load."""


@dataclass(frozen=True, kw_only=True)
class CapacityAtLimits:
    """One instance within the limits: the best of the layouts, its simulated and its analytic largest rate."""

    question: Question
    evaluated: Evaluated
    index: int
    rps: float

    @property
    def row(self) -> Configuration:
        """The layout of the instances whose capacity is asked."""
        return self.evaluated.candidates.rows[self.index]


def question_of(run: RunAtLimits) -> Question:
    """The run as a question to the plan; lengths lognormal with the published means and the spread of the run.

    What is judged is the prediction itself, so steps take as long as expected; one instance stands for all, each of
    which sees random arrivals.
    """
    point = run.layouts[0]
    lengths = {
        f"{name}_tokens": _spread(mean, variation)
        for name, mean, variation in (
            ("input", point.input_tokens, run.spread.prompt),
            ("output", point.output_tokens, run.spread.output),
        )
    }
    scenario = {
        "model": point.model.id,
        "workload": {**lengths, "prefix_cached_tokens": point.cached_tokens, "peak_rps": run.rate_rps},
        "limits": {"ttft_ms": run.limits.ttft_ms, "itl_ms": run.limits.itl_ms, "percentile": run.limits.percentile},
        "deployment": {
            "gpus": [point.configuration.gpu.id],
            "serving": ["aggregated"],
            "confidence": 50,
            "routing": "random",
        },
    }
    return understand(Scenario.model_validate(scenario))


def _spread(mean: float, variation: float) -> dict[str, float]:
    """Percentiles of a lognormal length: sigma^2 = ln(1 + variation), p50 = mean exp(-sigma^2 / 2)."""
    sigma = math.sqrt(math.log1p(variation))
    p50 = mean * math.exp(-(sigma**2) / 2.0)
    return {"p50": p50, "p95": p50 * math.exp(P95 * sigma)}


def evaluated_with(question: Question, rows: Sequence[Configuration], source: Mixture) -> Evaluated:
    """Evaluate the configurations that fit, by the analytic load model with step times of ``source``."""
    every = table(rows)
    memory = running_fit(question.model, every, question.traffic)
    kept = np.flatnonzero(memory.fits)
    candidates, memory = every.take(kept), memory.take(kept)
    grid = concurrency_grid(memory.max_concurrency)
    times = source.times(question.model, candidates, question.traffic, grid)
    sources = (StepSource(kind="kernel_tables", name=source.source),) * len(candidates)
    base = under_load(question, candidates, memory, times, sources, grid)
    return with_batch_limits(replace(question, demand=replace(question.demand, peak_rps=LARGE_RPS)), base)


def capacity_of(run: RunAtLimits, source: Mixture) -> CapacityAtLimits | None:
    """The largest rate of one instance of the layout that carries most per GPU; None where nothing fits."""
    question = question_of(run)
    evaluated = evaluated_with(question, [p.configuration for p in run.layouts], source)
    if not len(evaluated):
        return None
    index = int(np.argmax(evaluated.capacity.rps / evaluated.candidates.gpus))
    case = _case(question, evaluated, index, source)

    def met(rps: float) -> bool:
        return Tries(replace(case, arrivals=Arrivals(rate_rps=rps))).met(1)

    guess = float(evaluated.capacity.rps[index]) or float(evaluated.capacity.stable_rps[index])
    return CapacityAtLimits(question=question, evaluated=evaluated, index=index, rps=largest_rate(met, guess))


def _case(question: Question, evaluated: Evaluated, index: int, source: Mixture) -> Case:
    """One instance as the plan simulates it, with step times of ``source``."""
    row, state, rps = evaluated.candidates.rows[index], evaluated.state, float(evaluated.capacity.rps[index])
    replica = as_replica(question, row)
    at = min(int(np.searchsorted(np.maximum.accumulate(state.rps[index]), rps)), state.rps.shape[1] - 1)
    one, load = evaluated.times.take(np.array([index])), state.concurrency[[index]]
    reference = source.base.times(question.model, table([row]), question.traffic, load)
    grid = roofline_grid(question.model, row, replica.max_sequences, source=source.base)
    return Case(
        replica=replace(replica, grid=grid.fitted_to(one, reference, load[0])),
        arrivals=arrivals_of(question),
        lengths=lengths_of(question),
        limits=question.limits,
        max_utilization=question.scenario.deployment.max_utilization,
        stable_rps=float(evaluated.capacity.stable_rps[index]),
        in_flight=in_flight_of(1.0, float(state.concurrency[index, at])),
    )


def largest_rate(met: Callable[[float], bool], guess: float) -> float:
    """The largest rate for which ``met`` holds, to 1 %: growing steps from ``guess``, then bisection; 0: none does."""
    up, step, at = met(guess), FIRST_STEP, guess
    good, bad = (guess, math.inf) if up else (0.0, guess)
    while guess / FARTHEST < at < guess * FARTHEST and (good == 0.0 or math.isinf(bad)):
        at = at * step if up else at / step
        step = min(step**STEP_GROWTH, LARGEST_STEP)
        good, bad = (at, bad) if met(at) else (good, at)
    if good == 0.0 or math.isinf(bad):
        return good
    while bad > RESOLUTION * good:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if met(middle) else (good, middle)
    return good


def judged(runs: Sequence[RunAtLimits], source: Mixture) -> pd.DataFrame:
    """One row per run: planned and measured rate, the ends of the planned one, GPUs needed and used; the plan has
    step times of the run's own software."""
    known: dict[object, CapacityAtLimits | None] = {}
    parts = []
    for run in runs:
        first = run.layouts[0]
        lengths = first.input_tokens, first.output_tokens, first.cached_tokens
        key = (first.model.id, tuple(p.configuration for p in run.layouts), lengths, run.limits, run.software_year)
        if key not in known:
            known[key] = capacity_of(run, source.of_year(run.software_year))
        parts.append(_answer(run, known[key]))
    return pd.concat([labels(runs), pd.DataFrame(parts)], axis=1)


def _answer(run: RunAtLimits, capacity: CapacityAtLimits | None) -> dict[str, Any]:
    """What the plan says of one run; nothing planned where no instance fits or meets the limits."""
    if capacity is None or not capacity.rps > 0.0:
        nothing = dict.fromkeys(("planned_rps", *RATES), 0.0) | {"layout_gpus": np.nan, "gpus_needed": np.nan}
        return {"layout": "", **nothing}
    instances = run.gpus / capacity.row.gpus
    rates = rates_at(capacity, run.rate_rps / instances)
    return {
        "layout": capacity.row.parallelism,
        "planned_rps": capacity.rps * instances,
        **{name: rate * instances for name, rate in rates.items()},
        "layout_gpus": capacity.row.gpus,
        "gpus_needed": float(instances_needed(run.rate_rps, np.array([capacity.rps]))[0] * capacity.row.gpus),
    }


def rates_at(capacity: CapacityAtLimits, rate_rps: float) -> dict[str, float]:
    """Largest rate of the instance by the names of :data:`RATES`, each with its step times at that confidence, moved as
    the simulation moved the planned one; ``rate_rps`` is what one instance carries."""
    question, evaluated, index = capacity.question, capacity.evaluated, np.array([capacity.index])
    at_rate = replace(question, demand=replace(question.demand, peak_rps=rate_rps))
    decode, prefill = step_intervals(aggregated(at_rate, evaluated, index, np.ones(1, dtype=np.int64)))
    screened = float(evaluated.capacity.rps[capacity.index])
    moved = capacity.rps / screened if screened > 0.0 else 1.0

    def rate(confidence: float) -> float:
        slower = (np.array([one.factor_at(confidence) for one in each]) for each in (decode, prefill))
        return float(with_slower_steps(question, evaluated, index, *slower).capacity.rps[0]) * moved

    return {name: rate(confidence) for name, confidence in RATES.items()}


def held_out_capacity(
    runs: Sequence[RunAtLimits], whole: Mixture, refits: Sequence[Refit], sources: Sequence[Mixture]
) -> pd.DataFrame:
    """Every run by the fit (scheme ``fit``), and under each scheme by the one of ``sources`` that has not seen its
    group: with software of the run's year, and once more with that of today."""
    today = [replace(run, software_year=TODAYS_SOFTWARE) for run in runs]
    parts = [
        _held_out(some, whole, refits, sources).assign(software=name) for name, some in ((OF_RUN, runs), (TODAY, today))
    ]
    return pd.concat(parts, ignore_index=True)


def _held_out(
    runs: Sequence[RunAtLimits], whole: Mixture, refits: Sequence[Refit], sources: Sequence[Mixture]
) -> pd.DataFrame:
    parts = [judged(runs, whole).assign(scheme=SCHEMES[0])]
    known = labels(runs)
    for scheme in dict.fromkeys(refit.scheme for refit in refits):
        if scheme in (LATER, *EXTRAPOLATED):
            continue
        names = group_of(known, scheme).astype(str)
        without = {r.name: source for r, source in zip(refits, sources, strict=True) if r.scheme == scheme}
        for name, index in names.groupby(names).groups.items():
            some = [runs[i] for i in index]
            # A group that no refit names is not among the rows of the fit, which has then not seen it either.
            parts.append(judged(some, without.get(str(name), whole)).assign(scheme=scheme))
    return pd.concat(parts, ignore_index=True)
