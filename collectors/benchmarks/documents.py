"""From bytes to a document: text, JSON, JSON Lines, YAML or a table, within limits. No tool is known here."""

import csv
import io
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from collectors.benchmarks.records import RowError
from collectors.errors import BenchmarkFileError, NotAResultFile
from commandline.yaml_text import BadYaml, read_yaml

MAX_BYTES = 64 << 20
"""Chosen: larger than any result file seen, small enough for the memory of a page."""
MAX_YAML_BYTES, MAX_YAML_VALUES = 16 << 20, 300_000
"""Size, and values with every alias written out: YAML is read a hundred times more slowly than JSON."""
MAX_ROWS = 100_000
"""Rows of one file that are read. Chosen: far more than a sweep has, which are hundreds."""
MAX_COLUMNS = 2_000
"""Chosen: several times the widest format."""
HEAD_LENGTH = 10_000
"""Characters of a first line that are looked at. Chosen: longer than the header of the widest format."""
MAX_DEPTH = 64
"""Chosen: far deeper than any tool nests."""
ZIP_START = b"PK\x03\x04"
GZIP_START = b"\x1f\x8b"

_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
"""Colours and cursor movements of a terminal, which a paste or a saved log brings along (ECMA-48)."""
_NO_SPACE = re.compile(r"\S")
_TOP_LEVEL_KEY = re.compile(r"^(benchmarks|metadata|args|config|scenario):", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Document:
    """One file in the form in which it was written.

    ``value`` is the JSON or YAML value of the whole file, None for other kinds; ``rows`` its objects with their row
    number (the file itself, the items of a list, or the lines); ``errors`` the lines that are not JSON.
    """

    name: str
    kind: Literal["json", "json_lines", "text"]
    text: str = ""
    value: object = None
    rows: tuple[tuple[int, object], ...] = ()
    errors: tuple[RowError, ...] = ()

    @property
    def first(self) -> dict[str, object]:
        """The first object of the file, by which its tool is known; empty where there is none."""
        return next((value for _, value in self.rows if isinstance(value, dict)), {})

    @property
    def is_object(self) -> bool:
        """Whether the file is a single JSON or YAML object."""
        return self.kind == "json" and isinstance(self.value, dict)

    @cached_property
    def table(self) -> tuple[tuple[int, list[str]], ...]:
        """Line number and cells of a CSV, empty lines left out. Raises BenchmarkFileError."""
        if self.kind != "text":
            return ()
        return _table(self.name, self.text)

    @cached_property
    def records(self) -> tuple[tuple[int, dict[str, str]], ...]:
        """The rows of a CSV with one header line: line number and cells by their column. Raises BenchmarkFileError."""
        if not self.table:
            return ()
        head = self.table[0][1]
        return tuple((line, dict(zip(head, cells, strict=False))) for line, cells in self.table[1:])

    def has_columns(self, names: Collection[str]) -> bool:
        """Whether the first line of a text holds these columns; never raises."""
        head = self.text.lstrip()[:HEAD_LENGTH].split("\n", 1)[0] if self.kind == "text" else ""
        return set(names) <= {cell.strip().strip('"') for cell in re.split(r"[,;\t]", head)}


def open_document(data: bytes, name: str) -> Document:
    """Decode and parse ``data``. Raises BenchmarkFileError with one sentence that says what is wrong with the file."""
    text = _TERMINAL_CODE.sub("", _text(data, name))
    start = text.lstrip()[:1]
    if start and start in "{[":
        document = _json(name, text)
        logged = [value.get("log") for _, value in document.rows if isinstance(value, dict)]
        if not logged or not all(isinstance(line, str) for line in logged):
            return document
        text = _TERMINAL_CODE.sub("", "".join(map(str, logged)))  # a log of Docker (json-file)
    if name.lower().endswith((".yaml", ".yml")) or ("," not in text.split("\n", 1)[0] and _TOP_LEVEL_KEY.search(text)):
        return _yaml(name, text)
    return Document(name=name, kind="text", text=text)


def _text(data: bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        raise BenchmarkFileError(f"{name} is larger than {MAX_BYTES >> 20} MB: export it without per-request detail.")
    if data.startswith((ZIP_START, GZIP_START)):
        raise BenchmarkFileError(f"{name} is an archive: unpack it, or import the zip as a set of files.")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        advice = ": save it as CSV (UTF-8)" if name.lower().endswith((".csv", ".tsv", ".txt")) else ""
        raise NotAResultFile(f"{name} is not a text file in UTF-8{advice}.") from None
    if not text.strip():
        raise BenchmarkFileError(f"{name} is empty.")
    if "\0" in text:
        raise NotAResultFile(f"{name} is not a text file.")
    return text


def _json(name: str, text: str) -> Document:
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        lines = _json_lines(name, text) or _one_after_another(name, text)
        if lines is None and text.lstrip().startswith("[") and not name.lower().endswith((".json", ".jsonl")):
            # A log whose lines begin with [time] or [level].
            return Document(name=name, kind="text", text=text)
        if lines is None and isinstance(error, json.JSONDecodeError) and error.pos >= len(text.rstrip()):
            raise BenchmarkFileError(f"{name} is cut off: its JSON ends too early, in line {error.lineno}.") from None
        if lines is None:
            raise BenchmarkFileError(f"{name} is not valid JSON: {_reason(error)}.") from None
        return lines
    items = value if isinstance(value, list) else [value]
    if len(items) > MAX_ROWS:
        raise _too_many(name)
    if _deeper(value, MAX_DEPTH):
        raise _too_deep(name)
    return Document(name=name, kind="json", value=value, rows=tuple(enumerate(items, 1)))


def _json_lines(name: str, text: str) -> Document | None:
    """The file as one JSON value per line; None when not even one line of several is an object."""
    lines = [(line, content) for line, content in enumerate(text.split("\n"), 1) if content.strip()]
    if len(lines) > MAX_ROWS:
        raise _too_many(name)
    rows: list[tuple[int, object]] = []
    errors: list[RowError] = []
    for line, content in lines:
        try:
            value = json.loads(content)
            if _deeper(value, MAX_DEPTH):
                raise ValueError("nested too deeply")
            rows.append((line, value))
        except (ValueError, RecursionError) as error:
            errors.append(RowError(file=name, row=line, message=f"not valid JSON: {_reason(error)}"))
    if not any(isinstance(value, dict) for _, value in rows):
        return None
    return Document(name=name, kind="json_lines", rows=tuple(rows), errors=tuple(errors))


def _one_after_another(name: str, text: str) -> Document | None:
    """Objects that stand one after another over several lines, as ``cat *.json`` leaves them; None for others."""
    decoder, rows, line = json.JSONDecoder(), list[tuple[int, object]](), 1
    at = _after_space(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or len(rows) >= MAX_ROWS or _deeper(value, MAX_DEPTH):
            return None
        rows.append((line, value))
        following = _after_space(text, end)
        line += text.count("\n", at, following)
        at = following
    return Document(name=name, kind="json_lines", rows=tuple(rows))


def _after_space(text: str, at: int) -> int:
    """Where the next character that is no space stands, or the end."""
    match = _NO_SPACE.search(text, at)
    return match.start() if match else len(text)


def _reason(error: Exception) -> str:
    """What the JSON reader complains about, without the text of the file."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} in line {error.lineno}, column {error.colno}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    digits = "integer string conversion" in str(error)  # Python's own words name a function to call
    return "it holds a number of thousands of digits" if digits else str(error)[:100]


def _yaml(name: str, text: str) -> Document:
    if len(text) > MAX_YAML_BYTES:
        raise BenchmarkFileError(f"{name} is larger than {MAX_YAML_BYTES >> 20} MB of YAML: export it as JSON.")
    try:
        value = read_yaml(text, name, text_keys=False, most_values=MAX_YAML_VALUES)
    except BadYaml as error:
        raise BenchmarkFileError(str(error)) from None
    except RecursionError:
        raise _too_deep(name) from None
    if _deeper(value, MAX_DEPTH):
        raise _too_deep(name)
    return Document(name=name, kind="json", value=value, rows=((1, value),))


def _deeper(value: object, limit: int) -> bool:
    """Whether ``value`` nests deeper than ``limit``; shared parts are looked at once, as YAML aliases repeat them."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        parts = (
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        )
        level = list({id(child): child for child in parts}.values())
        if not level:
            return False
    return True


def _table(name: str, text: str) -> tuple[tuple[int, list[str]], ...]:
    head = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((reader.line_num, [cell.strip() for cell in cells]))
            if len(rows) > MAX_ROWS:
                raise _too_many(name)
            if len(cells) > MAX_COLUMNS:
                raise BenchmarkFileError(f"{name} has more than {MAX_COLUMNS:,} columns.")
    except csv.Error as error:
        raise BenchmarkFileError(f"{name} is not a valid CSV: {error} in line {reader.line_num}.") from None
    return tuple(rows)


def _too_deep(name: str) -> BenchmarkFileError:
    return BenchmarkFileError(f"{name} is nested deeper than {MAX_DEPTH} levels: no benchmark tool writes such a file.")


def _too_many(name: str) -> BenchmarkFileError:
    return BenchmarkFileError(f"{name} has more than {MAX_ROWS:,} rows.")
