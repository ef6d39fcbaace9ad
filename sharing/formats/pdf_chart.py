"""A picture as vectors of a PDF."""

from __future__ import annotations

from reportlab.graphics.shapes import Drawing, PolyLine, Rect, String
from reportlab.lib.colors import Color, HexColor

from sharing.formats.pdf_style import Style
from sharing.formats.picture import LIGHT, TEXT_SIZE, Box, Label, Line, Picture, Role, Shape


def drawing(picture: Picture, width: float, style: Style) -> Drawing:
    """The picture at a width in points."""
    share = width / picture.width
    drawn = Drawing(width, picture.height * share)
    for shape in picture.shapes:
        drawn.add(_shape(shape, share, picture.height, style))
    return drawn


def _shape(shape: Shape, share: float, height: float, style: Style) -> PolyLine | Rect | String:
    colour = _colour(shape.role, style)
    match shape:
        case Line():
            flat = [part for x, y in shape.points for part in (x * share, (height - y) * share)]
            dash = [length * share for length in shape.dash] or None
            width = shape.width * share
            return PolyLine(flat, strokeColor=colour, strokeWidth=width, strokeDashArray=dash, strokeLineJoin=1)
        case Box():
            y = (height - shape.y - shape.height) * share
            sizes = (shape.x * share, y, shape.width * share, shape.height * share)
            return Rect(*sizes, fillColor=colour, strokeColor=None, strokeWidth=0)
        case Label():
            return String(
                shape.x * share,
                (height - shape.y) * share,
                style.plain(shape.text),
                fontName=style.bold if shape.bold else style.regular,
                fontSize=TEXT_SIZE * share,
                fillColor=colour,
                textAnchor=shape.anchor,
            )


def _colour(role: Role, style: Style) -> Color:
    """The colour of a part; the first two series have those of the brand."""
    own = {"0": style.primary, "1": style.accent}
    return own.get(role) or HexColor(LIGHT[role])
