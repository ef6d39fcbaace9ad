"""The Home page below its guard: starting points that fill in the form, what a plan answers, and the live sources."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from sharing.access import Right
from sharing.errors import SharingError
from sharing.form.presets import Preset, presets
from sharing.form.write import from_scenario
from sharing.library.records import LibraryEntry, ScenarioQuery
from sizing.base.format import with_noun
from sizing.scenario.schema import Scenario
from ui import shell, state
from ui.access import allowed
from ui.format import as_markdown
from ui.inputs.given import draw_given
from ui.library import library, open_in_size, refused
from ui.work.computing import Have

_MOST_RECENT = 4
"""Scenarios that are offered again: as many as cards stand in a row."""

SECTIONS = {"use case": "Start from a use case", "worked example": "Or from a worked example with a benchmark"}
"""Kind of preset and the heading of its cards."""

GIVEN: tuple[tuple[Have, str, str], ...] = (
    ("systems", "Servers you own", ":material/dns:"),
    ("usd", "A monthly budget", ":material/payments:"),
    ("kw", "A power limit", ":material/bolt:"),
)
"""What a plan may begin with, how it is called here, and its icon."""


def draw() -> None:
    """One paragraph, the cards, what a plan answers, and the state of connected sources."""
    shell.header("How many systems does this need?")
    st.markdown(
        "Answer six questions (model, prompt length, output length, peak load, latency limit, GPUs considered) and "
        "read how many GPUs and systems serve it, at which latency and cost, what limits it, how sure that is and why. "
        "Every number can be followed to its formula and source, and no scenario is sent anywhere."
    )
    _given()
    if allowed(Right.READ):
        _recent()
    for kind, title in SECTIONS.items():
        st.subheader(title, anchor=False)
        with st.grid(4, min_column_width=220):
            for preset in (p for p in presets().values() if p.kind == kind):
                _card(preset)
    st.subheader("What a plan answers", anchor=False)
    st.markdown(
        "- **How many**: GPUs, instances and whole systems, with the range that 80 % of such estimates fall in.\n"
        "- **How fast**: TTFT, ITL and E2E at the percentile and load that were asked for.\n"
        "- **At what cost**: hardware cost a month and per million output tokens, and power.\n"
        "- **Why**: what limits it, which rules it touches, the formula and source behind every figure.\n"
        "- **What else**: ranked alternatives, and what was excluded with the smallest change that would let it in."
    )
    _sources()


def _recent() -> None:
    """The scenarios saved last, each a click away; nothing while the library is empty."""
    entries: tuple[LibraryEntry, ...] = ()
    with suppress(SharingError):  # what is wrong with the library is said where it is looked for
        entries = library().search(ScenarioQuery(limit=_MOST_RECENT)).entries
    if not entries:
        return
    with refused():
        st.subheader("Saved last", anchor=False)
        with st.container(horizontal=True, vertical_alignment="center"):
            for entry in entries:
                if st.button(
                    as_markdown(entry.name),
                    key=f"recent_{entry.id}",
                    icon=":material/folder_open:",
                    help=as_markdown(f"{entry.model}, version {entry.version} by {entry.updated_by}. Opens Size."),
                ):
                    open_in_size(library().version(entry.id), entry.version)
            st.page_link("pages/scenarios.py", label="All scenarios", icon=":material/inventory_2:")


def _given() -> None:
    """The question the other way round, for who has hardware or money already."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.markdown("Or the other way round: what do these serve?", width="content")
        for have, title, icon in GIVEN:
            draw_given(title, have, key=f"given_{have}", icon=icon, help="Opens Explore with the scenario on Size.")


def _sources() -> None:
    """The state of connected sources, where there are any."""
    # Loading what reads them takes a third of a second: the rest of the page is drawn by then.
    from ui.live.overview import draw_overview
    from ui.sources import Origin, listing

    live = listing()
    if any(known.origin is not Origin.DEMO for known in live.sources) or live.broken:
        st.subheader("Live sources", anchor=False)
        draw_overview(key="home_sources")


def _card(preset: Preset) -> None:
    with st.container(border=True, height="stretch", gap="small"):
        st.markdown(f"#### :material/{preset.icon}: {preset.title}")
        st.markdown(preset.summary)
        st.caption(question(preset.scenario))
        st.space("stretch")
        if st.button(
            f"Size {preset.title}",
            key=f"open_{preset.id}",
            on_click=state.load_preset,
            args=(preset.id,),
            help=preset.evidence,
            width="stretch",
        ):
            st.switch_page("pages/size.py", query_params=state.address_of("size"))


def question(scenario: Scenario) -> str:
    """Model, lengths and load of a scenario in one line."""
    filled = from_scenario(scenario)
    model = filled["model"].rpartition("/")[2] or filled["size_name"]
    pages = f" and {filled['scans']} pages" if filled["scans"] else ""
    return f"{model}: {int(filled['isl']):,} tokens{pages} in, {int(filled['osl']):,} out, {_load(scenario, filled)}"


def _load(scenario: Scenario, filled: Mapping[str, Any]) -> str:
    sessions, batch = scenario.workload.sessions, scenario.workload.batch
    if batch is not None:
        return f"{with_noun(f'{batch.documents_per_month:,.0f}', 'document')} a month"
    if sessions is None:
        return with_noun(str(filled["rps"]), "request/s")
    if sessions.sessions_at_once is not None:
        return f"{with_noun(f'{sessions.sessions_at_once:,g}', 'session')} at once"
    return f"{with_noun(f'{sessions.sessions_per_hour:,g}', 'session')} an hour"
