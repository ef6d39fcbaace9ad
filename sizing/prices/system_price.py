"""What one complete system costs and draws, each with its range: as asked, as listed, or by rule from its parts.

Every price is for the same thing, a complete server or rack: GPUs, chassis, CPUs, memory, network. Every power is that
of the whole of it at its maximum. So prices and powers of different GPUs can be compared.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from statistics import median
from typing import NamedTuple

from sizing.base.choices import PowerFrom, PriceBasis, PricedBy
from sizing.base.units import W_PER_KW
from sizing.catalog import ServerHost, StreetPrice, gpus, host_for, server_hosts, street_prices
from sizing.catalog.gpu import Gpu
from sizing.catalog.system import System
from sizing.scenario.prices import GpuHourPrice, Prices, SystemPrice

ASKED_OF_ANYBODY: tuple[PriceBasis, ...] = ("retail", "list")
"""Prices that a customer is asked: what is compared, where there is one."""

ORDER: tuple[PriceBasis, ...] = (*ASKED_OF_ANYBODY, "contract", "quoted", "reported", "estimate", "derived", "asp")
"""Which basis a price is taken from, the first that there is; used goods and prices of the day are none of them."""

BASIS_WORDS: Mapping[PriceBasis, str] = {
    "retail": "retail price",
    "list": "list price",
    "asp": "average selling price",
    "estimate": "estimate",
    "derived": "derived price",
    "contract": "contract price",
    "spot": "price of the day",
    "used": "price of used goods",
    "reported": "list price as others report it",
    "quoted": "quoted price",
}
"""What each basis is called."""


class PriceRange(NamedTuple):
    """An amount in USD with the lowest and highest that its sources give."""

    typical: float
    low: float
    high: float


class AskedOverAsp(NamedTuple):
    """What sellers ask of a GPU over its average selling price: the ratio, its least and its largest, and of which
    ``gpus`` both prices are known."""

    ratio: float
    low: float
    high: float
    gpus: tuple[str, ...]


class GpuPrice(NamedTuple):
    """What one accelerator costs without a server: the amount, its basis (None: as asked), its sources and dates."""

    usd: PriceRange
    basis: PriceBasis | None
    source: str
    dates: tuple[str, ...] = ()


class Price(NamedTuple):
    """What one complete system costs, None where that is unknown. ``basis`` says in words how it comes about.

    ``basis_of_price`` is what the price is, or that of its GPUs where it is by rule; None where asked or unknown.
    ``dates`` are the words of the dates of all prices in it.
    """

    usd: PriceRange | None
    by: PricedBy
    basis: str
    source: str
    basis_of_price: PriceBasis | None = None
    dates: tuple[str, ...] = ()


class Power(NamedTuple):
    """Maximum power of one whole system in kW, None where unknown, and in words how it comes about."""

    kw: float | None
    by: PowerFrom
    basis: str


def system_price(system: System, prices: Prices, custom_price_usd: float | None = None) -> Price:
    """What one of these systems costs: the price asked for it, else its own, else by rule, else unknown.

    Asked: the price that the scenario gives for this very system (:meth:`Prices.of_system`). Its own: what its source
    calls typical, else the middle of the range. By rule: ``GPUs x price of one + chassis, CPUs, memory and network``,
    low and high from those of both. An estimate of a whole system comes after a rule from prices that customers are
    asked, so that one basis is compared. ``custom_price_usd`` is the price of one accelerator. Sources: systems.csv,
    gpu_street_prices.csv, server_hosts.csv.
    """
    own = prices.of_system(system.id)
    if own is not None:
        basis = f"Complete system: {own.usd:,.0f} USD as asked"
        return Price(PriceRange(own.usd, own.usd, own.usd), "asked", basis, source_of(own), dates=dates_of(own))
    listed = _listed(system)
    if listed is not None and listed.basis_of_price in ASKED_OF_ANYBODY:
        return listed
    ruled = _by_rule(system, custom_price_usd)
    founded = ruled.usd is not None and ruled.basis_of_price in (None, *ASKED_OF_ANYBODY)
    return ruled if listed is None or founded else listed


def _listed(system: System) -> Price | None:
    """The price of the complete system in the catalogue."""
    ends = [end for end in (system.price_low_usd, system.price_high_usd) if end is not None]
    if not ends or system.price_basis is None:
        return None
    low, high = min(ends), max(ends)
    middle = system.price_typical_usd or (low + high) / 2.0
    what = "middle" if system.price_typical_usd is None else "typical"
    spread = f", {what} of {low:,.0f} to {high:,.0f} USD" if low < high else ""
    basis = f"Complete system: {middle:,.0f} USD {BASIS_WORDS[system.price_basis]}{spread}"
    source = dated(system.price_source, system.price_date)
    return Price(PriceRange(middle, low, high), "listed", basis, source, system.price_basis, (system.price_date,))


def dated(source: str, date: str) -> str:
    """A source with its date, which is not said twice where the source names it already."""
    return source if date and date in source else f"{source} ({date})"


def source_of(own: SystemPrice | GpuHourPrice) -> str:
    """Where a price of the scenario comes from, with its day where it has one."""
    source = own.source or "scenario: price book"
    return source if own.date is None else dated(source, own.date.isoformat())


def dates_of(own: SystemPrice | GpuHourPrice) -> tuple[str, ...]:
    """The day of a price of the scenario, none where it has none."""
    return () if own.date is None else (own.date.isoformat(),)


def _by_rule(system: System, custom_price_usd: float | None) -> Price:
    """The price of the GPUs and of what they are built into."""
    each, host = _gpu_price(system.gpu_id, custom_price_usd), server_hosts().get(system.host)
    rest = host_price(host)
    if each is None or host is None or rest is None:
        return Price(None, "unknown", "No price known", "")
    total = PriceRange(*(system.gpus * one + other for one, other in zip(each.usd, rest, strict=True)))
    basis = (
        f"Complete system by rule: {system.gpus} x {each.usd.typical:,.0f} USD ({_words_of(each)}) + "
        f"{rest.typical:,.0f} USD for chassis, CPUs, memory and network = {total.typical:,.0f} USD, between "
        f"{total.low:,.0f} and {total.high:,.0f} USD"
    )
    source = f"{each.source}; {host.name}: server_hosts.csv ({host.price_date})"
    return Price(total, "rule", basis, source, each.basis, (*each.dates, host.price_date))


def _words_of(each: GpuPrice) -> str:
    if each.basis is None:
        return "as asked"
    return f"{BASIS_WORDS[each.basis]}; {as_sellers_ask()}" if each.basis == "asp" else BASIS_WORDS[each.basis]


def as_sellers_ask() -> str:
    """What sellers ask over average selling prices, in words."""
    over = asked_over_asp()
    times = f"{over.low:.2f} to {over.high:.2f} times that"
    return f"sellers ask {times} for the {len(over.gpus)} GPUs of which both are known"


def host_price(host: ServerHost | None) -> PriceRange | None:
    """What a server costs beside its GPUs; None where that is unknown."""
    if host is None or None in (ends := (host.price_usd_typical, host.price_usd_low, host.price_usd_high)):
        return None
    return PriceRange(*(end for end in ends if end is not None))


def _gpu_price(gpu_id: str, custom_price_usd: float | None) -> GpuPrice | None:
    if custom_price_usd is None:
        return street_price(gpu_id)
    given = PriceRange(custom_price_usd, custom_price_usd, custom_price_usd)
    return GpuPrice(given, None, "scenario: price of the custom accelerator")


def street_price(gpu_id: str) -> GpuPrice | None:
    """What one accelerator costs: the median of the middles of its prices on the first basis of :data:`ORDER`.

    The range is that of its prices on every basis; an average selling price is put as sellers ask
    (:func:`asked_over_asp`). A price per superchip (two GPUs and a Grace CPU) or baseboard counts
    for all its GPUs; one of another edition, of used cards, or that a newer one has superseded counts for none: it is
    not what a new deployment pays. None when nothing is known. Source: gpu_street_prices.csv.
    """
    rows = prices_in_use(gpu_id)
    basis = next((basis for basis in ORDER if any(row.basis == basis for row in rows)), None)
    if basis is None:
        return None
    on_basis = [row for row in rows if row.basis == basis]
    every = [end for row in rows for end in _per_gpu(row)]
    sources = dict.fromkeys(dated(row.source, row.date) for row in on_basis)
    dates = tuple(row.date for row in on_basis)
    usd = PriceRange(_middle(on_basis), min(every), max(every))
    return GpuPrice(_as_asked(usd) if basis == "asp" else usd, basis, "; ".join(sources), dates)


def _middle(rows: Sequence[StreetPrice]) -> float:
    """The median of the middles of some prices, per accelerator."""
    return median(sum(ends) / len(ends) for ends in map(_per_gpu, rows))


def _as_asked(asp: PriceRange) -> PriceRange:
    """An average selling price as sellers would ask, with as wide a range as that was found to need."""
    over = asked_over_asp()
    return PriceRange(asp.typical * over.ratio, asp.low * over.low, asp.high * over.high)


@cache
def asked_over_asp() -> AskedOverAsp:
    """What sellers ask over the average selling price, of the GPUs that have both; the ratio is their median, but 1 at
    least, because nobody who buys one server pays less than those who buy thousands.

    Source: gpu_street_prices.csv.
    """
    ratios: dict[str, float] = {}
    for gpu_id in sorted({row.gpu_id for row in street_prices() if row.basis == "asp"}):
        by_basis = {basis: [row for row in prices_in_use(gpu_id) if row.basis == basis] for basis in ORDER}
        asked = next((rows for basis in ASKED_OF_ANYBODY if (rows := by_basis[basis])), [])
        if asked and by_basis["asp"]:
            ratios[gpu_id] = _middle(asked) / _middle(by_basis["asp"])
    return AskedOverAsp(max(median(ratios.values()), 1.0), min(ratios.values()), max(ratios.values()), tuple(ratios))


def prices_in_use(gpu_id: str) -> tuple[StreetPrice, ...]:
    """The prices of this edition of an accelerator that a new deployment may pay."""
    edition = gpus()[gpu_id].edition if gpu_id in gpus() else ""
    named = (row for row in street_prices() if row.gpu_id == gpu_id and row.edition == edition)
    return tuple(row for row in named if row.basis in ORDER and not row.superseded and _per_gpu(row))


def _per_gpu(row: StreetPrice) -> list[float]:
    """The ends of one price point, per accelerator."""
    return [p / row.gpus_per_price for p in (row.price_usd_low, row.price_usd_high) if p is not None]


def system_power(system: System, gpu: Gpu) -> Power:
    """Power budget of one whole system: its listed maximum, else by rule."""
    if system.max_power_kw is not None:
        return Power(system.max_power_kw, "listed", f"Power: {system.max_power_kw:g} kW per system as listed.")
    return power_by_rule(gpu, system.gpus, server_hosts().get(system.host))


def instance_power(gpu: Gpu, gpus: int) -> Power:
    """Power budget of one cloud instance: by rule, as of the smallest server that holds its GPUs."""
    return power_by_rule(gpu, gpus, host_for(gpu.form_factor, gpus))


def power_by_rule(gpu: Gpu, gpus: int, host: ServerHost | None) -> Power:
    """``GPUs x TDP x (1 + share) + kW of the rest``; of a superchip, the power of its module for the TDP.

    Unknown without either or the rest. Source: server_hosts.csv.
    """
    each = gpu.tdp_w if gpu.module_w is None else gpu.module_w
    if each is None or host is None:
        return Power(None, "unknown", "Power unknown.")
    of_gpus = gpus * each / W_PER_KW
    kw = of_gpus * (1.0 + (host.power_share_typical or 0.0)) + (host.power_kw_typical or 0.0)
    share = f" x {1.0 + host.power_share_typical:g}" if host.power_share_typical is not None else ""
    rest = f" + {host.power_kw_typical:g} kW" if host.power_kw_typical is not None else ""
    basis = f"Power: {kw:.3g} kW per system at most, by rule: {gpus} x {each:g} W{share}{rest}."
    return Power(kw, "rule", basis)
