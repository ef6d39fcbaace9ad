"""A plan as those who deploy it need it: instances, their nodes and GPUs, and every setting that the plan assumed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from sharing.document import file_stem
from sharing.errors import NothingToDeploy
from sharing.manifests.checkpoint import ServedCheckpoint, checkpoint_of
from sharing.manifests.targets_data import AcceleratorVendor, hardware_of, targets_data
from sizing.base.deployed import Deployed, Drafts, Pool
from sizing.base.mixed import PoolOfType
from sizing.base.result import Plan
from sizing.base.units import GB
from sizing.catalog import gpus
from sizing.catalog.engines import Engine, resolve_engine, with_fraction
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.planning.answered import Answer
from sizing.planning.instance_start import start_up_of
from sizing.question.length_distributions import FixedLength, LengthDistribution
from sizing.question.limits import LatencyLimits
from sizing.question.traffic import Lengths
from sizing.question.understand import CONTEXT_STEP, LONGEST_SHARE, Question
from sizing.scenario.schema import Scenario

InstanceRole = Literal["both", "prefill", "decode"]
"""What an instance computes: prompts and answers, or one of them."""

LONGEST_NAME = 40
"""Characters of a name. Chosen: controllers append indices and roles, and a DNS-1123 label has at most 63."""

RACK_FROM_GPUS = 17
RACK_NODE_GPUS = 4
"""A system with more GPUs than a server holds is a rack of trays with four each (NVIDIA GB200 NVL72: 18 x 4)."""

LONGEST_DEVIATIONS = NormalDist().inv_cdf(LONGEST_SHARE)
"""Standard deviations above the mean of what one request of a thousand exceeds."""

TAIL_VARIATION = 1.0
"""Squared coefficient of variation of a length that is given as one number, which is a mean. Chosen: a deviation as
large as the mean, with which one request of a thousand is nine times as long. An unused context takes no memory."""

STORAGE_ROOM = 1.2
STORAGE_STEP_GB = 10
"""Room in the volume of the checkpoint beside its weights (tokenizer, partial downloads). Chosen."""


@dataclass(frozen=True, kw_only=True)
class InstanceGroup:
    """Instances of one kind. ``gpus`` of one instance are spread over ``nodes``; rates in requests/s per instance.

    ``in_flight`` is the mean number of requests in flight of one instance at the planned load, 0 where a measured
    record does not say; ``max_sequences`` and ``token_budget`` limit a step of one data-parallel rank. ``gpu``: theirs,
    on nodes of ``node_gpus``.
    """

    role: InstanceRole
    gpu: Gpu
    node_gpus: int
    tp: int
    pp: int
    ep: int
    dp: int
    instances: int
    spares: int
    nodes: int
    rps: float
    max_rps: float
    in_flight: float
    max_sequences: int
    token_budget: int

    @property
    def gpus(self) -> int:
        """GPUs of one instance."""
        return self.tp * self.pp * self.dp

    @property
    def gpus_per_node(self) -> int:
        """GPUs of one instance on each of its nodes."""
        return self.gpus // self.nodes


@dataclass(frozen=True, kw_only=True)
class ManifestFacts:
    """All that a manifest says; ``start_up_s``: what a start takes at most, None where storage is not stated.
    ``gpu``, ``hardware``: of the instances that generate answers, see :meth:`of`.
    ``prompt_variation``, ``answer_variation``: coefficients of variation of lengths."""

    name: str
    title: str
    scenario: Scenario
    plan: Plan
    deployment: Deployed
    model: Model
    checkpoint: ServedCheckpoint
    engine: Engine
    gpu: Gpu
    hardware: AcceleratorVendor | None
    groups: tuple[InstanceGroup, ...]
    node_gpus: int
    context: int
    storage_gb: int
    speculation: Drafts | None
    limits: LatencyLimits
    lengths: Lengths[float]
    prompt_variation: float
    answer_variation: float
    requests_per_s: float
    burstiness: float
    start_up_s: float | None

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are instances of their own."""
        return len(self.groups) > 1

    @property
    def gpu_types(self) -> tuple[Gpu, ...]:
        """The GPU types of all instances: two where prefill and decode are on different ones."""
        return tuple({group.gpu.id: group.gpu for group in self.groups}.values())

    def of(self, group: InstanceGroup) -> ManifestFacts:
        """The same as its instances need it: with their GPU, and the labels and images that go with it."""
        if group.gpu.id == self.gpu.id:
            return self
        return replace(self, gpu=group.gpu, hardware=hardware_of(group.gpu), node_gpus=group.node_gpus)

    @property
    def nodes(self) -> int:
        """Nodes of the instances that take the most."""
        return max(group.nodes for group in self.groups)

    @property
    def in_racks(self) -> bool:
        """Whether a system is a rack of several nodes, which NVLink joins."""
        return node_gpus(self.deployment) * self.deployment.systems < self.deployment.gpus_bought

    @property
    def prefix_caching(self) -> bool:
        """Whether the engine keeps prompts to find them again: always but for classes of models with which it cannot.

        A prompt that nobody sends twice costs nothing, so a plan that counts on no hits has it on, too.
        """
        return self.model.hf_architecture not in targets_data().no_prefix_caching.get(self.engine.id, ())

    def memory_fraction(self, group: InstanceGroup) -> float:
        """Share of a GPU's memory that the engine is told to use in an instance of the group."""
        return self.engine.fraction(self.gpu, group.tp * group.pp, encoder=self.model.params_vision > 0)

    @property
    def narrow_kv(self) -> bool:
        """Whether the KV cache is kept in FP8; else in 16 bit."""
        return self.deployment.kv_precision == "fp8"


