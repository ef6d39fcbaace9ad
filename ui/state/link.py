"""The link to the inputs: what it carries, what it cannot, and how inputs come along from page to page."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.errors import StreamlitAPIException

from ui.form.choices import label
from ui.form.fields import FIELDS
from ui.form.link import dropped
from ui.state.values import defaults, trace, values

LINK_VERSION = "1"
"""Version of the defaults that links leave out; a link of another version says so."""

NAMED_TRACE = "trace"
"""Parameter that names the trace of a link: it cannot be carried, but who opens the link is to know."""

WITH_FORM = ("size", "explore")
"""Pages that hold the form, and so the inputs in their address."""

_PAGE, _CAME, _DROPPED = "page_of_the_form", "came_from_another_page", "dropped_from_link"


@dataclass(frozen=True, kw_only=True)
class _Dropped:
    """What a link said in vain, with which inputs it was shown first, and whether they have changed since."""

    sentences: tuple[str, ...] = ()
    shown_with: dict[str, str | list[str]] | None = None
    over: bool = False


_NOTHING_DROPPED = _Dropped()


def parameters() -> dict[str, str | list[str]]:
    """What a link to these inputs carries. Prices, a config.json and a benchmark are never part of it."""
    now, default = values(), defaults()
    shown = {key: now[key] for key in FIELDS if now[key] != default[key] and not FIELDS[key].private}
    in_use = trace()
    named = {NAMED_TRACE: in_use.name} if in_use else {}
    return {"v": LINK_VERSION} | named | {key: _in_link(key, value) for key, value in shown.items()}


def link() -> str:
    """Address of the Size page that fills in these inputs."""
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(parameters(), doseq=True)}"


def link_notes() -> tuple[str, ...]:
    """What to say about the link that was opened: left-out inputs that mean something else now, a trace it lacks."""
    notes = []
    version = st.query_params.get("v", LINK_VERSION)
    if version != LINK_VERSION:
        notes.append(
            f"This link was made for version {version[:20]} of the form, this is version {LINK_VERSION}: "
            "check the inputs that it does not name."
        )
    named = st.query_params.get(NAMED_TRACE)
    if named and trace() is None:
        notes.append(
            f"This link was made with the trace {named[:80]}, which a link cannot carry: lengths are "
            "lognormal by p50 and p95 and arrivals random, unless you fill the form in from that trace again."
        )
    return (*notes, *_dropped_notes())


def _dropped_notes() -> tuple[str, ...]:
    """What was left out of the link, until an input changes."""
    dropped_inputs: _Dropped = st.session_state.get(_DROPPED, _NOTHING_DROPPED)
    if not dropped_inputs.sentences or dropped_inputs.over:
        return ()
    now = parameters()
    if dropped_inputs.shown_with not in (None, now):
        st.session_state[_DROPPED] = replace(dropped_inputs, over=True)
        return ()
    st.session_state[_DROPPED] = replace(dropped_inputs, shown_with=now)
    return dropped_inputs.sentences


def mark_link() -> None:
    """Put the version of the defaults, and the name of the trace in use, into the address."""
    in_use = trace()
    for key, value in (("v", LINK_VERSION), *(((NAMED_TRACE, in_use.name),) if in_use else ())):
        if st.query_params.get(key) != value:
            st.query_params[key] = value


def carry_over(page: str) -> None:
    """Take the inputs along to another page that has the form; before anything of it is drawn.

    A widget of one page is another widget than that of the same key on the next page, and in its first run it would
    start from its default. What the address of the next page says goes first; what it lacks is added.
    """
    if page in WITH_FORM:
        _note_dropped()
    st.session_state[_CAME] = st.session_state.get(_PAGE, page) != page
    if came():
        for key in (*FIELDS, "preset"):
            if key in st.session_state:
                st.session_state[key] = st.session_state[key]
        if page in WITH_FORM:
            with suppress(StreamlitAPIException):  # fields that are bound already write the address themselves
                st.query_params.update({k: v for k, v in parameters().items() if k not in st.query_params})
    st.session_state[_PAGE] = page


def came() -> bool:
    """Whether this is the first run of a page after another one of this session."""
    return bool(st.session_state.get(_CAME, False))


def _note_dropped() -> None:
    """Remember what the address says that no widget takes: once the widgets are drawn it is gone from there."""
    sentences = dropped({key: st.query_params.get_all(key) for key in st.query_params})
    if not set(sentences) <= set(st.session_state.get(_DROPPED, _NOTHING_DROPPED).sentences):
        st.session_state[_DROPPED] = _Dropped(sentences=sentences)


def _in_link(key: str, value: Any) -> str | list[str]:
    """A value as Streamlit writes it into the address: by its label."""
    match FIELDS[key].kind:
        case "many":
            return [label(key, option) for option in value] or ""
        case "choice":
            return label(key, value) if value else ""
        case "switch":
            return str(value).lower()
    return str(value)
