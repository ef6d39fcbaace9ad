"""Reading traces of real traffic: CSV, JSON (also compressed) or Parquet, in chunks, every row checked.

Own format: ``timestamp`` (seconds, Unix time in s, ms, us or ns, or date and time), ``input_tokens``,
``output_tokens`` and, optionally, ``cached_tokens``. Also read: Azure LLM inference traces 2023 and 2024 (``TIMESTAMP,
ContextTokens, GeneratedTokens``), Mooncake and what AIPerf and Dynamo replay (``timestamp_ms`` or ``timestamp`` in ms,
``input_length``, ``output_length``, ``hash_ids`` or ``prefix_tokens_seen_before``), Bailian (the same with ``chat_id``,
in s), BurstGPT (``Request tokens``, ``Response tokens``), Splitwise (``arrival_timestamp``, ``prompt_size``,
``token_size``), tables of Langfuse, Helicone, OpenRouter and Phoenix, and the objects of
:mod:`sizing.scenario.trace_rows`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from commandline.foreign_text import shown
from sizing.base.arrays import Floats
from sizing.base.errors import InvalidTrace
from sizing.base.units import MS_PER_S, S_PER_DAY, S_PER_MINUTE
from sizing.scenario.bounds import MAX_TOKENS
from sizing.scenario.prefix_reuse import PrefixReuse, TraceReuse
from sizing.scenario.trace_cells import counts, plain, times
from sizing.scenario.trace_file import frames_in
from sizing.scenario.trace_rows import requests_in

Tokens = NDArray[np.int32]
"""Rows prompt, output and cached tokens of requests, shape (3, n)."""

MAX_ROWS = 10_000_000
"""Rows of a trace, at most; as compact columns they take 200 MB."""

LONGEST_YEARS, S_PER_YEAR = 10, 365.25 * S_PER_DAY
"""Longest trace: a longer one has its times in another unit."""

SHOWN_PROBLEMS = 5
"""Faulty rows of a trace that are named one by one. Chosen: because the first few show what is wrong with the rest."""
LONG_GAP_S, LONG_GAP_FACTOR = S_PER_MINUTE, 50.0
"""A gap without requests is mentioned when it lasts a minute and 50 mean gaps."""

SHORTEST_TRACE_S = 1e-9
"""Length of a trace at least, where it is divided by: all requests may stand at one moment."""

LARGEST, LONGEST_NUMBER = 1e300, 300
"""Number, and digits of one, at most: a float holds hardly a longer one."""

SAME_SPEED = 1e-3
"""A peak that differs from the trace's by less is the same one, rounded."""

OWN_OUTPUT = "output_tokens"
"""The column of output tokens of our format. Under the names of published traces and of logs it is 0 where a request
failed, or generates nothing."""

UNIX_TIMES = ((1e17, 1e9), (1e14, 1e6), (1e11, MS_PER_S))
"""From which number on a time counts nanoseconds, microseconds or milliseconds since 1970, and how many make a second:
in seconds, 1e11 would be the year 5138."""

USAGES = ("usagedetails", "usage_details")
"""Columns that hold counts by kind in JSON."""

