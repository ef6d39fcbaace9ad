"""How long one plan takes in the engine: first in a fresh process, and after one changed input."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.table import Row
from sizing import Plan, Scenario, plan
from sizing.refine import refined

NAME = "Plan: every GPU type, engine and precision, one scenario"

ROOT = Path(__file__).parents[1]
RUNS = 9
COLD_RUNS = 3
COLD_LIMIT_MS = 1000.0
WARM_LIMIT_MS = 100.0
SIMULATED_WARM_LIMIT_MS = 300.0

COLD = """
import time
start = time.perf_counter()
from sizing import Scenario, plan
plan(Scenario.model_validate({scenario}))
print(1000 * (time.perf_counter() - start))
"""

COLD_SIMULATED = """
import time
from sizing import Scenario
from sizing.refine import refined
start = time.perf_counter()
refined(Scenario.model_validate({scenario}))
print(1000 * (time.perf_counter() - start))
"""

SCENARIOS: dict[str, dict[str, object]] = {
    "dense 8B, 2000/200": {
        "model": "meta-llama/Meta-Llama-3-8B",
        "workload": {"input_tokens": 2000, "output_tokens": 200, "peak_rps": 70},
    },
    "dense 70B, 3500/500": {
        "model": "meta-llama/Meta-Llama-3-70B",
        "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
    },
    "MoE 671B, 1024/1024": {
        "model": "deepseek-ai/DeepSeek-R1",
        "workload": {"input_tokens": 1024, "output_tokens": 1024, "peak_rps": 20},
    },
}


def run() -> list[Row]:
    """One row cold and one warm row for each scenario, for the screen and for the plan that simulates the best few."""
    first = next(iter(SCENARIOS.values()))
    refined(Scenario.model_validate(first))  # the compiled code is on disk from here on
    return [
        Row(what="fresh process, imports included", unit="ms", samples=_cold(COLD, first), limit=COLD_LIMIT_MS),
        *(_warm(name, scenario, plan, WARM_LIMIT_MS) for name, scenario in SCENARIOS.items()),
        Row(what="simulated, first in a process", unit="ms", samples=_cold(COLD_SIMULATED, first), limit=COLD_LIMIT_MS),
        *(_warm(f"simulated, {name}", s, refined, SIMULATED_WARM_LIMIT_MS) for name, s in SCENARIOS.items()),
    ]


def _cold(program: str, scenario: dict[str, object]) -> tuple[float, ...]:
    command = [sys.executable, "-c", program.format(scenario=scenario)]
    return tuple(
        float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        for _ in range(COLD_RUNS)
    )


def _warm(name: str, scenario: dict[str, object], answer: Callable[[Scenario], Plan], limit: float) -> Row:
    """A rate never seen before each time: what is measured is an answer, not a cache."""
    base = Scenario.model_validate(scenario)
    answer(base)
    samples = []
    for step in range(1, RUNS + 1):
        changed = base.model_copy(update={"workload": base.workload.model_copy(update={"peak_rps": 30.0 + step})})
        start = time.perf_counter()
        answer(changed)
        samples.append(1000 * (time.perf_counter() - start))
    return Row(what=name, unit="ms", samples=tuple(samples), limit=limit)
