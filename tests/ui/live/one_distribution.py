"""A distribution as a server's histogram shows it."""

import numpy as np

from collectors.prometheus.histograms import HistogramQuantiles
from tests.reality.truths import in_buckets


def evenly(low: float, high: float) -> HistogramQuantiles:
    """A thousand values spread evenly over a range."""
    return in_buckets(np.linspace(low, high, 1_000), np.ones(1_000), np.linspace(low, high, 9).tolist())
