"""Ways to optimise the scenario: every weight format side by side, every lever moved alone, NIM beside open source."""

import pandas as pd
import streamlit as st

from sharing.form.asked import AskedNumber
from sharing.form.choices import label
from sizing.base.errors import SizingError
from sizing.catalog import models
from sizing.catalog.derived import smaller_versions
from sizing.catalog.model import Model
from sizing.decision.added_up import formats_added_up, levers_added_up, nim_added_up
from sizing.decision.formats import Formats, formats
from sizing.decision.keep_text import odd_sentence
from sizing.decision.keys import with_values
from sizing.decision.lever_changes import LeverSettings, default_settings, next_smaller, pruned_size_b
from sizing.decision.lever_text import cheapest_formats, finding
from sizing.decision.levers import LeverRow, levers
from sizing.decision.nim import NimComparison, nim_beside_open_source
from sizing.decision.nim_text import nim_sentences
from sizing.decision.odd import odd_formats
from sizing.decision.outcome import Answers, Outcome
from sizing.mixed.text import of_one_fleet
from sizing.question.understand import model_of
from sizing.scenario.schema import Scenario
from ui.currency import Currency
from ui.figures.comparison import Named, build_measure, measure_alt_text, measures
from ui.figures.optimisation import (
    FORMATS_TOLD,
    LEVERS_TOLD,
    formats_named,
    formats_table,
    levers_named,
    levers_table,
    nim_facts_table,
    nim_table,
    published_table,
)
from ui.format import as_markdown, bullets
from ui.shell import draw_chart, draw_choice, draw_csv, draw_number, draw_problems, draw_rows, draw_table, draw_wrapped
from ui.size.what_if import answers_for

ON = {"same": "GPU of the plan", "any": "Any that the scenario allows"}
_SHOWN = (0, 1, 3)
"""Places of the measures that are shown: cost, GPUs and ITL."""

_kept = st.cache_resource(max_entries=32, ttl="6h", show_spinner=False)

_SMALLEST_B, _LARGEST_B = 0.05, 20_000.0
"""Size of a model that is looked at, billions of parameters: as a scenario may have it."""


def _answers(scenario_json: str) -> tuple[Scenario, Answers]:
    """The scenario with the plans made for it, its own among them."""
    return Scenario.model_validate_json(scenario_json), answers_for(scenario_json)


@_kept
def formats_of(scenario_json: str, *, same_gpu: bool) -> Formats:
    """Every weight format. Raises InvalidScenario."""
    scenario, answers = _answers(scenario_json)
    return formats(scenario, answers, same_gpu=same_gpu)


@_kept
def odd_formats_of(scenario_json: str, *, same_gpu: bool) -> tuple[str, ...]:
    """Why formats with narrower weights need more GPUs. Raises InvalidScenario."""
    scenario, answers = _answers(scenario_json)
    compared = formats(scenario, answers, same_gpu=same_gpu)
    gpu = [compared.gpu] if compared.gpu else scenario.deployment.gpus
    moved = {
        row.precision: with_values(scenario, {"deployment.precisions": [row.precision], "deployment.gpus": gpu})
        for row in compared.rows
        if row.outcome.feasible
    }
    named = [(label("prec", name), answers.answer(one)) for name, one in moved.items() if one is not None]
    return tuple(map(odd_sentence, odd_formats(named)))


@_kept
def levers_of(scenario_json: str, settings: LeverSettings) -> tuple[LeverRow, ...]:
    """Every lever. Raises InvalidScenario."""
    scenario, answers = _answers(scenario_json)
    return levers(scenario, settings, answers)


def _of_one_fleet(key: str) -> str:
    return of_one_fleet(Scenario.model_validate_json(key))


def draw_formats(key: str, currency: Currency, *, dark: bool) -> None:
    """The same scenario in every weight format."""
    on = draw_choice("On", ON, key="formats_on", help="Whether another format may also be served by another GPU type.")
    try:
        compared = formats_added_up(currency.converted(formats_of(key, same_gpu=on == "same")))
    except SizingError as error:
        draw_problems([str(error)])
        return
    if text := cheapest_formats(compared, currency.written):
        st.markdown(f"**{as_markdown(text)}**")
    st.caption(
        "Each format is planned on its own; everything else is as on Size. Accuracy losses and speed gains were "
        "published for other models: test yours. Gain: the vendor's grade, and in brackets the measured tokens/s "
        "relative to 16 bit with 1 and with 64 requests in flight. Stored only: weights are widened to 16 bit before "
        f"they are multiplied. {_of_one_fleet(key)}"
    )
    if odd := odd_formats_of(key, same_gpu=on == "same"):
        with st.expander("Why narrower weights need more GPUs here", icon=":material/help:", type="compact"):
            st.markdown(bullets(odd))
    at = _percentile_of(key)
    _charts(formats_named(compared), "formats", currency, at, dark=dark)
    table = formats_table(compared, currency, at)
    shown = table.drop(columns=["GPU", *FORMATS_TOLD] if on == "same" else FORMATS_TOLD)
    draw_wrapped(shown, alt="Weight formats side by side")
    _told(table[["Weights", *FORMATS_TOLD]], "formats", "What runs them, and why not")
    draw_csv(table, key="formats", what="Weight formats")
    draw_table(lambda: published_table(compared), key="published", what="Published losses, gains and grades")


