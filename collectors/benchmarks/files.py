"""``read_benchmarks``: several files at once, zip archives among them, and the sweeps they make up."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import PurePosixPath

from collectors.benchmarks.documents import GZIP_START, MAX_BYTES, ZIP_START
from collectors.benchmarks.reader import read_benchmark
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats, RowError
from collectors.benchmarks.tools import aiperf, evalscope_perf, guidellm, inference_perf, llmperf
from collectors.errors import BenchmarkFileError, NotAResultFile

MAX_FILES = 500
"""The most files of one archive. Chosen: a sweep with three exports of each run."""
MAX_UNPACKED_BYTES = 4 * MAX_BYTES
"""Chosen: a few large files; an archive that grows beyond is broken or hostile."""
GZIP_WBITS = 16
"""Tells zlib to expect the header of gzip (zlib's manual, inflateInit2)."""
TAR_MAGIC_AT, TAR_MAGIC = 257, b"ustar"
"""Where a tar archive says that it is one (POSIX.1-1988)."""
OFFICE_PART = "[Content_Types].xml"
"""What every workbook and document of an office suite holds: they are zip archives, too."""
LENGTHS = ("isl_mean", "osl_mean", "prefix_cached_tokens")
"""What the runs of one sweep have in common, although it is measured anew in each."""
LENGTH_TOLERANCE = 0.15
"""Mean lengths of two runs of one sweep may differ by this share: they are drawn at random."""

_SUFFIX = re.compile(r"(_summary|_individual_responses)$")


def read_benchmarks(files: Iterable[tuple[str, bytes]]) -> Imported:
    """All runs in ``files`` ((name, content) pairs), zip archives unpacked, in the order of their curves and loads.

    Several exports of one run (JSON, CSV and lines of AIPerf, summary and responses of LLMPerf) become one point. What
    is no result (logs, server metrics) is named in a note as long as other files are results. Raises BenchmarkFileError
    when there is no file at all.
    """
    read: list[Imported] = []
    errors: list[RowError] = []
    strangers: list[RowError] = []
    for name, data in _unpacked(files, errors):
        try:
            read.append(read_benchmark(data, name))
        except NotAResultFile as error:
            strangers.append(RowError(file=name, row=None, message=str(error)))
        except BenchmarkFileError as error:
            errors.append(RowError(file=name, row=None, message=str(error)))
    if not (read or errors or strangers):
        raise BenchmarkFileError("There is no file to import.")
    for imported in read:
        errors.extend(imported.errors)
    merged, merge_notes = _merged([point for imported in read for point in imported.points])
    notes = _format_notes(read) + merge_notes
    if strangers and read:
        notes.append(f"Left aside, no results: {_listed([error.file for error in strangers])}.")
    else:
        errors.extend(strangers)
    return Imported(
        points=tuple(point for curve in curves(merged) for point in curve),
        errors=tuple(errors),
        format=", ".join(dict.fromkeys(imported.format for imported in read)) or "none",
        notes=tuple(notes),
    )


def _format_notes(read: list[Imported]) -> list[str]:
    """The notes of each format once, with its name where there are several."""
    several = len({imported.format for imported in read}) > 1
    notes = ((f"{imported.format}: {note}" if several else note) for imported in read for note in imported.notes)
    return list(dict.fromkeys(notes))


def _unpacked(files: Iterable[tuple[str, bytes]], errors: list[RowError]) -> Iterator[tuple[str, bytes]]:
    """The files and those inside the archives among them; what cannot be unpacked goes to ``errors``."""
    for packed_name, packed in files:
        name, data = packed_name, packed
        if packed.startswith(GZIP_START):
            unpacked = _gunzipped(name, packed, errors)
            if unpacked is None:
                continue
            name, data = name.removesuffix(".gz"), unpacked
        if not data.startswith(ZIP_START):
            yield name, data
            continue
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if OFFICE_PART in archive.namelist():
                    message = f"{name} is an Office document: save the table as CSV (UTF-8)."
                    errors.append(RowError(file=name, row=None, message=message))
                    continue
                yield from _members(name, archive, errors)
        except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError) as error:
            message = f"{name} is not a readable zip archive: {str(error)[:100]}."
            errors.append(RowError(file=name, row=None, message=message))


