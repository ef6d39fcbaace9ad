"""Numbers that pages ask for outside the form: what can be read two ways is asked about, never taken."""

import pytest

from sharing.form.asked import AskedNumber
from sharing.form.problems import UnreadableInput

HOURS = AskedNumber(name="Simulated time", low=0.1, high=168, example="1")
GPUS = AskedNumber(name="GPUs", high=1e6, beyond_low=True, whole=True, example="16")


@pytest.mark.parametrize(("typed", "number"), [("2.5", 2.5), ("168", 168), (" 1e2 ", 100)])
def test_a_clear_number_is_read(typed: str, number: float) -> None:
    assert HOURS.read(typed) == number


@pytest.mark.parametrize(
    ("asked", "typed", "said"),
    [
        (HOURS, "2,5", "Simulated time: did you mean 2.5? “2,5” is not taken: a comma separates thousands here."),
        (HOURS, "3.000", "Simulated time: did you mean 3,000 or 3.0? “3.000” can be read as either."),
        (HOURS, "soon", "Simulated time: “soon” is not a number; enter a number, for example 1."),
        (HOURS, " ", "Simulated time is empty: enter a number, for example 1."),
        (HOURS, "0", "Simulated time must be at least 0.1 and at most 168; 0 was entered."),
        (GPUS, "0", "GPUs must be more than 0 and at most 1,000,000; 0 was entered."),
        (GPUS, "2.5", "GPUs must be a whole number; 2.5 was entered."),
    ],
)
def test_anything_else_is_one_sentence(asked: AskedNumber, typed: str, said: str) -> None:
    with pytest.raises(UnreadableInput) as refused:
        asked.read(typed)
    assert str(refused.value) == said
