"""What the compiled simulator works on: record layouts, and one named tuple of arrays that holds the whole world.

Times are seconds, lengths tokens. Lengths are floats, so that means and continuous test distributions pass unrounded.
Waiting requests are a linked list through ``requests`` (``after``), so that memory follows the requests in the system.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NONE = -1
"""No row: the end of a linked list, no prefix group."""

WHOLE, PREFILL_ONLY = 0, 1
"""Roles of a replica: prefill and decode of a request, or its prefill before it is handed to a decode pool."""

ROUND_ROBIN, WEIGHTED, LEAST_REQUESTS, LEAST_TOKENS, PREFIX_AWARE, RANDOM = range(6)
"""How the front end picks a replica."""

TTFT, ITL, E2E, QUEUE = range(4)
"""Rows of the histograms."""

METRICS = 4
BATCHES = 24
"""Consecutive batches of requests, from whose scatter the Monte-Carlo error follows."""

SMALLEST_S, LARGEST_S, BIN_RATIO = 1e-5, 1e6, 1.005
"""Histogram of durations: below, above and relative width of a bin; resolution 0.5 %."""

BINS = int(np.ceil(np.log(LARGEST_S / SMALLEST_S) / np.log(BIN_RATIO))) + 2

REQUEST = np.dtype([
    ("id", np.int64), ("arrived", np.float64), ("started", np.float64), ("first", np.float64),
    ("prompt", np.float64), ("cached", np.float64), ("output", np.float64), ("group", np.int64),
    # Tokens emitted when it last joined the decoding batch; prompt tokens to process and processed in this pass.
    ("done", np.float64), ("target", np.float64), ("computed", np.float64),
    ("joined_step", np.int64), ("order", np.int64), ("preempted", np.int64), ("lag", np.float64),
    ("after", np.int64), ("replica", np.int64),
    # Of a decoding sequence: its place in the heap, and its neighbours in order of admission.
    ("place", np.int64), ("older", np.int64), ("newer", np.int64),
])

REPLICA = np.dtype([
    ("kind", np.int64), ("up", np.int64), ("now", np.float64), ("step", np.int64),
    # Decoding sequences (with the padding of a static batch), those of them still alive, their cached tokens; prompts
    # begun and not ended.
    ("running", np.int64), ("alive", np.int64), ("context", np.float64), ("kv", np.float64),
    ("partials", np.int64), ("head", np.int64), ("tail", np.int64), ("waiting", np.int64), ("order", np.int64),
    ("newest", np.int64), ("in_flight", np.int64), ("load_tokens", np.float64),
    # Of the requests just counted out, those that end at ``now``, which the front end may not know yet.
    ("ending", np.int64), ("ending_tokens", np.float64), ("weight", np.float64), ("credit", np.float64),
    ("hold", np.float64), ("back", np.float64), ("busy_s", np.float64), ("steps", np.int64),
    # Settings of its kind.
    ("max_sequences", np.int64), ("budget", np.float64), ("kv_tokens", np.float64), ("waste_tokens", np.float64),
    ("tokens_per_step", np.float64), ("rows_per_sequence", np.float64), ("prompt_step_s", np.float64),
    ("full_pair_s", np.float64), ("sliding_pair_s", np.float64), ("window", np.float64), ("pair_lag", np.float64),
    ("ranks", np.float64),
    ("static", np.int64), ("reserve", np.int64), ("queue_limit", np.int64), ("role", np.int64),
])

STATE = np.dtype([
    ("arrived", np.int64), ("finished", np.int64), ("handed", np.int64), ("rejected", np.int64), ("too_long", np.int64),
    ("preempted", np.int64), ("failed_over", np.int64),
    ("prefilled", np.float64), ("recomputed", np.float64), ("generated", np.float64), ("lost", np.float64),
    ("cached", np.float64), ("free", np.int64), ("turn", np.int64), ("records", np.int64),
    # What is measured, and how requests are routed.
    ("policy", np.int64), ("expected", np.float64), ("warm_up", np.int64), ("ttft_limit", np.float64),
    ("itl_limit", np.float64), ("e2e_limit", np.float64), ("bin_s", np.float64), ("prefix_life_s", np.float64),
    ("keep_records", np.int64),
])

RECORD = np.dtype([
    ("id", np.int64), ("arrived", np.float64), ("started", np.float64), ("first", np.float64),
    ("finished", np.float64), ("prompt", np.float64), ("cached", np.float64), ("output", np.float64),
    ("group", np.int64), ("preempted", np.int64), ("replica", np.int64),
])

SERIES = (
    "arrived", "finished", "rejected", "output_tokens", "first_tokens", "ttft_sum", "running_s", "waiting_s", "kv_s",
    "busy_s",
)
"""Columns of the series: counts per bin, and integrals over time of sequences, queue, KV share and busy replicas."""

(
    ARRIVED, FINISHED, REJECTED, OUTPUT_TOKENS, FIRST_TOKENS, TTFT_SUM, RUNNING_S, WAITING_S, KV_S, BUSY_S,
) = range(len(SERIES))  # fmt: skip


class World(NamedTuple):
    """Everything the compiled code reads and writes, for N replicas of some kinds.

    ``decode`` (kinds, S + 2, K): knots of the context, then step times by sequences 0..S; ``rows`` (kinds, 5, M): knots
    of rows, matrix times, pipeline lags, the part of matrix times that is a rank's own, and what the fullest rank
    carries of 0.. prompts; ``heap`` (N, 4, S + 1): decoding sequences by the step in which they finish (key, row),
    scratch for prompts that end in the running step, and prompts begun and not ended, in order of admission, at most
    one per rank; ``seen`` (N, groups): when a replica last served a prefix; ``histogram`` (batches, metrics, bins);
    ``sums`` (batches, 2 + 2 x metrics); ``series`` (bins + 1, columns).
    It goes by value from function to function: two arrays more made the simulation take four times as long.
    """

    requests: NDArray[Any]
    replicas: NDArray[Any]
    state: NDArray[Any]
    decode: NDArray[np.float64]
    rows: NDArray[np.float64]
    heap: NDArray[np.int64]
    seen: NDArray[np.float64]
    histogram: NDArray[np.uint32]
    sums: NDArray[np.float64]
    series: NDArray[np.float64]
    records: NDArray[Any]
