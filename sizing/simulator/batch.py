"""Compiled: the waiting requests of a replica (a linked list) and those it decodes (a heap, a list by admission)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.compiled import compiled
from sizing.simulator.layout import FINISH_STEP, NONE, SEQUENCE

Heap = NDArray[np.int64]
"""The heap of one replica, (4, S + 1); its rows are named in :mod:`sizing.simulator.layout`."""


@compiled
def heap_up(requests: Any, heap: Heap, i: int, key: int) -> int:
    """Move a gap at place ``i`` up to where ``key`` belongs; every sequence knows its place. Returns the gap."""
    keys, rows = heap[FINISH_STEP], heap[SEQUENCE]
    while i > 0 and keys[(i - 1) >> 1] > key:
        keys[i], rows[i] = keys[(i - 1) >> 1], rows[(i - 1) >> 1]
        requests[rows[i]].place = i
        i = (i - 1) >> 1
    return i


@compiled
def heap_push(requests: Any, heap: Heap, replica: Any, key: int, row: int) -> None:
    """Add a decoding sequence that finishes in step ``key``."""
    i = heap_up(requests, heap, replica.alive, key)
    replica.alive += 1
    heap[FINISH_STEP, i], heap[SEQUENCE, i] = key, row
    requests[row].place = i


@compiled
def heap_remove(requests: Any, heap: Heap, replica: Any, i: int) -> int:
    """Take the sequence at place ``i`` out of the heap; returns its row. Place 0 finishes first."""
    keys, rows = heap[FINISH_STEP], heap[SEQUENCE]
    replica.alive -= 1
    size, taken = replica.alive, rows[i]
    key, row = keys[size], rows[size]
    i = heap_up(requests, heap, i, key)
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[i], rows[i] = keys[child], rows[child]
        requests[rows[i]].place = i
        i = child
    keys[i], rows[i] = key, row
    requests[row].place = i
    return taken  # type: ignore[no-any-return]


@compiled
def line_up(requests: Any, replica: Any, row: int) -> None:
    """Put a sequence into the list of those that decode, by admission; nearly always it is the newest."""
    newer, older = NONE, replica.newest
    while older != NONE and requests[older].order > requests[row].order:
        newer, older = older, requests[older].older
    requests[row].older, requests[row].newer = older, newer
    if older != NONE:
        requests[older].newer = row
    if newer != NONE:
        requests[newer].older = row
    else:
        replica.newest = row


@compiled
def line_out(requests: Any, replica: Any, row: int) -> None:
    """Take a sequence out of the list of those that decode."""
    older, newer = requests[row].older, requests[row].newer
    if older != NONE:
        requests[older].newer = newer
    if newer != NONE:
        requests[newer].older = older
    else:
        replica.newest = older


@compiled
def enqueue(requests: Any, replica: Any, row: int, in_front: bool) -> None:
    """Put a request at the end of a replica's queue, or in front of it (an evicted one)."""
    requests[row].after = replica.head if in_front else NONE
    if replica.waiting == 0:
        replica.head = replica.tail = row
    elif in_front:
        replica.head = row
    else:
        requests[replica.tail].after = row
        replica.tail = row
    replica.waiting += 1


@compiled
def dequeue(requests: Any, replica: Any) -> int:
    """Take the first waiting request."""
    row = replica.head
    replica.head = requests[row].after
    replica.waiting -= 1
    return row  # type: ignore[no-any-return]
