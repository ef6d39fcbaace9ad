"""Scenarios simulated end to end, on the command line and as a library."""

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sizing import plan
from sizing.base.quantity import Estimate
from sizing.cli import main
from sizing.planning.answered import Answer
from sizing.question.length_distributions import FixedLength
from sizing.question.understand import understand
from sizing.replay.offered_load import load_of
from sizing.replay.simulate import planned, simulate, simulate_deployment
from sizing.replay.simulation_result import Distribution, SimulatedBins, SimulationResult
from sizing.scenario.schema import Scenario
from sizing.search.replicas import lengths_of
from sizing.simulator import stability
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import BINS, E2E
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import quantile, sampled_quantile, sampled_share
from sizing.simulator.recording import bin_of
from sizing.simulator.request_lengths import DrawnLengths
from tests.sizing.asking import raw
from tests.sizing.simulator.building import columns, grid

RAW: dict[str, Any] = {
    "model": "meta-llama/Meta-Llama-3-8B-Instruct",
    "workload": {"input_tokens": 1000, "output_tokens": 200, "peak_rps": 5.0},
    "deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1]},
}


def scenario(**workload: Any) -> Scenario:
    return Scenario.model_validate({**RAW, "workload": {**RAW["workload"], **workload}})


def test_a_planned_deployment_is_simulated_and_adds_up() -> None:
    result = simulate(scenario())
    assert result.verdict == "stable"
    assert result.requests == pytest.approx(20_000, rel=0.03)
    assert result.finished == result.requests
    assert result.ttft_ms.at(50).value < result.ttft_ms.at(95).value < result.ttft_ms.at(99.9).value
    mean = result.ttft_ms.mean.value + 199 * result.itl_ms.mean.value
    assert result.e2e_ms.mean.value == pytest.approx(mean, rel=1e-6)
    little = result.offered_rps * result.itl_ms.mean.value / 1e3 * 199 / result.instances
    assert result.running == pytest.approx(little, rel=0.03)
    assert sum(result.series.finished_rps) * result.series.bin_s == pytest.approx(result.finished, rel=0.01)
    assert result.meets_limits
    assert result.goodput_rps == pytest.approx(result.good_share.value * result.offered_rps, rel=0.01)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    one, same, other = (simulate(scenario(), hours=0.3, seed=s).model_dump_json() for s in (1, 1, 2))
    assert one == same
    assert one != other


def test_more_load_never_shortens_latency_with_common_random_numbers() -> None:
    results = [simulate_at(rate) for rate in (2.0, 4.0, 8.0, 12.0)]
    for percent in (50, 95, 99):
        values = [r.e2e_ms.at(percent).value for r in results]
        assert values == sorted(values)


def simulate_at(rate: float) -> SimulationResult:
    question = understand(scenario(peak_rps=rate))
    chosen = planned(Answer.of(scenario()))
    fleet = Fleet(replicas=(chosen.replica,))
    return simulate_deployment(fleet, load_of(question, 20_000 / rate / 3600, 0), question.limits, name="test")


def test_a_load_beyond_capacity_has_no_latency_but_the_largest_stable_load() -> None:
    fair = simulate_at(1.0)
    result = simulate_at(1.1 * fair.largest_stable_rps)
    assert result.verdict == "unstable"
    assert "queue grows" in result.answer
    assert result.ttft_ms is result.itl_ms is result.e2e_ms is result.goodput_rps is None
    assert result.largest_stable_rps == pytest.approx(fair.largest_stable_rps)


def test_the_largest_stable_load_separates_queues_that_grow() -> None:
    steps = grid(16, decode=lambda n, c: 0.01 + 0.001 * n, row_s=1e-5)
    replica = Replica(grid=steps, max_sequences=16, token_budget=512)
    lengths = DrawnLengths(prompt=FixedLength(tokens=100.0), output=FixedLength(tokens=50.0))
    fleet = Fleet(replicas=(replica,))
    most = stability.largest_stable_rps(fleet, lengths)
    waiting = {}
    for share in (0.95, 1.05):
        arrivals = Arrivals(rate_rps=share * most)
        measurement = MeasuredSpan(expected=50_000, horizon_s=50_000 / share / most)
        waiting[share] = drive(fleet, arrivals.stream(lengths, measurement.horizon_s, 3), measurement).waiting
    assert waiting[0.95] < 300
    assert waiting[1.05] > 1_500


def test_a_run_stops_when_progress_says_so() -> None:
    seen: list[float] = []

    def progress(share: float) -> bool:
        seen.append(share)
        return len(seen) < 2

    result = simulate(scenario(), hours=20.0, progress=progress)
    assert result.verdict == "stopped"
    assert len(seen) == 2
    assert 0 < seen[0] < seen[1] < 0.2
    assert "stopped after" in result.answer


def test_a_profile_is_simulated_for_a_day_and_says_when_it_was_overloaded() -> None:
    profile = [0.02] * 12 + [1.0] + [0.02] * 11
    arrivals = {"profile": profile}
    question = understand(scenario(peak_rps=40.0, arrivals=arrivals))
    chosen = planned(Answer.of(scenario()))
    load = load_of(question, None, 0)
    result = simulate_deployment(Fleet(replicas=(chosen.replica,)), load, question.limits, name="one replica")
    assert result.simulated_s == 86_400.0
    assert result.verdict == "stable"
    assert any("minutes the load was above" in n for n in result.notes)
    assert result.peak_waiting > 1_000