def facts_of(answer: Answer) -> ManifestFacts:
    """What is deployed. Raises NothingToDeploy where nothing meets the limits, InvalidScenario as the plan did."""
    scenario, plan, question = answer.scenario, answer.plan, answer.question
    deployment = plan.deployment
    if deployment is None or plan.per_instance is None:
        raise NothingToDeploy
    custom = {gpu.id: gpu for gpu in question.gpus}
    engine = with_fraction(resolve_engine(deployment.engine), scenario.deployment.memory_fraction)
    gpu = custom.get(deployment.gpu) or gpus()[deployment.gpu]
    checkpoint = checkpoint_of(scenario, question.model, deployment, gpu.vendor)
    return ManifestFacts(
        name=dns_label(scenario.name),
        title=scenario.name,
        scenario=scenario,
        plan=plan,
        deployment=deployment,
        model=question.model,
        checkpoint=checkpoint,
        engine=engine,
        gpu=gpu,
        hardware=hardware_of(gpu),
        groups=_groups(plan, deployment, _Steps(engine, deployment.speculation, deployment.batch_limit), answer, gpu),
        node_gpus=node_gpus(deployment),
        context=served_context(question, deployment, _kv_tokens(plan)),
        storage_gb=_storage_gb(question.model, checkpoint, plan.per_instance.weights_gb),
        speculation=deployment.speculation,
        limits=question.limits,
        lengths=question.traffic,
        prompt_variation=math.sqrt(question.prompt.variation),
        answer_variation=math.sqrt(question.output.variation),
        requests_per_s=plan.sustained_rps,
        burstiness=1.0 / max(question.variability.arrivals, 1e-3),
        start_up_s=None if (start := start_up_of(scenario, question.model, answer.chosen)) is None else start.high_s,
    )


def served_context(question: Question, deployment: Deployed, kv_tokens: int) -> int:
    """Tokens of the longest request that is let in: the tails of prompt and answer, and the drafts of a step.

    Never more than the model can, nor than the KV cache of a rank holds, with which an engine would not start; 0 of
    ``kv_tokens`` is not known.
    """
    drafts = deployment.speculation.draft_tokens if deployment.speculation else 0
    least = question.served_context(drafts)
    longest = tail(question.prompt) + tail(question.output) + drafts
    wanted = math.ceil(longest / CONTEXT_STEP) * CONTEXT_STEP
    held = kv_tokens // CONTEXT_STEP * CONTEXT_STEP if kv_tokens else wanted
    return max(least, min(wanted, question.model.max_context or wanted, held))


def _kv_tokens(plan: Plan) -> int:
    """Tokens that the KV cache of a rank holds, of the instances that hold the fewest; 0 where it is not known."""
    kinds = (plan.per_instance, plan.per_prefill_instance)
    return min((one.kv_tokens for one in kinds if one and one.kv_tokens), default=0)


def tail(length: LengthDistribution) -> float:
    """The length that one request of a thousand exceeds, in tokens.

    A number alone is a mean, and groups of a trace hide what is longest in the last of them: both have at least the
    tail of a lognormal length of their mean and variation, mean / sqrt(1 + v) x exp(sigma z), sigma^2 = ln(1 + v).
    """
    variation = TAIL_VARIATION if isinstance(length, FixedLength) else length.variation
    sigma = math.sqrt(math.log1p(variation))
    lognormal = length.mean / math.sqrt(1.0 + variation) * math.exp(sigma * LONGEST_DEVIATIONS)
    return max(lognormal, float(length.at(np.array([LONGEST_SHARE]))[0]))


