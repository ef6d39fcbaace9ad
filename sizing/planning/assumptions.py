"""What an answer takes for granted about how requests are served, in words."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import assert_never

from sizing.base.choices import DecidedBy, Routing
from sizing.base.format import count, counted, percent, significant
from sizing.catalog.adapters import adapter_support
from sizing.catalog.drafts import Draft
from sizing.planning import media
from sizing.question.configuration import Configuration
from sizing.question.speculation import Speculation
from sizing.question.understand import Question
from sizing.scenario.schema import Deployment

ROUTED: Mapping[Routing, str] = MappingProxyType(
    {
        "random": "each request goes to any instance at random; round-robin or least-loaded routing would be smoother",
        "round_robin": "requests go to the instances in turn",
        "weighted": "requests go to the instances in turn, by weights that are equal because the instances are",
        "least_loaded": "each request goes to the instance with the fewest requests, those that wait counted four "
        "times, as gateways do that look at queues first; a plain Kubernetes Service picks at random",
        "session_affinity": "each session stays with the instance that a hash of its name chose, whatever its load, so "
        "that requests of many sessions fall on instances at random",
        "prefix_aware": "each request goes to the instance that caches its prefix; the shared part of the prompts "
        "counts "
        "as cached on every one, so that is the one with the fewest requests",
    }
)
"""What happens to a request under each routing."""


ANALYTIC_POOLS = (
    "Percentiles come from the analytic load model: stationary load, each prefill and decode instance sees random "
    "arrivals of its own. Routing that evens out the load makes TTFT shorter: simulate it."
)
"""What the analytic load model assumes of pools."""


def analytic(question: Question) -> str:
    """What the analytic load model assumes, and how the routing asked for differs from it."""
    routing = question.scenario.deployment.routing
    even = (
        "Routing that evens out the load (round robin, least loaded) makes TTFT shorter: simulate it."
        if routing == "random"
        else f"With the routing of the scenario, {ROUTED[routing]}. That evens out the load and makes TTFT shorter "
        "than stated; the simulation includes it."
    )
    return (
        "Percentiles come from the analytic load model: stationary load, first come first served, each replica sees "
        f"random arrivals of its own. {even}"
    )


def simulated(routing: Routing) -> tuple[str, ...]:
    """What the simulated percentiles assume of arrivals, queue and routing."""
    return (
        f"Percentiles are simulated: stationary peak load, first come first served; {ROUTED[routing]}.",
        "Load curve, trade-off and the latency of alternatives come from the analytic load model.",
    )


def simulated_pools(routing: Routing) -> tuple[str, ...]:
    """What simulated percentiles of prefill and decode pools assume: random routing, whatever is asked for."""
    if routing == "random":
        return simulated(routing)
    return (
        *simulated("random"),
        f"With the routing of the scenario, {ROUTED[routing]}. That is more even: prefill and decode pools are sized "
        "without the gain, a simulation of the plan shows it.",
    )


def uneven_ranks(row: Configuration) -> Iterator[str]:
    """How prompts are taken to fall on the attention-DP ranks of an instance that computes them."""
    if row.dp > 1:
        yield (
            f"Prompts fall at random on the {row.dp} ranks of attention data parallelism, which step together: each "
            "step lasts as long as that of the rank with most prompt tokens. Engines that hold prompts back until more "
            "ranks have one (TensorRT-LLM: attention_dp_config.enable_balance) lose less."
        )


def usage(question: Question) -> Iterator[str]:
    """What the mode of use and the place mean for limits and prices."""
    match question.scenario.workload.mode:
        case "streaming":
            pass
        case "sequential":
            yield "Sequential use: only the E2E limit holds."
        case "offline":
            yield "Offline use: no latency limit; requests are queued and the highest throughput counts."
        case unknown:
            assert_never(unknown)
    if question.demand.day_assumed:
        demand = question.demand
        yield (
            f"Figures of a day: a working day of {demand.hours:g} h whose busiest time is "
            f"{1.0 / demand.mean_to_peak:g} times its mean."
        )
    if question.scenario.deployment.location == "hybrid":
        yield "Hybrid: hardware for the whole peak, as on premises."


def speculative(drafts: Speculation) -> Iterator[str]:
    """What speculative decoding is taken to be; nothing where a deployment has none."""
    if not drafts.draft_tokens:
        return
    yield (
        f"Speculative decoding: {counted(drafts.draft_tokens, 'draft token')}, each right with probability "
        f"{percent(drafts.acceptance)}, give (1 - a^(k+1)) / (1 - a) = {drafts.tokens_per_step:.3g} tokens a step; a "
        f"draft token takes {percent(drafts.draft_cost)} of a decode step, and the rows that verify the drafts are "
        "counted (Leviathan et al., ICML 2023). Published step times are without drafts"
        + (", and memory is without that of a draft model." if not drafts.weight_bytes else ".")
    )
    if drafts.draft is not None:
        yield _published(drafts.draft)


def _published(draft: Draft) -> str:
    """Where the acceptance of a draft comes from, and how far it goes."""
    whose = f"of {draft.measured_on}" if draft.measured_on else "lowest of those published of any model"
    converted = ", converted from there" if draft.converted else ""
    return (
        f"Acceptance of the {draft.label}: {whose} ({draft.workload}{converted}; {draft.source}, {draft.date}). It "
        f"depends on the traffic: the interval reaches from {draft.low:.3g} to {draft.high:.3g} tokens a step, and no "
        "published benchmark here was run with drafts. Give deployment.speculative_decoding to plan with an acceptance "
        "of your own."
    )


def adapted(question: Question, row: Configuration) -> Iterator[str]:
    """What adapters are taken to cost; nothing where there are none."""
    adapters, asked_for = row.adapters, question.scenario.adapters
    if not adapters.number or asked_for is None:
        return
    known = adapter_support(row.engine, question.model, adapters.targets)
    unsaid = "" if asked_for.resident else " (as the scenario does not say: all, 32 at most)"
    layers = "every linear layer" if adapters.targets == "all" else "the layers of attention"
    yield (
        f"Adapters change {layers} and hold 16-bit values; {count(adapters.resident)} slots of rank {adapters.rank} "
        f"are reserved on each instance{unsaid}, and the others lie in the memory of the host."
    )
    yield (
        f"Steps with adapters take {significant(known.slower)} times as long on {row.engine.label}: {known.note} "
        f"({known.source}). Published ends, {percent(known.kept_low)} and {percent(known.kept_high)} of the tokens/s "
        "without adapters, widen the interval: no published benchmark here was run with adapters."
    )
    yield (
        f"Requests ask for adapters by a Zipf law of exponent {adapters.popularity:g}, independently of each other; "
        "the least recently used one makes room (Che's approximation), and routing does not look at adapters."
    )


def measured(question: Question) -> Iterator[str]:
    """What a measured record leaves without effect."""
    deployment = question.scenario.deployment
    names = [
        name
        for name, given in (
            ("routing", deployment.routing != Deployment().routing),
            ("speculative_decoding", deployment.speculative_decoding is not None),
            ("adapters", question.scenario.adapters is not None),
            ("images and sound", bool(question.traffic.media.of_request)),
        )
        if given
    ]
    if names:
        verb = "have" if len(names) > 1 else "has"
        yield f"{' and '.join(names)} {verb} no effect: the measured record holds as it was taken."


def of_pools(
    question: Question, configurations: tuple[Configuration, ...], link: str, load_model: DecidedBy
) -> Iterator[str]:
    """Engine settings of both kinds, the transfer over ``link``, and where splitting is documented."""
    (prefill, row), named = configurations, question.scenario.deployment.batch_limits
    share = percent(row.memory_fraction(question.model))
    yield (
        f"{row.engine.label}: {row.engine.budget(row.gpu):,} tokens per step, at most "
        f"{row.engine.sequences(row.gpu):,} sequences, {share} of GPU memory on prefill and decode instances alike."
    )
    if spares := question.scenario.deployment.spare_instances:
        yield (
            f"{counted(spares, 'spare instance')} in either pool: an instance of one does not stand "
            "in for one of the other."
        )
    if named:
        yield f"At most {max(named):,} sequences on a decode instance, as asked; prefill instances are not capped."
    yield (
        f"KV cache in {'FP8' if row.kv_precision == 'fp8' else '16 bit'}, sent over the {link} "
        "once a prompt is complete; TTFT includes the transfer, because the decode instance streams the answer."
    )
    if load_model == "analytic":
        yield ANALYTIC_POOLS
    yield f"Disaggregated serving: {row.engine.disaggregated_source}."
    if prefill.pp > 1:
        yield "Pipeline stages of a prefill instance work on different prompts at the same time."
    yield from uneven_ranks(prefill)
    yield from speculative(row.speculation)
    yield from adapted(question, row)
    yield from media.assumed(question)
    yield from usage(question)
