"""A scenario that is kept, or in a file, into the form."""

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from sharing.form.left_behind import keys_not_held
from sharing.form.write import from_scenario
from sharing.library.records import ScenarioDraft, Version
from sizing.scenario.model_asked import ModelConfig
from sizing.scenario.schema import Scenario
from ui import state

KEPT = "kept_scenario"
"""Session key of the scenario in the library that the form was opened from or saved as."""
_UNHELD = "keys_not_in_the_form"


@dataclass(frozen=True, kw_only=True)
class OpenedVersion:
    """A version in the library that the next one is saved on top of.

    ``saved`` is what it holds; None where what was opened is an older one, which is a change of it.
    """

    scenario_id: int
    number: int
    saved: ScenarioDraft | None = field(default=None, compare=False)

    def is_as(self, draft: ScenarioDraft) -> bool:
        """Whether saving this draft would change nothing."""
        held = self.saved
        return held is not None and (held.scenario, held.project, held.tags) == (
            draft.scenario,
            draft.project,
            draft.tags,
        )


def keep(version: Version, on_top_of: int | None = None) -> None:
    """Make Save go on top of this version from now on, or of a later one of the same scenario."""
    number = on_top_of or version.number
    saved = version.draft() if number == version.number else None
    st.session_state[KEPT] = OpenedVersion(scenario_id=version.scenario_id, number=number, saved=saved)


def open_version(version: Version, on_top_of: int | None = None) -> None:
    """Fill the form from a version, to be saved on top of it or of a later one (for callbacks). Raises
    UnreadableVersion."""
    open_document(version.scenario())
    keep(version, on_top_of)
    project = version.project
    st.session_state["save_customer"] = project.customer if project else ""
    st.session_state["save_project"] = project.name if project else ""
    st.session_state["save_tags"] = ", ".join(version.tags)


def open_document(scenario: Scenario) -> None:
    """Fill the form from a scenario that the library does not have (for callbacks)."""
    st.session_state.pop(KEPT, None)
    state.remove_trace()
    files = _files(scenario)
    state.use_config(files["config"])
    st.session_state.pop(state.BENCHMARK, None)
    if files["benchmark"] is not None:
        st.session_state[state.BENCHMARK] = files["benchmark"]
    state.use_price_book(scenario.prices)
    values = from_scenario(scenario)
    state.write(values)
    st.session_state[_UNHELD] = keys_not_held(scenario, values, **files)


def draw_not_held() -> None:
    """Keys of the scenario opened last that the form has no field for: what is sized is without them."""
    if keys := st.session_state.get(_UNHELD):
        listed = ", ".join(f"`{key}`" for key in keys)
        st.warning(f"The form does not hold all of the scenario that was opened: {listed}.", icon=":material/warning:")


def _files(scenario: Scenario) -> dict[str, Any]:
    model = scenario.model
    config = {"config": model.config, "name": model.name} if isinstance(model, ModelConfig) else None
    benchmark = scenario.benchmark.model_dump(mode="json") if scenario.benchmark else None
    prices = scenario.prices.model_dump(mode="json", include={"listed", "negotiated"})
    return {"config": config, "benchmark": benchmark, "price_book": prices, "trace": None}
