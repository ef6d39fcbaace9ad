"""The table of all sources, and what the map of GPUs opens on."""

from types import SimpleNamespace

import pytest

from collectors.reading.observation import Observation, State, unknown_distributions, unknown_numbers
from ui import sources
from ui.library.bond import PlannedThere
from ui.live import overview
from ui.live.gpus import first_exported
from ui.sources import LatestAnswer, Origin


def observed(state: State = State.OK, **numbers: float) -> Observation:
    return Observation(
        name="t",
        state=state,
        at_s=1e9,
        window_s=300,
        numbers=unknown_numbers() | numbers,
        distributions=unknown_distributions(),
    )


def test_the_worst_source_stands_first(monkeypatch: pytest.MonkeyPatch) -> None:
    states = [State.OK, State.NO_DATA, State.PARTIAL, State.UNREACHABLE, State.SATURATED, State.STALE]
    answers = {f"s{i}": LatestAnswer(newest=observed(state), good=observed(state)) for i, state in enumerate(states)}
    answers["attention"] = LatestAnswer(newest=observed(kv_usage_max=0.99), good=observed(kv_usage_max=0.99))
    monkeypatch.setattr(sources, "observed", lambda one, wait_s: answers[one.name])
    known = tuple(SimpleNamespace(name=name, file="", origin=Origin.FILE) for name in answers)
    table = overview.overview_table(known)
    assert list(table["Source"]) == ["s4", "s3", "s5", "s2", "attention", "s1", "s0"]


def test_the_plan_stands_beside_and_the_fuller_source_first(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {f"s{i}": observed(arrivals_rps=rps) for i, rps in enumerate((8.0, 4.0, 20.0))}
    monkeypatch.setattr(
        sources, "observed", lambda one, wait_s: LatestAnswer(newest=answers[one.name], good=answers[one.name])
    )
    known = tuple(SimpleNamespace(name=name, file="", origin=Origin.FILE) for name in answers)
    plain = overview.overview_table(known)
    assert not [name for name in plain.columns if name.startswith("Planned")]
    there = {
        "s0": PlannedThere(name="Chat", peak_rps=10.0, gpus=8, ttft_ms=500.0),
        "s1": PlannedThere(name="Code", peak_rps=4.0, gpus=2, ttft_ms=None),
    }
    monkeypatch.setattr(overview, "planned_at_sources", lambda: there)
    table = overview.overview_table(known)
    assert list(table["Source"]) == ["s1", "s0", "s2"]
    assert list(table["Planned requests/s"])[:2] == [4.0, 10.0]
    assert list(table["Scenario"]) == ["Code", "Chat", ""]


@pytest.mark.parametrize(
    ("numbers", "measure"),
    [
        ({"gpu_sm_active": 0.5, "gpu_busy": 1.0}, "sm_active"),
        ({"gpu_busy": 1.0, "power_w": 700.0}, "power"),
        ({"gpu_dram_active": 0.1, "power_w": 700.0}, "dram_active"),
        ({"gpu_temperature_max_c": 60.0}, "temperature"),
        ({}, "sm_active"),
    ],
)
def test_the_map_opens_on_a_measure_that_is_exported(numbers: dict[str, float], measure: str) -> None:
    assert first_exported(observed(**numbers)) == measure