def draw_levers(key: str, currency: Currency, *, dark: bool) -> None:
    """Each lever moved alone."""
    settings = draw_settings(Scenario.model_validate_json(key))
    try:
        with st.spinner("Planning each lever"):
            rows, base = levers_of(key, settings), currency.converted(plan_outcome(key))
            rows, base = levers_added_up((currency.converted(row) for row in rows), base)
    except SizingError as error:
        draw_problems([str(error)])
        return
    st.markdown(f"**{as_markdown(finding(rows, currency.written))}**")
    st.caption(
        "Each lever is moved alone; everything else is as on Size. Only whole systems are bought, so that fewer GPUs "
        f"need not cost less. {_of_one_fleet(key)}"
    )
    at = _percentile_of(key)
    _charts(levers_named(rows, base), "levers", currency, at, dark=dark)
    table = levers_table(rows, currency, at)
    draw_wrapped(table.drop(columns=LEVERS_TOLD), alt="Levers side by side")
    _told(table[["Lever", *LEVERS_TOLD]], "levers", "What each lever rests on")
    draw_csv(table, key="levers", what="Levers")


def plan_outcome(key: str) -> Outcome:
    """The scenario's own answer, with its full cost. Raises InvalidScenario."""
    scenario, answers = _answers(key)
    return answers.outcome(scenario)


def _told(table: pd.DataFrame, key: str, title: str) -> None:
    """Sentences on the rows of a table, behind a click: they are longer than all of it."""
    with st.expander(title, icon=":material/notes:", type="compact", key=f"{key}_told", on_change="rerun") as expander:
        if expander.open:
            draw_wrapped(table, alt=title)


def _percentile_of(key: str) -> str:
    return f"p{Scenario.model_validate_json(key).limits.percentile:g} "


def _charts(outcomes: Named, key: str, currency: Currency, at: str, *, dark: bool) -> None:
    shown = [measures(currency, at)[n] for n in _SHOWN]
    for place, measure in zip(st.columns(len(shown)), shown, strict=True):
        with place:
            figure = build_measure(outcomes, measure, dark=dark)
            draw_chart(figure, key=f"{key}_{measure.title}", alt=measure_alt_text(outcomes, measure))


def draw_settings(scenario: Scenario) -> LeverSettings:
    """The fields of the levers, behind a click. Those of a model start over with another one."""
    start, model = default_settings(), model_of(scenario)
    with st.popover("Assumptions of the levers", icon=":material/tune:"):
        cached = _whole("Prefix caching: share of the prompt (%)", "cached", (1, 99), round(100 * start.cached_share))
        left = _whole("Shorter prompts: length left (%)", "prompt", (1, 99), round(100 * start.prompt_share))
        drafts = _whole("Speculative decoding: draft tokens a step", "drafts", (1, 16), start.draft_tokens)
        right = _whole(
            "Speculative decoding: draft tokens accepted (%)", "acceptance", (0, 100), round(100 * start.acceptance)
        )
        smaller, made, size = _smaller(model), _made(model), _size(model)
    return LeverSettings(
        cached_share=cached / 100.0,
        prompt_share=left / 100.0,
        draft_tokens=drafts,
        acceptance=right / 100.0,
        smaller_model=smaller,
        derived=made,
        size_b=size,
    )


def _whole(title: str, name: str, ends: tuple[int, int], value: int) -> int:
    low, high = ends
    number = draw_number(
        title,
        AskedNumber(name=title, low=low, high=high, whole=True, example=str(value)),
        key=f"lever_{name}",
        default=value,
        kept="session",
        help=f"A what-if, {low} to {high}: replace it by what your own traffic and model allow.",
    )
    return int(number)


def _smaller(model: Model) -> str | None:
    names = sorted(one.id for one in models().values() if one.params_total < model.params_total)
    usual = next_smaller(model)
    return st.selectbox(
        "Smaller model",
        names,
        index=names.index(usual) if usual in names else None,
        key=f"lever_model_{model.id}",
        persist_state="session",
        help="Taken instead of the model: test its answers on your task.",
        placeholder="None chosen",
    )


def _made(model: Model) -> str | None:
    """The published model made of this one; None, and no field, where the catalogue knows of none."""
    names = smaller_versions(model.id)
    if not names:
        return None
    return st.selectbox(
        "Published pruned or distilled model",
        names,
        key=f"lever_made_{model.id}",
        persist_state="session",
        help="Made of this model, with published scores; the first keeps most of them.",
    )


def _size(model: Model) -> float:
    return draw_number(
        "Pruned model: size (billions of parameters)",
        AskedNumber(name="Size of the pruned model", low=_SMALLEST_B, high=_LARGEST_B, example="6"),
        key=f"lever_size_{model.id}",
        default=max(round(pruned_size_b(model), 2), _SMALLEST_B),
        kept="session",
        help="Of a dense model with the same layers and heads, narrower.",
    )


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
