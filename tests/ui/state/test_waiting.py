"""What a page says while it waits for a plan."""

import pytest
from streamlit.testing.v1 import AppTest

from ui.state import waiting
from ui.state.waiting import waiting_sentence


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (0, "Planning."),
        (1, "Planning: 1st in the queue."),
        (2, "Planning: 2nd in the queue."),
        (3, "Planning: 3rd in the queue."),
        (11, "Planning: 11th in the queue."),
        (22, "Planning: 22nd in the queue."),
        (113, "Planning: 113th in the queue."),
    ],
)
def test_the_place_is_told(place: int, sentence: str) -> None:
    assert waiting_sentence(place) == sentence


def page() -> None:
    import streamlit as st

    from ui.state import waiting

    with waiting.place_told() as tell:
        tell(2)
        tell(1)
    st.write("planned")


def test_nothing_of_it_stays_and_an_answer_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    captions: list[str] = []
    monkeypatch.setattr("streamlit.delta_generator.DeltaGenerator.caption", lambda self, text: captions.append(text))
    AppTest.from_function(page).run()
    assert captions == []
    monkeypatch.setattr(waiting, "MOMENT_S", 0.0)
    app = AppTest.from_function(page).run()
    assert [text.partition(": ")[2] for text in captions] == [
        "Planning: 2nd in the queue.",
        "Planning: 1st in the queue.",
    ]
    assert (len(app.caption), app.markdown[0].value) == (0, "planned")
