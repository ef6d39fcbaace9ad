"""Warnings about the chosen hardware: parallelism and links, prices, idle GPUs.

And about its kind: for whom it is made, what it needs, when it is to be had.
"""

from collections.abc import Iterator

from sizing.base.choices import PriceBasis
from sizing.base.constants import DECK, constant
from sizing.base.deployed import Deployed
from sizing.base.format import count, significant, usd
from sizing.base.result import Fix, PlanWarning
from sizing.base.units import BILLION, HOURS_PER_MONTH
from sizing.catalog import Gpu, System, gpus, lead_times, systems
from sizing.catalog.payment_terms import TERMS
from sizing.deployments.layouts import TP_SIZES
from sizing.prices.hardware import HardwareOption
from sizing.prices.packing import systems_for_both
from sizing.prices.system_price import ASKED_OF_ANYBODY, BASIS_WORDS, as_sellers_ask, asked_over_asp
from sizing.question.configuration import Configuration
from sizing.question.understand import Question

NVLINK_TP = constant("nvlink_preferred_tp")

NVLINK_PARAMS = constant("nvlink_preferred_params_b") * BILLION

SERVER_GPUS = 8
"""The most GPUs that one server holds; a larger scale-up domain is a rack."""

AIR_COOLED_RACK_KW = constant("air_cooled_rack_kw")

WORTH_GIVING_BACK = 1.1
"""How many times as long as its window a batch pays for before that is said. Chosen: prices are known to a tenth."""

GEFORCE_LICENCE = "License for Customer Use of NVIDIA GeForce Software, section 2.1.3 (nvidia.com, read 2026-11-25)"


def about_hardware(question: Question, row: Configuration, option: HardwareOption) -> Iterator[PlanWarning]:
    """Rules on parallelism and links."""
    yield from _about_links(question, row)
    yield from _about_spans(question, row, option)


def _about_links(question: Question, row: Configuration) -> Iterator[PlanWarning]:
    """Instances whose GPUs talk over PCIe; one GPU talks to none."""
    gpu, model = row.gpu, question.model
    if row.tp > NVLINK_TP and not gpu.has_fast_link:
        yield PlanWarning(
            code="tp_without_nvlink",
            severity="warning",
            source=DECK,
            message=f"Each instance is split over {row.tp} GPUs (TP{row.tp}) that only PCIe connects: for more than "
            "two, GPUs with NVLink (HGX, DGX) are strongly preferred.",
            fix=Fix(key="deployment.tp", value=[1, 2], label="Split over two GPUs at most"),
        )
    elif row.tp > max(gpu.domain_gpus, NVLINK_TP):
        yield PlanWarning(
            code="tp_beyond_bridge",
            severity="warning",
            source=DECK,
            message=f"Each instance is split over {row.tp} GPUs (TP{row.tp}), but NVLink connects only "
            f"{gpu.domain_gpus}: the exchange between them crosses PCIe.",
            fix=Fix(key="deployment.tp", value=[1, gpu.domain_gpus], label=f"Stay within {gpu.domain_gpus} GPUs"),
        )
    if row.gpus > 1 and model.params_total > NVLINK_PARAMS and not gpu.has_fast_link:
        yield PlanWarning(
            code="large_model_on_pcie",
            severity="warning",
            source=DECK,
            message=f"{model.id} has {significant(model.params_total / BILLION)} billion parameters: above 13 "
            "billion, GPUs with NVLink are preferred to PCIe cards.",
        )


def _about_spans(question: Question, row: Configuration, option: HardwareOption) -> Iterator[PlanWarning]:
    """Instances whose parallelism does not go with the model or the server."""
    gpu, model = row.gpu, question.model
    if model.attention != "mla" and model.kv_heads % row.tp:
        yield PlanWarning(
            code="tp_not_dividing_kv_heads",
            severity="warning",
            source="vLLM and TensorRT-LLM replicate KV heads when TP exceeds them",
            message=f"{_undivided(row.tp, model.kv_heads)}: KV memory is wasted.",
            fix=_dividing_tp(question),
        )
    in_one_rack = row.gpus <= gpu.domain_gpus and gpu.domain_gpus > SERVER_GPUS
    if row.gpus > option.gpus and not in_one_rack:
        yield PlanWarning(
            code="instance_spans_servers",
            severity="warning",
            source=DECK,
            message=f"One instance needs {row.gpus} GPUs and spans several servers: it depends on the network "
            f"between them.",
        )


def _undivided(tp: int, kv_heads: int) -> str:
    """What becomes of KV heads that a TP group cannot share evenly."""
    if kv_heads == 1:
        return f"The model has a single KV head, of which each of the {tp} GPUs of a TP group keeps a copy"
    return f"TP{tp} does not divide the {kv_heads} KV heads, so that heads are copied"


