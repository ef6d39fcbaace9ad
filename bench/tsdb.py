"""Blocks of a Prometheus data directory, written directly: a day of a million series in a minute.

``promtool tsdb create-blocks-from openmetrics`` (2.42) takes 70 times the processor time for a sample, three
microseconds, and its input for the day of the fleet, 1.5 billion samples, would be 330 GB of text: hours in place of a
minute. Formats: tsdb/docs/format/index.md and chunks.md of Prometheus 2.42. tests/test_bench_collectors.py has a real
Prometheus read what is written here.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numba import njit
from numpy.typing import NDArray

CHUNK_SAMPLES = 120
"""Samples of a chunk, as Prometheus cuts them."""
INDEX_MAGIC, CHUNKS_MAGIC = 0xBAAAD700, 0x85BD40DD
"""First bytes of the index and of a chunk segment (Prometheus TSDB format)."""
SEGMENT_BYTES = 512 << 20
"""Size of a chunk segment at most (Prometheus TSDB format)."""
XOR = 1
"""Encoding of a chunk (Prometheus TSDB format)."""

Pairs = tuple[tuple[str, str], ...]


def _table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, np.uint32(0x82F63B78) ^ (table >> np.uint32(1)), table >> np.uint32(1))
    return table


CASTAGNOLI = _table()


@njit(cache=True)
def _crc(data: NDArray[np.uint8], table: NDArray[np.uint32]) -> int:
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return int(crc ^ np.uint32(0xFFFFFFFF))


def crc32c(data: bytes) -> bytes:
    """The checksum of every part of a block, big-endian."""
    return struct.pack(">I", int(_crc(np.frombuffer(data, dtype=np.uint8), CASTAGNOLI)))


def uvarint(value: int) -> bytes:
    """An unsigned integer in groups of seven bits."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """A signed integer as a varint of its zigzag code (0, -1, 1, -2, ...), as in Go's ``binary.PutVarint``."""
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def _text(text: str) -> bytes:
    raw = text.encode()
    return uvarint(len(raw)) + raw


