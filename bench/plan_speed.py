"""How long one plan takes in the engine: first in a fresh process, and after one changed input; the slowest presets."""

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from sizing import Plan, Scenario, plan
from sizing.planning.analytic import analytic_plan

NAME = "Plan: every GPU type, engine and precision, one scenario"

ROOT = Path(__file__).parents[1]
PRESETS = ROOT / "sharing" / "form" / "presets.yaml"
RUNS = 7
"""Plans timed in one process; their median is reported."""
COLD_RUNS = 3
"""Fresh processes timed."""
COLD_LIMIT = in_yardsticks(quiet_ms=1000.0)
"""Longest plan in a fresh process."""
WARM_LIMIT = in_yardsticks(quiet_ms=100.0)
"""Longest estimate in a process that has answered before."""
SIMULATED_WARM_LIMIT = in_yardsticks(quiet_ms=150.0)
"""Longest plan, whose instances are simulated."""
HARDER_LIMIT = in_yardsticks(quiet_ms=300.0)
"""The same of questions that take more simulation: lengths that vary, p99."""

COLD = """
import time
start = time.perf_counter()
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
analytic_plan(Scenario.model_validate({scenario}))
print(1000 * (time.perf_counter() - start))
"""

COLD_SIMULATED = """
import time
from sizing import Scenario, plan
start = time.perf_counter()
plan(Scenario.model_validate({scenario}))
print(1000 * (time.perf_counter() - start))
"""

Keys = dict[str, Any]

SCENARIOS: dict[str, Keys] = {
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

SPREAD = 3.0
"""p95 over p50 of lengths that vary, as far as the context window of the model allows."""

LONG_PROMPT, LONG_SPREAD = 32_000, 1.05
"""Tokens of the long prompt, and p95 over p50 of its length."""
BURSTY = 2.0
"""Coefficient of variation of the gaps between requests."""
TIGHT = 0.55
"""Limits are this part of a preset's. Chosen: most presets can still be served."""

BUSY = 8.0
"""Load as a multiple of that of the preset."""


def harder(keys: Keys, *, limits: float = 1.0, load: float = 1.0) -> Keys:
    """A preset with nothing ruled out, lengths that vary, p99 limits (times ``limits``), bursty arrivals, more load."""
    out = copy.deepcopy(keys)
    workload = out["workload"]
    for key in ("input_tokens", "output_tokens"):
        spread = SPREAD if workload[key] < LONG_PROMPT else LONG_SPREAD
        workload[key] = {"p50": workload[key], "p95": int(workload[key] * spread)}
    workload["peak_rps"] *= load
    workload["arrivals"] = {"gamma": {"cv": BURSTY}}
    given = Scenario.model_validate(keys).limits.model_dump()
    scaled = {k: v * limits for k, v in given.items() if k != "percentile" and v is not None}
    out["limits"] = {**given, **scaled, "percentile": 99}
    return opened(out)


def opened(keys: Keys) -> Keys:
    """A scenario with every GPU type, engine and precision considered."""
    return {**keys, "deployment": {"accurate_formats_only": False}}


KINDS: dict[str, Callable[[Keys], Keys]] = {
    "as it is": copy.deepcopy,
    "every GPU type": opened,
    "lengths vary, p99": harder,
    "lengths vary, p99, bursty": harder,
    "lengths vary, p99, bursty, tight limits": lambda k: harder(k, limits=TIGHT),
    "lengths vary, p99, bursty, tight limits, 8 x the load": lambda k: harder(k, limits=TIGHT, load=BUSY),
}

EASY = (copy.deepcopy, opened)
"""Kinds whose lengths do not vary."""


def run() -> list[Row]:
    """One row cold and one warm row for each scenario, for the screen and for the plan that simulates the best few."""
    first = next(iter(SCENARIOS.values()))
    plan(Scenario.model_validate(first))  # the compiled code is on disk from here on
    return [
        _cold(COLD, first).row("fresh process, imports included", COLD_LIMIT),
        *(_warm(scenario, analytic_plan).row(name, WARM_LIMIT) for name, scenario in SCENARIOS.items()),
        _cold(COLD_SIMULATED, first).row("simulated, first in a process", COLD_LIMIT),
        *(_warm(s, plan).row(f"simulated, {name}", SIMULATED_WARM_LIMIT) for name, s in SCENARIOS.items()),
        *(row for kind in KINDS for row in _slowest_preset(kind)),
    ]


def presets() -> dict[str, Keys]:
    """The scenarios of the presets that are sized by the engine, by name."""
    scenarios = yaml.safe_load(PRESETS.read_text(encoding="utf-8"))
    return {name: preset["scenario"] for name, preset in scenarios.items() if "measured" not in preset["scenario"]}


def _slowest_preset(kind: str) -> Iterator[Row]:
    """The preset that takes longest of one kind, after a changed input and as the first plan of a process.

    Sessions and batches say no length or no peak: they are planned as they are alone.
    """
    made, easy = KINDS[kind], KINDS[kind] in EASY
    scenarios = {name: made(keys) for name, keys in presets().items() if easy or "peak_rps" in keys["workload"]}
    limit = SIMULATED_WARM_LIMIT if easy else HARDER_LIMIT
    warm = {name: _warm(keys, plan).row(name, limit) for name, keys in scenarios.items()}
    slowest = max(warm, key=lambda name: warm[name].ratio or 0.0)
    label = f"slowest of {len(warm)} presets, {kind}: {slowest}"
    yield replace(warm[slowest], what=label)
    yield _cold(COLD_SIMULATED, scenarios[slowest]).row(f"the same, first in a process: {slowest}", COLD_LIMIT)


def _cold(program: str, scenario: Keys) -> Times:
    command, times = [sys.executable, "-c", program.format(scenario=scenario)], Times()
    for _ in range(COLD_RUNS):
        times.add(float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout))
    return times


def _warm(scenario: Keys, answer: Callable[[Scenario], Plan]) -> Times:
    """A rate never seen before each time: what is measured is an answer, not a cache."""
    base = Scenario.model_validate(scenario)
    answer(base)
    times = Times()
    for step in range(1, RUNS + 1):
        rate = (base.workload.peak_rps or 1.0) * (1.0 + 0.07 * step)
        changed = base.model_copy(update={"workload": base.workload.model_copy(update={"peak_rps": rate})})
        times.time(partial(answer, changed))
    return times
