"""Which edition of an accelerator a name means: one product name is sold as several, each at a price of its own."""

import re
from collections.abc import Sequence

from sizing.base.errors import SizingError
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_names import resolve_gpu
from sizing.catalog.gpu_rows import gpus


class UnknownEdition(SizingError):
    """A name that leaves open which edition it means, or an edition that there is not; the sentence says which are."""


def gpu_of_edition(name: str, edition: str = "") -> Gpu:
    """The accelerator that a name means for certain: an id, or a name with its edition in it or beside it.

    Raises UnknownName for a name that nothing has, UnknownEdition where it leaves the edition open or names another.
    """
    if name.strip() in gpus() and not edition:
        return gpus()[name.strip()]
    called = resolve_gpu(name)
    sold = _sold_as(name) or (called,)
    editions = {gpu.edition for gpu in sold}
    if not edition:
        if len(editions) == 1:
            return called
        raise UnknownEdition(f"“{name}” is sold in several editions ({_some(sold)}): say which")
    fitting = [gpu for gpu in sold if gpu.edition.lower() == edition.strip().lower()]
    if not fitting:
        raise UnknownEdition(f"“{edition}” is no edition of {name}: known are {', '.join(sorted(editions))}")
    if called in fitting or len(fitting) == 1:
        return called if called in fitting else fitting[0]
    raise UnknownEdition(f"{name} {edition} may be any of {_some(fitting)}: say which")


def _sold_as(name: str) -> tuple[Gpu, ...]:
    """Every accelerator one of whose names begins with these words."""
    words = _words(name)
    return tuple(
        gpu
        for gpu in gpus().values()
        if any(_words(known)[: len(words)] == words for known in (gpu.id, gpu.name, *gpu.aliases))
    )


def _words(name: str) -> list[str]:
    """The words of a name without its maker's."""
    makers = ("nvidia", "geforce", "amd", "instinct", "intel", "tesla")
    return [word for word in re.findall(r"[a-z0-9]+", name.lower()) if word not in makers]


def _some(sold: Sequence[Gpu]) -> str:
    return ", ".join(gpu.id for gpu in sold)
