"""What an answer about support rests on, in sentences."""

from collections.abc import Mapping
from types import MappingProxyType

from sizing.catalog.engines import engines
from sizing.catalog.gpu_families import generation_labels
from sizing.catalog.precisions import precisions
from sizing.catalog.support import BLOCK, ReasonKind, Support

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
        "blocks": "{engine} cannot cut a width of {subject} into whole FP8 blocks of {block} on each rank",
    }
)
"""What each kind of reason states, without its source."""

OF_THE_MODEL: frozenset[ReasonKind] = frozenset({"heads", "layers", "dense", "experts_uneven"})
"""Kinds that follow from the model's own numbers by arithmetic: where these were read is no source for the layout."""


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
