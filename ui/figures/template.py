"""The one look of every figure: template, palette, and one colour per hardware.

Backgrounds are transparent and text colours stand in the template, where Streamlit's theme replaces them, so that a
figure fits the page it stands in and still reads well elsewhere. Colour never stands alone: lines differ by dash,
points by marker, areas by pattern.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from zlib import crc32

import plotly.graph_objects as go

from sizing.base.format import SUFFIXES
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_families import gpu_families
from sizing.catalog.gpu_rows import gpus

LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#666666")
DARK = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#FFFFFF")
"""Okabe and Ito's colours, which people with colour-blindness tell apart; the same as in .streamlit/config.toml."""

NEUTRAL = {False: "#666666", True: "#B8C0C8"}
"""Limits, frontiers and totals: lines that belong to no hardware, in the light and in the dark theme."""

INK = {False: "#0E151D", True: "#E8ECF0"}
"""Text inside a figure that Streamlit does not colour (labels of annotations)."""

PAPER = {False: "#FFFFFF", True: "#0F1318"}
"""What figures are drawn on: the background of the page, as in .streamlit/config.toml."""

READABLE = 4.5
"""Contrast ratio of text that everybody can read (WCAG 2.2, level AA)."""

TEXT_SIZE = 14
"""Pixels. Chosen: as the captions of the page."""

LOG_FROM, MANY_DECADES = 8.0, 1e3
"""Ratios of the largest value to the smallest from which on an axis is logarithmic, and has a tick per decade only."""

MAX_POINTS = 5_000
"""Most points a figure sends to a browser."""

BUTTONS_PX = 36
"""Right of the plot: room for Plotly's buttons, one below the other, which would cover the legend above the plot."""

LEAST_END = 1e-9
"""Where an axis from 0 ends at least, so that it has a length."""

_OTHER_COLOUR = 5
"""Place in the palette of a family without a colour of its own, and of what is outside the catalogue: the last."""

_SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "x",
    "star",
    "pentagon",
    "hexagon",
    "triangle-down",
    "star-diamond",
    "hourglass",
    "triangle-left",
    "triangle-right",
    "bowtie",
    "star-square",
)
_WITHOUT_DOT = ("hourglass", "bowtie")  # plotly has no dotted one of these two
_MARKERS = (
    *_SYMBOLS,
    *(f"{one}-open" for one in _SYMBOLS),
    *(f"{one}-dot" for one in _SYMBOLS if one not in _WITHOUT_DOT),
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Line dashes in order of use."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How one hardware, or one series, is drawn: its name in a legend, colour, line dash and marker symbol."""

    name: str
    colour: str
    dash: str
    symbol: str


def palette(*, dark: bool) -> tuple[str, ...]:
    """The six colours of the theme, in order of use."""
    return DARK if dark else LIGHT


@cache
def hardware_look(gpu_id: str, *, name: str = "", dark: bool = False) -> Look:
    """The look of an accelerator, the same in every figure: colour by family, dash and marker within the family.

    An accelerator outside the catalogue (custom) is called ``name``, and has the last colour and a marker that depends
    on its id alone.
    """
    known = gpus()
    gpu = known.get(gpu_id)
    colour = _colour(gpu)
    if gpu is None:
        place = crc32(gpu_id.encode())
    else:
        same = [g.id for g in known.values() if _colour(g) == colour]
        place = same.index(gpu_id)
    return Look(
        name=gpu.name if gpu else name or gpu_id,
        colour=palette(dark=dark)[colour],
        dash=DASHES[place % len(DASHES)],
        symbol=_MARKERS[place % len(_MARKERS)],
    )


def _colour(gpu: Gpu | None) -> int:
    """The place of an accelerator's family in the palette."""
    colour = gpu_families()[gpu.family].colour if gpu else None
    return _OTHER_COLOUR if colour is None else colour


@cache
def template(*, dark: bool = False) -> go.layout.Template:
    """The plotly template of every figure: transparent, quiet grid, legend on top, numbers in full."""
    grid = {
        "gridcolor": "rgba(128, 128, 128, 0.22)",
        "zeroline": False,
        "automargin": True,
        "title": {"standoff": 8},
        "separatethousands": True,
        "exponentformat": "none",
    }
    return go.layout.Template(
        layout={
            "font": {"color": INK[dark]},
            "colorway": list(palette(dark=dark)),
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "xaxis": grid,
            "yaxis": grid,
            "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
            "modebar": {"orientation": "v"},
            "hovermode": "closest",
            "hoverlabel": {"align": "left"},
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        }
    )


def quick_figure(data: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """A figure of plain dictionaries, for pages that are drawn after every input: without Plotly's check of every
    property, which takes most of the time that a small figure takes. The tests of such figures check them."""
    return go.Figure(data=data, layout=layout, _validate=False)


def layout(*, dark: bool, **more: Any) -> dict[str, Any]:
    """The layout every figure starts from. Streamlit's theme overrides a template's text sizes and margins."""
    margin = {"r": BUTTONS_PX, **more.pop("margin", {})}
    legend = {"font": {"size": TEXT_SIZE}, **more.pop("legend", {})}
    return {"template": template(dark=dark), "font": {"size": TEXT_SIZE}, "legend": legend, "margin": margin, **more}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title, unit included, in sizes that carry on a projector."""
    return {"title": {"text": title, "font": {"size": TEXT_SIZE + 1}}, "tickfont": {"size": TEXT_SIZE}, **more}


def spread_out(values: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis where the values span much, with ticks at 1, 2 and 5 or at whole decades, each in full; else
    from zero."""
    low, high = min(values), max(values)
    if low <= 0 or high / low < LOG_FROM:
        return {"type": "linear", "rangemode": "tozero"}
    return {"type": "log", "dtick": "D2" if high / low < MANY_DECADES else 1, "tickformat": ",.3~r"}


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks at 1, 2 and 5, or at whole decades where there are many."""
    steps = (1, 2, 5) if high / low < MANY_DECADES else (1,)
    return [n * 10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for n in steps]


def short_ticks(values: Sequence[float]) -> dict[str, Any]:
    """As :func:`spread_out`, for large numbers side by side on a phone: 5k, 10k, 20k."""
    scale = spread_out(values)
    if scale["type"] != "log":
        return scale
    ticks = log_ticks(min(values), max(values))
    return {"type": "log", "tickvals": ticks, "ticktext": [_short(tick) for tick in ticks]}


def _short(value: float) -> str:
    scale, suffix = next((one for one in SUFFIXES if value >= one[0]), (1.0, ""))
    return f"{value / scale:g}{suffix}"


def alpha(colour: str, opacity: float) -> str:
    """A palette colour with an opacity, for areas: "#0072B2", 0.2 is "rgba(0,114,178,0.2)"."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours: (L1 + 0.05) / (L2 + 0.05) of their relative luminances (WCAG 2.2)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def over_paper(colour: str, opacity: float, *, dark: bool) -> str:
    """A palette colour with an opacity as it looks on the page, opaque."""
    pairs = zip(_channels(colour), _channels(PAPER[dark]), strict=True)
    return "#" + "".join(f"{round(opacity * ink + (1 - opacity) * paper):02X}" for ink, paper in pairs)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def text_on(colour: str) -> str:
    """Black or white, whichever is easier to read on the colour."""
    return max(("#000000", "#FFFFFF"), key=lambda ink: contrast(ink, colour))


def _luminance(colour: str) -> float:
    channels = (one / 255 for one in _channels(colour))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def message(text: str, *, dark: bool = False) -> go.Figure:
    """An empty figure that says in one sentence why there is nothing to draw."""
    note = {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": 0.5,
        "y": 0.5,
        "showarrow": False,
        "font": {"color": INK[dark], "size": 14},
    }
    hidden = {"visible": False}
    return go.Figure(layout=layout(dark=dark, height=140, annotations=[note], xaxis=hidden, yaxis=hidden))
