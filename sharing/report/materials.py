"""The bill of materials: systems, their space, power and links, the network and storage that they need, software."""

from collections.abc import Iterator

from sharing.report.answer import instances
from sharing.report.content import Block, Cell, Column, Paragraph, Section, Table
from sharing.report.names import engine_name, gpu_name, kv_name, precision_name
from sharing.report.subject import ReportSubject
from sizing.base.choices import PowerFrom
from sizing.base.deployed import Deployed
from sizing.base.errors import UnknownName
from sizing.base.format import count, counted, kilowatts, significant, stated
from sizing.catalog.system import System
from sizing.catalog.system_rows import resolve_system, systems_for
from sizing.mixed.text import MATERIALS_OF_ONE_FLEET

PORTS_PER_SYSTEM = 2
"""Ethernet ports of a server for users and storage. Chosen: one to either of two switches, of which one may fail."""

KEPT_CHECKPOINTS = 2
"""Checkpoints that local storage holds. Chosen: the one that serves, and the next, which is loaded beside it."""

POWER_FROM: dict[PowerFrom, str] = {
    "listed": "maximum of the whole system by its datasheet",
    "rule": "maximum power of its GPUs, with a rule for the rest",
    "unknown": "",
}
NOT_PUBLISHED = "not published: ask the vendor"


def materials(subject: ReportSubject) -> Section | None:
    """The chapter; None where nothing is deployed."""
    deployed = subject.plan.deployment
    if deployed is None:
        return None
    blocks: list[Block] = [_hardware(subject, deployed), _deployed(subject, deployed)]
    if subject.plan.mixed is not None and subject.plan.mixed.advised:
        blocks.insert(0, Paragraph(text=MATERIALS_OF_ONE_FLEET))
    return Section(key="materials", title="Bill of materials", blocks=tuple(blocks))


def _hardware(subject: ReportSubject, deployed: Deployed) -> Table:
    columns = (Column(label="Item"), Column(label="Each"), Column(label="In all"), Column(label="About it"))
    rows = [*_systems(subject, deployed), *_network(deployed), *_storage(subject, deployed)]
    return Table(title="What is rented" if _is_rented(subject) else "What is bought", columns=columns, rows=tuple(rows))


def _is_rented(subject: ReportSubject) -> bool:
    return subject.scenario.deployment.location == "cloud"


def _systems(subject: ReportSubject, deployed: Deployed) -> Iterator[tuple[Cell, ...]]:
    """Systems with their GPUs, and what they take where they are one's own."""
    each, systems, rented = deployed.gpus_bought // deployed.systems, deployed.systems, _is_rented(subject)
    yield "Instances to rent" if rented else "GPU systems", deployed.system, count(systems), _price(subject)
    yield (
        "GPUs",
        f"{count(each)} x {gpu_name(deployed.gpu, subject.question)}",
        count(deployed.gpus_bought),
        _used(deployed),
    )
    if rented:
        return
    system, power = _system(subject, deployed), subject.plan.cost and subject.plan.cost.power_kw
    height = system.rack_units if system else None
    if height:
        yield "Rack space", f"{stated(height)} U", f"{stated(height * systems)} U", "without switches and patch panels"
    else:
        yield "Rack space", None, None, NOT_PUBLISHED
    if power and subject.plan.cost is not None:
        source = POWER_FROM[subject.plan.cost.power_from]
        by_rule = subject.plan.cost.power_from == "rule"
        budget = tuple(kilowatts(one, estimated=by_rule) for one in (power / systems, power))
        yield "Power", *budget, source
        medium = f", carried away by {system.cooling}" if system and system.cooling else ""
        yield "Cooling", *budget, f"all power becomes heat{medium}"
    else:
        yield "Power and cooling", None, None, NOT_PUBLISHED


