"""What a scenario may choose from and an answer may say, each choice by the word that files and JSON have for it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, assert_never

Mode = Literal["streaming", "sequential", "offline"]
"""How answers are consumed: token by token, as a whole, or not awaited by anybody."""

Routing = Literal["random", "round_robin", "weighted", "least_loaded", "session_affinity", "prefix_aware"]
"""How a front end spreads requests over instances.

Gateways for inference look at the load. llm-d's router scores every instance by queue depth and KV-cache use, beside a
cached prefix (weights 2, 2 and 3); the routers of SGLang and vLLM follow a cached prefix until loads differ by 64
requests and by half, then the least loaded (docs.gpustack.ai, operator, model deployment routing, read November 2026).
NVIDIA Dynamo's frontend goes in turn unless started with ``--router-mode kv`` or ``least-loaded`` (docs.nvidia.com,
router guide 1.2). A plain Kubernetes Service picks at random (kubernetes.io, virtual IPs, iptables mode). Session
affinity keeps the requests of one session on the instance that a hash of its name chose (vLLM production stack,
``routingLogic: session``; nginx, ``hash ... consistent``), whatever its load."""

KvTier = Literal["host_memory", "ssd", "shared_store"]
"""Where KV cache that leaves the GPU is kept: in the memory or on the drives of its server, or in a store of all."""

CacheRouting = Literal["random", "session_affinity", "prefix_aware"]
"""What decides which replica's prefix cache a prompt meets: nothing that it knows of, its session, or what it holds."""

Objective = Literal["cost", "expected_cost", "gpus", "latency", "energy"]
"""What deployments are ranked by: ``cost`` is that of what suffices with the asked :data:`Confidence`,
``expected_cost`` that of what suffices if the engine performs as expected."""

BY_COST: tuple[Objective, ...] = ("cost", "expected_cost")
"""Objectives that rank by cost."""

RANKED_BY: Mapping[Objective, str] = MappingProxyType(
    {
        "cost": "cost of being sure",
        "expected_cost": "expected cost",
        "gpus": "GPUs",
        "latency": "latency",
        "energy": "energy",
    }
)
"""What deployments are ranked by, in the words of sentences and tables."""

Confidence = Literal[50, 80, 90, 95]
"""How sure it has to be that the systems suffice, in percent: the chance, given how little is known of the engine's
speed. At 50 it is as likely as not. The load is no part of it: the utilisation cap keeps room for that."""

Location = Literal["on_prem", "cloud", "hybrid"]
"""Where hardware may be: bought, rented, or either."""


def is_rented(location: Location) -> bool:
    """Whether what is planned at a location is rented; the base of a hybrid is bought."""
    match location:
        case "cloud":
            return True
        case "on_prem" | "hybrid":
            return False
        case unknown:
            assert_never(unknown)


Serving = Literal["aggregated", "disaggregated"]
"""Prefill and decode in the same instances, or in pools of their own."""

WeightsFrom = Literal["page_cache", "local_nvme", "block_volume", "network_file_system", "object_store", "hub"]
"""Where an instance reads its weights from when it starts (``data/start_up.yaml``)."""

Loader = Literal["default", "streaming"]
"""What reads them: each process its own files, or many streams at once (fastsafetensors, Run:ai streamer)."""

Standby = Literal["none", "sleep", "sleep_without_weights", "warm"]
"""How an instance waits until it is needed: switched off; asleep, its weights in host memory (vLLM's sleep mode, level
1) or given up (level 2); or running."""

SpeculationUse = Literal["auto", "off"]
"""Whether drafts that are published for a model are considered where they can decide."""

AdapterTargets = Literal["all", "attention"]
"""Which matrices adapters change: all linear layers, or those of attention alone."""

StepTimesFrom = Literal["roofline", "kernel"]
"""Where step times that were not measured come from: measured kernels with the roofline, or the roofline alone."""

BenchmarkMode = Literal["fixed_concurrency", "fixed_rate", "offline"]
"""How a benchmark loads the engine: so many requests at once, so many a second, or all at the start."""


