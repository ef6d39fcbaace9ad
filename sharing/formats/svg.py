"""A picture as SVG that stands within a page: classes instead of colours, so that the page says light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from sharing.formats.picture import Box, Label, Line, Picture, Shape

SERIES_CLASS = "s"


def svg(picture: Picture, kind: str) -> str:
    """The picture as an element of a page; ``kind``: a class beside ``chart``. Text is escaped by the XML library."""
    root = ElementTree.Element(
        "svg",
        {
            "viewBox": f"0 0 {picture.width:.0f} {picture.height:.0f}",
            "class": f"chart {kind}",
            "role": "img",
            "aria-label": picture.says,
        },
    )
    for shape in picture.shapes:
        _draw(root, shape)
    return ElementTree.tostring(root, encoding="unicode")


def _draw(root: ElementTree.Element, shape: Shape) -> None:
    role = f"{SERIES_CLASS}{shape.role}" if shape.role.isdecimal() else shape.role
    match shape:
        case Line():
            keys = {"points": _points(shape.points), "class": f"line {role}", "stroke-width": f"{shape.width:g}"}
            if shape.dash:
                keys["stroke-dasharray"] = " ".join(f"{length:g}" for length in shape.dash)
            ElementTree.SubElement(root, "polyline", keys)
        case Box():
            sizes = {"x": shape.x, "y": shape.y, "width": shape.width, "height": shape.height}
            ElementTree.SubElement(root, "rect", {**{k: f"{v:.1f}" for k, v in sizes.items()}, "class": f"box {role}"})
        case Label():
            bold = " bold" if shape.bold else ""
            keys = {"x": f"{shape.x:.1f}", "y": f"{shape.y:.1f}", "class": f"label {role}{bold} {shape.anchor}"}
            ElementTree.SubElement(root, "text", keys).text = shape.text


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
