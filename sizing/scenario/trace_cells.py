"""How people write the columns and cells of a trace: names in any spelling, thousands, decimal commas, dates with dots.

A count is whole, so that a point or a comma before three digits can only part thousands in it; in a time either may be
the decimal sign, and a comma is one where cells are parted by something else.
"""

import re

import pandas as pd

COMMA_IS_DECIMAL = (";", "\t", "|")
"""What parts the cells of tables in which a comma may be a decimal sign."""

_GROUPED = r"[1-9]\d{{0,2}}(?:{sign}\d{{3}})+"
_SPACED = re.compile(r"(?<=\d)[\s\u00a0\u202f'’](?=\d{3}(?!\d))")
_DECIMAL_COMMA = re.compile(r"^(-?\d+),(\d+)$")
_DOTTED_DATE = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})(?=\D|$)")


def plain(name: object) -> str:
    """A column's name without capitals, spaces and signs: "Prompt Tokens" and "promptTokens" are one."""
    return re.sub(r"[\s_.()\[\]@-]+", "", str(name).lower())


def without_preamble(start: bytes) -> int:
    """Lines before the head of a table: the ``sep=;`` of spreadsheets, and comments that hold no cells."""
    lines = start.split(b"\n")
    skipped = 0
    while skipped < len(lines) - 1 and _is_preamble(lines[skipped].strip()):
        skipped += 1
    return skipped


def _is_preamble(line: bytes) -> bool:
    comment = line.startswith(b"#") and max(map(line.count, (b",", b";", b"\t"))) < 2
    return comment or line.strip(b'"').lower().startswith(b"sep=")


def counts(column: pd.Series) -> pd.Series:
    """Counts as numbers are written for machines, where all cells of the column are counts with parted thousands."""
    if not _is_text(column):
        return column
    text = column.astype("string").str.strip().str.replace(_SPACED, "", regex=True)
    for sign in (",", "."):
        grouped = text.str.fullmatch(_GROUPED.format(sign=re.escape(sign)))
        if grouped.any() and (grouped | text.str.fullmatch(r"\d+") | text.isna()).all():
            return text.str.replace(sign, "", regex=False)
    return text.astype(object).where(text.notna(), column)


def times(column: pd.Series, separator: str) -> pd.Series:
    """Times with a point before the fraction, and dates as ISO 8601 writes them; days come first before dots."""
    if not _is_text(column):
        return column
    text = column.astype("string").str.strip()
    text = text.str.replace(_DOTTED_DATE, lambda m: f"{m[3]}-{int(m[2]):02}-{int(m[1]):02}", regex=True)
    if separator in COMMA_IS_DECIMAL:
        text = text.str.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)
    return text.astype(object).where(text.notna(), column)


def _is_text(column: pd.Series) -> bool:
    """Whether a column holds texts, and nothing but texts and gaps."""
    return (column.dtype == object or pd.api.types.is_string_dtype(column)) and bool(
        column.dropna().map(lambda cell: isinstance(cell, str)).all()
    )