def test_memory_does_not_grow_with_the_number_of_requests() -> None:
    replica = Replica(grid=grid(64, decode=lambda n, c: 0.01), max_sequences=64, token_budget=512)
    lengths = DrawnLengths(prompt=FixedLength(tokens=10.0), output=FixedLength(tokens=20.0))

    def peak(requests: int) -> int:
        measurement = MeasuredSpan(expected=requests, horizon_s=requests / 100.0, bins=100)
        tracemalloc.start()
        stream = Arrivals(rate_rps=100.0).stream(lengths, measurement.horizon_s, 0)
        drive(Fleet(replicas=(replica,)), stream, measurement)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(20_000)
    # The least of three: what other threads allocate meanwhile counts, too.
    assert min(peak(1_000_000) for _ in range(3)) < 1.2 * peak(100_000)


@given(st.lists(st.floats(1e-4, 1e4), min_size=30, max_size=300), st.floats(0.02, 0.98))
def test_histogram_quantiles_are_within_their_bins(values: list[float], share: float) -> None:
    counts = np.bincount([bin_of.py_func(v) for v in values], minlength=BINS)
    exact = np.quantile(values, share, method="inverted_cdf")
    assert quantile(counts, share) == pytest.approx(exact, rel=0.0051)


def test_monte_carlo_intervals_cover_the_truth() -> None:
    # M/M/1 at a load of 0.7, whose sojourn time is exponential.
    replica = Replica(grid=grid(1, row_s=1e-3), max_sequences=1, token_budget=1e9)
    fleet, found, shares = Fleet(replicas=(replica,)), [], []
    exact = -0.1 / 0.3 * math.log(0.1)
    for seed in range(40):
        gaps = np.random.default_rng(seed).exponential(1 / 7.0, 6_000)
        chunk = columns(np.cumsum(gaps), np.random.default_rng(1000 + seed).exponential(100.0, 6_000), 1.0)
        measurement = MeasuredSpan(expected=6_000, horizon_s=float(chunk[0, -1]), warm_up=500)
        outcome = drive(fleet, [chunk], measurement)
        found.append(sampled_quantile(outcome, E2E, 90.0))
        shares.append(sampled_share(outcome, E2E, exact))
    assert sum(f.low <= exact <= f.high for f in found) >= 33  # 95 % of 40 are 38; batches are still a little alike
    assert sum(f.low <= 0.9 <= f.high for f in shares) >= 33
    for quantile_at, share_at in zip(found, shares, strict=True):  # the same statement from both sides
        assert (quantile_at.value <= exact) == (share_at.value >= 0.9)


def test_a_share_is_never_quite_certain() -> None:
    replica = Replica(grid=grid(1, row_s=1e-3), max_sequences=1, token_budget=1e9)
    chunk = columns(np.arange(500.0), np.full(500, 1.0), 1.0)
    outcome = drive(Fleet(replicas=(replica,)), [chunk], MeasuredSpan(expected=500, horizon_s=500.0))
    assert outcome.finished == 500
    for limit, value in ((1e3, 1.0), (1e-4, 0.0)):
        within = sampled_share(outcome, E2E, limit)
        assert within.value == value
        assert 0.0 < within.high - within.low < 0.02


def test_every_public_field_has_its_metadata() -> None:
    for result in (Estimate, Distribution, SimulatedBins, SimulationResult):
        for name, field in result.model_fields.items():
            extra = field.json_schema_extra
            assert isinstance(extra, dict)
            assert "quantity" in extra, f"{result.__name__}.{name}"
            assert field.title
            assert field.description


def test_command_line_prints_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(RAW))
    assert main(["simulate", str(path), "--hours", "0.2"]) == 0
    assert "requests simulated" in capsys.readouterr().out
    assert main(["simulate", str(path), "--hours", "0.2", "--json", "--seed", "3"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["seed"] == 3
    assert set(SimulationResult.model_fields) == set(printed)


def test_command_line_replays_a_trace_and_refuses_a_bad_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, trace = tmp_path / "scenario.yaml", tmp_path / "trace.csv"
    path.write_text(yaml.safe_dump(RAW))
    trace.write_text("timestamp,input_tokens,output_tokens\n" + "\n".join(f"{t},100,20" for t in range(100)))
    assert main(["simulate", str(path), "--trace", str(trace)]) == 0
    assert "100 requests of trace.csv in 99 s." in capsys.readouterr().out
    trace.write_text("timestamp,input_tokens,output_tokens\n0,100,20\n1,1000000,20\n")
    assert main(["simulate", str(path), "--trace", str(trace)]) == 2
    assert capsys.readouterr().err.startswith("trace.csv, row 3: 1,000,020 tokens")
    assert main(["simulate", str(path), "--trace", str(tmp_path / "none.csv")]) == 2


def test_nothing_feasible_is_an_answer() -> None:
    hard = Scenario.model_validate({**RAW, "limits": {"ttft_ms": 0.001}})
    result = simulate(hard)
    assert result.verdict == "infeasible"
    assert result.ttft_ms is None


def test_lengths_of_a_scenario_reach_the_stream() -> None:
    question = understand(scenario(input_tokens={"p50": 500, "p95": 1500}, prefix_cached_tokens=100))
    chunk = next(iter(Arrivals(rate_rps=100.0).stream(lengths_of(question), 100.0, 0)))
    assert np.median(chunk[2]) == pytest.approx(500, rel=0.05)
    assert chunk[4].max() == 100


def test_a_simulation_stops_where_its_work_does_and_says_so() -> None:
    question = understand(Scenario.model_validate(raw()))
    chosen = planned(Answer(question, plan(question.scenario)))
    found = simulate_deployment(
        chosen.deployment("random"), load_of(question, 1.0, 0), question.limits, name="x", most_events=50_000
    )
    assert found.verdict == "stopped"
    assert 0 < found.finished < found.requests
    assert any("Stopped after" in note for note in found.notes)
