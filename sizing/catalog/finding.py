"""Models of the catalogue by what somebody types, as a picker shows them: ``python -m sizing models TEXT``."""

from typing import Annotated

from sizing.base.format import large
from sizing.base.quantity import Result, quantity
from sizing.catalog.described import ModelDescription, about_release, describe_named, described
from sizing.catalog.encoders import about_closed, is_closed
from sizing.catalog.model_rows import models
from sizing.catalog.resolve import known_model, nearest_models

MOST_LISTED = 20
"""Models of one answer. Chosen: what fits on a screen; who types more words gets fewer."""
LONGEST_TEXT = 200
"""Characters that are looked for. Chosen: longer than every name."""


class ModelsFound(Result):
    """Models that a text may mean."""

    query: Annotated[str, quantity("Query", help="What was looked for.")]
    taken_for: Annotated[
        ModelDescription | None,
        quantity("Taken for", help="What a scenario with this name is planned for; none where the name is not known."),
    ]
    models: Annotated[
        tuple[ModelDescription, ...], quantity("Models", help="Whose ids hold every word of it; the first 20.")
    ]
    nearest: Annotated[
        tuple[str, ...], quantity("Nearest", help="Names that are most alike, where nothing else was found.")
    ]


def find_models(text: str) -> ModelsFound:
    """The model that a scenario with this name is planned for, and those whose ids hold all of its words."""
    query = text.strip()[:LONGEST_TEXT]
    words = query.lower().split()
    holding = [m for m in models().values() if all(word in m.id.lower() for word in words)][:MOST_LISTED]
    closed = is_closed(query)
    known = known_model(query) if query and not closed else None
    return ModelsFound(
        query=query,
        taken_for=describe_named(query) if known else None,
        models=tuple(map(described, holding)),
        nearest=() if known or holding or closed else nearest_models(query),
    )


def as_text(answer: ModelsFound) -> str:
    """The models for a terminal, one a line."""
    listed = [f"{one.model}: {large(one.params_total)} parameters, {one.kind}" for one in answer.models]
    return "\n".join([summary(answer), *listed])


def summary(answer: ModelsFound) -> str:
    """One sentence on what the text means."""
    known = known_model(answer.query)
    if answer.taken_for and known:
        doubt = "".join(f" {sentence}." for sentence in about_release(known))
        return f"A scenario with this name is planned for {answer.taken_for.model}.{doubt}"
    if is_closed(answer.query):
        return about_closed(answer.query)
    if answer.models:
        return f"Models of the catalogue whose names hold every word: {len(answer.models)}."
    hint = f" Did you mean {', '.join(answer.nearest)}?" if answer.nearest else ""
    return f"No model of the catalogue is called so.{hint}"
