"""One deployment in an answer: what it is, and what an instance holds and does."""

from __future__ import annotations

from typing import Annotated

from sizing.base.choices import AdapterTargets, Redundancy, Serving, SinglePoint
from sizing.base.quantity import Result, is_none, quantity

LoadPerInstance = Annotated[
    float,
    quantity(
        "Load per instance", "requests/s", "peak requests/s / (instances - spares)", "Load on one instance at the peak."
    ),
]


class Pool(Result):
    """The instances of one kind where prefill and decode run apart."""

    tp: Annotated[int, quantity("TP", "GPUs", "best of those considered", "Tensor parallelism of an instance.")]
    pp: Annotated[int, quantity("PP", "GPUs", "best of those considered", "Pipeline parallelism of an instance.")]
    ep: Annotated[int, quantity("EP", "GPUs", "best of those considered", "Expert parallelism of an instance.")]
    dp: Annotated[int, quantity("DP", "GPUs", "best of those considered", "Attention data parallelism of an instance.")]
    instances: Annotated[
        int,
        quantity(
            "Instances",
            "instances",
            "ceil(peak requests/s / requests/s per instance) + spares",
            "Instances of this kind, spares included.",
        ),
    ]
    spare_instances: Annotated[
        int, quantity("Spare instances", "instances", "asked", "Instances beyond the peak (N+k).")
    ]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "instances x TP x PP x DP", "GPUs of this kind, spares included.")]
    max_rps: Annotated[
        float,
        quantity(
            "Requests/s per instance",
            "requests/s",
            "largest rate at which its limit holds",
            "Capacity of one instance: TTFT limits prefill, ITL limits decode.",
        ),
    ]
    rps: LoadPerInstance


class Drafts(Result):
    """Speculative decoding of the instances that generate answers: guessed tokens, checked by one step of the model."""

    method: Annotated[
        str, quantity("Method", help="mtp, eagle3 or dspark; empty where drafts were asked for without one.")
    ]
    checkpoint: Annotated[
        str,
        quantity(
            "Draft checkpoint", help="Of the draft; empty where the model's own holds the heads or none is named."
        ),
    ]
    draft_tokens: Annotated[
        int, quantity("Draft tokens", "tokens", "best of those considered", "Guessed tokens of one step.")
    ]
    acceptance: Annotated[
        float,
        quantity(
            "Acceptance",
            "fraction",
            "with which a step has the published tokens",
            "How often a guessed token is right.",
        ),
    ]
    draft_cost: Annotated[
        float,
        quantity(
            "Cost of a draft token", "decode steps", "bytes read by the draft / by the model", "Time of one guess."
        ),
    ]
    tokens_per_step: Annotated[
        float,
        quantity(
            "Tokens a step",
            "tokens",
            "(1 - a^(k+1)) / (1 - a)",
            "Guesses that are right and the token that checks them.",
        ),
    ]
    tokens_per_step_low: Annotated[
        float, quantity("Tokens a step, low", "tokens", "as published", "On traffic hard to guess.")
    ]
    tokens_per_step_high: Annotated[
        float, quantity("Tokens a step, high", "tokens", "as published", "On traffic easy to guess.")
    ]
    source: Annotated[
        str, quantity("Source of the acceptance", help="Where it was published; scenario where it was asked for.")
    ]


class Adapters(Result):
    """Adapters (LoRA) that every instance serves beside the model itself."""

    number: Annotated[int, quantity("Adapters", "adapters", "asked", "Adapters of the model.")]
    rank: Annotated[int, quantity("Rank", "rank", "asked", "The largest rank, for which every slot has room.")]
    targets: Annotated[
        AdapterTargets, quantity("Adapted layers", help="all: every linear layer; attention: those of attention.")
    ]
    resident: Annotated[
        int,
        quantity(
            "Resident adapters", "adapters", "asked, or all, 32 at most", "Adapters in the memory of an instance."
        ),
    ]
    adapter_gb: Annotated[
        float, quantity("One adapter", "GB", "2 B x rank x sum of (d_in + d_out)", "Size of one of the largest rank.")
    ]
    resident_gb_per_gpu: Annotated[
        float,
        quantity(
            "Adapters per GPU", "GB", "slots x largest rank", "Memory that each GPU reserves; part of the weights."
        ),
    ]
    hit_share: Annotated[
        float,
        quantity(
            "Requests that find their adapter",
            "fraction",
            "sum of p_i (1 - e^(-p_i T)), Zipf and LRU",
            "Share of requests whose adapter is resident, where any instance may get any request.",
        ),
    ]
    hit_share_routed: Annotated[
        float,
        quantity(
            "The same, routed by adapter",
            "fraction",
            "as above, with the slots of all instances as one cache",
            "Where each request goes to the instance that has its adapter.",
        ),
    ]
    load_ms: Annotated[
        float, quantity("Loading an adapter", "ms", "bytes / bandwidth", "What a request waits whose adapter is not.")
    ]
    slower: Annotated[
        float,
        quantity("Step with adapters", "x", "published for the engine", "Duration of a step over that without them."),
    ]
    slower_low: Annotated[float, quantity("Step with adapters, low", "x", "published", "At the fast end.")]
    slower_high: Annotated[float, quantity("Step with adapters, high", "x", "published", "At the slow end.")]
    source: Annotated[str, quantity("Source", help="Where support and slowdown were published.")]


