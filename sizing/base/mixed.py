"""The answer for one load on several GPU types: which requests each takes, its instances and cost, what is saved."""

from __future__ import annotations

from typing import Annotated, Literal

from sizing.base.deployed import Deployed
from sizing.base.latency_and_cost import Latencies
from sizing.base.quantity import Result, is_empty, is_none, quantity

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


class PoolOfType(Result):
    """Prefill or decode instances on one GPU type."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    layout: Annotated[str, quantity("Layout", help="Degrees of parallelism of an instance.")]
    instances: Annotated[int, quantity("Instances", "instances", "simulated", "Spares included.")]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "instances x GPUs of one", "That run the model.")]
    system: Annotated[str, quantity("System", help="Server, rack or cloud instance.")]
    systems: Annotated[int, quantity("Systems", "systems", "whole systems", "Of this pool alone.")]
    gpus_bought: Annotated[
        int, quantity("GPUs bought", "GPUs", "systems x GPUs per system", "GPUs in the systems of this pool.")
    ]


class PoolsOfTypes(Result):
    """Prefill on one GPU type and decode on another, held against the plan and against pools on one type."""

    engine: Annotated[str, quantity("Engine", help="Of both pools.")]
    weight_precision: Annotated[str, quantity("Weight precision", help="Of both pools.")]
    prefill: Annotated[PoolOfType, quantity("Prefill", help="Instances that take prompts.")]
    decode: Annotated[PoolOfType, quantity("Decode", help="Instances that generate the answers.")]
    ttft_ms: Annotated[float, quantity("TTFT", "ms", "at the asked percentile, simulated", "Transfer included.")]
    itl_ms: Annotated[float, quantity("ITL", "ms", "at the asked percentile, simulated", "At the planned load.")]
    transfer_ms: Annotated[float, quantity("Transfer", "ms", "see Transfer", "Over the slower of both networks.")]
    usd_per_month: Annotated[
        float | None, quantity("Hardware per month", "USD/month", "sum over pools", "List cost of both.")
    ]
    power_kw: Annotated[
        float | None, quantity("Power", "kW", "sum over pools", "Power budget of all systems; none: not known.")
    ]
    same_type_usd_per_month: Annotated[
        float | None,
        quantity(
            "On one type", "USD/month", "sum over pools", "The cheapest such pools on one GPU type; none without."
        ),
    ]
    saved_share: Annotated[
        float, quantity("Saved", "fraction", "1 - pools / plan", "Against the plan; below 0 where it costs more.")
    ]
    source: Annotated[str, quantity("Source", help="What says that the engine hands a KV cache between types.")]
    advised: Annotated[
        bool,
        quantity(
            "Advised",
            help="Whether it costs less than the plan and the split, by more than splitting has to save: costs over "
            "years, energy and manifests are then of it.",
        ),
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
    apart: Annotated[
        PoolsOfTypes | None,
        quantity(
            "Prefill and decode on two types",
            help="The cheapest that a simulation confirms; left out where pools are not considered, or none holds.",
            exclude_if=is_none,
        ),
    ] = None
    no_pools_of_types: Annotated[
        tuple[str, ...],
        quantity(
            "Engines without pools of two types",
            help="Those considered, where no document says of any that it hands a KV cache between GPU types; left "
            "out otherwise.",
            exclude_if=is_empty,
        ),
    ] = ()

    @property
    def advises_pools(self) -> bool:
        """Whether prefill and decode on two GPU types are what is priced."""
        return self.apart is not None and self.apart.advised

    @property
    def advised(self) -> bool:
        """Whether what is priced is another fleet than the plan's."""
        return self.advises_pools or self.outcome == "cheaper"

    def without_money(self) -> MixedFleet:
        """The same without any amount."""
        return self.model_copy(
            update={
                "usd_per_month": None,
                "one_fleet_usd_per_month": None,
                "parts": tuple(one.model_copy(update={"usd_per_month": None}) for one in self.parts),
                "apart": self.apart
                and self.apart.model_copy(update={"usd_per_month": None, "same_type_usd_per_month": None}),
            }
        )
