"""Lengths of the form in tokens: typed as such, as text, or as a prompt built from its parts."""

from sharing.form.fields import FIELDS
from sharing.form.problems import UnreadableInput
from sharing.form.typed import Values, needed, optional
from sizing.base.checks import number_between
from sizing.base.errors import SizingError
from sizing.scenario.lengths import CHARS_PER_TOKEN, PER_TOKEN, LanguageRatio, Prompt, languages, to_tokens


def length_tokens(values: Values, key: str) -> float:
    """One length of the form in tokens; a length in tokens is left as typed, so that the scenario judges its range."""
    amount, unit = needed(values, key), values["unit"]
    if unit == "tokens" or amount <= 0:
        return amount
    language = languages()[values["lang"]]
    chars = language.chars_per_token or CHARS_PER_TOKEN
    try:
        return to_tokens(amount, unit, words_per_token=_ratio(values, language), chars_per_token=chars)
    except SizingError as error:
        raise UnreadableInput(error.problems[0], instead={key: "1"}) from None


def _ratio(values: Values, language: LanguageRatio) -> float:
    """Words per token as typed, else those of the language."""
    typed = optional(values, "ratio")
    if typed is None:
        return language.words_per_token
    try:
        return number_between(FIELDS["ratio"].label, typed, *PER_TOKEN)
    except SizingError as error:
        raise UnreadableInput(error.problems[0], instead={"ratio": ""}) from None


def prompt(values: Values) -> Prompt:
    """The prompt built from its parts, in tokens; an earlier turn is one question and one answer.

    Raises UnreadableInput.
    """
    question, answer = length_tokens(values, "question"), length_tokens(values, "osl")
    parts = {
        "system_tokens": length_tokens(values, "system"),
        "documents": needed(values, "docs"),
        "document_tokens": length_tokens(values, "doc"),
        "history_turns": needed(values, "turns"),
    }
    try:
        return Prompt(**parts, history_question_tokens=question, history_answer_tokens=answer, question_tokens=question)
    except SizingError as error:
        raise UnreadableInput(error.problems[0], instead={"compose": False}) from None
