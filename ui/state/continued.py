"""A page whose server has gone, and which has found another: what it brings along, and what it has to be told."""

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.scriptrunner import get_script_run_ctx

from sharing.form.link import fits

ASKED_SESSION = 2
"""Place of the session that Streamlit's page had, among the protocols that its web socket asks for."""

GONE = (
    "The server that this page was connected to is gone: files and addresses of live sources that were given to it "
    "have to be given again. The inputs are as you left them, and what was saved is in the library."
)
"""What a page says that has found another server, or the same one started anew."""


def had_another_session() -> bool:
    """Whether the page was connected before: it asks for the session that it had."""
    protocols = st.context.headers.get("Sec-WebSocket-Protocol", "").split(",")
    return len(protocols) > ASKED_SESSION and bool(protocols[ASKED_SESSION].strip())


def brought_along() -> dict[str, list[str]]:
    """The inputs that stand in the browser's fields, as an address has them: they may be newer than the address, which
    the server wrote that has gone."""
    context = get_script_run_ctx()
    states = context.session_state.get_widget_states() if context is not None else []
    brought = {_key(state.id): texts for state in states if (texts := _texts(state)) is not None}
    return {key: texts for key, texts in brought.items() if fits(key, texts)}


def _key(identifier: str) -> str:
    """The key that a widget was given, the last part of how Streamlit calls it."""
    return identifier.split("-", 2)[-1]


def _texts(state: WidgetState) -> list[str] | None:
    match state.WhichOneof("value"):
        case "string_value":
            return [state.string_value]
        case "string_array_value":
            return list(state.string_array_value.data)
        case "bool_value":
            return [str(state.bool_value).lower()]
    return None
