"""The source that a scenario of the library runs at: Live and Plan vs reality open with it."""

from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from sharing.access import Right
from sharing.bonds.records import SourcePlace
from sharing.errors import SharingError
from ui.access import actor, allowed
from ui.format import as_markdown
from ui.library.connection import bonds, refused
from ui.library.opening import KEPT, OpenedVersion

SOURCE, DEPLOYMENT = "source", "deployment"
"""Session keys of the choice of a source and of one of its deployments, see :mod:`ui.sources.picker`."""


def open_with_source(scenario_id: int) -> None:
    """From now on the session looks at where this scenario runs, if that is known. Raises SharingError."""
    bond = bonds().of_scenario(scenario_id)
    if bond is None:
        return
    st.session_state[SOURCE] = bond.place.source
    st.session_state.pop(DEPLOYMENT, None)
    if bond.place.deployment:
        st.session_state[DEPLOYMENT] = bond.place.deployment


@dataclass(frozen=True, kw_only=True)
class PlannedThere:
    """What the library has planned for a source: name and peak load of the scenario, GPUs, limit of TTFT in ms."""

    name: str
    peak_rps: float | None
    gpus: int | None
    ttft_ms: float | None


def planned_at_sources() -> dict[str, PlannedThere]:
    """What was planned for each source that a scenario of the library runs at; nothing where the library cannot say."""
    if not allowed(Right.READ):
        return {}
    there = {}
    with suppress(SharingError):
        for source, bond in bonds().by_source().items():
            version = bonds().library.version(bond.scenario_id)
            scenario, figures = version.scenario(), version.figures
            there[source] = PlannedThere(
                name=scenario.name,
                peak_rps=scenario.workload.peak_rps,
                gpus=None if figures is None else figures.gpus,
                ttft_ms=scenario.limits.ttft_ms,
            )
    return there


def draw_bond(source: str, deployment: str) -> None:
    """Whether the scenario of the library that is open runs here, what was found last, and a button to say so."""
    kept: OpenedVersion | None = st.session_state.get(KEPT)
    if kept is None:
        return
    place = SourcePlace(source=source, deployment=deployment)
    with refused():
        bond = bonds().of_scenario(kept.scenario_id)
        here = bond is not None and bond.place == place
        if not here and allowed(Right.SAVE):
            st.button(
                f"Scenario {kept.scenario_id} runs here",
                key="bind_source",
                icon=":material/link:",
                on_click=_bind,
                args=(kept.scenario_id, place),
                help="Opened from the library, it then comes with this source on Live and on this page.",
            )
        if here:
            st.caption(f"Scenario {kept.scenario_id} runs here{_last(kept.scenario_id)}")


def _last(scenario_id: int) -> str:
    """What the newest scheduled comparison (python -m reality watch) said."""
    newest = bonds().comparisons(scenario_id, limit=1)
    if not newest:
        return "."
    finding = newest[0].finding
    return f"; last scheduled comparison, {finding.at:%Y-%m-%d %H:%M} UTC: {as_markdown(finding.answer)}"


def _bind(scenario_id: int, place: SourcePlace) -> None:
    with refused():
        bonds().bind(scenario_id, place, by=actor())
