"""Published disaggregated runs against the analytic model of prefill and decode pools.

A section of ``docs/LOAD_MODEL.md``, written by :mod:`tests.tools.load_model.__main__`.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import sizing
from sizing.base.arrays import Floats
from sizing.base.errors import SizingError
from sizing.base.units import MS_PER_S
from sizing.catalog import gpus, resolve_model
from sizing.catalog.engines import engine_in_a_benchmark
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.deployments.kv_transfer import SETUP_S
from sizing.question.configuration import Configuration
from sizing.search.pools import decoding_of, times_of
from sizing.search.screen import evaluate
from tests.tools.load_model.cases import question_of

EVIDENCE = Path(sizing.__file__).parent / "data" / "evidence.csv.gz"
PUBLISHED = re.compile(r"DISAGG prefill (\d+)x\(tp(\d+),adp(\d+),ep(\d+)\).*?decode (\d+)x\(tp(\d+),adp(\d+),ep(\d+)\)")
ON_GPUS = re.compile(
    r"DISAGG prefill (\d+)x\(tp(\d+),ep(\d+),dpa=(\w+)\) on (\d+) GPUs, "
    r"decode (\d+)x\(tp(\d+),ep(\d+),dpa=(\w+)\) on (\d+) GPUs"
)
"""Attention-DP (``dpa``) is over all GPUs of an instance."""
WORKERS = re.compile(r"DISAGG (\d+) prefill : (\d+) decode workers; TP(\d+)")


Split = tuple[int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published disaggregated run and what the model makes of it: mean ITL in ms, output tokens/s; its ``row`` of the
    library and its (instances, TP, EP, DP) of prefill and decode."""

    row: int
    prefill: Split
    decode: Split
    case: str
    concurrency: float
    measured: tuple[float, float]
    predicted: tuple[float, float]


def published() -> Iterator[Published]:
    """Closed-loop runs whose notes say how the GPUs are split."""
    frame = pd.read_csv(EVIDENCE)
    frame = frame[frame["notes"].fillna("").str.contains("DISAGG") & (frame["mode"] == "fixed_concurrency")]
    for index, row in zip(frame.index, frame.astype(object).to_dict("records"), strict=True):
        instances = _instances(str(row["notes"]))
        gap = row["itl_ms_mean"] if row["itl_ms_mean"] == row["itl_ms_mean"] else row["itl_ms_p50"]
        if instances is None or not gap > 0 or row["gpu"] not in gpus():
            continue
        try:
            yield _published(int(index), row, float(gap), *instances)
        except (SizingError, KeyError):
            continue


def _instances(notes: str) -> tuple[Split, Split] | None:
    """(instances, TP, EP, DP) of prefill and decode, as far as the notes say."""
    if match := PUBLISHED.search(notes):
        p, tp, adp, ep, d, tp2, adp2, ep2 = map(int, match.groups())
        return (p, tp, ep, adp), (d, tp2, ep2, adp2)
    if match := ON_GPUS.search(notes):
        first = _on_gpus(match.group(1, 2, 3, 5), ranks=match[4] == "true")
        return first, _on_gpus(match.group(6, 7, 8, 10), ranks=match[9] == "true")
    if match := WORKERS.search(notes):
        p, d, tp = map(int, match.groups())
        return (p, tp, 1, 1), (d, tp, 1, 1)
    return None


def _on_gpus(numbers: Sequence[str], *, ranks: bool) -> Split:
    """The layout that instances, TP, EP and the GPUs of all of them leave."""
    count, tp, ep, gpu_count = map(int, numbers)
    each = gpu_count // count
    return (count, 1, each, each) if ranks else (count, tp, ep, 1)


def _published(index: int, row: Mapping[Hashable, object], gap_ms: float, prefill: Split, decode: Split) -> Published:
    model = resolve_model(str(row["model"])).model
    isl, osl, users = (float(str(row[k])) for k in ("isl", "osl", "concurrency_or_batch"))
    question, precision = question_of(model.id, str(row["gpu"]), isl, osl), precisions()[str(row["weight_precision"])]
    base = Configuration(
        gpu=gpus()[str(row["gpu"])],
        engine=engine_in_a_benchmark(str(row["engine"])),
        precision=precision,
        kv_precision="fp8" if precision.is_narrow else "fp16",
    )
    kinds = table([replace(base, tp=tp, ep=ep, dp=dp) for _, tp, ep, dp in (prefill, decode)])
    evaluated = evaluate(question, kinds)
    if len(evaluated) < 2:
        raise SizingError("does not fit")
    times = times_of(question, evaluated, np.zeros(1, np.intp))
    pool = decoding_of(question, evaluated, np.ones(1, np.intp))
    prefill_s = float(times.alone_s[0]), float(times.full_s[0])
    rate = closed_loop_rps(users, prefill[0], decode[0], *prefill_s, pool.rps[0], pool.concurrency[0])
    gap = float(pool.at(np.array([[rate / decode[0]]]))[1][0, 0]) * MS_PER_S
    rate_measured = float(str(row["output_tokens_per_s"]))
    case = (
        f"{model.id.rpartition('/')[2]}, {base.gpu.name}, {row['engine']} {row['weight_precision']}, "
        f"{prefill[0]} x TP{prefill[1]} DP{prefill[3]} + {decode[0]} x TP{decode[1]} DP{decode[3]}, "
        f"{float(f'{isl:.2g}'):,.0f} tokens in"
    )
    return Published(
        row=index,
        prefill=prefill,
        decode=decode,
        case=case,
        concurrency=users,
        measured=(gap_ms, rate_measured),
        predicted=(gap, rate * osl),
    )


def closed_loop_rps(
    users: float, prefills: int, decodes: int, alone_s: float, full_s: float, rps: Floats, concurrency: Floats
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
