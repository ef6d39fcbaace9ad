"""NVIDIA NIM beside the open-source engine inside it."""

import streamlit as st

from sizing.base.errors import SizingError
from sizing.decision.added_up import nim_added_up
from sizing.decision.nim import NimComparison, nim_beside_open_source
from sizing.decision.nim_text import nim_sentences
from sizing.mixed.text import of_one_fleet
from sizing.scenario.schema import Scenario
from ui.currency import Currency
from ui.figures.optimisation import nim_facts_table, nim_table
from ui.format import as_markdown
from ui.shell import draw_csv, draw_problems, draw_rows, draw_wrapped
from ui.size.what_if import answers_for


@st.cache_resource(max_entries=32, ttl="6h", show_spinner=False)
def nim_of(scenario_json: str) -> NimComparison:
    """The scenario with either. Raises InvalidScenario."""
    return nim_beside_open_source(Scenario.model_validate_json(scenario_json), answers_for(scenario_json))


def draw_nim(key: str, currency: Currency) -> None:
    """What both need and cost, which profiles there are, and what is told of both."""
    try:
        with st.spinner("Planning with NIM and without"):
            compared = nim_added_up(currency.converted(nim_of(key)))
    except SizingError as error:
        draw_problems([str(error)])
        return
    for sentence in nim_sentences(compared, currency.in_full):
        st.markdown(as_markdown(sentence))
    scenario = Scenario.model_validate_json(key)
    if of_one := of_one_fleet(scenario):
        st.caption(of_one)
    table = nim_table(compared, currency, f"p{scenario.limits.percentile:g} ")
    if not table.empty:
        draw_rows(table, key="nim_rows", alt="NIM and the engine inside it")
        draw_csv(table, key="nim", what="NIM beside open source")
    draw_wrapped(nim_facts_table(compared), alt="What is told of NIM and of open source")
