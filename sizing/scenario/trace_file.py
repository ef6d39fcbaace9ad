"""Traces as files: CSV, JSON Lines or a JSON list, also compressed, or Parquet, read in chunks of bounded memory."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Container, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd

from sizing.base.errors import InvalidTrace
from sizing.scenario.trace_cells import COMMA_IS_DECIMAL, plain, without_preamble
from sizing.scenario.trace_rows import requests_in

ROWS_AT_ONCE = 50_000
"""Rows read at a time. Chosen: because they take some megabytes, and fewer would cost time."""
LONGEST_LINE = 16 * 1024
"""Bytes of a row, at most: with as many rows at once, what a file can take up in memory stays below 1 GB."""
OBJECTS_AT_ONCE, LONGEST_OBJECT = 2_000, 256 * 1024
"""The same of JSON Lines, whose rows name the blocks of their prompts: a million tokens in blocks of 16 are 500 kB, in
blocks of 512 (Mooncake) 16."""

MOST_OF_A_LIST = 64 << 20
"""Bytes of a JSON list, which is read as a whole. Chosen: as large as an upload of the page."""

_HOLDERS, _FIRST_KEYS = (b'"resourceSpans"', b'"data"'), 200
"""Keys of objects that hold many requests (OTLP; answers of Langfuse and Jaeger), among so many first bytes."""

SAVE_AS = "save it as CSV in UTF-8, as JSON Lines, or as Parquet"
BLOCK = 1 << 16
"""Bytes read from a file at a time, as operating systems do."""
PARQUET = (".parquet", ".pq")
PACKED: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zip": zipfile.ZipFile}
"""Endings of compressed files, and what opens them."""

BROKEN_PACK = (EOFError, OSError, RuntimeError, ValueError, zipfile.BadZipFile, lzma.LZMAError, zlib.error)
"""What unpacking raises; RuntimeError is a ZIP with a password too."""

UNREADABLE = (*(ValueError, TypeError, LookupError, ArithmeticError, MemoryError), *BROKEN_PACK)
"""What parsers, compression and Arrow raise over broken bytes."""


def frames_in(path: Path, used: Container[str]) -> Iterator[pd.DataFrame]:
    """Chunks of a file as they stand in it. Raises InvalidTrace with one sentence for what is no table.

    ``used``: the columns, as :func:`plain` writes them, whose content has to be sound.
    """
    if not path.is_file():
        raise InvalidTrace([f"There is no file {path}."])
    if not path.stat().st_size:
        raise InvalidTrace([f"{path.name} is empty."])
    lines: _Lines | None = None
    try:
        with ExitStack() as held:
            if path.suffix.lower() in PARQUET:
                yield from _parquet_frames(path, used)
                return
            lines, text = _text_in(path, held)
            start = text.buffer.peek(BLOCK).removeprefix(codecs.BOM_UTF8).lstrip()  # type: ignore[attr-defined]
            if start[:1] in (b"{", b"["):
                by_line = start[:1] == b"{" and not _is_whole(start)
                lines.longest = LONGEST_OBJECT if by_line else MOST_OF_A_LIST
                objects = _objects if by_line else _items if start[:1] == b"[" else _one_after_another
                yield from _json_frames(objects(text, path.name), path.name)
                return
            before = without_preamble(start)
            separator = _delimiter(start.split(b"\n", before)[before])
            as_text = str if separator in COMMA_IS_DECIMAL else None  # 1.200 may be a number of thousands there
            with pd.read_csv(
                text, chunksize=ROWS_AT_ONCE, low_memory=False, sep=separator, skiprows=before, dtype=as_text
            ) as reader:
                for chunk in reader:
                    chunk.attrs["separator"] = separator
                    yield chunk
    except InvalidTrace:
        raise
    except UnicodeDecodeError:
        raise InvalidTrace([f"{path.name} is no text in UTF-8: {SAVE_AS}."]) from None
    except UNREADABLE as error:
        if lines is not None and lines.fault is not None:
            raise lines.fault from None
        raise InvalidTrace([f"{path.name} {_why(path, error)}."]) from None


def _delimiter(start: bytes) -> str:
    """What stands between the cells of the first line: comma, semicolon (as spreadsheets write it), tab or bar."""
    head = start.split(b"\n", 1)[0].decode("utf-8", errors="replace")
    return max(",;\t|", key=head.count)


def _is_whole(start: bytes) -> bool:
    """Whether an object goes on over lines, or is an answer or an export that holds many requests."""
    return start.split(b"\n", 1)[0].strip() == b"{" or any(key in start[:_FIRST_KEYS] for key in _HOLDERS)


def _one_after_another(text: IO[str], name: str) -> Iterator[Mapping[str, Any]]:
    """Objects over several lines, read as a whole. Raises InvalidTrace for a long text and for what is none."""
    content = text.read(MOST_OF_A_LIST + 1).strip()
    if len(content) > MOST_OF_A_LIST:
        raise InvalidTrace([f"{name} is JSON of more than {MOST_OF_A_LIST >> 20} MB: write an object a line."])
    decoder, at = json.JSONDecoder(), 0
    while at < len(content):
        try:
            row, end = decoder.raw_decode(content, at)
        except (ValueError, RecursionError):
            row, end = None, at
        if not isinstance(row, dict):
            line = content.count("\n", 0, at) + 1
            raise InvalidTrace([f"{name}, row {line:,} is no JSON object, as the first is: give one a line."])
        yield row
        at = end
        while content[at : at + 1].isspace():
            at += 1


def _objects(text: IO[str], name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of JSON Lines. Raises InvalidTrace with the line that is none."""
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InvalidTrace([f"{name}, row {number:,} is no JSON object, as the first is: give one a line."])
        yield row


