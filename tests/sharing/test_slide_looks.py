"""Texts of slides that are cut, and lines and parts of their charts that are told apart."""

import pytest
from pptx.util import Inches

from sharing.formats.brand import Brand
from sharing.formats.palette import series_colour
from sharing.formats.slides.boxes import Box, fitting, height_of
from sharing.formats.slides.pages import pages_of
from sharing.formats.xml_text import begun
from sharing.report.content import Chart
from tests.sharing.report_cases import source
from tests.sharing.test_slides import charts_of, made, texts_of


def test_a_text_that_is_cut_ends_with_a_whole_sentence() -> None:
    box = Box(0, 0, Inches(4), Inches(1))
    _, kept = fitting(["It is off by 6.8 % in the median. " * 40], box, (10,))
    assert kept[0].endswith("in the median.")
    assert height_of(kept, 10, box.width) <= box.height
    assert begun("One of 1.5 or so. Another", 20) == "One of 1.5 or so."
    assert begun("One of 1.5 or so. Another", 25) == "One of 1.5 or so. Another"
    assert begun("Not a sentence that ends", 18) == "Not a sentence…"


def test_lines_of_a_chart_are_told_apart_without_colour() -> None:
    report = source("chat").report
    drawn = [visual for page in pages_of(report) for visual in page.visuals if isinstance(visual, Chart)]
    several = 0
    for native, chart in zip(charts_of(made(report)), drawn, strict=True):
        if chart.draws == "line" and len(chart.series) > 1:
            several += 1
            lines = [series.format.line.dash_style for series in list(native.plots[0].series)[: len(chart.series)]]
            assert len(set(lines)) == len(lines)
    assert several


def test_no_two_parts_of_a_cost_have_one_colour() -> None:
    colours = [series_colour(Brand(), number) for number in range(8)]
    assert len(set(colours)) == len(colours)


@pytest.mark.parametrize("name", ["chat", "pools"])
def test_what_is_said_of_a_figure_stands_on_its_card_in_full(name: str) -> None:
    report = source(name).report
    shown = set(texts_of(made(report)))
    notes = {fact.note for page in pages_of(report) for fact in page.facts if fact.note}
    assert len(notes) > 5
    assert notes <= shown


@pytest.mark.parametrize("name", ["chat", "pools"])
def test_a_slide_says_what_would_be_ordered_where_the_answer_flips(name: str) -> None:
    tables = [shape.table for slide in made(source(name).report).slides for shape in slide.shapes if shape.has_table]
    heads = [[cell.text for cell in table.rows[0].cells] for table in tables]
    (flips,) = [head for head in heads if "Flips at" in head]
    assert "What would be ordered then" in flips