def _used(deployed: Deployed) -> str:
    """How many of the GPUs work, stand by and run nothing."""
    parts = [f"{count(deployed.gpus - deployed.spare_gpus)} carry the load"]
    if deployed.spare_gpus:
        parts.append(f"{count(deployed.spare_gpus)} stand by")
    if idle := deployed.idle_gpus:
        parts.append(f"{count(idle)} left for growth")
    return ", ".join(parts)


def _price(subject: ReportSubject) -> str:
    """What the systems cost to buy, or to rent for a month."""
    cost, deployed = subject.plan.cost, subject.plan.deployment
    if not subject.shows_money or cost is None or deployed is None:
        return ""
    if cost.purchase_usd is not None:
        each = f", {subject.written(cost.system_usd)} each" if deployed.systems > 1 else ""
        return f"{subject.written(cost.purchase_usd)} to buy{each}"
    if cost.hardware_usd_per_month is not None:
        return f"{subject.written(cost.hardware_usd_per_month)} a month"
    return "price not known"


def _system(subject: ReportSubject, deployed: Deployed) -> System | None:
    """The planned system as the catalogue has it; None for one that it does not have."""
    try:
        return resolve_system(deployed.system)
    except UnknownName:
        gpu = next((one for one in subject.question.gpus if one.id == deployed.gpu), None)
        offered = systems_for(gpu) if gpu else ()
        return next((one for one in offered if one.name == deployed.system), None)


def _network(deployed: Deployed) -> Iterator[tuple[Cell, ...]]:
    """What joins GPUs within a system, systems to each other, and systems to users."""
    each = deployed.gpus_bought // deployed.systems
    largest = max(one.gpus // one.instances for one in deployed.kinds)
    if largest > each:
        over = -(-largest // each)
        yield (
            "Network between systems",
            f"RDMA, one port per GPU ({count(each)})",
            f"{count(deployed.gpus_bought)} ports",
            (f"an instance spans {count(over)} systems: InfiniBand or RoCE without blocking"),
        )
    elif deployed.pools and deployed.systems > 1:
        yield (
            "Network between systems",
            f"RDMA, one port per GPU ({count(each)})",
            f"{count(deployed.gpus_bought)} ports",
            ("the KV cache of a prompt goes from prefill to decode instances: InfiniBand or RoCE"),
        )
    else:
        yield "Network between systems", "none", "none", "every instance stays within one system"
    ports = count(PORTS_PER_SYSTEM * deployed.systems)
    yield (
        "Network to users and storage",
        f"{PORTS_PER_SYSTEM} Ethernet ports",
        f"{ports} ports",
        ("to two switches, so that one may fail"),
    )


def _storage(subject: ReportSubject, deployed: Deployed) -> Iterator[tuple[Cell, ...]]:
    """Room for checkpoints in every system."""
    one = subject.plan.per_instance
    if one is None:
        return
    kept = KEPT_CHECKPOINTS * one.weights_gb
    yield (
        "Local storage for models",
        f"{significant(kept)} GB",
        f"{significant(kept * deployed.systems)} GB",
        (f"two checkpoints of {significant(one.weights_gb)} GB: the one that serves, and the next"),
    )


def _deployed(subject: ReportSubject, deployed: Deployed) -> Table:
    """The table of what runs on the hardware: model, formats, engine and layout of the instances."""
    rows = [
        ("Model", subject.question.model.id),
        ("Weight format", precision_name(deployed.weight_precision)),
        ("KV-cache format", kv_name(deployed.kv_precision)),
        ("Serving engine", engine_name(deployed.engine)),
        ("Instances", instances(deployed)),
        ("Spare instances", count(deployed.spare_instances)),
    ]
    if deployed.batch_limit is not None:
        rows.append(("Batch limit", f"{counted(deployed.batch_limit, 'request')} in flight per instance"))
    if adapters := deployed.adapters:
        slots = f"{count(adapters.resident)} of {count(adapters.number)} in the memory of each instance"
        rows.append(("Adapters", f"{slots}, rank {adapters.rank} at most"))
    columns = (Column(label="What"), Column(label="Value"))
    return Table(title="What runs on it", columns=columns, rows=tuple(rows))
