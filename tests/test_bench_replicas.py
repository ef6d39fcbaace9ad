"""Replicas side by side, each with its users on a core of its own."""

import os
import sys

import pytest

from bench.replicas import REPLICAS, SESSIONS, ReplicasRun, _linear, side_by_side
from bench.sessions import SessionLoad


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are pinned to cores on Linux alone")
def test_two_replicas_serve_their_own_users() -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    side = side_by_side(cores, seconds=0.0, steps=2)
    assert len(side.load.by_session) == len(cores) * SESSIONS
    assert all(len(spent) == 3 for spent in side.load.by_session.values())
    assert side.per_replica > 0
    assert side.cpu_s > 0


def test_a_further_replica_is_told_against_the_first_round_by_round() -> None:
    def sides(*cpu_s: float) -> list[ReplicasRun]:
        return [ReplicasRun(load=SessionLoad(), per_replica=4.0, cpu_s=one) for one in cpu_s]

    (row,) = _linear({1: sides(0.25, 0.5), 2: sides(0.5, 0.5)})
    assert row.samples == (2.0, 1.0)
    assert row.ratio > 1
    assert REPLICAS[0] == 1
