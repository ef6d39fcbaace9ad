"""What the rows of a comparison are called: in a table with where they are measured, in a sentence shortly."""

from dataclasses import dataclass

from commandline.percentiles import key_of, stated_by

QUANTILES = {key_of(percent): percent for percent in stated_by("live")}
"""The quantiles that are compared, by their name, in percent."""

STATISTICS = ("mean", *QUANTILES)

LATENCIES = {
    "ttft_ms": ("TTFT at the server", "TTFT"),
    "tpot_ms": ("TPOT", "TPOT"),
    "itl_ms": ("ITL of single gaps", "ITL of single gaps"),
    "e2e_ms": ("E2E at the server", "E2E"),
    "queue_ms": ("Queue time", "queue time"),
}
"""Latencies with a row per statistic."""

FRACTION, SHARE_OF_PROMPT = "fraction", "share of prompt tokens"
RATIOS = (FRACTION, SHARE_OF_PROMPT)
"""Units of values from 0 to 1, which are shown in percent."""


@dataclass(frozen=True, kw_only=True)
class RowKind:
    """What a row compares: its key and unit, the quantity of the observation behind it, the concept that is queried.

    ``label`` is its name in a table, ``short`` in a sentence where that is another, with ``names_its_unit`` for one
    that says in what is counted. ``by_request``: requests add to it, so that it scatters as they do.
    """

    key: str
    unit: str
    measured_as: str
    concept: str = ""
    label: str = ""
    short: str = ""
    names_its_unit: bool = False
    by_request: bool = False


SINGLE = {
    row.key: row
    for row in (
        RowKind(
            key="output_tokens_per_s_per_gpu",
            unit="tokens/s",
            measured_as="generation_tokens_per_s",
            concept="generation_tokens",
            label="Output tokens/s per GPU",
            names_its_unit=True,
            by_request=True,
        ),
        RowKind(
            key="running",
            unit="requests",
            measured_as="running",
            concept="running",
            label="Running sequences, mean, all replicas",
            short="Running sequences",
            by_request=True,
        ),
        RowKind(
            key="kv_usage",
            unit=FRACTION,
            measured_as="kv_usage",
            concept="kv_usage",
            label="KV use, mean, fullest replica",
            short="KV use",
            by_request=True,
        ),
        RowKind(
            key="kv_capacity_tokens",
            unit="tokens",
            measured_as="kv_capacity_tokens",
            concept="kv_capacity_tokens",
            label="KV cache, one engine process",
            short="KV cache",
        ),
        RowKind(
            key="replicas",
            unit="replicas",
            measured_as="replicas",
            concept="running",
            label="Replicas",
            names_its_unit=True,
        ),
        RowKind(key="gpus", unit="GPUs", measured_as="gpus", label="GPUs", names_its_unit=True),
    )
}
"""The quantities that have one row in a comparison, by key; latencies have one for each statistic."""

NAMES_ITS_UNIT = frozenset(key for key, row in SINGLE.items() if row.names_its_unit)
"""Keys of the rows whose label says in what they are counted."""

LABELS = {
    f"{key}.{statistic}": f"{label}, {statistic}" for key, (label, _) in LATENCIES.items() for statistic in STATISTICS
}
LABELS |= {key: row.label for key, row in SINGLE.items()}
"""The label of every row by its key."""

SHORT = {
    f"{key}.{statistic}": f"{statistic} {short}" for key, (_, short) in LATENCIES.items() for statistic in STATISTICS
}
SHORT |= {key: row.short or row.label for key, row in SINGLE.items()}
"""What a row is called in a sentence: "p95 TTFT"."""
