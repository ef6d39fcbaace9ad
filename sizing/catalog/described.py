"""What a configuration file or a name says of a model: the answer of ``python -m sizing model``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from commandline.foreign_text import shown
from sizing.base.format import large
from sizing.base.quantity import Result, quantity
from sizing.base.units import GB
from sizing.catalog.config_json import model_from_config
from sizing.catalog.encoders import reject_closed
from sizing.catalog.model import Model, ModelKind
from sizing.catalog.precisions import precisions
from sizing.catalog.resolve import ResolvedModel, resolve_model


class ModelDescription(Result):
    """The numbers of a model that decide what it takes to run it."""

    model: Annotated[str, quantity("Model", help="Id in the catalogue, or name of the file.")]
    kind: Annotated[ModelKind, quantity("Kind", help="decoder, encoder (nothing is generated) or encoder_decoder.")]
    architecture: Annotated[
        str, quantity("Class", help="First class that the file names in architectures; empty if unknown.")
    ]
    params_total: Annotated[
        float, quantity("Parameters", "parameters", "counted from the configuration", "Language model.")
    ]
    params_active: Annotated[
        float, quantity("Active parameters", "parameters", "total - experts that are not chosen", "Used for one token.")
    ]
    params_vision: Annotated[
        float,
        quantity(
            "Parameters of encoders",
            "parameters",
            "layers x (4 h² + 2 or 3 h i)",
            "Vision and audio; 0 where not counted.",
        ),
    ]
    layers: Annotated[int, quantity("Layers", "layers", "as in the file", "Of the language model.")]
    weight_precision: Annotated[
        str, quantity("Weight format", help="Format of the published weights, id of the catalogue.")
    ]
    weight_bytes: Annotated[
        float | None,
        quantity(
            "Stored weights",
            "bytes",
            "sum over modules",
            "What the checkpoint takes; none where its format is one for all.",
        ),
    ]
    kv_elements_per_token: Annotated[
        float,
        quantity(
            "KV cache", "values/token", "KV heads x (key + value width)", "Of layers that attend to the whole context."
        ),
    ]
    kv_elements_per_token_windowed: Annotated[
        float,
        quantity(
            "KV cache in windows",
            "values/token",
            "KV heads x (key + value width)",
            "Of layers that attend to a window.",
        ),
    ]
    window: Annotated[int | None, quantity("Window", "tokens", "as in the file", "None where no layer has one.")]
    state_elements: Annotated[
        float,
        quantity(
            "State", "values/sequence", "sum over layers", "Constant state of Mamba, linear and convolution layers."
        ),
    ]
    max_context: Annotated[
        int | None, quantity("Longest context", "tokens", "as in the file", "None where it is not known.")
    ]
    assumptions: Annotated[tuple[str, ...], quantity("Assumptions", help="What the numbers rest on beyond the file.")]


def describe(given: str) -> ModelDescription:
    """The model in a file (config.json, params.json, or a folder that holds one), or of that name.

    Raises InvalidModelConfig, UnknownName or OSError.
    """
    path = Path(given)
    held = [path / name for name in ("config.json", "params.json")] if path.is_dir() else []
    path = next((file for file in held if file.is_file()), path)
    if path.is_file() or path.suffix == ".json":
        return described(replace(model_from_config(path.read_bytes()), id=path.name))
    return describe_named(given)


def describe_named(name: str) -> ModelDescription:
    """The model of that name; no file is read, whatever the name. Raises UnknownName, or InvalidScenario for a model
    that only its provider can run."""
    reject_closed(name)
    resolved = resolve_model(name)
    note = (resolved.note,) if resolved.note else ()
    if resolved.match not in ("id", "name"):
        note = (f"“{resolved.name}” is taken for {resolved.model.id}", *note, *about_release(resolved))
    read = described(resolved.model)
    return read.model_copy(
        update={"weight_precision": resolved.weight_format.id, "assumptions": (*note, *read.assumptions)}
    )


def about_release(resolved: ResolvedModel) -> tuple[str, ...]:
    """What is not known of the release that a name says; nothing where the catalogue knows it."""
    words = " and ".join(f"“{shown(word)}”" for word in resolved.unknown_words)
    context = resolved.model.max_context
    if not words:
        return ()
    if context:
        return (
            f"The context window of {context:,} tokens is what the name says with {words}; nothing else is known of it",
        )
    return (
        f"Nothing is known of {words} in the name: taken to have this architecture, and its context window is not "
        "checked; give its config.json to be sure",
    )


def described(model: Model) -> ModelDescription:
    """The description of a model of the catalogue, or of one that was read from a file."""
    return ModelDescription(
        model=model.id,
        kind=model.kind,
        architecture=model.hf_architecture,
        params_total=model.params_total,
        params_active=model.params_active,
        params_vision=model.params_vision,
        layers=model.layers,
        weight_precision=model.native_precision,
        weight_bytes=dict(model.stored_bytes).get(model.native_precision),
        kv_elements_per_token=model.kv_elements_full,
        kv_elements_per_token_windowed=model.kv_elements_sliding,
        window=model.sliding_window,
        state_elements=model.state_elements,
        max_context=model.max_context,
        assumptions=model.assumptions,
    )


def as_text(read: ModelDescription) -> str:
    """The description for a terminal, one fact a line."""
    active = f", {large(read.params_active)} active" if read.params_active < read.params_total else ""
    vision = f", and {large(read.params_vision)} of encoders" if read.params_vision else ""
    stored = f" ({read.weight_bytes / GB:,.1f} GB)" if read.weight_bytes else ""
    lines = [
        f"{read.model}: {read.kind.replace('_', '-')}{f' ({read.architecture})' if read.architecture else ''}",
        f"Parameters: {large(read.params_total)}{active}{vision}, {read.layers} layers",
        f"Weights: {precisions()[read.weight_precision].label}{stored}",
        f"KV cache: {read.kv_elements_per_token:,.0f} values per token",
    ]
    if read.kv_elements_per_token_windowed:
        window = f" in a window of {read.window:,} tokens" if read.window else ""
        lines.append(f"KV cache in windows: {read.kv_elements_per_token_windowed:,.0f} values per token{window}")
    if read.state_elements:
        lines.append(f"State: {read.state_elements:,.0f} values per sequence")
    context = f"{read.max_context:,} tokens" if read.max_context else "unknown"
    lines += [f"Longest context: {context}", *(["Assumptions:"] if read.assumptions else [])]
    return "\n".join([*lines, *(f"  {assumption}" for assumption in read.assumptions)])
