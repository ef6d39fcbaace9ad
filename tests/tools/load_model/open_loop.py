"""The simulator against published open-loop runs (MLPerf Server, dstack): tails of TTFT and ITL from one fitted factor.

Each run names system, model, request rate and mean lengths. One factor on all step times of a run is fitted to its mean
ITL; everything else (mean and p99 TTFT, p99 ITL) is then the simulator's and was not looked at. So this tests the load
model (queueing, batching, spread of lengths), not the step times.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from sizing.base.choices import Routing
from sizing.base.units import ONE_SIDED_95
from sizing.evidence.point_table import point_table
from sizing.evidence.points import Point, points_of
from sizing.evidence.predict import best_layouts
from sizing.evidence.published import evidence_frame
from sizing.question.length_distributions import LognormalLength
from sizing.question.understand import understand
from sizing.scenario import Scenario
from sizing.search.replicas import as_replica
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import ITL, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import quantile, sampled_mean
from sizing.simulator.request_lengths import DrawnLengths
from sizing.steps.roofline import roofline

REQUESTS, WARM_UP_SHARE = 10_000, 0.2
"""Requests per instance, and the share of them that fills the engine."""

ROUTING: Routing = "least_loaded"
"""A system's harness sends each request to the least busy instance."""

DSTACK_REQUESTS = 1_000
"""Prompts of a dstack run, all counted from an empty engine (its notes); its rates are above what the systems carry."""

SLOWEST, FASTEST, HALVINGS = 4.0, 0.25, 12
"""Factors on the step times between which the one of a run is looked for, and halvings of that range: to 0.1 %."""
CLOSE = 0.02
"""A factor reproduces a run when its mean ITL comes so near."""

GROWING_SHARE = 0.002
"""Requests left waiting when the arrivals end, as a share of all, from which the queue is growing: a valid Server
result keeps TTFT p99 below 2 s, a few dozen requests at most."""

Z90 = 1.2816
"""Standard normal quantile at 90 %, to four digits: what p90 lies above p50."""
SPREADS = {
    "meta-llama/Llama-2-70b-chat-hf": (152.0, 519.0, 190.0, 449.0),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": (283.0, 701.0, 113.0, 279.0),
    "meta-llama/Llama-3.1-405B-FP8": (72.0, 323.0, 119.0, 289.0),
}
"""Prompt p50 and p90, output p50 and p90 in tokens: the shape of the lengths, whose means are those of each run.

MLPerf reference data sets (OpenOrca, 24,576 pairs; Mixtral's mix, 15,000 pairs; MLCommons, Apache-2.0, via
openshift-psap/performance-dashboard) and ShareGPT prompts (81,494). ShareGPT answers are taken to vary like Mixtral's:
their published lengths are sums over whole conversations."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One published run: its row in the evidence library, and what was measured, in ms."""

    row: int
    name: str
    point: Point
    holds: float
    shape: tuple[float, float, float, float]
    requests: int
    itl_mean: float
    itl_p99: float
    ttft_mean: float
    ttft_p99: float


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """A run with the factor on its step times, and the simulated figures in ms."""

    run: Run
    factor: float
    itl_mean: float
    itl_p99: float
    ttft_mean: float
    ttft_p99: float


def runs() -> list[Run]:
    """Open-loop runs of the evidence library with a rate, both latencies and lengths of known shape."""
    frame = evidence_frame()
    wanted = (frame["mode"] == "fixed_rate") & frame["model"].isin(SPREADS)
    for column in ("request_rate_rps", "ttft_ms_p99", "ttft_ms_mean", "itl_ms_p99", "itl_ms_mean", "isl", "osl"):
        wanted &= pd.to_numeric(frame[column]).notna()
    # Whole prompts between decode steps, and 15 decode steps at a time: not the scheduler that is simulated.
    wanted &= ~frame["notes"].str.contains("chunked_prefill=FALSE", na=False)
    kept = frame[wanted]
    points, _ = points_of(kept)
    table = point_table(points)
    return [
        _run(kept.iloc[points[i].row], int(kept.index[points[i].row]), points[i], float(table.holds[i, 0]))
        for i in best_layouts(table, roofline())
    ]


def _run(cells: pd.Series, row: int, point: Point, holds: float) -> Run:
    chosen, dstack = point.configuration, str(cells["source"]).startswith("dstack")
    count = int(point.instances * chosen.gpus)
    name = f"{point.model.id.rpartition('/')[2]}, {count} x {chosen.gpu.name}, {chosen.engine.label}, TP{chosen.tp}"
    return Run(
        row=row,
        name=f"{name}, {point.rate_rps:.4g}/s ({cells['source']})",
        point=point,
        holds=holds,
        shape=SPREADS[str(cells["model"])],
        requests=DSTACK_REQUESTS if dstack else REQUESTS,
        itl_mean=float(cells["itl_ms_mean"]),
        itl_p99=float(cells["itl_ms_p99"]),
        ttft_mean=float(cells["ttft_ms_mean"]),
        ttft_p99=float(cells["ttft_ms_p99"]),
    )


def lengths_of(run: Run) -> DrawnLengths:
    """Lognormal lengths of the run's means and the data set's shape: sigma = ln(p90 / p50) / 1.2816."""
    prompt50, prompt90, output50, output90 = run.shape
    lengths = []
    for mean, p50, p90 in ((run.point.input_tokens, prompt50, prompt90), (run.point.output_tokens, output50, output90)):
        sigma = math.log(p90 / p50) / Z90
        median = mean / math.exp(sigma**2 / 2.0)
        lengths.append(LognormalLength(p50=median, p95=median * math.exp(ONE_SIDED_95 * sigma)))
    return DrawnLengths(prompt=lengths[0], output=lengths[1])


