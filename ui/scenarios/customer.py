"""What a customer may see of a scenario: its report, read only, with the released prices and without detail."""

import streamlit as st

from sharing.library.records import Version
from sharing.links.freezing import frozen
from sharing.report.content import Released, Report
from sizing.base.errors import SizingError
from ui import shell, state
from ui.access import actor
from ui.format import as_markdown
from ui.library import library, refused
from ui.library.export import PRICES, offered
from ui.shared.blocks import draw_sections

VIEWED = "customer_view"
"""Session key: the scenario and its version that a customer looks at."""
DETAIL = frozenset({"sensitivity", "evidence", "formulas"})
"""Chapters for the architect alone: how the answer was found, and what would move it."""

_BUILT = "customer_report"


def draw_button(version: Version) -> None:
    """The way into the view."""
    st.button(
        "Customer view",
        key="customer_on",
        icon=":material/co_present:",
        on_click=_view,
        args=((version.scenario_id, version.number),),
        help="The report in large type, without prices until you release them, and without detail. Esc leads back.",
    )


def draw_customer_view() -> bool:
    """The view in place of the page; False where none is open."""
    viewed: tuple[int, int] | None = st.session_state.get(VIEWED)
    if viewed is None:
        return False
    shell.draw_looks()
    bar = st.container(horizontal=True, vertical_alignment="center")
    with refused():
        version = library().version(*viewed)
        _draw(version, bar)
    with bar:
        st.button(
            "End",
            key="customer_off",
            icon=":material/close:",
            shortcut="Esc",
            type="tertiary",
            on_click=_view,
            args=(None,),
        )
    return True


def _draw(version: Version, bar: st.delta_generator.DeltaGenerator) -> None:
    choices = offered(version.scenario())
    with bar:
        st.title(as_markdown(version.scenario().name), width="stretch", anchor=False)
        released = st.selectbox(
            "Prices",
            choices,
            key="customer_prices",
            format_func=PRICES.__getitem__,
            width=220,
            label_visibility="collapsed",
            help="Which prices the customer sees.",
        )
    try:
        report = _report(version, released)
    except SizingError as error:
        shell.draw_problems(error.problems)
        return
    draw_sections(without_detail(report), dark=st.context.theme.type == "dark")


def without_detail(report: Report) -> Report:
    """The report with the chapters that are for a customer."""
    return report.model_copy(update={"sections": tuple(one for one in report.sections if one.key not in DETAIL)})


def _report(version: Version, released: Released) -> Report:
    """Built once for what is looked at; the session keeps the last one."""
    about = (version.scenario_id, version.number, released)
    built: tuple[object, Report] | None = st.session_state.get(_BUILT)
    if built is None or built[0] != about:
        with st.spinner("Computing the report"):
            report = frozen(
                version,
                released,
                made_at=library().now(),
                author=actor().name,
                planner=lambda scenario: state.plan_of(scenario.model_dump_json()),
            )
        built = st.session_state[_BUILT] = (about, report)
    return built[1]


def _view(viewed: tuple[int, int] | None) -> None:
    st.session_state[VIEWED] = viewed
