"""The files of ``predict``: a CSV of configurations in, a CSV of answers out."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from commandline.foreign_text import shown
from sizing.base.errors import InvalidPoints
from sizing.evidence.points import demand

DELIMITERS = ",;\t"
EMPTY = ("", "na", "n/a", "nan", "none", "null", "<na>")
"""Cells that say nothing, in lower case: what spreadsheets and pandas write for a value that is not there."""
DIGITS = "%.6g"
MOST_COLUMNS = 1_000
"""Columns at most: ten times those that are known."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_points(path: Path, required: Sequence[str] = ()) -> pd.DataFrame:
    """The table of a CSV file, as :func:`points_in`. Raises InvalidPoints, OSError as usual."""
    return points_in(path.read_bytes(), path.name, required)


def points_in(content: bytes, name: str, required: Sequence[str] = ()) -> pd.DataFrame:
    """The table of a CSV, every cell as text, an empty one as None; comma, semicolon or tab between them.

    Names of columns in lower case, without space around them. ``name`` is what sentences call it; without one of the
    ``required`` columns no line is read. Raises InvalidPoints with one line for what is not such a table.
    """
    lines = _lines(name, _text(content, name))
    _, head = next(lines, (0, None))
    if head is None:
        raise InvalidPoints(f"{name} is empty: it needs a header line and one line per configuration.")
    names = [column.strip().lower() for column in head]
    while names and not names[-1]:
        names.pop()  # a delimiter at the end of every line
    demand(required, names)
    if len(names) > MOST_COLUMNS:
        raise InvalidPoints(f"{name} has {len(names):,} columns, more than {MOST_COLUMNS:,}: is it such a table?")
    twice = sorted(column for column, number in Counter(names).items() if column and number > 1)
    if twice:
        raise InvalidPoints(f"{name} has the column {shown(', '.join(twice), 100)} twice.")
    return pd.DataFrame([_cells(name, line, cells, len(names)) for line, cells in lines], columns=names, dtype=object)


def _text(data: bytes, name: str) -> str:
    """The file as text. Raises InvalidPoints."""
    try:
        text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InvalidPoints(f"{name} is not a text file in UTF-8: save it as CSV (UTF-8).")
    return text


def _lines(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells, blank lines left out. Raises InvalidPoints."""
    head = text.lstrip("\r\n").splitlines()[:1] or [""]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(DELIMITERS, key=head[0].count), strict=True)
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InvalidPoints(f"{name} is not a CSV table: {error} in line {reader.line_num}.") from None


def _cells(name: str, line: int, cells: Sequence[str], number: int) -> list[str | None]:
    """As many cells as there are columns; a short line ends in empty ones. Raises InvalidPoints for a longer one."""
    if any(cell.strip() for cell in cells[number:]):
        raise InvalidPoints(
            f"{name} has {len(cells)} cells in line {line}, and {number} columns: quote cells that hold the delimiter."
        )
    filled = [None if cell.strip().lower() in EMPTY else cell for cell in cells[:number]]
    return filled + [None] * (number - len(filled))


def write_points(answers: pd.DataFrame, path: Path) -> None:
    """Write the answers as CSV, numbers with six significant digits."""
    answers.to_csv(path, index=False, float_format=DIGITS)


def points_text(answers: pd.DataFrame) -> str:
    """The predictions as CSV, in the form that :func:`write_points` writes into its file."""
    text: str = answers.to_csv(index=False, float_format=DIGITS)
    return text
