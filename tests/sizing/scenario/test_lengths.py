import math

import pytest

from sizing.base.errors import SizingError, UnknownName
from sizing.scenario.lengths import Prompt, languages, to_tokens

UNITS = ["tokens", "words", "characters", "pages"]


@pytest.mark.parametrize(
    ("amount", "unit", "tokens"),
    [(750, "words", 1000), (4000, "characters", 1000), (3, "pages", 2000), (3500, "tokens", 3500), (0, "words", 0)],
)
def test_english_rules_of_thumb(amount, unit, tokens):
    assert to_tokens(amount, unit) == pytest.approx(tokens)


def test_the_ratio_can_be_replaced():
    assert to_tokens(560, "words", words_per_token=0.56) == pytest.approx(1000)
    assert to_tokens(1, "pages", words_per_token=0.5, words_per_page=250) == pytest.approx(500)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 1e12, "12", None, True, 10**400])
@pytest.mark.parametrize("unit", UNITS)
def test_a_bad_length_is_refused_in_one_line(bad, unit):
    with pytest.raises(SizingError) as caught:
        to_tokens(bad, unit)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_a_ratio_must_be_positive(bad):
    with pytest.raises(SizingError, match="Words per token"):
        to_tokens(10, "words", words_per_token=bad)


def test_an_unknown_unit_names_the_nearest():
    with pytest.raises(UnknownName, match="words"):
        to_tokens(10, "word")


def test_every_language_has_a_sane_ratio_and_a_source():
    assert next(iter(languages())) == "English"
    assert len(languages()) == 15
    for row in languages().values():
        assert 0.2 < row.words_per_token < 2
        assert 1 < row.chars_per_token <= 4
        assert len(row.source) > 10
        assert row.date[:4].isdigit()
    assert {row.language for row in languages().values() if row.word == "character"} == {"Chinese", "Japanese"}
    assert not languages()["English"].assumed


def test_no_language_packs_more_words_into_a_token_than_english():
    words = [row.words_per_token for row in languages().values() if row.word == "word"]
    assert max(words) == languages()["English"].words_per_token


def test_a_prompt_counts_system_documents_history_and_question():
    prompt = Prompt(
        system_tokens=300,
        documents=5,
        document_tokens=500,
        history_turns=2,
        history_question_tokens=50,
        history_answer_tokens=250,
        question_tokens=100,
    )
    assert prompt.total == 3500
    assert prompt.explanation == (
        "300 system prompt + 5 documents x 500 + 2 turns of history x (50 question + 250 answer) + 100 question "
        "= 3,500 tokens"
    )


def test_an_empty_prompt_says_so():
    assert Prompt().explanation == "nothing = 0 tokens"


@pytest.mark.parametrize("bad", [math.nan, -1, 1e12, "many"])
def test_a_bad_part_of_a_prompt_is_named(bad):
    with pytest.raises(SizingError, match="Document tokens"):
        Prompt(document_tokens=bad)


def test_parts_that_multiply_beyond_every_context_are_refused():
    with pytest.raises(SizingError, match="whole prompt"):
        Prompt(documents=1e6, document_tokens=1e6)
