"""The address of a page: read where the browser opens it, written as one whole where the page has changed.

Streamlit can bind each widget to a parameter of the address. It is not used here, because then an address holds what is
drawn rather than what is sized: every field that a click changes becomes an entry of the browser's history of its own,
and on the way to another page there are entries that lack inputs, which "back" then takes for the inputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.scriptrunner import get_script_run_ctx

from sharing.form.cost_words import COST_CHOICES
from sharing.form.fields import FIELDS
from sharing.form.left_behind import GIVEN, KINDS, NAMED_TRACE, given
from sharing.form.link import (
    NO_INPUTS,
    VERSION,
    WITH_FORM,
    WITH_INPUTS,
    field_of,
    fits,
    from_parameters,
    link_to,
    to_parameters,
    too_much,
)
from sharing.form.link_versions import LINK_VERSION, unknown_version
from sharing.links.live import without_addresses
from ui.format import listed
from ui.state import views
from ui.state.costs import COST_PAGE, wrong_costs
from ui.state.values import benchmark, price_book, trace, use_trace_named, values, write

_ABOUT_LINKS = (VERSION, NAMED_TRACE, GIVEN)
_PAGE, _NOTES = "page_entered", "notes_on_the_link"

ASKED_SESSION = 2
"""Place of the session that Streamlit's page had, among the protocols that its web socket asks for."""

GONE = (
    "The server that this page was connected to is gone: files and addresses of live sources that were given to it "
    "have to be given again. The inputs are as you left them, and what was saved is in the library."
)
"""What a page says that has found another server, or the same one started anew."""


@dataclass(frozen=True, kw_only=True)
class _Notes:
    """What there is to say about the address that was opened, as long as its inputs stand, or on its page alone."""

    sentences: tuple[str, ...]
    given: tuple[str, ...] = ()
    inputs: dict[str, list[str]] | None = None
    page: str = ""


def parameters() -> dict[str, list[str]]:
    """What a link to these inputs carries. Prices, a config.json and a benchmark are never part of it; that there are
    prices or a benchmark is."""
    now = values()
    kinds = _given(now)
    costs = views.carried(COST_PAGE, COST_CHOICES)
    return _inputs(now) | costs | ({GIVEN: [",".join(kinds)]} if kinds else {})


def _inputs(now: Mapping[str, Any]) -> dict[str, list[str]]:
    in_use = trace()
    named = {NAMED_TRACE: [in_use.name]} if in_use else {}
    return {VERSION: [LINK_VERSION]} | named | to_parameters(now)


def _given(now: Mapping[str, Any]) -> tuple[str, ...]:
    return given(now, benchmark=benchmark(), price_book=price_book())


def address_of(page: str) -> dict[str, list[str]]:
    """The parameters of a page as it stands: the inputs where it has the form, and what is open on it."""
    return (parameters() if page in WITH_INPUTS else {}) | views.parameters(page)


def link() -> str:
    """Address of the Size page that fills in these inputs."""
    return link_to((st.context.url or "").split("?")[0], without_addresses(parameters()))


def link_notes() -> tuple[str, ...]:
    """What to say about the link that was opened, until an input changes; of a page without inputs, on that page."""
    notes: _Notes | None = st.session_state.get(_NOTES)
    if notes is None or (not is_at(notes.page) if notes.inputs is None else notes.inputs != _inputs(values())):
        return ()
    return (*notes.sentences, *_of_given(notes.given))


def enter(page: str) -> None:
    """Begin a run of a page, before anything of it is drawn: the inputs come along, or from the address.

    The address counts where the browser opens it: for a session that begins, and for "back" and "forward". In between
    the page counts, and the address follows: one that comes with a click may be older than what was typed last.
    """
    before = st.session_state.get(_PAGE)
    st.session_state[_PAGE] = page
    if before not in (None, page):  # a widget is another one on the next page, and would start from its default
        hold()
    if before is None or _history_moved():
        is_continued = before is None and had_another_session()
        _open(page, brought_along() if is_continued else {})
        if is_continued:
            _say_what_is_gone(page)
    else:
        views.stay(page)
        write_address()


