"""Who comes and goes, in the audit log: once a session, and when somebody's role has changed since."""

from __future__ import annotations

import streamlit as st

from sharing.access import Actor
from sharing.audit import Act, note
from ui.access.session import Standing, who

_NOTED = "noted_as"


def note_who() -> None:
    """Write down who uses this session by a login, the first time and whenever their role is another one."""
    session = who()
    if session.standing not in (Standing.IN, Standing.WITHOUT_ROLE):
        return
    before: Actor | None = st.session_state.get(_NOTED)
    if before == session.actor:
        return
    st.session_state[_NOTED] = session.actor
    address = str(st.context.ip_address or "")
    if before is not None and before.name == session.actor.name:
        was = before.role.value if before.role else "none"
        note(Act.ROLE_CHANGED, session.actor, f"role, before: {was}", address=address)
    else:
        act = Act.LOGGED_IN if session.standing is Standing.IN else Act.TURNED_AWAY
        note(act, session.actor, "dashboard", address=address)
