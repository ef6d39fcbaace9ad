"""Lengths as people state them (words, characters, pages) and as the engine needs them (tokens).

``tokens = words / words_per_token = characters / characters_per_token = pages x words_per_page / words_per_token``.
Every ratio is an average over text and a parameter here, because the customer's own text decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from sizing.base.checks import number_between
from sizing.base.errors import UnknownName
from sizing.scenario.bounds import MAX_TOKENS

Unit = Literal["tokens", "words", "characters", "pages"]

WORDS_PER_TOKEN = 0.75
"""Words in one English token (NVIDIA "LLM inference sizing", Mironov and Perez; OpenAI help centre, 4936856)."""

CHARS_PER_TOKEN = 4.0
"""Characters in one English token (OpenAI help centre, article 4936856 "What are tokens and how to count them")."""

WORDS_PER_PAGE = 500.0
"""Words on a single-spaced A4 page: 1,000 words fill 2 (blog.reedsy.com/how-many-pages-is-1000-words, 2023-01-31)."""

MAX_AMOUNT = 1_000_000_000.0
"""Largest number of words, characters or pages that is looked at; beyond it is a typing error."""

FLORES = "FLORES+ dev, mean of the Qwen3, DeepSeek-V3.2 and gpt-oss tokenizers (inimaz/mothertoken 0.1.1, MIT)"
FERTILITY_MAP = "overthelex/tokenizer-fertility-map (Llama 4; huggingface.co), scaled to the three tokenizers above"
TOKENIZER_TAX = "midpoint of the range of its language group, arXiv 2605.24718 (ten models)"


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


def _language(
    language: str, words: float, chars: float, source: str, date: str, assumed: bool = False
) -> LanguageRatio:
    return LanguageRatio(
        language=language,
        words_per_token=words,
        chars_per_token=chars,
        source=source,
        date=date,
        assumed=assumed,
        word="character" if language in {"Chinese", "Japanese"} else "word",
    )


_ROWS = (
    _language(
        "English",
        WORDS_PER_TOKEN,
        CHARS_PER_TOKEN,
        "NVIDIA LLM inference sizing; OpenAI help centre 4936856 (FLORES+ measures 0.81 and 4.85)",
        "2026-11-20",
    ),
    _language("German", 0.56, 3.90, FLORES, "2026-06-24"),
    _language("French", 0.63, 3.90, FLORES, "2026-06-24"),
    _language("Spanish", 0.67, 4.00, FLORES, "2026-06-24"),
    _language("Italian", 0.59, 3.7, FERTILITY_MAP + "; characters assumed", "2026-05", True),
    _language("Portuguese", 0.63, 3.85, FLORES, "2026-06-24"),
    _language("Dutch", 0.57, 3.5, FERTILITY_MAP + "; characters assumed", "2026-05", True),
    _language("Polish", 0.43, 3.1, TOKENIZER_TAX + "; characters assumed", "2026-05-23", True),
    _language(
        "Russian",
        0.43,
        3.3,
        "words: " + TOKENIZER_TAX + "; characters: one text, mean of DeepSeek-V3, Qwen3 "
        "and GPT-4o mini (korchasa/tldr token_results.md, 2025-10-26)",
        "2026-05-23",
        True,
    ),
    _language("Chinese", 1.51, 1.51, FLORES + "; DeepSeek documents 0.6 tokens per character", "2026-06-24"),
    _language("Japanese", 1.41, 1.41, FLORES, "2026-06-24"),
    _language("Korean", 0.36, 1.53, FLORES, "2026-06-24"),
    _language("Arabic", 0.47, 2.77, FLORES, "2026-06-24"),
    _language("Hindi", 0.32, 1.64, FLORES + "; 0.21 to 0.61 words by tokenizer", "2026-06-24"),
    _language(
        "Source code",
        0.36,
        3.5,
        "characters: 7 programming languages, GPT tokenizer (JOHNISKING/"
        "token-cost-by-programming-language, huggingface.co, undated); words assumed from 9.6 characters a word "
        "in Streamlit's own source",
        "2026-11-21",
        True,
    ),
)

LANGUAGES: Mapping[str, LanguageRatio] = MappingProxyType({row.language: row for row in _ROWS})
"""Ratios by language, English first; each row names its source, and whether it was assumed."""


def to_tokens(
    amount: float,
    unit: Unit,
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
    return number_between(f"{amount:,.6g} {unit} in tokens", amount / per_token, 0.0, MAX_TOKENS)


def _units_per_token(unit: str, words_per_token: float, chars_per_token: float, words_per_page: float) -> float:
    """How many of ``unit`` one token holds."""
    words = number_between("Words per token", words_per_token, 0.01, 100.0)
    chars = number_between("Characters per token", chars_per_token, 0.01, 100.0)
    page = number_between("Words per page", words_per_page, 1.0, 100_000.0)
    by_unit = {"tokens": 1.0, "words": words, "characters": chars, "pages": words / page}
    if unit not in by_unit:
        raise UnknownName("length unit", str(unit), get_args(Unit))
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
