"""What a deployment costs, and the cheapest hardware for each of thousands of candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sizing.base.arrays import Counts, Flags, Floats
from sizing.base.checks import number_between, whole_number
from sizing.base.errors import SizingError
from sizing.base.latency_and_cost import Cost
from sizing.base.units import HOURS_PER_DAY, HOURS_PER_MONTH, MILLION, S_PER_DAY, S_PER_HOUR
from sizing.prices.compiled_choice import cheapest_of_each
from sizing.prices.hardware import HardwareOption, doubt_of_price
from sizing.prices.packing import LOST, MAX_COUNT, NO_RESERVE, Reserve, gpu_counts, instance_counts, system_sizes

MAX_TOKENS_PER_S = 1e12
"""Token rates beyond this are not looked at."""

TIE = 1e-9
"""Relative difference below which two prices count as equal, so that rounding does not pick the hardware."""


@dataclass(frozen=True, kw_only=True)
class OptionChoice:
    """The chosen option of each of C candidates, as arrays of shape (C,).

    ``usd_per_hour`` (USD/h) and ``power_kw`` (kW) are of all systems together, NaN when unknown. Of each option:
    ``system_gpus``, of them ``domain_gpus`` that fast links join, whether a ``fabric`` joins its systems,
    how much more than stated it may cost by the basis of its price (``price_doubt``), and whether nobody is known to
    sell or rent it (``unsold``): it is in no list and has no price.
    """

    options: NDArray[np.object_]
    system_gpus: Counts
    domain_gpus: Counts
    fabric: Flags
    price_doubt: Floats
    unsold: Flags
    systems: Counts
    usd_per_hour: Floats
    power_kw: Floats
    gpus_bought: Counts


def cost_of(option: HardwareOption, systems: int, output_tokens_per_s: float, output_tokens_per_day: float) -> Cost:
    """List cost of ``systems`` systems that generate ``output_tokens_per_s`` at the peak (0 when unknown).

    ``USD/month = USD/h x 730``; ``USD per million output tokens = USD/h x 24 / output tokens a day x 10^6``: hardware
    costs through the night, too. At full load, as if the peak lasted all day: ``USD/h / (tokens/s x 3600) x 10^6``.
    None where the price is unknown. Raises SizingError for less than one system or a negative or infinite rate. Source:
    the price of the option; definitions in :class:`sizing.base.latency_and_cost.Cost`.
    """
    count = whole_number("Systems", systems, 1, MAX_COUNT)
    rate = number_between("Output tokens/s", output_tokens_per_s, 0.0, MAX_TOKENS_PER_S)
    per_hour = None if option.usd_per_hour is None else count * option.usd_per_hour
    a_day = number_between("Output tokens a day", output_tokens_per_day, 0.0, MAX_TOKENS_PER_S * S_PER_DAY)
    low, high = (None if e is None else count * e for e in (option.usd_per_hour_low, option.usd_per_hour_high))
    return Cost(
        basis=option.basis,
        priced_by=option.priced_by,
        price_basis=option.price_basis,
        price_dates=option.dates,
        payment=option.payment,
        system_usd=option.system_usd,
        purchase_usd=None if option.system_usd is None else count * option.system_usd,
        usd_per_hour=per_hour,
        hardware_usd_per_month=_a_month(per_hour),
        hardware_usd_per_month_low=_a_month(low),
        hardware_usd_per_month_high=_a_month(high),
        usd_per_million_output_tokens=usd_per_million(per_hour, a_day / HOURS_PER_DAY),
        usd_per_million_output_tokens_at_full_load=usd_per_million(per_hour, rate * S_PER_HOUR),
        power_kw=None if option.power_kw is None else count * option.power_kw,
        power_from=option.power_from,
        source=option.source,
    )


def _a_month(usd_per_hour: float | None) -> float | None:
    return None if usd_per_hour is None else usd_per_hour * HOURS_PER_MONTH


def usd_per_million(usd: float | None, tokens: float) -> float | None:
    """USD per million tokens of what costs ``usd`` in the time that serves ``tokens``; None where either is unknown."""
    return None if usd is None or tokens <= 0 else usd / tokens * MILLION


class Offers:
    """What each GPU can be bought or rented in: the options of all GPUs one after the other, as arrays.

    ``by_gpu`` are the same GPU by GPU; ``first`` and ``counts`` say which of the arrays belong to a GPU.
    """

    def __init__(self, options_by_gpu: Sequence[Sequence[HardwareOption]]) -> None:
        flat = [option for options in options_by_gpu for option in options]
        self.by_gpu = tuple(tuple(options) for options in options_by_gpu)
        self.options: NDArray[np.object_] = np.array(flat, dtype=np.object_)
        self.counts: Counts = np.array([len(options) for options in options_by_gpu], dtype=np.int64)
        self.first: Counts = np.cumsum(self.counts) - self.counts
        self.gpus: Counts = system_sizes(np.array([option.gpus for option in flat], dtype=np.int64))
        self.domain_gpus: Counts = np.array([option.domain_gpus for option in flat], dtype=np.int64)
        self.hosts: Counts = np.array([option.hosts for option in flat], dtype=np.int64)
        self.joined: Counts = np.array([bool(option.fabric) for option in flat], dtype=np.int64)
        self.unpriced: Counts = np.array([not option.priced for option in flat], dtype=np.int64)
        self.usd_per_hour: Floats = np.array([option.usd_per_hour for option in flat], dtype=np.float64)
        self.power_kw: Floats = np.array([option.power_kw for option in flat], dtype=np.float64)
        self.price_doubt: Floats = np.array([doubt_of_price(option) for option in flat], dtype=np.float64)
        self.unsold: Flags = np.array([option.assumed and not option.priced for option in flat], dtype=np.bool_)
        self.ranked_by = (
            *(self.first, self.counts, self.gpus, self.hosts, self.joined, self.unpriced),
            np.nan_to_num(self.usd_per_hour),
        )


def cheapest_option(
    instances: ArrayLike,
    gpus_per_instance: ArrayLike,
    gpu_index: ArrayLike,
    offers: Offers,
    beside: tuple[ArrayLike, ArrayLike] | None = None,
    reserve: Reserve = NO_RESERVE,
) -> OptionChoice:
    """For each candidate the option of its GPU to run on; all array arguments have shape (C,).

    ``gpu_index`` counts the GPUs of ``offers``.
    ``beside``: instances and GPUs per instance of a second kind that shares the systems (disaggregated pools).
    ``reserve``: what there has to be room for beside these ``instances``.

    First an option in which one instance spans the fewest hosts (an instance that fits is never spread over several)
    and that has a fabric where it spans several, then one whose price is known, then the least ``systems x USD/h``,
    then the fewest systems, then the listed order.
    Raises SizingError for a GPU without options or malformed counts.
    """
    gpu = np.asarray(gpu_index, dtype=np.int64)
    if gpu.size == 0:
        return _nothing()
    if gpu.min() < 0 or gpu.max() >= len(offers.counts):
        raise SizingError(f"A candidate names GPU {gpu.max()}, but options are given for {len(offers.counts)}.")
    if (without := np.flatnonzero(offers.counts[gpu] < 1)).size:
        raise SizingError(f"GPU {gpu[without[0]]} has no hardware option.")
    kinds = tuple(
        np.full(gpu.shape, counts)
        for pair in ((instances, gpus_per_instance), beside or (0, 1))
        for counts in (instance_counts(pair[0]), gpu_counts(pair[1]))
    )
    chosen, systems = np.empty(len(gpu), dtype=np.int64), np.empty(len(gpu), dtype=np.int64)
    standing_by = reserve.spares, LOST[reserve.redundancy]
    cheapest_of_each(gpu, kinds, standing_by, offers.ranked_by, TIE, chosen, systems)
    return OptionChoice(
        options=offers.options[chosen],
        system_gpus=offers.gpus[chosen],
        domain_gpus=offers.domain_gpus[chosen],
        fabric=offers.joined[chosen] > 0,
        price_doubt=offers.price_doubt[chosen],
        unsold=offers.unsold[chosen],
        systems=systems,
        usd_per_hour=systems * offers.usd_per_hour[chosen],
        power_kw=systems * offers.power_kw[chosen],
        gpus_bought=systems * offers.gpus[chosen],
    )


def _nothing() -> OptionChoice:
    """The answer for no candidates."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    return OptionChoice(
        options=np.empty(0, dtype=np.object_),
        system_gpus=none,
        domain_gpus=none,
        fabric=np.empty(0, dtype=np.bool_),
        price_doubt=nothing,
        unsold=np.empty(0, dtype=np.bool_),
        systems=none,
        usd_per_hour=nothing,
        power_kw=nothing,
        gpus_bought=none,
    )
