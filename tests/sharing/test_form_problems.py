"""What is wrong with several fields at once reads as one sentence per field, however each of them ends."""

import re
from itertools import combinations

import pytest

from sharing.form.presets import defaults
from sharing.form.problems import FieldFault, in_short
from sharing.form.read import faults

BAD = {
    "isl": ("3.000", "abc", "", "-5"),
    "osl": ("", "1e12"),
    "rps": ("2,5", "", "1e12"),
    "ttft": ("soon", "0"),
    "cached": ("100%", "many"),
    "spare": ("1.5",),
    "profile": ("1 2 x", " ".join(["0"] * 24)),
    "pre": ("TP0", "much"),
    "usd_system": ("5000",),
}
TYPED = [(key, text) for key, texts in BAD.items() for text in texts]
PAIRS = [pair for pair in combinations(TYPED, 2) if pair[0][0] != pair[1][0]]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " ".join(f"{key}={text[:5]}" for key, text in pair))
def test_two_faults_are_two_sentences(pair: tuple[tuple[str, str], ...]) -> None:
    wrong = faults({**defaults(), **dict(pair)})
    text = in_short(wrong)
    assert not re.search(r"[?.!;:,][?.!;:,]", text), text
    assert text.endswith((".", "?"))
    if sum(bool(fault.fields) for fault in wrong) > 1:
        assert ";" not in text
        assert all(sentence[0].isupper() for sentence in re.split(r"(?<=[.?]) (?=\D)", text)), text


def test_a_clause_ends_by_itself_or_with_a_full_stop() -> None:
    shorts = ("Prompt length: did you mean 3,000 or 3.0?", "Peak load is empty", "Spares (9 were entered)", "Bad file.")
    known = [FieldFault(sentence="", short=short, fields=frozenset({short})) for short in shorts]
    assert in_short(known) == (
        "Prompt length: did you mean 3,000 or 3.0? Peak load is empty. Spares (9 were entered). Bad file."
    )


def test_a_single_fault_is_said_at_length() -> None:
    (fault,) = faults({**defaults(), "osl": ""})
    assert in_short([fault]) == fault.sentence


@pytest.mark.parametrize(
    ("typed", "at"),
    [({"ratio": "0"}, "ratio"), ({"ratio": "-1"}, "ratio"), ({"isl": "1e8"}, "isl"), ({"osl": "1e15"}, "osl")],
)
def test_text_that_makes_no_length_in_tokens_is_a_fault_of_its_field(typed: dict[str, str], at: str) -> None:
    (fault,) = faults({**defaults(), "unit": "words", **typed})
    assert (fault.at, fault.fields) == (at, {at})
    assert "must be at least" in fault.sentence
