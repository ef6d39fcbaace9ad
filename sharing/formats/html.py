"""A report as one HTML file: it opens offline, asks nobody for anything, prints, and follows light and dark.

Its pictures are SVG within the page: classes instead of colours, so that the page says light or dark.
"""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sharing.formats.brand import image_type
from sharing.formats.cells import cell_text, day_and_time, heading
from sharing.formats.charts import picture
from sharing.formats.picture import DARK, LIGHT, ColourRole, Label, Picture, Rectangle, Shape, Stroke
from sharing.formats.source import ReportSource
from sharing.report.content import Chart

FOLDER = Path(__file__).parent / "templates"
WIDE, NARROW = 760.0, 340.0
"""Widths that every chart is drawn for, in pixels: a desk or paper, and a phone."""

SERIES_CLASS = "s"


def write(source: ReportSource) -> bytes:
    """The report as an HTML file in UTF-8."""
    template = _environment().get_template("report.html.j2")
    page = template.render(
        report=source.report,
        brand=source.brand,
        logo=_logo(source.brand.logo),
        customer_logo=_logo(source.customer_logo),
        made=day_and_time(source.report.made_at),
        light=_colours(LIGHT, source.brand.primary, source.brand.accent),
        dark=_colours(DARK, None, None),
    )
    return page.encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(cell_text=cell_text, heading=heading, drawn=_drawn)
    return environment


def _drawn(chart: Chart) -> Markup:
    """The chart for both widths; the page shows one. The XML library has escaped its texts."""
    return Markup(svg(picture(chart, WIDE), "wide") + svg(picture(chart, NARROW), "narrow"))


def _colours(roles: Mapping[ColourRole, str], primary: str | None, accent: str | None) -> dict[str, str]:
    """Variables of the page; the first two series have the colours of the brand."""
    colours: dict[str, Any] = {f"{SERIES_CLASS}{role}" if role.isdecimal() else role: of for role, of in roles.items()}
    own = {f"{SERIES_CLASS}0": primary, f"{SERIES_CLASS}1": accent}
    return colours | {role: colour for role, colour in own.items() if colour is not None}


def _logo(content: bytes) -> str:
    """A logo within the page; empty without one."""
    kind = image_type(content)
    return f"data:{kind};base64,{base64.b64encode(content).decode()}" if kind else ""


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
        case Stroke():
            keys = {"points": _points(shape.points), "class": f"line {role}", "stroke-width": f"{shape.width:g}"}
            if shape.dash:
                keys["stroke-dasharray"] = " ".join(f"{length:g}" for length in shape.dash)
            ElementTree.SubElement(root, "polyline", keys)
        case Rectangle():
            sizes = {"x": shape.x, "y": shape.y, "width": shape.width, "height": shape.height}
            ElementTree.SubElement(root, "rect", {**{k: f"{v:.1f}" for k, v in sizes.items()}, "class": f"box {role}"})
        case Label():
            bold = " bold" if shape.bold else ""
            keys = {"x": f"{shape.x:.1f}", "y": f"{shape.y:.1f}", "class": f"label {role}{bold} {shape.anchor}"}
            ElementTree.SubElement(root, "text", keys).text = shape.text


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
