"""The address that was asked for, over the way through the login: providers lead back to the bare address.

The browser itself keeps it, in the storage of its tab, which ends with the tab.
"""

from functools import cache
from typing import Any

import streamlit as st

_SCRIPT = """
export default function ({ data }) {
    const key = "address_before_login";
    const here = location.pathname + location.search;
    if (data.keep) {
        sessionStorage.setItem(key, here);
        return;
    }
    const wanted = sessionStorage.getItem(key);
    sessionStorage.removeItem(key);
    if (wanted !== null && wanted !== here && wanted !== "/") {
        location.replace(location.origin + wanted);
    }
}
"""


def remember_address() -> None:
    """Have the browser remember where it is. Shows nothing."""
    _component()(key="address_kept", data={"keep": True})


def return_to_address() -> None:
    """Have the browser go where it was before the login, once. Shows nothing."""
    _component()(key="address_back", data={"keep": False})


@cache
def _component() -> Any:
    return st.components.v2.component("address_before_login", js=_SCRIPT)
