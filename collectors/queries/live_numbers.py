"""Every number of an observation of a deployment, one row each: where it is read from, and where it is shown."""

from dataclasses import dataclass
from typing import Literal

from collectors.queries.query import QuantityPart, Subject

ChartName = Literal["requests", "queue", "tokens", "shares"]
"""A chart of the Live page, whose lines have one unit."""


@dataclass(frozen=True, kw_only=True)
class LiveNumber:
    """One number; a ratio is 0 to 1. A row without ``concept`` is computed from others, or of the GPUs.

    ``concept`` and ``part``: the query that it is, by the concept of the vocabulary, which says how each engine
    spells it; one not ``in_vocabulary`` is an expression of several. ``missing_without``: the concept without whose
    data it is said to be missing. ``chart``: where it is a line over time, with the name ``label``. ``in_line``: how
    the line of ``watch`` writes it.
    """

    name: str
    unit: str
    concept: str = ""
    part: QuantityPart = QuantityPart.WHOLE
    in_vocabulary: bool = True
    missing_without: str = ""
    chart: ChartName | None = None
    label: str = ""
    in_line: str = ""


def _read(
    name: str,
    unit: str,
    concept: str,
    part: QuantityPart = QuantityPart.WHOLE,
    *,
    chart: ChartName | None = None,
    label: str = "",
) -> LiveNumber:
    """A number that is one query, and nobody says is missing."""
    return LiveNumber(name=name, unit=unit, concept=concept, part=part, chart=chart, label=label)


def _plain(name: str, unit: str) -> LiveNumber:
    """A number that is computed from others, or of the GPUs."""
    return LiveNumber(name=name, unit=unit)


LIVE_NUMBERS = (
    LiveNumber(
        name="arrivals_rps",
        unit="requests/s",
        missing_without="first_tokens",
        chart="requests",
        label="Arriving",
        in_line="arrivals {:.2f}/s",
    ),
    LiveNumber(
        name="finished_rps",
        unit="requests/s",
        concept="finished",
        missing_without="finished",
        chart="requests",
        label="Completed",
    ),
    _plain("aborted_rps", "requests/s"),
    _read("failed_rps", "requests/s", "failed"),
    _read("client_errors_rps", "requests/s", "client_errors"),
    LiveNumber(name="error_ratio", unit="ratio", missing_without="failed"),
    _plain("client_error_ratio", "ratio"),
    LiveNumber(
        name="prompt_tokens_per_s",
        unit="tokens/s",
        concept="prompt_tokens",
        missing_without="prompt_tokens",
        chart="tokens",
        label="Prompt, cache hits included",
    ),
    _read("computed_prompt_tokens_per_s", "tokens/s", "computed_prompt_tokens"),
    LiveNumber(
        name="generation_tokens_per_s",
        unit="tokens/s",
        concept="generation_tokens",
        missing_without="generation_tokens",
        chart="tokens",
        label="Output",
    ),
    LiveNumber(
        name="running",
        unit="requests",
        concept="running",
        missing_without="running",
        chart="queue",
        label="Running",
        in_line="running {:.0f}",
    ),
    _read("running_max", "requests", "running", QuantityPart.MAX),
    LiveNumber(
        name="waiting",
        unit="requests",
        concept="waiting",
        missing_without="waiting",
        chart="queue",
        label="Waiting",
        in_line="waiting {:.0f}",
    ),
    _read("waiting_max", "requests", "waiting", QuantityPart.MAX, chart="queue", label="Waiting, most"),
    _read("waiting_growth_per_s", "requests/s", "waiting", QuantityPart.GROWTH),
    LiveNumber(
        name="kv_usage",
        unit="ratio",
        concept="kv_usage",
        missing_without="kv_usage",
        chart="shares",
        label="KV cache, fullest replica, mean",
        in_line="KV {:percent}",
    ),
    _read("kv_usage_max", "ratio", "kv_usage", QuantityPart.MAX, chart="shares", label="KV cache, peak"),
    _read("kv_host_usage", "ratio", "kv_host_usage"),
    LiveNumber(name="kv_capacity_tokens", unit="tokens", missing_without="kv_capacity_tokens"),
    _plain("max_concurrency", "requests"),
    LiveNumber(
        name="prefix_hit_ratio",
        unit="ratio",
        concept="prefix_hit",
        missing_without="prefix_hit",
        chart="shares",
        label="Prefix cache hits",
    ),
    LiveNumber(name="preemptions_per_s", unit="events/s", concept="preemptions", missing_without="preemptions"),
    LiveNumber(name="saturated_ratio", unit="ratio", concept="saturated", in_vocabulary=False),
    _plain("replicas", "replicas"),
    _plain("replicas_lost", "replicas"),
    _plain("gpus", "GPUs"),
    _plain("gpu_busy", "ratio"),
    _plain("gpu_sm_active", "ratio"),
    _plain("gpu_tensor_active", "ratio"),
    _plain("gpu_dram_active", "ratio"),
    _plain("gpu_memory_used_gb", "GB"),
    _plain("gpu_memory_total_gb", "GB"),
    _plain("power_w", "W"),
    _plain("power_cap_w", "W"),
    _plain("gpu_temperature_max_c", "°C"),
    _plain("gpu_clock_min_mhz", "MHz"),
    _plain("gpus_with_xid", "GPUs"),
    _plain("gpus_throttled", "GPUs"),
    _plain("ecc_uncorrected", "errors"),
    _plain("tokens_per_joule", "tokens/J"),
)
"""Every number of an observation, in the order of its JSON."""

NUMBERS = {row.name: row.unit for row in LIVE_NUMBERS}
"""Every number of an observation with its unit. A ratio is 0 to 1."""

DIRECT = {row.name: Subject(row.concept, row.part) for row in LIVE_NUMBERS if row.concept}
"""Numbers that are one query each, by their name in an observation."""

MISSING_WITHOUT = {row.missing_without: row.name for row in LIVE_NUMBERS if row.missing_without}
"""The number that is missing where a concept has no data."""

OF_AN_ENGINE = {
    row.concept: row.unit
    for row in LIVE_NUMBERS
    if row.concept and row.part is QuantityPart.WHOLE and row.in_vocabulary
}
"""Concepts of engines that are a number of an observation as they are, with their unit."""

OVER_TIME = tuple(dict.fromkeys(row.concept for row in LIVE_NUMBERS if row.chart and row.concept))
"""Concepts that have a line over time."""


def lines_of(chart: ChartName) -> dict[str, str]:
    """The numbers that a chart draws, with what their lines are called."""
    return {row.name: row.label for row in LIVE_NUMBERS if row.chart == chart}
