"""Prefill on one GPU type and decode on another: the pair of pools of least cost, confirmed by simulation.

Both pools run one engine and formats, because the KV cache goes from one to the other as it is; each is bought or
rented for itself, in the same region of one provider where it is rented.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import Counts, Flags, Floats, Rows
from sizing.deployments.kv_transfer import (
    has_fast_links,
    largest_share,
    network_bytes_per_s,
    prompt_kv_bytes,
    transfer_s,
)
from sizing.mixed.units import holding
from sizing.prices.hardware import HardwareOption
from sizing.prices.packing import systems_needed
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.disaggregated import PoolPairs, disaggregated
from sizing.search.pools import (
    Pools,
    considers_pools,
    decode_capacity,
    decode_rows,
    fewest_of_a_kind,
    instances_of_pools,
    prefill_capacity,
    prefill_rows,
)
from sizing.search.pools_simulated import NeededPools, case_of, needed_pools, sized_by
from sizing.search.preferences import DOUBTFUL_SPLIT, SPLIT, of_instances
from sizing.search.screen import Evaluated, all_offers, instances_needed, reserve_of
from sizing.simulator.work import OutOfWork, Work

TRIED = 2
"""Pairs that are simulated at most, the cheapest first. Chosen: few, because each is a search of its own."""


@dataclass(frozen=True, kw_only=True)
class OnePool:
    """One pool of a pair: its configuration, a row of the candidates, and what ``instances`` of it come in."""

    row: int
    configuration: Configuration
    option: HardwareOption
    instances: int
    factor: float

    @property
    def systems(self) -> int:
        """Whole systems of the pool."""
        return int(systems_needed(self.instances, self.configuration.gpus, self.option.gpus))

    @property
    def usd_per_hour(self) -> float:
        """USD per hour of all its systems."""
        return self.systems * (self.option.usd_per_hour or 0.0)

    def of(self, instances: int) -> OnePool:
        """The pool with so many instances."""
        return replace(self, instances=instances)


@dataclass(frozen=True, kw_only=True)
class Apart:
    """A pair of pools of which a simulation has confirmed the limits; ``needed`` says with how many instances.

    ``pairs``: the only pair as a plan states one, with the caution that it is sized with.
    """

    prefill: OnePool
    decode: OnePool
    needed: NeededPools
    pairs: PoolPairs

    @property
    def usd_per_hour(self) -> float:
        """What both pools together cost, USD/h."""
        return self.prefill.usd_per_hour + self.decode.usd_per_hour

    @property
    def counted(self) -> float:
        """What it counts in comparing, USD per hour with what an expert adds."""
        return _counted((self.prefill, self.decode))

    @property
    def transfer_s(self) -> float:
        """Seconds that the KV cache of a prompt takes."""
        return float(self.pairs.transfer_s[0])

    def as_expected(self) -> Apart:
        """The same pools with steps as long as expected."""
        there = self.pairs.as_expected(np.array([0]))
        return replace(self, pairs=replace(there, transfer_s=self.pairs.transfer_s, inside=self.pairs.inside))


def possible(question: Question) -> bool:
    """Whether pools on two GPU types are looked for: where pools are, without a limit that joins them or a reserve of
    whole systems, which would have to be one of each type."""
    reserve = reserve_of(question)
    return (
        considers_pools(question)
        and math.isinf(question.limits.e2e_s)
        and reserve.redundancy == "none"
        and question.scenario.workload.mode != "offline"
    )


def cheapest_apart(question: Question, evaluated: Evaluated, *, same_type: bool, seed: int = 0) -> Apart | None:
    """The cheapest pair of pools on two GPU types, or on one where these are to be the ``same_type``.

    Instances are those that a simulation asks for; None where no pair holds the limits.
    """
    pairs = sorted(_pairs(question, evaluated, same_type=same_type), key=_counted)
    best: Apart | None = None
    for prefill, decode in pairs[:TRIED]:
        below = math.inf if best is None else best.usd_per_hour
        one = _simulated(question, evaluated, (prefill, decode), below, seed)
        best = one if one is not None and one.usd_per_hour < below else best
    return best


def _counted(pair: tuple[OnePool, OnePool]) -> float:
    """What a pair counts in comparing: its price, with what an expert adds for the worse pool and for the link."""
    linked = all(has_fast_links(one.configuration.gpu) and one.option.fabric for one in pair)
    usd = sum(one.usd_per_hour for one in pair)
    return usd * max(one.factor for one in pair) * (SPLIT if linked else DOUBTFUL_SPLIT)


def _pairs(question: Question, evaluated: Evaluated, *, same_type: bool) -> Iterator[tuple[OnePool, OnePool]]:
    """The cheapest pair of every engine, formats and pair of types at the load of the question."""
    first, second = instances_of_pools(question, evaluated.candidates)
    kinds: list[dict[tuple[str, str, str], list[OnePool]]] = []
    for rows, rps in (prefill_rows(question, evaluated, first), decode_rows(question, evaluated, second)):
        working = np.maximum(instances_needed(question.demand.sustained_rps, rps), fewest_of_a_kind(question))
        kinds.append(_by_formats(_pools(question, evaluated, rows, working)))
    for formats, prefills in kinds[0].items():
        for prefill in prefills:
            for decode in kinds[1].get(formats, ()):
                if _joined(prefill, decode, same_type=same_type):
                    yield prefill, decode


def _pools(question: Question, evaluated: Evaluated, rows: Rows, working: Counts) -> Iterator[OnePool]:
    """Every row in every option that holds an instance and has a price, spares counted."""
    offers = dict(zip((gpu.id for gpu in question.gpus), all_offers(question).by_gpu, strict=True))
    factors, spares = of_instances(question, evaluated, rows), reserve_of(question).spares
    for row, instances, factor in zip(rows.tolist(), working.tolist(), factors.tolist(), strict=True):
        configuration = evaluated.candidates.rows[row]
        priced = [one for one in offers[configuration.gpu.id] if one.usd_per_hour is not None]
        for option in holding(priced, configuration.gpus):
            yield OnePool(
                row=row, configuration=configuration, option=option, instances=instances + spares, factor=factor
            )


def _by_formats(pools: Iterator[OnePool]) -> dict[tuple[str, str, str], list[OnePool]]:
    """Pools by engine and number formats; of each GPU type and place the cheapest alone."""
    least: dict[tuple[str, ...], OnePool] = {}
    for one in pools:
        row = one.configuration
        key = (row.engine.id, row.precision.id, row.kv_precision, row.gpu.id, *_place(one.option))
        if key not in least or one.usd_per_hour * one.factor < least[key].usd_per_hour * least[key].factor:
            least[key] = one
    grouped: dict[tuple[str, str, str], list[OnePool]] = {}
    for cheapest in least.values():
        row = cheapest.configuration
        grouped.setdefault((row.engine.id, row.precision.id, row.kv_precision), []).append(cheapest)
    return grouped


def _place(option: HardwareOption) -> tuple[str, str]:
    """Provider and region of a rented instance; one's own systems stand beside each other."""
    return (option.id.partition(":")[0], option.region) if option.kind == "instance" else ("", "")


