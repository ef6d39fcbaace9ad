"""How fast the discrete-event simulator is: CPU time per request, a replayed week, memory, first start."""

import resource
import subprocess
import sys
import tempfile
import time
from functools import cache, partial
from typing import Any

from bench.table import MS_OF, Row
from bench.yardstick import Times, in_yardsticks
from sizing.base.choices import Routing
from sizing.base.units import MIB
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.planning.plan import plan
from sizing.replay.day import day
from sizing.replay.simulate import planned
from sizing.scenario.day_profile import working_day
from sizing.scenario.schema import Scenario
from sizing.search.replicas import lengths_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan

NAME = "Simulator: Llama 3 8B on H100, 1000/200 tokens (p95 3000/600), about 64 sequences per replica"

REQUESTS = 300_000
"""Requests of a timed run."""
RUNS = 5
"""Runs of each; their median is reported."""
SEQUENCES = 64.0
"""Sequences in flight of the replica that is timed."""
DAY_RPS, DAY_LIMIT = 200.0, in_yardsticks(quiet_ms=1000.0)
"""Load of the day that is simulated, and the longest time it may take."""
WEEK_S, WEEK_RPS, WEEK_LIMIT = 7 * 86_400.0, 10.0, in_yardsticks(quiet_ms=60_000.0)
"""Length and load of the week that is simulated, and the longest time it may take."""
REQUEST_LIMIT = in_yardsticks(quiet_ms=1e3 / 300_000)
"""Longest time of a request: 300,000 a second."""
FIRST_START_LIMIT = in_yardsticks(quiet_ms=10_000.0)
"""Longest first start, which compiles."""

SCENARIO: dict[str, Any] = {
    "model": "meta-llama/Meta-Llama-3-8B-Instruct",
    "workload": {"input_tokens": {"p50": 1000, "p95": 3000}, "output_tokens": {"p50": 200, "p95": 600}, "peak_rps": 5},
    "deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1]},
}

FIRST_START = """
import time; start = time.perf_counter()
from bench import simulator
simulator.simulated(1, "round_robin", 5.0, 100)
print(time.perf_counter() - start)
"""


def run() -> list[Row]:
    """CPU time per request by fleet, the week, memory, and the first start with an empty compiler cache."""
    first = Times()
    first.add(_first_start() * MS_OF["s"])
    rate = busy_rate()
    rows = [first.row("first start, compilation included", FIRST_START_LIMIT, unit="s")]
    fleets: tuple[tuple[int, Routing], ...] = ((1, "round_robin"), (4, "least_loaded"), (32, "least_loaded"))
    for replicas, routing in fleets:
        each = Times(time.process_time)
        for _ in range(RUNS):
            each.add(_us_per_request(replicas, routing, rate) * MS_OF["us/request"])
        rows.append(each.row(f"{replicas} x {routing}", REQUEST_LIMIT, unit="us/request"))
        rate_k = 1e3 / rows[-1].median
        rows.append(Row(what=f"{replicas} x {routing}, rate per core", unit="k requests/s", samples=(rate_k,)))
    before = _peak_mb()
    week, requests = Times(), int(WEEK_RPS * WEEK_S)
    week.time(lambda: simulated(2, "round_robin", WEEK_RPS, requests))
    rows.append(week.row(f"one week at {WEEK_RPS:g} requests/s (2 replicas)", WEEK_LIMIT, unit="s"))
    rows.append(Row(what="memory the week added", unit="MB", samples=(_peak_mb() - before,), limit=50.0))
    return [*rows, *_days()]


def _days() -> list[Row]:
    """Capacity over a day with a steep morning, its steepest scale-out simulated twice with 100,000 requests."""
    scenario = Scenario.model_validate(
        {
            **SCENARIO,
            "workload": {**SCENARIO["workload"], "peak_rps": DAY_RPS, "arrivals": {"profile": working_day(10.0, 1.8)}},
        }
    )
    rows = []
    known = Answer.of(scenario, partial(plan, alternatives=0))
    for what, scenario_or_answer in (("page: its plan is known", known), ("command line: with its plan", scenario)):
        times = Times()
        for _ in range(RUNS):
            times.time(partial(day, scenario_or_answer))
        rows.append(times.row(f"plan of a day at {DAY_RPS:g} requests/s, {what}", DAY_LIMIT, unit="s"))
    return rows


@cache
def busy_rate() -> float:
    """Requests/s per replica at which 64 sequences decode on average, by bisection."""
    low, high = 1.0, 60.0
    for _ in range(12):
        middle = (low + high) / 2.0
        outcome = simulated(1, "round_robin", middle, 20_000)
        running = outcome.column("running_s").sum() / outcome.horizon_s
        low, high = (middle, high) if running < SEQUENCES else (low, middle)
    return low


def simulated(replicas: int, routing: Routing, rate_rps: float, requests: int) -> SimulationCounts:
    """Send so many requests through a fleet of the planned replica."""
    answer = Answer.of(Scenario.model_validate(SCENARIO), analytic_plan)
    question, chosen = answer.question, planned(answer)
    if chosen is None:
        raise RuntimeError("the benchmark's scenario has no deployment")
    horizon = requests / rate_rps
    stream = Arrivals(rate_rps=rate_rps).stream(lengths_of(question), horizon, 0)
    fleet = Fleet(replicas=(chosen.replica,) * replicas, routing=routing)
    return drive(fleet, stream, MeasuredSpan(expected=requests, horizon_s=horizon, bins=min(int(horizon), 3600)))


def _us_per_request(replicas: int, routing: Routing, rate: float) -> float:
    start = time.process_time()
    outcome = simulated(replicas, routing, rate * replicas, REQUESTS)
    return (time.process_time() - start) * 1e6 / outcome.finished


def _first_start() -> float:
    """Seconds until the first simulation is done in a new process without compiled code on disk."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_START],
            env={"NUMBA_CACHE_DIR": empty, "PATH": ""},
            check=True,
            capture_output=True,
            text=True,
        )
    return float(done.stdout)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB
