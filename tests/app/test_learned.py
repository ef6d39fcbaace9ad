"""Learned step times on the page: accepted for the scenario of the library that is open, used, undone."""

import pytest
from streamlit.testing.v1 import AppTest

from reality.diagnosis.result import Diagnosis, Recalibration
from sharing.author import owner
from sharing.bonds import Calibrations
from sharing.library import Library
from sharing.library.records import ScenarioDraft
from tests.app.conftest import scenario
from tests.patience import PATIENCE_S
from ui.library.opening import KEPT, OpenedVersion

BENCHMARK = {
    "source": "live windows",
    "gpu": "h100_sxm",
    "engine": "vllm",
    "weight_precision": "fp8",
    "gpus": 2,
    "points": [{"mode": "fixed_rate", "request_rate_rps": 1, "input_tokens": 100, "output_tokens": 10, "itl_ms": 5}],
}


def page() -> None:
    """What stands below the actions on Plan vs reality."""
    import streamlit as st

    from ui.reality.learned import accepted, draw_learned

    draw_learned(st.session_state["diagnosis"], accepted())


def diagnosis(*, offered: bool = True, drift: str | None = None) -> Diagnosis:
    learned = Recalibration(
        factor_decode=1.35,
        factor_prefill=1.1,
        factor_fixed=0.8,
        sequence_ms=0.42,
        sequence_low_ms=0.36,
        sequence_high_ms=0.48,
        sequence_identifiable=True,
        sequence_covariance=(0.0, 0.0, 0.0, 0.002),
        decode_low=1.3,
        decode_high=1.4,
        prefill_low=1.0,
        prefill_high=1.2,
        windows=4,
        since="2026-11-26T10:00Z",
        until="2026-11-26T12:00Z",
        covariance=((0.001, 0.0, 0.0), (0.0, 0.002, 0.0), (0.0, 0.0, 0.01)),
        basis="a model on a GPU",
        offered=offered,
        drift=drift,
        identifiable=True,
        error_before=0.3,
        error_after=0.02,
        why="On windows that were left out the median error falls.",
    )
    measured = scenario().model_validate({**scenario().model_dump(), "benchmark": BENCHMARK})
    return Diagnosis.model_construct(
        source="live", window_s=1800.0, recalibration=learned, as_measured=measured, headline=""
    )


@pytest.fixture
def app(library: Library) -> AppTest:
    library.add(ScenarioDraft(scenario=scenario()), by=owner("ann"))
    app = AppTest.from_function(page, default_timeout=PATIENCE_S)
    app.session_state["diagnosis"] = diagnosis()
    app.session_state["scenario_from"] = "Scenario on Size"
    app.session_state[KEPT] = OpenedVersion(scenario_id=1, number=1)
    return app.run()


def test_accepted_and_undone(app: AppTest, library: Library) -> None:
    assert not app.exception
    shown = {one.label: one for one in app.metric}
    assert shown["Decode, times as planned"].value == "1.35"
    assert shown["Each sequence adds"].value == "0.42 ms"
    app.button(key="accept_learned").click().run()
    assert not app.exception
    kept = Calibrations(library).of_scenario(1)
    assert (kept.calibration.decode, kept.calibration.windows, kept.calibration.sequence_ms) == (1.35, 4, 0.42)
    assert any(text.value.startswith("Accepted 20") and "0.42 ms more for each" in text.value for text in app.caption)
    app.button(key="accept_learned").click().run()
    assert any("are accepted already" in one.value for one in app.error)
    app.button(key="undo_learned").click().run()
    assert not app.exception
    assert Calibrations(library).of_scenario(1) is None
    assert not [one for one in app.button if one.key == "undo_learned"]


def test_a_scenario_that_is_in_no_library_says_what_to_do(app: AppTest) -> None:
    app.session_state["scenario_from"] = "Plan of the demo"
    app.run()
    assert not app.button
    assert any("open the scenario from the library" in text.value for text in app.caption)


def test_drift_is_said_and_nothing_new_is_not_offered(app: AppTest) -> None:
    app.session_state["diagnosis"] = diagnosis(offered=False, drift="Since 14:00 steps take 1.21 times as long.")
    app.run()
    assert [one.value.replace("\\", "") for one in app.warning] == ["Since 14:00 steps take 1.21 times as long."]
    assert not app.button
