"""Downloads: the scenario as YAML, the plan as JSON, the ranking as CSV, its manifests; and a link."""

from __future__ import annotations

import streamlit as st

from sharing.document import file_stem, to_yaml
from sharing.report.prices import at_list_prices, has_own_prices
from ui import state
from ui.library.manifests import draw_manifests
from ui.shell import draw_download, draw_own_prices
from ui.size.tables import USE, alternatives_table
from ui.state import Answer, answer_of


def alternatives_csv(answer: Answer) -> str:
    """The ranking, one row per deployment."""
    return alternatives_table(answer).drop(columns=USE, errors="ignore").to_csv(index=False)


def draw_downloads(answer: Answer) -> None:
    """Files of this answer, made when they are asked for; at list prices unless the user's own are asked for."""
    if has_own_prices(answer.scenario) and not draw_own_prices(present=True):
        listed = at_list_prices(answer.scenario)
        answer = answer_of(listed.model_dump_json())
        st.caption("The files are at list prices.")
    stem = file_stem(answer.scenario.name)
    plan = answer.plan
    files = (
        (
            "yaml",
            "Scenario (YAML)",
            "application/yaml",
            lambda: to_yaml(answer.scenario),
            "description",
            "Reads back with: python -m sizing plan FILE",
        ),
        (
            "json",
            "Plan (JSON)",
            "application/json",
            lambda: plan.model_dump_json(indent=2),
            "data_object",
            "Every number of the answer, with the versions it was computed with.",
        ),
        ("csv", "Alternatives (CSV)", "text/csv", lambda: alternatives_csv(answer), "table", "The ranked deployments."),
    )
    with st.container(horizontal=True):
        for kind, title, mime, content, icon, help_text in files:
            draw_download(title, content, f"{stem}.{kind}", mime, key=f"get_{kind}", icon=icon, help=help_text)
        draw_manifests(answer)
    st.markdown("**Link to these inputs**")
    st.code(state.link(), language=None, wrap_lines=True)
    st.caption(
        "An uploaded config.json and an imported benchmark are not part of the link, but of the YAML file. Prices "
        "typed into the form are never in the link, and in files only where they are asked for."
    )
