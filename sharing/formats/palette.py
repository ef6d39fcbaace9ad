"""Colours of the series of a chart: those of the brand, then others that people with any colour vision tell apart."""

from sharing.formats.brand import Brand

OTHERS = ("#009e73", "#8f5aa8", "#b8860b", "#56b4e9", "#6b7a89", "#cc79a7")
"""After Okabe and Ito, "Color universal design" (2008), darkened where white paper needs it."""


def series_colour(brand: Brand, number: int) -> str:
    """The colour of a series, counted from 0."""
    colours = (brand.primary, brand.accent, *OTHERS)
    return colours[number % len(colours)]
