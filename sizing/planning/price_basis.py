"""Which deployments of a ranking are priced on another basis than what sellers ask, in a sentence."""

from collections.abc import Iterable

from sizing.base.choices import PriceBasis, is_rented
from sizing.base.deployed import Deployed
from sizing.catalog.system_rows import systems_for
from sizing.prices.system_price import ASKED_OF_ANYBODY, BASIS_WORDS, system_price
from sizing.question.understand import Question


def other_bases(deployments: Iterable[Deployed], question: Question) -> str:
    """What is said below a table that ranks prices of several bases; empty where all are asked by sellers or typed, and
    where instances are rented."""
    if is_rented(question.scenario.deployment.location):
        return ""
    named: dict[str, str] = {}
    for deployed in deployments:
        basis = _basis(deployed, question)
        if basis is not None and basis not in ASKED_OF_ANYBODY:
            named[question.gpu_name(deployed.gpu)] = BASIS_WORDS[basis]
    if not named:
        return ""
    each = ", ".join(f"{name} ({words})" for name, words in named.items())
    return f"Priced on another basis than what sellers ask (retail, list), so not quite comparable: {each}."


def _basis(deployed: Deployed, question: Question) -> PriceBasis | None:
    """What the price of a system is, None where it is typed, unknown or not in the catalogue."""
    gpu = next((one for one in question.gpus if one.id == deployed.gpu), None)
    offered = () if gpu is None else systems_for(gpu)
    system = next((one for one in offered if one.name == deployed.system), None)
    if system is None:
        return None
    price = system_price(system, question.prices, question.gpu_prices.get(deployed.gpu))
    return price.basis_of_price if price.usd is not None else None
