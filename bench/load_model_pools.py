"""Batch limits and disaggregated pools: the analytic screen against the simulator and against published runs.

Sections of ``docs/LOAD_MODEL.md``, written by :mod:`bench.load_model`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri

import sizing
from sizing.base.errors import SizingError
from sizing.catalog import gpus, resolve_model
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.deployments.kv_transfer import SETUP_S
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, understand
from sizing.queueing.capacity import at_percentile, at_rate
from sizing.queueing.pools import first_token
from sizing.replay.offered_load import Load
from sizing.replay.simulate import simulate_deployment
from sizing.scenario import Scenario
from sizing.search.batch_limits import limited
from sizing.search.pools import BUSY, decoding_of, times_of
from sizing.search.pools_simulated import PoolsCase, decoded, first_tokens
from sizing.search.replicas import as_replica, lengths_of
from sizing.search.screen import Evaluated, evaluate
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import ITL
from sizing.simulator.quantiles import sampled_quantile
from sizing.simulator.stability import largest_stable_rps, stable_rps_of

EVIDENCE = Path(sizing.__file__).parent / "data" / "evidence.csv.gz"
CASES = (
    ("meta-llama/Meta-Llama-3-8B", "h100_sxm", "vllm", "bf16", 1, 1, 1000, 200),
    ("meta-llama/Meta-Llama-3-8B", "l40s", "vllm", "fp8", 1, 1, 1500, 300),
    ("meta-llama/Meta-Llama-3-70B", "h100_sxm", "vllm", "fp8", 4, 1, 3000, 400),
    ("meta-llama/Meta-Llama-3-70B", "h100_sxm", "trtllm", "bf16", 8, 1, 8000, 300),
    ("deepseek-ai/DeepSeek-R1", "h200_sxm", "sglang", "fp8", 8, 1, 2000, 1000),
    ("deepseek-ai/DeepSeek-R1", "b200_sxm", "trtllm", "nvfp4", 1, 8, 4000, 1000),
    ("openai/gpt-oss-120b", "h100_sxm", "vllm", "mxfp4", 1, 4, 2000, 500),
)
LIMITS = (8, 32, 128)
LOADS = (0.5, 0.8, 0.9)
QUANTILES = (50, 95, 99)
REQUESTS = 20_000
WIDE = 3.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case at one load: ms by name, analytic and simulated."""

    case: str
    varies: bool
    load: float
    analytic: dict[str, float]
    simulated: dict[str, float]


def _asked(case: tuple[str, str, str, str, int, int, int, int], varies: bool) -> tuple[Question, Evaluated, str]:
    model, gpu, engine, precision, tp, dp, isl, osl = case
    lengths = [{"p50": n, "p95": n * WIDE} if varies else n for n in (isl, osl)]
    question = understand(
        Scenario.model_validate(
            {
                "model": model,
                "workload": {"input_tokens": lengths[0], "output_tokens": lengths[1], "peak_rps": 1},
                "limits": {"ttft_ms": None, "itl_ms": None},
                "deployment": {"gpus": [gpu]},
            }
        )
    )
    chosen = precisions()[precision]
    kv = "fp8" if chosen.is_narrow else "fp16"
    row = Configuration(
        gpu=gpus()[gpu], engine=engines()[engine], precision=chosen, kv_precision=kv, tp=tp, ep=dp, dp=dp
    )
    name = f"{model.rpartition('/')[2]}, {row.gpu.name}, {engine} {precision} {row.parallelism}, {isl}/{osl}"
    return question, evaluate(question, table([row])), name


def batch_limits() -> Iterator[Row]:
    """Instances with a cap at shares of what they carry."""
    for case in CASES:
        for varies in (False, True):
            question, free, name = _asked(case, varies)
            for cap in (c for c in LIMITS if c < free.memory.max_concurrency[0]):
                yield from _capped(question, free, f"{name}, limit {cap}", varies, cap)


def _capped(question: Question, free: Evaluated, name: str, varies: bool, cap: int) -> Iterator[Row]:
    found = limited(question, free, np.zeros(1, dtype=np.intp), np.array([float(cap)]))
    replica = as_replica(question, found.candidates.rows[0])
    fleet, drawn = Fleet(replicas=(replica,)), lengths_of(question)
    stable = min(float(found.capacity.stable_rps[0]), largest_stable_rps(fleet, drawn))
    for load in LOADS:
        rate = load * stable
        at = at_rate(found.state.rps, np.array([rate]))
        analytic: dict[str, float] = {}
        for q in QUANTILES:
            here = at_percentile(found.state, q)
            analytic[f"TTFT p{q}"] = float(at.of(here.ttft_s)[0]) * 1e3
            analytic[f"ITL p{q}"] = float(at.of(here.itl_s)[0]) * 1e3
        duration = REQUESTS / rate
        traffic = Load(
            stream=Arrivals(rate_rps=rate).stream(drawn, duration, 1),
            expected=REQUESTS,
            duration_s=duration,
            lengths=drawn,
            stationary=True,
            notes=(),
        )
        result = simulate_deployment(fleet, traffic, question.limits, name=name)
        if result.ttft_ms is None or result.itl_ms is None:
            continue
        simulated = {
            f"{m} p{q}": getattr(d, f"p{q}").value
            for m, d in (("TTFT", result.ttft_ms), ("ITL", result.itl_ms))
            for q in QUANTILES
        }
        yield Row(case=name, varies=varies, load=load, analytic=analytic, simulated=simulated)


