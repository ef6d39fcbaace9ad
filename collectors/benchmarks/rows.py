"""Turning the rows of a document into points: each row on its own, so that a bad one never loses the good ones."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields
from collectors.benchmarks.records import BenchmarkPoint, Imported, RowError
from collectors.errors import BadRow

MAX_ERRORS = 200
"""Errors reported one by one; the rest is counted."""

SUSTAINED_SHARE = 0.85
"""Below this share of the rate the queue grew; above, the rest is the tail of a short run."""

ReadRow = Callable[[str, int, Fields], BenchmarkPoint]
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
    points: list[BenchmarkPoint] = []
    failed = list(errors)
    for row, value in rows:
        try:
            if not isinstance(value, dict):
                raise BadRow("not a JSON object")
            points.append(checked(read(file, row, Fields(values=value, cells=cells))))
        except BadRow as error:
            failed.append(RowError(file=file, row=row, message=str(error)))
    return Imported(points=tuple(points), errors=tuple(_few(file, failed)), format=format_name, notes=notes)


def read_objects(document: Document, format_name: str, read: ReadRow, *, notes: tuple[str, ...] = ()) -> Imported:
    """``read_rows`` on the objects of a JSON, JSON Lines or YAML document."""
    return read_rows(document.name, format_name, document.rows, read, notes=notes, errors=document.errors)


def checked(point: BenchmarkPoint) -> BenchmarkPoint:
    """The point, if it measured anything, with a note when the server could not keep up. Raises BadRow."""
    if point.requests_completed == 0:
        raise BadRow("no request was completed")
    latencies = (point.ttft_ms, point.tpot_ms, point.itl_ms, point.e2e_ms)
    rates = (point.requests_per_s, point.output_tokens_per_s, point.total_tokens_per_s)
    if not any(latency.stated for latency in latencies) and not any(rates):
        raise BadRow("neither a latency nor a throughput is stated")
    asked, served = point.request_rate_rps, point.requests_per_s
    if point.mode == "fixed_rate" and asked and served and served < SUSTAINED_SHARE * asked:
        note = f"{served:.3g} of {asked:.3g} requests/s were served: overloaded, latencies grow as long as it runs"
        return replace(point, notes=(*point.notes, note))
    return point


def _few(file: str, errors: list[RowError]) -> list[RowError]:
    """At most MAX_ERRORS of them in the order of the file, and one that counts the rest."""
    errors = sorted(errors, key=lambda error: error.row or 0)
    if len(errors) <= MAX_ERRORS:
        return errors
    rest = RowError(file=file, row=None, message=f"{len(errors) - MAX_ERRORS:,} more rows cannot be used")
    return [*errors[:MAX_ERRORS], rest]
