"""What a trace says: rates, gaps and lengths by hand, in words, and on the command line."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sizing.base.errors import InvalidTrace
from sizing.cli import main
from sizing.scenario.file import scenario_from
from sizing.scenario.trace import Trace, read_trace
from sizing.scenario.trace_summary import sentences, summary_of, workload_of
from tests.sizing.asking import LLAMA_8B


def trace(times: Any, prompts: Any = 100, cached: Any = 0) -> Trace:
    time = np.asarray(times, dtype=np.float64)
    rows = [np.broadcast_to(np.asarray(x), time.shape) for x in (prompts, 10, cached)]
    return Trace(name="mine.csv", time_s=time, tokens=np.stack(rows).astype(np.int32))


def test_rates_gaps_and_lengths_by_hand() -> None:
    """One request a second for two minutes, four a second in the third, then 50 s of silence and a last one."""
    times = [*range(120), *(120 + np.arange(240) / 4), 239.0]
    found = summary_of(trace(times, prompts=[100] * 180 + [300] * 181, cached=[50] * 361))
    assert found.requests == 361
    assert found.duration_s == 239.0
    assert found.mean_rps == pytest.approx(361 / 239)
    assert (found.window_s, found.peak_at_s) == (60.0, 120.0)
    assert found.peak_rps == pytest.approx(241 / 119), "what is left of the last minute counts with the one before"
    assert found.peak_hour_rps is None
    assert found.longest_gap_s == pytest.approx(239 - 179.75)
    assert found.longest_gap_at_s == pytest.approx(179.75)
    assert (found.input_tokens.p50, found.input_tokens.p95, found.input_tokens.longest) == (300, 300, 300)
    assert found.cached_mean == 50
    assert found.cached_share == pytest.approx(50 * 361 / (180 * 100 + 181 * 300))


def test_the_busiest_hour_is_that_of_any_sixty_minutes() -> None:
    """Two hours of one request a second, twice as many in the middle hour."""
    times = np.sort(np.concatenate([np.arange(7200.0), 1800.5 + np.arange(3600.0)]))
    found = summary_of(trace(times))
    assert found.peak_hour_rps == pytest.approx(2.0, rel=0.01)
    assert any("in the busiest hour 2 requests/s" in said for said in sentences(found))


def test_what_it_gives_is_a_workload() -> None:
    rng = np.random.default_rng(0)
    given = workload_of(trace(np.sort(rng.uniform(0, 600, 1000)), prompts=rng.integers(50, 500, 1000)))
    scenario = scenario_from({"model": LLAMA_8B, "workload": given})
    assert scenario.workload.arrivals.trace == "mine.csv"


def test_a_trace_of_a_moment_has_no_rate() -> None:
    with pytest.raises(InvalidTrace, match="too short for a rate"):
        summary_of(trace([0.0, 0.5]))


def test_a_faster_trace_keeps_its_requests() -> None:
    slow = trace([0.0, 10.0, 40.0])
    fast = slow.at_speed(2.0)
    assert fast.time_s.tolist() == [0.0, 5.0, 20.0]
    assert "2 times as fast" in fast.notes[0]
    assert slow.at_speed(1.0001) is slow


def test_requests_beyond_the_window_are_counted_and_the_first_is_named() -> None:
    long = trace([0.0, 10.0, 40.0], prompts=[10, 9000, 8200])
    long.check_fits(None, "unknown")
    long.check_fits(9010, "large")
    with pytest.raises(
        InvalidTrace,
        match="2 of 3 requests do not fit in the context window of small, 8,192 tokens; "
        "the first comes 10 s after the start and has 9,010",
    ):
        long.check_fits(8192, "small")


def test_the_command_line_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"timestamp,input_tokens,output_tokens\n0,10,5\n30,20,5\n10,30,5\n"))
    assert main(["trace", str(path)]) == 0
    out = capsys.readouterr().out
    assert "t.csv.gz: 3 requests in 30 s." in out
    assert "was not in order of time (1 steps back): sorted" in out
    assert main(["trace", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["input_tokens"]["p50"] == 20
    path.write_bytes(gzip.compress(b"timestamp,input_tokens,output_tokens\n0,10,5\n1,NaN,5\n2,99000000,5\n3,-1,5\n"))
    assert main(["trace", str(path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert "t.csv.gz, row 3: input_tokens has no value." in said
    assert any("row 4" in line and "more than the 10,000,000 that fit" in line for line in said)
    assert "t.csv.gz, row 5: input_tokens must be at least 1, not -1.0." in said


@pytest.mark.slow
def test_memory_of_a_long_trace_is_that_of_its_columns(tmp_path: Path) -> None:
    """Half a million rows take 20 bytes each; reading them needs a few chunks more, not the file as objects."""
    rows = 500_000
    path = tmp_path / "long.csv.gz"
    body = b"".join(b"%d,100,10\n" % (k // 10) for k in range(rows))
    path.write_bytes(gzip.compress(b"timestamp,input_tokens,output_tokens\n" + body, 1))
    tracemalloc.start()
    held = read_trace(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(held) == rows
    assert peak < 100 * 2**20