class Deployed(Result):
    """What to deploy. Where prefill and decode run apart, parallelism is that of a decode instance."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    engine: Annotated[str, quantity("Engine", help="Serving engine.")]
    weight_precision: Annotated[str, quantity("Weight precision", help="Number format of the weights.")]
    kv_precision: Annotated[str, quantity("KV-cache precision", help="Number format of the KV cache.")]
    tp: Annotated[
        int, quantity("TP", "GPUs", "best of those considered", "Tensor parallelism: GPUs that share every layer.")
    ]
    pp: Annotated[
        int,
        quantity("PP", "GPUs", "best of those considered", "Pipeline parallelism: groups of layers on different GPUs."),
    ]
    ep: Annotated[
        int,
        quantity(
            "EP", "GPUs", "best of those considered", "Expert parallelism: GPUs over which the experts are spread."
        ),
    ]
    dp: Annotated[
        int, quantity("DP", "GPUs", "best of those considered", "Attention data parallelism inside one instance.")
    ]
    instances: Annotated[
        int,
        quantity(
            "Instances",
            "instances",
            "ceil(peak requests/s / requests/s per instance) + spares",
            "Copies of the model, spares included.",
        ),
    ]
    spare_instances: Annotated[
        int,
        quantity(
            "Spare instances",
            "instances",
            "asked, of each kind",
            "Instances beyond the peak (N+k), of all kinds together.",
        ),
    ]
    gpus: Annotated[
        int, quantity("GPUs", "GPUs", "instances x TP x PP x DP", "GPUs that run the model, spares included.")
    ]
    system: Annotated[str, quantity("System", help="Server, rack or cloud instance the GPUs come in.")]
    systems: Annotated[
        int, quantity("Systems", "systems", "ceil(instances / instances per system)", "Whole systems to buy or rent.")
    ]
    gpus_bought: Annotated[
        int, quantity("GPUs bought", "GPUs", "systems x GPUs per system", "GPUs in the whole systems.")
    ]
    serving: Annotated[
        Serving,
        quantity(
            "Serving",
            help="aggregated: every instance computes prompts and answers; disaggregated: prefill and decode "
            "instances of their own.",
        ),
    ] = "aggregated"
    redundancy: Annotated[
        Redundancy,
        quantity(
            "Redundancy",
            help="What may fail at the peak without a limit being broken, single spare instances aside: none, system "
            "(N+1 systems) or site (either of two sites carries the load).",
        ),
    ] = "none"
    batch_limit: Annotated[
        int | None,
        quantity(
            "Batch limit",
            "requests",
            "best of those tried, where it saves an instance",
            "Requests that an instance may have in flight, below what memory and engine allow: more would break the "
            "ITL limit. The rest waits for a slot. None: not limited.",
        ),
    ] = None
    speculation: Annotated[
        Drafts | None,
        quantity(
            "Speculative decoding", help="Drafts that the instances take. None: every token has a step of its own."
        ),
    ] = None
    adapters: Annotated[
        Adapters | None,
        quantity("Adapters", help="Adapters that the instances serve; left out without.", exclude_if=is_none),
    ] = None
    prefill: Annotated[Pool | None, quantity("Prefill instances", help="Where prefill runs apart.")] = None
    decode: Annotated[Pool | None, quantity("Decode instances", help="Where decode runs apart.")] = None

    @property
    def pools(self) -> tuple[Pool, Pool] | None:
        """Its prefill and its decode instances, where these run apart."""
        return None if self.prefill is None or self.decode is None else (self.prefill, self.decode)

    @property
    def single_points(self) -> tuple[SinglePoint, ...]:
        """What stops every answer when it fails, whatever idle GPUs there are; nothing where no single thing does."""
        if self.pools:
            prefill, decode = self.pools
            alone: tuple[SinglePoint, ...] = ("prefill",) if prefill.instances == 1 else ()
            alone += ("decode",) if decode.instances == 1 else ()
        else:
            alone = ("instance",) if self.instances == 1 else ()
        return alone or (("system",) if self.systems == 1 else ())

    @property
    def spare_gpus(self) -> int:
        """GPUs of the spare instances."""
        each = ((kind.gpus // kind.instances) * kind.spare_instances for kind in self.kinds)
        return sum(each)

    @property
    def idle_gpus(self) -> int:
        """GPUs that are bought and run nothing."""
        return self.gpus_bought - self.gpus

    @property
    def in_fullest_system(self) -> int:
        """Instances of the only kind that go down with the system that holds most of them: spread evenly where a system
        may fail, else as they are packed. Of one that spans several systems, one."""
        each, size = self.gpus // self.instances, self.gpus_bought // self.systems
        fit, spans = max(size // each, 1), -(-each // size)
        if self.redundancy == "none":
            return min(fit, self.instances)
        return -(-self.instances // (self.systems // spans))

    @property
    def survives_a_system(self) -> bool:
        """Whether as many instances as the peak takes are left when the fullest system is lost."""
        if self.pools or self.redundancy != "none":
            return self.redundancy != "none"
        return self.systems > 1 and self.spare_instances >= self.in_fullest_system

    @property
    def kinds(self) -> tuple[Deployed | Pool, ...]:
        """Its kinds of instances: itself where they do both, else prefill and decode."""
        return self.pools or (self,)


class PerInstance(Result):
    """What one copy of the model needs and can do."""

    max_rps: Annotated[
        float,
        quantity(
            "Requests/s per instance",
            "requests/s",
            "largest rate at which every limit holds, x utilisation cap",
            "Capacity of one instance within the limits.",
        ),
    ]
    stable_rps: Annotated[
        float,
        quantity(
            "Stability limit",
            "requests/s",
            "max over B of B / (OSL x ITL(B))",
            "Beyond this rate the queue grows forever.",
        ),
    ]
    rps: LoadPerInstance
    concurrency: Annotated[
        float,
        quantity(
            "Requests in flight",
            "requests",
            "Little: rate x (E2E - queue time)",
            "Mean number of sequences decoding at the peak.",
        ),
    ]
    max_concurrency: Annotated[
        int,
        quantity(
            "Maximum concurrency",
            "requests",
            "KV memory / KV bytes that a sequence in flight holds, capped by the engine",
            "Sequences that run at once at mean lengths, as far as the KV cache holds them.",
        ),
    ]
    memory_per_gpu_gb: Annotated[
        float, quantity("Memory per GPU", "GB", "datasheet", "Memory of one GPU (10^9 bytes).")
    ]
    weights_gb: Annotated[
        float,
        quantity(
            "Weights", "GB", "parameters x bytes per parameter", "Weights of one instance, all its GPUs together."
        ),
    ]
    kv_gb: Annotated[
        float,
        quantity(
            "KV cache",
            "GB",
            "usable memory - weights - activations - overhead",
            "Memory left for the KV cache of one instance.",
        ),
    ]
    kv_per_sequence_gb: Annotated[
        float,
        quantity(
            "KV per sequence",
            "GB",
            "KV bytes per token x tokens, rounded up to blocks",
            "KV cache of one mean request at its full length.",
        ),
    ]
    activations_gb: Annotated[
        float,
        quantity(
            "Activations", "GB", "largest step + sampling", "Working memory of one instance, all its GPUs together."
        ),
    ]
    overhead_gb: Annotated[
        float,
        quantity(
            "Runtime overhead",
            "GB",
            "captured graphs + driver context + communication buffers",
            "Memory the runtime keeps for itself, on all GPUs of one instance.",
        ),
    ]
    graphs_gb: Annotated[
        float,
        quantity(
            "CUDA graphs",
            "GB",
            "fixed part + layers x part of each",
            "The part of the runtime overhead that captured graphs take; 0 where the engine takes it from elsewhere.",
        ),
    ] = 0.0
    context: Annotated[
        int,
        quantity(
            "Context",
            "tokens",
            "prompt + answer, 99.9 % of each",
            "The longest request that is let in (max-model-len).",
        ),
    ] = 0
    kv_tokens: Annotated[
        int,
        quantity(
            "KV cache size",
            "tokens",
            "sequences of the whole context x context, as the engine counts them",
            "What each rank of an instance prints at its start: compare the log line of the engine with it.",
        ),
    ] = 0
    free_gb: Annotated[float, quantity("Free", "GB", "KV cache - KV in use at the asked load", "KV cache not in use.")]
    kv_used_gb: Annotated[
        float, quantity("KV in use", "GB", "requests in flight x KV that each holds", "KV cache in use.")
    ]
    output_tokens_per_s: Annotated[
        float,
        quantity(
            "Output tokens/s per instance",
            "tokens/s",
            "requests/s x OSL",
            "Generated tokens per second at the peak load.",
        ),
    ]
    output_tokens_per_s_per_gpu: Annotated[
        float,
        quantity(
            "Output tokens/s per GPU",
            "tokens/s",
            "per instance / GPUs",
            "Generated tokens per second and GPU at the peak load.",
        ),
    ]
    prefill_share: Annotated[
        float | None,
        quantity("Time spent on prefill", "fraction", "rate x prefill time", "Share of engine time taken by prompts."),
    ]
    decode_step_ms: Annotated[
        float | None, quantity("Decode step", "ms", "see step times", "One decode step at this concurrency.")
    ]
    prefill_ms: Annotated[
        float | None, quantity("Prefill of one prompt", "ms", "see step times", "Engine time for one mean prompt.")
    ]
