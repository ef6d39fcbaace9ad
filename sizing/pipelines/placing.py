"""Stages on GPUs of their types: first fit by time and memory, and what is bought for them beside idle GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sizing.base.arrays import ROUNDING
from sizing.base.units import HOURS_PER_MONTH
from sizing.catalog.gpu import Gpu
from sizing.pipelines.batch_times import USABLE
from sizing.pipelines.loads import Load
from sizing.prices.hardware import HardwareOption, offers_of
from sizing.question.understand import Question


@dataclass
class Card:
    """One GPU: which stages have a copy on it, by their place, each with its share of the GPU."""

    alone: bool = False
    shares: dict[int, float] = field(default_factory=dict)
    memory_bytes: float = 0.0

    @property
    def share(self) -> float:
        """Share of the GPU that is taken."""
        return sum(self.shares.values())


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The GPUs of one type: ``idle`` of them stand idle anyway; the rest comes in ``systems`` of an ``option``."""

    gpu: Gpu
    cards: tuple[Card, ...]
    idle: int
    option: HardwareOption | None
    systems: int

    @property
    def usd_per_month(self) -> float | None:
        """What is bought or rented; None where no price is known."""
        if not self.systems:
            return 0.0
        if self.option is None or self.option.usd_per_hour is None:
            return None
        return self.systems * self.option.usd_per_hour * HOURS_PER_MONTH

    @property
    def power_kw(self) -> float | None:
        """Power budget of what is bought or rented; None where it is not known."""
        if not self.systems:
            return 0.0
        return None if self.option is None or self.option.power_kw is None else self.systems * self.option.power_kw


def first_fit(loads: Sequence[Load], places: Sequence[int]) -> tuple[Card, ...]:
    """Copies of the stages on as few GPUs as first fit finds, the largest share first.

    A stage of 2.3 GPUs is three copies of 0.77. One that is to be alone, and every measured record, whose memory nobody
    states, has GPUs of its own.
    """
    cards: list[Card] = []
    for load, place in sorted(zip(loads, places, strict=True), key=lambda one: -one[0].share / one[0].copies):
        alone = load.demand.stage.place == "own" or load.times is None
        each, room = load.share / load.copies, USABLE * load.gpu.program_bytes
        others = [] if alone else [card for card in cards if _takes(card, load, each, room)][: load.copies]
        own = [Card(alone=alone) for _ in range(load.copies - len(others))]
        for card in (*others, *own):
            card.shares[place] = each
            card.memory_bytes += load.memory_bytes
        cards += own
    return tuple(cards)


def _takes(card: Card, load: Load, share: float, room: float) -> bool:
    fits = card.memory_bytes + load.memory_bytes <= room and card.share + share <= 1.0 + ROUNDING
    return fits and not card.alone


def placed(question: Question, gpu: Gpu, cards: tuple[Card, ...], idle: int) -> Placement:
    """The GPUs of one type with the cheapest whole systems that hold those beside the ``idle`` ones."""
    used = min(idle, len(cards))
    bought = len(cards) - used
    if not bought:
        return Placement(gpu=gpu, cards=cards, idle=used, option=None, systems=0)
    offers = offers_of(question, gpu)
    systems = {offer.id: -(-bought // offer.gpus) for offer in offers}
    option = min(
        offers, key=lambda one: (one.usd_per_hour is None, systems[one.id] * (one.usd_per_hour or 0.0), systems[one.id])
    )
    return Placement(gpu=gpu, cards=cards, idle=used, option=option, systems=systems[option.id])
