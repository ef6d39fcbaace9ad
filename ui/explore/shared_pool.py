"""Several models on one pool of shared systems: choose workloads and their loads, read the pool."""

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from sharing.form.asked import AskedNumber
from sharing.form.numbers import show_number
from sharing.form.presets import presets
from sharing.form.problems import UnreadableInput, sentence
from sizing.base.errors import SizingError
from sizing.explore.shared_pool import PoolObjective, SharedPool
from sizing.scenario.bounds import MAX_RPS
from sizing.scenario.schema import RATES, Scenario
from ui.explore import computed
from ui.format import as_markdown, known
from ui.shell import draw_choice, draw_problems
from ui.size.above import ESTIMATES
from ui.state import FormAnswer

THIS = "this"
"""Option that stands for the scenario of the page."""
MOST = 6
"""Workloads on one pool: as many as a table and a row of loads show at a glance."""
_OBJECTIVES: dict[PoolObjective, str] = {"cost": "Least cost", "systems": "Fewest systems"}


def draw_pool(answer: FormAnswer) -> None:
    """The choice of workloads, one load each, and the pool that serves them all."""
    scenarios = {THIS: answer.scenario} | {p.id: p.scenario for p in presets().values() if p.scenario.measured is None}
    which, by = st.columns([3, 1], gap="medium")
    with which:
        chosen = st.multiselect(
            "Workloads",
            list(scenarios),
            default=[THIS, "rag"],
            key="pool",
            max_selections=MOST,
            wrap=True,
            persist_state="session",
            format_func=lambda one: _name(one, answer),
            help="Two to six: the scenario of this page and examples, each within its own limits.",
        )
    with by:
        objective = draw_choice(
            "Pool with",
            _OBJECTIVES,
            key="pool_by",
            kept="session",
            stretched=True,
            help="What is made smallest over all systems of the pool.",
        )
    with st.grid(3, min_column_width=220, gap="small"):
        loads = {one: _load(one, scenarios[one], answer) for one in chosen}
    if len(chosen) < 2:
        st.info("Choose two workloads or more.", icon=":material/info:")
        return
    try:
        workloads = tuple(_with_load(scenarios[one], loads[one], _name(one, answer)) for one in chosen)
        pool = computed.pool_of(tuple(s.model_dump_json() for s in workloads), objective)
    except (UnreadableInput, SizingError, ValidationError) as error:
        draw_problems([sentence(error)])
        return
    _pool(pool)


def _name(one: str, answer: FormAnswer) -> str:
    return f"{answer.scenario.name} (this page)" if one == THIS else presets()[one].title


def _load(one: str, scenario: Scenario, answer: FormAnswer) -> str:
    peak = answer.plan.sustained_rps if one == THIS else scenario.workload.peak_rps
    return st.text_input(
        f"{_name(one, answer)} (requests/s)",
        value=show_number(peak),
        key=f"pool_rps_{one}",
        persist_state="session",
        max_chars=40,
        help="Peak load of this workload.",
    )


def _with_load(scenario: Scenario, typed: str, name: str) -> Scenario:
    """The scenario with that peak and nothing else that says the load. Raises UnreadableInput with one sentence."""
    peak = AskedNumber(name=name, high=MAX_RPS, beyond_low=True, example="10").read(typed)
    only = dict.fromkeys(RATES) | {"peak_rps": peak, "growth_percent": 0.0}
    return scenario.model_copy(
        update={"name": name, "measured": None, "workload": scenario.workload.model_copy(update=only)}
    )


def _pool(pool: SharedPool) -> None:
    if not pool.feasible:
        st.error(as_markdown(pool.answer), icon=":material/block:")
        return
    st.markdown(f"#### {as_markdown(pool.answer)}")
    st.dataframe(placed_table(pool), hide_index=True, key="pool_placed", alt="What serves each workload of the pool")
    st.dataframe(
        systems_table(pool),
        hide_index=True,
        key="pool_systems",
        alt="Systems of the pool",
        column_config={"Hardware (USD a month)": st.column_config.NumberColumn(format="localized", step=1)},
    )
    st.caption(
        f"Each workload is sized with its own limits and spares; its instances then share whole systems. {ESTIMATES}"
    )


def placed_table(pool: SharedPool) -> pd.DataFrame:
    """What serves each workload."""
    rows = [
        {
            "Workload": p.scenario,
            "Runs on": p.configuration,
            "Instances": p.deployment.instances,
            "GPUs": p.gpus,
            "System": p.deployment.system,
        }
        for p in pool.placed
    ]
    return pd.DataFrame(rows)


def systems_table(pool: SharedPool) -> pd.DataFrame:
    """The systems that all workloads share."""
    rows = [
        {
            "System": s.system,
            "Systems": s.systems,
            "GPUs": s.gpus,
            "GPUs used": s.gpus_used,
            "Hardware (USD a month)": known(s.usd_per_month),
        }
        for s in pool.systems
    ]
    return pd.DataFrame(rows)
