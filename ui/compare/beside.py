"""What the scenario is compared with: columns of it, each named and found again by its words, or put together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from sharing.form.choices import labels
from sharing.form.read import OWN_GPU
from sharing.library.records import Version
from sizing.decision.columns import ComparisonColumn, columns
from sizing.decision.comparison import MOST_COMPARED, Comparison, compare
from sizing.decision.keep_text import odd_sentence
from sizing.decision.odd import odd_formats
from sizing.scenario.schema import Scenario
from ui import state
from ui.compare.column_text import FIELDS, KEPT, column_of, column_text, near_columns
from ui.library import library, refused
from ui.shell import draw_problems
from ui.shell.notes import draw_wrong_in_link
from ui.size.what_if import answers_for
from ui.state import FormAnswer, answer_of

KEY = "beside"
OWN = "columns_of_ones_own"
"""Session key: texts of the columns that were put together by hand, or that stood in an address."""
MOST = MOST_COMPARED - 1
UNNAMED = "This scenario"
"""What a scenario without a name is called beside its columns."""

_kept = st.cache_resource(max_entries=64, ttl="6h", show_spinner=False)

LOADS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Times the load of the scenario that a column can have."""

_TITLES = {"location": "Place", "gpu": "GPU", "precision": "Weight format", "engine": "Engine"}
_AS_IT_IS, _PROBLEM = "As on Size", "column_problem"
_OF_ITS_OWN = ("gpu", "precision", "engine")

IDS = "compared_with_kept"
"""Session key: ids of the library that are offered on Compare."""
_IN_ADDRESS = "Scenario {}"
_MOST_DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class Offered:
    """Something to compare with: the word for it, its name beside the scenario, and its name in an address.

    ``from_library``: a scenario of its own, not a column of the one in the form.
    """

    word: str
    name: str
    in_address: str
    scenario: Scenario
    from_library: bool = False


@_kept
def offered(scenario_json: str) -> tuple[Offered, ...]:
    """Every column of a scenario that one click adds."""
    answer = answer_of(scenario_json)
    texts = (column_text(one) for one in columns(answer))
    return tuple(one for text in texts if (one := as_offered(text, answer)) is not None)


def as_offered(text: str, answer: FormAnswer) -> Offered | None:
    """The column that a text means, called as the catalogue calls its parts however they were typed; None where it
    means none, or cannot stand beside the scenario's other values."""
    column = column_of(text)
    scenario = None if column is None else column.scenario(answer)
    if column is None or scenario is None:
        return None
    word = column_text(column)
    return Offered(word=word, name=word, in_address=text, scenario=scenario)


def every_column(answer: FormAnswer) -> list[Offered]:
    """What one click adds, then the columns that were put together here or stand in the address."""
    by_word = {one.word: one for one in offered(answer.scenario.model_dump_json())}
    texts = dict.fromkeys([*st.session_state.get(OWN, ()), *st.query_params.get_all(KEY)])
    own = {text: one for text in texts if text not in by_word and (one := as_offered(text, answer)) is not None}
    st.session_state[OWN] = tuple(own)
    # Another spelling of a column takes its place: it is the one that the address has.
    return list((by_word | {one.word: one for one in own.values()}).values())


def _keeps_hardware(one: Offered) -> bool:
    """Whether a column is of the plan's own hardware."""
    column = None if one.from_library else column_of(one.word)
    return column is not None and column.keep_hardware


def usual(choices: Sequence[Offered]) -> list[str]:
    """What is compared before anything was chosen: another GPU, and twice the load on the same hardware."""
    columns = {one.word: column_of(one.word) for one in choices if not one.from_library}
    gpu = next((word for word, one in columns.items() if one is not None and one.gpu), None)
    load = next((word for word, one in columns.items() if one is not None and one.load != 1.0), None)
    return [word for word in (gpu, load) if word is not None]


def draw_choice_of_columns(choices: Sequence[Offered]) -> list[Offered]:
    """The field that adds and removes columns; at most four, beside the scenario itself."""
    by_word = {one.word: one for one in choices}
    names = {one.word: one.name for one in choices}
    labels = {one.word: one.in_address for one in choices}
    kept = state.linked(KEY, labels, default=usual(choices), several=True)
    draw_wrong_in_link(KEY, "column of this scenario", near_columns)
    chosen = st.multiselect(
        "Compare with",
        list(labels),
        key=KEY,
        **kept,
        max_selections=MOST,
        wrap=True,
        format_func=names.__getitem__,
        placeholder="Choose up to four columns",
        help="Each changes what it names and leaves everything else as it is on Size. “Same hardware” is the plan's "
        "own GPU, engine, formats and layout. Scenarios of the library come from the Scenarios page.",
    )
    return [by_word[word] for word in chosen if word in by_word]


def chosen_columns(choices: Sequence[Offered]) -> list[Offered]:
    """What the field holds, on a page that does not draw it."""
    state.linked(KEY, {one.word: one.in_address for one in choices}, default=usual(choices), several=True)
    by_word = {one.word: one for one in choices}
    return [by_word[word] for word in st.session_state[KEY] if word in by_word]


@_kept
def compared(
    scenario_json: str, others: tuple[tuple[str, str], ...], name: str, keeping: tuple[int, ...]
) -> Comparison:
    """The scenario beside others, each a name with its scenario; ``keeping``: which of them, counted from 1, keep its
    hardware. Raises InvalidScenario or SizingError."""
    beside = _named(scenario_json, others, name)
    return compare(beside, answers_for(scenario_json), hardware_as_one=True, keeping=keeping)


