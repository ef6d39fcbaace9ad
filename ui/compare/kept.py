"""Scenarios of the library beside the one in the form: chosen on Scenarios, or named in the address."""

import re
from collections.abc import Sequence

import streamlit as st

from sharing.library.records import Version
from ui.compare.beside import KEY, MOST, Offered
from ui.library import library, refused

IDS = "compared_with_kept"
"""Session key: ids of the library that are offered on Compare."""
_IN_ADDRESS = "Scenario {}"
_MOST_DIGITS = 9


def choose_kept(ids: Sequence[int]) -> None:
    """Have Compare put these beside the scenario in the form."""
    st.session_state[IDS] = tuple(ids[:MOST])
    st.session_state[KEY] = [_word(scenario_id) for scenario_id in ids[:MOST]]


def kept_scenarios() -> list[Offered]:
    """Those that were chosen or stand in the address, as they are now; what the library refuses is said."""
    offered: list[Offered] = []
    for scenario_id in _ids():
        with refused():
            offered.append(_offered(library().version(scenario_id)))
    return offered


def _offered(version: Version) -> Offered:
    number, scenario = version.scenario_id, version.scenario()
    name = f"{number}: {scenario.name}"
    return Offered(
        word=_word(number), name=name, in_address=_IN_ADDRESS.format(number), scenario=scenario, from_library=True
    )


def _word(scenario_id: int) -> str:
    return f"library-{scenario_id}"


def _ids() -> list[int]:
    """The scenarios of the session, then of the address; at most as many as fit beside a scenario."""
    pattern = re.compile(_IN_ADDRESS.format(rf"([1-9]\d{{0,{_MOST_DIGITS - 1}}})"))
    named = (pattern.fullmatch(text) for text in st.query_params.get_all(KEY))
    ids: list[int] = [*st.session_state.get(IDS, ()), *(int(match[1]) for match in named if match)]
    chosen = tuple(dict.fromkeys(ids))
    st.session_state[IDS] = chosen[-MOST:]
    return list(chosen[-MOST:])
