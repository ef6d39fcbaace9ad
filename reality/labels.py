"""What the rows of a comparison are called: in a table with where they are measured, in a sentence shortly."""

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

SINGLE = {
    "output_tokens_per_s_per_gpu": ("Output tokens/s per GPU", "Output tokens/s per GPU"),
    "running": ("Running sequences, mean, all replicas", "Running sequences"),
    "kv_usage": ("KV use, mean, fullest replica", "KV use"),
    "kv_capacity_tokens": ("KV cache, one engine process", "KV cache"),
    "replicas": ("Replicas", "Replicas"),
    "gpus": ("GPUs", "GPUs"),
}
"""What has one row."""

NAMES_ITS_UNIT = frozenset({"output_tokens_per_s_per_gpu", "replicas", "gpus"})
"""Keys of the rows whose label says in what they are counted."""

LABELS = {
    f"{key}.{statistic}": f"{label}, {statistic}" for key, (label, _) in LATENCIES.items() for statistic in STATISTICS
}
LABELS |= {key: label for key, (label, _) in SINGLE.items()}
"""The label of every row by its key."""

SHORT = {
    f"{key}.{statistic}": f"{statistic} {short}" for key, (_, short) in LATENCIES.items() for statistic in STATISTICS
}
SHORT |= {key: short for key, (_, short) in SINGLE.items()}
"""What a row is called in a sentence: "p95 TTFT"."""

FRACTION, SHARE_OF_PROMPT = "fraction", "share of prompt tokens"
RATIOS = (FRACTION, SHARE_OF_PROMPT)
"""Units of values from 0 to 1, which are shown in percent."""
