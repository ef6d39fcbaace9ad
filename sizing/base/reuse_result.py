"""What the prefix caches of a plan hold of sessions, as an answer states it."""

from typing import Annotated, Literal

from sizing.base.choices import KvTier
from sizing.base.latency_and_cost import Latency
from sizing.base.quantity import Result, quantity

SavingName = Literal["prefix_aware_routing", "host_memory_offload", "twice_the_memory", "everything_held"]
"""What could be changed: how requests are routed, how much KV cache there is, or both without bound."""


class ReuseSaving(Result):
    """What another cache would hold, and what that saves of the same kind of instances."""

    name: Annotated[
        SavingName,
        quantity(
            "Change",
            help="prefix_aware_routing: turns go where their history is; host_memory_offload: 128 GiB of host memory a "
            "GPU as a second tier; twice_the_memory: twice the tokens of KV cache; "
            "everything_held: nothing that comes again is evicted or on another instance.",
        ),
    ]
    hit_share: Annotated[float, quantity("Hit share", "of 1", "see reuse", "Share of prompt tokens found, then.")]
    new_tokens: Annotated[
        float, quantity("Prompt tokens computed", "tokens", "prompt x (1 - hit share)", "Of a mean request, then.")
    ]
    instances: Annotated[
        int | None,
        quantity(
            "Instances",
            "instances",
            "instances now x requests/s per instance now / then, by the analytic load model",
            "Working instances of the same kind that would do; none where the load model finds no load.",
        ),
    ]
    says: Annotated[str, quantity("In words", help="The same in a sentence.")]


class ReuseTier(Result):
    """A second tier for the KV cache, from which a history is loaded instead of computed."""

    tier: Annotated[KvTier, quantity("Second tier", help="host_memory, ssd or shared_store.")]
    capacity_tokens: Annotated[
        float, quantity("Second tier", "tokens", "GiB x GPUs / bytes of a token", "Of all instances that take prompts.")
    ]
    loaded_share: Annotated[
        float, quantity("Loaded share", "of 1", "loaded / prompt tokens", "Share of prompt tokens loaded from it.")
    ]
    loaded_tokens: Annotated[
        float, quantity("Loaded history", "tokens", "mean of those loaded", "What a turn loads in the mean.")
    ]
    load_ms: Annotated[
        float, quantity("Time to load", "ms", "start + bytes / bandwidth", "Of a mean history, each GPU its part.")
    ]
    computed_ms: Annotated[
        float, quantity("Time to compute", "ms", "tokens x prefill time of a token", "Of the same history instead.")
    ]
    pays_from_tokens: Annotated[
        float | None,
        quantity(
            "Pays from",
            "tokens",
            "start / (prefill time - load time of a token)",
            "Shorter histories are computed faster; none where loading never is the faster.",
        ),
    ]
    purchase_usd: Annotated[
        float | None,
        quantity("Price of the tier", "USD", "GiB x USD per GiB x GPUs", "Not in the cost; none without a price."),
    ]


class Reuse(Result):
    """What the prefix caches hold of the prompts of sessions, by the plan's own KV cache and routing."""

    hit_share: Annotated[
        float,
        quantity(
            "Hit share",
            "of 1",
            "cached / prompt tokens; a turn finds its history if it comes within the time that the caches keep it",
            "Share of all prompt tokens that the plan counts as cached; of loaded ones what loading saves.",
        ),
    ]
    hit_share_unlimited: Annotated[
        float, quantity("Hit share without eviction", "of 1", "see hit share", "If caches kept everything.")
    ]
    mean_prompt_tokens: Annotated[float, quantity("Mean prompt", "tokens", "over all turns", "Prompt of a request.")]
    working_set_tokens: Annotated[
        float,
        quantity(
            "Working set",
            "tokens",
            "sessions at once x their history",
            "KV cache of all sessions at once, running or waiting for their next turn; of a trace the smallest cache "
            "with 95 % of all hits.",
        ),
    ]
    kv_capacity_tokens: Annotated[
        float,
        quantity(
            "KV cache", "tokens", "of all working instances that take prompts", "What memory leaves beside weights."
        ),
    ]
    kv_idle_tokens: Annotated[
        float,
        quantity(
            "KV cache for waiting sessions",
            "tokens",
            "KV cache - requests/s x their time x their tokens",
            "What running requests leave.",
        ),
    ]
    kept_s: Annotated[
        float | None,
        quantity(
            "Kept for",
            "s",
            "time in which the caches are filled once",
            "How long what nobody asks for stays; none where nothing is ever evicted.",
        ),
    ]
    sessions_at_once: Annotated[
        float | None,
        quantity("Sessions at once", "sessions", "sessions/s x their length", "Begun and not ended; none of a trace."),
    ]
    gap_s: Annotated[
        float | None,
        quantity("Gap", "s", "think + tool time", "Mean time between an answer and the next turn; none of a trace."),
    ]
    ttft_first_turn_ms: Annotated[
        Latency | None,
        quantity(
            "TTFT of first turns",
            "ms",
            "simulated",
            "Of first prompts, of a trace of those not found; none where nothing was simulated.",
        ),
    ]
    ttft_later_turns_ms: Annotated[
        Latency | None,
        quantity("TTFT of later turns", "ms", "simulated", "Of all other prompts; none where nothing was simulated."),
    ]
    savings: Annotated[
        tuple[ReuseSaving, ...], quantity("What would save", help="Other caches, the smallest change first.")
    ]
    second_tier: Annotated[
        ReuseTier | None, quantity("Second tier", help="What is kept beyond the GPUs; none where nothing is planned.")
    ] = None
    says: Annotated[tuple[str, ...], quantity("In words", help="The same in sentences.")]
