"""What deployments of both kinds have in common: instances that do both, and pools of prefill and decode instances.

Ranking, simulation and planning know this interface only; :mod:`sizing.search.aggregated` and
:mod:`sizing.search.disaggregated` are its two implementations.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Set
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np

from sizing.base.arrays import SHARED, Columns, Counts, Floats, Rows
from sizing.base.choices import Objective, Serving
from sizing.base.format import count
from sizing.prices.hardware import HardwareOption
from sizing.question.configuration import Configuration, instance_text
from sizing.question.understand import Question
from sizing.search.ranking import Keys
from sizing.search.screen import Evaluated

WORTH_A_STEP = 0.98
"""Share of the best E2E latency so far that more GPUs must come below. Chosen: because a gain of less than 2 % is not
worth a point on the slider."""


@dataclass(frozen=True, kw_only=True)
class Deployments(Columns, ABC):
    """Deployments of one kind, with as many instances as each needs; columns (N,), spares counted.

    ``usd_per_hour`` is by list prices, of all systems together, ``expected_usd_per_hour`` that of those with which the
    limits hold if steps take as long as expected, where deployments are ranked by it; both and ``power_kw`` are NaN
    where unknown. Latencies
    are at the asked percentile and the peak. ``options`` are of :class:`sizing.prices.hardware.HardwareOption`.
    """

    question: Question
    evaluated: Evaluated = field(metadata=SHARED)
    """The candidates that the deployments are made of."""
    ttft_s: Floats
    itl_s: Floats
    e2e_s: Floats
    gpus: Counts
    options: np.ndarray[tuple[int], np.dtype[np.object_]]
    systems: Counts
    gpus_bought: Counts
    usd_per_hour: Floats
    expected_usd_per_hour: Floats
    power_kw: Floats
    factor: Floats
    """Factors by which what is counted is multiplied to rank it (:mod:`sizing.search.preferences`)."""

    serving: ClassVar[Serving]
    splits: ClassVar[bool] = False
    """Whether prefill and decode run apart."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """For each deployment the candidate whose instances generate the answers, (N,)."""

    @property
    @abstractmethod
    def max_rps(self) -> Floats:
        """Requests/s that each carries within the limits, spares aside, (N,)."""

    @abstractmethod
    def as_expected(self, chosen: Rows) -> Self:
        """The deployments ``chosen`` with steps as long as expected, whatever caution they were sized with: what is
        stated of them. Instances, systems and cost stay."""

    @abstractmethod
    def stages_and_ranks(self) -> Floats:
        """Pipeline stages x attention-DP ranks, multiplied over the kinds of instances, (N,)."""

    @abstractmethod
    def configurations(self, k: int) -> tuple[Configuration, ...]:
        """The kinds of instances of deployment ``k``: one that does both, or prefill and decode."""

    @abstractmethod
    def working(self, k: int) -> tuple[int, ...]:
        """Instances of each of :meth:`configurations`, spares aside."""

    @abstractmethod
    def label(self, k: int) -> str:
        """GPU, engine, precision and parallelism of deployment ``k``."""

    def in_words(self, k: int) -> str:
        """Instances that work, and on what: "3 instances of 2 GPUs (TP2) each on H100 SXM, vLLM, FP8"; prefill and
        decode instances where they run apart."""
        rows = self.configurations(k)
        kinds = ("",) if len(rows) == 1 else ("prefill ", "decode ")
        instances = (
            f"{count(number)} {kind}instance{'s' if number != 1 else ''} of {instance_text(row.gpus, row)}"
            f"{' each' if number != 1 else ''}"
            for number, kind, row in zip(self.working(k), kinds, rows, strict=True)
        )
        return f"{' and '.join(instances)} on {rows[-1].gpu.name}, {rows[-1].engine.label}, {rows[-1].precision.label}"

    @abstractmethod
    def traits(self, k: int) -> Set[object]:
        """What tells deployment ``k`` from others on its GPU type, for the choice of alternatives."""

    @abstractmethod
    def trade_off(self, k: int) -> Deployments:
        """Deployments like ``k``, from the fewest GPUs to the shortest latency: none beats another on both."""

    @property
    def objective(self) -> Objective:
        """What the question ranks by."""
        return self.question.scenario.deployment.objective

    @abstractmethod
    def spares(self, k: int) -> tuple[int, ...]:
        """Instances of each of :meth:`configurations` beyond those that the peak takes."""

    @property
    def latency_s(self) -> Floats:
        """The latency that is ranked by where the lowest is asked for, (N,), at the asked percentile: ITL where the
        limits name ITL alone, TTFT where they name TTFT alone, else E2E, which holds both.
        """
        return {"ttft": self.ttft_s, "itl": self.itl_s, "e2e": self.e2e_s}[named_alone(self.question)]

    @property
    def dominated(self) -> Floats:
        """1 where by latency another answers sooner on a fraction of the GPUs, (N,)."""
        return np.zeros(len(self))

    def option(self, k: int) -> HardwareOption:
        """What deployment ``k`` runs in."""
        option: HardwareOption = self.options[k]
        return option

    def gpu(self, k: int) -> str:
        """Catalogue id of the GPU of deployment ``k``."""
        return self.evaluated.candidates.rows[int(self.rows[k])].gpu.id

    def gpu_types(self) -> frozenset[str]:
        """Catalogue ids of the GPUs that serve."""
        candidates = self.evaluated.candidates.rows
        return frozenset(candidates[int(i)].gpu.id for i in np.unique(self.rows))

    def gpus_of_kinds(self, k: int) -> tuple[tuple[int, int], ...]:
        """(Instances, GPUs of one) of each kind of instance of deployment ``k``, spares counted."""
        kinds = zip(self.working(k), self.spares(k), self.configurations(k), strict=True)
        return tuple((instances + spares, row.gpus) for instances, spares, row in kinds)

    def keys(self, among: Rows | slice = slice(None)) -> Keys:
        """What the deployments, or those at some positions, are ranked by."""
        candidates, rows, published = self.evaluated.candidates, self.rows[among], self.question.model.published_format
        return Keys(
            cost=np.nan_to_num(self.usd_per_hour[among], nan=np.inf),
            expected_cost=np.nan_to_num(self.expected_usd_per_hour[among], nan=np.inf),
            power=np.nan_to_num(self.power_kw[among], nan=np.inf),
            gpus=self.gpus[among].astype(np.float64),
            bought=self.gpus_bought[among].astype(np.float64),
            e2e_s=self.e2e_s[among],
            latency_s=self.latency_s[among],
            factor=self.factor[among],
            off_format=np.abs(candidates.column(lambda r: r.precision.bytes, rows) - published.bytes),
            uses_surrogate=candidates.column(lambda r: r.engine.surrogate != r.engine.id, rows),
            pp_dp=self.stages_and_ranks()[among],
            split=np.full(len(rows), float(self.splits)),
            dominated=self.dominated[among],
        )

    def order(self) -> Rows:
        """Positions, best first by the objective of the question."""
        return self.keys().order(self.objective)

    def near(self, most: float) -> Rows:
        """Positions that count ``most`` at most, best first: what a search begins with, without sorting the others."""
        place = np.flatnonzero(self.counted() <= most)
        return place[self.keys(place).order(self.objective)]

    def first(self, among: Rows | None = None) -> int:
        """The position that comes first in :meth:`order`, or the first of those in ``among`` (growing): no sorting,
        which would take longer than all else that a step of the search does, and no more keys than it takes."""
        place = np.arange(len(self)) if among is None else among
        if self.objective != "latency":  # where what is dominated comes last, however soon it answers
            counted = self.counted()[place]
            place = place[counted == counted.min()]
        return int(place[self.keys(place).first(self.objective)])

    def counted(self) -> Floats:
        """What the objective ranks by first, (N,), preferences included; infinite where it is not known."""
        columns: dict[Objective, Floats | Counts] = {
            "cost": self.usd_per_hour,
            "expected_cost": self.expected_usd_per_hour,
            "gpus": self.gpus_bought,
            "latency": self.latency_s,
            "energy": self.power_kw,
        }
        column = np.asarray(columns[self.objective], dtype=np.float64)
        return np.asarray(np.nan_to_num(column, nan=np.inf) * self.factor)

    def worth_a_step(self) -> Rows:
        """Positions that no other beats on GPUs and E2E latency, by growing GPUs."""
        best = np.inf
        kept = []
        for k in np.lexsort((self.e2e_s, self.gpus)):
            if self.e2e_s[k] < best * WORTH_A_STEP:
                kept.append(k)
                best = self.e2e_s[k]
        return np.array(kept, dtype=np.intp)


def named_alone(question: Question) -> Literal["ttft", "itl", "e2e"]:
    """The latency that the limits name, if it is one; E2E, which holds both others, where they name none or several,
    or an answer has no gaps between tokens."""
    limits, several = question.limits, question.traffic.output_tokens > 1.0
    named = [math.isfinite(limit) for limit in (limits.ttft_s, limits.itl_s, limits.e2e_s)]
    if named == [True, False, False]:
        return "ttft"
    return "itl" if named == [False, True, False] and several else "e2e"


def comes_before(one: Deployments, other: Deployments) -> bool:
    """Whether the single deployment of ``one`` ranks before that of ``other``; of equals the other stays first."""
    both = other.keys().followed_by(one.keys())
    return int(both.order(one.objective)[0]) == 1
