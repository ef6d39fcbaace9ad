"""Which scenario is held against the deployment: the one on Size, the demo's, or a file."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from sizing.base.errors import SizingError
from sizing.scenario.file import MAX_FILE_MB, load_scenario
from sizing.scenario.schema import Scenario
from ui import state
from ui.format import as_markdown
from ui.shell import draw_choice, draw_problems
from ui.sources.known import Origin
from ui.sources.picker import Picked

SIZE, DEMO, FILE = "Scenario on Size", "Plan of the demo", "Scenario file"
_CHOICE, _UPLOAD = "scenario_from", "scenario_file"
_DEMO_FILE = Path(__file__).parents[2] / "reality" / "data" / "demo_scenario.yaml"


def draw_scenario(picked: Picked) -> Scenario | None:
    """The choice, and the chosen scenario; None where it cannot be read, which is then said."""
    demo = picked.known.origin is Origin.DEMO
    options = [DEMO, SIZE, FILE] if demo else [SIZE, FILE]
    if st.session_state.get(_CHOICE) not in (None, *options):
        del st.session_state[_CHOICE]
    chosen = draw_choice(
        "Scenario",
        options,
        key=_CHOICE,
        help="What was planned: the inputs on Size, what fits the built-in demo, or a scenario file (Size, Export).",
    )
    if chosen == DEMO:
        return demo_scenario()
    return _uploaded() if chosen == FILE else _of_size()


def of_size() -> bool:
    """Whether the scenario on Size is what is compared."""
    return st.session_state.get(_CHOICE) == SIZE


@cache
def demo_scenario() -> Scenario:
    """What was planned for the demo deployment."""
    return load_scenario(_DEMO_FILE)


def _of_size() -> Scenario | None:
    outcome = state.outcome()
    if outcome.answer is not None:
        return outcome.answer.scenario
    st.error(f"The scenario on Size cannot be read: {as_markdown(outcome.problem)}", icon=":material/error:")
    return None


def _uploaded() -> Scenario | None:
    file = st.file_uploader(
        f"Scenario in YAML or JSON (up to {MAX_FILE_MB} MB)",
        type=["yaml", "yml", "json"],
        key=_UPLOAD,
        max_upload_size=MAX_FILE_MB,
        help="Read on this server, sent nowhere.",
    )
    if file is None:
        return None
    try:
        return read_scenario(file.name, file.getvalue())
    except SizingError as error:
        draw_problems(error.problems)
    return None


def read_scenario(name: str, content: bytes) -> Scenario:
    """The scenario in an uploaded file; files it points to are not there. Raises SizingError."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / (Path(name).name or "scenario.yaml")
        path.write_bytes(content)
        return load_scenario(path)
