"""What is said of a model that was named otherwise than in the catalogue."""

from collections.abc import Iterator

from sizing.catalog.described import about_release
from sizing.catalog.precisions import NamedPrecision
from sizing.catalog.resolve import ResolvedModel


def assumed(resolved: ResolvedModel) -> tuple[str, ...]:
    """What a plan assumes of the model: what was taken from its name, and what the model itself rests on."""
    return tuple(_about_architecture(resolved)) + tuple(_about_format(resolved)) + resolved.model.assumptions


def assumed_of_cells(resolved: ResolvedModel, precision: NamedPrecision | None) -> str:
    """What was taken from the names in a row of a table, where ``precision`` is that of its own cell, if it has one.

    Another name of the same architecture says nothing of the answer and is left out.
    """
    in_name = resolved.precision if precision is None else None
    format_told = f"{_told(resolved)}." if in_name else ""
    remark = f"Not counted: weights in “{precision.remark}”." if precision and precision.remark else ""
    other = precision.instead_of if precision else None
    kept = f"Weights in {precision.precision.label}, as trained, not {other.label}." if precision and other else ""
    apart = _about_architecture(resolved) if resolved.match in _APART or resolved.unknown_words else ()
    return " ".join(filter(None, [*apart, format_told, kept, remark]))


_APART = ("alias", "descendant", "size")
"""Ways from a name to a model that a row of a table mentions."""


def _about_architecture(resolved: ResolvedModel) -> Iterator[str]:
    model_id = resolved.model.id
    match resolved.match:
        case "id":
            return
        case "name" if _bare(resolved.name) == _bare(model_id) and "/" not in resolved.name:
            return
        case "name":
            yield f"Sized as {model_id}."
        case "architecture":
            yield f"Sized as {model_id}, which has the same architecture."
        case "release" if not resolved.unknown_words:
            yield f"Sized as {model_id}, which has the same architecture."
        case "release":
            yield f"Sized as {model_id}."
        case "alias" if not resolved.unknown_words:
            yield resolved.note or f"Sized as {model_id}, which has the same architecture."
        case "alias":
            yield resolved.note or f"Sized as {model_id}."
        case "descendant":
            yield (
                f"Sized as {model_id}, which the name contains: taken to be tuned from it, with its architecture. What "
                "was added to it, such as an encoder of images, is not counted."
            )
        case "size":
            yield (
                "Nothing is known of this model but the size in its name: give its config.json for a better answer, "
                "above all if it is a mixture of experts."
            )
    yield from (f"{sentence}." for sentence in about_release(resolved))


def _about_format(resolved: ResolvedModel) -> Iterator[str]:
    if resolved.precision:
        yield f"{_told(resolved)}: only these are considered where no format is asked for."


def _told(resolved: ResolvedModel) -> str:
    """What the name says of the weight format."""
    label = resolved.weight_format.label
    if resolved.usual_type:
        return f"The name is of GGUF files and tells no type, so Ollama and llama.cpp load {label} where there is one"
    return f"The name tells weights in {label}"


def _bare(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()
