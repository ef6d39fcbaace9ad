"""Deployments with prefill and decode in pools of their own: systems, cost, transfer and latency of pairs of pools."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sizing.base.arrays import Counts, Flags, Floats, Rows
from sizing.base.choices import Serving
from sizing.deployments.kv_transfer import has_fast_links
from sizing.prices.cost import cheapest_option
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.deployments import Deployments
from sizing.search.pools import Pools, at_peak, exact_transfer, expected_pools, grown, smallest_pools
from sizing.search.preferences import DOUBTFUL_SPLIT, SPLIT, of_hardware, of_instances
from sizing.search.screen import Evaluated, all_offers, instances_needed, reserve_of


def _joined(row: Configuration) -> float:
    return float(has_fast_links(row.gpu))


@dataclass(frozen=True, kw_only=True)
class PoolPairs(Deployments):
    """Pairs of pools, (N,). ``standing_by``: instances beyond those that the peak takes. ``transfer_s``: seconds that a
    KV cache takes; ``inside``: over the links of one system."""

    serving: ClassVar[Serving] = "disaggregated"
    splits: ClassVar[bool] = True

    pools: Pools
    prefill_standing_by: Counts
    decode_standing_by: Counts
    transfer_s: Floats
    inside: Flags

    @property
    def rows(self) -> Rows:
        """The rows of the candidates that generate the answers, (N,)."""
        return self.pools.decode

    @property
    def max_rps(self) -> Floats:
        """Requests/s within the limits, spares aside, (N,)."""
        return self.pools.max_rps

    def as_expected(self, chosen: Rows) -> PoolPairs:
        """The ``chosen`` pairs alone, each of rows of its own, with as many instances."""
        return disaggregated(self.question, expected_pools(self.question, self.pools.take(chosen)))

    def stages_and_ranks(self) -> Floats:
        """Pipeline stages x attention-DP ranks, of both kinds of instances, (N,)."""
        each = self.evaluated.candidates.pp * self.evaluated.candidates.dp
        return np.asarray(each[self.pools.decode] * each[self.pools.prefill])

    def configurations(self, k: int) -> tuple[Configuration, ...]:
        """A prefill and a decode instance."""
        rows = self.evaluated.candidates.rows
        return rows[self.pools.prefill[k]], rows[self.pools.decode[k]]

    def working(self, k: int) -> tuple[int, ...]:
        """Instances of each kind, spares aside."""
        return int(self.pools.prefill_instances[k]), int(self.pools.decode_instances[k])

    def spares(self, k: int) -> tuple[int, ...]:
        """Instances of each kind that stand by."""
        return int(self.prefill_standing_by[k]), int(self.decode_standing_by[k])

    def label(self, k: int) -> str:
        """GPU, engine, precision and parallelism."""
        return self.pools.label(k)

    def traits(self, k: int) -> Set[object]:
        """What tells this deployment from others on its GPU type."""
        _, row = self.configurations(k)
        return {self.serving, row.engine.surrogate, row.precision.id, row.speculation}

    def trade_off(self, k: int) -> PoolPairs:
        """Pair ``k`` with more instances of either kind: what none other beats on both GPUs and E2E latency."""
        more = disaggregated(self.question, grown(self.pools.take(np.array([k]))))
        return more.take(more.worth_a_step())


def fewest_disaggregated(question: Question, evaluated: Evaluated) -> tuple[int, str] | None:
    """GPUs of the smallest pair of pools, spares counted, and its label; None where nothing serves."""
    pools = smallest_pools(question, evaluated)
    if pools is None:
        return None
    with_reserve = reserve_of(question).redundancy != "none"
    gpus = disaggregated(question, pools).gpus if with_reserve else pools.gpus_with(reserve_of(question).spares)
    return int(gpus.min()), pools.label(int(gpus.argmin()))


def _expected_instances(question: Question, pools: Pools) -> tuple[Counts, Counts]:
    """Decode and prefill instances with which the limits hold if steps take as long as expected, (N,) each, spares
    aside; no more than there are."""
    likely, peak = expected_pools(question, pools), question.demand.sustained_rps
    decode = np.minimum(instances_needed(peak, likely.decode_rps), pools.decode_instances)
    return decode, np.minimum(instances_needed(peak, likely.prefill_rps), pools.prefill_instances)


def disaggregated(question: Question, pools: Pools) -> PoolPairs:
    """Systems, list cost, transfer and latency of the pairs; what stands by in both pools."""
    c, reserve = pools.evaluated.candidates, reserve_of(question)
    working = [pools.decode_instances, pools.prefill_instances]
    each = [c.gpus[rows].astype(np.int64) for rows in (pools.decode, pools.prefill)]
    gpu = c.place_of_gpu(question.gpus, pools.decode)
    offers = all_offers(question)
    chosen = cheapest_option(working[0], each[0], gpu, offers, beside=(working[1], each[1]), reserve=reserve)
    standing_by = [reserve.standing_by_of_two(n, g, chosen.system_gpus) for n, g in zip(working, each, strict=True)]
    gpus = pools.gpus + standing_by[0] * each[0] + standing_by[1] * each[1]
    likely = chosen.usd_per_hour
    if pools.evaluated.expected_rps is not None:
        fewer = _expected_instances(question, pools)
        beside = (fewer[1], each[1])
        likely = cheapest_option(fewer[0], each[0], gpu, offers, beside=beside, reserve=reserve).usd_per_hour
    inside = (chosen.systems == 1) & (gpus <= chosen.domain_gpus)
    inside |= (chosen.systems == 1) & ~c.column(lambda r: r.gpu.has_fast_link, pools.decode).astype(bool)
    moved = exact_transfer(question, pools, inside)
    state, percentile = at_peak(question, pools, moved), question.limits.percentile
    return PoolPairs(
        question=question,
        evaluated=pools.evaluated,
        pools=pools,
        prefill_standing_by=standing_by[1],
        decode_standing_by=standing_by[0],
        transfer_s=moved,
        inside=inside,
        ttft_s=state.ttft_s(percentile)[:, 0],
        itl_s=state.itl_s(percentile)[:, 0],
        e2e_s=state.e2e_s(percentile)[:, 0],
        gpus=gpus,
        options=chosen.options,
        systems=chosen.systems,
        gpus_bought=chosen.gpus_bought,
        usd_per_hour=chosen.usd_per_hour,
        expected_usd_per_hour=likely,
        power_kw=chosen.power_kw,
        factor=factor_of_pools(question, pools, well_linked(pools, chosen.fabric, inside))
        * of_hardware(question, np.maximum(*each), chosen),
    )


def well_linked(pools: Pools, fabric: Flags, inside: Flags) -> Flags:
    """Whether KV caches go over NVLink or the like inside one system, or over a fabric between such systems, (N,)."""
    joined = pools.evaluated.candidates.column(_joined, pools.decode) > 0.0
    return np.asarray(joined & (inside | fabric))


def factor_of_pools(question: Question, pools: Pools, linked: Flags) -> Floats:
    """The factor by which what is counted is multiplied, (N,): that of the worse kind of instances times that of
    splitting."""
    of_kinds = np.maximum(*(of_instances(question, pools.evaluated, rows) for rows in (pools.prefill, pools.decode)))
    return np.asarray(of_kinds * np.where(linked, SPLIT, DOUBTFUL_SPLIT))
