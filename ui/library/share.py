"""Share, beside Save: a live link to the inputs, and frozen links to the answer of a saved version."""

from datetime import timedelta

import streamlit as st

from sharing.access import Right
from sharing.document import whole_document
from sharing.library.records import Version
from sharing.links.live import live_link
from sharing.links.records import Link, LinkState, Terms
from sharing.report.content import Released
from sizing.base.errors import SizingError
from ui import shell, state
from ui.access import actor, allowed
from ui.database import library
from ui.format import as_markdown
from ui.library.connection import links, refused
from ui.library.export import PRICES, offered
from ui.library.opening import KEPT, OpenedVersion
from ui.library.save import draw_saved, save
from ui.shell import draw_problems, progress_bar

EXPIRES = {7: "In 7 days", 30: "In 30 days", 90: "In 90 days", None: "Never"}
MOST_SHOWN = 20
"""Links of the list, the latest. Chosen: what a popover has room for; the command line lists all."""

ABOUT_FROZEN = "**Frozen link**: the answer as it is now; it opens without a login and does not change."

_MADE = "share_made"


def draw_share() -> None:
    """A button that opens the ways to share what is on the page."""
    popover = st.popover(
        "Share",
        icon=":material/share:",
        key="share",
        on_change="rerun",
        help="A link that recomputes, or one to the answer as it is now.",
    )
    if not popover.open:
        return
    with popover:
        _draw_live(state.link())
        if allowed(Right.SHARE):
            st.markdown(ABOUT_FROZEN)
            with refused():
                _draw_frozen()


def _draw_live(address: str) -> None:
    st.markdown("**Live link**: the inputs; whoever opens it gets the answer of that day.")
    st.code(address, language=None, wrap_lines=True)
    st.caption("Prices of your own, a config.json and a benchmark are never in it.")


def _draw_frozen() -> None:
    kept: OpenedVersion | None = st.session_state.get(KEPT)
    version = library().version(kept.scenario_id, kept.number) if kept else None
    if version is not None and _is_on_the_page(version):
        draw_making(version)
    else:
        changed = f"These inputs are not those of version {kept.number}." if kept else "This scenario is not saved."
        st.caption(f"{changed} A frozen link is to a saved version.")
        st.button("Save", key="share_save", on_click=save, args=(kept,), help="Then it can be frozen.")
        draw_saved()
    if kept is not None:
        draw_links(kept.scenario_id)


def _is_on_the_page(version: Version) -> bool:
    answer = state.outcome().answer
    return answer is not None and whole_document(answer.scenario) == version.document


def draw_share_of(version: Version) -> None:
    """The same for a version in the library."""
    popover = st.popover("Share", icon=":material/share:", key="scenario_share", on_change="rerun", help="Links to it.")
    if not popover.open:
        return
    with popover:
        with refused():
            _draw_live(live_link(version.scenario(), shell.page_address("size")).address)
        st.markdown(ABOUT_FROZEN)
        with refused():
            draw_making(version)
            draw_links(version.scenario_id)


def draw_making(version: Version) -> None:
    """What a frozen link shows, until when and behind which password; then its address, once."""
    with st.form("share_form", clear_on_submit=True, border=False):
        prices = st.radio(
            "Prices shown",
            offered(version.scenario()),
            key="share_prices",
            format_func=PRICES.__getitem__,
            horizontal=True,
            help="Without your own prices the answer is the one that list prices lead to, if any are shown.",
        )
        days = st.selectbox(
            "Ends", list(EXPIRES), index=1, key="share_days", format_func=EXPIRES.__getitem__, help="Refused then."
        )
        password = st.text_input(
            "Password (optional)",
            type="password",
            key="share_password",
            max_chars=200,
            help="At least 8 characters; give it to the reader by another way than the link.",
        )
        if st.form_submit_button("Make a frozen link", type="primary", icon=":material/ac_unit:"):
            _make(version, prices, days, password)
    if (made := st.session_state.get(_MADE)) and made[0] == (version.scenario_id, version.number):
        st.code(made[1], language=None, wrap_lines=True)
        st.caption("Copy it now: it is kept nowhere, and only recognised when it is opened.")


def _make(version: Version, released: Released, days: int | None, password: str) -> None:
    from sharing.links.freezing import frozen  # and with it all reports, for which no first page has to wait

    now, by = library().now(), actor()
    try:
        with progress_bar("Computing the report") as progress:
            report = frozen(
                version,
                released,
                made_at=now,
                author=by.name,
                planner=lambda scenario: state.plan_of(scenario.model_dump_json()),
                progress=progress,
            )
    except SizingError as error:
        draw_problems(str(error).splitlines())
        return
    terms = Terms(expires_at=now + timedelta(days=days) if days else None, password=password)
    made = links().make(version.scenario_id, version.number, report, terms, by=by)
    address = f"{shell.page_address('shared')}?token={made.token}"
    st.session_state[_MADE] = ((version.scenario_id, version.number), address)


def draw_links(scenario_id: int) -> None:
    """The frozen links of a scenario, each with its end."""
    latest = links().of_scenario(scenario_id, by=actor())[:MOST_SHOWN]
    if latest:
        st.markdown("**Frozen links of this scenario**")
    for link in latest:
        with st.container(horizontal=True, vertical_alignment="center"):
            is_open = link.state(library().now()) is LinkState.OPEN
            st.markdown(as_markdown(_described(link)), width="stretch")
            if is_open and allowed(Right.REVOKE):
                st.button("Revoke", key=f"revoke_{link.id}", on_click=_revoke, args=(link.id,), help="Refused then.")


def _described(link: Link) -> str:
    views = "1 view" if link.views == 1 else f"{link.views:,} views"
    until = f"until {link.expires_at:%Y-%m-%d}" if link.expires_at else "without end"
    how = link.state(library().now())
    ends = until if how is LinkState.OPEN else how.value
    locked = ", password" if link.has_password else ""
    made = f"{link.made_at:%Y-%m-%d %H:%M} by {link.made_by}"
    return f"{link.id}: version {link.version}, {made}, {PRICES[link.released].lower()}{locked}, {ends}, {views}"


def _revoke(link_id: int) -> None:
    """Let a link show nothing any more (for callbacks), and the address offered for copying: it may be that one."""
    st.session_state.pop(_MADE, None)
    with refused():
        links().revoke(link_id, by=actor())
