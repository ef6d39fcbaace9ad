"""What is asked of the plans of a process: what computes it, who waits, and how it can end without an answer."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sizing.base.errors import SizingError

T = TypeVar("T")

Tell = Callable[[int], object]
"""Told now and then at which place a question waits; 0 once it is being computed. What it raises ends the waiting."""
Wanted = Callable[[int, float], bool]
"""Told now and then the place of a long question, 0 once it is computed, and the share that is done; whether whoever
asked still wants it. What it raises ends the waiting."""


class NotPlanned(SizingError):
    """A plan that this server gave up."""


class Busy(SizingError):
    """A session has asked for as many plans as it may for now."""


class Cancelled(SizingError):
    """A long question that whoever asked waits for no longer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Computation(Generic[T]):
    """What is computed for all sessions: a function that processes import by its name, and how many of its answers are
    kept. ``what``: its answer is called so; ``advice``: what helps where it takes too long.

    ``long``: it may take minutes. Its function takes ``progress``, too, which it calls now and then with the share that
    is done, and which says whether it is to go on; what it answers after a no is not kept.
    """

    compute: Callable[..., T]
    kept: int
    what: str
    advice: str = "consider fewer GPUs, formats or ways to serve"
    long: bool = False


@dataclass(kw_only=True, eq=False)
class QueuedQuestion:
    """A question under way, what its function takes, and how many wait for its answer.

    Of a long one: how far it is, whether it is being stopped, and why where that is no wish of whoever asked.
    """

    of: Computation[Any]
    key: Hashable
    taken: tuple[object, ...]
    future: Future[Any] = field(default_factory=Future)
    waiting: int = 0
    share: float = 0.0
    stopping: bool = False
    ended: SizingError | None = None

    def heard(self, share: float) -> bool:
        """What a long one tells of itself; whether it is to go on."""
        self.share = share
        return not self.stopping and self.ended is None

    @property
    def id(self) -> tuple[Computation[Any], Hashable]:
        """What equal questions have in common."""
        return self.of, self.key
