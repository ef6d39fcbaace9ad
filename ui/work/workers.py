"""Processes that compute beside the one that serves pages: each with one question at a time, replaced when it ends.

A process shares two numbers with the one it works for: how far a long question has come, and whether it is to stop.
"""

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

Heard = Callable[[float], bool]
"""Told now and then the share that is done of a long question; whether it is to go on."""

LOOK_S = 0.2
"""Between two looks of whoever waits. Chosen: a page that is no longer wanted ends within it."""

_SHARE, _STOP = 0, 1
"""Places of the numbers that both processes see: the share done, written by the worker; 1.0: it is to stop."""
_SHARED: list[Any] = []
"""The numbers that a worker shares with the pages' process; empty in any other process."""

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""What a container may use of the processors: microseconds in a period, or "max". Source: kernel.org, cgroup-v2."""


class WorkerEnded(RuntimeError):
    """The process ended before it had answered."""


class TookTooLong(RuntimeError):
    """The process was ended, because it took longer than it might."""


def cores() -> int:
    """Cores that this process may use, by its affinity and by the quota of its container."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        most, period = map(int, _QUOTA.read_text().split())
        usable = min(usable, max(most // period, 1))
    return usable


class Worker:
    """One process, started at the first question or by :meth:`start`. For one thread.

    It is started fresh (spawn), so that it is the same on every system and holds nothing of this one. An executor of
    its own for each: one that ends takes no other's question with it.
    """

    def __init__(self, prepare: Callable[[], object]) -> None:
        """``prepare`` is what a process does before its first question: a function of a module."""
        self._prepare = prepare
        self._executor: ProcessPoolExecutor | None = None
        self._shared: Any = None
        self.pid: int | None = None

    def start(self) -> None:
        """Start the process, unless it runs, and wait until it is prepared. Raises WorkerEnded."""
        if self._executor is not None:
            return
        spawn = multiprocessing.get_context("spawn")
        self._shared = spawn.RawArray("d", 2)  # new ones: a process that is being killed may still write into its own
        self._executor = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin, initargs=(self._shared,))
        try:
            self.pid = self._executor.submit(os.getpid).result()
            self._executor.submit(_prepared, self._prepare).result()
        except BrokenProcessPool:
            self.end()
            raise WorkerEnded from None

    def run(self, question: Callable[..., T], *taken: object, limit_s: float, heard: Heard | None = None) -> T:
        """The answer of the process, or the exception that the question raised there.

        With ``heard`` it is a long question: one that takes ``progress``, through which it is told of and stopped.
        Raises WorkerEnded, and TookTooLong after ``limit_s`` seconds; the next question has a new process then.
        """
        self.start()
        assert self._executor is not None
        self._shared[:] = (0.0, 0.0)
        try:
            call: tuple[Any, ...] = (question, *taken) if heard is None else (_telling, question, *taken)
            future: Future[T] = self._executor.submit(*call)
            try:
                return future.result(limit_s) if heard is None else self._watched(future, limit_s, heard)
            except TimeoutError:
                if future.done():  # it was raised by the question
                    raise
                self.end()
                raise TookTooLong from None
        except BrokenProcessPool:
            self.end()
            raise WorkerEnded from None

    def _watched(self, future: Future[T], limit_s: float, heard: Heard) -> T:
        """The result of a long question. Raises TimeoutError after ``limit_s`` seconds."""
        end_s = time.monotonic() + limit_s
        while not wait([future], timeout=LOOK_S).done:
            if time.monotonic() >= end_s:
                raise TimeoutError
            self._shared[_STOP] = float(not heard(self._shared[_SHARE]))
        return future.result()

    def end(self) -> None:
        """End the process at once, whatever it does."""
        executor, pid = self._executor, self.pid
        self._executor = self.pid = None
        if pid is not None:
            with suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def _begin(shared: Any) -> None:
    """In the process: Ctrl-C is for the one that serves pages, with which this one ends."""
    _SHARED.append(shared)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # there are as many processes as cores
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _telling(question: Callable[..., T], *taken: object) -> T:
    """In the process: the answer to a long question, which tells how far it is."""
    return question(*taken, progress=_told)


def _told(share: float) -> bool:
    (shared,) = _SHARED
    shared[_SHARE] = share
    return not shared[_STOP]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)


def _prepared(prepare: Callable[[], object]) -> None:
    """Load without looking for garbage among what stays, as ``python -m ui`` does."""
    gc.disable()
    prepare()
    gc.collect()
    gc.freeze()
    gc.enable()
