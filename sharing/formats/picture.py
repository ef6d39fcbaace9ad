"""A drawing of few kinds of shapes, whose colours are parts that they play: dark pages play them otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ColourRole = Literal["ink", "quiet", "grid", "mark", "0", "1", "2", "3", "4", "5", "6", "7"]
"""What a shape is for; the digits are series in their order."""

LIGHT: Mapping[ColourRole, str] = {
    "ink": "#0e151d",
    "quiet": "#57606a",
    "grid": "#d8dee4",
    "mark": "#0e151d",
    "0": "#0072b2",
    "1": "#d55e00",
    "2": "#009e73",
    "3": "#cc79a7",
    "4": "#7a5195",
    "5": "#666666",
    "6": "#b8860b",
    "7": "#56b4e9",
}
"""Okabe and Ito's colours, as in the dashboard; two more for costs of many parts."""

DARK: Mapping[ColourRole, str] = {
    "ink": "#e8ecf0",
    "quiet": "#a9b4c0",
    "grid": "#35404c",
    "mark": "#e8ecf0",
    "0": "#56b4e9",
    "1": "#e69f00",
    "2": "#00b98a",
    "3": "#d99bbf",
    "4": "#b39ddb",
    "5": "#9aa4ae",
    "6": "#f0e442",
    "7": "#4f8fd0",
}

SERIES: tuple[ColourRole, ...] = ("0", "1", "2", "3", "4", "5", "6", "7")


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """A line through points; ``dash``: lengths on and off, solid without."""

    points: tuple[tuple[float, float], ...]
    role: ColourRole
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rectangle:
    """A rectangle filled with a colour."""

    x: float
    y: float
    width: float
    height: float
    role: ColourRole


@dataclass(frozen=True, kw_only=True)
class Label:
    """One line of text whose base line is at ``y``."""

    x: float
    y: float
    text: str
    role: ColourRole = "ink"
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False


Shape = Stroke | Rectangle | Label


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Shapes in pixels from the upper left corner; ``says``: the picture in a sentence, for those who do not see it."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    says: str


TEXT_SIZE = 12.0
"""Height of every text, in pixels."""
