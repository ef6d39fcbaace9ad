"""Warnings about what is not known to run, what only older software runs, and weights that are widened.

A plan that counts on speculative decoding says what that saves, and what it rests on.
"""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from sizing.base.format import count, percent, significant
from sizing.base.result import Fix, PlanWarning
from sizing.base.units import GB
from sizing.catalog.adapters import adapter_bytes, adapter_support
from sizing.catalog.engines import engines
from sizing.catalog.gpu_families import generation_labels
from sizing.catalog.precisions import precisions
from sizing.catalog.support import BLOCK, ReasonKind, Support
from sizing.catalog.support_rows import by_generation
from sizing.deployments.candidates import UNKNOWN_COSTS, support_of
from sizing.question.configuration import Configuration
from sizing.question.speculation import Speculation
from sizing.question.understand import Question
from sizing.search.all_deployments import AllDeployments
from sizing.search.deployments import Deployments, comes_before
from sizing.steps.efficiency import efficiencies
from sizing.steps.hardware import products_per_lane

ROOM_FOR_ADAPTERS = 1.25
"""Slots that are proposed, over the adapters in use at once in the mean. Chosen: a busy moment has more."""

STATEMENTS: Mapping[ReasonKind, str] = MappingProxyType(
    {
        "": "{engine}",
        "archived": "{label} is archived",
        "dropped": "Today's {label} no longer runs on {generation}; older versions did",
        "generation": "{engine} is not declared to run on {gpu} ({generation})",
        "class": "{engine} is not declared to run models of class {subject}",
        "class_unknown": "The class of the model is not stated; it is taken for one like {subject}",
        "attention": "{engine} does not run the attention of {subject} on {gpu}",
        "half": "{engine} does not run {subject} in FP16",
        "format": "{engine} is not declared to run {weights} on {gpu}",
        "block_scales": "{engine} is not declared to run FP8 with block scales, as this model is published, on {gpu}",
        "units": "{gpu} does not multiply in {weights}, and {engine} is not known to run it there in another way",
        "kv_format": "{engine} is not known to keep the KV cache in the chosen format on {gpu}",
        "heads": "TP does not divide the {subject} attention heads of the model",
        "layers": "More pipeline stages than the {subject} layers of the model",
        "dense": "Expert and attention-data parallelism are of mixtures of experts, and the model is dense",
        "experts_uneven": "The {subject} experts cannot be spread so over the ranks of an instance",
        "tensor": "{engine} is not declared to run tensor parallelism (TP) on {gpu}",
        "pipeline": "{engine} is not declared to cut this model into pipeline stages (PP)",
        "pipeline_speculation": "{engine} does not run pipeline stages (PP) with draft tokens",
        "experts": "{engine} is not declared to spread the experts (EP) on {gpu}",
        "experts_split": "{engine} has no expert parallelism over fewer GPUs than the instance has",
        "ranks": "{engine} is not declared to run attention-data-parallel ranks (DP) of this model on {gpu}",
        "hosts": "{engine} is not declared to run one instance over several hosts of {gpu}",
        "blocks": "{engine} cannot cut a width of {subject} into whole FP8 blocks of {block} on each rank",
    }
)
"""What each kind of reason states, without its source."""

OF_THE_MODEL: frozenset[ReasonKind] = frozenset({"heads", "layers", "dense", "experts_uneven"})
"""Kinds that follow from the model's own numbers by arithmetic: where these were read is no source for the layout."""


def about_support(question: Question, row: Configuration) -> Iterator[PlanWarning]:
    """What no source says to run, what only older versions run, and weights that are widened to be multiplied."""
    stated = support_of(question.model, row, speculates=question.allowed.speculates)
    if "engine" in stated.unless_named:
        yield PlanWarning(
            code="engine_archived",
            severity="warning",
            source=row.engine.status_source,
            message=f"{row.engine.label} is archived: {row.engine.version} was its last version. It is answered "
            "because the scenario names it; new models, GPUs and fixes come to other engines alone.",
        )
    if "gpu" in stated.unless_named:
        fact = by_generation()[row.engine.id, row.gpu.generation]
        yield PlanWarning(
            code="gpu_dropped",
            severity="warning",
            source=f"{fact.source}, {fact.date}",
            message=f"Today's {row.engine.label} no longer runs on {generation_labels()[row.gpu.generation]}: "
            f"{fact.note}. It is answered because the scenario names {row.gpu.name}, as of the last version that did.",
        )
    if stated.status == "unknown" and stated.why.kind != "dropped":
        yield PlanWarning(
            code="support_unknown",
            severity="warning",
            source=stated.source or "catalogue: no source speaks of it",
            message=f"It is not known whether this runs: try it before buying. {because(stated, row.gpu.name)} A "
            f"deployment that is known to run would come first if it cost up to {percent(UNKNOWN_COSTS - 1.0)} more.",
        )
    if stated.mode == "weight_only" and row.precision.compute != "wide":
        rate = efficiencies().widened_rate(row.engine.surrogate, row.gpu.family, products_per_lane(row.gpu))
        yield PlanWarning(
            code="weights_widened",
            severity="info",
            source=stated.source,
            message=f"{row.engine.label} keeps the weights in {row.precision.plain_label} on {row.gpu.name} and "
            f"multiplies at 16 bit: that saves memory and bandwidth, no arithmetic. Widening them leaves the products "
            f"about {percent(rate)} of the rate of 16-bit weights: where prompts limit, 16-bit weights serve more.",
        )
    yield from about_widened_kv(row)


