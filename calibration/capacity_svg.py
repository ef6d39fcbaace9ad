"""The figure of capacity at the limits for the document: planned against measured rate, as an SVG made by hand.

Colours follow the reader's theme where the viewer passes it on, and are readable on both grounds where it does not.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

WIDTH, HEIGHT, LEFT, TOP, SIDE = 700, 490, 70, 20, 420
"""Pixels: the picture, and the corner and the length of the square plot."""

LEGEND_X, LEGEND_STEP = LEFT + SIDE + 14, 22

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #57606a; }
.grid { stroke: #8c959f; stroke-opacity: .35; }
.same { stroke: #6e7781; stroke-dasharray: 4 4; }
.a { fill: #0072B2; } .b { fill: #D55E00; } .c { fill: #009E73; } .d { fill: #CC79A7; }
circle { fill-opacity: .6; }
@media (prefers-color-scheme: dark) {
  text { fill: #b8c0c8; } .a { fill: #56B4E9; } .b { fill: #E69F00; }
}
"""
CLASSES = "abcd"
"""Okabe and Ito's colours, as in the figures of the pages."""

DECADE = (1.0, 2.0, 5.0)
"""Where an axis has ticks within each decade."""

Record = Mapping[str, Any]


def capacity_svg(runs: Sequence[Record], alt: str) -> str:
    """Planned over measured rate of every run, both axes logarithmic, in per-GPU rates, one colour per benchmark."""
    points = [(r["benchmark"], r["measured_rps"] / r["gpus"], r["planned_rps"] / r["gpus"]) for r in runs]
    points = [point for point in points if point[2] > 0]
    ends = [rate for _, *rates in points for rate in rates]
    low, high = min(ends) / 1.2, max(ends) * 1.2
    root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img")
    ET.SubElement(root, "title").text = alt
    ET.SubElement(root, "style").text = STYLE

    def at(rate: float) -> float:
        return SIDE * math.log(rate / low) / math.log(high / low)

    _axes(root, [(tick, at(tick)) for tick in _ticks(low, high)])
    for place, name in enumerate(dict.fromkeys(point[0] for point in points)):
        look = CLASSES[place % len(CLASSES)]
        for _, measured, planned in (point for point in points if point[0] == name):
            _add(root, "circle", cx=LEFT + at(measured), cy=TOP + SIDE - at(planned), r=4, **{"class": look})
        y = TOP + 10 + LEGEND_STEP * place
        _add(root, "circle", cx=LEGEND_X, cy=y - 4, r=4, **{"class": look})
        _add(root, "text", x=LEGEND_X + 10, y=y).text = name
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _axes(root: ET.Element, ticks: Sequence[tuple[float, float]]) -> None:
    """Grid, the line on which both are the same, and the names of the axes."""
    bottom = TOP + SIDE
    for tick, place in ticks:
        _add(root, "line", x1=LEFT + place, x2=LEFT + place, y1=TOP, y2=bottom, **{"class": "grid"})
        _add(root, "line", x1=LEFT, x2=LEFT + SIDE, y1=bottom - place, y2=bottom - place, **{"class": "grid"})
        _add(root, "text", x=LEFT + place, y=bottom + 18, **{"text-anchor": "middle"}).text = f"{tick:g}"
        _add(root, "text", x=LEFT - 8, y=bottom - place + 4, **{"text-anchor": "end"}).text = f"{tick:g}"
    _add(root, "line", x1=LEFT, y1=bottom, x2=LEFT + SIDE, y2=TOP, **{"class": "same"})
    middle = {"text-anchor": "middle"}
    _add(root, "text", x=LEFT + SIDE / 2, y=bottom + 42, **middle).text = "Measured (requests/s per GPU)"
    turned = {**middle, "transform": f"translate(20 {TOP + SIDE / 2:g}) rotate(-90)"}
    _add(root, "text", **turned).text = "Planned (requests/s per GPU)"


def _add(root: ET.Element, tag: str, **attributes: float | str) -> ET.Element:
    texts = {k: v if isinstance(v, str) else f"{v:.1f}" for k, v in attributes.items()}
    return ET.SubElement(root, tag, texts)


def _ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**d for d in decades for m in DECADE if low <= m * 10.0**d <= high]
