"""The page behind a frozen link, for people who may see nothing else of this server."""

from __future__ import annotations

import logging

import streamlit as st

from sharing.errors import LinkRefused, Refusal, SharingError
from sharing.links import Holder
from sharing.links.records import Shared, Unlocked
from sharing.report.engines import engines
from ui.format import as_markdown
from ui.library import library
from ui.shared.blocks import draw_sections
from ui.shared.today import draw_today

TOKEN = "token"
"""Parameter of the address that opens the page."""
WIDTH_PX = 1080
"""Chosen: text of a report is read, and printed, at the width of a page."""

_UNLOCKED, _SEEN, _PROBLEM = "links_unlocked", "links_seen", "link_problem"
_LOG = logging.getLogger(__name__)


def draw() -> None:
    """The stored report, or one sentence why there is none."""
    with st.container(horizontal_alignment="center"), st.container(width=WIDTH_PX):
        try:
            holder = Holder(library(), st.query_params.get(TOKEN, ""))
            _draw_shared(holder)
        except LinkRefused as refused:
            _refuse(refused)
        except SharingError as error:
            _LOG.error("A frozen link could not be shown: %s", error)
            _say("This page cannot be shown now. Try again later.")


def _draw_shared(holder: Holder) -> None:
    unlocked: dict[str, Unlocked] = st.session_state.setdefault(_UNLOCKED, {})
    try:
        shared = holder.show(unlocked.get(holder.token))
    except LinkRefused as refused:
        if refused.refusal is not Refusal.LOCKED:
            raise
        _ask_for_password(holder)
        return
    _count(holder, shared)
    _draw_report(holder, shared)


def _draw_report(holder: Holder, shared: Shared) -> None:
    report, link = shared.report, shared.link
    st.title(as_markdown(report.title), anchor=False)
    whom = f" for {report.customer}" if report.customer else ""
    who = f" by {report.author}" if report.author else ""
    st.caption(as_markdown(f"Stored{whom}{who} on {report.made_at:%Y-%m-%d %H:%M} UTC; it does not change."))
    if between := engines(report.engine_version):
        st.caption(as_markdown(between))
    draw_sections(report, dark=st.context.theme.type == "dark")
    draw_today(holder, shared)
    until = f" This link ends on {link.expires_at:%Y-%m-%d %H:%M} UTC." if link.expires_at else ""
    versions = f"Engine {report.engine_version}, data {report.data_version} of {report.data_date}."
    st.caption(as_markdown(f"{versions} Version {link.version} of the scenario. Estimates, not guarantees.{until}"))


def _ask_for_password(holder: Holder) -> None:
    st.title("A shared sizing", anchor=False)
    with st.form("link_password", width=420):
        st.text_input(
            "Password", type="password", key="link_guess", max_chars=200, help="Of whoever sent you the link."
        )
        st.form_submit_button("Open", type="primary", on_click=_unlock, args=(holder,))
    if problem := st.session_state.pop(_PROBLEM, None):
        st.error(as_markdown(problem), icon=":material/error:")


def _unlock(holder: Holder) -> None:
    """Try the password that was typed (for callbacks)."""
    try:
        st.session_state[_UNLOCKED][holder.token] = holder.unlock(st.session_state["link_guess"])
    except LinkRefused as refused:
        st.session_state[_PROBLEM] = str(refused)
    except SharingError as error:
        _LOG.error("A password could not be looked at: %s", error)
        st.session_state[_PROBLEM] = "This page cannot be opened now. Try again later."


def _count(holder: Holder, shared: Shared) -> None:
    """One view for a session, however often it draws the page. What is agreed is shown even if that cannot be kept."""
    seen: set[int] = st.session_state.setdefault(_SEEN, set())
    if shared.link.id in seen:
        return
    seen.add(shared.link.id)
    try:
        holder.count_view(shared.link)
    except SharingError as error:
        _LOG.error("A view of a frozen link was not counted: %s", error)


def _refuse(refused: LinkRefused) -> None:
    _say(f"{refused} Ask whoever sent it to you for another one.")


def _say(sentence: str) -> None:
    st.title("A shared sizing", anchor=False)
    st.warning(as_markdown(sentence), icon=":material/link_off:")
