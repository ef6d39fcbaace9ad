"""The colours of .streamlit/config.toml can be read by people who see contrast poorly (WCAG 2.2, 1.4.3 and 1.4.11)."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
THEMES = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]


def relative_luminance(colour: str) -> float:
    """Relative luminance of ``#RRGGBB`` as WCAG 2.2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours as WCAG 2.2 defines it, 1 to 21."""
    dark, light = sorted((relative_luminance(one), relative_luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_on_white_is_21() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("background", ["backgroundColor", "secondaryBackgroundColor"])
@pytest.mark.parametrize("text", ["textColor", "linkColor"])
def test_text_stands_out(theme: str, background: str, text: str) -> None:
    assert contrast(THEMES[theme][text], THEMES[theme][background]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_primary_colour_carries_white_text_and_stands_out(theme: str) -> None:
    primary = THEMES[theme]["primaryColor"]
    assert contrast("#FFFFFF", primary) >= 4.5
    assert contrast(primary, THEMES[theme]["backgroundColor"]) >= 4
    assert contrast(primary, THEMES[theme]["secondaryBackgroundColor"]) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chart_colours_are_the_ten_that_plotly_needs(theme: str) -> None:
    assert len(THEMES[theme]["chartCategoricalColors"]) == 10


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chart_colours_stand_out_from_the_page(theme: str) -> None:
    page = THEMES[theme]["backgroundColor"]
    faint = [c for c in THEMES[theme]["chartCategoricalColors"] if contrast(c, page) < 3]
    assert not faint


def test_streamlit_knows_every_option_of_our_configuration() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "streamlit", "config", "show"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "not a valid config option" not in shown.stdout + shown.stderr
