"""Traces as files: CSV, also compressed, or Parquet, read in chunks of bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd

from sizing.base.errors import InvalidTrace

ROWS_AT_ONCE = 50_000
"""Rows read at a time. Chosen: because they take some megabytes, and fewer would cost time."""
LONGEST_LINE = 16 * 1024
"""Bytes of a row, at most: with as many rows at once, what a file can take up in memory stays below 1 GB."""

SAVE_AS = "save it as CSV in UTF-8, or as Parquet"
BLOCK = 1 << 16
"""Bytes read from a file at a time, as operating systems do."""
PARQUET = (".parquet", ".pq")


UNREADABLE = (
    *(ValueError, TypeError, LookupError, ArithmeticError, EOFError, OSError, MemoryError),
    *(RuntimeError, zipfile.BadZipFile, lzma.LZMAError, zlib.error),
)
"""What parsers, compression and Arrow raise over broken bytes; RuntimeError is a ZIP with a password too."""


def frames_in(path: Path) -> Iterator[pd.DataFrame]:
    """Chunks of a file as they stand in it. Raises InvalidTrace with one sentence for what is no table."""
    if not path.is_file():
        raise InvalidTrace([f"There is no file {path}."])
    if not path.stat().st_size:
        raise InvalidTrace([f"{path.name} is empty."])
    lines: _Lines | None = None
    try:
        with ExitStack() as held:
            if path.suffix.lower() in PARQUET:
                yield from _parquet_frames(path)
                return
            lines = _Lines(held.enter_context(_opened(path, held)), path.name)
            text = io.TextIOWrapper(io.BufferedReader(lines, BLOCK), encoding="utf-8-sig", newline="")
            with pd.read_csv(text, chunksize=ROWS_AT_ONCE, low_memory=False) as reader:
                yield from reader
    except InvalidTrace:
        raise
    except UnicodeDecodeError:
        raise InvalidTrace([f"{path.name} is no text in UTF-8: {SAVE_AS}."]) from None
    except UNREADABLE as error:
        if lines is not None and lines.fault is not None:
            raise lines.fault from None
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160].rstrip(". ")
        raise InvalidTrace([f"{path.name} cannot be read as a table: {reason}."]) from None


def _parquet_frames(path: Path) -> Iterator[pd.DataFrame]:
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]

    for batch in parquet.ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE):
        yield batch.to_pandas(ignore_metadata=True)  # what pandas wrote there may be broken, and is not needed


def _opened(path: Path, held: ExitStack) -> IO[bytes]:
    """The bytes of a file, unpacked by its ending."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = held.enter_context(zipfile.ZipFile(path))
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise InvalidTrace([f"{path.name} holds {len(names)} files: give a ZIP with one CSV in it, or the CSV."])
        return archive.open(names[0])
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return cast(IO[bytes], openers.get(suffix, open)(path, "rb"))


class _Lines(io.RawIOBase):
    """Bytes of a text file; refuses a line that no table of requests has before it is in memory.

    ``fault``: why reading stopped, because parsers hide the error of what they read from.
    """

    def __init__(self, source: IO[bytes], name: str) -> None:
        self.source, self.name = source, name
        self.row, self.since = 1, 0
        self.fault: InvalidTrace | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.source.read(min(len(buffer), LONGEST_LINE))
        last = block.rfind(b"\n")
        self.row += block.count(b"\n")
        self.since = len(block) - last - 1 if last >= 0 else self.since + len(block)
        if b"\0" in block:
            self.fault = InvalidTrace([f"{self.name} is no text in UTF-8, as it holds zero bytes: {SAVE_AS}."])
        elif self.since > LONGEST_LINE:
            what = f"longer than {LONGEST_LINE:,} bytes, so this is no table of requests"
            self.fault = InvalidTrace([f"{self.name}, row {self.row:,}: {what}."])
        if self.fault is not None:
            raise self.fault
        buffer[: len(block)] = block
        return len(block)
