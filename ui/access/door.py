"""What stands in place of a page that a session may not see. Nothing of the page is computed or sent."""

from collections.abc import Mapping
from importlib.util import find_spec

import streamlit as st

from sizing.base.markdown import escaped
from ui.access.remembered import remember_address
from ui.access.session import Standing, Who, end, who
from ui.format import as_markdown

_SENTENCES: Mapping[Standing, str] = {
    Standing.LOGGED_OUT: "Log in to see this page.",
    Standing.ENDED: "Your login has ended. Log in again: the address of this page keeps your inputs.",
    Standing.MISCONFIGURED: "Nobody gets in: how this server is set up cannot be used. Its log says why.",
}


def draw_door() -> None:
    """Why the page is not shown, and the way in."""
    session = who()
    st.title("Inference sizing", anchor=False)
    st.info(_SENTENCES.get(session.standing) or _refusal(session), icon=":material/lock:")
    if session.standing in (Standing.LOGGED_OUT, Standing.ENDED):
        _draw_login()
    elif session.standing is Standing.WITHOUT_ROLE:
        st.button("Log out", key="log_out", icon=":material/logout:", on_click=end, help="To log in as another.")


def _refusal(session: Who) -> str:
    """As Markdown, in which the address to ask at may be a link, and that of a stranger is none."""
    ask = f"Ask {escaped(session.rules.ask or 'whoever runs this server')} for it."
    if session.actor.role is None:
        return f"{as_markdown(session.actor.name) or 'This account'} has no access here. {ask}"
    return f"This page is not for the role {session.actor.role.value}. {ask}"


def _draw_login() -> None:
    if find_spec("authlib") is None:
        st.error("Logging in needs: pip install -r requirements-login.txt", icon=":material/error:")
        return
    remember_address()
    for provider, label in _providers().items():
        st.button(
            label,
            key=f"log_in_{provider}",
            type="primary",
            icon=":material/login:",
            help="At your provider of accounts, which then leads back here.",
            on_click=st.login,
            args=(provider,),
        )


def _providers() -> dict[str | None, str]:
    """The providers of the secrets, by the name that st.login knows them by; None: the only one."""
    named = [name for name, part in st.secrets["auth"].items() if isinstance(part, Mapping) and "client_id" in part]
    return {name: f"Log in with {name}" for name in named} or {None: "Log in"}
