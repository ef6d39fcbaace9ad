"""What operating points of both kinds of serving have in common, and all of them in one numbering.

A frontier knows this interface only; :mod:`sizing.explore.aggregated_points` and
:mod:`sizing.explore.disaggregated_points` are its two implementations.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats, Rows
from sizing.base.choices import Serving
from sizing.explore.operating_point import (
    MORE_IS_BETTER,
    Ends,
    Loads,
    OperatingPoint,
    Performance,
    SystemShare,
    XAxis,
    YAxis,
    ordered,
)
from sizing.question.understand import Question
from sizing.search.deployments import Deployments
from sizing.search.screen import Evaluated

Kind = TypeVar("Kind", bound=Deployments)

SMALLEST_GAIN = 0.01
"""Gain on an axis below which a point is not worth showing. Chosen: because 1 % cannot be seen in a chart, and step
times are known to a few per cent."""

SMALLEST_RANGE = 1e-300
"""Range of values at least, so that nothing is divided by 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Points(ABC, Generic[Kind]):
    """Deployments of one kind of serving at one load each: the entries of ``figures``, row by row, (N,).

    ``evaluated`` are the candidates that they are made of, ``share`` what an instance of each takes of full systems.
    """

    question: Question
    evaluated: Evaluated
    share: SystemShare
    figures: Loads

    serving: ClassVar[Serving]

    @classmethod
    @abstractmethod
    def considered(cls, question: Question, evaluated: Evaluated, share: SystemShare) -> Self | None:
        """The points worth a look; None where nothing can be served so."""

    @staticmethod
    @abstractmethod
    def planned(planned: Kind) -> OperatingPoint:
        """The only deployment of ``planned`` at the peak."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """The candidate of each point whose instances generate the answers, (N,)."""

    @abstractmethod
    def point(self, i: int, *, best: bool = False, ends: Ends | None = None) -> OperatingPoint:
        """Point ``i`` as a result."""

    @abstractmethod
    def at_ends(self, index: Rows) -> Iterator[list[Performance]]:
        """The points at ``index`` at the fast end of the interval of all step times, then at the slow end: at the same
        concurrency."""

    def __len__(self) -> int:
        return self.figures.rps.size

    def performance(self, i: int) -> Performance:
        """The central estimate of point ``i``."""
        return self.figures.performance(*divmod(i, self.figures.rps.shape[1]))


@dataclass(frozen=True, eq=False)
class AllPoints:
    """The points of every kind in one numbering: those of the first kind, then those of the next."""

    kinds: Sequence[Points[Any]]

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The first point of every kind."""
        return np.cumsum([0, *(len(kind) for kind in self.kinds)])

    def column(self, name: str) -> NDArray[Any]:
        """A figure of every point."""
        return np.concatenate([getattr(kind.figures, name).ravel() for kind in self.kinds])

    def good(self, axis: XAxis | YAxis) -> Floats:
        """An axis turned so that more is better."""
        values: Floats = self.column(axis)
        return values if axis in MORE_IS_BETTER else -values

    def groups(self, of_rows: NDArray[np.int64], apart: int) -> NDArray[np.int64]:
        """The group of every point from that of its candidate; those of the next kind are ``apart`` further on."""
        return np.concatenate([of_rows[kind.rows] + n * apart for n, kind in enumerate(self.kinds)])

    def point(self, i: int, *, best: bool = False, ends: Ends | None = None) -> OperatingPoint:
        """Point ``i`` as a result."""
        n = int(np.searchsorted(self._first, i, side="right")) - 1
        return self.kinds[n].point(i - int(self._first[n]), best=best, ends=ends)

    def ends(self, index: Rows) -> dict[int, Ends]:
        """The fast and the slow end of the points at ``index``."""
        ends: dict[int, Ends] = {}
        for kind, first in zip(self.kinds, self._first.tolist(), strict=False):
            own = index[(index >= first) & (index < first + len(kind))] - first
            if len(own):
                for i, fast, slow in zip(own.tolist(), *kind.at_ends(own), strict=True):
                    ends[i + first] = ordered(kind.performance(i), fast, slow)
        return ends


def pareto_front(good_x: Floats, good_y: Floats, group: NDArray[np.int64]) -> Rows:
    """Points (N,) that no other of their group beats on both axes (more is better), by group and falling ``good_x``.

    A point that gains less than 1 % upwards is left out; one that loses less than 1 % across takes the place of the
    last. Points that are not finite never count.
    """
    usable = np.flatnonzero(np.isfinite(good_x) & np.isfinite(good_y))
    order = usable[np.lexsort((-good_y[usable], -good_x[usable], group[usable]))]
    kept: list[int] = []
    last, best, last_x = -1, -np.inf, np.inf
    for i in order[_record(good_y[order], group[order])]:
        here = int(group[i])
        if here == last and good_y[i] - best <= SMALLEST_GAIN * abs(good_y[i]):
            continue
        if here == last and last_x - good_x[i] <= SMALLEST_GAIN * abs(last_x):
            kept[-1] = int(i)
        else:
            kept.append(int(i))
            last_x = good_x[i]
        last, best = here, good_y[i]
    return np.array(kept, dtype=np.intp)


def _record(values: Floats, group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values exceed all earlier ones of their group; groups are in growing order."""
    if not len(values):
        return np.zeros(0, dtype=np.bool_)
    low, high = values.min(), values.max()
    raised = group + (values - low) / max(high - low, SMALLEST_RANGE) / 2.0  # no value of a group reaches into the next
    before = np.concatenate([[-1.0], np.maximum.accumulate(raised)[:-1]])
    return np.asarray(raised > before)
