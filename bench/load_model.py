"""The analytic load model against the simulator: latency percentiles and capacity, one table and its summary.

``python -m bench.load_model`` writes ``docs/LOAD_MODEL.md``. Both use the same step times, so every difference is
the load
model's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.load_model_pools import report
from bench.open_loop import section
from bench.table import Row
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.understand import understand
from sizing.queueing.capacity import at_percentile, at_rate
from sizing.replay.offered_load import Load
from sizing.replay.simulate import simulate_deployment
from sizing.scenario import Scenario
from sizing.search.replicas import as_replica, lengths_of
from sizing.search.screen import evaluate
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Fleet
from sizing.simulator.stability import largest_stable_rps

NAME = "Load model: analytic over simulated, median of the ratios"
REPORT = Path(__file__).parents[1] / "docs" / "LOAD_MODEL.md"
REQUESTS = 30_000
LOADS = (0.5, 0.8, 0.93)
QUANTILES = (50, 95, 99)
WIDE = 3.0  # p95 over p50 of the lengths that vary

CASES = (
    ("meta-llama/Meta-Llama-3-8B", "h100_sxm", "vllm", "bf16", 1, 1, 1000, 200),
    ("meta-llama/Meta-Llama-3-8B", "h100_sxm", "vllm", "bf16", 1, 1, 3000, 500),
    ("meta-llama/Meta-Llama-3-8B", "h100_sxm", "trtllm", "fp8", 1, 1, 3500, 500),
    ("meta-llama/Meta-Llama-3-8B", "l40s", "vllm", "fp8", 1, 1, 1500, 300),
    ("meta-llama/Meta-Llama-3-8B", "a100_sxm_80g", "vllm", "bf16", 1, 1, 500, 500),
    ("meta-llama/Meta-Llama-3-70B", "h100_sxm", "vllm", "fp8", 4, 1, 3000, 400),
    ("meta-llama/Meta-Llama-3-70B", "h200_sxm", "sglang", "fp8", 2, 1, 2000, 500),
    ("meta-llama/Meta-Llama-3-70B", "h100_sxm", "trtllm", "bf16", 8, 1, 8000, 300),
    ("openai/gpt-oss-120b", "h100_sxm", "vllm", "mxfp4", 1, 1, 2000, 500),
    ("deepseek-ai/DeepSeek-R1", "h200_sxm", "sglang", "fp8", 8, 1, 2000, 1000),
    ("deepseek-ai/DeepSeek-R1", "b200_sxm", "trtllm", "nvfp4", 1, 8, 4000, 1000),
    ("openai/gpt-oss-120b", "h100_sxm", "vllm", "mxfp4", 1, 4, 2000, 500),
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One case at one share of the simulated capacity: latencies in ms by (metric, percentile), analytic and
    simulated."""

    case: str
    varies: bool
    load: float
    stable: tuple[float, float]
    analytic: dict[tuple[str, int], float]
    simulated: dict[tuple[str, int], float]


def compare() -> Iterator[Compared]:
    """All cases, lengths fixed and lognormal, at each share of the smaller capacity."""
    for case in CASES:
        for varies in (False, True):
            yield from _case(case, varies)


