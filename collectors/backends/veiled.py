"""A source that somebody typed, and of which they are not told more than they knew until it has answered once.

Otherwise whoever may type addresses could look through the network of this server: which names there are, behind which
ports something listens, and what it says.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from collectors.backends.backend import Backend, Ranges, Vectors
from collectors.errors import InvalidAddress, SourceError, Unreachable, UnusableCredential
from collectors.queries.query import Query

LEAST_S = 3.0
"""How long a refusal takes at least: a closed port refuses at once, a silent one after the time-out of a connection."""

A = TypeVar("A", Vectors, Ranges)


def veiled(where: str, error: SourceError) -> SourceError:
    """What to say in place of an error; those that no server was asked for stay."""
    if isinstance(error, InvalidAddress | UnusableCredential):
        return error
    return Unreachable(
        f"{where} gives no answer that can be used: check the address, its path and the credentials. Whether anything "
        "listens there is not told."
    )


class Veil:
    """Has a refusal say and take the same, whatever the reason, until there was an answer."""

    def __init__(
        self, *, monotonic: Callable[[], float] = time.monotonic, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._monotonic, self._wait = monotonic, wait
        self._lifted: set[str] = set()

    def lift(self, where: str) -> None:
        """It has answered: from now on what is wrong with it is said."""
        self._lifted.add(where)

    def over(self, where: str, error: SourceError, begun_s: float) -> SourceError:
        """What to raise in place of an error of something that was asked at ``begun_s``; waits."""
        if where in self._lifted or isinstance(error, InvalidAddress | UnusableCredential):
            return error
        self._wait(max(0.0, begun_s + LEAST_S - self._monotonic()))
        return veiled(where, error)

    def now(self) -> float:
        """The time of the veil's clock in seconds: when a question begins."""
        return self._monotonic()


class VeiledBackend:
    """A backend behind a veil. See collectors.backends.backend.Backend."""

    def __init__(self, inner: Backend, veil: Veil) -> None:
        self._inner, self._veil = inner, veil
        self.where, self.dedicated = inner.where, inner.dedicated

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        """The answers of the backend behind the veil at a moment."""
        return self._answered(lambda: self._inner.vectors(queries, at_s=at_s))

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """The answers of the backend behind the veil over a time."""
        return self._answered(lambda: self._inner.ranges(queries, start_s=start_s, end_s=end_s, step_s=step_s))

    def _answered(self, question: Callable[[], A]) -> A:
        begun_s = self._veil.now()
        try:
            answer = question()
        except SourceError as error:
            raise self._veil.over(self.where, error, begun_s) from None
        if answer.problems:  # what else than a Prometheus refuses every query with words of its own
            rejected = Unreachable(next(iter(answer.problems.values())))
            if (refusal := self._veil.over(self.where, rejected, begun_s)) is not rejected:
                raise refusal
        self._veil.lift(self.where)
        return answer
