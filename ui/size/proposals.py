"""Three proposals side by side: what each is made of and costs, how surely it holds, and what it gives up."""

import streamlit as st

from sizing.base.format import a_month, usd
from sizing.base.result import Fix, Proposal
from sizing.planning.proposal_text import NAMES, balanced_of, chance, gives_up, is_the_plan, made_of, room
from ui import state
from ui.format import as_markdown, unbroken
from ui.state import FormAnswer

_NARROWEST = 220
"""Pixels of a card below which they stand one below the other. Chosen: the name of a system fits on two lines."""

_CHOICES = {
    "lowest_cost": Fix(key="deployment.confidence", value=50, label="Plan for this"),
    "resilient": Fix(key="deployment.redundancy", value="system", label="Plan for this"),
}
"""What makes another proposal the plan."""


def draw_proposals(answer: FormAnswer, *, to_choose: bool = True) -> None:
    """The proposals of a plan; nothing where it has none. ``to_choose``: with what makes another one the plan."""
    balanced = balanced_of(answer.plan)
    if balanced is None:
        return
    grid = st.grid(len(answer.plan.proposals), min_column_width=_NARROWEST, gap="small", border=True)
    for one in answer.plan.proposals:
        with grid.cell():
            _draw(one, balanced, answer, to_choose=to_choose)


def _draw(one: Proposal, balanced: Proposal, answer: FormAnswer, *, to_choose: bool) -> None:
    """A card: two lines of figures, and what it gives up."""
    with st.container(gap="xxsmall"):
        same = " :green-badge[the plan]" if is_the_plan(one, balanced) else ""
        st.markdown(f"**{NAMES[one.name]}**{same}")
        st.markdown(
            f"Hardware **{as_markdown(a_month(one.hardware_usd_per_month))}** for "
            f"{as_markdown(made_of(one.deployment))}"
        )
        st.markdown(f":small[Limits hold: **{as_markdown(chance(one))}**; room to grow: **{as_markdown(room(one))}**]")
        st.caption(as_markdown(gives_up(one, balanced, usd)))
    if to_choose and one.name in _CHOICES and not is_the_plan(one, balanced) and answer.scenario.measured is None:
        _button(one, answer)


def _button(one: Proposal, answer: FormAnswer) -> None:
    fix = _CHOICES[one.name]
    st.button(
        unbroken(fix.label),
        key=f"propose_{one.name}",
        on_click=state.apply_fix,
        args=(fix, answer.scenario),
        type="tertiary",
        icon=":material/check:",
        help=f"Changes {fix.key} in the form; the plan is then what this scenario asks for.",
    )
