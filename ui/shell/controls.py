"""What every page draws alike: a choice of a few visible options, a number to type or read, a download, tabs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

import streamlit as st

from sharing.form.asked import AskedNumber
from sharing.form.fields import LONGEST_NUMBER
from sharing.form.numbers import show_number
from sharing.form.problems import UnreadableInput
from ui import state
from ui.shell.frame import draw_problems
from ui.shell.notes import draw_wrong_in_link

Option = TypeVar("Option", bound=str)
Content = str | bytes


def draw_choice(
    title: str,
    options: Mapping[Option, str] | Sequence[Option],
    *,
    key: str,
    help: str | None,
    default: Option | None = None,
    kept: Literal["link", "session", "nowhere"] = "link",
    labelled: bool = True,
    stretched: bool = False,
    disabled: bool = False,
) -> Option:
    """One of a few options, all visible; the first one unless ``default`` is given.

    ``kept``: where the choice is found again: in links, in the session, or nowhere once it is not drawn.
    """
    labels = options if isinstance(options, Mapping) else {option: str(option) for option in options}
    first = default if default is not None else next(iter(labels))
    if kept == "link":
        state.linked(key, labels, default=first)
        draw_wrong_in_link(key, f"option of “{title}”")
    chosen = st.radio(
        title,
        list(labels),
        index=list(labels).index(first),
        horizontal=True,
        key=key,
        help=help,
        format_func=labels.__getitem__,
        label_visibility="visible" if labelled else "collapsed",
        width="stretch" if stretched else "content",
        disabled=disabled,
        persist_state="session" if kept != "nowhere" else None,
    )
    return chosen if chosen in labels else first  # what a link or an earlier page chose may not be there


def draw_figure(label: str, value: str | int, *, help: str | None = None) -> None:
    """A number to read, under a label that takes a second line in a narrow tile: that of a metric alone is cut."""
    with st.container(gap=None):
        st.caption(label, help=help)
        st.metric(label, value, label_visibility="collapsed")


def draw_number(
    title: str,
    number: AskedNumber,
    *,
    key: str,
    default: float,
    help: str,
    width: int | Literal["stretch"] = "stretch",
    kept: Literal["session", "nowhere"] = "nowhere",
    disabled: bool = False,
) -> float:
    """A number that is typed; what may mean two is asked about, and the last one that was clear stays.

    The number field of browsers reads "2,5" as 25.
    """
    last = f"{key}_read"
    typed = st.text_input(
        title,
        value=show_number(default),
        key=key,
        max_chars=LONGEST_NUMBER,
        help=help,
        width=width,
        disabled=disabled,
        persist_state="session" if kept == "session" else None,
    )
    try:
        st.session_state[last] = number.read(typed)
    except UnreadableInput as error:
        draw_problems(error.problems)
    return float(st.session_state.get(last, default))


def draw_download(
    title: str, content: Content | Callable[[], Content], file_name: str, mime: str, *, key: str, icon: str, help: str
) -> None:
    """A button that downloads ``content``, which is made on the click where it is a function. Nothing runs again."""
    st.download_button(
        title, content, file_name, mime, key=key, on_click="ignore", icon=f":material/{icon}:", help=help
    )


def draw_tabs(bodies: Mapping[str, Callable[[], object]], *, key: str) -> None:
    """Tabs by title; the open one draws its body, and a link keeps which it is under ``key``.

    Streamlit runs the bodies of hidden tabs, too, unless each is guarded by ``.open``.
    """
    state.linked(key, {title: title for title in bodies}, default=next(iter(bodies)))
    draw_wrong_in_link(key, "tab")
    tabs = st.tabs(list(bodies), key=key, on_change="rerun")
    for tab, body in zip(tabs, bodies.values(), strict=True):
        if tab.open:
            with tab:
                body()
