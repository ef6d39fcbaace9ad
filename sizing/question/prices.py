"""Which system and which GPU the prices of a scenario belong to: each to one, never to all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sizing.base.errors import InvalidScenario, UnknownName
from sizing.catalog import resolve_gpu, systems, systems_for
from sizing.catalog.gpu import Gpu
from sizing.scenario.schema import Prices, Scenario


def prices_of(scenario: Scenario, gpus: Sequence[Gpu]) -> Prices:
    """The prices of the scenario, with the ids of the system and of the GPU that they belong to.

    Unnamed, a price belongs to the only one there is: the measured system, the only system that the considered GPUs
    come in, the only considered GPU. Raises InvalidScenario where there are several, or for an unknown name.
    """
    prices = scenario.prices
    system = None if prices.system_usd is None else _system(scenario, gpus)
    gpu = None if prices.gpu_hour_usd is None else _gpu(prices, gpus)
    return prices.model_copy(update={"system": system, "gpu": gpu})


def _system(scenario: Scenario, gpus: Sequence[Gpu]) -> str:
    """The id of the system that ``prices.system_usd`` is the price of."""
    offered = {system.id: system.name for gpu in gpus for system in systems_for(gpu)}
    name = scenario.prices.system or (scenario.measured.system if scenario.measured else None)
    if name is None:
        return _the_only("prices.system", "system", offered)
    known = offered | {system.id: system.name for system in systems().values()}
    text = name.strip().lower()
    system = next((i for i, title in known.items() if text in (i.lower(), title.lower())), None)
    if system is None:
        raise InvalidScenario([f"prices.system: {UnknownName('system', name, [*known, *known.values()])}"])
    return system


def _gpu(prices: Prices, gpus: Sequence[Gpu]) -> str:
    """The id of the GPU that ``prices.gpu_hour_usd`` is the price of."""
    if prices.gpu is None:
        return _the_only("prices.gpu", "GPU", {gpu.id: gpu.name for gpu in gpus})
    if any(gpu.id == prices.gpu for gpu in gpus):
        return prices.gpu
    try:
        return resolve_gpu(prices.gpu).id
    except UnknownName as error:
        raise InvalidScenario([f"prices.gpu: {error}"]) from None


def _the_only(key: str, kind: str, offered: Mapping[str, str]) -> str:
    if len(offered) == 1:
        return next(iter(offered))
    raise InvalidScenario([f"{key}: say which {kind} the price belongs to, such as {_some(offered)}."])


def _some(offered: Iterable[str]) -> str:
    """The first few, as examples."""
    first = list(offered)[:3]
    return " or ".join([", ".join(first[:-1]), first[-1]]) if len(first) > 1 else (first or ["dgx_h100"])[0]
