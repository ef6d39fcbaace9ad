"""Capacity over the day: enough at every moment, nothing for nothing, and what a start-up time costs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.cli import main
from sizing.replay.day import DayLoad, day, instances_for, schedule
from sizing.replay.scale_out import steepest_rise
from tests.sizing.asking import LLAMA_8B

HILL = [1, 1, 1, 1, 1, 2, 4, 7, 9, 10, 10, 9, 8, 9, 10, 9, 8, 6, 5, 4, 3, 2, 1, 1]
LOADS = st.lists(st.floats(0, 100), min_size=2, max_size=60).filter(lambda v: max(v) > 0)


def keys(**workload: Any) -> dict[str, Any]:
    asked = {"input_tokens": 2000, "output_tokens": 300, "peak_rps": 60, "arrivals": {"profile": HILL}, **workload}
    return {
        "model": LLAMA_8B,
        "workload": asked,
        "limits": {"ttft_ms": 1000, "itl_ms": 60},
        "deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"], "tp": [1], "pp": [1]},
    }


def asked(**workload: Any) -> Scenario:
    return Scenario.model_validate(keys(**workload))


def test_a_tiny_day_by_hand() -> None:
    """Capacity 1 per instance, four moments of 60 s with loads 1, 1, 3, 1; start-up of one moment.

    The load triples within a start-up: threshold 1/3. Ordered: ceil(1 x 3) = 3 at every moment, so all three run all
    day and nothing is saved. Without start-up time, 1, 1, 3, 1.
    """
    load = DayLoad(rps=np.array([1.0, 1.0, 3.0, 1.0]), step_s=60.0, round=True)
    slow = schedule(load, 1.0, 60.0)
    assert slow.threshold == pytest.approx(1 / 3)
    assert slow.ordered.tolist() == [3, 3, 3, 3]
    assert slow.base == 3
    fast = schedule(load, 1.0, 0.0)
    assert fast.threshold == 1.0
    assert fast.ordered.tolist() == fast.serving.tolist() == [1, 1, 3, 1]
    assert fast.base == 1


def test_a_slow_rise_by_hand() -> None:
    """Loads 4, 5, 6, 5, 4, 4 at capacity 2 and start-up of one moment: threshold min(4/5, 5/6) = 0.8.

    Asked: ceil(load / 1.6), at most 3, = 3, 3, 3, 3, 3, 3: at two thirds of the peak a third instance is due anyway.
    """
    load = DayLoad(rps=np.array([4.0, 5.0, 6.0, 5.0, 4.0, 4.0]), step_s=60.0, round=True)
    found = schedule(load, 2.0, 60.0)
    assert found.threshold == pytest.approx(0.8)
    assert found.ordered.tolist() == [3] * 6
    assert schedule(load, 2.0, 0.0).ordered.tolist() == [2, 3, 3, 3, 2, 2]


@given(rps=LOADS, capacity=st.floats(0.5, 50), startup=st.floats(0, 1000), repeats=st.booleans())
def test_there_are_never_fewer_than_needed(rps: list[float], capacity: float, startup: float, repeats: bool) -> None:
    load = DayLoad(rps=np.array(rps), step_s=60.0, round=repeats)
    found = schedule(load, capacity, startup)
    assert (found.serving >= found.needed).all()
    assert (found.ordered >= found.serving).all()
    assert found.ordered.max() == found.needed.max()
    assert (found.ordered >= found.base).all()
    assert 0.3 <= found.threshold <= 1.0


@given(rps=LOADS, capacity=st.floats(0.5, 50), repeats=st.booleans())
def test_no_start_up_time_is_ideal(rps: list[float], capacity: float, repeats: bool) -> None:
    load = DayLoad(rps=np.array(rps), step_s=60.0, round=repeats)
    found = schedule(load, capacity, 0.0)
    ideal = instances_for(load.rps, capacity)
    assert found.ordered.tolist() == found.serving.tolist() == ideal.tolist()


@given(rps=LOADS, capacity=st.floats(0.5, 50))
def test_a_longer_start_up_never_saves_more(rps: list[float], capacity: float) -> None:
    load = DayLoad(rps=np.array(rps), step_s=60.0, round=True)
    used = [int(schedule(load, capacity, s).ordered.sum()) for s in (0.0, 60.0, 300.0)]
    assert used[0] <= used[1]
    assert used[0] <= used[2]


def test_the_steepest_rise_is_where_the_most_join_and_none_leaves() -> None:
    serving = np.array([1, 1, 2, 2, 1, 2, 4, 5, 5, 3])
    start, end = steepest_rise(np.ones(10), 60.0, serving)
    assert (serving[start], serving[end - 1]) == (1, 5)
    assert (np.diff(serving[start:end]) >= 0).all()


def test_hours_add_up() -> None:
    found = day(asked())
    hours = sum(m.ordered for m in found.moments) / 60.0
    assert len(found.moments) == 24 * 60
    assert found.instance_hours == pytest.approx(hours)
    assert found.instance_hours + found.saved_hours == pytest.approx(found.peak_instance_hours)
    assert found.peak_instance_hours == pytest.approx(24.0 * (found.base_instances + found.burst_instances))
    assert 0.2 < found.saved_share < 0.8
    assert max(m.rps for m in found.moments) == pytest.approx(60.0)
    assert found.scale_out.instances_after > found.scale_out.instances_before
    assert found.scale_out.meets_limits
    assert found.scale_out.late_ttft_ms >= found.scale_out.ttft_ms
    assert day(asked()).model_dump_json() == found.model_dump_json()


def test_spares_run_all_day() -> None:
    """In one format, so that both are of the same instances."""
    raw = keys()
    raw["deployment"]["precisions"] = ["fp8"]
    without = day(Scenario.model_validate(raw))
    raw["deployment"]["spare_instances"] = 2
    with_spares = day(Scenario.model_validate(raw))
    assert with_spares.deployment == without.deployment
    assert with_spares.base_instances == without.base_instances + 2
    assert with_spares.instance_hours == pytest.approx(without.instance_hours + 48.0)


def test_a_flat_day_has_nothing_to_scale() -> None:
    found = day(asked(arrivals={"profile": [1] * 24}))
    assert found.burst_instances == 0
    assert found.scale_out is None
    assert found.saved_hours == 0.0


def test_what_has_no_day_is_a_sentence() -> None:
    with pytest.raises(InvalidScenario, match="the load over the day is not known"):
        day(asked(arrivals="poisson"))
    with pytest.raises(InvalidScenario, match="start-up time must be from 0"):
        day(asked(), startup_s=-1.0)
    raw = keys()
    raw["limits"] = {"ttft_ms": 1}
    with pytest.raises(InvalidScenario, match="no deployment to scale"):
        day(Scenario.model_validate(raw))


def test_a_trace_is_a_day_that_does_not_repeat(tmp_path: Path, capsys) -> None:
    rng = np.random.default_rng(0)
    times = np.sort(7200.0 * np.sqrt(rng.random(20_000)))
    rows = "".join(f"{t:.3f},800,80\n" for t in times)
    (tmp_path / "trace.csv").write_text("timestamp,input_tokens,output_tokens\n" + rows)
    of_trace = {"trace": "trace.csv"}
    raw = keys(input_tokens=of_trace, output_tokens=of_trace, arrivals=of_trace)
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(raw))
    assert main(["day", str(tmp_path / "case.yaml"), "--json", "--startup-s", "60"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["moments"][0]["ordered"] <= found["moments"][-1]["ordered"]
    assert found["startup_s"] == 60
    assert main(["day", str(tmp_path / "case.yaml")]) == 0
    assert "base" in capsys.readouterr().out


def test_an_assumed_day_says_its_peak_as_it_was_entered() -> None:
    users = {"daily_users": 5_000, "requests_per_user": 3, "hours": 8, "peak_to_mean": 2}
    found = day(asked(peak_rps=None, users=users, arrivals="poisson"), assumed_hours=HILL)
    assert found.peak_rps == pytest.approx(5_000 * 3 / (8 * 3600) * 2)
    assert found.notes[-1] == "5,000 users x 3 requests / (8 h x 3,600 s) x 2 (peak to mean) = 1.04 requests/s."
