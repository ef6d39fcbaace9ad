"""Whether what runs is what was planned: same model, engine, GPU type, GPUs per replica, KV format."""

from dataclasses import dataclass

from collectors.questions.deployments import ObservedDeployment
from collectors.reading.observation import Observation
from collectors.reading.remarks import RemarkKind
from collectors.vocabulary import engine_vocabularies
from reality.result import DeployedFacts
from sizing.base.errors import UnknownName
from sizing.base.format import count
from sizing.catalog import gpus, resolve_gpu, resolve_model
from sizing.catalog.engines import engines
from sizing.catalog.model import Model
from sizing.catalog.precisions import KV_CACHE_TYPES
from sizing.question.configuration import Configuration

KV_NAMES = {"fp8": "FP8", "fp16": "16 bit"}
"""What the formats of a KV cache are called."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """``foreign``: why nothing here is about the plan, each with what to do. ``unknown``: what could not be checked.

    ``unmatched_name``: a served name that may be the planned model's.
    """

    foreign: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unmatched_name: str = ""


def facts_of(observed: Observation, deployed: ObservedDeployment) -> DeployedFacts:
    """What is seen to be deployed."""
    return DeployedFacts(
        models=deployed.models,
        engine=observed.engine,
        gpu_products=deployed.gpu_products,
        replicas=observed.number("replicas"),
        gpus=observed.number("gpus"),
        gpus_per_replica=gpus_per_replica(observed, deployed),
        kv_tokens=observed.number("kv_capacity_tokens"),
    )


def ranks_as_replicas(observed: Observation, deployed: ObservedDeployment, row: Configuration | None) -> Observation:
    """The observation with every rank of data parallelism as a replica, where the plan has none: each runs the requests
    that it is given on GPUs of its own, as a planned replica does."""
    ranks = deployed.ranks
    if row is None or row.dp > 1 or ranks == 1:
        return observed
    each = gpus_per_replica(observed, deployed)
    if each is not None and each != row.gpus * ranks:
        return observed
    counted = {
        name: None if (number := observed.number(name)) is None else number * ranks
        for name in ("replicas", "replicas_lost")
    }
    return observed.model_copy(update={"numbers": {**observed.numbers, **counted}})


def gpus_per_replica(observed: Observation, deployed: ObservedDeployment) -> float | None:
    """GPUs of one replica; None where GPUs of others may be among them (joined by host, and not dividing evenly). Those
    of a replica that is gone may still be seen, or not."""
    gpus, replicas = observed.number("gpus"), observed.number("replicas")
    if not gpus or not replicas:
        return None
    each = gpus / (replicas + (observed.number("replicas_lost") or 0.0))
    if deployed.gpus_by == "pod" and not each.is_integer() and (gpus / replicas).is_integer():
        return gpus / replicas
    return each if deployed.gpus_by in ("pod", "gpu_selector") or each.is_integer() else None


def check(
    model: Model, row: Configuration | None, observed: Observation, deployed: ObservedDeployment, *, served_as: str = ""
) -> Identity:
    """Compare what runs with the plan; ``served_as`` is a name under which the planned model is known to be served."""
    parts = [_model(model, deployed, served_as)]
    if row is not None:
        parts += [_engine(row, observed), _gpu(row, deployed), _ways(row, observed, deployed), _kv(row, deployed)]
    return Identity(
        foreign=tuple(text for part in parts for text in part.foreign),
        unknown=tuple(text for part in parts for text in part.unknown),
        unmatched_name=next((part.unmatched_name for part in parts if part.unmatched_name), ""),
    )


def apart(pools: bool, observed: Observation) -> str:
    """Why a plan of one kind of instances is not that of servers for prompts and others for answers; "" where it is,
    or nothing shows them. ``pools``: whether they were planned."""
    if pools or not (observed.has(RemarkKind.APART) or observed.has(RemarkKind.HANDED_OVER)):
        return ""
    return (
        "Prefill and decode run on servers of their own, planned was one kind of instances. To compare with it, plan "
        "with deployment: serving: [disaggregated] in a scenario file."
    )


def _model(model: Model, deployed: ObservedDeployment, served_as: str) -> Identity:
    if not deployed.models:
        return Identity(unknown=("The metrics do not name the model: it is taken to be the planned one.",))
    if len(deployed.models) > 1:
        named = ", ".join(deployed.models[:4])
        return Identity(
            foreign=(
                f"Several models are served there ({named}): name one in the source, selector: {{model_name: ...}}.",
            )
        )
    served = deployed.models[0]
    if served == served_as:
        return Identity(unknown=(f"“{served}” is taken to be {model.id}, as stated.",))
    if _bare(served) == _bare(model.id):
        return Identity()
    other = _served(served)
    if other is None:
        return Identity(
            foreign=(
                f"“{served}” is served, which is not known to be {model.id}: if it is, say so (here, or with "
                f"--served-as {served}).",
            ),
            unmatched_name=served,
        )
    if other.id == model.id or _shape(other) == _shape(model):
        return Identity()
    return Identity(
        foreign=(
            f"Another model is served: {served}, planned was {model.id}. Choose the source or the "
            "scenario that belongs to it.",
        )
    )


def _served(name: str) -> Model | None:
    """The model that a served name stands for; a size in a name is not enough to say that another model is served."""
    try:
        named = resolve_model(name)
    except UnknownName:
        return None
    return None if named.match == "size" else named.model


def _bare(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()


def _shape(model: Model) -> tuple[object, ...]:
    """What decides memory and speed: a fine-tuned model of the same architecture is the same to the engine."""
    return (model.params_total, model.layers, model.hidden_size, model.heads, model.kv_elements_full)


def _engine(row: Configuration, observed: Observation) -> Identity:
    seen = observed.engine
    if seen is None:
        return Identity()
    running = engine_vocabularies()[seen].engine
    if not running:
        return Identity(unknown=(f"{seen} stands before an engine that its metrics do not name: taken as planned.",))
    if row.engine.id == running:
        return Identity()
    return Identity(
        foreign=(
            f"Another engine runs: {engines()[running].label}, planned was {row.engine.label}. "
            f"{_plan_with('Engines', engines()[running].label, f'engines: [{running}]')}",
        )
    )


def _gpu(row: Configuration, deployed: ObservedDeployment) -> Identity:
    if not deployed.gpu_products:
        return Identity(unknown=("No GPU exporter names the GPUs: type and parallelism are taken as planned.",))
    if row.gpu.custom:
        named = ", ".join(deployed.gpu_products)
        return Identity(unknown=(f"{named} is taken to be the custom accelerator {row.gpu.name or row.gpu.id}.",))
    gpu_ids = {product: _gpu_id(product) for product in deployed.gpu_products}
    others = [product for product, gpu_id in gpu_ids.items() if gpu_id != row.gpu.id]
    if not others:
        return Identity()
    known = sorted({gpu_id for gpu_id in gpu_ids.values() if gpu_id and gpu_id != row.gpu.id})
    names, ids = " and ".join(gpus()[gpu_id].name for gpu_id in known), ", ".join(known)
    pin = f" {_plan_with('GPUs considered', names, f'gpus: [{ids}]')}" if known else ""
    return Identity(foreign=(f"Other GPUs are used: {', '.join(others)}, planned was {row.gpu.name}.{pin}",))


def _plan_with(field: str, choice: str, key: str) -> str:
    """How to plan with what runs: the field of the form, and the key of a scenario file."""
    return f"To compare with it, choose {choice} under {field} on Size (in a scenario file: deployment: {key})."


def _gpu_id(product: str) -> str | None:
    try:
        return resolve_gpu(product).id
    except UnknownName:
        return None


def _ways(row: Configuration, observed: Observation, deployed: ObservedDeployment) -> Identity:
    each = gpus_per_replica(observed, deployed)
    if each is None:
        if observed.number("gpus"):
            return Identity(unknown=("GPUs cannot be assigned to replicas: parallelism is taken as planned.",))
        return Identity()
    if each == row.gpus:
        return Identity()
    if not each.is_integer():  # the exporter of a node is missing, or GPUs of others are among them
        seen, replicas = (count(observed.number(name) or 0.0) for name in ("gpus", "replicas"))
        text = f"{seen} GPUs are seen, which do not divide among {replicas} replicas: parallelism is taken as planned."
        return Identity(unknown=(text,))
    named = count(each)
    return Identity(
        foreign=(
            f"A replica has {named} GPU{'s' if each != 1 else ''}, planned were {row.gpus} ({row.label}). "
            f"{_plan_with('TP', named, f'tp: [{named}]')} If other GPUs were counted, give gpu_selector in the source.",
        )
    )


def _kv(row: Configuration, deployed: ObservedDeployment) -> Identity:
    types = {kv.cache_type for kv in deployed.kv}
    running = next((name for name, seen in KV_CACHE_TYPES.items() if types & set(seen)), None)
    if running is None or row.kv_precision == running:
        return Identity()
    return Identity(
        foreign=(
            f"The KV cache is kept as {', '.join(sorted(types))}, planned was {KV_NAMES[row.kv_precision]}. "
            f"{_plan_with('KV-cache precision', KV_NAMES[running], f'kv_precisions: [{running}]')}",
        )
    )