def _dividing_tp(question: Question) -> Fix | None:
    """Restrict TP to the sizes that divide the KV heads."""
    sizes = [t for t in TP_SIZES if question.model.kv_heads % t == 0]
    return Fix(key="deployment.tp", value=list(sizes), label=f"Consider only TP {', '.join(map(str, sizes))}")


def about_purchase(question: Question, deployed: Deployed, option: HardwareOption) -> Iterator[PlanWarning]:
    """Price, spares and idle GPUs."""
    if question.scenario.deployment.location == "hybrid":
        yield PlanWarning(
            code="hybrid_as_on_prem",
            severity="warning",
            source="cost model",
            message="The hardware of a hybrid is priced here as if all of the peak were owned: what is owned and what "
            "is rented when, with its price, is in the cost over years.",
        )
    yield from _about_window(question, deployed, option)
    yield from _about_price(question, option)
    yield from about_kind(option)
    if option.assumed:
        yield PlanWarning(
            code="system_assumed",
            severity="info",
            source=DECK,
            message=f"Nothing with {option.gpus} x {question.gpu_name(deployed.gpu)} is in the catalogue: results are "
            f"for {_assumed(option)}.",
        )
    yield from _about_room(question, deployed, option)


def _assumed(option: HardwareOption) -> str:
    """What is assumed in place of what is not in the catalogue."""
    if option.gpus == 1 and (gpu := gpus().get(option.gpu_id)) is not None and gpu.processor:
        return "the machine itself, as its processors and memory are sold"
    kind = "server" if option.kind == "system" and option.racked else "workstation" if not option.racked else "instance"
    return f"{'an' if option.gpus in (8, 11, 18) else 'a'} {option.gpus}-GPU {kind} that is assumed"


def _about_window(question: Question, deployed: Deployed, option: HardwareOption) -> Iterator[PlanWarning]:
    """A batch on instances that nothing is committed to, which it needs for part of the month alone."""
    scenario, hourly = question.scenario, option.usd_per_hour
    batch, term = scenario.workload.batch, TERMS[scenario.costs.purchase]
    if batch is None or hourly is None or scenario.deployment.location != "cloud" or term.commits:
        return
    hours = batch.hours_per_month
    if hours < HOURS_PER_MONTH / WORTH_GIVING_BACK:
        yield PlanWarning(
            code="batch_window",
            severity="warning",
            source="cost model",
            message=f"The price is that of a whole month, the batch runs {significant(hours)} h of it: instances that "
            f"are rented for its window alone take {usd(hourly * deployed.systems * hours)} a month, start-up aside.",
        )


def _about_price(question: Question, option: HardwareOption) -> Iterator[PlanWarning]:
    """A price that is unknown, partly by rule, or of another basis than those that it is compared with."""
    if option.price_basis is not None and option.price_basis not in ASKED_OF_ANYBODY:
        beside = ", while other GPUs are compared at retail and list prices" if len(question.gpus) > 1 else ""
        yield PlanWarning(
            code="price_basis",
            severity="warning",
            source=option.source,
            message=f"The price of {option.name} rests on {_a_basis(option.price_basis)}, not on what a "
            f"seller asks{beside}{_put_as_asked(option.price_basis, alone=not beside)}",
        )
    if option.priced_by == "unknown":
        yield PlanWarning(
            code="price_unknown",
            severity="warning",
            source=option.source,
            message=f"No list price is known for {option.name}{_by_its_payment(option)}: enter one to see cost and to "
            "rank it by cost.",
        )
    elif option.priced_by == "rule":
        yield PlanWarning(
            code="price_by_rule",
            severity="info",
            source=option.source,
            message=f"The price of {option.name} is an estimate: its GPUs at their price, chassis, CPUs, memory and "
            "network by rule. Its maker quotes it on request: enter that price.",
        )


def _by_its_payment(option: HardwareOption) -> str:
    """How it is to be paid for, where that is asked."""
    return "" if option.payment is None else f", {TERMS[option.payment].words}"


def _put_as_asked(basis: PriceBasis, *, alone: bool) -> str:
    """How it is made comparable with what sellers ask, where that is known; ``alone`` where nothing is compared."""
    enter = "enter the price you are quoted."
    if basis != "asp":
        return f": {enter}"
    words = as_sellers_ask()
    first = "" if alone else f", and it comes first only where it is the cheaper at {asked_over_asp().high:.2f} times"
    return f". {words[0].upper()}{words[1:]}{first}: {enter}"


def _a_basis(basis: PriceBasis) -> str:
    """What a price is, with its article."""
    words = BASIS_WORDS[basis]
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


ONE_DOWN = "one is down, the peak no longer fits within the limits"
"""What no spare means where there are several instances."""


