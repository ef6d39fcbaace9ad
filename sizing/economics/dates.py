"""How old a price is, by the date that its source has: some are a day, some a month, a quarter or a year."""

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Literal

STALE_AFTER_DAYS = 90
"""Age from which a price is worth asking for again. Chosen: because vendors change list prices by the quarter."""

Age = Literal["fresh", "stale", "unclear", "undated", "given"]
"""Whether a price is older than 90 days; ``unclear`` where its date is not exact enough to say so, ``given`` where it
comes from the scenario."""

AGES: Mapping[Age, str] = {
    "fresh": f"at most {STALE_AFTER_DAYS} days",
    "stale": f"older than {STALE_AFTER_DAYS} days",
    "unclear": f"perhaps older than {STALE_AFTER_DAYS} days",
    "undated": "undated",
    "given": "stated in the scenario",
}
"""Ages in words, the same on pages, in reports and on the command line."""

DOUBTFUL: frozenset[Age] = frozenset({"stale", "unclear", "undated"})
"""Ages of prices that are worth a look before they are relied on."""

_DAY = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_MONTH = re.compile(r"\b(20\d\d)-(\d\d)\b")
_QUARTER = re.compile(r"\bQ([1-4]) (20\d\d)\b")
_PART = re.compile(r"\b(early|mid|late)[- ](20\d\d)\b")
_YEAR = re.compile(r"\b(20\d\d)\b")
_MONTHS_OF = {"early": (1, 4), "mid": (5, 8), "late": (9, 12)}


def age_of(written: Sequence[str], on: date) -> Age:
    """The age on a day of a price by the dates of its sources, the oldest of them deciding.

    Stale when even the last day that the words of a date allow is more than 90 days ago, unclear when only the first.
    """
    days = [first_and_last_day(one) for one in written]
    known = [day for day in days if day is not None]
    if not known or len(known) < len(days):
        return "undated"
    if any((on - last).days > STALE_AFTER_DAYS for _, last in known):
        return "stale"
    return "unclear" if any((on - first).days > STALE_AFTER_DAYS for first, _ in known) else "fresh"


def first_and_last_day(written: str) -> tuple[date, date] | None:
    """The first and the last day that the words of a date allow; None where they hold none."""
    if "undated" in written or "unknown" in written:
        return None
    if day := _DAY.search(written):
        exact = date(*(int(part) for part in day.groups()))
        return exact, exact
    if month := _MONTH.search(written):
        return _months(int(month[1]), int(month[2]), int(month[2]))
    if quarter := _QUARTER.search(written):
        last = 3 * int(quarter[1])
        return _months(int(quarter[2]), last - 2, last)
    if part := _PART.search(written):
        return _months(int(part[2]), *_MONTHS_OF[part[1]])
    years = [int(year) for year in _YEAR.findall(written)]
    return (date(min(years), 1, 1), date(max(years), 12, 31)) if years else None


def _months(year: int, first: int, last: int) -> tuple[date, date]:
    return date(year, first, 1), date(year, last, monthrange(year, last)[1])
