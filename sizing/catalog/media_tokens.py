"""Tokens of an image or of sound in the prompt of a model, and the patches that its encoder computes for them.

Rules and their numbers stand in ``media_tokens.yaml``, by family; tested against the processors of transformers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from sizing.catalog.files import read_yaml
from sizing.catalog.model import Model

_FILE = "media_tokens.yaml"


@dataclass(frozen=True, kw_only=True)
class ImageRule:
    """How a family turns an image into tokens; the first lines of ``media_tokens.yaml`` say what each value means."""

    rule: str
    source: str
    classes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    pixels: int = 0
    patch: int = 0
    tokens: int = 0
    patches: int = 0
    least_pixels: int = 0
    most_pixels: int = 0
    most_patches: int = 0
    most_tiles: int = 1
    separators: int = 0
    edge: int = 0
    windowed: float = 1.0
    cross: bool = False
    assumed: bool = False

    def of(self, width: int, height: int) -> Pictured:
        """Tokens and patches of an image of so many pixels."""
        tokens, apart = _RULES[self.rule](self, width, height)
        return Pictured(tokens=tokens, patches=apart, windowed=self.windowed)


@dataclass(frozen=True, kw_only=True)
class Pictured:
    """An image as a model takes it: ``tokens`` in the prompt, ``patches`` of each piece that its encoder computes
    apart, of whose pairs it computes the share ``windowed``."""

    tokens: int
    patches: tuple[int, ...]
    windowed: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SoundRule:
    """How a family turns sound into tokens: by seconds, or by chunks of which a begun one is whole. Rows of one chunk
    attend to each other, or of ``window_s`` seconds, or all."""

    source: str
    frames: float
    classes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    chunk_s: float = 0.0
    window_s: float = 0.0
    chunk_tokens: int = 0
    second_tokens: float = 0.0
    most_tokens: int = 0

    def of(self, seconds: float) -> tuple[int, float]:
        """Tokens of so many seconds in the prompt, and rows of the encoder."""
        if self.chunk_s:
            chunks = math.ceil(seconds / self.chunk_s)
            return chunks * self.chunk_tokens, chunks * self.chunk_s * self.frames
        tokens = math.ceil(seconds * self.second_tokens)
        return min(tokens, self.most_tokens or tokens), seconds * self.frames


def image_rule(model: Model) -> ImageRule | None:
    """How a model reads images; None for one of text alone, ``assumed`` where nobody looked its family up."""
    rules = _image_rules()
    known = next((one for one in rules if not one.assumed and _is_of(model, one)), None)
    if known is not None:
        return known
    sees = model.params_vision > 0 and sound_rule(model) is None
    return next(one for one in rules if one.assumed) if sees else None


def sound_rule(model: Model) -> SoundRule | None:
    """How a model listens; None for one that does not."""
    return next((one for one in _sound_rules() if _is_of(model, one)), None)


def _is_of(model: Model, rule: ImageRule | SoundRule) -> bool:
    named = any(model.hf_architecture.startswith(name) for name in rule.classes)
    return named and (not rule.models or any(part.lower() in model.id.lower() for part in rule.models))


@cache
def _image_rules() -> tuple[ImageRule, ...]:
    return tuple(ImageRule(**_row(row)) for row in read_yaml(_FILE)["images"])


@cache
def _sound_rules() -> tuple[SoundRule, ...]:
    return tuple(SoundRule(**_row(row)) for row in read_yaml(_FILE)["sound"])


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def _grid(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """Sides to the nearest whole pieces; scaled where the area is too large or too small (smart_resize)."""
    piece = rule.pixels
    high, wide = (max(piece, round(side / piece) * piece) for side in (height, width))
    if high * wide > rule.most_pixels:
        scale = math.sqrt(height * width / rule.most_pixels)
        high, wide = (max(piece, math.floor(side / scale / piece) * piece) for side in (height, width))
    elif high * wide < rule.least_pixels:
        scale = math.sqrt(rule.least_pixels / (height * width))
        high, wide = (math.ceil(side * scale / piece) * piece for side in (height, width))
    return (high // piece) * (wide // piece), ((high // rule.patch) * (wide // rule.patch),)


def _cover(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """Sides up to whole pieces; scaled down where the patches are too many."""
    patches = max(width // rule.patch, 1) * max(height // rule.patch, 1)
    scale = min(1.0, math.sqrt(rule.most_patches / patches))
    tall, broad = (math.ceil(max(int(side * scale), 1) / rule.pixels) for side in (height, width))
    return tall * broad, (tall * broad * (rule.pixels // rule.patch) ** 2,)


def _rows(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """A token for each piece and one for each row; the longer side at most ``edge``."""
    ratio = max(width / rule.edge, height / rule.edge, 1.0)
    tall, broad = (math.ceil(max(math.floor(side / ratio), 1) / rule.pixels) for side in (height, width))
    return tall * broad + tall, (tall * broad * (rule.pixels // rule.patch) ** 2,)


def _soft(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """Scaled so that pooled pieces are ``tokens`` at most, small images up, too."""
    scale = math.sqrt(rule.tokens * rule.pixels**2 / (width * height))
    tall, broad = (max(math.floor(side * scale / rule.pixels), 1) for side in (height, width))
    return tall * broad, (tall * broad * (rule.pixels // rule.patch) ** 2,)


def _fixed(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    return rule.tokens, (rule.patches,)


def _tiles(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """The tiles whose shape is nearest to the image's; of several as near, more where the image is large enough."""
    best, nearest = (1, 1), math.inf
    for broad, tall in _shapes(rule.most_tiles):
        apart = abs(width / height - broad / tall)
        larger = apart == nearest and width * height > 0.5 * rule.pixels**2 * broad * tall
        if apart < nearest or larger:
            best, nearest = (broad, tall), apart
    tiles = best[0] * best[1]
    every = tiles + (1 if tiles > 1 else 0)
    return rule.tokens * every, ((rule.pixels // rule.patch) ** 2,) * every


def _canvas(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """The smallest canvas of tiles that the image need not shrink for, else that on which it shrinks least."""
    fits = []
    for broad, tall in _shapes(rule.most_tiles):
        scale = min(broad * rule.pixels / width, tall * rule.pixels / height)
        fits.append((scale, broad * tall))
    larger = [scale for scale, _ in fits if scale >= 1.0]
    chosen = min(larger) if larger else max(scale for scale, _ in fits)
    tiles = min(n for scale, n in fits if scale == chosen)
    whole = 1 if tiles > 1 and not rule.cross else 0
    patches = ((rule.pixels // rule.patch) ** 2,) * (tiles + whole)
    if rule.cross:
        return 1, patches
    return rule.tokens * (tiles + whole) + rule.separators * tiles + 3, patches


def _crops(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """As many crops along the longer side as leave all of them within ``most_tiles`` (Phi-3.5)."""
    ratio = max(width, height) / min(width, height)
    along = 1
    while (along + 1) * math.ceil((along + 1) / ratio) <= rule.most_tiles:
        along += 1
    across = math.ceil(int(along * rule.pixels / ratio) / rule.pixels)
    tall = across if width >= height else along
    crops = along * across
    patches = ((rule.pixels // rule.patch) ** 2,) * (crops + 1)
    return rule.tokens * (crops + 1) + 1 + (tall + 1) * math.isqrt(rule.tokens), patches


def _patched(rule: ImageRule, width: int, height: int) -> tuple[int, tuple[int, ...]]:
    """Tiles that cover the image, pooled pieces without what is padded, a token for each row, and the whole (Phi-4)."""
    broad, tall = math.ceil(width / rule.pixels), math.ceil(height / rule.pixels)
    if broad * tall > rule.most_tiles:
        shapes = _shapes(rule.most_tiles)
        broad, tall = min(shapes, key=lambda one: (abs(width / height - one[0] / one[1]), -one[0] * one[1]))
    scale = min(broad * rule.pixels / width, tall * rule.pixels / height)
    piece = rule.pixels // math.isqrt(rule.tokens)
    rows, columns = (math.ceil(int(side * scale) / piece) for side in (height, width))
    tokens = rule.tokens + 1 + rows * columns + rows + math.isqrt(rule.tokens)
    return tokens, ((rule.pixels // rule.patch) ** 2,) * (broad * tall + 1)


def _shapes(most: int) -> list[tuple[int, int]]:
    """Tiles side by side and above each other, ``most`` at most in all, the fewest first."""
    shapes = ((broad, tall) for broad in range(1, most + 1) for tall in range(1, most + 1) if broad * tall <= most)
    return sorted(shapes, key=lambda one: one[0] * one[1])


_RULES: Mapping[str, Callable[[ImageRule, int, int], tuple[int, tuple[int, ...]]]] = MappingProxyType(
    {
        "grid": _grid,
        "cover": _cover,
        "rows": _rows,
        "soft": _soft,
        "fixed": _fixed,
        "tiles": _tiles,
        "canvas": _canvas,
        "crops": _crops,
        "patched": _patched,
    }
)


def readers(model: Model, every: Iterable[Model], reads: Callable[[Model], object]) -> list[str]:
    """Models of the catalogue that read what ``model`` does not: of its developer first, those nearest in size,
    and none that only judges."""
    able = [one for one in every if reads(one) is not None and "guard" not in one.id.lower()]
    far = {one.id: abs(math.log(one.params_total / model.params_total)) for one in able}
    return [one.id for one in sorted(able, key=lambda one: (one.developer != model.developer, far[one.id]))]
