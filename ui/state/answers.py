"""Answers to scenarios: computed once for everybody, and the last one that held in this session."""

import gc
import threading
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import streamlit as st
from pydantic import ValidationError

from sharing.form.fields import FIELDS
from sharing.form.presets import defaults, presets
from sharing.form.problems import FieldFault, UnreadableInput, in_short, sentence
from sharing.form.read import faults, to_scenario
from sizing.base.errors import SizingError
from sizing.base.result import Plan
from sizing.catalog.model import Model
from sizing.planning import answered
from sizing.scenario.schema import Scenario
from ui.state.costs import with_rent
from ui.state.values import CONFIG, benchmark, config_fault, price_book, trace, values
from ui.state.waiting import place_told
from ui.work.plans import full_plan, plans
from ui.work.questions import Tell

_LAST = "last_answer"


def plan_of(scenario_json: str, tell: Tell | None = None) -> Plan:
    """The answer to a scenario, the only one this product gives: pages, exports, links and commands show it.

    A plan is frozen, so sessions share it without a copy. ``tell`` is told now and then where it stands in the queue.
    Raises SizingError.
    """
    return full_plan(scenario_json, tell)


_READY = threading.Event()
"""Set once a plan has been simulated in this process."""
_LOOK_S = 0.02
DRAWN_S = 3.0
"""From the first answer until what only later pages need is loaded. Chosen: the page has been drawn by then."""


def ready() -> bool:
    """Whether plans are simulated at once. Waits while the simulator is loaded, but not while it is compiled."""
    from sizing.simulator.entry import compiling

    warm_up()
    while not _READY.wait(_LOOK_S):
        if compiling():
            return False
    return True


@dataclass(frozen=True, eq=False)
class FormAnswer(answered.Answer):
    """The answer to what the form says; ``provisional``: the analytic estimate, until the simulator is compiled."""

    provisional: bool = False


def answer_of(scenario_json: str) -> FormAnswer:
    """The answer to a scenario with the question as it was understood. Raises SizingError."""
    return FormAnswer.of(Scenario.model_validate_json(scenario_json), lambda _: plan_of(scenario_json))


@dataclass(frozen=True, kw_only=True)
class PageOutcome:
    """What the page shows: the answer to these inputs, or what is wrong with them; ``last`` is the last that held.

    ``faults`` are what is wrong with single fields. ``unfinished``: nothing is wrong but that something was not filled
    in yet.
    """

    answer: FormAnswer | None
    problem: str
    last: FormAnswer | None
    faults: tuple[FieldFault, ...] = ()

    @property
    def unfinished(self) -> bool:
        """Whether all that is missing are fields which nobody has touched."""
        return bool(self.faults) and all(untouched(fault) for fault in self.faults)


def outcome() -> PageOutcome:
    """Read the form and answer it. What is wrong with the inputs is a sentence, never an exception."""
    last = st.session_state.get(_LAST)
    files: dict[str, Any] = {
        "config": st.session_state.get(CONFIG),
        "config_fault": refused.sentence if (refused := config_fault()) else "",
        "benchmark": benchmark(),
        "price_book": price_book(),
        "trace": trace(),
    }
    try:
        scenario = with_rent(Scenario.model_validate(to_scenario(values(), **files)))
        answer = _answer(scenario)
    except (UnreadableInput, ValidationError):
        wrong = faults(values(), **files)
        return PageOutcome(answer=None, problem=in_short(wrong), last=last, faults=wrong)
    except SizingError as error:
        return PageOutcome(answer=None, problem=sentence(error), last=last)
    if answer.plan.feasible:
        st.session_state[_LAST] = last = answer
    return PageOutcome(answer=answer, problem="", last=last)


def _answer(scenario: Scenario) -> FormAnswer:
    from sizing.planning.analytic import analytic_plan
    from sizing.question.understand import understand

    if ready():
        with place_told() as tell:
            return FormAnswer(understand(scenario), plan_of(scenario.model_dump_json(), tell))
    return FormAnswer(understand(scenario), analytic_plan(scenario), provisional=True)


def untouched(fault: FieldFault) -> bool:
    """Whether a field is empty because it always was: one that the form starts with a value in was emptied."""
    return fault.empty and not (FIELDS[fault.at].kind == "number" and defaults()[fault.at])


def last_answer() -> FormAnswer | None:
    """The last answer to what this session asks that held; None as long as nothing was asked: an untouched form asks
    nothing. Pages beside the form may be the first of a session, or come from the browser's history."""
    if _LAST not in st.session_state and values() == defaults():
        return None
    return outcome().last


def model() -> Model | None:
    """The model of the form; None where the form says none that can be read."""
    from sizing.question.understand import model_of

    answered = outcome()
    known = answered.answer or answered.last
    return model_of(known.scenario) if known else None


@cache
def warm_up() -> threading.Thread:
    """Load what the first answer and its evidence need while the first page is being drawn."""
    thread = threading.Thread(target=_first_answer, name="warm-up", daemon=True)
    thread.start()
    return thread


def _first_answer() -> None:
    from sizing.planning.analytic import analytic_plan

    scenario = next(iter(presets().values())).scenario
    try:
        analytic_plan(scenario)  # what estimates need is compiled first: it takes a quarter of the time
        plan_of(scenario.model_dump_json())  # the page of an untouched form shows this one
    finally:
        _READY.set()
        later = threading.Timer(DRAWN_S, _what_is_needed_later)
        later.daemon = True
        later.start()


def _what_is_needed_later() -> None:
    from sizing.evidence.published import evidence

    evidence()
    plans().start()
    import_module("sharing.links.store")  # and with it SQLAlchemy: nobody waits for it at the first Save or Share
    # Streamlit collects all garbage after every run and every look of a fragment: 130 ms, in which no thread works,
    # over 250,000 objects of libraries and catalogue. None of these ever goes.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.enable()
