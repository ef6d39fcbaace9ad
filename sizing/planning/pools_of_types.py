"""Prefill and decode on two GPU types beside a plan: stated, and as a plan of its own where they are advised."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sizing.base.deployed import Deployed
from sizing.base.mixed import MixedFleet, PoolOfType, PoolsOfTypes
from sizing.base.result import AnswerSentence, Plan
from sizing.base.units import HOURS_PER_MONTH, MS_PER_S
from sizing.catalog.engines import engines
from sizing.mixed.apart import Apart, OnePool, cheapest_apart, possible
from sizing.mixed.text import deployed_pools
from sizing.planning.disaggregated import PlannedDisaggregated
from sizing.prices.cost import TIE
from sizing.question.understand import Question
from sizing.search.preferences import SPLIT
from sizing.search.screen import evaluate_all
from sizing.simulator.layout import ITL, TTFT
from sizing.simulator.quantiles import quantiles


@dataclass(frozen=True, kw_only=True)
class FoundPools:
    """Pools on two GPU types that hold the limits, and what a plan says of them."""

    question: Question
    pair: Apart
    stated: PoolsOfTypes

    def planned(self, beside: Plan) -> Plan:
        """The plan ``beside`` which they stand with these pools in place of what it deploys.

        Alternatives, warnings and proposals are those of the plan beside; nothing but the pools, what an instance of
        each does, latencies and the range of GPUs is of the pools. Systems that both share are not counted on.
        """
        one = PlannedDisaggregated(self.pair.as_expected().pairs, 0, self.pair.pairs, 0)
        (around,) = PlannedDisaggregated.spreads(one.kind, [0])
        low, high = one.gpu_range(around)
        at = f"p{self.question.limits.percentile:g}"
        of_both = AnswerSentence(about="mixed", text=deployed_pools(self.stated, at, self.question.gpu_name))
        pools = beside.model_copy(
            update={
                "answer": of_both.text,
                "sentences": (of_both,),
                "deployment": self._deployed(one),
                "per_instance": one.per_instance(),
                "per_prefill_instance": one.per_prefill_instance(),
                "latency": one.latencies(around),
                "gpus_low": low,
                "gpus_high": high,
                "cost": None,
            }
        )
        return pools.marked(replace(beside.made_for, configurations=one.configurations, parts=(), pools=None))

    def _deployed(self, one: PlannedDisaggregated) -> Deployed:
        """Both pools in systems of their own; GPU type and layout at the top are of a decode instance."""
        each = self.stated.prefill, self.stated.decode
        return one.deployed().model_copy(
            update={
                "system": " and ".join(dict.fromkeys(pool.system for pool in each)),
                "systems": sum(pool.systems for pool in each),
                "gpus_bought": sum(pool.gpus_bought for pool in each),
            }
        )


def pools_of_types(question: Question, plan: Plan, mixed: MixedFleet, seed: int) -> FoundPools | None:
    """The cheapest pools on two GPU types beside a ``plan``; None where none that is documented holds the limits."""
    single = mixed.one_fleet_usd_per_month
    if not single or not possible(question):
        return None
    evaluated = evaluate_all(question)
    one = cheapest_apart(question, evaluated, same_type=False, seed=seed)
    if one is None:
        return None
    alike = cheapest_apart(question, evaluated, same_type=True, seed=seed)
    row, percent_asked = one.decode.configuration, [question.limits.percentile]
    ttft_s, itl_s = (quantiles(one.needed.outcome, metric, percent_asked)[0] for metric in (TTFT, ITL))
    stated = PoolsOfTypes(
        engine=row.engine.id,
        weight_precision=row.precision.id,
        prefill=_pool(one.prefill),
        decode=_pool(one.decode),
        ttft_ms=ttft_s * MS_PER_S,
        itl_ms=itl_s * MS_PER_S,
        transfer_ms=one.transfer_s * MS_PER_S,
        usd_per_month=one.usd_per_hour * HOURS_PER_MONTH,
        power_kw=_power_kw((one.prefill, one.decode)),
        same_type_usd_per_month=None if alike is None else alike.usd_per_hour * HOURS_PER_MONTH,
        saved_share=1.0 - one.usd_per_hour * HOURS_PER_MONTH / single,
        source=row.engine.pools_of_types_source,
        advised=_advised(question, one, plan, mixed),
    )
    return FoundPools(question=question, pair=one, stated=stated)


def without_pools(question: Question) -> tuple[str, ...]:
    """The engines that are considered, by their ids, where pools are looked for and of none a document says that it
    hands a KV cache between GPU types; else empty."""
    considered = [
        one for name, one in engines().items() if name in question.allowed.engines or not question.allowed.engines
    ]
    if not possible(question) or any(one.pools_of_types for one in considered):
        return ()
    return tuple(one.id for one in considered if one.disaggregated)


def _advised(question: Question, one: Apart, plan: Plan, mixed: MixedFleet) -> bool:
    """Whether the pools cost less than the plan and than a cheaper split by prompt length, where what is not split has
    to be dearer by :data:`sizing.search.preferences.SPLIT`; not of a hybrid, whose burst stands in another place."""
    assert plan.deployment is not None
    assert mixed.one_fleet_usd_per_month is not None
    splits = plan.deployment.serving == "disaggregated"
    others = [mixed.one_fleet_usd_per_month * (SPLIT if splits else 1.0)]
    if mixed.outcome == "cheaper" and mixed.usd_per_month is not None:
        others.append(mixed.usd_per_month)
    in_one_place = question.scenario.deployment.location != "hybrid"
    return in_one_place and one.counted * HOURS_PER_MONTH < min(others) * (1.0 - TIE)


def _power_kw(pools: Sequence[OnePool]) -> float | None:
    """The power budget of all systems of the pools; None where that of one is not known."""
    each = [(one.systems, one.option.power_kw) for one in pools]
    known = [systems * kw for systems, kw in each if kw is not None]
    return math.fsum(known) if len(known) == len(each) else None


def _pool(one: OnePool) -> PoolOfType:
    return PoolOfType(
        gpu=one.configuration.gpu.id,
        layout=one.configuration.parallelism,
        instances=one.instances,
        gpus=one.instances * one.configuration.gpus,
        system=one.option.name,
        systems=one.systems,
        gpus_bought=one.systems * one.option.gpus,
    )