class _Bits:
    """Bits one after the other."""

    def __init__(self) -> None:
        self._value, self._length = 0, 0

    def add(self, value: int, length: int) -> None:
        self._value = self._value << length | value & (1 << length) - 1
        self._length += length

    def bytes(self) -> bytes:
        spare = -self._length % 8
        return (self._value << spare).to_bytes((self._length + spare) // 8, "big")


def xor_chunk(times_ms: Sequence[int], values: NDArray[np.float64]) -> bytes:
    """The data of one chunk: delta of deltas of the times, XOR of the values."""
    bits = _Bits()
    words = values.astype(">f8").view(">u8").tolist()
    leading = trailing = -1
    delta = 0
    for i, (time, word) in enumerate(zip(times_ms, words, strict=True)):
        if i == 0:
            for byte in varint(time):
                bits.add(byte, 8)
            bits.add(word, 64)
            continue
        before, delta = delta, time - times_ms[i - 1]
        if i == 1:
            for byte in uvarint(delta):
                bits.add(byte, 8)
        else:
            _delta_of_delta(bits, delta - before)
        leading, trailing = _xor(bits, word ^ words[i - 1], leading, trailing)
    return struct.pack(">H", len(times_ms)) + bits.bytes()


def _delta_of_delta(bits: _Bits, change: int) -> None:
    if change == 0:
        bits.add(0, 1)
        return
    for prefix, length, width in ((0b10, 2, 14), (0b110, 3, 17), (0b1110, 4, 20)):
        if -(1 << width - 1) + 1 <= change <= 1 << width - 1:
            bits.add(prefix, length)
            bits.add(change, width)
            return
    bits.add(0b1111, 4)
    bits.add(change, 64)


def _xor(bits: _Bits, changed: int, leading: int, trailing: int) -> tuple[int, int]:
    if changed == 0:
        bits.add(0, 1)
        return leading, trailing
    bits.add(1, 1)
    zeros = min(64 - changed.bit_length(), 31)
    behind = (changed & -changed).bit_length() - 1
    if leading != -1 and zeros >= leading and behind >= trailing:
        bits.add(0, 1)
        bits.add(changed >> trailing, 64 - leading - trailing)
        return leading, trailing
    width = 64 - zeros - behind
    bits.add(1, 1)
    bits.add(zeros, 5)
    bits.add(width, 6)  # 64 is written as 0
    bits.add(changed >> behind, width)
    return zeros, behind


@dataclass(frozen=True)
class Curve:
    """The samples of a series as they stand in a block: its chunks, and what the index says of them."""

    chunks: bytes
    meta: bytes
    first: bytes
    count: int


def curve(times_ms: Sequence[int], values: NDArray[np.float64]) -> Curve:
    """Chunks of 120 samples each; many series may have the same curve, each gets its own copy of the bytes."""
    chunks, meta, first = bytearray(), bytearray(), b""
    before: tuple[int, int] | None = None
    edges = [*range(0, len(times_ms), CHUNK_SAMPLES), len(times_ms)]
    for low, high in pairwise(edges):
        data = xor_chunk(times_ms[low:high], values[low:high])
        span = uvarint(times_ms[high - 1] - times_ms[low])
        if before is None:
            first = varint(times_ms[low]) + span
        else:
            meta += uvarint(times_ms[low] - before[0]) + span + varint(len(chunks) - before[1])
        before = (times_ms[high - 1], len(chunks))
        chunks += uvarint(len(data)) + bytes([XOR]) + data + crc32c(bytes([XOR]) + data)
    return Curve(chunks=bytes(chunks), meta=bytes(meta), first=first, count=len(edges) - 1)


class _Segments:
    """The chunk files of a block."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self._number, self._at = folder, 0, SEGMENT_BYTES
        self._next()

    def _next(self) -> None:
        self._file = (self._folder / f"{self._number + 1:06}").open("wb")
        self._file.write(struct.pack(">IB3x", CHUNKS_MAGIC, 1))
        self._number, self._at = self._number + 1, 8

    def add(self, data: bytes) -> int:
        """Writes the chunks of a series; returns the reference of the first."""
        if self._at + len(data) > SEGMENT_BYTES:
            self._file.close()
            self._next()
        reference = self._number - 1 << 32 | self._at
        self._file.write(data)
        self._at += len(data)
        return reference

    def close(self) -> None:
        self._file.close()


def write_block(
    folder: Path, series: Sequence[tuple[Pairs, Curve]], *, start_ms: int, end_ms: int, samples: int
) -> None:
    """One block into ``folder`` (named by a ULID). ``series`` have labels sorted by name and are sorted by labels."""
    folder.mkdir(parents=True)
    symbols = sorted({text for pairs, _ in series for pair in pairs for text in pair})
    segments = _Segments(folder / "chunks")
    with (folder / "index").open("wb") as out:
        out.write(struct.pack(">IB", INDEX_MAGIC, 2))
        starts = {"symbols": 5}
        raw = b"".join(_text(text) for text in symbols)
        _section(out, struct.pack(">I", len(symbols)) + raw)
        starts["series"] = out.tell()
        holders = _write_series(out, series, symbols, segments)
        starts["postings"] = out.tell() + -out.tell() % 4
        table = _write_postings(out, holders)
        starts["table"] = out.tell()
        _section(out, table)
        places_of = (starts["symbols"], starts["series"], 0, 0, starts["postings"], starts["table"])
        toc = struct.pack(">6Q", *places_of)
        out.write(toc + crc32c(toc))
    segments.close()
    chunks = sum(shape.count for _, shape in series)
    stats = {"numSamples": samples, "numSeries": len(series), "numChunks": chunks}
    compaction = {"level": 1, "sources": [folder.name]}
    meta = {"ulid": folder.name, "minTime": start_ms, "maxTime": end_ms, "stats": stats, "compaction": compaction}
    (folder / "meta.json").write_text(json.dumps({**meta, "version": 1}))


def _write_series(
    out: BinaryIO, series: Sequence[tuple[Pairs, Curve]], symbols: Sequence[str], segments: _Segments
) -> dict[tuple[str, str], list[int]]:
    """The series with their chunks; the places of those that hold each label, of all under an empty one."""
    number = {text: uvarint(i) for i, text in enumerate(symbols)}
    holders: dict[tuple[str, str], list[int]] = {("", ""): []}
    for pairs, shape in series:
        out.write(b"\0" * (-out.tell() % 16))
        place = out.tell() // 16
        holders["", ""].append(place)
        for pair in pairs:
            holders.setdefault(pair, []).append(place)
        reference = segments.add(shape.chunks)
        labels = b"".join(number[name] + number[value] for name, value in pairs)
        entry = uvarint(len(pairs)) + labels + uvarint(shape.count) + shape.first + uvarint(reference) + shape.meta
        out.write(uvarint(len(entry)) + entry + crc32c(entry))
    return holders


def _write_postings(out: BinaryIO, holders: Mapping[tuple[str, str], Sequence[int]]) -> bytes:
    """The places of every label's series; the table that says where each list stands."""
    table = bytearray(struct.pack(">I", len(holders)))
    for name, value in sorted(holders):
        out.write(b"\0" * (-out.tell() % 4))
        table += b"\x02" + _text(name) + _text(value) + uvarint(out.tell())
        places = np.array(holders[name, value], dtype=">u4")
        _section(out, struct.pack(">I", len(places)) + places.tobytes())
    return bytes(table)


def _section(out: BinaryIO, content: bytes) -> None:
    out.write(struct.pack(">I", len(content)) + content + crc32c(content))


def sorted_series(series: Iterable[tuple[Mapping[str, str], Curve]]) -> list[tuple[Pairs, Curve]]:
    """Series in the order of a block."""
    pairs = [(tuple(sorted(labels.items())), shape) for labels, shape in series]
    pairs.sort(key=lambda pair: pair[0])
    return pairs
