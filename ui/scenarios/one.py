"""One scenario of the list: open, duplicate, delete or restore, export, history."""

import streamlit as st

from sharing.access import Right
from sharing.document import file_stem, to_json, to_yaml
from sharing.library.records import Conflict, LibraryEntry, Version
from sharing.report.prices import at_list_prices, has_own_prices
from sizing.base.format import counted
from sizing.scenario.bounds import LONGEST_NAME
from ui.access import actor, allowed
from ui.currency import Currency
from ui.format import as_markdown
from ui.library import draw_share_of, library, links, refused
from ui.library.exported import exported
from ui.scenarios.customer import draw_button
from ui.scenarios.history import draw_history, open_in_size
from ui.shell import draw_download, draw_own_prices

COPY = " (copy)"


def draw_one(entry: LibraryEntry, currency: Currency) -> None:
    """What can be done with a scenario, and its versions."""
    with refused():
        history = library().history(entry.id)
        with st.container(horizontal=True):
            _buttons(entry, history[0])
            draw_button(history[0])
        with refused():  # of a newer version of the product: everything but its content is there
            _downloads(entry, history[0])
        draw_history(history, currency)


def _buttons(entry: LibraryEntry, latest: Version) -> None:
    if st.button("Open in Size", key="scenario_open", type="primary", icon=":material/open_in_new:", help="To edit."):
        open_in_size(latest, latest.number)
    if allowed(Right.SAVE) and st.button(
        "Duplicate", key="scenario_copy", icon=":material/content_copy:", help="A scenario of its own."
    ):
        library().duplicate(entry.id, name=f"{entry.name[: LONGEST_NAME - len(COPY)]}{COPY}", by=actor())
        st.rerun()
    if allowed(Right.SHARE):
        draw_share_of(latest)
    if entry.deleted_at is None:
        _delete(entry)
    else:
        _restore(entry)
        _remove(entry)


def _delete(entry: LibraryEntry) -> None:
    if allowed(Right.DELETE) and st.button(
        "Delete", key="scenario_delete", icon=":material/delete:", help="An administrator can restore it."
    ):
        _after(library().delete(entry.id, entry.version, by=actor()))


def _restore(entry: LibraryEntry) -> None:
    if allowed(Right.RESTORE) and st.button(
        "Restore", key="scenario_restore", icon=":material/restore_from_trash:", help="Back into the list."
    ):
        _after(library().restore(entry.id, entry.version, by=actor()))


def _remove(entry: LibraryEntry) -> None:
    """Said once more before it is done, for each scenario anew: a second click must not remove the next one."""
    if not allowed(Right.PURGE):
        return
    popover = st.popover(
        "Remove for good",
        icon=":material/delete_forever:",
        key=f"scenario_remove_{entry.id}",
        on_change="rerun",
        help="With its history; its links show nothing any more.",
    )
    if not popover.open:
        return
    with popover:
        shared = len(links().of_scenario(entry.id, by=actor()))
        gone = f"{counted(entry.version, 'version')} and {counted(shared, 'frozen link')}"
        st.markdown(f"**{as_markdown(entry.name)}**: {gone} would be gone, and nothing brings them back.")
        if st.button(
            "Remove for good", key=f"scenario_purge_{entry.id}", type="primary", help="Not in backups and files."
        ):
            library().purge(entry.id, by=actor())
            st.rerun()


def _after(result: Version | Conflict) -> None:
    if isinstance(result, Conflict):
        st.warning("Somebody changed this scenario meanwhile: look at its history first.")
    else:
        st.rerun()


def _downloads(entry: LibraryEntry, latest: Version) -> None:
    """Files of the latest version, at list prices until the user's own are asked for."""
    scenario, stem = latest.scenario(), file_stem(entry.name)
    if has_own_prices(scenario) and not draw_own_prices(present=True):
        scenario = at_list_prices(scenario)
        st.caption("The files are at list prices.")
    with st.container(horizontal=True):
        for kind, mime, content in (
            ("yaml", "application/yaml", lambda: to_yaml(scenario)),
            ("json", "application/json", lambda: to_json(scenario)),
        ):
            draw_download(
                f"Export ({kind.upper()})",
                exported(f"scenario {entry.id}, version {entry.version}", content),
                f"{stem}.{kind}",
                mime,
                key=f"scenario_{kind}",
                icon="download",
                help="Opens on Size, in the library and with: python -m sizing plan FILE",
            )
