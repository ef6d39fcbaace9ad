"""What a token costs where a deployment carries the load of the scenario: whole systems, and the tokens of its day."""

from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Counts, Floats
from sizing.base.units import HOURS_PER_DAY, MILLION
from sizing.planning.business import business_of
from sizing.prices.cost import cheapest_option
from sizing.question.understand import Question
from sizing.search.screen import all_offers, instances_needed, reserve_of

_MOST = 2**40
"""Instances beyond which they are not told apart: far beyond any fleet, so that several counts fit into one number."""


@dataclass(frozen=True, kw_only=True)
class FleetColumns:
    """Instances of one kind, (N,), of so many GPUs each, (N,)."""

    instances: Counts
    gpus_each: Counts


def fleet_for(question: Question, rps: Floats, gpus_each: Floats) -> FleetColumns:
    """The instances that carry the load, spares aside, where one carries ``rps``; both (N,)."""
    needed = instances_needed(question.demand.sustained_rps, np.nan_to_num(rps))
    return FleetColumns(instances=np.minimum(needed, _MOST), gpus_each=gpus_each.astype(np.int64))


def usd_per_million(question: Question, gpu: Counts, fleet: FleetColumns, beside: FleetColumns | None = None) -> Floats:
    """USD per million output tokens, (N,), at the tokens of a day: ``USD/h x 24 / output tokens a day x 10^6``.

    ``gpu`` is the place of each GPU among those of the question; ``beside`` is a second kind of instances on the same
    systems. The same definition as that of a plan, :func:`sizing.prices.cost.cost_of`. NaN without a price.
    """
    kinds = [fleet] if beside is None else [fleet, beside]
    columns = [gpu, *(c for kind in kinds for c in (kind.instances, kind.gpus_each))]
    order = np.lexsort(columns)
    new = np.zeros(len(gpu), dtype=np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    once, of_each = order[new], np.empty(len(gpu), dtype=np.int64)
    of_each[order] = np.cumsum(new) - 1
    chosen = cheapest_option(
        fleet.instances[once],
        fleet.gpus_each[once],
        gpu[once],
        all_offers(question),
        None if beside is None else (beside.instances[once], beside.gpus_each[once]),
        reserve_of(question),
    )
    tokens_per_hour = business_of(question).output_tokens_per_day / HOURS_PER_DAY
    return np.asarray(chosen.usd_per_hour[of_each] / tokens_per_hour * MILLION)