def pools() -> Iterator[Row]:
    """A prefill and a decode instance, each at shares of what it carries."""
    for case in CASES:
        for varies in (False, True):
            question, found, name = _asked(case, varies)
            yield from _split(question, found, name, varies)


def _split(question: Question, found: Evaluated, name: str, varies: bool) -> Iterator[Row]:
    one, gap = times_of(question, found, np.zeros(1, np.intp)), decoding_of(question, found, np.zeros(1, np.intp))
    replica, drawn = as_replica(question, found.candidates.rows[0]), lengths_of(question)
    most = (
        min(1.0 / one.full_s[0], stable_rps_of(replica, drawn, prefill_only=True)),
        min(gap.rps[0, -1], stable_rps_of(replica, drawn, decode_only=True)),
    )
    for load in (share for share in LOADS if share <= BUSY[-1]):
        prefill, decode = (_case(question, replica, load * rate) for rate in most)
        first = first_token(one, np.array([[load * most[0]]]), np.array([SETUP_S]), question.variability)
        _, mean, var = gap.at(np.array([[load * most[1]]]))
        seen = first_tokens(prefill, 1)
        outcome = decoded(decode, first_tokens(prefill, 1), 1)
        analytic, simulated = {}, {}
        for q in QUANTILES:
            analytic[f"TTFT p{q}"] = float(first.at(q)[0, 0]) * 1e3
            analytic[f"ITL p{q}"] = float(mean[0, 0] + ndtri(q / 100) * np.sqrt(var[0, 0])) * 1e3
            simulated[f"TTFT p{q}"] = float(np.percentile(seen.ttft_s[REQUESTS // 7 :], q)) * 1e3
            simulated[f"ITL p{q}"] = sampled_quantile(outcome, ITL, q).value * 1e3
        yield Row(case=name, varies=varies, load=load, analytic=analytic, simulated=simulated)


def _case(question: Question, replica: Replica, rate: float) -> PoolsCase:
    return PoolsCase(
        prefill=replica,
        decode=replica,
        arrivals=Arrivals(rate_rps=rate),
        lengths=lengths_of(question),
        limits=question.limits,
        max_utilization=1.0,
        transfer_latency_s=SETUP_S,
        transfer_s_per_token=0.0,
        requests=REQUESTS,
        seed=1,
    )


def section(title: str, words: str, rows: list[Row]) -> list[str]:
    """Median ratios by lengths and load, as Markdown."""
    keys = list(rows[0].analytic)
    lines = [
        f"## {title}",
        "",
        words,
        "",
        "| Lengths | Load | Cases | " + " | ".join(keys) + " |",
        "|---|---|---|" + "---|" * len(keys),
    ]
    for varies in (False, True):
        for load in LOADS:
            chosen = [r for r in rows if r.varies is varies and r.load == load]
            if chosen:
                cells = " | ".join(f"{np.median([r.analytic[k] / r.simulated[k] for r in chosen]):.2f}" for k in keys)
                name = f"lognormal, p95 = {WIDE:g} x p50" if varies else "fixed"
                lines.append(f"| {name} | {load:g} | {len(chosen)} | {cells} |")
    return [*lines, ""]


PUBLISHED = re.compile(r"DISAGG prefill (\d+)x\(tp(\d+),adp(\d+),ep(\d+)\).*?decode (\d+)x\(tp(\d+),adp(\d+),ep(\d+)\)")
WORKERS = re.compile(r"DISAGG (\d+) prefill : (\d+) decode workers; TP(\d+)")


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published disaggregated run and what the model makes of it: mean ITL in ms, output tokens/s."""

    case: str
    concurrency: float
    measured: tuple[float, float]
    predicted: tuple[float, float]


def published() -> Iterator[Published]:
    """Closed-loop runs whose notes say how the GPUs are split."""
    frame = pd.read_csv(EVIDENCE)
    frame = frame[frame["notes"].fillna("").str.contains("DISAGG") & (frame["mode"] == "fixed_concurrency")]
    for row in frame.astype(object).to_dict("records"):
        found = _ways(str(row["notes"]))
        gap = row["itl_ms_mean"] if row["itl_ms_mean"] == row["itl_ms_mean"] else row["itl_ms_p50"]
        if found is None or not gap > 0 or row["gpu"] not in gpus():
            continue
        try:
            yield _published(row, float(gap), *found)
        except (SizingError, KeyError):
            continue


def _ways(notes: str) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]] | None:
    """(instances, TP, EP, DP) of prefill and decode, as far as the notes say."""
    if found := PUBLISHED.search(notes):
        p, tp, adp, ep, d, tp2, adp2, ep2 = map(int, found.groups())
        return (p, tp, ep, adp), (d, tp2, ep2, adp2)
    if found := WORKERS.search(notes):
        p, d, tp = map(int, found.groups())
        return (p, tp, 1, 1), (d, tp, 1, 1)
    return None


def _published(
    row: Mapping[Hashable, object], gap_ms: float, prefill: tuple[int, ...], decode: tuple[int, ...]
) -> Published:
    model, _ = resolve_model(str(row["model"]))
    isl, osl, users = (float(str(row[k])) for k in ("isl", "osl", "concurrency_or_batch"))
    question = understand(
        Scenario.model_validate(
            {
                "model": model.id,
                "workload": {"input_tokens": isl, "output_tokens": osl, "peak_rps": 1},
                "limits": {"ttft_ms": None, "itl_ms": None},
                "deployment": {"gpus": [row["gpu"]]},
            }
        )
    )
    kv = "fp8" if precisions()[str(row["weight_precision"])].is_narrow else "fp16"
    base = Configuration(
        gpu=gpus()[str(row["gpu"])],
        engine=engines()[str(row["engine"])],
        precision=precisions()[str(row["weight_precision"])],
        kv_precision=kv,
    )
    found = evaluate(question, table([replace(base, tp=tp, ep=ep, dp=dp) for _, tp, ep, dp in (prefill, decode)]))
    if len(found) < 2:
        raise SizingError("does not fit")
    one = times_of(question, found, np.zeros(1, np.intp))
    pool = decoding_of(question, found, np.ones(1, np.intp))
    rate = closed_loop_rps(
        users, prefill[0], decode[0], float(one.alone_s[0]), float(one.full_s[0]), pool.rps[0], pool.concurrency[0]
    )
    gap = float(pool.at(np.array([[rate / decode[0]]]))[1][0, 0]) * 1e3
    rate_measured = float(str(row["output_tokens_per_s"]))
    case = (
        f"{model.id.rpartition('/')[2]}, {base.gpu.name}, {row['engine']} {row['weight_precision']}, "
        f"{prefill[0]} x TP{prefill[1]} DP{prefill[3]} + {decode[0]} x TP{decode[1]} DP{decode[3]}, "
        f"{float(f'{isl:.2g}'):,.0f} tokens in"
    )
    return Published(case=case, concurrency=users, measured=(gap_ms, rate_measured), predicted=(gap, rate * osl))


def closed_loop_rps(
    users: float, prefills: int, decodes: int, alone_s: float, full_s: float, rps: np.ndarray, concurrency: np.ndarray
) -> float:
    """Requests/s of so many users who ask again at once: those in prefill and in decode are all of them.

    users = rate x (prefill + transfer) + decode instances x B(rate / decode instances), rate at most what prefill
    computes.
    """
    in_flight = decodes * rps * (alone_s + SETUP_S) + decodes * concurrency
    return float(min(np.interp(users, in_flight, decodes * rps), prefills / full_s))


def published_section(rows: list[Published]) -> list[str]:
    """Medians of predicted over measured, by case, as Markdown."""
    lines = [
        "## Published disaggregated runs",
        "",
        "Closed-loop runs of the evidence library whose notes give the split of GPUs (speculative decoding is not "
        "flagged in",
        "some of them): predicted over measured, median over the concurrencies of a case.",
        "",
        "| Case | Runs | Concurrency | Mean ITL | Output tokens/s |",
        "|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(r.case for r in rows):
        of = [r for r in rows if r.case == case]
        itl = np.median([r.predicted[0] / r.measured[0] for r in of])
        rates = [r.predicted[1] / r.measured[1] for r in of if r.measured[1] > 0]
        users = f"{min(r.concurrency for r in of):g} to {max(r.concurrency for r in of):g}"
        rate = f"{np.median(rates):.2f}" if rates else "unknown"
        lines.append(f"| {case} | {len(of)} | {users} | {itl:.2f} | {rate} |")
    itl_error = np.median([abs(r.predicted[0] / r.measured[0] - 1) for r in rows])
    rate_error = np.median([abs(r.predicted[1] / r.measured[1] - 1) for r in rows if r.measured[1] > 0])
    return [
        *lines,
        "",
        f"Median error over {len(rows)} runs: ITL {itl_error:.0%}, output tokens/s {rate_error:.0%}.",
        "Part of it is that of the step times, which are far off for these models when aggregated, too",
        "(`docs/ACCURACY.md`); what a split costs beyond the model cannot be told from so few models.",
        "",
    ]


def report() -> list[str]:
    """All sections."""
    return [
        *section(
            "Batch limits: median ratio, analytic / simulated",
            f"One instance that may have at most {', '.join(map(str, LIMITS))} requests in flight.",
            list(batch_limits()),
        ),
        *section(
            "Prefill and decode apart: median ratio, analytic / simulated",
            "One prefill and one decode instance, each at a share of what it carries for ever.",
            list(pools()),
        ),
        *published_section(list(published())),
    ]
