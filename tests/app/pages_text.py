"""What a reader sees of a page, as text."""

import re

from streamlit.testing.v1 import AppTest

PREVIOUS = "previous inputs"
"""What marks an answer that is not for the inputs in the form."""


def plain(markdown: str) -> str:
    """Markdown as it is read: without escapes, and with spaces that break or not alike."""
    return re.sub(r"\\(.)", r"\1", markdown).replace("\N{NO-BREAK SPACE}", " ")


def answer(app: AppTest) -> str:
    """The answer sentence, without Markdown's escapes; "" when there is none."""
    found = [m.value for m in app.markdown if m.value.startswith("## ")]
    return plain(found[0].removeprefix("## ")) if found else ""


def figure(app: AppTest, label: str) -> str:
    """The value of one key figure."""
    return next(m.value for m in app.metric if m.label == label)


def problems(app: AppTest) -> list[str]:
    """The error sentences on the page."""
    return [plain(e.value) for e in app.error]


def is_previous(app: AppTest) -> bool:
    """Whether the page says that the figures are for earlier inputs."""
    return any(PREVIOUS in c.value for c in app.caption)
