"""Latency and cost of one deployment in an answer, and whom it serves."""

from typing import Annotated

from commandline.percentiles import key_of
from sizing.base.choices import PowerFrom, PriceBasis, PricedBy, Purchase
from sizing.base.quantity import Result, WithPercentiles, is_none, quantity


class Latency(WithPercentiles):
    """Percentiles over requests of one latency at the asked load; low and high are for the asked percentile.

    None where a measured record does not hold the value, and of ITL where an answer has one token. Not an
    :class:`sizing.base.quantity.Estimate` of each percentile: the interval is worked out for the asked one alone, and
    the answer's JSON names it so.
    """

    stated = "plan"

    percentiles: Annotated[
        tuple[float | None, ...], quantity("Percentiles", "ms", "see load model", "One for each that a plan states.")
    ]
    low: Annotated[float | None, quantity("Low", "ms", "80 % interval", "Lower end for the asked percentile.")]
    high: Annotated[
        float | None,
        quantity(
            "High",
            "ms",
            "80 % interval",
            "Upper end for the asked percentile; none when the load would then be unstable.",
        ),
    ]
    at_percentile: Annotated[
        float | None,
        quantity("Asked percentile", "ms", "see load model", "Value at the percentile of the limit.", alias="asked"),
    ]

    def at(self, percent: float) -> float | None:
        """The value in ms at one of the percentiles that a plan states. Raises ValueError for any other."""
        return self.percentiles[self.percents().index(percent)]

    def by_name(self) -> dict[str, float | None]:
        """The values in ms by the names of the percentiles: "p95"."""
        return dict(zip(map(key_of, self.percents()), self.percentiles, strict=True))


NO_LATENCY = Latency(percentiles=(None,) * len(Latency.percents()), low=None, high=None, at_percentile=None)
"""A latency that is not known, or that no request has, such as the ITL of answers of one token."""


class Latencies(Result):
    """Latency of a request at the peak load."""

    ttft_ms: Annotated[Latency, quantity("TTFT", "ms", "queue + prefill", "Time to first token.")]
    itl_ms: Annotated[
        Latency,
        quantity(
            "ITL",
            "ms",
            "(decode steps + prefill interruptions) / output tokens",
            "Mean gap between tokens of one request (TPOT); percentiles are over requests.",
        ),
    ]
    e2e_ms: Annotated[Latency, quantity("E2E", "ms", "TTFT + (OSL - 1) x ITL", "Time to last token.")]


class Cost(Result):
    """List cost of the deployment; None where no price is known."""

    basis: Annotated[str, quantity("Cost basis", help="What the figure covers and where the price comes from.")]
    priced_by: Annotated[
        PricedBy,
        quantity(
            "Price from",
            help="Where the price of a complete system comes from: asked, listed, rule (price of the GPUs, with "
            "chassis, CPUs, memory and network by rule) or unknown.",
        ),
    ] = "unknown"
    price_basis: Annotated[PriceBasis | None, quantity("Basis of the price", help="Retail, list, asp or other.")] = None
    price_dates: Annotated[tuple[str, ...], quantity("Dates of the price", help="Those of its sources.")] = ()
    payment: Annotated[
        Purchase | None,
        quantity(
            "Way to pay",
            help="Reserved or spot, where the scenario asks for it; left out on demand and where it is bought.",
            exclude_if=is_none,
        ),
    ] = None
    system_usd: Annotated[
        float | None,
        quantity(
            "Price per system",
            "USD",
            "asked, listed, or GPUs x price + chassis, CPUs, memory, network",
            "Price of one complete system.",
        ),
    ]
    purchase_usd: Annotated[float | None, quantity("Purchase", "USD", "systems x price", "List price of all systems.")]
    usd_per_hour: Annotated[
        float | None,
        quantity(
            "Cost per hour",
            "USD/h",
            "purchase / depreciation, or cloud list price",
            "Hardware cost per hour, whole systems.",
        ),
    ]
    hardware_usd_per_month: Annotated[
        float | None,
        quantity("Hardware per month", "USD/month", "USD/h x 730", "Hardware, nothing else.", alias="usd_per_month"),
    ]
    hardware_usd_per_month_low: Annotated[
        float | None,
        quantity(
            "Hardware per month, low",
            "USD/month",
            "USD/h at the lowest price x 730",
            "At the lowest of its prices.",
            alias="usd_per_month_low",
        ),
    ]
    hardware_usd_per_month_high: Annotated[
        float | None,
        quantity(
            "Hardware per month, high",
            "USD/month",
            "USD/h at the highest price x 730",
            "At the highest of its prices.",
            alias="usd_per_month_high",
        ),
    ]
    usd_per_million_output_tokens: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens",
            "USD",
            "USD/h x 24 h / output tokens a day x 10^6",
            "At the output tokens of a day: hardware costs through the night, too.",
        ),
    ]
    usd_per_million_output_tokens_at_full_load: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens at full load",
            "USD",
            "USD/h / output tokens/h at the peak load x 10^6",
            "As if the peak load lasted all day and all night: the least that a token can cost.",
        ),
    ] = None
    power_kw: Annotated[
        float | None,
        quantity(
            "Power",
            "kW",
            "systems x maximum power of a whole system",
            "Power budget of whole systems at their maximum.",
        ),
    ]
    power_from: Annotated[
        PowerFrom,
        quantity(
            "Power from",
            help="Where the power of a whole system comes from: listed, rule (TDP of the GPUs and a rule for the rest) "
            "or unknown.",
        ),
    ] = "unknown"
    source: Annotated[str, quantity("Price source", help="Source and date of the price.")]


class Business(Result):
    """What the deployment serves, in business terms."""

    requests_per_day: Annotated[
        float,
        quantity(
            "Requests a day",
            "requests",
            "sustained requests/s / peak to mean x 3600 x hours",
            "Over the working day, whose busiest time has the load that is sized for.",
        ),
    ]
    daily_users: Annotated[
        float | None,
        quantity(
            "Daily users", "users", "requests a day / requests per user", "People served; None where nobody waits."
        ),
    ]
    input_tokens_per_day: Annotated[
        float, quantity("Input tokens a day", "tokens", "requests a day x ISL", "Prompt tokens.")
    ]
    output_tokens_per_day: Annotated[
        float, quantity("Output tokens a day", "tokens", "requests a day x OSL", "Generated tokens.")
    ]
    hours: Annotated[float, quantity("Hours a day", "h", "asked; 8 by default", "Working day.")]
    requests_per_user: Annotated[
        float | None,
        quantity("Requests per user", "requests", "asked; 3 by default", "Per day; None where nobody waits."),
    ]
    peak_to_mean: Annotated[
        float,
        quantity(
            "Busiest time to mean", "ratio", "asked; 2 by default", "How much busier the busiest time is than the mean."
        ),
    ]
    growth: Annotated[float, quantity("Growth included", "fraction", "asked", "Demand growth the plan has room for.")]
