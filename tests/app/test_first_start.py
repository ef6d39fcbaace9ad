"""The first process after an installation compiles the simulator: until then the page answers with the estimate."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.pages_text import answer, problems
from ui import state
from ui.state import answers


def notes(app: AppTest) -> str:
    return " ".join(info.value for info in app.info)


def test_the_estimate_is_shown_as_one_until_the_simulator_is_compiled(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (answers, state):
        monkeypatch.setattr(module, "ready", lambda: False)
    size = app.switch_page("pages/size.py").run()
    assert "A first estimate by the analytic load model" in notes(size)
    assert answer(size)
    assert not problems(size)
    monkeypatch.undo()
    size.run()
    assert "first estimate" not in notes(size)
    assert answer(size)


def test_a_process_with_compiled_code_on_disk_waits_for_it(app: AppTest) -> None:
    """Loading takes a moment only, so no page ever shows the estimate first."""
    assert answers.ready()
