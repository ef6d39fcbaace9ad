"""Turning the rows of a document into points: each row on its own, so that a bad one never loses the good ones."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, number
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats, MeasuredMode, RowError
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.foreign_text import shown
from commandline.percentiles import stated_by

MAX_ERRORS = 200
"""Errors reported one by one; the rest is counted."""

MAX_NAMED = 4
"""Fields named that were not read. Chosen: they follow one pattern, which the first few show."""

_LATENCIES = {
    ("ttft",): re.compile(r"ttft|time_to_first_token", re.IGNORECASE),
    ("tpot", "itl"): re.compile(r"tpot|time_per_output_token|\bitl|_itl|inter_?token", re.IGNORECASE),
    ("e2e",): re.compile(r"e2e|end_to_end|request_latency", re.IGNORECASE),
}
"""How tools name a latency, by the names that it has here."""

SUSTAINED_SHARE = 0.85
"""Below this share of the rate the queue grew; above, the rest is the tail of a short run."""

QUEUED_SHARE = 0.5
"""Share of the wait in a queue that grows over the whole run from which it counts as one. Chosen: a queue begins only
once an engine is full, and waits without one are shorter by far."""

ReadRow = Callable[[str, int, Fields], BenchmarkRun]
"""(file, row, its fields) to a point; raises BadRow."""


def read_rows(
    file: str,
    format_name: str,
    rows: Iterable[tuple[int, object]],
    read: ReadRow,
    *,
    notes: tuple[str, ...] = (),
    errors: tuple[RowError, ...] = (),
    cells: bool = False,
) -> Imported:
    """Every row through ``read``; what it raises as BadRow becomes an error of that row."""
    points: list[BenchmarkRun] = []
    failed = list(errors)
    for row, value in rows:
        try:
            if not isinstance(value, dict):
                raise BadRow("not a JSON object")
            points.append(checked(_told(read(file, row, Fields(values=value, cells=cells)), value)))
        except BadRow as error:
            failed.append(RowError(file=file, row=row, message=str(error)))
    return Imported(points=tuple(points), errors=tuple(_few(file, failed)), format=format_name, notes=notes)


def read_objects(document: Document, format_name: str, read: ReadRow, *, notes: tuple[str, ...] = ()) -> Imported:
    """``read_rows`` on the objects of a JSON, JSON Lines or YAML document."""
    return read_rows(document.name, format_name, document.rows, read, notes=notes, errors=document.errors)


def _told(point: BenchmarkRun, values: Mapping[str, object]) -> BenchmarkRun:
    """The point with a note on latencies that the row names and that were not read: no figure is lost silently."""
    unread = [
        key
        for names, pattern in _LATENCIES.items()
        if not any(getattr(point, f"{name}_ms").stated for name in names)
        for key, value in values.items()
        if pattern.search(key) and not isinstance(value, bool) and isinstance(value, int | float) and value
    ]
    if not unread:
        return point
    more = f" and {len(unread) - MAX_NAMED} more" if len(unread) > MAX_NAMED else ""
    named = ", ".join(f"“{shown(key)}”" for key in unread[:MAX_NAMED])
    return replace(point, notes=(*point.notes, f"latencies that are not read: {named}{more}"))


def checked(point: BenchmarkRun) -> BenchmarkRun:
    """The point, if it measured anything, with a note when the server could not keep up. Raises BadRow."""
    if point.requests_completed == 0:
        raise BadRow("no request was completed")
    latencies = (point.ttft_ms, point.tpot_ms, point.itl_ms, point.e2e_ms)
    rates = (point.requests_per_s, point.output_tokens_per_s, point.total_tokens_per_s)
    if not any(latency.stated for latency in latencies) and not any(rates):
        raise BadRow("neither a latency nor a throughput is stated")
    if not all(math.isfinite(value) for value in _numbers(point)):
        raise BadRow("a number is so small that what is computed from it has no end")
    offered, served = point.request_rate_rps, point.requests_per_s
    if point.mode == "fixed_rate" and offered and served and served < SUSTAINED_SHARE * offered:
        share = f"{served:.3g} of {offered:.3g} requests/s were served"
        note = f"{share}: overloaded, latencies grow as long as it runs"
        if point.concurrency:
            note = f"{share}: the cap on requests in flight held the rate back"
        elif not _waited(point):
            note = f"{share} without a queue: the run is too short to judge, or the client sent more slowly"
        return replace(point, notes=(*point.notes, note))
    return point


def _waited(point: BenchmarkRun) -> bool:
    """Whether first tokens came as late as in a queue that grew over the whole run; True where that is not known.

    n requests at a rate above what is served end n / served - n / rate late, and waits grow evenly to that: half of
    them wait half as long. A run that ends late without such waits was idle, or its last answers took that long.
    """
    sent, rate, served = point.requests_completed, point.request_rate_rps, point.requests_per_s
    if not sent or not rate or not served or point.concurrency:  # a cap holds requests back before they are counted
        return True
    late_ms = sent * (1.0 / served - 1.0 / rate) * MS_PER_S
    waits = _by_share(point.ttft_ms) or _by_share(point.e2e_ms)
    return not waits or any(wait >= QUEUED_SHARE * share * late_ms for share, wait in waits)


def _by_share(stats: LatencyStats) -> list[tuple[float, float]]:
    """Share of requests that are faster, with the latency in ms; the mean as the middle of waits that grow evenly."""
    stated = [(0.5, stats.mean), *((percent / 100.0, stats.at(percent)) for percent in stated_by("benchmark"))]
    return [(share, value) for share, value in stated if value is not None]


def _numbers(stated: BenchmarkRun | LatencyStats) -> Iterator[float]:
    """Every number of a point."""
    for field in fields(stated):
        value = getattr(stated, field.name)
        if isinstance(value, LatencyStats):
            yield from _numbers(value)
        elif isinstance(value, Mapping):
            yield from value.values()
        elif isinstance(value, float):
            yield value


def _few(file: str, errors: list[RowError]) -> list[RowError]:
    """At most MAX_ERRORS of them in the order of the file, and one that counts the rest."""
    errors = sorted(errors, key=lambda error: error.row or 0)
    if len(errors) <= MAX_ERRORS:
        return errors
    rest = RowError(file=file, row=None, message=f"{len(errors) - MAX_ERRORS:,} more rows cannot be used")
    return [*errors[:MAX_ERRORS], rest]


TRACE_NOTE = "requests arrived as in a trace"
BATCH_NOTE = "all sequences of a batch start together: no closed loop, in which they are spread over an answer"
EVEN_NOTE = "requests were sent at even intervals, not as a Poisson process"


@dataclass(frozen=True, kw_only=True)
class BenchmarkLoad:
    """Mode with its concurrency or rate, and what to know about it."""

    mode: MeasuredMode | None = None
    concurrency: float | None = None
    rate_rps: float | None = None
    notes: tuple[str, ...] = ()


def rate_or_concurrency(fields: Fields) -> BenchmarkLoad:
    """The load from ``request_rate`` and ``max_concurrency`` of vLLM and SGLang.

    An infinite rate sends as fast as it may: a closed loop with a cap on concurrency, everything at once without.
    """
    concurrency = fields.number("max_concurrency") or None
    cell = fields.values.get("request_rate")
    if cell in ("inf", "Infinity") or (isinstance(cell, float) and cell == math.inf):
        return BenchmarkLoad(mode="fixed_concurrency" if concurrency else "offline", concurrency=concurrency)
    if cell == "trace":
        return BenchmarkLoad(mode="fixed_rate", concurrency=concurrency, notes=(TRACE_NOTE,))
    if cell is None:
        return BenchmarkLoad(mode="fixed_concurrency" if concurrency else None, concurrency=concurrency)
    rate = number("request_rate", cell, cells=fields.cells)
    if rate == 0:
        raise BadRow("request_rate is 0")
    notes = (capped_note(concurrency),) if concurrency else ()
    return BenchmarkLoad(mode="fixed_rate", concurrency=concurrency, rate_rps=rate, notes=notes)


def goodput_note(goodput: float | None) -> tuple[str, ...]:
    """What share of the load was within the limits that the tool was given."""
    return () if goodput is None else (f"{goodput:.4g} requests/s were within the limits that the tool was given",)


def drafts_note(accepted: float | None) -> tuple[str, ...]:
    """Drafts of speculative decoding, by the tokens of a step."""
    if accepted is None or accepted <= 1:
        return ()
    return (f"speculative decoding accepted {accepted:g} tokens per step",)


def both_throughputs(total: float | None, sent: float | None, generated: float | None) -> float | None:
    """Input and output tokens/s together: as stated, or their sum."""
    return sent + generated if total is None and sent is not None and generated is not None else total


def capped_note(concurrency: float) -> str:
    """What a cap on concurrency does to an open loop."""
    return f"at most {concurrency:g} requests were in flight: the rate is held back while that many are"


def moment(value: object) -> datetime | None:
    """Unix seconds, an ISO date or vLLM's 20261120-234051, as UTC; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, tz=UTC)
        if not isinstance(value, str):
            return None
        if len(value) == 15 and value[8] == "-":
            return datetime.strptime(value, "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        parsed = datetime.fromisoformat(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


# Names that say which engine answered; "openai" and "chat" name only the protocol.
_ENGINES = {
    "sglang": "sglang",
    "vllm": "vllm",
    "tensorrt": "trtllm",
    "trt": "trtllm",
    "lmdeploy": "lmdeploy",
    "tgi": "tgi",
}


def engine_of(backend: str | None) -> str | None:
    """The engine behind a client's backend name, None where it names only a protocol."""
    lower = (backend or "").lower()
    return next((engine for mark, engine in _ENGINES.items() if lower.startswith(mark)), None)
