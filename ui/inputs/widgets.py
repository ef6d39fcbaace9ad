"""One function per kind of widget; each draws the field of that key."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import streamlit as st

from sharing.form.choices import label, labels
from sharing.form.fields import FIELDS, LONGEST_NUMBER
from sharing.form.read import OWN_GPU
from ui.inputs.faults import leave_fold, leave_place
from ui.state import defaults


def text(*keys: str, unit: str = "") -> None:
    """Text and number fields, side by side. ``unit`` is for lengths, whose unit is chosen in the form."""
    places: list[AbstractContextManager[Any]] = [nullcontext()]
    if len(keys) > 1:
        places = [*st.columns(len(keys), vertical_alignment="bottom")]
    for key, place in zip(keys, places, strict=True):
        field = FIELDS[key]
        with place:
            st.text_input(
                f"{field.title} ({unit})" if unit else field.title,
                value=defaults()[key],
                key=key,
                max_chars=LONGEST_NUMBER if field.kind == "number" else field.longest,
                placeholder=f"e.g. {field.example}" if field.example else None,
                help=field.help,
                persist_state="session",
            )
    leave_place(*keys)


def long_text(key: str) -> None:
    """A text of several lines."""
    field = FIELDS[key]
    st.text_area(
        field.title,
        value=defaults()[key],
        key=key,
        max_chars=field.longest,
        placeholder=f"e.g. {field.example}" if field.example else None,
        help=field.help,
        persist_state="session",
    )
    leave_place(key)


def segments(key: str, *, labelled: bool = True) -> None:
    """A choice of a few options, all visible; without a visible label where the options say it."""
    field = FIELDS[key]
    options = list(labels(key))
    st.radio(
        field.title,
        options,
        index=options.index(defaults()[key]),
        horizontal=True,
        key=key,
        help=field.help,
        format_func=lambda option: label(key, option),
        width="stretch",
        label_visibility="visible" if labelled else "collapsed",
        persist_state="session",
    )


def dropdown(key: str, **more: Any) -> None:
    """A choice of many options."""
    field, options, default = FIELDS[key], list(labels(key)), defaults()[key]
    typed = st.session_state.get(key)
    if typed and typed not in options:
        options.append(typed)
    st.selectbox(
        field.title,
        options,
        index=options.index(default) if default in options else None,
        key=key,
        help=field.help,
        format_func=lambda option: label(key, option),
        persist_state="session",
        **more,
    )
    leave_place(key)


def several(key: str) -> None:
    """Any number of options; none means all."""
    field = FIELDS[key]
    options = [o for o in labels(key) if o != OWN_GPU or st.session_state.get("own")]
    names = {option: label(key, option) for option in options}
    if OWN_GPU in names and (own_name := str(st.session_state.get("own_name", "")).strip()):
        names[OWN_GPU] = own_name
    st.multiselect(
        field.title,
        options,
        default=defaults()[key],
        key=key,
        help=field.help,
        placeholder="All",
        format_func=lambda option: names.get(option, str(option)),
        wrap=True,
        persist_state="session",
    )


def switch(key: str, *, on_change: Callable[[], None] | None = None) -> bool:
    """A yes/no that shows further fields; ``on_change`` is what else its click does."""
    field = FIELDS[key]
    return st.toggle(
        field.title, value=defaults()[key], key=key, help=field.help, on_change=on_change, persist_state="session"
    )


def behind_a_click(title: str, draw: Callable[[], object], *, key: str) -> None:
    """Fields that few change. They are drawn while they are open alone: each costs as much as one that all see.
    While they are not, what is wrong with one of them stands below the click.

    ``key``: of the session, whether they are open.
    """
    more = st.expander(title, type="compact", key=key, on_change="rerun")
    if more.open:
        with more:
            draw()
    else:
        leave_fold(more, draw)
