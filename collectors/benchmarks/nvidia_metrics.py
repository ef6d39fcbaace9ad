"""What GenAI-Perf and its successor AIPerf have in common: metrics as blocks of statistics with their unit.

``{"time_to_first_token": {"unit": "ms", "avg": 68.7, "p50": 50.2, ...}}`` in JSON, a line per metric in CSV. The unit
is read from the block, never assumed.
"""

import re
from collections.abc import Mapping

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, quotient
from collectors.benchmarks.records import BenchmarkRun, LatencyStats
from collectors.benchmarks.rows import goodput_note
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.foreign_text import shown
from commandline.percentiles import key_of, stated_by

IN_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3}
"""Milliseconds in each unit of time that an export writes."""

TOKEN_COUNT_TOLERANCE = 0.01
"""Client and server counts that differ by less are the same."""

DURATION_TOLERANCE = 0.01
"""Start-up and shut-down of the client that a rate may hold without a note."""

COMMON_NOTES = (
    "“Inter token latency” is (E2E - TTFT) / (OSL - 1) per request: it is read as TPOT. “Inter chunk latency” is the "
    "ITL of the other tools.",
    "Warm-up requests, if any were asked for, are left out by the tool.",
)

_METRIC = re.compile(r"(?P<name>.+?)(?: \((?P<unit>[^()]*)\))?")
_SPECIAL_NAMES = {
    "effective_latency_co_aware": "effective_latency",
    "num_output_token": "output_sequence_length",
    "num_input_token": "input_sequence_length",
}
"""Names of tables that stand otherwise in JSON; the last two are those of GenAI-Perf until the summer of 2024."""


def point_of(file: str, row: int, tool: str, blocks: Fields) -> BenchmarkRun:
    """The measured side of a point; load, model and version are the caller's."""
    client, server = _average(blocks, "output_sequence_length"), _average(blocks, "usage_completion_tokens")
    osl = server or client
    isl = _average(blocks, "usage_prompt_tokens") or _average(blocks, "input_sequence_length")
    rate = _average(blocks, "request_throughput")
    completed = _count(blocks, "request_count")
    output = _average(blocks, "output_token_throughput")
    total = _average(blocks, "total_token_throughput")
    if total is None and output is not None and rate and isl:
        total = output + rate * isl
    tpot = _latency(blocks, "inter_token_latency")
    duration = _average(blocks, "benchmark_duration", seconds=True)
    notes = _duration_note(duration, completed, rate) + goodput_note(_average(blocks, "goodput", "request_goodput"))
    if client and server and abs(client / server - 1) > TOKEN_COUNT_TOLERANCE:
        share = server / client
        output = None if output is None else output * share
        total = None if total is None or rate is None else total - rate * (client - server)
        tpot = _recounted(blocks, tpot, client, server)
        notes = (_recount_note(client, server), *notes)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=tool,
        concurrency_mean=_average(blocks, "effective_concurrency"),
        isl_mean=isl,
        osl_mean=osl,
        duration_s=duration or quotient(completed, rate),
        requests_completed=completed,
        requests_failed=_count(blocks, "error_request_count"),
        ttft_ms=_latency(blocks, "time_to_first_token"),
        tpot_ms=tpot,
        itl_ms=_latency(blocks, "inter_chunk_latency"),
        e2e_ms=_latency(blocks, "request_latency"),
        requests_per_s=rate,
        output_tokens_per_s=output,
        total_tokens_per_s=total,
        notes=notes,
    )


def blocks_of(document: Document) -> dict[str, object]:
    """The blocks of a CSV export: a section with a column per statistic, then one with a value per metric."""
    blocks: dict[str, object] = {}
    header: list[str] = []
    for _, cells in document.table:
        if cells[0] == "Metric":
            header = [name.lower() for name in cells[1:]]
        elif cells[0] == "Endpoint" or len(header) == 0:
            header = []
        elif cells[0]:
            names = header if header != ["value"] else ["avg"]
            key, block = named_block(cells[0], dict(zip(names, cells[1:], strict=False)))
            blocks.setdefault(key, block)
    return blocks


def named_block(label: str, statistics: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The key and block of a metric that a table calls "Request Latency (ms)"; cells that say nothing are left out."""
    match = _METRIC.fullmatch(label)
    name, unit = (match["name"], match["unit"] or "") if match else (label, "")
    return _slug(name), {key: cell for key, cell in statistics.items() if cell not in ("", "N/A")} | {"unit": unit}


def _slug(name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return _SPECIAL_NAMES.get(slug, slug)


def _average(blocks: Fields, *names: str, seconds: bool = False) -> float | None:
    block = blocks.child(*names)
    if not block.has("avg"):
        return None
    return block.number("avg", scale=_to_ms(block) / MS_PER_S if seconds else 1.0)


def _count(blocks: Fields, name: str) -> int | None:
    return blocks.child(name).whole("avg")


def _latency(blocks: Fields, name: str) -> LatencyStats:
    block = blocks.child(name)
    if not any(block.has(key) for key in ("avg", *map(key_of, stated_by("benchmark")))):
        return LatencyStats()
    scale = _to_ms(block)
    mean = block.number("avg", scale=scale)
    return latency_stats(name, mean=mean, at=lambda percent: block.number(key_of(percent), scale=scale))


def _to_ms(block: Fields) -> float:
    unit = block.text("unit") or ""
    if unit not in IN_MS:
        raise BadRow(f"{block.path}unit is not a unit of time: “{shown(unit, 20)}”")
    return IN_MS[unit]


def _recounted(blocks: Fields, tpot: LatencyStats, client: float, server: float) -> LatencyStats:
    """TPOT on the server's tokens: exactly from the time of decoding where all answers are equally long, else scaled.

    TPOT = (E2E - TTFT) / (OSL_server - 1), or TPOT_client x (OSL_client - 1) / (OSL_server - 1).
    """
    if server <= 1 or client <= 1:
        return LatencyStats()
    decoding = _latency(blocks, "decode_duration")
    if decoding.stated and blocks.child("usage_completion_tokens").number("std") == 0:
        return _scaled(decoding, 1 / (server - 1))
    return _scaled(tpot, (client - 1) / (server - 1))


def _scaled(stats: LatencyStats, factor: float) -> LatencyStats:
    mean = None if stats.mean is None else stats.mean * factor
    return LatencyStats(mean=mean, percentiles={name: value * factor for name, value in stats.percentiles.items()})


def _duration_note(duration: float | None, completed: int | None, rate: float | None) -> tuple[str, ...]:
    """Rates over another time than the one stated."""
    counted = quotient(completed, rate)
    if not (duration and counted) or abs(counted / duration - 1) <= DURATION_TOLERANCE:
        return ()
    return (f"rates are over {counted:.4g} s, first to last request took {duration:.4g} s",)


def _recount_note(client: float, server: float) -> str:
    return (
        f"the client counted {client:.4g} output tokens per request by reading the text again, the server generated "
        f"{server:.4g}: TPOT and tokens/s are converted to the server's count"
    )
