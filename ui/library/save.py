"""Save, beside the name of the scenario: into the library, with project, customer and tags."""

from dataclasses import replace

import streamlit as st

from sharing.errors import NotInLibrary, SharingError
from sharing.form.fields import FIELDS
from sharing.library.records import NAME_LENGTH, Conflict, KeyChange, Project, ScenarioDraft, figures_of
from sizing.decision.text import name_of
from ui import state
from ui.access import actor
from ui.database import library
from ui.format import as_markdown
from ui.library.opening import KEPT, OpenedVersion, keep, open_version
from ui.library.unsaved import forget, remember
from ui.shell import draw_problems

_CONFLICT, _PROBLEM, _SAVED, _NAME = "save_conflict", "save_problem", "save_done", "save_name"


def draw_save() -> None:
    """A button that opens the few questions of saving."""
    with st.popover("Save", icon=":material/save:", help="Keep this scenario in the library, with its history."):
        kept: OpenedVersion | None = st.session_state.get(KEPT)
        _questions()
        unchanged = kept is not None and _is_saved(kept)
        if kept is not None and not unchanged:
            st.button(
                f"Save as version {kept.number + 1}", key="save_version", type="primary", on_click=save, args=(kept,)
            )
        st.button(
            "Save as a new scenario",
            key="save_new",
            type="secondary" if kept else "primary",
            on_click=save,
            args=(None,),
        )
        # Said in a line and not in the buttons' help: a pressed button moves, and its help would stay over the others.
        if kept is not None:
            same = " Nothing has changed since." if unchanged else ""
            st.caption(
                f"Opened: version {kept.number} of scenario {kept.scenario_id}.{same} A new one starts a history."
            )
        if conflict := st.session_state.get(_CONFLICT):
            _draw_conflict(conflict)
        else:
            draw_saved()


def _is_saved(kept: OpenedVersion) -> bool:
    """Whether the library has all of what the form says; not, where that has no answer or cannot be saved."""
    answer = state.outcome().answer
    try:
        return answer is not None and kept.is_as(_draft_of(answer))
    except SharingError:
        return False


def draw_saved() -> None:
    """What came of saving; a conflict is for the one place that asks to choose."""
    if problem := st.session_state.get(_PROBLEM):
        draw_problems([problem])
    elif st.session_state.get(_CONFLICT):
        st.warning("Somebody else has saved meanwhile: open Save to choose.", icon=":material/call_split:")
    elif done := st.session_state.get(_SAVED):
        st.success(as_markdown(done), icon=":material/check:")


def _questions() -> None:
    st.session_state[_NAME] = state.value("name")  # whatever was typed on Size meanwhile
    st.text_input("Name", key=_NAME, max_chars=FIELDS["name"].longest, on_change=_rename, help=FIELDS["name"].help)
    for key, label, help_text in (
        ("save_customer", "Customer", "For whom the scenario is; the list can be narrowed to a customer."),
        ("save_project", "Project", "Scenarios of a project are added up; empty: the customer's name."),
        ("save_tags", "Tags", "Separated by commas."),
    ):
        st.text_input(label, key=key, max_chars=NAME_LENGTH, help=help_text, persist_state="session")


def _rename() -> None:
    state.write({"name": st.session_state[_NAME]})


def save(kept: OpenedVersion | None) -> None:
    """Save what the form says (for callbacks). The draft stays in the session until the library has it."""
    for key in (_PROBLEM, _SAVED, _CONFLICT):
        st.session_state.pop(key, None)
    answer = state.outcome().answer
    if answer is None:
        st.session_state[_PROBLEM] = "The inputs have no answer yet: correct them, then save."
        return
    try:
        plan = state.plan_of(answer.scenario.model_dump_json())
        draft = remember(replace(_draft_of(answer), figures=figures_of(plan)), kept)
        _write(draft, kept)
    except NotInLibrary as error:
        forget(draft)
        st.session_state.pop(KEPT, None)
        st.session_state[_PROBLEM] = f"{error} Not saved: somebody has removed it; save yours as a new scenario."
    except SharingError as error:
        st.session_state[_PROBLEM] = f"{error} Not saved: your inputs stay in this session, save again later."


def _write(draft: ScenarioDraft, kept: OpenedVersion | None) -> None:
    by = actor()
    if kept is None:
        result = library().add(draft, by=by)
    else:
        saved = library().save(kept.scenario_id, kept.number, draft, by=by)
        forget(draft)
        if isinstance(saved, Conflict):
            st.session_state[_CONFLICT] = saved
            return
        result = saved
    forget(draft)
    keep(result)
    st.session_state.pop(_CONFLICT, None)
    st.session_state[_SAVED] = f"Saved as version {result.number} of scenario {result.scenario_id}."


def _draft_of(answer: state.FormAnswer) -> ScenarioDraft:
    customer, project, tags = (str(st.session_state.get(f"save_{key}", "")) for key in ("customer", "project", "tags"))
    name = project.strip() or customer.strip()
    filed = Project(name=name, customer=customer) if name else None
    return ScenarioDraft(scenario=answer.scenario, project=filed, tags=tags.split(","))


def _draw_conflict(conflict: Conflict) -> None:
    theirs = conflict.theirs
    st.warning(
        f"{as_markdown(theirs.author)} has saved version {theirs.number} meanwhile. Nothing of yours was overwritten "
        "or saved yet.",
        icon=":material/call_split:",
    )
    for title, made in (("They changed", conflict.their_changes), ("You changed", conflict.my_changes)):
        st.caption(title)
        st.dataframe(changes_table(made), hide_index=True, alt=title, placeholder="")
    st.button(
        "Keep mine",
        key="keep_mine",
        on_click=_keep_mine,
        args=(conflict,),
        help="Saved on top of theirs, which stays in the history.",
    )
    st.button("Open theirs", key="open_theirs", on_click=_open_theirs, args=(conflict,), help="Yours is given up.")


def changes_table(made: tuple[KeyChange, ...]) -> dict[str, list[str]]:
    """Changes as columns."""
    return {
        "Input": [name_of(change.key) for change in made],
        "Before": [change.before or "" for change in made],
        "After": [change.after or "" for change in made],
    }


def _keep_mine(conflict: Conflict) -> None:
    if conflict.mine is None:
        return
    try:
        _write(conflict.mine, OpenedVersion(scenario_id=conflict.theirs.scenario_id, number=conflict.theirs.number))
    except SharingError as error:
        st.session_state[_PROBLEM] = str(error)


def _open_theirs(conflict: Conflict) -> None:
    try:
        open_version(conflict.theirs)
    except SharingError as error:
        st.session_state[_PROBLEM] = str(error)
    else:
        st.session_state.pop(_CONFLICT, None)
