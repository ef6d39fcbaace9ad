"""What the compiled simulator works on: record layouts, and one named tuple of arrays that holds the whole world.

Times are seconds, lengths tokens. Lengths are floats, so that means and continuous test distributions pass unrounded.
Waiting requests are a linked list through ``requests`` (``after``), so that memory follows the requests in the system.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NONE = -1
"""No row: the end of a linked list, no prefix group."""

WHOLE, PREFILL_ONLY = 0, 1
"""Roles of a replica: prefill and decode of a request, or its prefill before it is handed to a decode pool."""

ROUND_ROBIN, WEIGHTED, LEAST_LOADED, PREFIX_AWARE, RANDOM = range(5)
"""How the front end picks a replica."""

CHUNK_FIELDS = ("time", "arrived", "prompt", "output", "cached", "group", "started", "first", "id")
(TIME_ROW, ARRIVED_ROW, PROMPT_ROW, OUTPUT_ROW, CACHED_ROW, GROUP_ROW, STARTED_ROW, FIRST_ROW, ID_ROW) = range(
    len(CHUNK_FIELDS)
)
"""Rows of a chunk of requests: when each reaches this pool and when it arrived, its lengths and prefix group, and what
has happened to it elsewhere; -1 where nothing has."""

TTFT, ITL, E2E, QUEUE = range(4)
"""Places of the latencies among the histograms of a pool."""
METRICS = 4
"""How many latencies have a histogram."""

COUNTED, GOOD, FIRST_SUM, FIRST_COUNT = 0, 1, 2, 2 + METRICS
"""Columns of the sums of a batch: requests, those within every limit, then sum and number of each latency."""
SUM_COLUMNS = 2 + 2 * METRICS
"""Columns of the sums of a batch: two of requests, two of each latency."""
LOWEST_BIN, HIGHEST_BIN, TALLY_COLUMNS = SUM_COLUMNS, SUM_COLUMNS + METRICS, SUM_COLUMNS + 2 * METRICS
"""Columns behind the sums, and how many there are with them: of each latency the first and the last bin of its
histogram in which anything was counted, so that nobody has to look for them in 2 MB of zeros."""

FINISH_STEP, SEQUENCE, SCRATCH, BEGUN = range(4)
"""Rows of a replica's heap: the step in which a sequence finishes and its row, rows of prompts that end in the running
step, rows of prompts begun and not ended."""

BATCHES = 24
"""Consecutive batches of requests, from whose scatter the Monte-Carlo error follows. Chosen: because so
many tell the scatter to about 15 %, and are still long enough for one to depend little on the one before."""

SMALLEST_S, LARGEST_S, BIN_RATIO = 1e-5, 1e6, 1.005
"""Histogram of durations: below, above and relative width of a bin. Chosen: because 0.5 % is far below what the step
times are known to, and 5,000 bins of four latencies in 24 batches take 2 MB."""

BINS = int(np.ceil(np.log(LARGEST_S / SMALLEST_S) / np.log(BIN_RATIO))) + 2
"""Bins of the histogram, with one below and one above its range."""

UPPER_S = SMALLEST_S * BIN_RATIO ** np.arange(BINS)
"""Where each bin of the histogram ends, in seconds; but the last, which has no end."""


def _counts(names: str) -> list[tuple[str, type[np.int64]]]:
    """Fields of a record that hold whole numbers, rows of other records or switches."""
    return [(name, np.int64) for name in names.split()]


def _reals(names: str) -> list[tuple[str, type[np.float64]]]:
    """Fields of a record that hold seconds, tokens or shares."""
    return [(name, np.float64) for name in names.split()]


REQUEST = np.dtype(
    [
        *_counts("id"),
        *_reals("arrived started first prompt cached output"),
        *_counts("group"),
        # Tokens emitted when it last joined the decoding batch; prompt tokens to process and processed in this pass.
        *_reals("done target computed"),
        *_counts("joined_step order preempted"),
        *_reals("lag"),
        *_counts("after replica"),
        # Of a decoding sequence: its place in the heap, and its neighbours in order of admission.
        *_counts("place older newer"),
    ]
)

REPLICA = np.dtype(
    [
        *_counts("kind up"),
        *_reals("now"),
        *_counts("step"),
        # Decoding sequences (with the padding of a static batch), those of them still alive, their cached tokens, what
        # all that were admitted occupy, and what they will when they end; prompts begun and not ended.
        *_counts("running alive"),
        *_reals("context kv whole"),
        *_counts("partials head tail waiting order newest in_flight"),
        # Of the requests just counted out, those that end at ``now``, which the front end may not know yet.
        *_counts("ending"),
        *_reals("weight credit hold back busy_s"),
        *_counts("steps"),
        # What follows are settings of its kind, the same for every replica of that kind.
        *_counts("max_sequences"),
        *_reals("budget kv_tokens waste_tokens tokens_per_step rows_per_sequence first_token_steps"),
        *_reals("launch_s full_pair_s promised_new promised_running promised_most"),
        *_reals("sliding_pair_s window token_s pair_lag ranks"),
        *_counts("static reserve apart queue_limit role"),
    ]
)

STATE = np.dtype(
    [
        *_counts("arrived finished handed rejected too_long preempted failed_over"),
        # Work done, counted in events (see ``Measurement``), and where it ends.
        *_counts("events most_events"),
        *_reals("prefilled recomputed generated lost cached"),
        # Rows of requests: the first of those given back, and the first that was never used.
        *_counts("free fresh"),
        *_counts("turn records"),
        # What is measured, and how requests are routed.
        *_counts("policy"),
        *_reals("expected"),
        *_counts("warm_up"),
        *_reals("ttft_limit itl_limit e2e_limit bin_s prefix_life_s request_s prompt_token_s"),
        # Whether to stand still when a request has ended, as whoever sent it is waiting for that.
        *_counts("keep_records pausing"),
    ]
)

RECORD = np.dtype(
    [
        *_counts("id"),
        *_reals("arrived started first finished prompt cached output"),
        *_counts("group preempted replica"),
    ]
)

SERIES = (
    "arrived",
    "finished",
    "rejected",
    "output_tokens",
    "first_tokens",
    "ttft_sum",
    "running_s",
    "waiting_s",
    "kv_s",
    "busy_s",
)
"""Columns of the series: counts per bin, and integrals over time of sequences, queue, KV share and busy replicas."""

(ARRIVED, FINISHED, REJECTED, OUTPUT_TOKENS, FIRST_TOKENS, TTFT_SUM, RUNNING_S, WAITING_S, KV_S, BUSY_S) = range(
    len(SERIES)
)


class World(NamedTuple):
    """Everything the compiled code reads and writes, for N replicas of some kinds.

    ``decode`` (kinds, S + 2, K): knots of the context, then step times by sequences 0..S; ``rows`` (kinds, 5, M): knots
    of rows, matrix times, pipeline lags, the part of matrix times that is a rank's own, and what the fullest rank
    carries of 0.. prompts; ``heap`` (N, 4, S + 1): rows as above, prompts begun in order of admission and at most one
    per rank; ``seen`` (N, groups): when a replica last served a prefix; ``histogram`` (batches, metrics, bins);
    ``sums`` (batches, :data:`TALLY_COLUMNS`); ``series`` (bins + 1, columns).
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
