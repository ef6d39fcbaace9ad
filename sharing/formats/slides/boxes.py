"""Places on a slide, and which size of letters fills them: nothing is left to a program that shrinks or does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from sharing.formats.xml_text import begun

EMU_PER_POINT = 12_700
LETTER, LINE = 0.55, 1.22
"""Width of a mean letter and height of a line, in sizes of the letters: generous for Arial and Calibri."""
BOLD = 1.1
"""Width of bold letters, in widths of others."""
_LATIN = 0x24F
"""Last of the Latin letters; those of other scripts are up to as wide as high."""


@dataclass(frozen=True)
class Box:
    """A rectangle in EMU."""

    left: int
    top: int
    width: int
    height: int

    @property
    def bottom(self) -> int:
        """The lower edge of the box, in EMU."""
        return self.top + self.height

    def upper(self, height: int) -> Box:
        """The upper part of the box, at most ``height`` high."""
        return replace(self, height=min(height, self.height))

    def below(self, height: int, gap: int) -> Box:
        """What is left under its upper part and a gap."""
        taken = min(height + gap, self.height) if height else 0
        return replace(self, top=self.top + taken, height=self.height - taken)

    def columns(self, shares: Sequence[float], gap: int) -> list[Box]:
        """Boxes beside each other."""
        room, left, boxes = self.width - gap * (len(shares) - 1), self.left, []
        for share in shares:
            width = int(room * share / sum(shares))
            boxes.append(replace(self, left=left, width=width))
            left += width + gap
        return boxes

    def grid(self, rows: int, columns: int, gap: int) -> list[Box]:
        """Cells of equal size, row by row."""
        height = (self.height - gap * (rows - 1)) // rows
        bands = [replace(self, top=self.top + k * (height + gap), height=height) for k in range(rows)]
        return [cell for band in bands for cell in band.columns([1.0] * columns, gap)]


def points(emu: int) -> float:
    """A length in points."""
    return emu / EMU_PER_POINT


def emu(length: float) -> int:
    """A length in points, in EMU."""
    return int(length * EMU_PER_POINT)


def lines_of(text: str, size: float, width: int) -> int:
    """Lines that a text takes in letters of a size, broken between words."""
    each = max(int(points(width) / (size * LETTER)), 1)
    return sum(max(1, len(wrap(line, each))) for line in text.split("\n"))


def word_width(text: str, size: float) -> float:
    """Points that the longest word of a text takes in bold letters, at most.

    Those of DejaVu Sans, which stands in where the font of a deck is not installed, are this wide, others narrower.
    """
    return max((sum(map(_letter, word)) for word in text.split()), default=0.0) * size


def _letter(letter: str) -> float:
    """Width of a bold letter, in sizes."""
    if letter in "mwMW%@" or ord(letter) > _LATIN:
        return 1.1
    if letter in "fijlrtIJ()[]/-.,:;":
        return 0.5
    return 0.85 if letter.isupper() else 0.72


def height_of(texts: Sequence[str], size: float, width: int) -> int:
    """Height of paragraphs one below the other, in EMU."""
    lines = sum(lines_of(text, size, width) for text in texts)
    return emu(size * (lines * LINE + 0.4 * max(len(texts) - 1, 0)))


def fitting(texts: Sequence[str], box: Box, sizes: Sequence[float]) -> tuple[float, tuple[str, ...]]:
    """The largest of the sizes at which the texts fit, and as many of them as fit at the smallest."""
    for size in sizes:
        if height_of(texts, size, box.width) <= box.height:
            return size, tuple(texts)
    smallest, kept = sizes[-1], list(texts)
    while len(kept) > 1 and height_of(kept, smallest, box.width) > box.height:
        kept.pop()
    if height_of(kept, smallest, box.width) > box.height:
        lines = max(int(points(box.height) / (smallest * LINE)), 1)
        most = max(int(lines * points(box.width) / (smallest * LETTER) * 0.95), 2)
        kept = [begun(kept[0].replace("\n", " "), most)]
    return smallest, tuple(kept)
