"""The Simulate tab and traces in the form without a browser: start, finish, cancel, replay, faults by row."""

import json
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from sharing.form.presets import presets
from sharing.form.trace import in_use
from sizing.base.format import significant
from sizing.planning.answered import Answer
from sizing.replay.simulation_result import SimulationResult
from sizing.replay.what_if import AS_PLANNED, WhatIf
from sizing.scenario.day_profile import at_peak
from sizing.scenario.schema import Scenario
from sizing.scenario.trace import read_trace
from tests.app.pages_text import plain
from tests.patience import PATIENCE_S, until
from ui.figures.simulated import MOST_POINTS, build_simulated, simulated_alt_text, simulated_table
from ui.size import jobs
from ui.size.simulate import PREVIOUS
from ui.state import TRACE
from ui.work.plans import NOT_BEGUN, plans
from ui.work.questions import Cancelled, QueuedQuestion

JOB, DAY = "simulation_job", "day_job"
FORM = {"isl": "1000", "osl": "100", "rps": "5", "gpu": "H100 SXM5 80GB"}


def preset() -> Scenario:
    return next(iter(presets().values())).scenario


def finished(job: jobs.Job) -> SimulationResult | tuple[str, ...]:
    deadline = time.monotonic() + PATIENCE_S
    while not job.done and time.monotonic() < deadline:
        time.sleep(0.02)
    return job.outcome()


@pytest.fixture
def panel(open_link) -> AppTest:
    return open_link(view="Simulate", **FORM)


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 1800, 4000))
    rows = [f"{t:.3f},{rng.integers(200, 2000)},{rng.integers(20, 200)},{rng.integers(0, 100)}\n" for t in times]
    path = tmp_path / "mine.csv"
    path.write_text("timestamp,input_tokens,output_tokens,cached_tokens\n" + "".join(rows))
    return path


def with_trace(app: AppTest, path: Path) -> AppTest:
    """The page once the trace was uploaded: what the callback of the field does."""
    held = in_use(read_trace(path))
    app.session_state[TRACE] = held
    for key, value in held.filled.items():
        app.session_state[key] = value
    return app.run()


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
    compared = [text.value for text in panel.markdown if "compare_arrows" in text.value]
    assert any("Agrees with the plan" in text or "differs" in text for text in compared)
    panel.text_input(key="osl").set_value("120").run()
    assert older(panel)
    assert not panel.success, "what is older than its inputs is not green"


def older(panel: AppTest) -> bool:
    """Whether the results shown are marked as older than their inputs."""
    return any(PREVIOUS in text.value for text in panel.markdown)


def test_what_if_an_instance_fails(panel: AppTest) -> None:
    panel.text_input(key="fail_minutes").set_value("5").run()
    panel.button(key="simulate").click().run()
    found = finished(panel.session_state[JOB])
    assert isinstance(found, SimulationResult)
    assert found.failure is not None
    panel.run()
    assert not panel.exception
    assert any("One instance fails after 20 minutes, for 5 minutes" in text.value for text in panel.markdown)
    assert found.ttft_ms.at_percentile.high is None, "too few were that slow"
    (shown,) = [one for one in panel.dataframe if "Interval (ms)" in one.value]
    assert shown.value["Interval (ms)"][0] == f"{significant(found.ttft_ms.at_percentile.low)} or more"
    column = next(name for name in shown.value if name.endswith("simulated (ms)"))
    assert json.loads(shown.proto.columns)[column]["type_config"]["format"] == "localized"
    assert not older(panel)
    panel.text_input(key="fail_minutes").set_value("4").run()
    assert older(panel)
    panel.text_input(key="fail_minutes").set_value("5").run()
    assert not older(panel)


def test_a_number_that_can_be_read_two_ways_is_asked_about(panel: AppTest) -> None:
    """The number field of a browser took "2,5" hours for 25."""
    hours = panel.text_input(key="simulated_hours")
    hours.set_value("2.5").run()
    assert not panel.error
    hours.set_value("2,5").run()
    assert "did you mean 2.5?" in panel.error[0].value
    assert panel.session_state["simulated_hours_read"] == 2.5


def test_a_load_beyond_capacity_shows_no_latency(panel: AppTest) -> None:
    panel.toggle(key="static_batching").set_value(True).run()
    panel.text_input(key="osl95").set_value("1500").run()
    panel.button(key="simulate").click().run()
    found = finished(panel.session_state[JOB])
    assert isinstance(found, SimulationResult)
    assert found.verdict == "unstable"
    panel.run()
    assert any("queue grows" in box.value for box in panel.error)
    assert not any("simulated (ms)" in " ".join(map(str, f.value.columns)) for f in panel.dataframe)