def _case(case: tuple[str, str, str, str, int, int, int, int], varies: bool) -> Iterator[Compared]:
    model, gpu, engine, precision, tp, dp, isl, osl = case
    lengths = [{"p50": n, "p95": n * WIDE} if varies else n for n in (isl, osl)]
    scenario = Scenario.model_validate(
        {
            "model": model,
            "workload": {"input_tokens": lengths[0], "output_tokens": lengths[1], "peak_rps": 1},
            "limits": {"ttft_ms": None, "itl_ms": None},
            "deployment": {"gpus": [gpu]},
        }
    )
    question = understand(scenario)
    chosen = precisions()[precision]
    kv = "fp8" if chosen.is_narrow else "fp16"
    row = Configuration(
        gpu=gpus()[gpu], engine=engines()[engine], precision=chosen, kv_precision=kv, tp=tp, ep=dp, dp=dp
    )
    evaluated = evaluate(question, table([row]))
    fleet = Fleet(replicas=(as_replica(question, row),))
    drawn = lengths_of(question)
    stable = (float(evaluated.capacity.stable_rps[0]), largest_stable_rps(fleet, drawn))
    for load in LOADS:
        rate = load * min(stable)
        at = at_rate(evaluated.state.rps, np.array([rate]))
        analytic: dict[tuple[str, int], float] = {}
        for q in QUANTILES:
            here = at_percentile(evaluated.state, q)
            analytic |= {("TTFT", q): float(at.of(here.ttft_s)[0]) * 1e3, ("ITL", q): float(at.of(here.itl_s)[0]) * 1e3}
        duration = REQUESTS / rate
        traffic = Load(
            stream=Arrivals(rate_rps=rate).stream(drawn, duration, 1),
            expected=REQUESTS,
            duration_s=duration,
            lengths=drawn,
            stationary=True,
            notes=(),
        )
        found = simulate_deployment(fleet, traffic, question.limits, name=row.label)
        if found.ttft_ms is None or found.itl_ms is None:
            continue
        simulated = {
            (m, q): getattr(d, f"p{q}").value
            for m, d in (("TTFT", found.ttft_ms), ("ITL", found.itl_ms))
            for q in QUANTILES
        }
        name = f"{model.rpartition('/')[2]}, {row.gpu.name}, {engine} {precision} {row.parallelism}, {isl}/{osl}"
        yield Compared(case=name, varies=varies, load=load, stable=stable, analytic=analytic, simulated=simulated)


def summary(rows: list[Compared]) -> dict[tuple[bool, float], dict[tuple[str, int], float]]:
    """Median ratio analytic / simulated by kind of lengths and load."""
    out: dict[tuple[bool, float], dict[tuple[str, int], float]] = {}
    for varies in (False, True):
        for load in LOADS:
            chosen = [r for r in rows if r.varies is varies and r.load == load]
            out[varies, load] = {
                key: float(np.median([r.analytic[key] / r.simulated[key] for r in chosen]))
                for key in chosen[0].analytic
            }
    return out


def run() -> list[Row]:
    """One row per metric and percentile over all cases; 1 is perfect agreement."""
    rows = list(compare())
    found = [
        Row(what=f"{m} p{q}", unit="", samples=tuple(r.analytic[m, q] / r.simulated[m, q] for r in rows))
        for m in ("TTFT", "ITL")
        for q in QUANTILES
    ]
    return [*found, Row(what="capacity", unit="", samples=tuple(r.stable[0] / r.stable[1] for r in rows))]


def markdown(rows: list[Compared]) -> str:
    """The report."""
    keys = [(m, q) for m in ("TTFT", "ITL") for q in QUANTILES]
    lines = [
        "# Load model",
        "",
        "Generated by `python -m bench.load_model`; do not edit. The analytic screen "
        "(`sizing/queueing/steady_state.py`) against the",
        "discrete-event simulator (`sizing/simulator`), both with the same step times: what differs is the "
        "load model. Each",
        f"case runs {REQUESTS:,} Poisson requests on one instance at a share of the smaller of both capacities.",
        "",
        "## Median ratio, analytic / simulated",
        "",
        "| Lengths | Load | " + " | ".join(f"{m} p{q}" for m, q in keys) + " |",
        "|---|---|" + "---|" * len(keys),
    ]
    for (varies, load), ratios in summary(rows).items():
        name = f"lognormal, p95 = {WIDE:g} x p50" if varies else "fixed"
        lines.append(f"| {name} | {load:g} | " + " | ".join(f"{ratios[k]:.2f}" for k in keys) + " |")
    lines += [
        "",
        "## Cases",
        "",
        "Milliseconds, analytic / simulated; capacity in requests/s.",
        "",
        "| Case | Lengths | Capacity | Load | " + " | ".join(f"{m} p{q}" for m, q in keys) + " |",
        "|---|---|---|---|" + "---|" * len(keys),
    ]
    for r in rows:
        cells = " | ".join(f"{r.analytic[k]:.3g} / {r.simulated[k]:.3g}" for k in keys)
        lines.append(
            f"| {r.case} | {'vary' if r.varies else 'fixed'} | {r.stable[0]:.3g} / {r.stable[1]:.3g} | {r.load:g} "
            f"| {cells} |"
        )
    return "\n".join([*lines, "", *report(), "", *section()]).rstrip() + "\n"


if __name__ == "__main__":
    REPORT.write_text(markdown(list(compare())), encoding="utf-8")
    print(f"wrote {REPORT.name}")
