"""What is said of a model that was named otherwise than in the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.catalog.resolve import ResolvedModel


def assumed(resolved: ResolvedModel) -> tuple[str, ...]:
    """One sentence per thing that was taken from the name; none for an id of the catalogue."""
    return tuple(_about_architecture(resolved)) + tuple(_about_format(resolved)) + resolved.model.assumptions


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
        case "release":
            yield (
                f"Sized as {model_id}, which has the same architecture. The context window of that release may differ."
            )
        case "alias":
            yield resolved.note or f"Sized as {model_id}, which has the same architecture."
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


def _about_format(resolved: ResolvedModel) -> Iterator[str]:
    if resolved.precision:
        yield (
            f"The name tells weights in {resolved.precision.label}: only these are considered where no format is asked "
            "for."
        )


def _bare(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()
