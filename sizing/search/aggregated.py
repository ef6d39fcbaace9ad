"""Deployments whose instances do prefill and decode: instances, systems and cost of the candidates that can serve."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sizing.base.arrays import Counts, Flags, Floats, Position, Rows, least_by_group
from sizing.base.choices import Serving
from sizing.prices.cost import cheapest_option
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.capacity import at_rate
from sizing.search.deployments import Deployments, named_alone
from sizing.search.preferences import of_hardware, of_instances
from sizing.search.screen import Evaluated, all_offers, expected, instances_needed, reserve_of

WASTEFUL = 4
"""By latency a deployment comes last that another beats on so many times fewer GPUs: an assumption about what is meant
by the lowest latency. The next larger size of an instance may well take twice the GPUs for a few per cent."""

WORTH_MORE = 0.95
"""Share of the latency of the fewest instances that more of them must come below by latency. Chosen: what the figures
can tell apart at all."""

RIVALS = 50
"""Candidates of each kind that a deployment is held against. Chosen: few, to cost little beside the ranking."""

MORE_INSTANCES = (1.0, 1.25, 1.5, 2.0, 3.0)
"""How far beyond the smallest deployment the trade-off looks. Chosen: up to a third of the load on each instance, where
little waiting is left to save."""


@dataclass(frozen=True, kw_only=True)
class Aggregated(Deployments):
    """Deployments of candidates whose instances do both; ``index`` are their rows of ``evaluated``, all (N,).

    ``standing_by``: those of the ``instances`` that the peak does not take. ``rps``: load of one of the others at the
    peak, at ``position`` of the candidate's grid.
    """

    serving: ClassVar[Serving] = "aggregated"

    index: Rows
    instances: Counts
    standing_by: Counts
    rps: Floats
    position: Position
    outrun: Flags
    """Whether another deployment answers sooner on a :data:`WASTEFUL`-th of the GPUs, where latency ranks; False
    by other objectives."""

    @property
    def rows(self) -> Rows:
        """The rows of the candidates that generate the answers, (N,)."""
        return self.index

    @property
    def max_rps(self) -> Floats:
        """Requests/s within the limits, spares aside, (N,)."""
        return np.asarray((self.instances - self.standing_by) * self.evaluated.capacity.rps[self.index])

    @property
    def dominated(self) -> Floats:
        """1 for every deployment that is :attr:`outrun`, 0 otherwise, as a key to sort by (N,)."""
        return self.outrun.astype(np.float64)

    def as_expected(self, chosen: Rows) -> Aggregated:
        """The candidates of those deployments alone, with as many instances."""
        only = self.take(chosen)
        there = expected(self.question, self.evaluated.take(only.index))
        every = np.arange(len(only), dtype=np.intp)
        return replace(aggregated(self.question, there, every, only.instances - only.standing_by), outrun=only.outrun)

    def stages_and_ranks(self) -> Floats:
        """Pipeline stages x attention-DP ranks of an instance, (N,)."""
        return np.asarray(self.evaluated.candidates.pp[self.index] * self.evaluated.candidates.dp[self.index])

    def row(self, k: int) -> Configuration:
        """The configuration of deployment ``k``."""
        return self.evaluated.candidates.rows[int(self.index[k])]

    def configurations(self, k: int) -> tuple[Configuration, ...]:
        """The one kind of instance."""
        return (self.row(k),)

    def working(self, k: int) -> tuple[int, ...]:
        """Instances of each kind, spares aside."""
        return (int(self.instances[k] - self.standing_by[k]),)

    def spares(self, k: int) -> tuple[int, ...]:
        """Instances of the one kind that stand by."""
        return (int(self.standing_by[k]),)

    def label(self, k: int) -> str:
        """GPU, engine, precision and parallelism."""
        return label_of(self.row(k))

    def traits(self, k: int) -> Set[object]:
        """What tells this deployment from others on its GPU type."""
        row = self.row(k)
        return {self.serving, row.engine.surrogate, row.precision.id, (row.tp, row.pp, row.dp), row.speculation}

    def trade_off(self, k: int) -> Aggregated:
        """Deployments on the GPU, engine and formats of ``k`` that none other beats on both GPUs and E2E latency."""
        unit = self.evaluated.candidates.unit[self.index]
        alike = np.flatnonzero(unit == unit[k])
        smallest = instances_needed(self.question.demand.sustained_rps, self.evaluated.capacity.rps[self.index[alike]])
        counts = np.concatenate([np.ceil(smallest * f) for f in MORE_INSTANCES]).astype(np.int64)
        more = aggregated(self.question, self.evaluated, np.tile(self.index[alike], len(MORE_INSTANCES)), counts)
        return more.take(more.worth_a_step())

    def resized(self, evaluated: Evaluated, changed: Rows) -> Aggregated:
        """These once the capacity of the candidates ``changed`` is that of ``evaluated``; without those that have none.

        The same as sizing all candidates again, of which a search moves a few at a time.
        """
        place = np.flatnonzero(np.isin(self.index, changed))
        index = self.index[place]
        able = evaluated.capacity.rps[index] > 0
        working = sized(self.question, evaluated, index[able])
        moved = replace(self, evaluated=evaluated).replaced(
            place[able], aggregated(self.question, evaluated, index[able], working)
        )
        return moved if able.all() else moved.take(np.delete(np.arange(len(moved)), place[~able]))


def label_of(row: Configuration) -> str:
    """GPU, engine, precision, parallelism and, where there is one, the cap on the sequences in flight."""
    return row.label if row.batch_limit is None else f"{row.label}, batch limit {row.batch_limit:,}"


def considers_aggregated(question: Question) -> bool:
    """Whether the scenario lets instances that do both be considered."""
    return question.scenario.deployment.allows("aggregated")


def smallest_aggregated(question: Question, evaluated: Evaluated) -> Aggregated:
    """Every candidate with any capacity, in as few instances as it needs; none where the scenario leaves them out."""
    if not considers_aggregated(question):
        return aggregated(question, evaluated, np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64))
    able = np.flatnonzero(evaluated.capacity.rps > 0)
    return aggregated(question, evaluated, able, sized(question, evaluated, able))


def fewest_aggregated(question: Question, evaluated: Evaluated) -> tuple[int, str] | None:
    """GPUs of the smallest deployment, spares counted, and its label; None where nothing serves."""
    able = np.flatnonzero(evaluated.capacity.rps > 0)
    if not len(able) or not considers_aggregated(question):
        return None
    if reserve_of(question).redundancy != "none":
        every = aggregated(question, evaluated, able, sized(question, evaluated, able))
        return int(every.gpus.min()), every.label(int(every.gpus.argmin()))
    instances = instances_needed(question.demand.sustained_rps, evaluated.capacity.rps[able])
    gpus = (instances + reserve_of(question).spares) * evaluated.candidates.gpus[able]
    return int(gpus.min()), label_of(evaluated.candidates.rows[able[gpus.argmin()]])


def aggregated(question: Question, evaluated: Evaluated, index: Rows, working: Counts) -> Aggregated:
    """Systems, list cost and latency of the candidates at ``index``, each with so many instances, spares aside."""
    peak, reserve = question.demand.sustained_rps, reserve_of(question)
    load = peak / working
    position = at_rate(evaluated.state.rps[index], load)
    each = evaluated.candidates.gpus[index].astype(np.int64)
    gpu, offers = evaluated.candidates.place_of_gpu(question.gpus, index), all_offers(question)
    chosen = cheapest_option(working, each, gpu, offers, reserve=reserve)
    standing_by = reserve.standing_by(working, each, chosen.system_gpus, chosen.systems)
    total = working + standing_by
    likely = chosen.usd_per_hour
    if evaluated.expected_rps is not None:
        fewer = np.minimum(instances_needed(peak, evaluated.expected_rps[index]), working)
        likely = cheapest_option(fewer, each, gpu, offers, reserve=reserve).usd_per_hour
    latencies = evaluated.latencies
    ttft_s, itl_s, e2e_s = (position.of(s, index) for s in (latencies.ttft_s, latencies.itl_s, latencies.e2e_s))
    counted = {"ttft": ttft_s, "itl": itl_s, "e2e": e2e_s}[named_alone(question)]
    return Aggregated(
        question=question,
        evaluated=evaluated,
        index=index,
        instances=total,
        standing_by=standing_by,
        rps=load,
        position=position,
        ttft_s=ttft_s,
        itl_s=itl_s,
        e2e_s=e2e_s,
        gpus=total * each,
        options=chosen.options,
        systems=chosen.systems,
        gpus_bought=chosen.gpus_bought,
        usd_per_hour=chosen.usd_per_hour,
        expected_usd_per_hour=likely,
        power_kw=chosen.power_kw,
        factor=of_instances(question, evaluated, index) * of_hardware(question, each, chosen),
        outrun=_outrun(question, evaluated, (working + reserve.spares) * each, counted),
    )


def most_before(question: Question, evaluated: Evaluated, index: int, tried: Counts, others: Mapping[int, int]) -> int:
    """The most instances, spares aside, with which a candidate comes before all ``others``, by their instances; 0: with
    none. Nothing gets cheaper with more: where there are gaps in ``tried``, (N,) growing, one of them is searched."""
    rows = np.array([*others, *[index] * len(tried)], dtype=np.intp)
    working = np.array([*others.values(), *tried], dtype=np.int64)
    ranked = aggregated(question, evaluated, rows, working).order()
    first = int(np.flatnonzero(ranked < len(others))[0])
    most = int(max(tried[ranked[:first] - len(others)], default=0))
    if most in (0, tried[-1]):
        return most
    gap = np.arange(most + 1, tried[np.searchsorted(tried, most) + 1])
    return max(most, most_before(question, evaluated, index, gap, others)) if len(gap) else most


def ranked_latency(question: Question, evaluated: Evaluated) -> Floats:
    """The latency that :attr:`Deployments.latency_s` is of, at the loads of the grid, (C, K)."""
    latencies = evaluated.latencies
    return {"ttft": latencies.ttft_s, "itl": latencies.itl_s, "e2e": latencies.e2e_s}[named_alone(question)]


def sized(question: Question, evaluated: Evaluated, index: Rows) -> Counts:
    """Instances of the candidates at ``index``, (N,), spares aside: as few as carry the peak.

    By latency as many as fit in whole multiples of the largest instance of the same GPU, engine and formats, where that
    is :data:`WORTH_MORE` sooner. A token passes every pipeline stage in turn, so stages shorten no gap between tokens:
    a pipeline only looks faster than one stage because its load is spread over more GPUs, and is compared with as many.
    """
    c, peak = evaluated.candidates, question.demand.sustained_rps
    fewest = instances_needed(peak, evaluated.capacity.rps[index])
    if question.scenario.deployment.objective != "latency" or not len(index):
        return fewest
    able = evaluated.capacity.rps > 0.0
    largest = -least_by_group(c.unit[able], -c.gpus[able], len(c.units))[c.unit[index]]
    each = c.gpus[index]
    more = np.maximum(fewest, (np.ceil(fewest * each / largest) * largest // each).astype(np.int64))
    latency = ranked_latency(question, evaluated)
    now, then = (at_rate(evaluated.state.rps[index], peak / n).of(latency, index) for n in (fewest, more))
    return np.where(then < WORTH_MORE * now, more, fewest)


def _outrun(question: Question, evaluated: Evaluated, gpus: Counts, latency_s: Floats) -> Flags:
    """Which deployments, (N,) by GPUs and latency, another beats on a :data:`WASTEFUL`-th of the GPUs, (N,).

    A configuration that hardly meets a limit when idle needs very many nearly idle instances, and then answers sooner
    than others do at their full load: as many GPUs of those would answer far sooner still. The others looked at are the
    :data:`RIVALS` that carry most per GPU and the :data:`RIVALS` that answer soonest when idle, with all instances that
    fit in 1, 2, 4, ... GPUs.
    """
    deployment, rps = question.scenario.deployment, evaluated.capacity.rps
    if deployment.objective != "latency" or not len(gpus) or not (rps > 0).any():
        return np.zeros(len(gpus), dtype=np.bool_)
    able = np.flatnonzero(rps > 0)
    each = evaluated.candidates.gpus
    most = able[np.argsort(-rps[able] / each[able], kind="stable")[:RIVALS]]
    soonest = able[np.argsort(ranked_latency(question, evaluated)[able, 0], kind="stable")[:RIVALS]]
    rivals = np.union1d(most, soonest)
    budgets = 2 ** np.arange(int(gpus.max()).bit_length())
    best = np.array([_soonest(question, evaluated, rivals, int(b)) for b in budgets])
    within = np.floor(np.log2(np.maximum(gpus / WASTEFUL, 0.5))).astype(np.intp)  # -1: less than one GPU
    best = np.append(np.minimum.accumulate(best), np.inf)
    return np.asarray(best[within] < latency_s)


def _soonest(question: Question, evaluated: Evaluated, rows: Rows, gpus: int) -> float:
    """The shortest latency that a candidate at ``rows`` has with so many GPUs, seconds; inf: none can serve."""
    peak, spares = question.demand.sustained_rps, question.scenario.deployment.spare_instances
    working = gpus // evaluated.candidates.gpus[rows] - spares
    enough = working >= instances_needed(peak, evaluated.capacity.rps[rows])
    rows, working = rows[enough], working[enough]
    if not len(rows):
        return float("inf")
    return float(at_rate(evaluated.state.rps[rows], peak / working).of(ranked_latency(question, evaluated), rows).min())
