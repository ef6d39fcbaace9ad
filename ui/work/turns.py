"""Whose turn it is: sessions one after the other, and of each one thing at a time."""

from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)

PASSED_OVER = 2
"""Times that a session is passed over for one that the same worker worked for last. Chosen: it costs a plan's time."""
MOST_REMEMBERED = 1000
"""Sessions of which it is known who worked for them last."""


class Turns(Generic[Item]):
    """What waits, by session. A session that asks for much waits for itself: the others have their turns in between.

    A worker rather takes those for whom it worked last: much of what it needs for them it has at hand. Not safe to use
    from several threads without a lock.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, list[Item]] = OrderedDict()
        self._busy: set[Hashable] = set()
        self._last: OrderedDict[Hashable, Hashable] = OrderedDict()
        self._passed_over: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        """How many things wait."""
        return len(self.waiting)

    @property
    def waiting(self) -> set[Item]:
        """What waits, of all who ask."""
        return {item for items in self._waiting.values() for item in items}

    def join(self, session: Hashable, item: Item) -> None:
        """A session waits for something; what several sessions wait for is taken at the first turn of any."""
        items = self._waiting.setdefault(session, [])
        if item not in items:
            items.append(item)

    def leave(self, item: Item) -> None:
        """Nobody waits for this any more."""
        for session, items in list(self._waiting.items()):
            if item in items:
                items.remove(item)
            if not items:
                del self._waiting[session]
                del self._passed_over[session]

    def take(self, worker: Hashable = None) -> tuple[Hashable, Item] | None:
        """What is next for a worker, with the session whose turn it takes until :meth:`done`; None where nothing may
        begin."""
        free = [session for session in self._waiting if session not in self._busy]
        if not free:
            return None
        session = next((one for one in free if self._last.get(one, worker) == worker), free[0])
        if session != free[0]:
            if self._passed_over[free[0]] < PASSED_OVER:
                self._passed_over[free[0]] += 1
            else:
                session = free[0]
        item = self._waiting[session][0]
        self._begin(session, worker)
        self.leave(item)
        return session, item

    def _begin(self, session: Hashable, worker: Hashable) -> None:
        self._busy.add(session)
        self._waiting.move_to_end(session)
        del self._passed_over[session]
        self._last[session] = worker
        self._last.move_to_end(session)
        while len(self._last) > MOST_REMEMBERED:
            self._last.popitem(last=False)

    def done(self, session: Hashable) -> None:
        """What a session had its turn for has ended."""
        self._busy.discard(session)

    def place(self, item: Item) -> int:
        """How many are to be taken until this one is: 1 for the next; 0 for what does not wait."""
        sessions = [session for session, items in self._waiting.items() if item in items]
        return min((self._place_of(session, item) for session in sessions), default=0)

    def _place_of(self, session: Hashable, item: Item) -> int:
        """The place of a thing: among the first of each session, then of their second, and so on."""
        sessions = list(self._waiting)
        position, turn = sessions.index(session), self._waiting[session].index(item)
        before = sum(min(len(self._waiting[other]), turn + 1) for other in sessions[:position])
        behind = sum(min(len(self._waiting[other]), turn) for other in sessions[position + 1 :])
        return before + behind + turn + 1
