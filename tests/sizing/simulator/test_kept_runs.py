"""Runs that are kept: what is taken from memory is what a simulation would have counted."""

import numpy as np
import pytest

from sizing.question.length_distributions import FixedLength
from sizing.simulator import kept_runs, run_length
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.kept_runs import KeptRuns
from sizing.simulator.request_lengths import DrawnLengths, ObservedLengths
from tests.sizing.simulator.building import grid

LENGTHS = DrawnLengths(prompt=FixedLength(tokens=500.0), output=FixedLength(tokens=50.0))
REPLICA = Replica(grid=grid(), max_sequences=64, token_budget=2048.0, kv_tokens=1e9)
FLEET = Fleet(replicas=(REPLICA,))


@pytest.fixture
def simulated(monkeypatch):
    """The runs that were really simulated."""
    runs, run = [], run_length.run

    def counting(*question, **bounds):
        runs.append(question)
        return run(*question, **bounds)

    monkeypatch.setattr(kept_runs.run_length, "run", counting)
    return runs


def asked(kept, *, rate=2.0, lengths=LENGTHS, requests=2_000, seed=0, **bounds):
    return kept.run(FLEET, Arrivals(rate_rps=rate), lengths, requests, seed, **bounds)


def test_the_same_run_is_simulated_once_and_counts_the_same(simulated):
    kept = KeptRuns()
    first, again = asked(kept), asked(kept)
    assert len(simulated) == 1
    assert first.finished > 1_000
    assert again is first


@pytest.mark.parametrize("other", [{"rate": 2.1}, {"requests": 2_001}, {"seed": 1}])
def test_another_run_is_simulated(simulated, other):
    kept = KeptRuns()
    asked(kept)
    asked(kept, **other)
    assert len(simulated) == 2


def test_other_lengths_are_simulated(simulated):
    kept = KeptRuns()
    asked(kept)
    asked(kept, lengths=DrawnLengths(prompt=FixedLength(tokens=501.0), output=FixedLength(tokens=50.0)))
    assert len(simulated) == 2


def test_less_work_than_the_kept_run_took_ends_the_run_as_without_it(simulated):
    kept = KeptRuns()
    whole = asked(kept)
    alone = asked(KeptRuns(), most_events=whole.events // 2)
    part = asked(kept, most_events=whole.events // 2)
    assert part.exhausted
    assert (part.events, part.finished) == (alone.events, alone.finished)


def test_a_run_that_was_cut_short_is_not_kept(simulated):
    kept = KeptRuns()
    asked(kept, most_events=100)
    assert not asked(kept).exhausted


def test_what_is_drawn_from_a_trace_is_not_kept(simulated):
    kept, observed = KeptRuns(), ObservedLengths(np.array([[500.0], [50.0], [0.0]]))
    asked(kept, lengths=observed)
    asked(kept, lengths=observed)
    assert len(simulated) == 2


def test_the_run_used_longest_ago_goes_first(simulated):
    kept = KeptRuns(most=2)
    for seed in (0, 1, 0, 2, 0, 1):  # 1 made room for 2
        asked(kept, seed=seed)
    assert [question[-1] for question in simulated] == [0, 1, 2, 1]


def test_a_kept_run_can_not_be_changed_by_who_reads_it():
    kept = KeptRuns()
    for bins in asked(kept).histogram:
        with pytest.raises(ValueError, match="read-only"):
            bins.counts[:] = 0