def _items(text: IO[str], name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of one JSON list, which is read as a whole. Raises InvalidTrace for a long one and for others."""
    content = text.read(MOST_OF_A_LIST + 1)
    if len(content) > MOST_OF_A_LIST:
        raise InvalidTrace([f"{name} is a JSON list of more than {MOST_OF_A_LIST >> 20} MB: write an object a line."])
    try:
        items = json.loads(content)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidTrace([f"{name} begins as a JSON list, but is none of objects: {SAVE_AS}."])
    yield from items


def _json_frames(objects: Iterator[Mapping[str, Any]], name: str) -> Iterator[pd.DataFrame]:
    """Chunks of objects, flattened, without those that are no requests."""
    requests = (row for item in objects for row in requests_in(item, name))
    while rows := list(islice(requests, OBJECTS_AT_ONCE)):
        yield pd.DataFrame(rows)


def _why(path: Path, error: Exception) -> str:
    """What is wrong with a file, which the parsers say in words of their own."""
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        return "is no Parquet file, or a damaged one: write it again"
    if isinstance(error, pd.errors.ParserError):
        return f"cannot be read as a table: {_uneven_line(path)}"
    if suffix in PACKED and isinstance(error, BROKEN_PACK):
        return f"is no {suffix} file, a damaged one, or one with a password: pack it again"
    return f"cannot be read as a table: {SAVE_AS}"


def _uneven_line(path: Path) -> str:
    """The first line with more cells than the head of the table, for which parsing ends."""
    with ExitStack() as held:
        text = _text_in(path, held)[1]
        rows = csv.reader(text, delimiter=_delimiter(text.buffer.peek(BLOCK)))  # type: ignore[attr-defined]
        try:
            columns = len(next(cells for cells in rows if cells))
            cells = next(len(cells) for cells in rows if len(cells) > columns)
        except (StopIteration, csv.Error, *UNREADABLE):
            return "a line has more cells than the first, or a quote has no end"
        return f"line {rows.line_num:,} has {cells:,} cells, and the first {columns:,}"


def _text_in(path: Path, held: ExitStack) -> tuple[_Lines, io.TextIOWrapper]:
    lines = _Lines(held.enter_context(_opened(path, held)), path.name)
    return lines, io.TextIOWrapper(io.BufferedReader(lines, BLOCK), encoding="utf-8-sig", newline="")


def _parquet_frames(path: Path, used: Container[str]) -> Iterator[pd.DataFrame]:
    """Columns that are not used come without their content, which may be far larger than the file.

    A text that many rows share stays one, and is looked at before it is written out: a file of 100 kB could have
    hundreds of gigabytes. So could lists; of them one row is enough to say that they are no number.
    """
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]
    from pyarrow import nulls, table, types

    schema = parquet.ParquetFile(path).schema_arrow
    wanted = [field for field in schema if plain(field.name) in used]
    shared = [field.name for field in wanted if types.is_string(field.type) or types.is_binary(field.type)]
    rows = 1 if any(types.is_nested(field.type) for field in wanted) else ROWS_AT_ONCE
    file = parquet.ParquetFile(path, read_dictionary=shared)
    for batch in file.iter_batches(batch_size=rows, columns=[field.name for field in wanted]):
        read = {name: _sound(path, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
        columns = {field.name: read.get(field.name, nulls(len(batch))) for field in schema}
        # What pandas wrote into the schema may be broken, and is not needed.
        yield table(columns).to_pandas(ignore_metadata=True)


def _sound(path: Path, column: Any) -> Any:
    """A column that pandas can take: text that is none would stop it with an error of no kind. Raises InvalidTrace."""
    column.validate(full=True)
    if not hasattr(column, "dictionary"):
        return column
    values = column.dictionary
    values.validate(full=True)
    if any(len(str(value)) > LONGEST_LINE for value in values):
        raise InvalidTrace(
            [f"{path.name} has a cell longer than {LONGEST_LINE:,} bytes: this is no table of requests."]
        )
    return column.dictionary_decode()


def _opened(path: Path, held: ExitStack) -> IO[bytes]:
    """The bytes of a file, unpacked by its ending."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = held.enter_context(zipfile.ZipFile(path))
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise InvalidTrace([f"{path.name} holds {len(names)} files: give a ZIP with one CSV in it, or the CSV."])
        return archive.open(names[0])
    return cast(IO[bytes], PACKED.get(suffix, open)(path, "rb"))


class _Lines(io.RawIOBase):
    """Bytes of a text file; refuses a line that no table of requests has before it is in memory.

    ``fault``: why reading stopped, because parsers hide the error of what they read from.
    """

    def __init__(self, source: IO[bytes], name: str) -> None:
        self.source, self.name = source, name
        self.row, self.since = 1, 0
        self.fault: InvalidTrace | None = None
        self.longest = LONGEST_LINE

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.source.read(min(len(buffer), self.longest))
        last = block.rfind(b"\n")
        self.row += block.count(b"\n")
        self.since = len(block) - last - 1 if last >= 0 else self.since + len(block)
        if b"\0" in block:
            self.fault = InvalidTrace([f"{self.name} is no text in UTF-8, as it holds zero bytes: {SAVE_AS}."])
        elif self.since > self.longest:
            what = f"longer than {self.longest:,} bytes, so this is no table of requests"
            self.fault = InvalidTrace([f"{self.name}, row {self.row:,}: {what}."])
        if self.fault is not None:
            raise self.fault
        buffer[: len(block)] = block
        return len(block)
