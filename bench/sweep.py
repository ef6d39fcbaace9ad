"""A sweep of 10,000 scenarios with one worker process and with two, and on a local Dask cluster if Dask is installed.

Worker start-up (imports, catalogue) is part of the sweep, as it is for its user. CPU time per scenario says what more
workers cost where other programs keep the machine busy.
"""

import importlib.util
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from bench.table import Row
from bench.yardstick import yardstick_ms
from sizing.explore.sweep import processes, sweep

NAME = "Sweep: 10,000 scenarios, from one worker to two"

SCENARIOS = 10_000
"""How many scenarios the sweep answers."""
SPEED_UP = 1.7
"""Times as fast with two workers, at least."""
WORKERS = (1, 2)
"""Numbers of workers compared."""

BASE: dict[str, Any] = {
    "model": "meta-llama/Meta-Llama-3-70B",
    "workload": {"input_tokens": 1000, "output_tokens": 200, "peak_rps": 10},
    "deployment": {"gpus": ["h100_sxm", "h200_sxm", "b200_sxm"], "engines": ["vllm", "trtllm"]},
}
AXES: dict[str, list[Any]] = {
    "workload.input_tokens": [500 + 350 * i for i in range(20)],
    "workload.output_tokens": [50 + 45 * i for i in range(20)],
    "workload.peak_rps": [2.0 + 7.5 * i for i in range(25)],
}


def run() -> list[Row]:
    """Seconds and CPU time by number of workers, and the speed-up as a share of what is asked."""
    rows, walls = [], {}
    for workers in WORKERS:
        before = yardstick_ms()
        walls[workers], cpu = _timed(processes(workers))
        what = f"{workers} process{'es' if workers > 1 else ''}"
        rows += [
            Row(what=what, unit="s", samples=(walls[workers],), beside_ms=(before, yardstick_ms())),
            Row(
                what=f"{workers} x CPU time per scenario",
                unit="ms",
                samples=(1e3 * cpu / SCENARIOS,),
                beside_ms=(yardstick_ms(time.process_time),),
            ),
        ]
    rows.append(_speed_up("processes", walls))
    if importlib.util.find_spec("distributed") is not None:
        dask = {}
        for workers in WORKERS:
            with _local_cluster(workers) as executors:
                dask[workers], _ = _timed(executors)
            rows.append(Row(what=f"Dask, workers: {workers}", unit="s", samples=(dask[workers],)))
        rows.append(_speed_up("Dask", dask))
    return rows


def _speed_up(what: str, walls: dict[int, float]) -> Row:
    ratio = walls[1] / walls[2]
    return Row(
        what=f"{what}: {SPEED_UP:g} over the speed-up from 1 to 2 (which is {ratio:.2f})",
        unit="",
        samples=(SPEED_UP / ratio,),
        limit=1.0,
    )


def _timed(executors: Callable[[], Executor]) -> tuple[float, float]:
    """Wall and CPU seconds of the sweep, workers that have ended included."""
    start, cpu = time.perf_counter(), _cpu_s()
    table = sweep(BASE, AXES, executors)
    if len(table) != SCENARIOS or (table["error"] != "").any():
        raise RuntimeError(f"the sweep answered {int((table['error'] == '').sum())} of {SCENARIOS} scenarios")
    return time.perf_counter() - start, _cpu_s() - cpu


def _cpu_s() -> float:
    """CPU time of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


@contextmanager
def _local_cluster(workers: int) -> Iterator[Callable[[], Executor]]:
    """A Dask cluster on this machine, one thread per worker process, behind its scheduler's address."""
    from distributed import LocalCluster

    from sizing.explore.sweep import dask_executors

    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        dask_executors(cluster.scheduler_address) as executors,
    ):
        yield executors
