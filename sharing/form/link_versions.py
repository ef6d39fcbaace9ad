"""What links of former versions leave out: the values of the form that they were made with.

A link says what differs from an untouched form, so that one made with other defaults goes on to ask what it asked.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from commandline.foreign_text import shown

LINK_VERSION = "2"
"""Version of the defaults that links leave out, which each link names."""

FORMER: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "1": MappingProxyType(
            {
                "name": "Chatbot",
                "pct": "99",
                "proven": True,
                "prec": ["bf16", "fp16", "fp8"],
                "accurate": False,
                "route": "random",
            }
        )
    }
)
"""Of each former version the fields that had another value in an untouched form. Version 1 (until November 2026) had
stricter defaults than scenario files; all weight formats were what an empty choice of them meant. What it did not know
is as today."""


def former_defaults(given: Sequence[str]) -> Mapping[str, Any]:
    """What an untouched form held otherwise when a link was made, from the version that it names, if any."""
    return FORMER.get(_named(given), {})


def unknown_version(given: Sequence[str]) -> str:
    """What to say, without a full stop, of a link that names a version which is not known; empty otherwise."""
    version = _named(given)
    if version in (LINK_VERSION, *FORMER):
        return ""
    return f"This link was made for version {shown(version, 20)} of the form, this is version {LINK_VERSION}"


def _named(given: Sequence[str]) -> str:
    """The version that a link names; that of today where it names none."""
    return given[-1] if given else LINK_VERSION
