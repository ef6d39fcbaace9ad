"""What others wrote, as our sentences show it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commandline.foreign_text import has_half_character, printable, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is: é, 中, 😀", "as it is: é, 中, 😀"),
        ("\x1b[31m\0", "\\x1b[31m\\x00"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        (" a\nb\tc\u2028d ", "a b c d"),
        ("x" * 41, "x" * 37 + "..."),
        (7, "7"),
        (None, "None"),
        pytest.param(10**5000, "a number of thousands of digits", id="long number"),
        ({"a": 1}, "a group of keys"),
        ([1], "a list"),
    ],
)
def test_a_value_is_shown(value: object, text: str) -> None:
    assert shown(value) == text


@given(st.text(st.characters(), max_size=300))
def test_whatever_is_shown_can_be_printed_on_one_line(text: str) -> None:
    assert len(shown(text)) <= 40
    for result in (shown(text), printable(text)):
        result.encode()
        assert not any(character in "\n\r\x1b\0\u202e\u2028" for character in result)


@pytest.mark.parametrize("value", ["\ud800", ["a", "\udfff"], {"\ud800": 1}, {"a": [{"b": "x\ud800"}]}])
def test_half_characters_are_seen_at_any_depth(value: object) -> None:
    assert has_half_character(value)


def test_other_content_has_none() -> None:
    endless: list[object] = ["é", 1, None, {"a": "😀"}]
    endless.append(endless)
    assert not has_half_character(endless)