def test_changed_inputs_cancel_the_simulation_of_the_old_ones(panel: AppTest) -> None:
    panel.text_input(key="simulated_hours").set_value("168").run()
    panel.button(key="simulate").click().run()
    job = panel.session_state[JOB]
    panel.text_input(key="osl").set_value("120").run()
    assert job.cancelled.is_set()
    found = finished(job)
    assert isinstance(found, SimulationResult)
    assert found.verdict == "stopped"


def test_a_trace_fills_in_the_form_and_can_be_replayed(panel: AppTest, trace_file: Path) -> None:
    app = with_trace(panel, trace_file)
    assert not app.exception
    assert float(app.text_input(key="isl95").value) > float(app.text_input(key="isl").value)
    assert app.query_params["rps"] == app.text_input(key="rps").value
    assert any("4,000 requests in 30 minutes" in c.value or "busiest minute" in c.value for c in app.caption)
    answered = app.session_state["last_answer"].scenario.workload
    assert answered.arrivals.trace == answered.input_tokens.trace == "mine.csv"
    assert answered.prefix_cached_tokens == pytest.approx(50, abs=5)
    assert app.session_state["simulated_traffic"] == "Replay the trace"
    app.button(key="simulate").click().run()
    found = finished(app.session_state[JOB])
    assert isinstance(found, SimulationResult)
    assert found.requests == 4000
    app.run()
    assert not app.exception


def test_what_is_edited_after_a_trace_counts(panel: AppTest, trace_file: Path) -> None:
    app = with_trace(panel, trace_file)
    app.text_input(key="osl").set_value("77").run()
    work = app.session_state["last_answer"].scenario.workload
    assert work.output_tokens.p50 == 77
    assert work.input_tokens.trace == "mine.csv"
    assert any("Edited since" in c.value and "outputs" in c.value for c in app.caption)
    app.text_input(key="rps").set_value("20").run()
    app.button(key="simulate").click().run()
    found = finished(app.session_state[JOB])
    assert isinstance(found, SimulationResult)
    assert any("times as fast" in note for note in found.notes)


def test_a_link_says_which_trace_it_lacks(trace_file: Path, open_link) -> None:
    app = with_trace(open_link(view="Export", **FORM), trace_file)
    link = parse_qs(urlparse(app.code[0].value).query)
    assert link["trace"] == ["mine.csv"]
    opened = open_link(**{key: value[0] for key, value in link.items()})
    assert any("made with the trace mine.csv, which a link cannot carry" in w.value for w in opened.warning)
    app.button(key="trace_remove").click().run()
    assert "trace" not in app.query_params
    assert app.session_state["last_answer"].scenario.workload.arrivals == "poisson"


def test_a_trace_with_requests_beyond_the_window_is_a_sentence(trace_file: Path) -> None:
    small = preset().model_copy(update={"model": "meta-llama/Meta-Llama-3-8B-Instruct"})
    trace_file.write_text("timestamp,input_tokens,output_tokens\n0,100,10\n5,9000,100\n9,10,10\n")
    job = jobs.start_simulation(small, hours=None, what_if=AS_PLANNED, trace=read_trace(trace_file))
    (problem,) = finished(job)
    assert "1 of 3 requests do not fit in the context window of meta-llama/Meta-Llama-3-8B" in problem


def test_cancelling_stops_a_long_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, stopped = threading.Event(), QueuedQuestion.heard

    def held(question: QueuedQuestion, share: float) -> bool:
        seen.set()
        until(lambda: question.stopping)
        return stopped(question, share)

    monkeypatch.setattr(QueuedQuestion, "heard", held)
    job = jobs.start_simulation(preset(), hours=200.0, what_if=AS_PLANNED)
    assert seen.wait(PATIENCE_S)
    assert not job.done
    job.cancel()
    found = finished(job)
    assert isinstance(found, SimulationResult)
    assert found.verdict == "stopped"
    table = simulated_table(found)
    assert len(table) == len(found.series.waiting)
    assert not [name for name in table if "fraction" in name]
    assert table["KV cache in use (%)"].max() == pytest.approx(100 * max(found.series.kv_use), rel=0.01)
    assert "in flight" in simulated_alt_text(found)
    figure = build_simulated(found)
    assert len(figure.data) == 3
    assert all(len(line.x) == len(line.y) <= MOST_POINTS for line in figure.data)


