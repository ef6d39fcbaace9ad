"""What a plan says in words beside its answer (:mod:`sizing.planning.answer`): what binds, systems, how sure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sizing.base.deployed import Deployed, Pool
from sizing.base.format import count
from sizing.base.provenance import Provenance
from sizing.base.result import Excluded
from sizing.evidence.error_factors import ErrorFactors
from sizing.planning.binding import Binding, Binds
from sizing.planning.business import load_in_words
from sizing.question.configuration import instance_text
from sizing.question.understand import Question


def source_of(provenance: Provenance) -> str:
    """Where the numbers of a deployment come from: the source of its step times, and what was simulated."""
    simulated = f"; simulated, {provenance.requests:,} requests" if provenance.requests else ""
    return f"{provenance.step_times.name}{simulated}"


BINDS: Mapping[Binds, str] = MappingProxyType(
    {
        Binds.SMALLEST_UNIT: "nothing yet (smallest unit that fits)",
        Binds.SMALLEST_ALLOWED: "nothing yet (smallest unit among the sizes considered)",
        Binds.SHORTEST_LATENCY: "the shortest latency, which was asked for",
        Binds.TTFT: "the TTFT limit (prompt queue and prefill)",
        Binds.ITL: "the ITL limit (decode latency)",
        Binds.E2E: "the E2E limit",
        Binds.UTILIZATION: "the utilisation cap",
        Binds.SEQUENCES: "the engine's default limit on sequences in flight",
        Binds.KV_MEMORY: "memory for the KV cache",
        Binds.PREFILL_RATE: "matrix rate (prefill)",
        Binds.DECODE_BANDWIDTH: "memory bandwidth (decode)",
        Binds.NETWORK: "the network",
    }
)
"""What binds, in words; what has a batch limit is in :func:`binding_text`."""


def binding_text(binding: Binding) -> str:
    """What binds: "the ITL limit (decode latency)", "nothing yet (smallest unit that fits)"."""
    return _of_an_instance(binding) + (" with fewer GPUs per instance" if binding.of_fewer_gpus else "")


def _of_an_instance(binding: Binding) -> str:
    match binding.kind:
        case Binds.CAPPED_ITL:
            return f"the ITL limit (decode latency), which a batch limit of {count(binding.batch_limit)} holds"
        case Binds.BATCH_LIMIT:
            return f"the batch limit of {count(binding.batch_limit)}"
        case kind:
            return BINDS[kind]


OF_POOL: Mapping[Binds, str] = MappingProxyType(
    {Binds.TTFT: "the TTFT limit", Binds.ITL: "the ITL limit", Binds.PREFILL_RATE: "matrix rate"}
)
"""What binds a pool, where fewer words do because the pool is named beside it."""


def bindings_text(bindings: Sequence[Binding]) -> str:
    """What binds a deployment, or either pool: "the TTFT limit (prefill) and the ITL limit (decode)"."""
    if len(bindings) == 1:
        return binding_text(bindings[0])
    in_words = (OF_POOL.get(one.kind) or binding_text(one) for one in bindings)
    return " and ".join(f"{words} ({pool})" for words, pool in zip(in_words, ("prefill", "decode"), strict=True))


def split_text(one: Pool | Deployed) -> str:
    """How many GPUs an instance takes, and how it is spread over them: "2 GPUs (TP2)", "one GPU"."""
    return instance_text(one.gpus // one.instances, one)


def systems_named(number: int, name: str) -> str:
    """ "one DGX H100", "13 x DGX H100", "3 systems of 4x L40S PCIe server"."""
    if number == 1:
        return f"one {name}"
    return f"{count(number)} systems of {name}" if name[0].isdigit() else f"{count(number)} x {name}"


LONGER_CONTEXT = "Shorten the prompt or take a model with a longer context window: nothing else helps."


def beyond_context(question: Question) -> str:
    """Why the model cannot serve requests of mean length, or whole sessions; "" when its context window holds them or
    is unknown."""
    window, sessions = question.model.max_context, question.scenario.workload.sessions
    tokens = question.traffic.input_tokens + question.traffic.output_tokens
    if sessions is not None:  # whose last turns are as certain as the first
        tokens = sessions.shape.longest
    if window is None or tokens <= window:
        return ""
    if sessions is not None:
        turns = sessions.turns_within(window)
        nearest = f"the nearest that works is {count(turns)} turns" if turns else "its first prompt alone is longer"
        return (
            f"{question.model.id} cannot serve this: a session of {count(tokens)} tokens exceeds its context window of "
            f"{count(window)}; {nearest}."
        )
    return (
        f"{question.model.id} cannot serve this: prompt and output need {count(tokens)} tokens, its context "
        f"window holds {count(window)}."
    )


def infeasible(question: Question, excluded: tuple[Excluded, ...]) -> str:
    """Nothing fits: what no limit could change, else how many were considered and the nearest way out."""
    beyond = beyond_context(question)
    return f"{beyond} {LONGER_CONTEXT}" if beyond else _nothing_serves(question, excluded)


def _nothing_serves(question: Question, excluded: tuple[Excluded, ...]) -> str:
    considered = f"{len(question.gpus)} GPU type{'s' if len(question.gpus) != 1 else ''} considered"
    helpful = [e for e in excluded if e.fix is not None] or list(excluded)
    if not helpful:
        return f"Nothing serves this scenario ({considered})."
    nearest = helpful[0]  # they come the nearest first
    change = "Smallest relaxation" if nearest.fix is not None else "What comes nearest"
    return (
        f"Nothing serves {load_in_words(question.demand)} within the limits ({considered}). Nearest: "
        f"{nearest.closest or question.gpu_name(nearest.gpu)}. {nearest.reason} {change}: {nearest.relaxation}"
    )


def how_sure(decode: ErrorFactors, prefill: ErrorFactors) -> str:
    """How sure, in sentences: how far benchmarks were off the predicted step times, and which benchmarks."""
    return (
        f"In 8 of 10 such benchmarks an output token took {_around(decode)} of the predicted time (decode), and a "
        f"prompt {_around(prefill)} (prefill). Decode: {decode.basis}; prefill: {prefill.basis}."
    )


def _around(factors: ErrorFactors) -> str:
    """The span of an error interval around the stated figure, such as "88 to 120 %"."""
    low, high = (count(factor * 100) for factor in (factors.low_factor, factors.high_factor))
    return f"{low} to {high} %"
