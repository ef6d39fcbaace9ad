"""Batch limits and disaggregated pools: the analytic screen against the simulator.

Sections of ``docs/LOAD_MODEL.md``, written by :mod:`tests.tools.load_model.__main__`.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from sizing.base.units import MS_PER_S
from sizing.deployments.kv_transfer import SETUP_S
from sizing.question.understand import Question
from sizing.queueing.pools import first_token
from sizing.search.batch_limits import limited
from sizing.search.pools import BUSY, decoding_of, times_of
from sizing.search.pools_simulated import PoolsCase, decoded, first_tokens
from sizing.search.replicas import as_replica, lengths_of
from sizing.search.screen import Evaluated
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Replica
from sizing.simulator.layout import ITL
from sizing.simulator.quantiles import sampled_quantile
from sizing.simulator.stability import stable_rps_of
from tests.tools.load_model.cases import CASES, QUANTILES, SEED, WIDE, Compared, at_loads
from tests.tools.load_model.published import published, published_section

SOME_CASES = tuple(CASES[k] for k in (0, 3, 5, 7, 9, 10, 11))
"""Cases that are compared here. Chosen: because they are unlike each other, and each takes minutes."""
LIMITS = (8, 32, 128)
"""Requests in flight at most."""
LOADS = (0.5, 0.8, 0.9)
"""Shares of what an instance carries for ever."""
REQUESTS = 20_000
"""Requests of a simulation. Chosen: because 200 of them lie beyond p99."""
WARM_UP_PART = 7
"""One in so many requests fills the empty system and is not counted."""


def batch_limits() -> Iterator[Compared]:
    """Instances with a cap at shares of what they carry."""
    for case in SOME_CASES:
        for varies in (False, True):
            question, free = case.evaluated(varies)
            for cap in (c for c in LIMITS if c < free.memory.max_concurrency[0]):
                capped = limited(question, free, np.zeros(1, dtype=np.intp), np.array([float(cap)]))
                name = f"{case.name}, limit {cap}"
                yield from at_loads(question, capped, name, varies, loads=LOADS, requests=REQUESTS)


def pools() -> Iterator[Compared]:
    """A prefill and a decode instance, each at shares of what it carries."""
    for case in SOME_CASES:
        for varies in (False, True):
            yield from _split(*case.evaluated(varies), case.name, varies)


def _split(question: Question, evaluated: Evaluated, name: str, varies: bool) -> Iterator[Compared]:
    first_row = np.zeros(1, np.intp)
    times, decoding = times_of(question, evaluated, first_row), decoding_of(question, evaluated, first_row)
    replica, lengths = as_replica(question, evaluated.candidates.rows[0]), lengths_of(question)
    most = (
        min(1.0 / times.full_s[0], stable_rps_of(replica, lengths, prefill_only=True)),
        min(decoding.rps[0, -1], stable_rps_of(replica, lengths, decode_only=True)),
    )
    for load in (share for share in LOADS if share <= BUSY[-1]):
        prefill, decode = (_case(question, replica, load * rate) for rate in most)
        first = first_token(times, np.array([[load * most[0]]]), np.array([SETUP_S]), question.variability)
        _, mean, var = decoding.at(np.array([[load * most[1]]]))
        simulated_first = first_tokens(prefill, 1)
        outcome = decoded(decode, simulated_first, 1)
        counted = simulated_first.ttft_s[REQUESTS // WARM_UP_PART :]
        analytic, simulated = {}, {}
        for q in QUANTILES:
            analytic[f"TTFT p{q}"] = float(first.at(q)[0, 0]) * MS_PER_S
            analytic[f"ITL p{q}"] = float(mean[0, 0] + ndtri(q / 100) * np.sqrt(var[0, 0])) * MS_PER_S
            simulated[f"TTFT p{q}"] = float(np.percentile(counted, q)) * MS_PER_S
            simulated[f"ITL p{q}"] = sampled_quantile(outcome, ITL, q).value * MS_PER_S
        yield Compared(case=name, varies=varies, load=load, analytic=analytic, simulated=simulated)


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
        seed=SEED,
    )


def section(title: str, words: str, rows: list[Compared]) -> list[str]:
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
