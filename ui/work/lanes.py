"""Two queues for the same workers: plans, which somebody looks at a page for, and long questions behind them."""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

from ui.work.turns import Turns

Item = TypeVar("Item", bound=Hashable)

PLANS_BEFORE = 20
"""Plans that are taken at most while a long question could have begun. Chosen: they take a few seconds together, and a
long question, once begun, keeps its worker for as long as it needs."""


class TakenTurn(NamedTuple, Generic[Item]):
    """What a worker has taken, and the session whose turn it is until :meth:`Lanes.done`."""

    session: Hashable
    item: Item
    long: bool


class Lanes(Generic[Item]):
    """What waits, plans and long questions apart: a session has a plan computed while its long question is under way.

    Each lane is in fair turns by session. Not safe to use from several threads without a lock.
    """

    def __init__(self) -> None:
        self.plans: Turns[Item] = Turns()
        self.long: Turns[Item] = Turns()
        self._long_under_way = 0
        self._plans_before = 0

    def join(self, session: Hashable, item: Item, *, long: bool) -> None:
        """A session waits for something, as :meth:`Turns.join`."""
        (self.long if long else self.plans).join(session, item)

    def leave(self, item: Item) -> None:
        """Nobody waits for this any more."""
        self.plans.leave(item)
        self.long.leave(item)

    def place(self, item: Item) -> int:
        """How many of its lane are to be taken until this one is: 1 for the next; 0 for what does not wait."""
        return self.plans.place(item) or self.long.place(item)

    def take(self, worker: Hashable, *, most_long: int) -> TakenTurn[Item] | None:
        """What is next for a worker: a plan, or, where fewer than ``most_long`` long questions are under way, one of
        these if no plan may begin or enough went before; None where nothing may begin."""
        may_be_long = self._long_under_way < most_long and len(self.long) > 0
        if may_be_long and self._plans_before >= PLANS_BEFORE and (turn := self.take_long(worker, most=most_long)):
            return turn
        if (taken := self.plans.take(worker)) is not None:
            self._plans_before = self._plans_before + 1 if may_be_long else 0
            return TakenTurn(*taken, long=False)
        return self.take_long(worker, most=most_long)

    def take_long(self, worker: Hashable = None, *, most: int) -> TakenTurn[Item] | None:
        """The next long question, where fewer than ``most`` are under way."""
        taken = self.long.take(worker) if self._long_under_way < most else None
        if taken is None:
            return None
        self._long_under_way += 1
        self._plans_before = 0
        return TakenTurn(*taken, long=True)

    def done(self, turn: TakenTurn[Item]) -> None:
        """What was taken has ended."""
        (self.long if turn.long else self.plans).done(turn.session)
        self._long_under_way -= turn.long

    def emptied(self) -> list[Item]:
        """Everything that waits, which waits no longer."""
        items = [*self.plans.waiting, *self.long.waiting]
        for item in items:
            self.leave(item)
        return items
