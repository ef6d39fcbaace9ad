"""The Simulate tab without a browser: start, finish, cancel, a trace with faults."""

from __future__ import annotations

import threading
import time

import pytest
from streamlit.testing.v1 import AppTest

from sizing.simulation.result import SimulationResult
from ui import simulating
from ui.figures.simulated import build_simulated, simulated_alt_text, simulated_table
from ui.presets import presets

LIMIT_S = 60.0
JOB = "simulation_job"


def finished(job: simulating.Job) -> SimulationResult | str:
    deadline = time.monotonic() + LIMIT_S
    while not job.done and time.monotonic() < deadline:
        time.sleep(0.02)
    return job.outcome()


@pytest.fixture
def panel(open_link) -> AppTest:
    return open_link(view="Simulate", isl="1000", osl="100", rps="5", gpu="H100 SXM5 80GB")


def test_an_hour_is_simulated_beside_the_page(panel: AppTest) -> None:
    assert not panel.exception
    panel.button(key="simulate").click().run()
    assert not panel.exception
    finished(panel.session_state[JOB])
    panel.run()
    assert not panel.exception
    said = [box.value for box in (*panel.success, *panel.warning)]
    assert any("requests simulated" in text for text in said)
    assert any("simulated" in " ".join(map(str, frame.value.columns)) for frame in panel.dataframe)
    panel.text_input(key="osl").set_value("120").run()
    assert any("previous inputs" in caption.value for caption in panel.caption)


def test_an_uploaded_trace_with_faults_is_a_sentence_per_row() -> None:
    scenario = next(iter(presets().values())).scenario
    content = b"timestamp,input_tokens,output_tokens\n1,100,10\n2,-4,10\n"
    found = finished(simulating.start(scenario, trace_name="mine.csv", trace=content))
    assert found == "mine.csv, row 3: input_tokens must be at least 1, not -4."
    good = content.replace(b"-4", b"40")
    result = finished(simulating.start(scenario, trace_name="../mine.csv", trace=good))
    assert isinstance(result, SimulationResult)
    assert result.requests == 2


def test_cancelling_stops_a_long_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = next(iter(presets().values())).scenario
    monkeypatch.setattr(simulating, "HOURS", 200.0)
    seen = threading.Event()
    monkeypatch.setattr(simulating.Job, "heard", lambda job, share: (seen.set(), not job.cancelled.wait(LIMIT_S))[1])
    job = simulating.start(scenario)
    assert seen.wait(LIMIT_S)
    assert not job.done
    job.cancel()
    found = finished(job)
    assert isinstance(found, SimulationResult)
    assert found.verdict == "stopped"
    assert found.series is not None
    assert len(simulated_table(found)) == len(found.series.waiting)
    assert "in flight" in simulated_alt_text(found)
    assert len(build_simulated(found).data) == 3


def test_a_bug_is_not_hidden_and_a_bad_scenario_is_a_sentence() -> None:
    preset = next(iter(presets().values())).scenario
    asked = preset.model_dump(mode="json") | {"measured": {"system": "dgx_h100", "rps_per_system": 2.0}}
    found = finished(simulating.start(type(preset).model_validate(asked)))
    assert isinstance(found, str)
    assert found.startswith("measured:")
