"""What the defaults leave out, where it costs something: formats that lose accuracy, GPUs without published benchmarks.

Of each kind the cheapest that the analytic screen has is held against what the screen has for what is considered, so
that either is as far from a simulation. Nothing is simulated: it is a hint what to look at, not an answer.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sizing.base.choices import PriceBasis, is_rented
from sizing.base.deployed import Deployed
from sizing.base.format import count, usd
from sizing.base.result import Candidate, Fix, LeftOut, LeftOutKind, PlanWarning
from sizing.base.units import HOURS_PER_MONTH
from sizing.catalog.engines import resolve_engine
from sizing.catalog.precisions import resolve_precision
from sizing.catalog.support import support
from sizing.catalog.system_rows import systems_for
from sizing.prices.hardware import HardwareOption
from sizing.prices.system_price import ASKED_OF_ANYBODY, BASIS_WORDS, system_price
from sizing.question.understand import Question, unmeasured_gpus
from sizing.search.aggregated import Aggregated, smallest_aggregated
from sizing.search.screen import all_offers, evaluate_all
from sizing.search.serving import Screened

WORTH_TELLING = 0.9
"""Share of the cost now below which what is left out is told. Chosen: a tenth is about what screen and simulation
differ by, and less than what a customer would change a format or a GPU type for."""

LESS = 0.98
"""Share of the cost of the plan below which an alternative is told to cost less. Chosen: what prices differ by in a
week."""

BRINGS: Mapping[str, Callable[[Deployed], bool]] = MappingProxyType(
    {
        "drafts, whose gain depends on the traffic": lambda one: one.speculation is not None,
        "pipeline stages": lambda one: any(kind.pp > 1 for kind in one.kinds),
        "prefill and decode apart": lambda one: one.pools is not None,
    }
)
"""What an alternative may bring with it that is worth it only where it saves enough, and which does."""

_LESS_SURE = "little room for the KV cache, several systems for an instance or software that is less tried"

_FIXES: dict[LeftOutKind, Fix] = {
    "lossy_formats": Fix(key="deployment.accurate_formats_only", value=False, label="Show it"),
    "unmeasured_gpus": Fix(key="deployment.measured_gpus_only", value=False, label="Show it"),
    "on_demand": Fix(key="costs.purchase", value="on_demand", label="Show it"),
}
_WORDS: dict[LeftOutKind, str] = {
    "lossy_formats": "weight formats that lose accuracy",
    "unmeasured_gpus": "GPUs without published benchmarks",
    "on_demand": "on demand, where no spot price is known",
}
_NUMBERS = {1: "A cheaper plan was", 2: "Two cheaper plans were", 3: "Three cheaper plans were"}


def left_out(screened: Screened, usd_per_month: float | None) -> tuple[LeftOut, ...]:
    """The cheapest of each kind that was left out, where it costs clearly less than the plan, ``usd_per_month``."""
    now = _cheapest(screened.together)
    if now is None or usd_per_month is None:
        return ()
    most = WORTH_TELLING * min(now.usd_per_month, usd_per_month)
    cheapest = [(kind, _cheaper(question, most)) for kind, question in _kinds(screened.question)]
    return tuple(
        LeftOut(kind=kind, configuration=one.label, hardware_usd_per_month=one.usd_per_month)
        for kind, one in cheapest
        if one is not None
    )


@dataclass(frozen=True, kw_only=True)
class _Cheapest:
    """What comes first of the deployments with a price; ``counted``: its cost in USD a month as it is ranked by."""

    label: str
    usd_per_month: float
    counted: float


def _cheaper(question: Question, most: float) -> _Cheapest | None:
    """What comes first of a question, where it costs less than ``most`` USD a month.

    A deployment takes a system at least, so that only GPUs that come in cheaper ones need a look: where none of these
    has a cheaper deployment, nothing has. Ranked by cost, one whose cost as it is ranked stays below comes before all
    on other GPUs, too, because no preference counts less than the cost itself. Else all are looked at.
    """
    each = zip(question.gpus, all_offers(question).by_gpu, strict=True)
    some = replace(question, gpus=tuple(gpu for gpu, offers in each if _least_usd_per_month(offers) < most))
    first = _first_of(some) if some.gpus else None
    if first is None or not first.usd_per_month < most:
        return None
    if question.scenario.deployment.objective == "cost" and first.counted < most:
        return first
    first = _first_of(question)
    return first if first is not None and first.usd_per_month < most else None


def _least_usd_per_month(offers: Sequence[HardwareOption]) -> float:
    """The least that one system of these costs at list price; infinite where no price is known."""
    return min((o.usd_per_hour * HOURS_PER_MONTH for o in offers if o.usd_per_hour is not None), default=math.inf)


def _first_of(question: Question) -> _Cheapest | None:
    return _cheapest(smallest_aggregated(question, evaluate_all(question)))


def about_left_out(cheaper: Sequence[LeftOut], usd_per_month: float | None) -> Iterator[PlanWarning]:
    """What was left out in one sentence, and the click that considers all of it."""
    if not cheaper:
        return
    named = " and ".join(
        f"{_WORDS[one.kind]} ({one.configuration}), about {usd(one.hardware_usd_per_month)}" for one in cheaper
    )
    fix, *also = (_FIXES[one.kind] for one in cheaper)
    yield PlanWarning(
        code="left_out",
        severity="info",
        source="analytic screen, nothing simulated",
        message=f"{_NUMBERS[len(cheaper)]} left out: {named} a month instead of {usd(usd_per_month)}.",
        fix=fix.model_copy(update={"also": tuple(also), "label": "Show them" if also else fix.label}),
    )


def about_cheaper(
    question: Question, planned: Deployed, usd_per_month: float | None, others: Sequence[Candidate]
) -> Iterator[PlanWarning]:
    """Alternatives that cost clearly less than the plan, where cost decides, and what they would bring with it: the
    factors of :mod:`sizing.search.preferences` that tell them from the plan."""
    if question.scenario.deployment.objective != "cost" or usd_per_month is None:
        return
    cheaper = [one for one in others if (one.hardware_usd_per_month or math.inf) < LESS * usd_per_month]
    if not cheaper:
        return
    deployed = [one.deployment for one in cheaper]
    brings = [words for words, has in BRINGS.items() if any(map(has, deployed)) and not has(planned)]
    if any(_over_pcie(question, one) for one in deployed) and not _over_pcie(question, planned):
        brings.append("tensor parallelism over PCIe")
    if any(one.weight_precision != planned.weight_precision for one in deployed):
        brings.append("weights in another format")
    if any(_undocumented(question, one) for one in deployed) and not _undocumented(question, planned):
        brings.append("software that no source says to run")
    least = min(cheaper, key=lambda one: one.hardware_usd_per_month or math.inf)
    name, price = question.gpu_name(least.deployment.gpu), usd(least.hardware_usd_per_month)
    some = (
        f"An alternative costs less, {price} a month ({name})"
        if len(cheaper) == 1
        else f"{count(len(cheaper))} alternatives cost less, from {price} a month ({name})"
    )
    yield PlanWarning(
        code="cheaper_alternatives",
        severity="info",
        source="product rule",
        message=f"{some}: too little to be preferred with {' or '.join(brings) or _LESS_SURE}.",
    )


def _undocumented(question: Question, one: Deployed) -> bool:
    """Whether no source says that the engine runs the model in this format on this GPU."""
    gpu = next(gpu for gpu in question.gpus if gpu.id == one.gpu)
    stated = support(resolve_engine(one.engine), gpu, question.model, resolve_precision(one.weight_precision))
    return stated.status == "unknown"


def _over_pcie(question: Question, one: Deployed) -> bool:
    """Whether tensor parallelism reaches beyond the GPUs that fast links join."""
    gpu = next(gpu for gpu in question.gpus if gpu.id == one.gpu)
    return any(kind.tp > gpu.linked_gpus for kind in one.kinds)


def _kinds(question: Question) -> Iterator[tuple[LeftOutKind, Question]]:
    """The question about what was left out alone, for each kind of it."""
    allowed = question.allowed
    if allowed.accuracy == "kept" and not allowed.precisions:
        yield "lossy_formats", replace(question, allowed=replace(allowed, accuracy="lost"))
    if unmeasured := unmeasured_gpus(question):
        yield "unmeasured_gpus", replace(question, gpus=unmeasured)
    scenario = question.scenario
    if scenario.deployment.location == "cloud" and scenario.costs.purchase == "spot":
        on_demand = scenario.costs.model_copy(update={"purchase": "on_demand"})
        yield "on_demand", replace(question, scenario=scenario.model_copy(update={"costs": on_demand}))


def _cheapest(kind: Aggregated) -> _Cheapest | None:
    """The first of the deployments with a price; None where none has one."""
    priced = np.flatnonzero(np.isfinite(kind.usd_per_hour))
    if not len(priced):
        return None
    first = kind.first(priced)
    return _Cheapest(
        label=kind.label(first),
        usd_per_month=float(kind.usd_per_hour[first]) * HOURS_PER_MONTH,
        counted=float(kind.counted()[first]) * HOURS_PER_MONTH,
    )


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
