"""Feeding a stream of requests to a fleet or to pools of prefill and decode, chunk by chunk."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.simulator.fleet import SimulatedDeployment
from sizing.simulator.layout import (
    ARRIVED,
    ARRIVED_ROW,
    CACHED_ROW,
    CHUNK_FIELDS,
    FIRST_ROW,
    HIGHEST_BIN,
    LOWEST_BIN,
    METRICS,
    PROMPT_ROW,
    RECORD,
    SUM_COLUMNS,
    TIME_ROW,
    World,
)
from sizing.simulator.outcome import BinCounts, SimulationCounts
from sizing.simulator.pool import MeasuredSpan, SimulatedFleet
from sizing.simulator.window import Tally

CARRIED = tuple((row, name) for row, name in enumerate(CHUNK_FIELDS) if name not in ("time", "group"))
"""Rows of a chunk that a request keeps when it moves from the prefill to the decode pool."""

MAX_WAITING = 1_000_000
"""Waiting requests at which a simulation gives up. Chosen: because the queue grows then, and at 160 bytes a request
so many are still a small part of memory."""

Progress = Callable[[float], bool]
"""Called between chunks with the share of requests that have arrived; False stops the simulation."""


class _Line:
    """The pools of a deployment in a row; what the first hands over reaches the second after the transfer."""

    def __init__(self, deployment: SimulatedDeployment, measurement: MeasuredSpan) -> None:
        self.deployment = deployment
        self.front = deployment.stages[0].fleet
        self.pools = [
            SimulatedFleet(stage.fleet, measurement, prefill_only=stage.prefill_only) for stage in deployment.stages
        ]
        self.moving = np.zeros((len(CHUNK_FIELDS), 0))
        self.records: list[NDArray[Any]] = []
        self.keeps_records = measurement.keep_records
        self.tally = (
            None if measurement.window is None else Tally(window=measurement.window, front_end_s=self.front.front_end_s)
        )

    def run(self, chunk: Floats, until: float) -> None:
        """Serve a chunk up to ``until``. Its times are those at which the engine has the requests: users sent them
        earlier, by what the front end takes."""
        sent = chunk.copy()
        sent[ARRIVED_ROW] -= self.front.front_end_s(chunk[PROMPT_ROW] - np.maximum(chunk[CACHED_ROW], 0.0))
        ended = self.pools[0].run(sent, until)
        for pool in self.pools[1:]:
            self._hand_over(ended)
            ready = np.searchsorted(self.moving[TIME_ROW], until, side="right")
            self._keep(ended[ended["output"] <= 1.0])
            ended = pool.run(self.moving[:, :ready], until)
            self.moving = self.moving[:, ready:]
        self._keep(ended)

    def _keep(self, ended: NDArray[Any]) -> None:
        if len(ended) and self.keeps_records:
            self.records.append(ended.copy())
        if len(ended) and self.tally is not None:
            self.tally.add(ended)

    def _hand_over(self, ended: NDArray[Any]) -> None:
        """Requests with more than one token move on. Nothing that ends later can arrive earlier than ``until``."""
        moved = ended[ended["output"] > 1.0]
        columns = np.full((len(CHUNK_FIELDS), len(moved)), -1.0)
        columns[TIME_ROW] = moved["first"] + self.deployment.transfer_s(moved["prompt"])
        for row, name in CARRIED:
            columns[row] = moved[name]
        columns[FIRST_ROW] = columns[TIME_ROW]  # the decode instance streams the answer, its first token included
        waiting = np.hstack([self.moving, columns])
        self.moving = waiting[:, np.argsort(waiting[TIME_ROW], kind="stable")]

    @property
    def waiting(self) -> int:
        """Requests in all queues, and between the pools."""
        return sum(p.waiting for p in self.pools) + self.moving.shape[1]

    @property
    def in_system(self) -> int:
        """Requests waiting or in flight in every pool, and those on their way between pools."""
        return sum(p.in_system for p in self.pools) + self.moving.shape[1]

    @property
    def exhausted(self) -> bool:
        """Whether a pool has done all the work that is allowed."""
        return any(p.exhausted for p in self.pools)

    def total(self, name: str) -> float:
        """A counter summed over the pools."""
        return float(sum(p.state[name] for p in self.pools))


def drive(
    deployment: SimulatedDeployment,
    stream: Iterable[Floats],
    measurement: MeasuredSpan,
    *,
    progress: Progress | None = None,
) -> SimulationCounts:
    """Simulate a stream of requests to its end, then serve what is left.

    Stops early when ``progress`` says so, the work allowed is done, or the queue exceeds :data:`MAX_WAITING`; the
    outcome tells.
    """
    line, peak, stopped, overwhelmed = _Line(deployment, measurement), 0, None, False
    for chunk in stream:
        if not chunk.shape[1]:
            continue
        line.run(chunk, float(chunk[TIME_ROW, -1]))
        peak = max(peak, line.waiting)
        share = min(float(line.pools[0].state["arrived"]) / max(measurement.expected, 1), 1.0)
        if line.exhausted:
            break
        if progress is not None and not progress(share):
            stopped = share
            break
        if line.waiting > MAX_WAITING:
            overwhelmed = True
            break
    waiting, in_system = line.waiting, line.in_system
    if not overwhelmed and stopped is None and not line.exhausted:
        line.run(np.zeros((len(CHUNK_FIELDS), 0)), math.inf)
    if line.exhausted:  # what had arrived by then was not all served
        stopped = min(line.total("finished") / max(measurement.expected, 1), 1.0)
    return _outcome(line, measurement, waiting, in_system, peak, overwhelmed, stopped)


def _bin_counts(worlds: Sequence[World], metric: int) -> BinCounts:
    """What all pools counted of a latency."""
    first = int(min(w.sums[:, LOWEST_BIN + metric].min() for w in worlds))
    last = int(max(w.sums[:, HIGHEST_BIN + metric].max() for w in worlds))
    counts = reduce(np.add, [w.histogram[:, metric, first : last + 1] for w in worlds])
    narrow = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
    narrow.flags.writeable = False  # outcomes are kept and shared
    return BinCounts(first=first, counts=narrow)


def _outcome(
    line: _Line,
    measurement: MeasuredSpan,
    waiting: int,
    in_system: int,
    peak: int,
    overwhelmed: bool,
    stopped: float | None,
) -> SimulationCounts:
    worlds = [p.world for p in line.pools]
    series = reduce(np.add, [w.series for w in worlds])
    if len(worlds) == 2:  # requests come in once
        series[:, ARRIVED] = worlds[0].series[:, ARRIVED]
    return SimulationCounts(
        histogram=tuple(_bin_counts(worlds, metric) for metric in range(METRICS)),
        sums=reduce(np.add, [w.sums[:, :SUM_COLUMNS] for w in worlds]),
        series=series[:-1],
        bin_s=measurement.bin_s,
        horizon_s=measurement.horizon_s,
        replicas=sum(len(w.replicas) for w in worlds),
        arrived=int(worlds[0].state["arrived"][0]),
        finished=int(line.total("finished")),
        rejected=int(line.total("rejected")),
        too_long=int(line.total("too_long")),
        preempted=int(line.total("preempted")),
        failed_over=int(line.total("failed_over")),
        unfinished=line.in_system,
        events=int(line.total("events")),
        exhausted=line.exhausted,
        waiting=waiting,
        in_system=in_system,
        peak_waiting=peak,
        prefilled_tokens=line.total("prefilled"),
        recomputed_tokens=line.total("recomputed"),
        generated_tokens=line.total("generated"),
        overwhelmed=overwhelmed,
        stopped_at=stopped,
        records=np.concatenate(line.records) if line.records else np.zeros(0, RECORD),
        in_window=line.tally,
    )
