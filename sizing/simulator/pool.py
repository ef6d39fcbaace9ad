"""One fleet in the compiled simulator's memory: building the arrays, keeping room in them, feeding them chunks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.catalog.admission import NO_PROMISES
from sizing.simulator import layout
from sizing.simulator.entry import run_chunk
from sizing.simulator.fleet import POLICIES, Fleet, Replica
from sizing.simulator.layout import BATCHES, BINS, METRICS, NONE, World
from sizing.simulator.outages import bring_back, events_of, take_down
from sizing.simulator.window import SimulatedWindow
from sizing.steps.ranks import MOST_COUNTED, busiest_share

UNLIMITED = 2**62
"""Requests that an unlimited queue may hold: no simulation comes near so many."""
HUGE_TOKENS = 1e15
"""Tokens of an unlimited KV cache. Chosen: because no load fills it, and shares of it are still finite numbers."""
SPARE_PART = 4
"""Rows of the request table are allocated beyond the need: one for every so many that are needed."""
SHORTEST_BIN_S = 1e-9
"""Smallest width of a bin of the time series in seconds, so that nothing is divided by 0."""
KEPT_TABLES = 32
"""Tables of step times that are kept, 0.5 MB each with their replica, because a search simulates the same one often."""


@dataclass(frozen=True, kw_only=True)
class MeasuredSpan:
    """What a simulation measures: ``expected`` requests, of which the first ``warm_up`` do not count in the latencies.

    The time series has ``bins`` bins over ``horizon_s`` seconds. A request is good when it keeps the three limits
    (seconds). ``keep_records`` keeps one record per request; requests in the system during ``window`` are counted
    apart as well. ``most_events`` is the number of events (steps or leaps of an engine, evictions) after which a pool
    stops. Events are counted, not timed, so that the same question ends at the same place on every machine.
    """

    expected: int
    horizon_s: float
    warm_up: int = 0
    bins: int = 1
    ttft_limit_s: float = math.inf
    itl_limit_s: float = math.inf
    e2e_limit_s: float = math.inf
    keep_records: bool = False
    window: SimulatedWindow | None = None
    most_events: int = UNLIMITED

    @property
    def bin_s(self) -> float:
        """Width of a bin of the time series in seconds."""
        return max(self.horizon_s / self.bins, SHORTEST_BIN_S)


class SimulatedFleet:
    """A fleet under simulation. It takes chunks of arrivals in order of time; only the requests in it take memory."""

    def __init__(self, fleet: Fleet, measurement: MeasuredSpan, *, prefill_only: bool = False) -> None:
        self.handing_over = prefill_only
        self.outages = events_of(fleet)
        self.world = _world(fleet, measurement, layout.PREFILL_ONLY if prefill_only else layout.WHOLE)

    @property
    def state(self) -> Any:
        """The counters of the simulation, one record with the fields of :data:`layout.STATE`."""
        return self.world.state[0]

    @property
    def events(self) -> int:
        """Steps, leaps and evictions simulated so far, which :attr:`Measurement.most_events` limits."""
        return int(self.state["events"])

    @property
    def exhausted(self) -> bool:
        """Whether the allowed events are used up, so that only a part of the requests has been counted."""
        return bool(self.state["events"] >= self.state["most_events"])

    @property
    def in_system(self) -> int:
        """Requests waiting or in flight."""
        t = self.state
        return int(t["arrived"] - t["finished"] - t["handed"] - t["rejected"] - t["too_long"])

    @property
    def waiting(self) -> int:
        """Requests in the queues of all replicas."""
        return int(self.world.replicas["waiting"].sum())

    def run(self, chunk: Floats, until: float) -> NDArray[Any]:
        """Serve a chunk of arrivals up to the time ``until`` (s), with the outages that fall into it.

        The rows of ``chunk`` are those of :func:`entry.run_chunk`, (rows, requests). Returns the records of the
        requests that ended or were handed over.
        """
        self.make_room(chunk.shape[1])
        served = 0
        while self.outages and self.outages[0].time <= until:
            event = self.outages.pop(0)
            before = int(np.searchsorted(chunk[layout.TIME_ROW], event.time))
            self._serve(chunk[:, served:before], event.time)
            served = before
            if event.up:
                bring_back(self.world, event)
            else:
                self._serve(take_down(self.world, event), event.time)
        self._serve(chunk[:, served:], until)
        return self.world.records[: int(self.state["records"])]

    def _serve(self, chunk: Floats, until: float) -> None:
        run_chunk(self.world, np.ascontiguousarray(chunk, dtype=np.float64), until)

    def make_room(self, arriving: int) -> None:
        """Make the request table large enough for those in the system and ``arriving`` more; start the records anew.

        The table at least doubles when it must grow, and has rows to spare, because requests of one chunk are still in
        the system when the next arrives.
        """
        if self.handing_over or self.world.state["keep_records"][0]:
            self.world = self.world._replace(records=np.zeros(self.in_system + arriving, layout.RECORD))
            self.world.state["records"] = 0
        old = self.world.requests
        needed = self.in_system + arriving
        if needed <= len(old):
            return
        rows = np.empty(max(needed + needed // SPARE_PART, 2 * len(old)), layout.REQUEST)  # filled when taken
        used = int(self.state["fresh"])
        rows[:used] = old[:used]
        self.world = self.world._replace(requests=rows)


def _world(fleet: Fleet, measurement: MeasuredSpan, role: int) -> World:
    """The arrays of a simulation of ``fleet`` before its first arrival; equal replicas share one table of step times.

    The heap is (replicas, 4, S + 1), S being the most sequences in flight of any replica, or more where attention-DP
    ranks outnumber them.
    """
    kinds = tuple(dict.fromkeys(fleet.replicas))
    most, count = max(k.max_sequences for k in kinds), len(fleet.replicas)
    decode, rows = _tables(kinds)
    return World(
        requests=np.zeros(0, layout.REQUEST),
        replicas=_replicas(fleet, kinds, role),
        state=_state(fleet, measurement),
        decode=decode,
        rows=rows,
        heap=np.zeros((count, 4, max(most + 1, *(k.grid.ranks for k in kinds))), np.int64),
        seen=np.full((count, fleet.prefix_groups), -np.inf),
        histogram=np.zeros((BATCHES, METRICS, BINS), np.uint32),
        sums=_nothing_counted(),
        series=np.zeros((measurement.bins + 1, len(layout.SERIES))),
        records=np.zeros(0, layout.RECORD),
    )


def _nothing_counted() -> Floats:
    sums = np.zeros((BATCHES, layout.TALLY_COLUMNS))
    sums[:, layout.LOWEST_BIN : layout.HIGHEST_BIN] = BINS
    return sums


def _replicas(fleet: Fleet, kinds: Sequence[Replica], role: int) -> NDArray[Any]:
    rows = np.zeros(len(kinds), layout.REPLICA)
    rows["up"], rows["back"] = 1, np.inf
    rows["head"] = rows["tail"] = rows["newest"] = NONE
    for k, (row, replica) in enumerate(zip(rows, kinds, strict=True)):
        grid, speculation = replica.grid, replica.speculation
        row["kind"], row["weight"], row["role"] = k, replica.weight, role
        row["max_sequences"], row["static"] = replica.max_sequences, replica.static_batching
        row["reserve"] = (replica.reserve_output or replica.static_batching) and role == layout.WHOLE
        promises = replica.promises if role == layout.WHOLE else NO_PROMISES
        row["promised_new"], row["promised_running"] = promises.of_new, promises.of_running
        row["promised_most"] = min(promises.most_tokens, HUGE_TOKENS)
        row["budget"] = np.inf if replica.static_batching else replica.token_budget
        row["kv_tokens"], row["waste_tokens"] = min(replica.kv_tokens, HUGE_TOKENS), replica.waste_tokens
        row["tokens_per_step"], row["rows_per_sequence"] = speculation.tokens_per_step, speculation.rows_per_sequence
        row["apart"], row["first_token_steps"] = replica.prompts_apart, replica.first_token_steps
        row["launch_s"], row["pair_lag"], row["ranks"] = grid.launch_s, grid.pair_lag, grid.ranks
        row["full_pair_s"], row["sliding_pair_s"], row["window"] = grid.full_pair_s, grid.sliding_pair_s, grid.window
        row["token_s"] = grid.token_s
        row["queue_limit"] = UNLIMITED if replica.queue_limit is None else replica.queue_limit
    place = {replica: k for k, replica in enumerate(kinds)}
    return rows[[place[replica] for replica in fleet.replicas]]


def _state(fleet: Fleet, measurement: MeasuredSpan) -> NDArray[Any]:
    row = np.zeros(1, layout.STATE)
    row["free"] = NONE
    row["policy"], row["prefix_life_s"] = POLICIES[fleet.routing], fleet.prefix_life_s
    row["request_s"], row["prompt_token_s"] = fleet.replicas[0].request_s, fleet.replicas[0].prompt_token_s
    row["warm_up"], row["bin_s"] = measurement.warm_up, measurement.bin_s
    row["expected"] = max(measurement.expected - measurement.warm_up, 1)
    row["ttft_limit"], row["itl_limit"] = measurement.ttft_limit_s, measurement.itl_limit_s
    row["most_events"] = measurement.most_events
    row["e2e_limit"], row["keep_records"] = (
        measurement.e2e_limit_s,
        measurement.keep_records or measurement.window is not None,
    )
    return row


@lru_cache(maxsize=KEPT_TABLES)
def _tables(kinds: tuple[Replica, ...]) -> tuple[Floats, Floats]:
    """The tables from which step times are interpolated, never written: decode steps, and what prompt tokens add."""
    return _decode(kinds), _rows(kinds)


def _rows(kinds: Sequence[Replica]) -> Floats:
    """What the rows of a step (tokens computed at once) cost, for all kinds of replicas (kinds, 5, M).

    Lines 0 to 3: knots in rows, then at each knot the seconds of the matrix products, the pipeline lag (s) and the part
    that each attention-DP rank computes by itself (s). Line 4: share of the prompt tokens on the fullest rank, by the
    number of prompts in the step.
    """
    width = max(MOST_COUNTED + 1, *(len(k.grid.row_knots) for k in kinds))
    table = np.zeros((len(kinds), 5, width))
    for own, kind in zip(table, kinds, strict=True):
        lines = np.stack([kind.grid.row_knots, kind.grid.row_s, kind.grid.lag_s, kind.grid.own_s])
        end = lines.shape[1]
        own[:4, :end] = lines  # shorter tables go on along their last slope
        own[:4, end:] = lines[:, -1:] + np.diff(lines[:, -2:]) * np.arange(1.0, width - end + 1.0)
        own[4, : MOST_COUNTED + 1] = busiest_share(kind.grid.ranks)
    return table


def _padded(knots: list[Floats]) -> Floats:
    """Knots of all kinds as one table (kinds, K). Shorter rows are filled by doubling, where the last slope holds."""
    most = max(len(k) for k in knots)
    return np.stack([np.concatenate([k, k[-1] * 2.0 ** np.arange(1, most - len(k) + 1)]) for k in knots])


def _decode(kinds: Sequence[Replica]) -> Floats:
    """Decode step times of all kinds (kinds, S + 2, K): line 0 holds the knots (tokens of mean context per sequence).

    Line n + 1 holds the seconds of a step of n sequences at each knot, continued along its last slope where
    :func:`_padded` added knots.
    """
    knots = _padded([k.grid.knots for k in kinds])
    table = np.zeros((len(kinds), max(k.max_sequences for k in kinds) + 2, knots.shape[1]))
    table[:, 0] = knots
    for i, kind in enumerate(kinds):
        grid, rows = kind.grid, kind.max_sequences + 1
        end = len(grid.knots)
        slope = (grid.decode_s[:rows, -1] - grid.decode_s[:rows, -2]) / (grid.knots[-1] - grid.knots[-2])
        beyond = (knots[i, end:] - grid.knots[-1])[None, :] * slope[:, None]
        table[i, 1 : rows + 1, :end] = grid.decode_s[:rows]
        table[i, 1 : rows + 1, end:] = grid.decode_s[:rows, -1:] + beyond
    return table
