"""One scenario of the list: open, duplicate, delete or restore, export, history."""

from __future__ import annotations

import streamlit as st

from sharing.document import file_stem, to_json, to_yaml
from sharing.library.records import Action, Change, Conflict, Entry, Version
from ui import state
from ui.library import author, library, open_version, refused
from ui.shell import draw_download


def draw_one(entry: Entry) -> None:
    """What can be done with a scenario, and its versions."""
    with refused():
        history = library().history(entry.id)
        with st.container(horizontal=True):
            _buttons(entry, history[0])
        with refused():  # of a newer version of the product: everything but its content is there
            _downloads(entry, history[0])
        _draw_history(history)


def _buttons(entry: Entry, latest: Version) -> None:
    if st.button("Open in Size", key="scenario_open", type="primary", icon=":material/open_in_new:", help="To edit."):
        _open(latest)
    if st.button("Duplicate", key="scenario_copy", icon=":material/content_copy:", help="A scenario of its own."):
        library().duplicate(entry.id, name=f"{entry.name[:190]} (copy)", author=author())
        st.rerun()
    if entry.deleted_at is None:
        if st.button("Delete", key="scenario_delete", icon=":material/delete:", help="It can be restored."):
            _after(library().delete(entry.id, entry.version, author=author()))
    elif st.button("Restore", key="scenario_restore", icon=":material/restore_from_trash:", help="Back into the list."):
        _after(library().restore(entry.id, entry.version, author=author()))


def _after(result: Version | Conflict) -> None:
    if isinstance(result, Conflict):
        st.warning("Somebody changed this scenario meanwhile: look at its history first.")
    else:
        st.rerun()


def _open(version: Version) -> None:
    open_version(version)
    st.switch_page("pages/size.py", query_params=state.address_of("size"))


def _downloads(entry: Entry, latest: Version) -> None:
    scenario, stem = latest.scenario(), file_stem(entry.name)
    with st.container(horizontal=True):
        for kind, mime, content in (
            ("yaml", "application/yaml", lambda: to_yaml(scenario)),
            ("json", "application/json", lambda: to_json(scenario)),
        ):
            draw_download(
                f"Export ({kind.upper()})",
                content,
                f"{stem}.{kind}",
                mime,
                key=f"scenario_{kind}",
                icon="download",
                help="Opens on Size, in the library and with: python -m sizing plan FILE",
            )


def _to_show(version: Version) -> tuple[Change | None, ...]:
    """Changes of a version; of the first, which changed everything, that it was made."""
    return (None,) if version.action is Action.CREATED else version.changes or (None,)


def _draw_history(history: tuple[Version, ...]) -> None:
    with st.expander(f"History: {len(history)} versions", icon=":material/history:"):
        rows = [(version, change) for version in history for change in _to_show(version)]
        st.dataframe(
            {
                "Version": [version.number for version, _ in rows],
                "When (UTC)": [f"{version.at:%Y-%m-%d %H:%M:%S}" for version, _ in rows],
                "Who": [version.author for version, _ in rows],
                "What": [version.action.value for version, _ in rows],
                "Input": [change.key if change else "" for _, change in rows],
                "Before": [(change.before if change else None) or "" for _, change in rows],
                "After": [(change.after if change else None) or "" for _, change in rows],
            },
            hide_index=True,
            key="scenario_history",
            alt="History of the scenario",
        )
        by_number = {version.number: version for version in history}
        number = st.selectbox("Version", list(by_number), key="scenario_version", help="To open as it was then.")
        if number in by_number and st.button("Open this version", key="version_open", help="To edit."):
            _open(by_number[number])
