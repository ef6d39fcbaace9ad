"""Coroutines of a test, beside whatever else runs in its thread."""

from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


def awaited(question: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a coroutine returns, from a thread of its own: a browser of other tests keeps a loop running in this one."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(anyio.run, question).result()
