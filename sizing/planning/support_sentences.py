"""What an answer about support rests on, in sentences."""

from __future__ import annotations

from sizing.catalog.engines import engines
from sizing.catalog.gpu_families import generation_labels
from sizing.catalog.precisions import precisions
from sizing.catalog.support import BLOCK, Reason, Support


def because(said: Support, where: str) -> str:
    """Why something does not run, or is not known to, with the source; ``where`` is the GPU's name."""
    return f"{_reason(said.why, where)}{_detail(said)}."


def _detail(said: Support) -> str:
    """The source's own words and the source, as far as there are any."""
    note = f": {said.why.note}" if said.why.note else ""
    named = ", ".join(filter(None, (said.source, said.date)))
    return f"{note} ({named})" if named else note


def _reason(why: Reason, where: str) -> str:
    """The statement without its source."""
    engine = engines()[why.engine]
    name = f"{engine.label} {engine.version}"
    on = generation_labels().get(why.subject, why.subject)
    weights = precisions()[why.subject].label if why.subject in precisions() else why.subject
    match why.kind:
        case "archived":
            return f"{engine.label} is archived"
        case "dropped":
            return f"Today's {engine.label} no longer runs on {on}; older versions did"
        case "generation":
            return f"{name} is not declared to run on {where} ({on})"
        case "class":
            return f"{name} is not declared to run models of class {why.subject}"
        case "class_unknown":
            return f"The class of the model is not stated; it is taken for one like {why.subject}"
        case "attention":
            return f"{name} does not run the attention of {why.subject} on {where}"
        case "format":
            return f"{name} is not declared to run {weights} on {where}"
        case "block_scales":
            return f"{name} is not declared to run FP8 with block scales, as this model is published, on {where}"
        case "units":
            return f"{where} does not multiply in {weights}, and {name} is not known to widen such weights there"
        case "heads":
            return f"TP does not divide the {why.subject} attention heads of the model"
        case "layers":
            return f"More pipeline stages than the {why.subject} layers of the model"
        case "dense":
            return "Expert and attention-data parallelism are of mixtures of experts, and the model is dense"
        case "experts_uneven":
            return f"The {why.subject} experts cannot be spread so over the ranks of an instance"
        case "pipeline":
            return f"{name} is not declared to cut this model into pipeline stages (PP)"
        case "pipeline_speculation":
            return f"{name} does not run pipeline stages (PP) with draft tokens"
        case "experts":
            return f"{name} is not declared to spread the experts (EP) on {where}"
        case "experts_split":
            return f"{name} has no expert parallelism over fewer GPUs than the instance has"
        case "ranks":
            return f"{name} is not declared to run attention-data-parallel ranks (DP) of this model on {where}"
        case "blocks":
            return f"{name} cannot cut a width of {why.subject} into whole FP8 blocks of {BLOCK} on each rank"
        case "":
            return name
