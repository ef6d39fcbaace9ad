"""Answers shared by all viewers: each question is asked once per refresh, and the last good answer is kept.

A page never waits for a source longer than it says: what is not there yet is asked on in the background.
"""

import logging
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from collectors.errors import SourceError
from ui.observed.figures import SOURCE_ERRORS, SOURCE_S

WORKERS = 8
"""Questions under way at once, over all sources: they wait for the network, not for a core."""
MOST_QUESTIONS = 512
"""Answers kept; the one that was asked for longest ago goes first."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class LatestAnswer(Generic[T]):
    """What is known now: the newest try, the last one that was good with its moment, and why the newest is not."""

    newest: T | None = None
    good: T | None = None
    good_at_s: float | None = None
    problem: str = ""
    pending: bool = False

    @property
    def late(self) -> bool:
        """Whether ``good`` is not the answer to the newest question."""
        return self.good is not None and bool(self.problem)


@dataclass(kw_only=True, eq=False)
class _Entry:
    """One question: what it was answered, for which refresh it was asked last, and the try that is under way."""

    answer: LatestAnswer[Any] = field(default_factory=LatestAnswer)
    slot: Hashable = None
    retry: Hashable = None
    asked_s: float = 0.0
    future: Future[Any] | None = None


def always_good(answer: object) -> str:
    """For questions whose every answer is good."""
    return ""


class Latest:
    """The answers of one process. Safe to use from several threads."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="live")
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def ask(
        self,
        key: Hashable,
        question: Callable[[], T],
        *,
        slot: Hashable,
        wait_s: float,
        retry: Hashable = None,
        why_bad: Callable[[T], str] = always_good,
    ) -> LatestAnswer[T]:
        """The answer to ``key`` for the refresh ``slot``; nobody waits for longer than ``wait_s`` since it was asked.

        Only the first caller of a slot asks; while a try is under way nobody starts another. A try that failed is
        made again when ``retry`` changes. ``why_bad`` says why an answer is not good, "" when it is. A question may
        raise SourceError.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > MOST_QUESTIONS:
                self._entries.popitem(last=False)
            settled = entry.slot == slot and (not entry.answer.problem or entry.retry == retry)
            if entry.future is None and not settled:
                entry.slot, entry.retry, entry.asked_s = slot, retry, time.monotonic()
                entry.future = self._pool.submit(self._run, entry, question, why_bad)
            future, left = entry.future, entry.asked_s + wait_s - time.monotonic()
        if future is not None and left > 0:
            wait([future], timeout=left)
        return self.peek(key)

    def peek(self, key: Hashable) -> LatestAnswer[Any]:
        """What is known, without asking."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return LatestAnswer()
            return entry.answer if entry.future is None else replace(entry.answer, pending=True)

    @property
    def busy(self) -> bool:
        """Whether any question is under way."""
        with self._lock:
            return any(entry.future is not None for entry in self._entries.values())

    def wait_for_all(self, timeout_s: float) -> None:
        """Wait until what is under way now is answered, at most ``timeout_s``."""
        with self._lock:
            under_way = [entry.future for entry in self._entries.values() if entry.future is not None]
        wait(under_way, timeout=timeout_s)

    def _run(self, entry: _Entry, question: Callable[[], T], why_bad: Callable[[T], str]) -> None:
        before = entry.answer
        kept = LatestAnswer[T](good=before.good, good_at_s=before.good_at_s)
        try:
            with SOURCE_S.time():
                newest = question()
            problem = why_bad(newest)
            good = LatestAnswer(newest=newest, good=newest, good_at_s=self._clock())
            answer = replace(kept, newest=newest, problem=problem) if problem else good
        except SourceError as error:
            SOURCE_ERRORS.labels(type(error).__name__).inc()
            answer = replace(kept, problem=str(error))
        except sqlite3.Error as error:
            answer = replace(kept, problem=f"The ring of scrapes cannot be used ({error}): free its disk.")
        except Exception as error:  # noqa: BLE001 (a bug: the page stays, the log tells)
            if threading.main_thread().is_alive():  # at the end of the process no thread starts any more: no bug
                _log.exception("Reading a source failed")
            fault = type(error).__name__
            answer = replace(kept, problem=f"Reading failed unexpectedly ({fault}): see the log of the dashboard.")
        with self._lock:
            entry.answer, entry.future = answer, None
