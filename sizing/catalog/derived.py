"""Published models that were made of larger ones: pruned, distilled, searched or 2:4-sparse, with scores of both."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from sizing.catalog.files import typed_rows

Derivation = Literal["pruned", "distilled", "searched", "sparse_2_4"]
"""How it was made: parts of the larger one cut out, a student of another shape taught by it, layers chosen one by one
(neural architecture search), or two of every four weights set to zero. All were trained on afterwards."""


@dataclass(frozen=True, kw_only=True)
class DerivedScore:
    """One test of a model that was made of ``model``, and of that itself; ``training`` is what making it took.

    ``derived`` resolves to a model of the catalogue, but of a sparse one, which has the dimensions of ``model``.
    """

    model: str
    derived: str
    method: Derivation
    training: str
    test: str
    score: float
    derived_score: float
    source: str
    date: str

    @property
    def kept(self) -> float:
        """Share of the score that is kept; above 1 where it was trained to be better."""
        return self.derived_score / self.score


@cache
def derived_scores() -> tuple[DerivedScore, ...]:
    """Models made of larger ones, with published scores of both."""
    return typed_rows("derived_models.csv", DerivedScore)


def scores_of(derived: str) -> tuple[DerivedScore, ...]:
    """The published scores of one derived model."""
    return tuple(one for one in derived_scores() if one.derived == derived)


def sparse_checkpoint(model: str) -> str:
    """The 2:4-sparse checkpoint of a model; "" where none is published with scores."""
    return next((one.derived for one in derived_scores() if one.model == model and one.method == "sparse_2_4"), "")


def smaller_versions(model: str) -> tuple[str, ...]:
    """The smaller models that were made of one, the one that keeps most of its scores first."""
    made = {one.derived for one in derived_scores() if one.model == model and one.method != "sparse_2_4"}

    def kept(derived: str) -> float:
        shares = [one.kept for one in scores_of(derived)]
        return sum(shares) / len(shares)

    return tuple(sorted(made, key=lambda one: (-kept(one), one)))
