"""Rows of a price source that are not taken, with the reason; the sentence is made here, at the edge."""

from dataclasses import dataclass
from typing import Literal

PriceRefusal = Literal[
    "no_number", "negative_price", "price_out_of_range", "no_provider", "no_date", "future", "unknown_edition"
]
"""Why a row is not taken: a price that is no number, below nothing or out of range; no provider; a date that is none or
lies ahead; a GPU whose name and memory are those of no edition in the catalogue."""

SENTENCES: dict[PriceRefusal, str] = {
    "no_number": "its price is not a number",
    "negative_price": "its price is below zero",
    "price_out_of_range": "its price is out of range: per million tokens or per hour?",
    "no_provider": "it names no provider",
    "no_date": "its date is none of the calendar",
    "future": "its date lies in the future",
    "unknown_edition": "no GPU of the catalogue has that name and memory",
}


@dataclass(frozen=True, kw_only=True)
class RefusedRow:
    """One row by its name in the source, and why it is not taken."""

    row: str
    reason: PriceRefusal

    @property
    def sentence(self) -> str:
        """The row and the reason for which it is not taken, as a sentence."""
        return f"{self.row}: refused, {SENTENCES[self.reason]}."
