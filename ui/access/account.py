"""Who is logged in, with the way out; and that nobody has to, where others reach this server."""

import streamlit as st

from ui.access.remembered import return_to_address
from ui.access.session import Standing, end, who
from ui.gate.serving import called, is_local


def draw_account() -> None:
    """The account, in the sidebar; nothing where there is no login."""
    session = who()
    if session.standing is not Standing.IN or session.actor.role is None:
        return
    with st.sidebar:
        st.text(f"{session.actor.name}, {session.actor.role.value}")
        st.button("Log out", key="log_out", icon=":material/logout:", on_click=end, type="tertiary")
        return_to_address()


def draw_open_to_everybody() -> None:
    """A warning where this server answers other machines and nobody has to log in."""
    if who().standing is Standing.NO_LOGIN_NEEDED and not _is_of_this_machine():
        st.warning(
            "Nobody has to log in: whoever reaches this address sees, changes and deletes every scenario "
            "(docs/ACCESS.md says how to ask for a login).",
            icon=":material/lock_open:",
        )


def is_owners_machine() -> bool:
    """Whether nobody has to log in, and nobody but who sits before this machine reaches the server."""
    return who().standing is Standing.NO_LOGIN_NEEDED and _is_of_this_machine()


def _is_of_this_machine() -> bool:
    """Whether the server answers this machine only, and was called by a name of it."""
    name = called(st.context.headers.get("Host", "localhost").strip())
    return is_local(name or "") and is_local(st.get_option("server.address") or "")
