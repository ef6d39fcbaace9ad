"""The page behind a frozen link, for people who may see nothing else of this server.

On a click it says what would differ if the stored answer were computed today, with the same money shown.
"""

import logging

import streamlit as st

from sharing.errors import LinkRefusal, LinkRefused, SharingError
from sharing.links import Holder
from sharing.links.freezing import FrozenFigure, Today, today
from sharing.links.records import Shared, Unlocked
from sharing.report.content import Report
from sharing.report.engines import engines
from sizing.base.errors import SizingError
from sizing.base.format import counted
from ui import state
from ui.format import as_markdown
from ui.library import library
from ui.shared.blocks import draw_sections

TOKEN = "token"
"""Parameter of the address that opens the page."""
WIDTH_PX = 1080
"""Chosen: text of a report is read, and printed, at the width of a page."""

_UNLOCKED, _SEEN, _PROBLEM = "links_unlocked", "links_seen", "link_problem"
_LOG = logging.getLogger(__name__)

_LOG = logging.getLogger(__name__)


def draw() -> None:
    """The stored report, or one sentence why there is none."""
    with st.container(horizontal_alignment="center"), st.container(width=WIDTH_PX):
        try:
            holder = Holder(library(), st.query_params.get(TOKEN, ""), st.context.ip_address or "")
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
        if refused.refusal is not LinkRefusal.LOCKED:
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


def draw_today(holder: Holder, shared: Shared) -> None:
    """The button, and below it both answers."""
    help_text = "Computes the same inputs with today's engine and data. What was stored stays as it is."
    if not st.button("What would differ if recomputed today", key="today", icon=":material/update:", help=help_text):
        return
    try:
        with st.spinner("Computing today's answer"):
            version = holder.version(shared.link)
            now = today(shared.report, version, planner=lambda scenario: state.plan_of(scenario.model_dump_json()))
    except (SharingError, SizingError) as error:
        _LOG.error("A frozen link could not be computed again: %s", error)
        st.warning("Today's version cannot compute this scenario.", icon=":material/update_disabled:")
        return
    _draw(shared.report, now)


def _draw(report: Report, now: Today) -> None:
    differing = now.differing
    if differing or now.answer != report.answer:
        st.warning(f"Recomputed today, {counted(differing, 'figure')} would differ.", icon=":material/difference:")
    else:
        st.success("Recomputed today, nothing would differ.", icon=":material/check:")
    st.markdown(as_markdown(f"Today's answer: {now.answer}"))
    st.dataframe(
        {
            "Figure": [one.label for one in now.figures],
            "Stored": [one.stored for one in now.figures],
            "Today": [one.today for one in now.figures],
            "Differs": [_mark(one) for one in now.figures],
        },
        hide_index=True,
        key="today_rows",
        alt="Stored figures and today's",
        placeholder="–",
    )
    st.caption(as_markdown(f"Today: engine {now.engine_version}, data {now.data_version}."))


def _mark(one: FrozenFigure) -> str:
    return "yes" if one.stored != one.today else ""
