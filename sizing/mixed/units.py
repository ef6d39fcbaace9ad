"""What may be bought or rented for ranges of requests: whole systems with instances of one configuration.

The capacity of an instance for one range is what the analytic load model gives it within the limits with requests of
that range alone, as for any question. Requests of several ranges on one instance take their shares of its time.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats, Rows
from sizing.deployments.candidates import Candidates
from sizing.prices.hardware import HardwareOption
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.preferences import SPANS, of_instances
from sizing.search.screen import all_configurations, all_offers, evaluate, reserve_of

KEPT = 3
"""Configurations of each GPU type that are kept for the shortest and for the longest prompts, by price for a large load
and by price of the whole systems that their range takes. Chosen: what is best in between is nearly always among
them."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """The least that is bought or rented of one kind: a system with some instances of a configuration, or several that
    hold one.

    ``usd_per_hour`` is that of all its systems; ``factor`` what an expert adds to it in comparing
    (:mod:`sizing.search.preferences`). ``needed``: units that the load of each range takes, infinite where no instance
    holds the limits; ``spare``: units that stand by whatever the load.
    """

    configuration: Configuration
    option: HardwareOption
    usd_per_hour: float
    factor: float
    needed: tuple[float, ...]
    spare: float = 0.0

    @property
    def gpu(self) -> str:
        """Catalogue id of its GPU."""
        return self.configuration.gpu.id

    @property
    def counted(self) -> float:
        """What one counts in comparing: its price with what an expert adds."""
        return self.usd_per_hour * self.factor

    @property
    def serves(self) -> bool:
        """Whether it holds the limits for any range."""
        return any(math.isfinite(one) for one in self.needed)


def units_of(questions: Sequence[Question]) -> list[Unit]:
    """Every unit with a price that may be part of the cheapest mix for ``questions``, one for each range, the shortest
    prompts first; all of one scenario."""
    table = all_configurations(questions[0])
    offers = [[one for one in each if one.usd_per_hour is not None] for each in all_offers(questions[0]).by_gpu]
    if not len(table) or not any(offers):
        return []

    few = table.take(np.unique([k for one in (questions[0], questions[-1]) for k in _promising(one, table, offers)]))
    known = {id(one): _carried(one, few) for one in {id(one): one for one in questions}.values()}
    each = [known[id(one)] for one in questions]
    place, rps = few.place_of_gpu(questions[0].gpus), np.array([carried for carried, _ in each])
    factor = np.max([counted for _, counted in each], axis=0)
    made = (
        _unit(questions, row, one, rps[:, k], float(factor[k]))
        for k, row in enumerate(few.rows)
        for one in holding(offers[place[k]], row.gpus)
    )
    return [one for one in made if one.serves]


def _carried(question: Question, table: Candidates) -> tuple[Floats, Floats]:
    """Requests/s of one instance of each row within the limits, 0 where it does not fit, and its factor, (C,) each."""
    evaluated = evaluate(question, table)
    place = {id(row): k for k, row in enumerate(table.rows)}
    at = np.array([place[id(row)] for row in evaluated.candidates.rows], dtype=np.intp)
    rps, factor = np.zeros(len(table)), np.ones(len(table))
    rps[at] = evaluated.capacity.rps
    factor[at] = of_instances(question, evaluated, np.arange(len(at)))
    return rps, factor


def _promising(question: Question, table: Candidates, offers: Sequence[Sequence[HardwareOption]]) -> Iterator[int]:
    """The rows of each GPU type that serve a question for least, with many instances and with as few as it takes."""
    rps, factor = _carried(question, table)
    each, gpu, peak = table.gpus.astype(np.int64), table.place_of_gpu(question.gpus), question.demand.sustained_rps
    for number, priced in enumerate(offers):
        rows = np.flatnonzero((gpu == number) & (rps > 0.0))
        if not len(rows) or not priced:
            continue
        many, few = np.full(len(rows), np.inf), np.full(len(rows), np.inf)
        for gpus in np.unique(each[rows]):
            alike = np.flatnonzero(each[rows] == gpus)
            for one in holding(priced, int(gpus)):
                instances, usd = _instances(one, int(gpus)), _usd(one, int(gpus)) * factor[rows[alike]]
                needed = peak / (instances * rps[rows[alike]])
                many[alike] = np.minimum(many[alike], usd * needed)
                few[alike] = np.minimum(few[alike], usd * np.ceil(needed))
        yield from _least(rows, many)
        yield from _least(rows, few)


def _least(rows: Rows, counted: Floats) -> list[int]:
    return [int(k) for k in rows[np.argsort(counted, kind="stable")[:KEPT]] if np.isfinite(counted).any()]


def holding(offers: Sequence[HardwareOption], gpus: int) -> list[HardwareOption]:
    """Those that may hold an instance of so many GPUs: over as few systems as any does, joined by a fabric where these
    are several."""
    possible = [one for one in offers if one.gpus >= gpus or one.fabric]
    fewest = min((-(-gpus // one.gpus) for one in possible), default=0)
    return [one for one in possible if -(-gpus // one.gpus) == fewest]


def _instances(option: HardwareOption, gpus: int) -> int:
    """Instances of so many GPUs in a unit."""
    return max(option.gpus // gpus, 1)


def _usd(option: HardwareOption, gpus: int) -> float:
    """USD per hour of a unit."""
    assert option.usd_per_hour is not None
    return option.usd_per_hour * -(-gpus // option.gpus)


def _unit(
    questions: Sequence[Question], row: Configuration, option: HardwareOption, rps: Floats, factor: float
) -> Unit:
    """The unit of a configuration in an option, with what stands by: spares, another system, or all once more."""
    instances, reserve = _instances(option, row.gpus), reserve_of(questions[0])
    twice = 2.0 if reserve.redundancy == "site" else 1.0
    needed = (
        one.demand.sustained_rps / (instances * carried) * twice if carried > 0.0 else math.inf
        for one, carried in zip(questions, rps.tolist(), strict=True)
    )
    one_more = 1.0 if reserve.redundancy == "system" else 0.0
    return Unit(
        configuration=row,
        option=option,
        usd_per_hour=_usd(option, row.gpus),
        factor=factor * (SPANS if option.gpus < row.gpus else 1.0),
        needed=tuple(needed),
        spare=max(reserve.spares / instances, one_more),
    )
