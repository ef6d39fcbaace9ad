"""A line on a terminal that says what is done while it takes seconds, and is gone afterwards."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WIDTH = 60
"""Characters that are wiped: as long as any line."""


@contextmanager
def progress_line() -> Iterator[Callable[[float, str], None]]:
    """Gives what is to be told the share that is done, and of what. Nothing is written where nobody looks: to a file
    or a pipe."""
    shown = sys.stderr.isatty()

    def told(share: float, what: str) -> None:
        if shown:
            print(f"\r{f'{what}: {round(100 * share)} %':{WIDTH}}", end="", file=sys.stderr, flush=True)

    try:
        yield told
    finally:
        if shown:
            print(f"\r{'':{WIDTH}}\r", end="", file=sys.stderr, flush=True)
