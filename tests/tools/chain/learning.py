"""``python -m tests.tools.chain.learning FOLDER``: step times learned from a real vLLM at two rates, held against two
other rates, the higher near saturation: mean TTFT, ITL and E2E within 15 %. FOLDER is that of ``make chain``.

The processor stands in as an accelerator of the scenario's own, whose level a benchmark at the start gives: one request
alone, and many at once. What is judged is what live windows teach. Cores that do other things make this meaningless.
"""

import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.server import free_port, prometheus
from collectors.backends.backend import Backend
from collectors.prometheus.promql import step_for
from collectors.questions.past_windows import PAST_WINDOWS
from collectors.source import Source, source_from
from reality.compare import Planned, compare_source, planned_of
from reality.diagnosis.diagnose import diagnose_source
from reality.diagnosis.learning import FEWEST_REQUESTS
from reality.learned.acceptance import calibration_of
from reality.step_times import factors_in_words
from sharing.bonds.records import LearnedCalibration
from sharing.errors import SharingError
from sizing.catalog.engines import engines
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.own_gpu import gpu_of
from sizing.scenario.schema import Scenario
from tests.tools.chain.services import Load, engine, send
from tests.tools.chain.tiny_model import CONFIG

INTERVAL_S = 2
LEARNED_AT, HELD_AGAINST = (0.35, 0.6), (0.45, 0.7)
"""Rates, as shares of what the machine carries when all requests come at once. Chosen: at 0.7 of it a gap is four times
that of a lone request and follows the rate with its fifth power; nearer, a window of minutes has no mean to 15 %."""
ALONE, AT_ONCE = 30, 240
"""Requests of the benchmark at the start, one after the other and all at once."""
OF_A_WINDOW = 1.1 * FEWEST_REQUESTS
"""Requests of a window at the lowest rate, from which its length follows: a round one, as past windows have."""
WITHIN = 0.15
MEANS = {"ttft_ms.mean": "TTFT", "tpot_ms.mean": "ITL", "e2e_ms.mean": "E2E"}
CORES = {"id": "cores", "memory_gb": 16, "bandwidth_gbs": 10, "fp16_tflops": 0.07, "bf16_tflops": 0.07}
"""One core with AVX2, as matrix products and sums of numpy show it."""
SCENARIO = {
    "name": "Chain",
    "model": {"name": "tiny", "config": CONFIG},
    "workload": {"input_tokens": 128, "output_tokens": 96, "peak_rps": 2},
    "limits": {"ttft_ms": 2000, "itl_ms": 200},
    "deployment": {
        "gpus": ["cores"],
        "engines": ["vllm"],
        "precisions": ["bf16"],
        "tp": [1],
        "speculation": "off",
        "custom_gpus": [CORES],
    },
}


def benchmarked(alone: Mapping[str, Any], crowd: Mapping[str, Any]) -> Scenario:
    """The scenario with the generator's results for lone requests and for many at once as its own benchmark."""
    common = {"mode": "fixed_concurrency", "input_tokens": 128, "output_tokens": 96}
    lone = {"concurrency": 1, "requests": ALONE, "ttft_ms": alone["mean_ttft_ms"], "itl_ms": alone["mean_tpot_ms"]}
    many = {"concurrency": AT_ONCE, "requests": AT_ONCE, "itl_ms": crowd["mean_tpot_ms"]}
    many["requests_per_s"] = crowd["request_throughput"]
    benchmark = {
        "source": "vllm bench serve",
        "gpu": CORES["id"],
        "engine": "vllm",
        "weight_precision": "bf16",
        "gpus": 1,
        "points": [common | lone, common | many],
    }
    return Scenario.model_validate(SCENARIO | {"benchmark": benchmark})


@dataclass(frozen=True, kw_only=True)
class Held:
    """One mean at a rate that nothing was learned at: predicted with and without what was learned, and measured."""

    rps: float
    name: str
    planned: float
    learned: float
    measured: float

    @property
    def error(self) -> float:
        """Predicted / measured - 1 with what was learned."""
        return self.learned / self.measured - 1.0