NAMES = {
    "timestamp": (
        *("timestamp", "time", "timestamp_ms", "arrived_at", "arrival_timestamp", "arrival_time", "arrival_time_ms"),
        *("start_time", "created", "created_at", "request_created_at", "createtime", "tstamp", "ts", "datetime"),
        *("arrived", "arrival", "request_time", "request_timestamp", "sent_at", "received_at", "time_s", "timestamp_s"),
    ),
    "input_tokens": (
        *("input_tokens", "contexttokens", "input_length", "prompt_tokens", "num_prefill_tokens"),
        *("request tokens", "prompt_size", "prompt_len", "prompt_length", "input_len", "num_prompt_tokens"),
        *("tokens_prompt", "tokens_in", "in_tokens", "input_token_count", "prompt_token_count", "n_prompt_tokens"),
        *("n_input_tokens", "num_input_tokens", "prefill_tokens", "query_length", "isl"),
        "attributes.gen_ai.usage.input_tokens",
        "gen_ai.usage.input_tokens",
        *("gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "attributes.llm.token_count.prompt"),
    ),
    "output_tokens": (
        *("output_tokens", "generatedtokens", "output_length", "completion_tokens", "num_decode_tokens"),
        *("response tokens", "token_size", "output_len", "num_output_tokens", "tokens_out", "out_tokens"),
        *("output_token_count", "completion_token_count", "n_output_tokens", "n_completion_tokens"),
        *("num_generated_tokens", "n_generated_tokens", "decode_tokens", "response_length", "osl"),
        *("tokens_completion", "gen_ai.usage.output_tokens", "attributes.gen_ai.usage.output_tokens"),
        *("gen_ai.usage.completion_tokens", "llm.token_count.completion", "attributes.llm.token_count.completion"),
    ),
    "cached_tokens": ("cached_tokens", "prefix_tokens_seen_before", "prefix_cached_tokens"),
    "hash_ids": ("hash_ids",),
    "images": ("numimages", "num_images"),
}
"""Column names that are understood, as :func:`plain` writes them; the first of each is our own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """Requests in order of time; ``time_s`` counts from the first. ``notes`` says what is odd about them."""

    name: str
    time_s: Floats
    tokens: Tokens
    notes: tuple[str, ...] = ()
    reuse: TraceReuse | None = None
    """What caches of every size hold of the prompts, where blocks are named."""

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def duration_s(self) -> float:
        """Seconds from the first to the last request."""
        return float(self.time_s[-1])

    @property
    def mean_rps(self) -> float:
        """Mean rate over the trace."""
        return len(self) / max(self.duration_s, SHORTEST_TRACE_S)

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the requests with name and notes: equal traces have the same."""
        digest = sha256(repr((self.name, self.notes)).encode())
        for rows in (self.time_s, self.tokens):
            digest.update(np.ascontiguousarray(rows).data)
        return digest.hexdigest()

    def until(self, seconds: float) -> Trace:
        """The requests of the first ``seconds``; at least the first one."""
        kept = max(int(np.searchsorted(self.time_s, seconds, side="right")), 1)
        return replace(self, time_s=self.time_s[:kept], tokens=self.tokens[:, :kept])

    def first(self, requests: int) -> Trace:
        """The first so many requests."""
        return replace(self, time_s=self.time_s[:requests].copy(), tokens=self.tokens[:, :requests].copy())

    def at_speed(self, factor: float) -> Trace:
        """The same requests with all gaps divided by ``factor``."""
        if math.isclose(factor, 1.0, rel_tol=SAME_SPEED):
            return self
        note = f"{self.name} was replayed {factor:.3g} times as fast, so that its busiest time is the peak asked for."
        return replace(self, time_s=self.time_s / factor, notes=(*self.notes, note))

    def check_fits(self, window: float | None, model: str) -> None:
        """Raise InvalidTrace when requests are longer than the context window of the model."""
        total = self.tokens[0] + self.tokens[1]
        if window is None or total.max() <= window:
            return
        first = int((total > window).argmax())
        raise InvalidTrace(
            [
                f"{self.name}: {int((total > window).sum()):,} of {len(self):,} requests do not fit in the context "
                f"window "
                f"of {model}, {window:,.0f} tokens; the first comes {self.time_s[first]:,.0f} s after the start and "
                f"has "
                f"{int(total[first]):,}."
            ]
        )


def read_trace(path: Path, *, max_tokens: float | None = None) -> Trace:
    """The trace in a file. Raises InvalidTrace with one sentence per faulty row (the first few, then how many more).

    ``max_tokens``: longest prompt plus output that can be served, such as the model's context.
    """
    longest = min(max_tokens or MAX_TOKENS, MAX_TOKENS)
    times: list[Floats] = []
    tokens: list[Tokens] = []
    problems = _Problems(path.name)
    rows = uncounted = unanswered = images = 0
    reuse = PrefixReuse()
    for frame, milliseconds in _frames(path):
        stated = _stated(frame)
        answered = _answered(stated)
        uncounted += len(frame) - len(stated)
        unanswered += len(stated) - len(answered)
        frame = answered
        if rows + len(frame) > MAX_ROWS:
            raise InvalidTrace([f"{path.name} has more than {MAX_ROWS:,} rows: cut it into shorter traces."])
        time, counted = _checked(frame, milliseconds, rows, longest, problems)
        if "hash_ids" in frame:
            reuse.add(counted[0], frame["hash_ids"])
        if "images" in frame:
            images += int(np.nansum(_numbers(frame["images"])))
        times.append(time)
        tokens.append(counted)
        rows += len(frame)
    problems.stop_if_any()
    if not rows:
        raise InvalidTrace([f"{path.name} holds no requests."])
    notes = list(reuse.notes(path.name))
    if unanswered:
        left_out = "1 request" if unanswered == 1 else f"{unanswered:,} requests"
        notes.append(f"{path.name}: left out {left_out} without an answer (0 output tokens).")
    if uncounted:
        left_out = "1 row" if uncounted == 1 else f"{uncounted:,} rows"
        notes.append(f"{path.name}: left out {left_out} without token counts.")
    if images:
        notes.append(f"{path.name}: {images:,} images are in the requests, and counted by their tokens alone.")
    trace = _in_order(path.name, np.concatenate(times), np.concatenate(tokens, axis=1), notes)
    return replace(trace, reuse=reuse.replayed(path.name) if reuse.has_blocks else None)


def _stated(frame: pd.DataFrame) -> pd.DataFrame:
    """A chunk without rows that count nothing, such as spans that call no model; of our format all of it."""
    if not frame.attrs["unanswered"]:
        return frame
    stated: pd.DataFrame = frame[frame["input_tokens"].notna() | frame["output_tokens"].notna()]
    return stated.reset_index(drop=True)


def _answered(frame: pd.DataFrame) -> pd.DataFrame:
    """A chunk without the requests that failed, under names of published traces and logs; of our format all of it."""
    if not frame.attrs["unanswered"]:
        return frame
    answered: pd.DataFrame = frame[_numbers(frame["output_tokens"]) != 0.0]
    return answered.reset_index(drop=True)


class _Problems:
    """The first faulty rows in words, and how many there are."""

    def __init__(self, name: str) -> None:
        self.name, self.first_faults, self.count = name, list[tuple[int, str]](), 0

    def note(self, faulty: NDArray[np.bool_], first_row: int, column: pd.Series, why: str) -> None:
        """Every faulty row of a chunk; the header is row 1."""
        self.count += int(faulty.sum())
        for i in np.flatnonzero(faulty)[:SHOWN_PROBLEMS]:
            cell = column.iloc[int(i)]
            empty = pd.api.types.is_scalar(cell) and pd.isna(cell)
            fault = (
                f"{column.name} has no value"
                if empty
                else why.format(shown(cell if pd.api.types.is_scalar(cell) else str(cell)))
            )
            self.first_faults.append((first_row + int(i) + 2, fault))

    def stop_if_any(self) -> None:
        """Raise InvalidTrace when a row was faulty."""
        if not self.count:
            return
        shown = sorted(self.first_faults)[:SHOWN_PROBLEMS]
        lines = [f"{self.name}, row {row:,}: {why}." for row, why in shown]
        if self.count > len(shown):
            lines.append(f"{self.name}: {self.count - len(shown):,} more problems of this kind.")
        raise InvalidTrace(lines)


def _frames(path: Path) -> Iterator[tuple[pd.DataFrame, bool]]:
    """Chunks with our column names, and whether times are in milliseconds."""
    used = [plain(name) for name in (*USAGES, *(name for names in NAMES.values() for name in names))]
    for chunk in frames_in(path, used):
        frame = _with_usage(chunk, path.name)
        by_name = {plain(column): column for column in reversed(frame.columns)}
        chosen = {
            own: next((by_name[n] for n in map(plain, names) if n in by_name), None) for own, names in NAMES.items()
        }
        missing = [own for own in ("timestamp", "input_tokens", "output_tokens") if chosen[own] is None]
        if missing:
            raise InvalidTrace(
                [f"{path.name} lacks {', '.join(missing)} (found: {shown(', '.join(map(str, frame.columns)), 200)})."]
            )
        mooncake = str(chosen["input_tokens"]).strip().lower() == "input_length" and "chatid" not in by_name
        milliseconds = plain(chosen["timestamp"]).endswith("ms") or mooncake
        named = pd.DataFrame({own: frame[name] for own, name in chosen.items() if name is not None})
        named = _as_numbers(named.dropna(how="all").reset_index(drop=True), chunk.attrs.get("separator", ","))
        named.attrs["unanswered"] = str(chosen["output_tokens"]).strip().lower() != OWN_OUTPUT
        yield named, milliseconds


def _as_numbers(frame: pd.DataFrame, separator: str) -> pd.DataFrame:
    """A chunk with times and counts as numbers are written for machines."""
    counted = [name for name in ("input_tokens", "output_tokens", "cached_tokens", "images") if name in frame]
    changed = {name: counts(frame[name]) for name in counted} | {"timestamp": times(frame["timestamp"], separator)}
    return frame.assign(**changed)


def _with_usage(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A chunk of a table whose token counts stand in a cell of JSON (Langfuse), with a column for each."""
    by_lower = {str(column).strip().lower(): str(column) for column in frame.columns}
    column = next((by_lower[usage] for usage in USAGES if usage in by_lower), None)
    if column is None or {*map(plain, by_lower)} & {*map(plain, NAMES["input_tokens"])}:
        return frame
    rows = []
    for row in frame.to_dict("records"):
        try:
            counts = json.loads(str(row[column]))
        except (ValueError, RecursionError):
            counts = None
        nested = {str(key): cell for key, cell in row.items()} | {"usageDetails": counts}
        rows += list(requests_in(nested, name)) if isinstance(counts, dict) else []
    return pd.DataFrame(rows) if rows else frame


def _checked(
    frame: pd.DataFrame, milliseconds: bool, first_row: int, max_tokens: float, problems: _Problems
) -> tuple[Floats, Tokens]:
    """Times in seconds and rows prompt, output, cached of a chunk; what is wrong goes to ``problems``."""
    timestamps = frame["timestamp"]
    time = _seconds(timestamps, MS_PER_S if milliseconds else 1.0)
    problems.note(~np.isfinite(time), first_row, timestamps, "timestamp is not a time: “{}”")
    problems.note(time < 0, first_row, timestamps, "timestamp is negative: {}")
    columns = []
    for name, least in (("input_tokens", 1.0), ("output_tokens", 1.0), ("cached_tokens", 0.0)):
        if name not in frame:
            columns.append(np.zeros(len(frame)))
            continue
        values = _numbers(frame[name])
        problems.note(~np.isfinite(values), first_row, frame[name], name + " is not a number: “{}”")
        problems.note(values < least, first_row, frame[name], f"{name} must be at least {least:g}, not {{}}")
        columns.append(
            np.clip(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0), 0.0, LARGEST)
        )  # two of them can be added
    total = columns[0] + columns[1]
    problems.note(
        total > max_tokens,
        first_row,
        pd.Series(total).map(lambda t: f"{t:,.0f}" if t < 1e15 else f"{t:.3g}"),
        f"{{}} tokens (prompt and output) are more than the {max_tokens:,.0f} that fit",
    )
    columns[2] = np.minimum(columns[2], columns[0] - 1.0)
    return time, np.clip(np.rint(np.stack(columns)), 0, MAX_TOKENS).astype(np.int32)


def _per_second(time: Floats, stated: float) -> Floats:
    """How many units of each time make a second: as ``stated``, or by its size where it counts from 1970."""
    return np.select([time >= least for least, _ in UNIX_TIMES], [unit for _, unit in UNIX_TIMES], default=stated)


def _numbers(column: pd.Series) -> Floats:
    """Numbers as they are; NaN for anything else, such as dates, which pandas would count in nanoseconds."""
    kind = pd.api.types
    if kind.is_bool_dtype(column) or kind.is_datetime64_any_dtype(column) or kind.is_timedelta64_dtype(column):
        return np.full(len(column), np.nan)
    return np.asarray(_coerced(column).to_numpy(dtype=np.float64, na_value=np.nan))


def _coerced(column: pd.Series) -> pd.Series:
    """Numbers; NaN for anything else, and for whole numbers beyond any float, at which pandas stops."""
    try:
        return pd.to_numeric(column, errors="coerce")
    except OverflowError:
        return pd.to_numeric(column.map(lambda cell: None if _is_beyond_floats(cell) else cell), errors="coerce")


def _is_beyond_floats(cell: object) -> bool:
    """Whether a whole number, read or as text, is larger than any float."""
    return abs(cell) > LARGEST if isinstance(cell, int) else len(str(cell)) > LONGEST_NUMBER


def _seconds(column: pd.Series, per_second: float) -> Floats:
    """Numbers by their unit, of which ``per_second`` make a second; dates as seconds since 1970, UTC where no zone is
    given; NaN for anything else.
    """
    if pd.api.types.is_timedelta64_dtype(column):
        return np.asarray(column.dt.total_seconds().to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_datetime64_any_dtype(column):  # as a number it would count nanoseconds, or something else
        return _since_1970(column)
    if pd.api.types.is_bool_dtype(column):
        return np.full(len(column), np.nan)
    numbers = _coerced(column)
    if numbers.notna().any() or not len(column) or pd.api.types.is_numeric_dtype(column):
        times = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(times / _per_second(times, per_second))
    too_large = np.array([isinstance(cell, int) for cell in column])  # beyond any float, or it would be a number
    return _since_1970(column.mask(too_large))


def _since_1970(column: pd.Series) -> Floats:
    """Seconds since 1970 of dates; NaN for anything else."""
    if column.dtype == object or pd.api.types.is_string_dtype(column):  # logs of Python write 12:30:01,123
        column = column.astype("string").str.replace(r"(:\d{2}),(?=\d)", r"\1.", regex=True)
    dates = pd.to_datetime(column, errors="coerce", utc=True, format="ISO8601")
    since = dates - pd.Timestamp(0, tz="UTC").as_unit(dates.dt.unit)  # nanoseconds would end in the year 2262
    return np.asarray(since.dt.total_seconds().to_numpy(dtype=np.float64, na_value=np.nan))


def _in_order(name: str, time: Floats, tokens: Tokens, notes: list[str]) -> Trace:
    """Sorted by time, counted from the first request, with ``notes`` and others on disorder and long gaps."""
    backwards = int((np.diff(time) < 0).sum())
    if backwards:
        order = np.argsort(time, kind="stable")
        time, tokens = time[order], tokens[:, order]
        notes.append(f"{name} was not in order of time ({backwards:,} steps back): sorted.")
    time = time - time[0]
    if time[-1] > LONGEST_YEARS * S_PER_YEAR:
        raise InvalidTrace(
            [
                f"{name} covers more than {LONGEST_YEARS} years: "
                f"give timestamps in seconds, or in milliseconds as timestamp_ms."
            ]
        )
    gaps = np.diff(time)
    longest = int(gaps.argmax()) if len(gaps) else 0
    if len(gaps) and gaps[longest] > max(LONG_GAP_S, LONG_GAP_FACTOR * float(gaps.mean())):
        notes.append(f"{name} has no request for {gaps[longest]:,.0f} s from {time[longest]:,.0f} s on.")
    return Trace(name=name, time_s=time, tokens=tokens, notes=tuple(notes))
