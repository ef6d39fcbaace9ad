"""Warnings about the kind of hardware that is chosen: for whom it is made, what it needs, when it is to be had."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.base.constants import constant
from sizing.base.format import significant
from sizing.base.result import PlanWarning
from sizing.catalog import Gpu, System, gpus, lead_times, systems
from sizing.prices.hardware import HardwareOption

AIR_COOLED_RACK_KW = constant("air_cooled_rack_kw")

GEFORCE_LICENCE = "License for Customer Use of NVIDIA GeForce Software, section 2.1.3 (nvidia.com, read 2026-11-25)"


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
