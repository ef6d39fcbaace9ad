from __future__ import annotations

import sizing.base.format
import ui.format
from ui.format import as_markdown


def test_two_prices_in_a_sentence_are_not_a_formula() -> None:
    assert as_markdown("$5 or $6") == r"\$5 or \$6"


def test_names_with_underscores_stars_and_brackets_stay_as_they_are() -> None:
    assert as_markdown("a_b *c* [d](e)") == r"a\_b \*c\* \[d\](e)"


def test_the_icon_and_colour_notation_of_streamlit_stays_text() -> None:
    assert ":" not in as_markdown(":red[x] :material/home:").replace(r"\:", "")


def test_pages_print_numbers_as_the_engine_does() -> None:
    assert ui.format.ms is sizing.base.format.ms
    assert ui.format.usd is sizing.base.format.usd