def _about_room(question: Question, deployed: Deployed, option: HardwareOption) -> Iterator[PlanWarning]:
    """GPUs that are bought and not used, or nothing to spare."""
    idle = _room_for_more(deployed, option)
    spares = question.scenario.deployment.spare_instances if deployed.pools else deployed.spare_instances
    if idle >= 1:
        yield PlanWarning(
            code="idle_gpus",
            severity="info",
            source="arithmetic",
            message=f"The systems hold {count(deployed.gpus_bought)} GPUs, {count(deployed.gpus)} "
            f"{'are' if deployed.gpus > 1 else 'is'} used: {idle} more "
            f"instance{'s' if idle > 1 else ''}{' of either kind' if deployed.pools else ''} would need no more "
            "hardware.",
            fix=Fix(
                key="deployment.spare_instances",
                value=spares + idle,
                label=f"Use {'them' if idle > 1 else 'it'} as spare",
            ),
        )
    elif deployed.spare_instances == 0 and deployed.single_points in ((), ("system",)):  # one instance: the answer
        yield PlanWarning(
            code="no_spare",
            severity="info",
            source="arithmetic",
            message=f"No spare instance: while {ONE_DOWN}.",
            fix=Fix(key="deployment.spare_instances", value=1, label="Add one spare instance"),
        )


def _room_for_more(deployed: Deployed, option: HardwareOption) -> int:
    """Instances, or pairs of a prefill and a decode instance, that the systems hold beyond those planned."""
    if not deployed.pools:
        each = deployed.tp * deployed.pp * deployed.dp
        return deployed.systems * (option.gpus // each) - deployed.instances
    (n_p, g_p), (n_d, g_d) = ((p.instances, p.tp * p.pp * p.dp) for p in deployed.pools)
    more = 0
    while systems_for_both((n_p + more + 1, g_p), (n_d + more + 1, g_d), option.gpus) <= deployed.systems:
        more += 1
    return more


def about_kind(option: HardwareOption) -> Iterator[PlanWarning]:
    """What holds for every plan on this accelerator and this system; of one's own accelerator nothing is known."""
    gpu = gpus().get(option.gpu_id)
    if gpu is None:
        return
    yield from _about_market(gpu, option)
    if gpu.status == "preliminary":
        yield PlanWarning(
            code="preliminary_hardware",
            severity="warning",
            source=f"{gpu.source} ({gpu.source_date})",
            message=f"{gpu.name} is announced, not sold: its figures are its maker's, nobody has measured it, and no "
            "engine is known to run on it.",
        )
    if option.kind == "system":
        yield from _about_site(systems().get(option.id), option)
        yield from _about_delivery(gpu)


def _about_market(gpu: Gpu, option: HardwareOption) -> Iterator[PlanWarning]:
    """Cards that are not made for a data centre."""
    if gpu.consumer:
        place = "a provider's data centre" if option.kind == "instance" else "a data centre"
        yield PlanWarning(
            code="consumer_card",
            severity="warning",
            source=GEFORCE_LICENCE,
            message=f"{gpu.name} is a card for players: the licence of its driver does not allow it in {place}.",
        )
    elif not option.racked:
        yield PlanWarning(
            code="workstation_only",
            severity="info",
            source=gpu.source,
            message=f"{option.name} is a workstation, not a server: it stands in no rack and has one power supply.",
        )


def _about_site(system: System | None, option: HardwareOption) -> Iterator[PlanWarning]:
    """What the data centre has to bring along: liquid, and power by the rack."""
    if system is not None and system.cooling == "liquid":
        yield PlanWarning(
            code="liquid_cooling",
            severity="warning",
            source=f"{system.source} ({system.source_date})",
            message=f"{option.name} is cooled by liquid: the data centre has to supply it.",
        )
    if option.power_kw is not None and option.power_kw > AIR_COOLED_RACK_KW:
        yield PlanWarning(
            code="rack_power",
            severity="warning",
            source="power of the system; constant air_cooled_rack_kw",
            message=f"{option.name} draws up to {significant(option.power_kw)} kW in one rack: above "
            f"{AIR_COOLED_RACK_KW:g} kW air no longer cools one, and few data centres have the power.",
        )


def _about_delivery(gpu: Gpu) -> Iterator[PlanWarning]:
    """How long it takes to get, as far as somebody has published it."""
    for one in (row for row in lead_times() if row.gpu_id == gpu.id):
        weeks = (
            f"is reported to take {one.weeks_low:g} to {one.weeks_high:g} weeks to be delivered"
            if one.weeks_low is not None and one.weeks_high is not None
            else ""
        )
        stated = f"is reported as {one.statement}" if one.statement else ""
        but = f" ({one.notes})" if one.notes else ""
        yield PlanWarning(
            code="lead_time",
            severity="info",
            source=f"{one.source} ({one.date})",
            message=f"{gpu.name} {' and '.join(part for part in (weeks, stated) if part)}{but}.",
        )