def learned_of(
    planned: Planned,
    source: Source,
    *,
    at_s: float,
    window_s: float,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
) -> LearnedCalibration:
    """What the windows until ``at_s`` teach. Raises InvalidEntry where they teach nothing."""
    said = diagnose_source(
        planned.answer,
        source,
        planner=analytic_plan,
        at_s=at_s,
        window_s=window_s,
        served_as="tiny",
        backend=backend,
        clock=clock,
    )
    return calibration_of(said)


def held(
    planned: Planned,
    one: LearnedCalibration,
    source: Source,
    *,
    at_s: float,
    window_s: float,
    rps: float,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
) -> list[Held]:
    """Means of a window at another rate, as the product predicts them with and without what was learned."""
    rows = [
        {
            row.key: row
            for row in compare_source(
                planned.answer,
                source,
                at_s=at_s,
                window_s=window_s,
                served_as="tiny",
                backend=backend,
                clock=clock,
                learned=learned,
            ).performance
        }
        for learned in (None, one)
    ]
    return [
        Held(
            rps=rps,
            name=name,
            planned=rows[0][key].predicted.value or 0.0,
            learned=rows[1][key].predicted.value or 0.0,
            measured=rows[1][key].measured.value or 0.0,
        )
        for key, name in MEANS.items()
    ]


def table(rows: Sequence[Held]) -> str:
    """The rows in Markdown."""
    lines = ["| requests/s | mean | planned (ms) | learned (ms) | measured (ms) | off |", "|--:|---|--:|--:|--:|--:|"]
    lines += [
        f"| {row.rps:g} | {row.name} | {row.planned:.1f} | {row.learned:.1f} | {row.measured:.1f} | {row.error:+.1%} |"
        for row in rows
    ]
    return "\n".join(lines).replace("% |", " % |")


def measured_rows(folder: Path, address: str, url: str, planned: Planned, carried: float) -> list[Held]:
    """Loads at shares of the rate that the engine carries at once; what a Prometheus saw of the first ones predicts the
    others. Raises InvalidEntry where nothing was learned."""
    least_s = OF_A_WINDOW / (LEARNED_AT[0] * carried)
    window_s = step_for(PAST_WINDOWS * least_s, interval_s=least_s, points=PAST_WINDOWS + 1)
    source = source_from({"schema_version": 1, "name": "chain", "prometheus": {"url": url}, "window_s": window_s})
    print(f"{carried:.2f} requests/s at once: windows of {window_s:g} s", file=sys.stderr)

    def sent(share: float, duration_s: float, seed: int) -> float:
        rps = round(share * carried, 2)
        send(folder, address, Load(requests=round(rps * duration_s), rps=rps, seed=seed))
        return rps

    for seed, share in enumerate(LEARNED_AT):
        sent(share, 2.5 * window_s, seed)
    learned = learned_of(planned, source, at_s=time.time(), window_s=window_s)
    print(factors_in_words(learned), file=sys.stderr)
    rows = []
    for seed, share in enumerate(HELD_AGAINST, start=10):
        rps = sent(share, window_s + 20.0, seed)
        rows += held(planned, learned, source, at_s=time.time(), window_s=window_s, rps=rps)
    return rows


def main() -> int:
    """Returns 1 where a mean is off by more than :data:`WITHIN`, 2 where nothing was learned."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".chain").resolve()
    port = free_port()
    jobs = [{"job_name": "vllm", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]
    sequences = engines()["vllm"].sequences(gpu_of(Scenario.model_validate(SCENARIO).deployment.custom_gpus[0]))
    with tempfile.TemporaryDirectory(dir=folder) as data, engine(folder, port, sequences) as address:
        send(folder, address, Load(requests=40, rps=4.0, seed=99))
        alone = send(folder, address, Load(requests=ALONE, rps=math.inf, at_once=1))
        crowd = send(folder, address, Load(requests=AT_ONCE, rps=math.inf))
        planned = planned_of(Answer.of(benchmarked(alone, crowd), analytic_plan))
        with prometheus(Path(data) / "tsdb", jobs=jobs, interval=f"{INTERVAL_S}s") as (url, _):  # sees no benchmark
            try:
                rows = measured_rows(folder, address, url, planned, float(crowd["request_throughput"]))
            except SharingError as problem:
                print(problem, file=sys.stderr)
                return 2
    print(table(rows))
    return int(any(abs(row.error) > WITHIN for row in rows))


if __name__ == "__main__":
    sys.exit(main())
