"""A picture as vectors of a PDF."""

from __future__ import annotations

from collections.abc import Iterator

from reportlab.graphics.shapes import Drawing, PolyLine, Rect, String
from reportlab.lib.colors import Color, HexColor

from sharing.formats.pdf_style import Style
from sharing.formats.pdf_text import runs, width_of
from sharing.formats.picture import LIGHT, TEXT_SIZE, Box, Label, Line, Picture, Role, Shape


def drawing(picture: Picture, width: float, style: Style) -> Drawing:
    """The picture at a width in points."""
    share = width / picture.width
    drawn = Drawing(width, picture.height * share)
    for shape in picture.shapes:
        for part in _shapes(shape, share, picture.height, style):
            drawn.add(part)
    return drawn


def _shapes(shape: Shape, share: float, height: float, style: Style) -> Iterator[PolyLine | Rect | String]:
    colour = _colour(shape.role, style)
    match shape:
        case Line():
            flat = [part for x, y in shape.points for part in (x * share, (height - y) * share)]
            dash = [length * share for length in shape.dash] or None
            width = shape.width * share
            yield PolyLine(flat, strokeColor=colour, strokeWidth=width, strokeDashArray=dash, strokeLineJoin=1)
        case Box():
            y = (height - shape.y - shape.height) * share
            sizes = (shape.x * share, y, shape.width * share, shape.height * share)
            yield Rect(*sizes, fillColor=colour, strokeColor=None, strokeWidth=0)
        case Label():
            yield from _texts(shape, share, (height - shape.y) * share, colour, style)


def _texts(label: Label, share: float, y: float, colour: Color, style: Style) -> Iterator[String]:
    """The parts of a label in their fonts, one after the other from where its anchor lets it begin."""
    size, font = TEXT_SIZE * share, style.font(bold=label.bold)
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor]
    x = label.x * share - before * width_of(label.text, font, size)
    for run in runs(label.text, font):
        yield String(x, y, run.text, fontName=run.font, fontSize=size, fillColor=colour)
        x += run.width(size)


def _colour(role: Role, style: Style) -> Color:
    """The colour of a part; the first two series have those of the brand."""
    own = {"0": style.primary, "1": style.accent}
    return own.get(role) or HexColor(LIGHT[role])
