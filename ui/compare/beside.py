"""What the scenario is compared with: variants of it, each named and found again by a short word in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from sharing.form.choices import label
from sizing.decision.comparison import MOST_COMPARED, Comparison, compare
from sizing.decision.outcome import Answers
from sizing.decision.variants import Variant, variants
from sizing.scenario.schema import Scenario
from ui import state
from ui.shell.notes import draw_wrong_in_link
from ui.state import Answer, answer_of

KEY = "beside"
MOST = MOST_COMPARED - 1

_kept = st.cache_resource(max_entries=64, ttl="6h", show_spinner=False)


@dataclass(frozen=True, kw_only=True)
class Offered:
    """Something to compare with: the word for it, its name beside the scenario, and its name in an address."""

    word: str
    name: str
    in_address: str
    scenario: Scenario
    kind: str


@_kept
def offered(scenario_json: str) -> tuple[Offered, ...]:
    """Every variant of a scenario that one click adds."""
    return tuple(
        Offered(
            word=f"{one.kind}-{one.of}", name=_name(one), in_address=_name(one), scenario=one.scenario, kind=one.kind
        )
        for one in variants(answer_of(scenario_json))
    )


def _name(one: Variant) -> str:
    if one.kind == "traffic":
        return f"{one.of} x the load"
    own = {card.id: card.label for card in one.scenario.deployment.custom_gpus}
    if one.kind == "gpu" and one.of in own:
        return own[one.of]
    return label({"gpu": "gpu", "precision": "prec", "location": "where"}[one.kind], one.of)


def usual(choices: Sequence[Offered]) -> list[str]:
    """What is compared before anything was chosen: another GPU and twice the load, as far as there are."""
    first = {kind: next((c.word for c in choices if c.kind == kind), None) for kind in ("gpu", "traffic")}
    return [word for word in first.values() if word is not None]


def draw_choice_of_variants(choices: Sequence[Offered]) -> list[Offered]:
    """The field that adds and removes variants; at most three, beside the scenario itself."""
    by_word = {one.word: one for one in choices}
    names = {one.word: one.name for one in choices}
    labels = {one.word: one.in_address for one in choices}
    kept = state.linked(KEY, labels, default=usual(choices), several=True)
    draw_wrong_in_link(KEY, "variant of this scenario")
    chosen = st.multiselect(
        "Compare with",
        list(labels),
        key=KEY,
        **kept,
        max_selections=MOST,
        format_func=names.__getitem__,
        placeholder="Choose up to three variants",
        help="Each changes one thing and leaves everything else as it is on Size: another GPU type, weight format or "
        "place, or twice the load. Scenarios of the library come from the Scenarios page.",
    )
    return [by_word[word] for word in chosen if word in by_word]


def chosen_variants(choices: Sequence[Offered]) -> list[Offered]:
    """What the field holds, on a page that does not draw it."""
    state.linked(KEY, {one.word: one.in_address for one in choices}, default=usual(choices), several=True)
    by_word = {one.word: one for one in choices}
    return [by_word[word] for word in st.session_state[KEY] if word in by_word]


@_kept
def compared(scenario_json: str, others: tuple[tuple[str, str], ...], name: str) -> Comparison:
    """The scenario beside others, each a name with its scenario. Raises InvalidScenario or SizingError."""
    base, *beside = (
        Scenario.model_validate_json(text).model_copy(update={"name": called})
        for called, text in ((name, scenario_json), *others)
    )
    answers = Answers()
    answers.knows(answer_of(scenario_json))
    return compare([base, *beside], answers)


def named(answer: Answer) -> str:
    """The scenario beside its variants."""
    return answer.scenario.name if answer.scenario.name != Scenario.model_fields["name"].default else "This scenario"


def named_scenarios(chosen: Sequence[Offered]) -> tuple[tuple[str, str], ...]:
    """Their names with their scenarios, in the order they were chosen."""
    return tuple((one.name, one.scenario.model_dump_json()) for one in chosen)
