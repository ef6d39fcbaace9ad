"""README.md of the folder: what was written, what was left out and why, what to fill in, what goes wrong."""

from collections.abc import Iterator, Mapping, Sequence

from sharing.manifests import drafting
from sharing.manifests.checkpoint import FILL_IN
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.pods import SECRET, lost_together
from sharing.manifests.targets import ManifestTarget, TargetReason
from sharing.manifests.targets_data import TargetData, hardware_of, targets_data
from sizing.base.format import count, percent
from sizing.base.markdown import as_line
from sizing.base.result import Plan
from sizing.catalog.precisions import precisions
from sizing.planning.reuse_text import TIERS
from sizing.planning.start_up_lines import start_up_lines

ROLES = {"both": "", "prefill": "prefill ", "decode": "decode "}
ALTERNATIVES = (
    "What serves the model (everything down to `compose.yaml`) is there in several ways: apply one, since their "
    "objects have the same names and would take the GPUs twice."
)


def readme(
    facts: ManifestFacts, written: Mapping[str, Sequence[str]], left_out: Mapping[ManifestTarget, TargetReason]
) -> str:
    """Markdown. ``written`` has the files of each target by its id."""
    parts = [
        f"# {as_line(facts.title)}: deployment manifests",
        answer(facts),
        f"Written by engine {facts.plan.engine_version} with data {facts.plan.data_version}. The arguments are what "
        "the plan assumed; another value makes it another deployment than the one that was sized.",
        "## The plan",
        "\n".join(f"- {line}" for line in planned(facts)),
        "## Files",
        ALTERNATIVES,
        table(("File", "What it is", "Version of the target"), files(written)),
        "## Left out",
        table(("Target", "Why"), ((data(t.id).title, sentence(reason)) for t, reason in left_out.items())),
        "## To fill in",
        "\n".join(f"- {line}" for line in to_fill_in(facts)),
        "## What goes wrong",
        "\n".join(f"- {data(id).title}: {trap}" for id in written for trap in data(id).traps),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def answer(facts: ManifestFacts) -> str:
    """The answer of the plan without its cost, which is none of those who deploy."""
    return as_line(" ".join(part.text for part in facts.plan.sentences if part.about != "cost"))


def data(target: str) -> TargetData:
    """Title, version and the like of a target, from ``data/targets.yaml``."""
    return targets_data().targets[target]


def sentence(reason: TargetReason) -> str:
    """A reason as a sentence."""
    return f"{reason.value[0].upper()}{reason.value[1:]}."


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """A Markdown table, or a word where it would be empty."""
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    if not lines:
        return "Nothing."
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines])


def files(written: Mapping[str, Sequence[str]]) -> Iterator[Sequence[str]]:
    """A row for each file: its name, its target and the version that it was written for."""
    for target, names in written.items():
        for name in names:
            yield f"`{name}`", data(target).title, data(target).version


def planned(facts: ManifestFacts) -> Iterator[str]:
    """The settings that every target has in its own words."""
    yield f"Model: {as_line(facts.model.id)}, loaded as `{facts.checkpoint.name}`"
    for group in facts.groups:
        yield _instances(facts, group)
    if keys := lost_together(facts):
        yield _redundancy(facts, keys[0])
    main = facts.groups[-1]
    yield f"Batch: {count(main.max_sequences)} sequences at most, {count(main.token_budget)} tokens per step, per rank"
    kv = "FP8" if facts.narrow_kv else "16 bit"
    yield f"KV cache: {kv}; context: {count(facts.context)} tokens, {_letting_in(facts)}"
    for line in start_up_lines(_served(facts)):
        yield f"To expect in the log of the first start: `{line}`"
    yield f"Prefix caching: {_caching(facts)}"
    if adapters := facts.deployment.adapters:
        kept = f"{count(adapters.resident)} of {count(adapters.number)}"
        yield f"Adapters: {kept} in the memory of each instance, rank {adapters.rank} at most; load each by its name"
    if (offload := facts.scenario.deployment.kv_offload) is not None:
        yield (
            f"Second tier for the KV cache: {count(offload.gib_per_gpu)} GiB per GPU in {TIERS[offload.tier]}, which "
            "these files do not set up: it is a connector of the engine or a product beside it"
        )
    if drafts := facts.speculation:
        yield f"Speculative decoding: {drafts.draft_tokens} draft tokens, {percent(drafts.acceptance)} accepted each"
    if facts.plan.decided_by == "measured":
        yield "Capacity is from a measured record, which says nothing of these settings: they are the engine's defaults"


