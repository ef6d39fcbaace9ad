"""What if: the load, lengths and limits of a scenario moved, answered on the plan's own hardware first.

The same panel on Size and on Compare. It refreshes alone where a slider is moved.
"""

from collections.abc import Mapping
from typing import get_args

import pandas as pd
import streamlit as st

from sharing.form.choices import label
from sizing.base.errors import SizingError
from sizing.base.format import count, ms, significant
from sizing.decision.keep_hardware import Kept, MovedInput, at, movable_inputs, now, questions, what_if
from sizing.decision.keep_text import INPUTS, QUESTIONS, kept_sentence, more_in_words, other_sentence, same_in_words
from sizing.decision.outcome import Answers, Outcome, Progress
from sizing.economics.fleet_text import Money
from sizing.mixed.text import of_one_fleet
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import LengthTrace, TraceArrivals
from ui import state
from ui.format import as_markdown
from ui.shell import chosen_currency, draw_csv, draw_problems, progress_bar
from ui.shell.progress import Held
from ui.size.key_figures import parallelism
from ui.state import FormAnswer, answer_of
from ui.work.plans import brief_plan

_kept = st.cache_resource(max_entries=64, ttl="6h", show_spinner=False)

FACTORS = (0.25, 0.5, 0.75, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Times the value that a slider can be moved to. Chosen: because a guess is seldom off by more than four."""

LEGIBLE = """<style>
[data-testid="stSliderThumbValue"], [data-testid="stSliderThumbValue"] * {
    color: light-dark(#0072B2, #56B4E9) !important;
}
</style>"""
"""Values of sliders in the colours of links: in the dark theme Streamlit writes them in the primary colour, on which
white text stands, and which is too dark to be read on the page."""

_PER_ROW = 3
_LAST, _TAKEN = "what_if_last", "what_if_taken"

Rows = tuple[tuple[str, Kept], ...]


@_kept
def answers_for(scenario_json: str) -> Answers:
    """The plans that were made beside a scenario, its own among them, each once for everybody."""
    answers = Answers(brief_plan)
    answers.knows(answer_of(scenario_json))
    return answers


@_kept
def _held(scenario_json: str) -> Held[Rows]:
    """The place of the usual what-ifs of a scenario."""
    return Held()


@_kept
def kept_at(scenario_json: str, factors: tuple[tuple[MovedInput, float], ...]) -> Kept | None:
    """The scenario with moved inputs on the plan's hardware; None where they cannot stand together. Raises
    SizingError."""
    return at(answer_of(scenario_json), dict(factors), answers_for(scenario_json))


def draw_what_if(answer: FormAnswer) -> None:
    """Sliders with the answer to them, then what customers usually ask next."""
    st.html(LEGIBLE)
    deployed = answer.plan.deployment
    if deployed is None or not answer.plan.feasible:
        st.info("Nothing serves the scenario yet: relax a limit first.", icon=":material/info:")
        return
    st.caption(
        "Answered with the plan's own hardware first, of which more or fewer are needed: "
        f"{answer.question.gpu_name(deployed.gpu)}, {label('engine', deployed.engine)}, "
        f"{label('prec', deployed.weight_precision)}, {parallelism(deployed)}. Then what would be chosen anew. Costs "
        f"are all costs a month, as on Cost. {of_one_fleet(answer.scenario)}"
    )
    st.fragment(_sliders)(answer)
    st.markdown("**What is asked next**")
    _usual(answer)


def _money() -> Money:
    """Writes amounts in USD in the currency of the session."""
    currency = chosen_currency()
    return lambda usd: currency.written(None if usd is None else currency.of(usd))


def _sliders(answer: FormAnswer) -> None:
    """A slider for each input that can be moved, and the answer to all of them together."""
    if st.session_state.pop(_TAKEN, False):
        st.rerun()  # the whole page, not this part of it
    names = movable_inputs(answer.scenario)
    factors: dict[MovedInput, float] = {}
    for start in range(0, len(names), _PER_ROW):
        row = names[start : start + _PER_ROW]
        for place, name in zip(st.columns(_PER_ROW, gap="medium"), row, strict=False):
            with place:
                factors[name] = _slider(answer.scenario, name)
    moved = {name: factor for name, factor in factors.items() if factor != 1.0}
    st.button(
        "As it is",
        key="what_if_reset",
        on_click=_reset,
        icon=":material/restart_alt:",
        disabled=not moved,
        help="Puts every slider back to the value of the scenario.",
    )
    if not moved:
        st.info("Move a slider: the answer on the same hardware appears here.", icon=":material/tune:")
        return
    _answered(answer, moved)


def _slider(scenario: Scenario, name: MovedInput) -> float:
    title, unit = INPUTS[name]
    value = now(scenario, name) or 0.0
    users = name == "load" and scenario.workload.users is not None
    return st.select_slider(
        f"{title} ({'daily users' if users else unit})",
        FACTORS,
        value=1.0,
        key=f"what_if_{name}",
        persist_state="session",
        format_func=lambda factor: _at(value, factor, whole=users),
        help="A what-if beside the form: from a quarter of the scenario's value to four times it.",
    )


def _at(value: float, factor: float, *, whole: bool) -> str:
    number = count(round(value * factor)) if whole else significant(value * factor)
    return number if factor == 1.0 else f"{number} ({significant(factor)} x)"


def _reset() -> None:
    for name in get_args(MovedInput):
        st.session_state[f"what_if_{name}"] = 1.0


def _answered(answer: FormAnswer, factors: Mapping[MovedInput, float]) -> None:
    """The answer to the sliders; where they cannot be, that in a sentence, and the last answer that held."""
    key = answer.scenario.model_dump_json()
    try:
        with st.spinner("Planning", show_time=False):
            kept = kept_at(key, tuple(factors.items()))
        problem = "" if kept else "These values cannot stand together: move one of the sliders back."
    except SizingError as error:
        kept, problem = None, str(error)
    if kept is not None:
        st.session_state[_LAST] = key, kept
        _draw_kept(answer, kept)
        return
    draw_problems([problem])
    before, last = st.session_state.get(_LAST, ("", None))
    if before == key and last is not None:
        st.caption("The last answer, before that slider was moved:")
        _draw_kept(answer, last)


def _draw_kept(answer: FormAnswer, kept: Kept) -> None:
    """Draw both answers side by side, each with what makes the form ask for it."""
    same, other = st.columns(2, gap="medium")
    with same.container(border=True):
        st.markdown("**The same hardware**")
        st.markdown(as_markdown(kept_sentence(kept, _money())))
        _figures(kept.same, answer)
        if kept.same.feasible:
            _use(answer, kept.kept_scenario, "what_if_use_same", "Size with this, same hardware")
    with other.container(border=True):
        st.markdown("**Another choice**")
        st.markdown(as_markdown(other_sentence(kept, _money())))
        if kept.other is not None:
            _figures(kept.other, answer)
            _use(answer, kept.moved_scenario, "what_if_use_any", "Size with this, any hardware")


def _figures(one: Outcome, answer: FormAnswer) -> None:
    if not one.feasible:
        return
    at_percentile = f"p{answer.scenario.limits.percentile:g}"
    figures = {
        "GPUs": count(one.gpus),
        "GPUs bought": count(one.gpus_bought),
        "All costs a month": _money()(one.usd_per_month),
        f"{at_percentile} TTFT": ms(one.ttft_ms),
        f"{at_percentile} ITL": ms(one.itl_ms),
    }
    st.caption(" · ".join(f"{name} **{as_markdown(value)}**" for name, value in figures.items()))


def _use(answer: FormAnswer, scenario: Scenario, key: str, title: str) -> None:
    """The button that writes a what-if into the form; none for what a form cannot hold: a trace that was scaled."""
    workload = answer.scenario.workload
    traced = any(isinstance(one, LengthTrace) for one in (workload.input_tokens, workload.output_tokens))
    if traced or isinstance(workload.arrivals, TraceArrivals):
        return
    st.button(
        title,
        key=key,
        on_click=_take,
        args=(answer.scenario, scenario),
        icon=":material/check:",
        help="Writes these values into the form, and this choice of hardware with them.",
    )


def _take(before: Scenario, after: Scenario) -> None:
    state.use_scenario(before, after)
    _reset()
    st.session_state[_TAKEN] = True


def _usual(answer: FormAnswer) -> None:
    """What customers ask once they have seen a plan, each in a row."""
    key, money = answer.scenario.model_dump_json(), _money()
    with progress_bar() as progress:
        rows = _held(key).computed(lambda: _asked(answer, answers_for(key), progress))
    table = pd.DataFrame(
        [
            {
                "What if": title,
                "On the same hardware": same_in_words(kept),
                "More a month": more_in_words(kept.same, kept.now, money),
                "Otherwise": other_sentence(kept, money),
            }
            for title, kept in rows
        ]
    )
    for title, kept in rows:
        st.markdown(
            f"**{title}.** {as_markdown(kept_sentence(kept, money))} {as_markdown(other_sentence(kept, money))}"
        )
    draw_csv(table, key="what_if", what="What is asked next")


def _asked(answer: FormAnswer, answers: Answers, progress: Progress) -> Rows:
    """The usual what-ifs that can be asked, with their answers. Raises InvalidScenario."""
    names = questions(answer.scenario)
    rows = []
    for done, name in enumerate(names):
        progress(done, len(names))
        kept = what_if(answer, name, answers)
        if kept is not None:
            rows.append((QUESTIONS[name], kept))
    return tuple(rows)
