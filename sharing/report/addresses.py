"""What no text of a report holds: addresses inside a company's network, and characters that cannot be seen."""

import re
import unicodedata
from typing import Any

from sharing.report.content import Report

REPLACED = "[internal address]"

_PRIVATE = re.compile(
    r"""
    \b[a-z][a-z0-9+.-]*://[^\s/@"'<>]*@[^\s"'<>]*                    # a password before the host
    | \b[a-z][a-z0-9+.-]*://[^\s/.:"'<>]+(?=[:/\s"'<>]|$)[^\s"'<>]*  # a host without a domain
    | (?:\b[a-z][a-z0-9+.-]*://)?\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d+)?(?:/[^\s"'<>]*)?   # an address of digits
    | (?:\b[a-z][a-z0-9+.-]*://)?\b[\w-]+(?:\.[\w-]+)*
      \.(?:local|internal|lan|corp|intranet|localdomain|svc)\b(?::\d+)?(?:/[^\s"'<>]*)?
    | \blocalhost\b(?::\d+)?(?:/[^\s"'<>]*)?
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What reaches a host that the public network does not know, or with a password: in notes that users typed."""


def without_internal_addresses(report: Report) -> Report:
    """The report with every such address replaced."""
    return Report.model_validate(_cleared(report.model_dump()))


def cleared(text: str) -> str:
    """The text with every such address replaced, on one line, without characters that steer a reader or a printer."""
    visible = "".join(" " if unicodedata.category(one) in ("Cc", "Cf") else one for one in text)
    return _PRIVATE.sub(REPLACED, visible)


def _cleared(value: Any) -> Any:
    if type(value) is str:
        return cleared(value)
    if isinstance(value, dict):
        return {key: _cleared(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleared(each) for each in value]
    return value