@_kept
def odd_ones(scenario_json: str, others: tuple[tuple[str, str], ...], name: str) -> tuple[str, ...]:
    """Why columns are odd: what nothing serves, and narrower weights that need more GPUs. Raises SizingError."""
    answers = answers_for(scenario_json)
    answered = [(one.name, answers.answer(one)) for one in _named(scenario_json, others, name)]
    nearest = [(called, answer.plan.excluded[0]) for called, answer in answered if answer.plan.excluded]
    unserved = [
        f"{called}: {excluded.reason} Smallest change that would let it: {excluded.relaxation}"
        for (called, excluded) in nearest
        if not dict(answered)[called].plan.feasible
    ]
    return (*unserved, *map(odd_sentence, odd_formats(answered)))


def _named(scenario_json: str, others: tuple[tuple[str, str], ...], name: str) -> list[Scenario]:
    return [
        Scenario.model_validate_json(text).model_copy(update={"name": called})
        for called, text in ((name, scenario_json), *others)
    ]


def named(answer: FormAnswer) -> str:
    """The scenario beside its columns."""
    return answer.scenario.name if answer.scenario.name != Scenario.model_fields["name"].default else UNNAMED


def keeping_hardware(chosen: Sequence[Offered]) -> tuple[int, ...]:
    """Which of the columns, counted from 1, are of the plan's own hardware."""
    return tuple(n for n, one in enumerate(chosen, 1) if _keeps_hardware(one))


def named_scenarios(chosen: Sequence[Offered]) -> tuple[tuple[str, str], ...]:
    """Their names with their scenarios, in the order they were chosen."""
    return tuple((one.name, one.scenario.model_dump_json()) for one in chosen)


def draw_adding() -> None:
    """The fields of a column behind a click, and what is wrong with them below it."""
    with st.popover("Put a column together", icon=":material/add_column_right:"):
        kept = st.toggle(
            "The plan's own hardware",
            key="column_kept",
            help="Its GPU, engine, formats and layout, of which more or fewer may be needed at another place or load.",
        )
        for name in FIELDS:
            _choice(name, disabled=kept and name in _OF_ITS_OWN)
        st.select_slider(
            "Times the load",
            LOADS,
            value=1.0,
            key="column_load",
            format_func=lambda factor: f"{factor:g} x",
            help="Of the scenario.",
        )
        st.button("Add the column", key="column_add", on_click=_add, icon=":material/add:", type="primary")
        if problem := st.session_state.get(_PROBLEM):
            draw_problems([problem])


def _choice(name: str, *, disabled: bool) -> None:
    options = {"": _AS_IT_IS} | {one: text for one, text in labels(FIELDS[name]).items() if one != OWN_GPU}
    st.selectbox(
        _TITLES[name],
        list(options),
        key=f"column_{name}",
        format_func=options.__getitem__,
        disabled=disabled,
        help=f"“{_AS_IT_IS}” leaves what the form says.",
    )


def _add() -> None:
    """Put the column beside the others; what is wrong with that stays to be said."""
    kept = bool(st.session_state["column_kept"])
    given: dict[str, Any] = {name: st.session_state[f"column_{name}"] for name in FIELDS}
    column = ComparisonColumn(
        location=given["location"] or None,
        **{name: "" if kept else given[name] for name in _OF_ITS_OWN},
        keep_hardware=kept,
        load=float(st.session_state["column_load"]),
    )
    text, beside = column_text(column), list(st.session_state[KEY])
    st.session_state[_PROBLEM] = _problem(text, beside)
    if not st.session_state[_PROBLEM]:
        st.session_state[OWN] = (*st.session_state.get(OWN, ()), text)
        st.session_state[KEY] = [*beside, text]


def _problem(text: str, beside: list[str]) -> str:
    if text in ("", KEPT):
        return "Nothing differs from the scenario: choose a place, GPU, weight format, engine or load."
    if text in beside:
        return f"The column “{text}” is there already."
    if len(beside) >= MOST:
        return f"{MOST} columns stand beside the scenario already: remove one first."
    return ""


def choose_kept(ids: Sequence[int]) -> None:
    """Have Compare put these beside the scenario in the form."""
    st.session_state[IDS] = tuple(ids[:MOST])
    st.session_state[KEY] = [_word(scenario_id) for scenario_id in ids[:MOST]]


def kept_scenarios() -> list[Offered]:
    """Those that were chosen or stand in the address, as they are now; what the library refuses is said."""
    offered: list[Offered] = []
    for scenario_id in _ids():
        with refused():
            offered.append(_offered(library().version(scenario_id)))
    return offered


def _offered(version: Version) -> Offered:
    number, scenario = version.scenario_id, version.scenario()
    name = f"{number}: {scenario.name}"
    return Offered(
        word=_word(number), name=name, in_address=_IN_ADDRESS.format(number), scenario=scenario, from_library=True
    )


def _word(scenario_id: int) -> str:
    return f"library-{scenario_id}"


def _ids() -> list[int]:
    """The scenarios of the session, then of the address; at most as many as fit beside a scenario."""
    pattern = re.compile(_IN_ADDRESS.format(rf"([1-9]\d{{0,{_MOST_DIGITS - 1}}})"))
    named = (pattern.fullmatch(text) for text in st.query_params.get_all(KEY))
    ids: list[int] = [*st.session_state.get(IDS, ()), *(int(match[1]) for match in named if match)]
    chosen = tuple(dict.fromkeys(ids))
    st.session_state[IDS] = chosen[-MOST:]
    return list(chosen[-MOST:])
