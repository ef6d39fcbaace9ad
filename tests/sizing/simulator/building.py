"""Small engines and streams for the tests of the simulator."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sizing.base.arrays import Floats
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.pool import MeasuredSpan, SimulatedFleet
from sizing.simulator.step_grid import StepGrid

KNOTS = np.array([0.0, 50.0, 100.0, 400.0, 1600.0, 1e6])
ROWS = np.concatenate([np.arange(17.0), [32.0, 64.0, 256.0, 4096.0, 1e6]])


def grid(
    most: int = 64,
    *,
    decode: Callable[[float, float], float] = lambda n, c: 0.01,
    row_s: float = 0.0,
    launch_s: float = 0.0,
    pair_s: float = 0.0,
    idle_s: float = 0.0,
    stages: int = 1,
    ranks: int = 1,
    own: float = 0.5,
) -> StepGrid:
    """Step times from a function of (sequences, mean context) and linear prompt work; a prompt passes the other
    pipeline ``stages`` after its step, each of which takes as long. The share ``own`` of the work of rows is that of
    their attention-DP rank."""
    table = np.array([[decode(float(n), c) for c in KNOTS] for n in range(most + 1)])
    table[0] = idle_s
    return StepGrid(
        decode_s=table,
        knots=KNOTS,
        row_knots=ROWS,
        row_s=row_s * ROWS,
        own_s=own * row_s * ROWS,
        ranks=ranks,
        lag_s=(stages - 1.0) * row_s * ROWS,
        pair_lag=stages - 1.0,
        launch_s=launch_s,
        full_pair_s=pair_s,
        sliding_pair_s=0.0,
        window=math.inf,
        token_s=0.0,
        source="made up",
    )


def columns(time: Any, prompt: Any, output: Any, cached: Any = 0.0, group: Any = -1.0) -> Floats:
    """A chunk of arrivals."""
    time = np.asarray(time, dtype=np.float64)
    rows = [time, time, prompt, output, cached, group, -1.0, -1.0, -1.0]
    return np.stack([np.broadcast_to(np.asarray(r, dtype=np.float64), time.shape) for r in rows])


def simulate_all(fleet: Fleet | Replica, chunk: Floats, **measured: Any) -> tuple[SimulatedFleet, Any]:
    """The pool after everything has ended, and one record per finished request, in order of arrival."""
    if isinstance(fleet, Replica):
        fleet = Fleet(replicas=(fleet,))
    last = float(chunk[0, -1]) + 1.0
    pool = SimulatedFleet(fleet, MeasuredSpan(expected=chunk.shape[1], horizon_s=last, keep_records=True, **measured))
    records = pool.run(chunk, math.inf)
    return pool, records[np.argsort(records["id"])]
