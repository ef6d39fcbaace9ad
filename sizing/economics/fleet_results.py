"""What rented instances are beside a cost: spot instances through interruptions, and the burst above a base."""

from typing import Annotated, Literal

from sizing.base.quantity import Result, is_none, quantity

RateFrom = Literal["type", "other_types", "scenario"]
"""Whose interruptions these are: published of the instance type, of all types together, or stated in the scenario."""

CapacityFrom = Literal["published", "scenario"]
"""Where the time without capacity comes from."""

SplitBy = Literal["prompts", "phase"]
"""What tells the fleets of a mix apart: the length of prompts, or that one computes them and the other the answers."""


class SpotFleet(Result):
    """Spot instances that keep the limits while some are taken back, beside the same on demand."""

    system: Annotated[str, quantity("Instance", help="Type of the instances.")]
    needed: Annotated[int, quantity("Needed", "instances", "as planned", "What carries the load, whole instances.")]
    instances: Annotated[
        int,
        quantity(
            "Rented",
            "instances",
            "fewest that leave what is needed in all but the fullest zones that may be lost",
            "Those on top stand by for interruptions.",
        ),
    ]
    zones: Annotated[int, quantity("Zones", "zones", "up to spot_zones", "Over which they are spread evenly.")]
    zones_lost: Annotated[
        int, quantity("May be lost", "zones", "fewest that hold as often as asked", "At once, without a limit broken.")
    ]
    interrupted_percent_per_month: Annotated[
        float, quantity("Taken back", "% a month", "scenario, else published", "Instances that are taken back.")
    ]
    rate_from: Annotated[
        RateFrom, quantity("Taken back, from", help="type: published of it; other_types: of all types; scenario.")
    ]
    start_up_minutes: Annotated[
        float, quantity("Start-up", "minutes", "as for a burst", "Until what takes its place serves.")
    ]
    short_minutes_per_month: Annotated[
        float,
        quantity(
            "Short",
            "minutes/month",
            "P(Binomial(zones, u) > zones lost) x 43,800, u = r t / (1 + r t)",
            "In which too few run.",
        ),
    ]
    held: Annotated[bool, quantity("Held", help="Whether enough run in the share of the time that is asked.")]
    without_capacity_percent: Annotated[
        float, quantity("Without capacity", "% of the time", "scenario, else published", "Rented on demand meanwhile.")
    ]
    capacity_from: Annotated[
        CapacityFrom, quantity("Without capacity, from", help="published: of an older GPU; scenario: as it states.")
    ]
    on_demand_known: Annotated[
        bool, quantity("On demand", help="Whether somebody rents the same on demand: what takes their place.")
    ]
    usd_per_month: Annotated[
        float,
        quantity("Rent", "USD/month", "N ((1 - d) spot + d on demand) x 730", "Expected, without licence and staff."),
    ]
    on_demand_usd_per_month: Annotated[
        float, quantity("On demand", "USD/month", "n x on demand x 730", "Rent of what is needed, on demand.")
    ]
    saved_share: Annotated[
        float, quantity("Saved", "fraction", "1 - rent / on demand", "Below 0 where spot costs more.")
    ]
    validated: Annotated[bool, quantity("Validated", help="Whether measurements of this GPU say how far to trust it.")]
    source: Annotated[str, quantity("Source", help="Of the instances taken back.")]
    date: Annotated[str, quantity("Date", help="Of that source.")]


class BaseAndBurst(Result):
    """What a hybrid owns and what it rents over a day."""

    base_instances: Annotated[
        int, quantity("Base", "instances", "least cost over the day", "Instances of the model that always run.")
    ]
    base_systems: Annotated[int, quantity("Base systems", "systems", "whole systems of the base", "Owned or reserved.")]
    burst_instances: Annotated[
        int, quantity("Burst", "instances", "busiest hour - base", "Rented at most at any moment.")
    ]
    burst_system: Annotated[str, quantity("Rented", help="Instance type of the burst; empty without one.")]
    burst_hours: Annotated[
        float, quantity("Burst hours", "h/month", "sum over the day, start-up included", "Paid for on demand.")
    ]
    start_up_minutes: Annotated[
        float, quantity("Ordered ahead", "minutes", "start-up time", "So that the burst serves when it is needed.")
    ]
    worth_owning_share: Annotated[
        float | None,
        quantity(
            "Worth owning",
            "share of the hours",
            "base USD per GPU and month / on demand USD per GPU and month",
            "Newsvendor: what is needed in more of the hours is cheaper in the base. None without a price.",
        ),
    ]


class FleetOfMix(Result):
    """One fleet of a mix, in the way that the scenario chose."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    name: Annotated[str, quantity("GPU name", help="What the accelerator is called.")]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "as planned", "That run the model, spares included.")]
    system: Annotated[str, quantity("System", help="Server or instance type.")]
    place: Annotated[str, quantity("Region", help="Region of rented instances.")]
    systems: Annotated[
        float | None,
        quantity("Systems", "systems", "whole systems; a hybrid: base + mean of the burst", "Provisioned."),
    ]
    usd_per_month: Annotated[
        float,
        quantity(
            "Cost per month", "USD/month", "sum of the parts but staff", "Staff is stated of all fleets together."
        ),
    ]
    spot: Annotated[
        SpotFleet | None,
        quantity("Spot", help="Of spot instances, what interruptions take; left out otherwise.", exclude_if=is_none),
    ] = None


class MixedCost(Result):
    """What a mixed fleet costs beside one fleet for all, in the way that the scenario chose."""

    by: Annotated[
        SplitBy,
        quantity("Split by", help="prompts: their length; phase: prefill and decode, through which all requests go."),
    ]
    fleets: Annotated[
        tuple[FleetOfMix, ...],
        quantity("Fleets", help="In the order of the prompts that they take; prefill, then decode."),
    ]
    one_fleet_usd_per_month: Annotated[
        float | None,
        quantity("One fleet", "USD/month", "sum of the parts", "All costs of the plan, which is one fleet for all."),
    ]
    usd_over_months: Annotated[
        float | None, quantity("36 months", "USD", "sum of the months", "Of the mix, all costs; None where unknown.")
    ]
    one_fleet_usd_over_months: Annotated[
        float | None, quantity("One fleet, 36 months", "USD", "sum of the months", "Of the plan; None where unknown.")
    ]