def about_widened_kv(row: Configuration) -> Iterator[PlanWarning]:
    """A KV cache in FP8 on a GPU that does not multiply in it."""
    if row.kv_precision == "fp8" and not row.gpu.supports_fp8:
        yield PlanWarning(
            code="kv_widened",
            severity="info",
            source=row.engine.widened_kv_source,
            message=f"{row.engine.label} keeps the KV cache in FP8 on {row.gpu.name} and attends at 16 bit: that saves "
            "memory and bandwidth, no arithmetic. No published benchmark of it is known here.",
        )


def about_adapters(question: Question, row: Configuration, in_flight: float) -> Iterator[PlanWarning]:
    """Adapters that no source says the engine serves, or of which more are in use at once than an instance has room
    for; ``in_flight``: requests of an instance at the planned load."""
    adapters = row.adapters
    if not adapters.number:
        return
    known = adapter_support(row.engine, question.model, adapters.targets)
    experts = question.model.is_moe and adapters.targets == "all"
    if known.status == "unknown":
        yield PlanWarning(
            code="adapters_unknown",
            severity="warning",
            source=f"{known.source}, {known.date}",
            message=f"It is not known whether {row.engine.label} serves adapters"
            f"{' of routed experts' if experts else ''}: {known.note}. "
            f"{'Adapt the layers of attention alone, or try' if experts else 'Try'} it before buying.",
            fix=Fix(key="adapters.targets", value="attention", label="Adapt attention alone") if experts else None,
        )
    elif experts:
        each = adapter_bytes(question.model, adapters.rank, "all") / GB
        narrow = adapter_bytes(question.model, adapters.rank, "attention") / GB
        yield PlanWarning(
            code="adapters_of_experts",
            severity="info",
            source=f"{known.source}, {known.date}",
            message=f"An adapter of every expert is {significant(each)} GB, one of attention alone "
            f"{significant(narrow)} GB: say which layers yours change.",
            fix=Fix(key="adapters.targets", value="attention", label="Adapt attention alone"),
        )
    in_use = adapters.in_use(in_flight)
    if in_use > adapters.resident:
        more = min(math.ceil(in_use * ROOM_FOR_ADAPTERS), adapters.number)
        yield PlanWarning(
            code="adapters_wait",
            severity="warning",
            source="Zipf law over the requests in flight",
            message=f"About {count(round(in_use))} different adapters are in use at once on an instance, "
            f"which has room for {count(adapters.resident)}: requests for others wait for one to end, which is not in "
            "the latencies here.",
            fix=Fix(key="adapters.resident", value=more, label=f"Keep {count(more)} adapters"),
        )


def about_drafts(drafts: Speculation, gpus: int, every: AllDeployments) -> Iterator[PlanWarning]:
    """Drafts that nobody asked for: what the same promises take without them, and what to measure.

    ``gpus`` of the plan; ``every`` deployment that the plan chose from.
    """
    if drafts.draft is None:
        return
    plain, tokens = _first_without(every), drafts.draft_tokens
    without = "no deployment holds the limits"
    if plain is not None:
        name = plain.evaluated.candidates.rows[int(plain.rows[0])].gpu.name
        without = f"the plan would be {count(int(plain.gpus[0]))} {name}"
    low, high = drafts.fewer_and_more
    yield PlanWarning(
        code="speculative_decoding",
        severity="info",
        source=f"{drafts.draft.source}, {drafts.draft.date}",
        message=f"{count(gpus)} GPUs suffice because each step guesses {tokens} token{'s' if tokens > 1 else ''} ahead "
        f"(speculative decoding, {drafts.draft.label}) and is taken to yield {significant(drafts.tokens_per_step)}; by "
        f"what was published it may be {significant(low)} to {significant(high)}, and less at high load. Without, by "
        f"estimate, {without}. Measure how often guesses are right on your own traffic.",
        fix=Fix(key="deployment.speculation", value="off", label="Plan without speculative decoding"),
    )


def _first_without(every: AllDeployments) -> Deployments | None:
    """The deployment that would come first if none had drafts; None where only drafts hold the limits."""
    best: Deployments | None = None
    for kind in every.kinds:
        plain = np.flatnonzero(kind.evaluated.candidates.draft_tokens[kind.rows] == 0)
        if not len(plain):
            continue
        one = kind.take(np.array([kind.first(plain)]))
        best = one if best is None or comes_before(one, best) else best
    return best


def because(stated: Support, gpu: str) -> str:
    """Why something does not run, or is not known to, with the source; ``gpu`` is the GPU's name."""
    why, engine = stated.why, engines()[stated.why.engine]
    statement = STATEMENTS[why.kind].format(
        engine=f"{engine.label} {engine.version}",
        label=engine.label,
        gpu=gpu,
        generation=generation_labels().get(why.subject, why.subject),
        weights=precisions()[why.subject].label if why.subject in precisions() else why.subject,
        subject=why.subject,
        block=BLOCK,
    )
    note = f": {why.note}" if why.note else ""
    source = "" if why.kind in OF_THE_MODEL else ", ".join(filter(None, (stated.source, stated.date)))
    return f"{statement}{note}{f' ({source})' if source else ''}."
