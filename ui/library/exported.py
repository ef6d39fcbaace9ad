"""Files that leave the product by a click, written down as they are made."""

from collections.abc import Callable
from typing import TypeVar

from sharing.audit import Act, record
from ui.access import actor

Content = TypeVar("Content", str, bytes)


def exported(what: str, content: Callable[[], Content]) -> Callable[[], Content]:
    """The content of a download, made on the click. Raises AuditUnavailable then, where that cannot be written down."""
    by = actor()

    def made() -> Content:
        record(Act.EXPORTED, by, what)
        return content()

    return made