def replica_of(run: Run) -> Replica:
    """The run's instance: step times of the roofline, scheduler defaults, but the KV cache of a tuned benchmark run."""
    point = run.point
    question = understand(
        Scenario.model_validate(
            {
                "model": point.model.id,
                "workload": {"input_tokens": point.input_tokens, "output_tokens": point.output_tokens, "peak_rps": 1},
            }
        )
    )
    held = run.holds * (point.input_tokens + point.output_tokens)
    return replace(as_replica(question, point.configuration), kv_tokens=held, reserve_output=False)


def simulated(run: Run, replica: Replica, factor: float) -> SimulationCounts:
    """The whole system under its Poisson arrivals, all step times multiplied by ``factor``."""
    instances = max(round(run.point.instances), 1)
    warm = run.requests == REQUESTS
    requests = run.requests * instances if warm else run.requests
    horizon = requests / run.point.rate_rps
    slower = replace(replica, grid=replica.grid.stretched(factor, factor))
    fleet = Fleet(replicas=(slower,) * instances, routing=ROUTING)
    return drive(
        fleet,
        Arrivals(rate_rps=run.point.rate_rps).stream(lengths_of(run), horizon, 1),
        MeasuredSpan(expected=requests, horizon_s=horizon, warm_up=int(WARM_UP_SHARE * requests) if warm else 0),
    )


def reproduced(run: Run) -> Reproduced | None:
    """The run with the factor that gives its mean ITL; None where no factor does: the load is beyond the instance."""
    replica = replica_of(run)
    low, high = FASTEST, SLOWEST
    for _ in range(HALVINGS):
        factor = math.sqrt(low * high)
        itl = sampled_mean(simulated(run, replica, factor), ITL).value * 1e3
        low, high = (factor, high) if itl < run.itl_mean else (low, factor)
    outcome = simulated(run, replica, low)
    itl = sampled_mean(outcome, ITL).value * 1e3
    growing = run.requests == REQUESTS and outcome.waiting > GROWING_SHARE * outcome.arrived
    if abs(itl / run.itl_mean - 1.0) > CLOSE or growing:
        return None
    p99 = {m: quantile(outcome.histogram[m].every_bin(), 0.99) * 1e3 for m in (TTFT, ITL)}
    return Reproduced(
        run=run,
        factor=low,
        itl_mean=itl,
        itl_p99=p99[ITL],
        ttft_mean=sampled_mean(outcome, TTFT).value * 1e3,
        ttft_p99=p99[TTFT],
    )


INTRODUCTION = """\
## Published open-loop runs

MLPerf Server results (v4.1, closed division) and two runs of dstack (Llama 3.1 405B, vLLM): Poisson arrivals at a
stated rate, mean and p99 latency. The whole system is simulated, each request sent to the least busy instance.

*Fitted: one factor per run*, on all its step times, to that run's own mean ITL; so the mean ITL proves nothing, and the
step times are not what is tested. *Predicted*: mean and p99 TTFT and p99 ITL, which test queueing, batching and the
spread of lengths. *Assumed*, because results do not state it: the parallelism with the highest throughput; lognormal
lengths with the run's means and the data set's p90 / p50; memory use and admission of a tuned run (KV cache not
reserved for whole answers, as TensorRT-LLM's MAX\\_UTILIZATION).

{stated} runs state all that is needed. For {missed} of them, listed below the table, no factor gives the measured mean
ITL without a queue that grows: by our step times and memory the system is past its capacity there. They are not in
the figures, which hold for the other {found} runs of {systems} systems; so the figures flatter. dstack's two rates are
above what the system carries; the simulator does not reproduce their queue."""

COMPARED = (("TTFT mean", "ttft_mean"), ("TTFT p99", "ttft_p99"), ("ITL p99", "itl_p99"))


def section() -> Iterator[str]:
    """Lines of the section in docs/LOAD_MODEL.md."""
    stated = runs()
    reproduced_runs = [one for run in stated if (one := reproduced(run)) is not None]
    systems = len({one.run.name.rpartition(", ")[0] for one in reproduced_runs})
    yield from INTRODUCTION.format(
        stated=len(stated), missed=len(stated) - len(reproduced_runs), found=len(reproduced_runs), systems=systems
    ).splitlines()
    yield from ("", "| Predicted | Median error | Median simulated / measured | Within 25 % |", "|---|---|---|---|")
    for label, field in COMPARED:
        ratio = np.array([getattr(one, field) / getattr(one.run, field) for one in reproduced_runs])
        error = np.abs(ratio - 1.0)
        yield f"| {label} | {np.median(error):.0%} | {np.median(ratio):.2f} | {np.mean(error <= 0.25):.0%} |"
    factors = np.array([one.factor for one in reproduced_runs])
    yield from (
        "",
        f"Factors: median {np.median(factors):.2f}, from {factors.min():.2f} to {factors.max():.2f} "
        "(below 1: the run was faster than the roofline).",
        "",
        "| Run | Row | Factor | ITL mean | ITL p99 | TTFT mean | TTFT p99 |",
        "|---|---|---|---|---|---|---|",
    )
    yield from (line(one) for one in reproduced_runs)
    missed = [run for run in stated if run not in [one.run for one in reproduced_runs]]
    yield from ("", "Milliseconds, simulated / measured; *row* is that of the evidence library. Not reproduced:", "")
    yield from (f"- {run.name}, row {run.row}" for run in missed)


def line(one: Reproduced) -> str:
    """One row of the table."""
    cells = [
        f"{getattr(one, field):.3g} / {getattr(one.run, field):.3g}"
        for field in ("itl_mean", "itl_p99", "ttft_mean", "ttft_p99")
    ]
    return f"| {one.run.name} | {one.run.row} | {one.factor:.3f} | {' | '.join(cells)} |"
