"""Waiting for many servers at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], items: Sequence[T], *, at_once: int, name: str) -> list[R]:
    """``work`` of every item in order, so many at once, in threads of this name. Raises what the first to fail raised.

    Not a ThreadPoolExecutor, because a process that is stopped with Ctrl-C waits for its threads, each until its server
    answers or the time is out. The end of a process does not wait for daemon threads.
    """
    results: list[Future[R]] = [Future() for _ in items]
    waiting: SimpleQueue[tuple[Future[R], T]] = SimpleQueue()
    for pair in zip(results, items, strict=True):
        waiting.put(pair)

    def serve() -> None:
        while True:
            try:
                result, item = waiting.get_nowait()
            except Empty:
                return
            try:
                result.set_result(work(item))
            except BaseException as error:  # noqa: BLE001 - raised again where the result is read
                result.set_exception(error)

    for number in range(min(at_once, len(items))):
        Thread(target=serve, name=f"{name}_{number}", daemon=True).start()
    wait(results)
    return [result.result() for result in results]
