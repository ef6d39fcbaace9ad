"""Images, pages and sound of a request: their tokens in a prompt, and what the encoder of a model computes for them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from sizing.base.errors import InvalidScenario
from sizing.base.format import count
from sizing.catalog import models
from sizing.catalog.media_tokens import image_rule, readers, sound_rule
from sizing.catalog.model import Model
from sizing.scenario.adapters import PAGE
from sizing.scenario.schema import Workload

MOST_NAMED = 3
"""Models that a sentence proposes. Chosen: a person picks one of them."""


@dataclass(frozen=True, kw_only=True)
class Medium:
    """Images, pages or sound of a request: ``number`` of them (seconds of sound), each of ``tokens`` in the prompt and
    so many ``rows`` of the encoder, which compute ``pairs`` pairs of rows with each other; ``source`` of the rule.

    ``pixels`` of one as it is sent. ``assumed``: nobody looked the family up; ``beside``: the prompt does not hold what
    is attended to.
    """

    kind: str
    number: float
    tokens: float
    rows: float
    pairs: float
    source: str
    pixels: float = 0.0
    assumed: bool = False
    beside: bool = False

    @property
    def every_token(self) -> float:
        """Tokens of all of them in a prompt."""
        return self.number * self.tokens


@dataclass(frozen=True, kw_only=True)
class Media:
    """All that a request has beside text."""

    of_request: tuple[Medium, ...] = ()

    @property
    def tokens(self) -> float:
        """Tokens that they add to a prompt, in the mean."""
        return sum(one.every_token for one in self.of_request)

    @property
    def rows(self) -> float:
        """Rows that encoders compute for a request."""
        return sum(one.number * one.rows for one in self.of_request)

    @property
    def pairs(self) -> float:
        """Pairs of rows that attend to each other in a layer of the encoder."""
        return sum(one.number * one.pairs for one in self.of_request)

    @property
    def pixels(self) -> float:
        """Pixels of all images of a request, as they are sent."""
        return sum(one.number * one.pixels for one in self.of_request)


NO_MEDIA = Media()
"""What requests of text alone take beside it: nothing."""


def media_of(workload: Workload, model: Model) -> Media:
    """What a workload has beside text, as the model takes it. Raises InvalidScenario for a model that does not."""
    stated = []
    if workload.images is not None:
        one = workload.images
        stated.append(_pictures("image", one.per_request, one.width, one.height, model, "workload.images"))
    if workload.pages:
        stated.append(_pictures("page", workload.pages, *PAGE, model, "workload.pages"))
    if workload.audio_seconds:
        stated.append(_sound(workload.audio_seconds, model))
    return Media(of_request=tuple(stated)) if stated else NO_MEDIA


def _pictures(kind: str, number: float, width: int, height: int, model: Model, path: str) -> Medium:
    rule = image_rule(model)
    if rule is None:
        raise _cannot(model, "reads no images", image_rule, path)
    seen = rule.of(width, height)
    return Medium(
        kind=kind,
        number=number,
        tokens=seen.tokens,
        rows=sum(seen.patches),
        pairs=sum(n * n for n in seen.patches) * seen.windowed,
        source=rule.source,
        pixels=float(width * height),
        assumed=rule.assumed,
        beside=rule.cross,
    )


def _sound(seconds: float, model: Model) -> Medium:
    rule = sound_rule(model)
    if rule is None:
        raise _cannot(model, "does not listen", sound_rule, "workload.audio_seconds")
    tokens, rows = rule.of(seconds)
    chunks = max(math.ceil(seconds / (rule.chunk_s or rule.window_s or seconds)), 1)
    return Medium(kind="sound", number=1.0, tokens=tokens, rows=rows, pairs=rows**2 / chunks, source=rule.source)


def _cannot(model: Model, what: str, reads: Callable[[Model], object], path: str) -> InvalidScenario:
    """One sentence with the models of the catalogue that do, those of the same developer first."""
    able = readers(model, models().values(), reads)[:MOST_NAMED]
    return InvalidScenario.at(path, f"{model.id} {what}: choose a model that does, such as {', '.join(able)}.")


def pictures_text(one: Medium) -> str:
    """ "4 pages of 2,145 tokens each", "one image of 1,024 tokens", "30 s of sound"."""
    number = "one" if one.number == 1 else count(one.number)
    each = " each" if one.number != 1 else ""
    if one.kind == "sound":
        return f"sound of {count(one.tokens)} tokens"
    if one.beside:
        return f"{number} {one.kind}{'s' if one.number != 1 else ''} beside the prompt"
    return f"{number} {one.kind}{'s' if one.number != 1 else ''} of {count(one.tokens)} tokens{each}"
