"""What a page says while it waits for what is computed: its place in the queue."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.work.questions import Tell

MOMENT_S = 0.6
"""Before anything is said, so that nothing flickers. Chosen: most plans are there by then."""
AGAIN_S = 1.0
"""Between two drawings of the same place."""


@contextmanager
def place_told(doing: str = "Planning") -> Iterator[Tell]:
    """Gives what is to be told the place in the queue now and then; what it draws is gone at the end.

    Drawing is where Streamlit ends the run of a page whose inputs were changed meanwhile: it then waits no longer.
    """
    due_s, drawn, shown = time.monotonic() + MOMENT_S, list[DeltaGenerator](), ""

    def tell(place: int) -> None:
        nonlocal due_s, shown
        sentence = waiting_sentence(place, doing)
        if time.monotonic() < due_s and (sentence == shown or not drawn):
            return
        if not drawn:
            drawn.append(st.empty())
        drawn[0].caption(f":material/hourglass_top: {sentence}")
        due_s, shown = time.monotonic() + AGAIN_S, sentence

    try:
        yield tell
    finally:
        for where in drawn:
            where.empty()


def waiting_sentence(place: int, doing: str = "Planning") -> str:
    """What is being done, and where it stands in the queue; 0: it is being computed."""
    return f"{doing}: {ordinal(place)} in the queue." if place else f"{doing}."


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    last = 0 if 10 < number % 100 < 20 else number % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"
