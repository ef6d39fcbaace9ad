"""One scenario of the list: open, duplicate, delete or restore, export, history."""

import pandas as pd
import streamlit as st

from sharing.access import Right
from sharing.document import file_stem, to_json, to_yaml
from sharing.library.records import Conflict, KeyChange, LibraryAction, LibraryEntry, Version
from sharing.report.engines import engines
from sharing.report.prices import at_list_prices, has_own_prices
from sizing.base.format import counted
from sizing.decision.text import name_of
from sizing.scenario.bounds import LONGEST_NAME
from ui.access import actor, allowed
from ui.currency import Currency
from ui.format import as_markdown
from ui.library import draw_share_of, library, links, open_in_size, refused
from ui.library.exported import exported
from ui.library.save import changes_table
from ui.scenarios.customer import draw_button
from ui.shell import draw_download, draw_own_prices

COPY = " (copy)"

MOST_NAMED = 3
"""Changes that the line of a version names. Chosen: what fits on it; the table below has them all."""


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


def draw_history(history: tuple[Version, ...], currency: Currency) -> None:
    """A line for each version, the latest first; all changes of one, and opening it as it was then."""
    with st.expander(f"History: {counted(len(history), 'version')}", icon=":material/history:"):
        st.dataframe(
            history_table(history, currency),
            hide_index=True,
            key="scenario_history",
            alt="History of the scenario",
            placeholder="",
            column_config={
                "What changed": st.column_config.Column(width="large"),
                _cost(currency): st.column_config.NumberColumn(format="localized"),
            },
        )
        by_number = {version.number: version for version in history}
        number = st.selectbox("Version", list(by_number), key="scenario_version", help="To open as it was then.")
        if number in by_number:
            _draw_version(by_number[number], latest=max(by_number))


def history_table(history: tuple[Version, ...], currency: Currency) -> pd.DataFrame:
    """A row for each version."""
    figures = [version.figures for version in history]
    costs = [None if one is None or one.usd_per_month is None else currency.of(one.usd_per_month) for one in figures]
    return pd.DataFrame(
        {
            "Version": [version.number for version in history],
            "When (UTC)": [f"{version.at:%Y-%m-%d %H:%M}" for version in history],
            "Who": [version.author for version in history],
            "What changed": [summary(version) for version in history],
            "GPUs": pd.array([one.gpus if one else None for one in figures], dtype="Int64"),
            _cost(currency): [None if cost is None else round(cost) for cost in costs],
            "Engine": [one.engine_version if one else "" for one in figures],
        }
    )


def _cost(currency: Currency) -> str:
    return f"Hardware ({currency.code}/month)"


def summary(version: Version) -> str:
    """What a version did, in a line."""
    if version.action is not LibraryAction.SAVED:
        return version.action.value.capitalize()
    if not version.changes:
        return "Saved without a change"
    named = "; ".join(map(_written, version.changes[:MOST_NAMED]))
    more = len(version.changes) - MOST_NAMED
    return f"{named}; and {more} more" if more > 0 else named


def _written(change: KeyChange) -> str:
    return f"{name_of(change.key)}: {change.before or 'none'} → {change.after or 'none'}"


def _draw_version(version: Version, *, latest: int) -> None:
    if version.action is LibraryAction.SAVED and version.changes:
        st.dataframe(
            changes_table(version.changes),
            hide_index=True,
            key="version_changes",
            alt="What it changed",
            placeholder="",
        )
    if between := engines(version.figures.engine_version if version.figures else ""):
        st.caption(as_markdown(between))
    if st.button("Open this version", key="version_open", help="In Size, to edit."):
        open_in_size(version, latest)
