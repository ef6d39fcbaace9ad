"""The answer for one load on several GPU types: which requests each takes, its instances and cost, what is saved."""

from __future__ import annotations

from typing import Annotated, Literal

from sizing.base.deployed import Deployed
from sizing.base.latency_and_cost import Latencies
from sizing.base.quantity import Result, quantity

MixOutcome = Literal["cheaper", "not_cheaper", "one_fleet", "not_held", "no_price"]
"""Whether several fleets cost less than one: ``cheaper``; the best split, planned, costs as much or more
(``not_cheaper``); by the estimate no split is worth planning (``one_fleet``); some prompts hold the limits on no priced
type by themselves (``not_held``); no price is known of what is planned (``no_price``)."""


class PromptRange(Result):
    """Prompts of some lengths, as a router tells them apart."""

    from_tokens: Annotated[
        float | None,
        quantity("From", "tokens", "quantile of the prompt length", "Prompts of at least that; none: the shortest."),
    ]
    below_tokens: Annotated[
        float | None,
        quantity("Below", "tokens", "quantile of the prompt length", "Prompts shorter than that; none: the longest."),
    ]


class FleetPart(Result):
    """One fleet of a mix, of one GPU type: which requests it takes, and what serves them."""

    ranges: Annotated[
        tuple[PromptRange, ...],
        quantity("Prompts", help="Lengths that are routed here; empty where all requests are alike and go by share."),
    ]
    share: Annotated[float, quantity("Share", "fraction", "sum over its ranges", "Share of the requests.")]
    rps: Annotated[float, quantity("Load", "requests/s", "share x peak", "At the sustained rate of the peak.")]
    deployment: Annotated[Deployed, quantity("Deployment", help="The plan of this part at its own load and lengths.")]
    latency: Annotated[
        Latencies | None, quantity("Latency", "ms", "plan of the part", "Of this part's requests, at its load.")
    ]
    usd_per_month: Annotated[
        float | None, quantity("Hardware per month", "USD/month", "systems x USD/h x 730", "List cost of the part.")
    ]
    probability_within_limits: Annotated[
        float | None, quantity("Chance that the limits hold", "of 1", "plan of the part", "Of this part by itself.")
    ]


class MixedFleet(Result):
    """The cheapest split of a load over fleets of one GPU type each, held against one fleet for all."""

    outcome: Annotated[
        MixOutcome,
        quantity(
            "Outcome",
            help="cheaper; not_cheaper: the best split, planned, costs as much or more; one_fleet: by the estimate no "
            "split is worth planning; not_held: some prompts hold the limits on no priced type alone; no_price.",
        ),
    ]
    parts: Annotated[
        tuple[FleetPart, ...],
        quantity("Parts", help="Of the best mix, each planned by itself; empty where none was worth planning."),
    ]
    gpus: Annotated[int | None, quantity("GPUs", "GPUs", "sum over parts", "That run the model, spares included.")]
    systems: Annotated[int | None, quantity("Systems", "systems", "sum over parts", "Whole systems of all types.")]
    usd_per_month: Annotated[
        float | None, quantity("Hardware per month", "USD/month", "sum over parts", "Of the mix, list cost.")
    ]
    one_fleet_usd_per_month: Annotated[
        float | None, quantity("One fleet", "USD/month", "the plan", "Hardware of the plan, which is one fleet.")
    ]
    saved_share: Annotated[
        float | None,
        quantity("Saved", "fraction", "1 - mix / one fleet", "Below 0 where the mix costs more; none without a mix."),
    ]
    unserved: Annotated[
        tuple[PromptRange, ...],
        quantity("Not held by themselves", help="Prompts that no priced type serves within the limits on their own."),
    ]
    assumptions: Annotated[tuple[str, ...], quantity("Assumptions", help="What the mix rests on.")]

    def without_money(self) -> MixedFleet:
        """The same without any amount."""
        return self.model_copy(
            update={
                "usd_per_month": None,
                "one_fleet_usd_per_month": None,
                "parts": tuple(one.model_copy(update={"usd_per_month": None}) for one in self.parts),
            }
        )