def _joined(prefill: OnePool, decode: OnePool, *, same_type: bool) -> bool:
    """Whether the engine hands a KV cache from one to the other, as far as that is documented."""
    one, other = prefill.configuration.gpu, decode.configuration.gpu
    if _place(prefill.option) != _place(decode.option) or (one.id == other.id) != same_type:
        return False
    reach = prefill.configuration.engine.pools_of_types
    return same_type or (
        one.vendor == other.vendor and (reach == "any" or (reach == "family" and one.family == other.family))
    )


def _simulated(
    question: Question, evaluated: Evaluated, pair: Sequence[OnePool], below: float, seed: int
) -> Apart | None:
    """A pair with the instances that a simulation asks for; None where none hold the limits for less than ``below``."""
    prefill, decode = pair
    spares = reserve_of(question).spares
    pools, moved = _as_pools(question, evaluated, prefill, decode, spares)
    case = case_of(question, _as_pairs(question, pools, moved), 0, seed, Work())

    def wins(first: Counts, second: Counts) -> Flags:
        usd = [
            prefill.of(int(p) + spares).usd_per_hour + decode.of(int(d) + spares).usd_per_hour
            for p, d in zip(first.tolist(), second.tolist(), strict=True)
        ]
        return np.array(usd) < below

    guess = prefill.instances - spares, decode.instances - spares
    try:
        needed = needed_pools(case, guess, wins)
    except OutOfWork:
        return None
    if needed is None:
        return None
    return Apart(
        prefill=prefill.of(needed.prefill_instances + spares),
        decode=decode.of(needed.decode_instances + spares),
        needed=needed,
        pairs=_as_pairs(question, sized_by(pools, case, needed), moved),
    )


def _as_pools(
    question: Question, evaluated: Evaluated, prefill: OnePool, decode: OnePool, spares: int
) -> tuple[Pools, Floats]:
    """The pair as the simulation takes it, and the seconds of a KV cache over the slower of both networks."""
    small = evaluated.take(np.array([prefill.row, decode.row]))
    pools = Pools(
        evaluated=small,
        prefill=np.array([0]),
        decode=np.array([1]),
        prefill_instances=np.array([prefill.instances - spares]),
        decode_instances=np.array([decode.instances - spares]),
        prefill_rps=prefill_capacity(question, small, np.array([0])),
        decode_rps=decode_capacity(question, small, np.array([1])),
    )
    c = small.candidates
    slower = min(network_bytes_per_s(one.configuration.gpu) for one in (prefill, decode))
    share = np.maximum(*(largest_share(question.model, c, np.array([k])) for k in (0, 1)))
    kv = prompt_kv_bytes(question.model, c, question.traffic.input_tokens, np.array([1]))
    return pools, transfer_s(kv, share, np.array([slower]))


def _as_pairs(question: Question, pools: Pools, moved: Floats) -> PoolPairs:
    """Two pools in systems of their own, between which a KV cache takes ``moved`` seconds."""
    return replace(disaggregated(question, pools), transfer_s=moved, inside=np.array([False]))
