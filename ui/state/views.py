"""What is open on a page besides its inputs (tabs, axes, searches, what Live looks at): its part of the address.

A widget says by ``linked`` that its value belongs into the address. What the address said is taken over when the widget
is drawn, which may be long after the page was opened: until then the address keeps it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import streamlit as st

_VIEWS, _LINK = "views_by_page", "views_of_the_link"


class KeptWidget(TypedDict):
    """How a linked widget keeps its value over pages that do not draw it."""

    persist_state: Literal["session"]


@dataclass(frozen=True, kw_only=True)
class _View:
    """A widget that belongs into the address: its options with their words, and its value as long as none is chosen."""

    default: Any
    labels: Mapping[Any, str] | None
    several: bool

    def written(self, value: Any) -> list[str]:
        """The value as the address says it; nothing for the default."""
        if value == self.default or (value is None and not self.several):
            return []
        return [self._label(one) for one in value] if self.several else [self._label(value)]

    def read(self, texts: Sequence[str]) -> tuple[Any, list[str]]:
        """The value of these texts, and those of them that it cannot have."""
        if self.labels is None:
            return (texts[-1] if texts else self.default), []
        options = {text: option for option, text in self.labels.items()}
        wrong = [text for text in texts if text not in options]
        right = [options[text] for text in texts if text in options]
        if not right:
            return self.default, wrong
        return (right if self.several else right[-1]), wrong

    def takes(self, value: Any) -> bool:
        """Whether the widget can have this value."""
        if self.labels is None:
            return True
        return all(one in self.labels for one in value) if self.several else value in self.labels

    def _label(self, option: Any) -> str:
        return self.labels.get(option, str(option)) if self.labels is not None else str(option)


@dataclass(kw_only=True)
class _Page:
    """The views of a page: those that were drawn, with the value they had last."""

    views: dict[str, _View] = field(default_factory=dict)
    last: dict[str, list[str]] = field(default_factory=dict)


@dataclass(kw_only=True)
class _Link:
    """What the address said when the page was opened, as far as it was not drawn yet; and what could not be had."""

    page: str = ""
    opened: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    taken: dict[str, Any] = field(default_factory=dict)
    """What was taken of a text of which a part could not be had."""


def open_page(page: str, texts: Mapping[str, list[str]]) -> None:
    """The browser has opened a page: its views are those of the address."""
    st.session_state[_LINK] = _Link(page=page, opened=True, texts=dict(texts))


def stay(page: str) -> None:
    """The page has changed, or is another one, without a new address."""
    if _link().page != page:
        st.session_state[_LINK] = _Link(page=page)


def linked(
    key: str, labels: Mapping[Any, str] | None = None, *, default: Any = None, several: bool = False
) -> KeptWidget:
    """Let the address keep the value of the widget with this key; call it before the widget is drawn.

    ``labels`` are the options with the words for them; None: any text.
    """
    view, link = _View(default=default, labels=labels, several=several), _link()
    page = _page(link.page)
    page.views[key] = view
    if link.opened and key not in link.read:
        link.read.add(key)
        st.session_state[key], wrong = view.read(link.texts.pop(key, []))
        if wrong:
            link.wrong[key], link.taken[key] = wrong, st.session_state[key]
    elif key not in st.session_state or not view.takes(st.session_state[key]):
        st.session_state[key], _ = view.read(page.last.get(key, []))
    if key in link.wrong and st.session_state[key] != link.taken[key]:
        del link.wrong[key]  # something was chosen since
    return {"persist_state": "session"}


def wrong_in_link(key: str) -> list[str]:
    """What the address says about a linked widget that it cannot have, as long as nothing was chosen."""
    return _link().wrong.get(key, [])


def texts_in_link(key: str) -> list[str]:
    """What the address may say of a linked widget of this page that has options."""
    view = _page(_link().page).views.get(key)
    return [] if view is None or view.labels is None else [text for text in view.labels.values() if text]


def parameters(page: str) -> dict[str, list[str]]:
    """The part of the views of a page in its address."""
    kept = _page(page)
    for key, view in kept.views.items():
        if key in st.session_state and view.takes(st.session_state[key]):
            kept.last[key] = view.written(st.session_state[key])
    link = _link()
    unread = link.texts if link.page == page else {}
    return {key: texts for key, texts in (kept.last | unread).items() if texts}


def carried(page: str, keys: Iterable[str]) -> dict[str, list[str]]:
    """What the address would say of widgets of a page, on any other one."""
    stated = parameters(page) if page in st.session_state.get(_VIEWS, {}) else {}
    return {key: stated[key] for key in keys if key in stated}


def bring(page: str, texts: Mapping[str, list[str]]) -> None:
    """Let widgets of a page that is not open begin with what an address says of them; empty: with their defaults."""
    for key, values in texts.items():
        st.session_state.pop(key, None)
        if values or page in st.session_state.get(_VIEWS, {}):
            _page(page).last[key] = list(values)


def _page(page: str) -> _Page:
    pages: dict[str, _Page] = st.session_state.setdefault(_VIEWS, {})
    return pages.setdefault(page, _Page())


def _link() -> _Link:
    link: _Link = st.session_state.setdefault(_LINK, _Link())
    return link
