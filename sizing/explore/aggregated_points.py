"""Instances that do both prefill and decode at every load of their grid."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sizing.base.arrays import Rows
from sizing.base.choices import Serving
from sizing.explore.operating_point import (
    Ends,
    Loads,
    OperatingPoint,
    Performance,
    SystemShare,
    loads,
    operating_point,
    share_of_systems,
)
from sizing.explore.points import Points
from sizing.planning.spread import ENDS, factors, intervals_at, with_slower_steps
from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated, considers_aggregated
from sizing.search.screen import Evaluated


@dataclass(frozen=True, kw_only=True, eq=False)
class AggregatedPoints(Points[Aggregated]):
    """Every candidate of ``evaluated`` at every load: ``figures`` are (C, K)."""

    serving: ClassVar[Serving] = "aggregated"

    @classmethod
    def considered(cls, question: Question, evaluated: Evaluated, share: SystemShare) -> Self:
        """All points of all candidates; none where the scenario leaves such instances out."""
        if not considers_aggregated(question):
            nothing = np.empty(0, dtype=np.intp)
            evaluated, share = evaluated.take(nothing), share.take(nothing)
        return cls(question=question, evaluated=evaluated, share=share, figures=loads(question, evaluated, share))

    @staticmethod
    def planned(planned: Aggregated) -> OperatingPoint:
        """An instance of a plan at its share of the peak."""
        question, evaluated, rps = planned.question, planned.evaluated, float(planned.rps[0])
        figures = loads(question, evaluated, share_of_systems(question, evaluated.candidates))
        position = planned.position
        there = {name: position.of(getattr(figures, name))[:, None] for name in vars(figures) if name != "feasible"}
        # The rate is known exactly, and may be smaller than any of the grid: what is in proportion to it follows it.
        share = rps / there["rps"]
        there["usd_per_million_output_tokens_at_full_load"] /= share
        for name in ("rps", "output_tokens_per_s_per_gpu", "output_tokens_per_s_per_kw"):
            there[name] = there[name] * share
        at_plan = Loads(feasible=np.ones((1, 1), dtype=np.bool_), **there)
        return operating_point(evaluated.candidates.rows[0], at_plan, (0, 0))

    @property
    def rows(self) -> Rows:
        """The candidate of each point, (C x K,)."""
        return np.repeat(np.arange(len(self.evaluated)), self.figures.rps.shape[1])

    def point(self, i: int, *, best: bool = False, ends: Ends | None = None) -> OperatingPoint:
        """The operating point at the flat position ``i`` of the figures (one row of loads for each candidate)."""
        place = divmod(i, self.figures.rps.shape[1])
        return operating_point(self.evaluated.candidates.rows[place[0]], self.figures, place, best=best, ends=ends)

    def at_ends(self, index: Rows) -> Iterator[list[Performance]]:
        """The candidates of these points once more, at every load."""
        row, k = np.divmod(index, self.figures.rps.shape[1])
        used, place = np.unique(row, return_inverse=True)
        question, share = self.question, self.share.take(used)
        intervals = [intervals_at(question, what, self.evaluated, used) for what in ("decode", "prefill")]
        for end in ENDS:
            decode, prefill = (factors(each, end) for each in intervals)
            slower = with_slower_steps(question, self.evaluated, used, decode, prefill)
            there = loads(question, slower, share)
            yield [there.performance(*at) for at in zip(place.tolist(), k.tolist(), strict=True)]
