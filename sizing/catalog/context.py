"""How far the authors of a model extend its context window, beyond what its configuration says."""

from dataclasses import dataclass
from functools import cache

from sizing.catalog.files import names, read_rows
from sizing.catalog.model import Model


@dataclass(frozen=True, kw_only=True)
class Extension:
    """A published extension of a window of ``native`` tokens to ``extended`` ones."""

    models: tuple[str, ...]
    native: int
    extended: int
    method: str
    source: str


@cache
def context_extensions() -> tuple[Extension, ...]:
    """Context windows that the authors of models extend, in file order."""
    return tuple(
        Extension(
            models=names(row["models"]),
            native=int(row["native"]),
            extended=int(row["extended"]),
            method=row["method"],
            source=f"{row['source']}, {row['date']}",
        )
        for row in read_rows("context_extensions.csv")
    )


def extension_of(model: Model) -> Extension | None:
    """What is published for a model whose configuration has its native window; None where that is nothing."""
    of_model = (
        one for one in context_extensions() if model.id.startswith(one.models) and model.max_context == one.native
    )
    return next(of_model, None)
