"""Downloads: the scenario as YAML, the plan as JSON, the ranking as CSV; and a link."""

from __future__ import annotations

import re

import streamlit as st
import yaml

from ui import state
from ui.results.tables import alternatives_table
from ui.state import Answer


def scenario_yaml(answer: Answer) -> str:
    """The scenario as the file that ``python -m sizing plan`` reads."""
    return yaml.safe_dump(answer.scenario.model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1},
                          sort_keys=False, allow_unicode=True)


def draw_downloads(answer: Answer) -> None:
    """Files of this answer, made when they are asked for."""
    stem = re.sub(r"[^a-z0-9]+", "-", answer.scenario.name.lower()).strip("-")[:60] or "scenario"
    plan = answer.plan
    with st.container(horizontal=True):
        st.download_button("Scenario (YAML)", lambda: scenario_yaml(answer), f"{stem}.yaml", "application/yaml",
                           key="get_yaml", icon=":material/description:", on_click="ignore",
                           help="Reads back with: python -m sizing plan FILE")
        st.download_button("Plan (JSON)", lambda: plan.model_dump_json(indent=2), f"{stem}-plan.json", "application/json",
                           key="get_json", icon=":material/data_object:", on_click="ignore",
                           help="Every number of the answer, with the versions it was computed with.")
        st.download_button("Alternatives (CSV)", lambda: alternatives_table(plan.alternatives).drop(columns="Use").to_csv(index=False),
                           f"{stem}-alternatives.csv", "text/csv", key="get_csv", icon=":material/table:",
                           on_click="ignore", help="The ranked deployments.")
    st.markdown("**Link to these inputs**")
    st.code(state.link(), language=None, wrap_lines=True)
    st.caption("Prices typed into the form and an uploaded config.json are not part of the link.")
