"""What links of former versions leave out: the values of the form that they were made with.

A link says what differs from an untouched form, so that one made with other defaults goes on to ask what it asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

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
