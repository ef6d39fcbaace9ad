"""Which system and which GPU the prices of a scenario belong to: each to one, never to all."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sizing.base.errors import InvalidScenario, UnknownName
from sizing.catalog import cloud_instances, resolve_gpu, systems, systems_for
from sizing.catalog import gpus as catalogue
from sizing.catalog.gpu import Gpu
from sizing.scenario.costs import Costs
from sizing.scenario.prices import GpuHourPrice, PriceList, Prices, SystemPrice
from sizing.scenario.schema import Scenario


def prices_of(scenario: Scenario, gpus: Sequence[Gpu]) -> Prices:
    """The prices of the scenario, with the ids of the system and of the GPU that they belong to.

    Unnamed, a price belongs to the only one there is: the measured system, the only system that the considered GPUs
    come in, the only considered GPU. Raises InvalidScenario where there are several, or for an unknown name, that of a
    cloud provider or region too.
    """
    check_place(scenario.costs)
    prices = scenario.prices
    system = None if prices.system_usd is None else _system(scenario, gpus)
    gpu = None if prices.gpu_hour_usd is None else _gpu(prices, gpus)
    book = {name: _list_of(name, getattr(prices, name), gpus) for name in ("listed", "negotiated")}
    for own, key, kind in ((system, "system_usd", "systems"), (gpu, "gpu_hour_usd", "gpu_hours")):
        for name, of in book.items():
            if own in _belong_to(getattr(of, kind)):
                raise InvalidScenario.at(f"prices.{name}", f"{own} has a price in prices.{key}, too: keep one of them.")
    return prices.model_copy(update={"system": system, "gpu": gpu, **book})


def _list_of(name: str, prices: PriceList, gpus: Sequence[Gpu]) -> PriceList:
    """A list of prices with the ids of what each belongs to, no two to the same."""
    key = f"prices.{name}"
    systems = tuple(one.model_copy(update={"system": _system_id(key, one.system, gpus)}) for one in prices.systems)
    hours = tuple(one.model_copy(update={"gpu": _gpu_id(key, one.gpu, gpus)}) for one in prices.gpu_hours)
    for each in (_belong_to(systems), _belong_to(hours)):
        twice = [one for one, count in Counter(each).items() if count > 1]
        if twice:
            raise InvalidScenario.at(key, f"{twice[0]} has more than one price: keep one of them.")
    return PriceList(systems=systems, gpu_hours=hours)


def _belong_to(prices: Iterable[SystemPrice | GpuHourPrice]) -> list[str]:
    """What each price is of."""
    return [one.system if isinstance(one, SystemPrice) else one.gpu for one in prices]


def _system(scenario: Scenario, gpus: Sequence[Gpu]) -> str:
    """The id of the system that ``prices.system_usd`` is the price of."""
    offered = {system.id: system.name for gpu in gpus for system in systems_for(gpu)}
    name = scenario.prices.system or (scenario.measured.system if scenario.measured else None)
    if name is None:
        return _the_only("prices.system", "system", offered)
    return _system_id("prices.system", name, gpus)


def _system_id(key: str, name: str, gpus: Sequence[Gpu]) -> str:
    known = {system.id: system.name for gpu in (*catalogue().values(), *gpus) for system in systems_for(gpu)}
    known |= {system.id: system.name for system in systems().values()}
    text = name.strip().lower()
    system = next((i for i, title in known.items() if text in (i.lower(), title.lower())), None)
    if system is None:
        raise InvalidScenario.at(key, UnknownName("system", name, [*known, *known.values()]))
    return system


def _gpu(prices: Prices, gpus: Sequence[Gpu]) -> str:
    """The id of the GPU that ``prices.gpu_hour_usd`` is the price of."""
    if prices.gpu is None:
        return _the_only("prices.gpu", "GPU", {gpu.id: gpu.name for gpu in gpus})
    return _gpu_id("prices.gpu", prices.gpu, gpus)


def _gpu_id(key: str, name: str, gpus: Sequence[Gpu]) -> str:
    if any(gpu.id == name for gpu in gpus):
        return name
    try:
        return resolve_gpu(name).id
    except UnknownName as error:
        raise InvalidScenario.at(key, error) from None


def _the_only(key: str, kind: str, offered: Mapping[str, str]) -> str:
    if len(offered) == 1:
        return next(iter(offered))
    raise InvalidScenario.at(key, f"say which {kind} the price belongs to, such as {_some(offered)}.")


def _some(offered: Iterable[str]) -> str:
    """The first few, as examples."""
    first = list(offered)[:3]
    return " or ".join([", ".join(first[:-1]), first[-1]]) if len(first) > 1 else (first or ["dgx_h100"])[0]


def check_place(costs: Costs) -> None:
    """Raises InvalidScenario for a provider or region of which the catalogue has no instance."""
    rows = cloud_instances()
    providers, regions = {row.provider for row in rows}, {row.region for row in rows}
    if costs.cloud_provider is not None and costs.cloud_provider not in providers:
        raise InvalidScenario.at("costs.cloud_provider", UnknownName("provider", costs.cloud_provider, providers))
    if costs.cloud_region is not None and costs.cloud_region not in regions:
        raise InvalidScenario.at("costs.cloud_region", UnknownName("region", costs.cloud_region, regions))