def is_open_loop(mode: BenchmarkMode) -> bool:
    """Whether requests are sent at a rate, however many are in flight; TTFT is then a median, else a mean."""
    match mode:
        case "fixed_rate":
            return True
        case "fixed_concurrency" | "offline":
            return False
        case unknown:
            assert_never(unknown)


PublishedMode = Literal["static_batch", "fixed_concurrency", "offline_max_throughput", "fixed_rate"]
"""How a published benchmark loads the engine: one batch run to its end, or as a ``BenchmarkMode``."""

Severity = Literal["info", "warning", "error"]
"""How much a warning matters."""

DecidedBy = Literal["simulation", "analytic", "measured"]
NotSimulated = Literal["estimate", "offline", "not_confirmed", "work_limit"]
"""Where instances and percentiles come from: a discrete-event simulation, the analytic load model, or a record."""

PricedBy = Literal["asked", "listed", "rule", "unknown"]
"""Where the price of a complete system comes from: the scenario, a list price of the system, or the price of its GPUs
with chassis, CPUs, memory and network by rule (``server_hosts.csv``)."""

PowerFrom = Literal["listed", "rule", "unknown"]
"""Where the power of a whole system at its maximum comes from: its datasheet, or the TDP of its GPUs and a rule for
the rest (``server_hosts.csv``)."""

PriceBasis = Literal["retail", "list", "asp", "estimate", "derived", "contract", "spot", "used", "reported", "quoted"]
"""What a price is: asked by sellers of single units (``retail``), published by the maker or provider (``list``), the
average over what large buyers paid (``asp``), somebody's ``estimate``, ``derived`` from other prices, agreed by
``contract``, of the day (``spot``), of ``used`` goods, a list price as others ``reported`` it, or ``quoted`` to one
customer."""

Market = Literal["datacenter", "professional", "consumer"]
"""Whom an accelerator is made for: data centres; workstations; or players, whose driver's licence forbids data
centres."""

HardwareStatus = Literal["sold", "preliminary"]
"""Whether an accelerator can be bought, or is only announced so far."""

OtherTerms = Literal["", "capacity_block", "flex_start", "serverless", "marketplace", "cluster", "reserved"]
"""Terms of a rented instance that are neither on demand nor spot nor for one or three years: a block of days paid
beforehand, a start in a queue, billed by the second, let by private hosts, so many GPUs at once, or reserved for
another time."""

Cooling = Literal["", "air", "liquid"]
"""What carries the heat of a system away; empty where that was not read."""

FormFactor = Literal["module", "card", "superchip", "cloud", "machine"]
"""How an accelerator is built in: on a baseboard (SXM, OAM, UBB), as a PCIe card, beside its CPU, or not sold; or a
machine that computes in its own memory."""

Redundancy = Literal["none", "system", "site"]
"""What may fail at the peak without a limit being broken: nothing, a whole system (N+1: a server, a rack or a cloud
instance), or a whole site (2N: each of two sites carries the load alone)."""

ProposalName = Literal["lowest_cost", "balanced", "resilient"]
"""Three answers to one question: the cheapest that is as likely as not enough, the plan itself, and the plan so that it
survives the loss of a whole system."""

SinglePoint = Literal["instance", "prefill", "decode", "system"]
"""What there is only one of, so that its failure stops every answer: an instance, one kind of it, or the system."""

Commitment = Literal["reserved_1y", "reserved_3y"]
"""For how long instances are paid for whether they run or not."""

Purchase = Literal["on_demand", Commitment, "spot"]
"""How cloud instances are paid for: by the hour, by a commitment of one or three years, or as spare capacity that the
provider may take back."""

HybridBase = Literal["on_prem", Commitment]
"""What carries the load that is always there in a hybrid: servers of one's own, or instances that are committed to."""

OptionalPart = Literal["switches", "storage", "support", "capital_charge", "staff"]
"""Parts of a cost beyond hardware and power, each of which can be left out."""