def _gunzipped(name: str, data: bytes, errors: list[RowError]) -> bytes | None:
    """What a gzip file holds; None with an error where it is damaged, too large or a tar archive."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | GZIP_WBITS)
    try:
        content = unpacker.decompress(data, MAX_BYTES + 1)
    except zlib.error:
        content, unpacker = b"", zlib.decompressobj()
    if content[TAR_MAGIC_AT:].startswith(TAR_MAGIC):
        message = f"{name} is a tar archive: give its files, or a zip of them."
    elif not unpacker.eof and len(content) <= MAX_BYTES:
        message = f"{name} is a damaged gzip file: pack it again."
    else:
        return content  # one that is too large is refused by its size
    errors.append(RowError(file=name, row=None, message=message))
    return None


def _members(name: str, archive: zipfile.ZipFile, errors: list[RowError]) -> Iterator[tuple[str, bytes]]:
    members = [info for info in archive.infolist() if not info.is_dir() and not _hidden(info.filename)]
    if len(members) > MAX_FILES:
        errors.append(RowError(file=name, row=None, message=f"{name} holds more than {MAX_FILES} files."))
        return
    left = MAX_UNPACKED_BYTES
    for info in members:
        inner = f"{name}/{info.filename}"
        try:
            with archive.open(info) as stream:
                # The size that the archive states may be wrong: what counts is what comes out.
                data = stream.read(min(MAX_BYTES, left) + 1)
        except (RuntimeError, zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError) as error:
            errors.append(RowError(file=inner, row=None, message=f"{inner} cannot be unpacked: {str(error)[:100]}."))
            continue
        left -= len(data)
        if data.startswith(GZIP_START):
            unpacked = _gunzipped(inner, data, errors)
            if unpacked is None:
                continue
            inner, data = inner.removesuffix(".gz"), unpacked
            left -= len(data)
        if left < 0:
            message = f"{name} unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB; the rest is left out."
            errors.append(RowError(file=name, row=None, message=message))
            return
        yield inner, data


def _hidden(path: str) -> bool:
    """Resource forks of macOS and dot files."""
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(path).parts)


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _merged(points: list[BenchmarkRun]) -> tuple[list[BenchmarkRun], list[str]]:
    """One point per run where a tool exports it several times, and what was put together or left out."""
    notes: list[str] = []
    stages = {_folder(point) for point in points if point.tool == inference_perf.FORMAT and point.mode is not None}
    runs: dict[tuple[str, ...], list[BenchmarkRun]] = {}
    for point in points:
        if point.tool == inference_perf.FORMAT and point.mode is None and _folder(point) in stages:
            notes.append(f"{point.file} mixes the stages beside it and is left out.")
            continue
        runs.setdefault(_run(point), []).append(point)
    merged = []
    for exports in runs.values():
        best, *others = sorted(exports, key=_rank)
        for other in others:
            best = _filled(best, other)
            notes.append(f"{other.file} is another export of the run in {best.file}.")
        merged.append(best)
    once, repeats = _once(merged)
    return once, notes + repeats


def _once(points: list[BenchmarkRun]) -> tuple[list[BenchmarkRun], list[str]]:
    """The points without those that say the very same again, and the note about them."""
    seen: dict[BenchmarkRun, BenchmarkRun] = {}
    again = []
    for point in points:
        if seen.setdefault(replace(point, file="", row=0, notes=()), point) is not point:
            again.append(f"{point.file} row {point.row}")
    if not again:
        return points, []
    repeats = "one run repeats" if len(again) == 1 else f"{len(again):,} runs repeat"
    return list(seen.values()), [f"{repeats.capitalize()} another in every number and counts once: {_listed(again)}."]


def _folder(point: BenchmarkRun) -> str:
    return str(PurePosixPath(point.file).parent)


def _run(point: BenchmarkRun) -> tuple[str, ...]:
    """Equal for exports of the same run: AIPerf and EvalScope write a folder a run, LLMPerf two files named alike."""
    if point.tool == aiperf.FORMAT and PurePosixPath(point.file).stem.startswith("profile_export"):
        return (point.tool, _folder(point))
    if point.tool == llmperf.FORMAT and _SUFFIX.search(PurePosixPath(point.file).stem):
        return (point.tool, _folder(point), _SUFFIX.sub("", PurePosixPath(point.file).stem))
    if point.tool == evalscope_perf.FORMAT and _folder(point) != ".":
        return (point.tool, _folder(point))
    if point.tool == guidellm.FORMAT and point.when is not None:
        load = (point.request_rate_rps, point.concurrency, point.requests_completed)
        return (point.tool, f"{point.when:%Y-%m-%d %H:%M:%S}", str(load))
    return (point.tool, point.file, str(point.row))


def _rank(point: BenchmarkRun) -> tuple[bool, bool, str]:
    """The export that knows its load and model first, then JSON before CSV."""
    return (point.mode is None, point.model is None, point.file.rpartition(".")[2].replace("json", ""))


def _filled(best: BenchmarkRun, other: BenchmarkRun) -> BenchmarkRun:
    """``best``, its gaps filled from ``other``; ``best`` keeps its notes."""
    changes: dict[str, object] = {}
    for item in fields(BenchmarkRun):
        mine, theirs = getattr(best, item.name), getattr(other, item.name)
        if isinstance(mine, LatencyStats) and isinstance(theirs, LatencyStats):
            # A mean alone gives way to a whole distribution.
            if theirs.stated and mine.at(50.0) is None:
                changes[item.name] = theirs
        elif mine is None and theirs is not None:
            changes[item.name] = theirs
    return replace(best, **changes)  # type: ignore[arg-type]


def curves(points: Iterable[BenchmarkRun]) -> tuple[tuple[BenchmarkRun, ...], ...]:
    """Points that differ only in load, each group in ascending order of load, groups in the order they first appear.

    Mean lengths belong together when they are within LENGTH_TOLERANCE of the group's first point.
    """
    groups: list[list[BenchmarkRun]] = []
    by_system: dict[tuple[object, ...], list[list[BenchmarkRun]]] = {}
    for point in points:
        alike = by_system.setdefault(_system(point), [])
        group = next((group for group in alike if _same_lengths(group[0], point)), None)
        if group is None:
            group = []
            alike.append(group)
            groups.append(group)
        group.append(point)
    return tuple(tuple(sorted(group, key=_load)) for group in groups)


def _system(point: BenchmarkRun) -> tuple[object, ...]:
    """Everything but lengths and load that tells one curve from another."""
    return (
        point.tool,
        point.model,
        point.engine,
        point.engine_version,
        point.weight_precision,
        point.kv_precision,
        point.gpu,
        point.gpus,
        point.tp,
        point.pp,
        point.ep,
        point.dp,
        point.mode,
    )


def _same_lengths(first: BenchmarkRun, second: BenchmarkRun) -> bool:
    return all(_near(getattr(first, name), getattr(second, name)) for name in LENGTHS)


def _near(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= LENGTH_TOLERANCE * max(first, second)


def _load(point: BenchmarkRun) -> tuple[float, float]:
    """What orders the points of a curve: the rate asked, the concurrency asked, else what was in flight."""
    load = point.request_rate_rps if point.mode == "fixed_rate" else point.concurrency
    return (load or point.concurrency_mean or 0.0, point.requests_per_s or 0.0)