def _say_what_is_gone(page: str) -> None:
    notes: _Notes | None = st.session_state.get(_NOTES)
    if notes is None:
        notes = (
            _Notes(sentences=(), inputs=_inputs(values())) if page in WITH_INPUTS else _Notes(sentences=(), page=page)
        )
    st.session_state[_NOTES] = replace(notes, sentences=(GONE, *notes.sentences))


def hold() -> None:
    """Keep the inputs over a run that does not draw the form: with their widgets they would be forgotten."""
    for key in FIELDS:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def is_at(page: str) -> bool:
    """Whether the session is on this page."""
    return bool(st.session_state.get(_PAGE) == page)


def holds_form() -> bool:
    """Whether the session is on a page with the form of a scenario."""
    return st.session_state.get(_PAGE) in WITH_FORM


def write_address() -> None:
    """Let the address say what the page holds; nothing where it does. One entry of the browser's history.

    A part that refreshes may run before its session has entered a page, as after a restart of the server.
    """
    page = st.session_state.get(_PAGE)
    if page is None:
        return
    wanted = address_of(page)
    if wanted != address_parameters():
        st.query_params.from_dict(wanted)


def _open(page: str, brought: Mapping[str, list[str]]) -> None:
    """Take over what the address says, and the inputs that the browser brings along. An address that says nothing of
    inputs leaves those of the session as they are."""
    address = {**address_parameters(), **(brought if page in WITH_INPUTS else {})}
    if sentence := too_much(address):
        views.open_page(page, {})
        st.session_state[_NOTES] = _Notes(sentences=(sentence,), page=page)
        return
    others = NO_INPUTS - {*_ABOUT_LINKS, *(() if page == COST_PAGE else COST_CHOICES)}
    views.open_page(page, {key: given for key, given in address.items() if key in others})
    if page not in WITH_INPUTS:
        unknown = {key: given for key, given in address.items() if key not in NO_INPUTS and field_of(key) is None}
        st.session_state[_NOTES] = _Notes(sentences=from_parameters(unknown).problems, page=page)
        return
    if not address.keys() - others:
        return
    if page != COST_PAGE:
        views.bring(COST_PAGE, {key: address.get(key, []) for key in COST_CHOICES})
    opened = from_parameters(address)
    write(opened.values)
    named = address.get(NAMED_TRACE, [""])[-1]
    use_trace_named(named)
    sentences = (*_of_version(address), *_of_trace(named), *opened.problems, *wrong_costs(address))
    kinds = tuple(kind for text in address.get(GIVEN, ()) for kind in text.split(",") if kind in KINDS)
    st.session_state[_NOTES] = _Notes(sentences=sentences, given=kinds, inputs=_inputs(values()))


def _of_version(address: dict[str, list[str]]) -> tuple[str, ...]:
    unknown = unknown_version(address.get(VERSION, ()))
    return (f"{unknown}: check the inputs that it does not name.",) if unknown else ()


def _of_trace(named: str) -> tuple[str, ...]:
    if not named or trace() is not None:
        return ()
    return (
        f"This link was made with the trace {named[:80]}, which a link cannot carry: lengths are "
        "lognormal by p50 and p95 and arrivals random, unless you fill the form in from that trace again.",
    )


def _of_given(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """What is said of what a link was made with, as long as this session does not have it: a browser that connects
    again brings along what stands in its fields."""
    if not kinds:
        return ()
    here = _given(values())
    missing = [KINDS[kind] for kind in KINDS if kind in kinds and kind not in here]
    if not missing:
        return ()
    return (
        f"This link was made with {listed(missing)}, which a link cannot carry: the answer is without, until that is "
        "given again.",
    )


def address_parameters() -> dict[str, list[str]]:
    """The parameters of the address, repeated ones included."""
    return {key: st.query_params.get_all(key) for key in st.query_params}


def _history_moved() -> bool:
    """Whether the browser went back or forward. Streamlit 1.67 knows, and tells nobody but its own bound widgets."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


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
