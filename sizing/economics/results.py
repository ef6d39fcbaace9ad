"""The answer about money; every public field carries its label, unit, formula and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from sizing.base.choices import OptionalPart, Purchase
from sizing.base.frame import cells_of, frame_of
from sizing.base.quantity import Result, is_none, quantity
from sizing.economics.assumptions import Basis
from sizing.economics.dates import Age
from sizing.economics.fleet_results import BaseAndBurst, MixedCost, SpotFleet
from sizing.economics.present_value import Investment
from sizing.economics.views import PartName, Unavailable, ViewName

if TYPE_CHECKING:
    import pandas as pd

LensName = Literal["allocated", "used"]
"""What a figure counts: everything provisioned, idle hours included, or the share of it that is in use."""

AllCostsLow = Annotated[
    float | None,
    quantity("All costs per month, low", "USD/month", "every count and price at its low end", "Lower end."),
]
AllCostsHigh = Annotated[
    float | None,
    quantity(
        "All costs per month, high",
        "USD/month",
        "every count and price at its high end",
        "None where nothing bounds it.",
    ),
]
DateOfSource = Annotated[str, quantity("Date", help="As its source writes it.")]

BreakEvenOutcome = Literal["reached", "reached_on_a_flatter_day", "not_reached", "unknown"]
"""Whether what is provisioned serves enough to break even: on a day shaped like the planned one; only where its load
were spread more evenly; not even at full load day and night; or unknown because a price is."""


class UnitCost(Result):
    """Money per request and per million tokens, the whole cost each time: they are not to be added."""

    usd_per_request: Annotated[
        float, quantity("Cost per request", "USD", "USD per month / requests", "One mean request.")
    ]
    usd_per_million_input_tokens: Annotated[
        float,
        quantity(
            "Cost per million input tokens", "USD", "USD per month / input tokens x 10^6", "All of the cost on prompts."
        ),
    ]
    usd_per_million_output_tokens: Annotated[
        float,
        quantity(
            "Cost per million output tokens",
            "USD",
            "USD per month / output tokens x 10^6",
            "All of the cost on answers.",
        ),
    ]
    usd_per_million_blended_tokens: Annotated[
        float,
        quantity(
            "Cost per million tokens",
            "USD",
            "USD per month / (input + output tokens) x 10^6",
            "Prompt and answer together.",
        ),
    ]


class Lens(Result):
    """The cost of a month in one sense, and per unit at the load of the day."""

    name: Annotated[
        LensName,
        quantity(
            "Lens",
            help="allocated: everything provisioned, idle hours included, to compare with an API; used: the share in "
            "use.",
        ),
    ]
    usd_per_month: Annotated[
        float,
        quantity("Cost per month", "USD/month", "sum of the parts; used: x utilisation", "In the sense of the lens."),
    ]
    per_unit: Annotated[UnitCost, quantity("Per unit", help="At the requests and tokens of the day.")]


class WayToPay(Result):
    """The same load served by what is bought, rented, mixed, behind an API, or with some requests sent elsewhere."""

    name: Annotated[
        ViewName,
        quantity(
            "Way",
            help="on_prem, cloud and hybrid on the GPUs of the plan, cloud_best or on_prem_best on those that cost "
            "least there, cloud_hours in the window of a batch, api, api_cheapest, api_median, or blended.",
        ),
    ]
    gpu: Annotated[str, quantity("GPU", help="Its id; empty behind an API.")]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "as planned", "That run the model, spares included.")]
    unavailable: Annotated[
        Unavailable | None, quantity("Not known because", help="Why it has no cost, None where it has one.")
    ]
    usd_per_month: Annotated[
        float | None, quantity("All costs per month", "USD/month", "sum of the parts", "Central estimate.")
    ]
    low: AllCostsLow
    high: AllCostsHigh
    hardware_and_power_usd_per_month: Annotated[
        float | None,
        quantity(
            "Hardware and power only",
            "USD/month",
            "all parts but switches, storage, support, capital charge, licences and staff",
            "What a quote for servers or instances comes to.",
        ),
    ]
    parts: Annotated[
        dict[PartName, float],
        quantity("Parts", "USD/month", "see sizing.economics.on_prem, cloud, hybrid and api", "What the cost is for."),
    ]
    system: Annotated[str, quantity("System", help="Server, instance type, or model at a provider.")]
    place: Annotated[str, quantity("Region", help="Region of rented instances.")]
    payment: Annotated[
        Purchase | None,
        quantity("Payment term", help="How rented instances are paid for, in a hybrid its burst; None elsewhere."),
    ]
    systems: Annotated[
        float | None,
        quantity("Systems", "systems", "whole systems; a hybrid: base + mean of the burst", "What is provisioned."),
    ]
    utilization: Annotated[
        float | None,
        quantity(
            "Utilisation",
            "fraction",
            "requests of the month / requests it could serve",
            "None where nothing is provisioned that could stand idle, as behind an API.",
        ),
    ]
    energy_kwh_per_month: Annotated[
        float | None, quantity("Energy", "kWh/month", "kW x mean share x PUE x 730 h", "Cooling and losses included.")
    ]
    carbon_kg_per_month: Annotated[
        float | None,
        quantity(
            "Carbon", "kg CO2e/month", "kWh x g/kWh / 1000", "By the grid of the region; None where that is not known."
        ),
    ]


class BreakEvenAt(Result):
    """The load from which what is provisioned is the cheaper way."""

    outcome: Annotated[
        BreakEvenOutcome,
        quantity(
            "Break-even",
            help="reached on a day like the planned one, reached_on_a_flatter_day, not_reached even at full load day "
            "and night, or unknown because a price is.",
        ),
    ]
    requests_per_day: Annotated[
        float | None,
        quantity(
            "Break-even", "requests/day", "USD per month / USD per request / (365 / 12)", "None unless it is reached."
        ),
    ]
    utilization: Annotated[
        float | None,
        quantity(
            "Break-even utilisation",
            "fraction",
            "requests at break-even / requests it could serve",
            "Of day and night.",
        ),
    ]


class LoadRange(Result):
    """Loads between which one way costs less than another."""

    from_requests_per_day: Annotated[
        float | None,
        quantity(
            "From", "requests/day", "where the costs cross", "None: from the least load that is looked at, a fiftieth."
        ),
    ]
    to_requests_per_day: Annotated[
        float | None,
        quantity(
            "To",
            "requests/day",
            "where the costs cross",
            "None: up to the largest load that is looked at, three times.",
        ),
    ]


class BreakEvens(Result):
    """Break-even against the other ways."""

    api: Annotated[
        BreakEvenAt, quantity("Against an API", help="What is provisioned in the chosen way against paying by token.")
    ]
    renting: Annotated[
        BreakEvenAt,
        quantity(
            "Owning against renting",
            help="Systems of one's own against instances that run only while needed, on demand.",
        ),
    ]
    api_ranges: Annotated[
        tuple[LoadRange, ...] | None,
        quantity(
            "Cheaper than an API",
            help="Requests a day between which the chosen way costs less than the API, each load with the systems it "
            "needs; several where systems are added. None where a price is not known, and for a hybrid.",
        ),
    ]
    renting_ranges: Annotated[
        tuple[LoadRange, ...] | None,
        quantity(
            "Owning cheaper than renting",
            help="Requests a day between which systems of one's own cost less than rented instances of the same GPUs, "
            "as the scenario pays for them. None where a price is not known.",
        ),
    ]


class ApiOffer(Result):
    """The month behind one API."""

    provider: Annotated[str, quantity("Provider", help="Who sells it.")]
    model: Annotated[str, quantity("Model", help="As the provider calls it.")]
    input_usd_per_mtok: Annotated[float, quantity("Input tokens", "USD/million tokens", "list price", "New ones.")]
    cached_input_usd_per_mtok: Annotated[
        float, quantity("Cached input tokens", "USD/million tokens", "list price", "As new ones where none is listed.")
    ]
    output_usd_per_mtok: Annotated[float, quantity("Output tokens", "USD/million tokens", "list price", "Generated.")]
    usd_per_month: Annotated[
        float, quantity("Cost per month", "USD/month", "tokens of the month x price", "At the load of the plan.")
    ]
    source: Annotated[str, quantity("Source", help="Where the prices come from.")]
    date: DateOfSource


CountedParts = Literal["full", "partly", "hardware_and_power"]
"""What a cost counts: every part, all but some that the scenario leaves out, or hardware and power only."""


class CostSource(Result):
    """Where a price or constant comes from."""

    what: Annotated[str, quantity("What", help="The price or constant.")]
    source: Annotated[str, quantity("Source", help="Where it comes from.")]
    date: DateOfSource
    age: Annotated[
        Age,
        quantity(
            "Age",
            help="stale: older than 90 days; unclear: its date is not exact enough to say; undated; fresh; given: of "
            "the scenario, and not known to be old.",
        ),
    ]


class CostConstant(Result):
    """One constant of the cost model."""

    name: Annotated[str, quantity("Constant", help="Its key in a scenario, under costs.")]
    meaning: Annotated[str, quantity("Meaning", help="What it is.")]
    unit: Annotated[str, quantity("Unit", help="Unit of the value.")]
    value: Annotated[
        float | None, quantity("Value", "see unit", "scenario, else cost_assumptions.yaml", "None: not known.")
    ]
    low: Annotated[float | None, quantity("Low", "see unit", "ends of what sources give", "Lower end.")]
    high: Annotated[float | None, quantity("High", "see unit", "ends of what sources give", "Upper end.")]
    basis: Annotated[
        Basis, quantity("Basis", help="scenario, sourced, chosen without a source, left_out, or gap: not known.")
    ]
    source: Annotated[str, quantity("Source", help="Where it comes from, or why it was chosen.")]
    date: Annotated[str, quantity("Date", help="Date of the source.")]
    published: Annotated[
        float | None,
        quantity("Published", "see unit", "as published", "Where the scenario says otherwise or leaves it out."),
    ]
    published_by: Annotated[str, quantity("Published by", help="Who says so; empty where nobody does.")]
    published_date: Annotated[str, quantity("Published on", help="When; empty where nobody does.")]


class StagesBeside(Result):
    """What the stages of a pipeline take beside the language model, whose cost it is not part of."""

    gpus: Annotated[int, quantity("GPUs of the stages", "GPUs", "see the plan", "Those on idle GPUs included.")]
    usd_per_month: Annotated[
        float | None, quantity("Hardware of the stages", "USD/month", "see the plan", "None where it is not known.")
    ]
    power_kw: Annotated[
        float | None, quantity("Power of the stages", "kW", "see the plan", "None where it is not known.")
    ]


class CostAnswer(Result):
    """What a plan costs a month by each way to pay, over months, and against an API."""

    answer: Annotated[str, quantity("Answer", help="The finding in a few sentences.")]
    usd_per_month: Annotated[
        float | None,
        quantity(
            "All costs per month",
            "USD/month",
            "sum of the parts",
            "In the way that the scenario chose, everything provisioned.",
        ),
    ]
    low: AllCostsLow
    high: AllCostsHigh
    parts: Annotated[
        dict[PartName, float], quantity("Parts", "USD/month", "see the chosen way", "What the cost is for.")
    ]
    stages: Annotated[
        StagesBeside | None,
        quantity("Stages of the pipeline", help="Beside the cost of the language model; None without a pipeline."),
    ]
    counted: Annotated[
        CountedParts,
        quantity("Counted", help="full, partly where the scenario leaves parts out, or hardware_and_power only."),
    ]
    hardware_and_power_usd_per_month: Annotated[
        float | None,
        quantity(
            "Hardware and power only",
            "USD/month",
            "all parts but switches, storage, support, capital charge, licences and staff",
            "In the way that the scenario chose.",
        ),
    ]
    left_out: Annotated[tuple[OptionalPart, ...], quantity("Left out", help="Parts that the scenario leaves out.")]
    investment: Annotated[
        Investment | None, quantity("Investment", help="Purchases, cash flow and present value; None where unknown.")
    ]
    api_offers: Annotated[
        tuple[ApiOffer, ...], quantity("API offers", help="Every offer that prices the model, the cheapest first.")
    ]
    documents_per_month: Annotated[
        float | None,
        quantity(
            "Documents a month", "documents/month", "requests / requests per document", "None where somebody waits."
        ),
    ]
    usd_per_document: Annotated[
        float | None, quantity("Cost per document", "USD", "USD per month / documents", "Lens: allocated.")
    ]
    cash: Annotated[
        tuple[float, ...],
        quantity(
            "36 months",
            "USD/month",
            "cost at load x (1 + growth)^(month / 12), whole systems",
            "One figure for each month.",
        ),
    ]
    cash_low: Annotated[
        tuple[float, ...],
        quantity("36 months, low", "USD/month", "every count and price at its low end", "Lower end of each month."),
    ]
    cash_high: Annotated[
        tuple[float | None, ...],
        quantity(
            "36 months, high", "USD/month", "every count and price at its high end", "None where nothing bounds it."
        ),
    ]
    usd_per_million_output_tokens: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens",
            "USD",
            "USD per month / output tokens of the month x 10^6",
            "Lens: allocated.",
        ),
    ]
    usd_per_million_output_tokens_low: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens, low", "USD", "USD per month, low / output tokens x 10^6", "Lower end."
        ),
    ]
    usd_per_million_output_tokens_high: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens, high", "USD", "USD per month, high / output tokens x 10^6", "Upper end."
        ),
    ]
    break_even: Annotated[BreakEvens, quantity("Break-even", help="From where on the chosen way is the cheaper one.")]
    lens: Annotated[
        LensName, quantity("Lens", help="Sense of the figures above: everything provisioned, idle hours included.")
    ]
    sources: Annotated[
        tuple[CostSource, ...], quantity("Sources", help="Every price and constant with source, date and age.")
    ]
    location: Annotated[ViewName, quantity("Way", help="The way that the scenario chose.")]
    lenses: Annotated[
        tuple[Lens, ...], quantity("Lenses", help="The chosen way: everything provisioned, and what is in use.")
    ]
    full_load: Annotated[UnitCost | None, quantity("At full load", help="As if the planned peak lasted day and night.")]
    at_capacity: Annotated[
        UnitCost | None,
        quantity(
            "At capacity",
            help="As if everything provisioned served all that it can, day and night: what is used costs this.",
        ),
    ]
    marginal: Annotated[
        UnitCost | None,
        quantity(
            "Marginal", help="Of further requests that need the next system, busy over the day as the others are."
        ),
    ]
    ways: Annotated[
        tuple[WayToPay, ...], quantity("Ways", help="The same capacity bought, rented, mixed and behind an API.")
    ]
    spot: Annotated[
        SpotFleet | None,
        quantity(
            "Spot",
            help="Instances through interruptions, and what is saved; left out where spot is not asked.",
            exclude_if=is_none,
        ),
    ] = None
    burst: Annotated[
        BaseAndBurst | None,
        quantity(
            "Base and burst", help="What the hybrid owns and rents; left out where it has no cost.", exclude_if=is_none
        ),
    ] = None
    mixed: Annotated[
        MixedCost | None,
        quantity(
            "Mixed fleet",
            help="Each fleet of the mix that all figures are of; left out where they are of the plan.",
            exclude_if=is_none,
        ),
    ] = None
    requests_per_day: Annotated[
        float, quantity("Requests a day", "requests/day", "as the plan's", "What units are counted by.")
    ]
    gpus: Annotated[
        int,
        quantity(
            "GPUs", "GPUs", "as the plan's", "GPUs that run the model, spares included; of a mix those of all fleets."
        ),
    ]
    assumptions: Annotated[tuple[CostConstant, ...], quantity("Constants", help="Every constant of the cost model.")]
    not_counted: Annotated[
        tuple[str, ...], quantity("Not counted", help="Constants of parts that the scenario leaves out: 0.")
    ]
    priced_on: Annotated[str, quantity("Priced on", help="Day against which ages are counted (ISO 8601).")]
    engine_version: Annotated[str, quantity("Engine version", help="Version of this engine.")]
    data_version: Annotated[str, quantity("Data version", help="Content hash and date of the catalogue.")]

    def to_frame(self) -> pd.DataFrame:
        """The ways to pay, a row each: USD per month with both ends, what is provisioned, kWh and kg CO2e per month,
        then the parts of the cost in USD per month as ``parts.NAME``, missing where a way has no such part.

        ``attrs["units"]`` has the unit of each column; where the prices come from is in :attr:`sources`.
        """
        rows = [cells_of(way) | {f"parts.{part}": usd for part, usd in way.parts.items()} for way in self.ways]
        return frame_of(rows, WayToPay)