def _redundancy(facts: ManifestFacts, key: str) -> str:
    """What may fail, and how pods are kept apart for it."""
    lost = "site" if facts.scenario.deployment.redundancy == "site" else "system"
    over = (
        " An instance over several nodes: only what answers is spread, or nothing (Dynamo, NIM)."
        if facts.nodes > 1
        else ""
    )
    return (
        f"Redundancy: a {lost} may fail. Pods are spread evenly over the label `{key}` of nodes; NIM's operator keeps "
        f"them apart where it can, and the chart of the production stack cannot: check it there.{over}"
    )


def _letting_in(facts: ManifestFacts) -> str:
    """Which requests the context lets in."""
    if facts.context == facts.model.max_context:
        return "the longest that the model knows"
    return "for all but one request of a thousand or so; a longer one is refused"


def _caching(facts: ManifestFacts) -> str:
    if not facts.prefix_caching:
        return "off, which the engine cannot for this class of models"
    return "on" if facts.lengths.cached_tokens > 0 else "on, though the plan counts on no cached tokens"


def _served(facts: ManifestFacts) -> Plan:
    """The plan with the context that is served, which the log of a start counts with."""
    one = facts.plan.per_instance
    assert one is not None
    return facts.plan.model_copy(update={"per_instance": one.model_copy(update={"context": facts.context})})


def _instances(facts: ManifestFacts, group: InstanceGroup) -> str:
    shape = f"TP {group.tp}, PP {group.pp}, EP {group.ep}, DP {group.dp}"
    over = f" over {group.nodes} nodes" if group.nodes > 1 else ""
    spare = f", {group.spares} of them spare" if group.spares else ""
    kind = f"{ROLES[group.role]}instance{'s' if group.instances > 1 else ''}"
    return (
        f"{facts.engine.label}: {count(group.instances)} {kind}{spare}, each {shape} on {group.gpus} x "
        f"{group.gpu.name}{over}; {group.rps:.3g} requests/s planned for each, {group.max_rps:.3g} within the limits"
    )


def to_fill_in(facts: ManifestFacts) -> Iterator[str]:
    """What only those who deploy know. Search the files for the word to find each place."""
    yield f"Everything that says `{FILL_IN}` or `{FILL_IN.lower()}`: nothing starts with it."
    yield (
        f"Secret `{SECRET}` with the key `token`, a Hugging Face token, where the checkpoint is gated; it is named "
        "here, never contained."
    )
    yield "Storage class of the volume of the weights (read by many nodes at once), image tags, name of the gateway."
    for gpu in facts.gpu_types:
        hardware = hardware_of(gpu)
        if hardware and gpu.id not in hardware.products:
            yield f"What the label `{hardware.label}` says on nodes with {gpu.name}: elsewhere the plan does not hold."
    if facts.checkpoint.to_fill_in:
        label = precisions()[facts.deployment.weight_precision].label
        yield f"`{facts.checkpoint.name}`: a checkpoint of the model in {label}, which the plan assumes."
    if facts.checkpoint.at_load:
        yield "Nothing for the weights: the engine quantises the published checkpoint while it loads it."
    if drafting.to_fill_in(facts.speculation):
        yield f"`{drafting.DRAFT_MODEL}`: a draft model as good as the plan assumes."
