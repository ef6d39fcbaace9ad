"""A report as one HTML file: it opens offline, asks nobody for anything, prints, and follows light and dark."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sharing.formats.brand import Brand
from sharing.formats.cells import cell_text, day_and_time, heading
from sharing.formats.charts import picture
from sharing.formats.picture import DARK, LIGHT, Role
from sharing.formats.source import ReportSource
from sharing.formats.svg import SERIES_CLASS, svg
from sharing.report.content import Chart

FOLDER = Path(__file__).parent / "templates"
WIDE, NARROW = 760.0, 340.0
"""Widths that every chart is drawn for, in pixels: a desk or paper, and a phone."""


def write(source: ReportSource) -> bytes:
    """The report as an HTML file in UTF-8."""
    template = _environment().get_template("report.html.j2")
    page = template.render(
        report=source.report,
        brand=source.brand,
        logo=_logo(source.brand),
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


def _colours(roles: Mapping[Role, str], primary: str | None, accent: str | None) -> dict[str, str]:
    """Variables of the page; the first two series have the colours of the brand."""
    colours: dict[str, Any] = {f"{SERIES_CLASS}{role}" if role.isdecimal() else role: of for role, of in roles.items()}
    own = {f"{SERIES_CLASS}0": primary, f"{SERIES_CLASS}1": accent}
    return colours | {role: colour for role, colour in own.items() if colour is not None}


def _logo(brand: Brand) -> str:
    """The logo within the page; empty without one."""
    if not brand.logo_type:
        return ""
    return f"data:{brand.logo_type};base64,{base64.b64encode(brand.logo).decode()}"
