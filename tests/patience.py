"""How long tests wait for something to come about."""

import time
from collections.abc import Callable

PATIENCE_S = 180.0
"""Chosen: far beyond what anything takes on a busy machine; only a failure waits for it."""
PATIENCE_MS = 1e3 * PATIENCE_S


def until(happened: Callable[[], bool]) -> None:
    """Wait for it."""
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)
