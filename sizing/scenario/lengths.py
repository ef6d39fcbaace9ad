"""Lengths as people state them (words, characters, pages) and as the engine needs them (tokens).

``tokens = words / words_per_token = characters / characters_per_token = pages x words_per_page / words_per_token``.
Every ratio is an average over text and a parameter here, because the customer's own text decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal, get_args

from sizing.base.checks import number_between
from sizing.base.errors import UnknownName
from sizing.base.format import stated
from sizing.catalog.files import typed_rows
from sizing.scenario.bounds import MAX_TOKENS

LengthUnit = Literal["tokens", "words", "characters", "pages"]

WORDS_PER_TOKEN = 0.75
"""Words in one English token (NVIDIA "LLM inference sizing", Mironov and Perez; OpenAI help centre, 4936856)."""

CHARS_PER_TOKEN = 4.0
"""Characters in one English token (OpenAI help centre, article 4936856 "What are tokens and how to count them")."""

WORDS_PER_PAGE = 500.0
"""Words on a single-spaced A4 page: 1,000 words fill 2 (blog.reedsy.com/how-many-pages-is-1000-words, 2023-01-31)."""

PER_TOKEN, PER_PAGE = (0.01, 100.0), (1.0, 100_000.0)
"""Words or characters per token, and words per page, that are read. Chosen: because every language and page size is far
within."""

MAX_AMOUNT = 1_000_000_000.0
"""Largest number of words, characters or pages that is looked at; beyond it is a typing error."""


@dataclass(frozen=True, kw_only=True)
class LanguageRatio:
    """How much text of one language fits in a token; ``word`` says what counts as a word there.

    ``assumed`` marks a ratio that was derived rather than measured on that language; pages show it.
    """

    language: str
    words_per_token: float
    chars_per_token: float
    source: str
    date: str
    word: Literal["word", "character"] = "word"
    assumed: bool = False


@cache
def languages() -> Mapping[str, LanguageRatio]:
    """Text per token by language, English first, in file order."""
    return MappingProxyType({row.language: row for row in typed_rows("languages.csv", LanguageRatio)})


def to_tokens(
    amount: float,
    unit: LengthUnit,
    *,
    words_per_token: float = WORDS_PER_TOKEN,
    chars_per_token: float = CHARS_PER_TOKEN,
    words_per_page: float = WORDS_PER_PAGE,
) -> float:
    """Tokens in ``amount`` words, characters or pages of text.

    ``tokens = amount / units_per_token`` with units_per_token = 1, words per token, characters per token, or words per
    token / words per page. Raises SizingError for a negative, infinite or absurdly large amount or a ratio of 0, and
    UnknownName for another unit. Source: see the constants.
    """
    amount = number_between(f"Length in {unit}", amount, 0.0, MAX_AMOUNT)
    per_token = _units_per_token(unit, words_per_token, chars_per_token, words_per_page)
    return number_between(f"{stated(amount)} {unit} in tokens", amount / per_token, 0.0, MAX_TOKENS)


def _units_per_token(unit: str, words_per_token: float, chars_per_token: float, words_per_page: float) -> float:
    """How many of ``unit`` one token holds."""
    words = number_between("Words per token", words_per_token, *PER_TOKEN)
    chars = number_between("Characters per token", chars_per_token, *PER_TOKEN)
    page = number_between("Words per page", words_per_page, *PER_PAGE)
    by_unit = {"tokens": 1.0, "words": words, "characters": chars, "pages": words / page}
    if unit not in by_unit:
        raise UnknownName("length unit", str(unit), get_args(LengthUnit))
    return by_unit[unit]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What the model reads for one request, in tokens: everything counts, not only the question.

    ``total = system + documents x tokens each + turns x (question + answer) + question``. Source: NVIDIA "LLM inference
    sizing" (the input count includes system prompt, retrieved documents and chat history). Raises SizingError for a
    negative, infinite or absurdly large part.
    """

    system_tokens: float = 0.0
    documents: float = 0.0
    document_tokens: float = 0.0
    history_turns: float = 0.0
    history_question_tokens: float = 0.0
    history_answer_tokens: float = 0.0
    question_tokens: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number_between(name.replace("_", " ").capitalize(), value, 0.0, MAX_TOKENS)
        number_between("The whole prompt in tokens", self.total, 0.0, MAX_TOKENS)

    @property
    def total(self) -> float:
        """Input tokens of one request."""
        history = self.history_turns * (self.history_question_tokens + self.history_answer_tokens)
        return self.system_tokens + self.documents * self.document_tokens + history + self.question_tokens

    @property
    def explanation(self) -> str:
        """The sum in words and numbers, leaving out parts that are 0."""
        turn = self.history_question_tokens + self.history_answer_tokens
        parts = (
            (self.system_tokens, f"{self.system_tokens:,.0f} system prompt"),
            (self.documents * self.document_tokens, f"{self.documents:g} documents x {self.document_tokens:,.0f}"),
            (
                self.history_turns * turn,
                f"{self.history_turns:g} turns of history x "
                f"({self.history_question_tokens:,.0f} question + {self.history_answer_tokens:,.0f} answer)",
            ),
            (self.question_tokens, f"{self.question_tokens:,.0f} question"),
        )
        listed = " + ".join(text for tokens, text in parts if tokens > 0) or "nothing"
        return f"{listed} = {self.total:,.0f} tokens"
