"""A Dask cluster behind the ``concurrent.futures`` interface, when ``requirements-scale.txt`` is installed."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from sizing.base.errors import SizingError

CONNECT_S = 10
"""Seconds within which a scheduler has to answer."""
RETRIES = 3
"""Times Dask runs a task again whose worker died: as often as local processes do (:data:`sweep.MAX_ATTEMPTS`)."""


@contextmanager
def dask_executors(address: str) -> Iterator[Callable[[], Executor]]:
    """Executors on the Dask scheduler at ``address`` (tcp://host:port), connected while the context is open.

    Raises SizingError when Dask is not installed or the scheduler does not answer.
    """
    try:
        from distributed import Client
    except ImportError:
        raise SizingError("A scheduler address needs Dask: pip install -r requirements-scale.txt.") from None
    try:
        client: Any = Client(address, timeout=CONNECT_S)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError):
        raise SizingError(
            f"No Dask scheduler answers at {address}: check the address, such as tcp://host:8786."
        ) from None
    try:
        yield lambda: client.get_executor(retries=RETRIES, pure=False)
    finally:
        client.close()