def test_what_was_simulated_for_one_is_there_for_another_and_anything_else_is_not(trace_file: Path) -> None:
    scenario, counts = preset(), plans().counts
    asked: dict[str, Any] = {"hours": 0.11, "what_if": AS_PLANNED}
    one, before = finished(jobs.start_simulation(scenario, **asked)), counts.computed
    assert isinstance(one, SimulationResult)
    renamed = scenario.model_copy(update={"name": "Called otherwise"})
    assert finished(jobs.start_simulation(renamed, **asked)) is one
    assert counts.computed == before
    others: tuple[dict[str, Any], ...] = (
        {"hours": 0.12},
        {"what_if": WhatIf(static_batching=True)},
        {"what_if": WhatIf(fail_minutes=1.0)},
        {"simulated": at_peak(scenario, 1.0, "poisson")},
        {"trace": read_trace(trace_file)},
        {"trace": read_trace(trace_file).until(600.0)},
    )
    for other in others:
        assert finished(jobs.start_simulation(scenario, **asked | other)) is not one
    assert finished(jobs.start_simulation(Answer.of(scenario), **asked)) == one, "planned already, or first"
    assert counts.computed == before + len(others) + 1


def test_a_simulation_that_waits_says_its_place_and_what_was_cancelled_there_is_no_fault(panel: AppTest) -> None:
    job: jobs.Job[SimulationResult, None] = jobs.Job(
        scenario=panel.session_state["last_answer"].scenario, about=None, place=2, future=Future()
    )
    panel.session_state[JOB] = job
    panel.run()
    assert not panel.exception
    assert [bar.proto.text for bar in panel.get("progress")] == ["Simulating: 2nd in the queue."]
    panel.button(key="cancel_simulation").click().run()
    assert job.cancelled.is_set()
    assert job.future
    job.future.set_exception(Cancelled(NOT_BEGUN))
    panel.run()
    assert not panel.exception
    assert [box.value for box in panel.info] == [NOT_BEGUN]
    assert not panel.error


def test_a_job_that_nobody_looks_at_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.Job(scenario=preset(), about=None)
    assert job.heard(0.1)
    monkeypatch.setattr(jobs, "PATIENCE_S", -1.0)
    assert not job.heard(0.2)


def test_a_job_whose_browser_is_gone_is_given_up_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.Job(scenario=preset(), about=None)
    monkeypatch.setattr(jobs, "AFTER_CLOSING_S", -1.0)
    assert job.heard(0.1)
    monkeypatch.setattr(jobs, "_in_a_browser", lambda session_id: False)
    assert not job.heard(0.2)


def test_a_job_says_its_place_in_the_queue_and_leaves_it_once_nobody_waits() -> None:
    job = jobs.Job(scenario=preset(), about=None)
    job.told(3)
    assert job.place == 3
    job.cancel()
    with pytest.raises(jobs.GivenUp, match="nobody waited"):
        job.told(2)


def test_a_bug_is_not_hidden_and_a_bad_scenario_is_a_sentence() -> None:
    asked = preset().model_dump(mode="json") | {"measured": {"system": "dgx_h100", "rps_per_system": 2.0}}
    job = jobs.start_simulation(Scenario.model_validate(asked), hours=1.0, what_if=AS_PLANNED)
    (problem,) = finished(job)
    assert problem.startswith("measured:")


def test_the_day_is_planned_beside_the_page(open_link) -> None:
    app = open_link(view="Over the day", **(FORM | {"rps": "200"}))
    assert not app.exception
    finished(app.session_state[DAY])
    app.run()
    assert not app.exception
    assert any("base and up to" in text.value for text in app.markdown)
    assert any("a working day of 8 h" in plain(text.value) for text in app.caption)
    assert int(app.metric[[m.label for m in app.metric].index("Burst (instances)")].value) > 0
    hours = " ".join(["5"] * 24)
    app.text_input(key="profile").set_value(hours).run()
    finished(app.session_state[DAY])
    app.run()
    assert any("run all day" in text.value for text in app.markdown)
    app.text_input(key="profile").set_value("1 2 3").run()
    assert any("Load by hour needs 24 values, from midnight on; 3 were entered." in e.value for e in app.error)
    app.text_input(key="profile").set_value("0 " * 24).run()
    assert any("at least one of the 24 hours must be above 0" in e.value for e in app.error)
