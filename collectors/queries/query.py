"""One expression with the facts about it that a backend and a reader need: nothing is read from its text.

A :class:`Subject` is what is asked about; answers are kept by it. A :class:`Query` is how.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from collectors.queries.ttl import EVERY_MOMENT, Ttl


class Group(Enum):
    """Whose quantity a query reads: of the source, an engine, a replica or GPUs."""

    SOURCE = "source"
    ENGINE = "engine"
    REPLICA = "replica"
    GPU = "gpu"
    """All GPUs of a deployment together."""
    DEVICE = "device"
    """Each GPU of a deployment by itself."""
    GPU_PLACES = "gpu_places"
    GPU_COUNT = "gpu_devices"


_PREFIX = {
    Group.REPLICA: "replica.",
    Group.GPU: "gpu/",
    Group.GPU_PLACES: "gpu_places.",
    Group.GPU_COUNT: "gpu_devices.",
}
_NAMED_AS_A_WHOLE = (Group.REPLICA, Group.GPU_PLACES, Group.GPU_COUNT)


class QuantityPart(StrEnum):
    """Which part of a quantity: the extremes and growth of a gauge, the pieces of a histogram."""

    WHOLE = ""
    MAX = "_max"
    MIN = "_min"
    GROWTH = "_growth"
    CHANGE = "_change"
    """What the quantity is more at the end of the window than at its begin, per second of it."""
    BUCKETS = ".buckets"
    SUM = ".sum"
    COUNT = ".count"
    ZEROS = ".zeros"
    """Observations of 0 that are no measurement: vLLM records a TPOT of 0 for an answer of one token."""
    MEAN = ".mean"


OF_GAUGE = (QuantityPart.WHOLE, QuantityPart.MAX, QuantityPart.MIN, QuantityPart.GROWTH, QuantityPart.CHANGE)


class Subject(NamedTuple):
    """What is asked about; ``candidate`` is the place of one in a vocabulary of which all are asked for."""

    quantity: str
    part: QuantityPart = QuantityPart.WHOLE
    group: Group = Group.ENGINE
    candidate: int | None = None

    @property
    def label(self) -> str:
        """The text that marks its samples in a joined query; no two subjects of one reading have the same."""
        candidate = "" if self.candidate is None else f".{self.candidate}"
        return f"{_PREFIX.get(self.group, '')}{self.quantity}{self.part}{candidate}"

    @property
    def name(self) -> str:
        """What it is called in sentences."""
        if self.group in _NAMED_AS_A_WHOLE:
            return self.group.value
        part = self.part if self.part in OF_GAUGE else ""
        return f"{_PREFIX.get(self.group, '')}{self.quantity}{part}"


PLAIN, GROUPED, OVER_GPUS, SPREAD = 1, 3, 5, 6
"""How much work an expression is, relative to a sum over one counter: one grouped by labels answers many samples; of
GPUs there are several times as many as replicas; buckets and single GPUs are many series."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """An expression in PromQL and what is known about it.

    ``unit`` is that of the quantity; ``weight`` how much work the expression is (see above); ``matchers_at`` the place
    in the expression where matchers for some of its buckets may be put in, None where all buckets are needed.
    """

    expression: str
    subject: Subject
    unit: str = ""
    weight: int = PLAIN
    ttl: Ttl = EVERY_MOMENT
    matchers_at: int | None = None

    @property
    def prunable(self) -> bool:
        """Whether some of its buckets may be asked for instead of all."""
        return self.matchers_at is not None

    def with_matchers(self, matchers: str) -> str:
        """The expression with more matchers on its buckets. Raises ValueError where none may be put in."""
        if self.matchers_at is None:
            raise ValueError(f"the buckets of {self.subject.label} are needed whole")
        return f"{self.expression[: self.matchers_at]}{matchers},{self.expression[self.matchers_at :]}"


LIVE = Subject("live", group=Group.SOURCE)
"""The replicas with data now, one sample each."""


def of_source(quantity: str, expression: str, *, unit: str = "", weight: int = PLAIN, ttl: Ttl = EVERY_MOMENT) -> Query:
    """A query about the source itself: its clock, names, targets, replicas."""
    subject = Subject(quantity, group=Group.SOURCE)
    return Query(expression=expression, subject=subject, unit=unit, weight=weight, ttl=ttl)


def by_subject(queries: Iterable[Query]) -> dict[Subject, Query]:
    """Queries by what they ask about; of two about the same, the later."""
    return {query.subject: query for query in queries}
