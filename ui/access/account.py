"""Who is logged in, with the way out; and that nobody has to, where others reach this server."""

from __future__ import annotations

import ipaddress

import streamlit as st

from ui.access.remembered import return_to_address
from ui.access.session import Standing, who


def draw_account() -> None:
    """The account, in the sidebar; nothing where there is no login."""
    session = who()
    if session.standing is not Standing.IN or session.actor.role is None:
        return
    with st.sidebar:
        st.text(f"{session.actor.name}, {session.actor.role.value}")
        st.button("Log out", key="log_out", icon=":material/logout:", on_click=st.logout, type="tertiary")
        return_to_address()


def draw_open_to_everybody() -> None:
    """A warning where this server answers other machines and nobody has to log in."""
    if who().standing is Standing.NO_LOGIN_NEEDED and not _is_of_this_machine():
        st.warning(
            "Nobody has to log in: whoever reaches this address sees, changes and deletes every scenario "
            "(docs/ACCESS.md says how to ask for a login).",
            icon=":material/lock_open:",
        )


def _is_of_this_machine() -> bool:
    """Whether the server answers this machine only, and was called by a name of it."""
    host = st.context.headers.get("Host", "localhost").strip()
    called = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return _is_local(called) and _is_local(st.get_option("server.address") or "")


def _is_local(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.casefold() == "localhost"
