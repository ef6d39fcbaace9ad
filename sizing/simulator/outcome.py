"""What a simulation has counted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Counts, Floats
from sizing.simulator.layout import BINS, SERIES
from sizing.simulator.window import Tally


@dataclass(frozen=True, kw_only=True, eq=False)
class BinCounts:
    """How often a latency fell into each bin of :data:`layout.UPPER_S`, in each batch of requests.

    ``counts`` (batches, bins) begin at the bin ``first`` and end with the last in which anything was counted: that is a
    small part of all bins.
    """

    first: int
    counts: NDArray[np.unsignedinteger[Any]]

    def every_bin(self) -> Counts:
        """Requests of all batches in each bin of the histogram, (bins,)."""
        bins = np.zeros(BINS, dtype=np.int64)
        bins[self.first : self.first + self.counts.shape[1]] = self.counts.sum(axis=0, dtype=np.uint32)
        return bins


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulationCounts:
    """What a simulation has counted.

    ``histogram`` of each latency in the order of its place (:data:`layout.TTFT`, ...), ``sums`` (batches, columns of
    sums), ``series`` (bins, columns of :data:`layout.SERIES`); counters over all pools. ``waiting`` and ``in_system``
    are from the end of the arrivals, before the rest was served; ``peak_waiting`` is the longest queue between two
    chunks. ``events``: the work it took; ``exhausted``: that was all that was allowed, and the counts are of a part of
    the requests. ``in_window`` counts the requests of the window that was asked for.
    """

    histogram: tuple[BinCounts, ...]
    sums: Floats
    series: Floats
    bin_s: float
    horizon_s: float
    replicas: int
    arrived: int
    finished: int
    rejected: int
    too_long: int
    preempted: int
    failed_over: int
    unfinished: int
    events: int
    exhausted: bool
    waiting: int
    in_system: int
    peak_waiting: int
    prefilled_tokens: float
    recomputed_tokens: float
    generated_tokens: float
    overwhelmed: bool
    stopped_at: float | None
    records: NDArray[Any]
    in_window: Tally | None = None

    def column(self, name: str) -> Floats:
        """One column of the series, per bin."""
        return np.asarray(self.series[:, SERIES.index(name)])
