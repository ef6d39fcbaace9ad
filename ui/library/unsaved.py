"""Drafts that the library did not take, because it was away, full or read-only: kept in the session, saved later."""

from dataclasses import dataclass, replace

import streamlit as st

from sharing.access import Right
from sharing.errors import NotInLibrary
from sharing.library.records import ScenarioDraft, Version
from ui.access import actor, allowed
from ui.database import library
from ui.format import as_markdown
from ui.library.connection import refused
from ui.library.opening import OpenedVersion

_UNSAVED = "unsaved_drafts"


@dataclass(frozen=True, kw_only=True)
class Unsaved:
    """A draft, and the version it was to be saved on top of; None: as a new scenario."""

    draft: ScenarioDraft
    kept: OpenedVersion | None


def remember(draft: ScenarioDraft, kept: OpenedVersion | None) -> ScenarioDraft:
    """Keep a draft until the library has it. The same one keeps the key of its first act: it becomes one version."""
    for one in _drafts():
        if one.kept == kept and replace(draft, key=one.draft.key) == one.draft:
            return one.draft
    st.session_state[_UNSAVED] = [*_drafts(), Unsaved(draft=draft, kept=kept)]
    return draft


def forget(draft: ScenarioDraft) -> None:
    """The library has it, or its author has decided."""
    st.session_state[_UNSAVED] = [one for one in _drafts() if one.draft.key != draft.key]


def draw_unsaved() -> None:
    """Every draft that waits, with the button that saves it now."""
    for one in _drafts():
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            name = as_markdown(one.draft.scenario.name)
            st.markdown(f":material/cloud_off: **{name}** is not saved yet: this session keeps it.", width="stretch")
            if allowed(Right.SAVE) and st.button("Save now", key=f"save_{one.draft.key}", help="Try it again."):
                with refused():
                    _save(one)
            st.button("Discard", key=f"discard_{one.draft.key}", on_click=forget, args=(one.draft,), type="tertiary")


def _save(one: Unsaved) -> None:
    """On top of the version it was made from; where that is not the latest or gone, as a scenario of its own."""
    if one.kept is None:
        library().add(one.draft, by=actor())
    else:
        try:
            saved = library().save(one.kept.scenario_id, one.kept.number, one.draft, by=actor())
        except NotInLibrary:
            saved = None
        if not isinstance(saved, Version):
            library().add(one.draft, by=actor())
    forget(one.draft)
    st.rerun()


def _drafts() -> list[Unsaved]:
    drafts: list[Unsaved] = st.session_state.get(_UNSAVED, [])
    return drafts