def dns_label(name: str) -> str:
    """A name that Kubernetes takes for every kind of object: DNS-1035, which is a DNS-1123 label that starts with a
    letter."""
    stem = file_stem(name)
    return re.sub(r"^(?=\d)", "s-", stem)[:LONGEST_NAME].strip("-")


def node_gpus(deployment: Deployed | PoolOfType) -> int:
    """GPUs of one node: those of a system, of a compute tray where the system is a rack."""
    system = deployment.gpus_bought // max(deployment.systems, 1)
    return RACK_NODE_GPUS if system >= RACK_FROM_GPUS else max(system, 1)


@dataclass(frozen=True)
class _Steps:
    """What limits a step of the engine."""

    engine: Engine
    speculation: Drafts | None
    batch_limit: int | None

    def limits(self, ranks: int, gpu: Gpu) -> tuple[int, int]:
        """Sequences and tokens of one of so many data-parallel ranks; a step holds a token of each, and its drafts."""
        sequences = math.ceil(self.batch_limit / ranks) if self.batch_limit else self.engine.sequences(gpu)
        drafted = sequences * (1 + (self.speculation.draft_tokens if self.speculation else 0))
        return sequences, max(self.engine.budget(gpu), drafted)


def _groups(plan: Plan, deployment: Deployed, steps: _Steps, answer: Answer, gpu: Gpu) -> tuple[InstanceGroup, ...]:
    one, first = plan.per_instance, plan.per_prefill_instance
    assert one is not None
    here = _Nodes(gpu, node_gpus(deployment))
    if deployment.pools is None:
        load = (one.rps, one.max_rps, one.concurrency)
        return (_group("both", deployment, load, here, steps),)
    prefill, decode = deployment.pools
    waiting = first.concurrency if first else one.concurrency
    there = _of_types(answer) if answer.of_two_types else (here, here)
    return (
        _group("prefill", prefill, (prefill.rps, prefill.max_rps, waiting), there[0], steps),
        _group("decode", decode, (decode.rps, decode.max_rps, one.concurrency), there[1], steps),
    )


@dataclass(frozen=True)
class _Nodes:
    """Nodes of one kind: their GPU, and how many of it each has."""

    gpu: Gpu
    gpus: int


def _of_types(answer: Answer) -> tuple[_Nodes, _Nodes]:
    """The nodes of prefill and of decode on two GPU types."""
    assert answer.plan.mixed is not None
    assert answer.plan.mixed.apart is not None
    prefill, decode = answer.chosen
    apart = answer.plan.mixed.apart
    return _Nodes(prefill.gpu, node_gpus(apart.prefill)), _Nodes(decode.gpu, node_gpus(apart.decode))


def _group(
    role: InstanceRole, kind: Deployed | Pool, load: tuple[float, float, float], there: _Nodes, steps: _Steps
) -> InstanceGroup:
    sequences, budget = steps.limits(kind.dp, there.gpu)
    rps, max_rps, in_flight = load
    return InstanceGroup(
        role=role,
        gpu=there.gpu,
        node_gpus=there.gpus,
        tp=kind.tp,
        pp=kind.pp,
        ep=kind.ep,
        dp=kind.dp,
        instances=kind.instances,
        spares=kind.spare_instances,
        nodes=_nodes(kind.tp * kind.pp * kind.dp, there.gpus),
        rps=rps,
        max_rps=max_rps,
        in_flight=in_flight,
        max_sequences=sequences,
        token_budget=budget,
    )


def _nodes(gpus: int, per_node: int) -> int:
    """The fewest nodes that hold an instance with as many of its GPUs on each."""
    return next(nodes for nodes in range(math.ceil(gpus / per_node), gpus + 1) if gpus % nodes == 0)


def _storage_gb(model: Model, checkpoint: ServedCheckpoint, served_gb: float) -> int:
    """Volume of the checkpoint, as it is published where it is quantised when it is loaded."""
    published_gb = model.params_total * model.published_format.bytes / GB if checkpoint.at_load else served_gb
    return math.ceil(max(published_gb, served_gb) * STORAGE_ROOM / STORAGE_STEP_GB) * STORAGE_STEP_GB
