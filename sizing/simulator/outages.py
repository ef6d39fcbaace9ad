"""Replicas that fail and return. Rare, hence not compiled: the arrays of the world are changed between two chunks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats
from sizing.simulator.fleet import Fleet
from sizing.simulator.layout import (
    ARRIVED_ROW,
    BEGUN,
    CHUNK_FIELDS,
    FIRST_ROW,
    ID_ROW,
    NONE,
    SEQUENCE,
    WAITING_S,
    World,
)


@dataclass(frozen=True, kw_only=True, order=True)
class Event:
    """A replica goes down (until ``back``) or comes up (down ``since``)."""

    time: float
    replica: int
    up: bool
    back: float
    since: float


def events_of(fleet: Fleet) -> list[Event]:
    """Failures and returns in order of time."""
    down = [Event(time=o.start_s, replica=o.replica, up=False, back=o.end_s, since=o.start_s) for o in fleet.outages]
    up = [Event(time=o.end_s, replica=o.replica, up=True, back=math.inf, since=o.start_s) for o in fleet.outages]
    return sorted(down + [e for e in up if math.isfinite(e.time)])


def bring_back(world: World, event: Event) -> None:
    """The replica serves again, its caches empty; what waited for it starts now."""
    replica = world.replicas[event.replica]
    _count_waiting(world, event)
    replica["up"], replica["back"] = 1, math.inf
    replica["now"] = replica["hold"] = max(float(replica["now"]), event.time)


def _count_waiting(world: World, event: Event) -> None:
    """Add to the series what waited for the replica while it was down: it did no step that would have counted it."""
    replica, since = world.replicas[event.replica], []
    row = int(replica["head"])
    for _ in range(int(replica["waiting"])):
        since.append(max(float(world.requests[row]["arrived"]), event.since))
        row = int(world.requests[row]["after"])
    if not since:
        return
    came = np.sort(since)
    edges = np.append(np.arange(len(world.series)) * world.state[0]["bin_s"], np.inf)
    until = np.minimum(edges, event.time)
    arrived = np.searchsorted(came, until)
    waited = arrived * until - np.concatenate([[0.0], np.cumsum(came)])[arrived]  # sum of (until - came)
    world.series[:, WAITING_S] += np.diff(waited)


def take_down(world: World, event: Event) -> Floats:
    """The replica stops after the step that runs; returns its requests as a chunk (9, M), to be sent elsewhere.

    They start again from their prompts: tokens they had emitted are lost, and TTFT counts to the token that stays.
    """
    replica, state = world.replicas[event.replica], world.state[0]
    rows = list(_rows_on(world, event.replica))
    chunk = np.full((len(CHUNK_FIELDS), len(rows)), -1.0)
    for column, row in enumerate(rows):
        request = world.requests[row]
        kept = [request[name] for name in CHUNK_FIELDS[ARRIVED_ROW:FIRST_ROW]]
        chunk[:, column] = [event.time, *kept, -1.0, request["id"]]
        request["after"] = state["free"]
        state["free"] = row
    state["failed_over"] += len(rows)
    for name in ("up", "running", "alive", "waiting", "in_flight", "context", "kv", "whole", "ending"):
        replica[name] = 0
    replica["back"] = event.back
    replica["partials"], replica["newest"] = 0, NONE
    world.seen[event.replica] = -math.inf
    return chunk[:, np.argsort(chunk[ID_ROW])]


def _rows_on(world: World, r: int) -> Iterator[int]:
    """Rows of all requests of a replica; on the way the work that is lost with them is counted.

    A request that was evicted before has been charged with recomputing its prompt and its tokens so far; it will only
    compute the prompt.
    """
    replica, state = world.replicas[r], world.state[0]
    for i in range(int(replica["alive"])):
        row = int(world.heap[r, SEQUENCE, i])
        request = world.requests[row]
        steps = int(replica["step"] - request["joined_step"])
        state["lost"] += request["done"] + replica["tokens_per_step"] * steps
        state["recomputed"] += request["prompt"] - request["cached"]
        yield row
    waiting, row = int(replica["waiting"]), int(replica["head"])
    for i in range(int(replica["partials"])):
        begun = int(world.heap[r, BEGUN, i])
        request = world.requests[begun]
        state["lost"] += request["done"]
        state["recomputed"] += request["computed"] - request["cached"] - request["done"]
        yield begun
    for _ in range(waiting):
        request = world.requests[row]
        following = int(request["after"])
        state["lost"] += request["done"]
        state["recomputed"] -= request["done"]
        yield row
        row = following
