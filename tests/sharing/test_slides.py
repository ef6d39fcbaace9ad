"""The presentation of a report, read back: native charts with the report's data, and nothing beyond a slide."""

import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from pptx import Presentation
from pptx.chart.chart import Chart as Native
from pptx.presentation import Presentation as Opened
from pptx.util import Inches, Pt
from reportlab.pdfbase.pdfmetrics import stringWidth

from sharing.formats import FORMATS
from sharing.formats.brand import BadBrand, Brand, read_brand
from sharing.formats.palette import series_colour
from sharing.formats.slides import to_pptx, write
from sharing.formats.slides.boxes import LETTER, Box, emu, fitting, height_of, lines_of, word_width
from sharing.formats.slides.pages import MOST_SLIDES, pages_of
from sharing.formats.slides.tables import fitted
from sharing.formats.source import ReportSource
from sharing.formats.xml_text import begun
from sharing.report.content import Chart, Column, Fact, Facts, Paragraph, Released, Report, Section, Table
from tests.sharing.report_cases import CASES, answered, planned, source
from tests.sharing.report_example import FORMULAS, LONG_NAME
from tests.sharing.report_example import report as by_hand


def made(report: Report, brand: Brand | None = None) -> Opened:
    of = ReportSource(answer=answered("chat"), report=report, brand=brand or Brand())
    return Presentation(io.BytesIO(to_pptx(of)))


def charts_of(deck: Opened) -> list[Native]:
    return [shape.chart for slide in deck.slides for shape in slide.shapes if shape.has_chart]


def texts_of(deck: Opened) -> Iterator[str]:
    for slide in deck.slides:
        yield slide.notes_slide.notes_text_frame.text
        for shape in slide.shapes:
            if shape.has_text_frame:
                yield shape.text_frame.text
            if shape.has_table:
                yield from (cell.text for row in shape.table.rows for cell in row.cells)


def beyond_its_slide(deck: Opened) -> list[str]:
    """Shapes that reach over an edge, tables by the heights of their rows."""
    faults = []
    for number, slide in enumerate(deck.slides, start=1):
        for shape in slide.shapes:
            height = sum(row.height for row in shape.table.rows) if shape.has_table else shape.height
            right, bottom = shape.left + shape.width, shape.top + height
            if min(shape.left, shape.top) < 0 or right > deck.slide_width or bottom > deck.slide_height:
                faults.append(f"slide {number}: {shape.name}")
    return faults


def overlapping(deck: Opened) -> list[str]:
    """Charts and tables of which one covers another."""
    faults = []
    for number, slide in enumerate(deck.slides, start=1):
        boxes = []
        for shape in slide.shapes:
            if shape.has_chart or shape.has_table:
                height = sum(row.height for row in shape.table.rows) if shape.has_table else shape.height
                boxes.append((shape.left, shape.top, shape.left + shape.width, shape.top + height))
        for k, a in enumerate(boxes):
            for b in boxes[k + 1 :]:
                if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
                    faults.append(f"slide {number}")
    return faults


@pytest.mark.parametrize("name", CASES)
def test_a_report_has_a_dozen_slides_at_most_and_nothing_beyond_them(name: str) -> None:
    deck = Presentation(io.BytesIO(write(source(name))))
    least = 8 if planned(name).feasible else 4
    assert least <= len(deck.slides) <= MOST_SLIDES
    assert beyond_its_slide(deck) == []
    assert overlapping(deck) == []
    assert all(slide.shapes.title.text_frame.text for slide in deck.slides)
    assert broken_heads(deck) == []


WIDER = 1.24
"""Width of words in DejaVu Sans Bold over Helvetica Bold, at most: the former stands in where a font is missing."""


def broken_heads(deck: Opened) -> list[str]:
    """Words in heads of tables that are wider than their column."""
    faults = []
    for number, slide in enumerate(deck.slides, start=1):
        for table in (shape.table for shape in slide.shapes if shape.has_table):
            for k, column in enumerate(table.columns):
                cell = table.cell(0, k)
                size = cell.text_frame.paragraphs[0].font.size.pt
                room = (column.width - cell.margin_left - cell.margin_right) / Pt(1)
                widths = {word: stringWidth(word, "Helvetica-Bold", size) * WIDER for word in cell.text.split()}
                faults += [f"slide {number}: {word}" for word, width in widths.items() if width > room]
    return faults


@pytest.mark.parametrize("name", CASES)
def test_no_head_of_a_table_breaks_inside_a_word_of_a_narrow_slide(name: str) -> None:
    """With the owner's prices, which have the most columns; the wide slides of list prices are read above."""
    assert broken_heads(made(source(name, Released.OWN_PRICES).report, Brand(template=template()))) == []


def test_no_head_of_a_report_made_by_hand_breaks_inside_a_word() -> None:
    assert [broken_heads(made(by_hand(), brand)) for brand in (Brand(), Brand(template=template()))] == [[], []]


def test_a_column_is_left_out_before_its_head_breaks() -> None:
    columns = tuple(Column(label="Configurationswithoutaspace") for _ in range(6))
    table = Table(title="Wide", columns=columns, rows=(("a",) * 6,))
    drawn = fitted(table, Box(0, 0, Inches(8), Inches(3)), "USD")
    needed = word_width(columns[0].label, drawn.size)
    assert 2 <= len(drawn.head) < 6
    assert all(width / Pt(1) >= needed for width in drawn.widths)


def test_it_is_offered() -> None:
    assert Presentation(io.BytesIO(FORMATS[".pptx"].write(source("chat")))).core_properties is not None


def test_lines_end_between_words() -> None:
    """Three words of six letters on lines of ten take three lines, though their letters would fit on two."""
    assert lines_of("spread better inputs", 12.0, emu(10.5 * 12.0 * LETTER)) == 3


def test_charts_are_native_and_hold_the_data_of_the_report() -> None:
    report = source("chat").report
    natives = charts_of(made(report))
    drawn = [visual for page in pages_of(report) for visual in page.visuals if isinstance(visual, Chart)]
    assert len(natives) == len(drawn) >= 4
    for native, chart in zip(natives, drawn, strict=True):
        plot = native.plots[0]
        for series, of_report in zip(plot.series, chart.series, strict=False):
            known = [value for value in of_report.values if value is not None]
            assert series.name == of_report.name
            assert [value for value in series.values if value is not None] == pytest.approx(known)
        assert len(plot.series) >= len(chart.series)
        assert native.part.chart_workbook.xlsx_part is not None


def test_a_limit_is_a_line_in_its_chart() -> None:
    native = next(one for one in charts_of(made(by_hand())) if "limit" in [s.name for s in one.plots[0].series])
    limit = next(series for series in native.plots[0].series if series.name == "limit")
    assert tuple(limit.values) == (1000.0, 1000.0)


def test_tables_hold_the_rows_of_the_report_and_say_what_is_left_out() -> None:
    deck = made(by_hand())
    table = next(block for s in by_hand().sections for block in s.blocks if isinstance(block, Table))
    native = next(s.table for slide in deck.slides for s in slide.shapes if s.has_table)
    assert native.cell(1, 1).text == f"{table.rows[0][1]:,.0f}"
    shown = len(native.rows) - 1
    assert shown < len(table.rows)
    assert any(f"{len(table.rows) - shown} more in the report." in text for text in texts_of(deck))


def test_sources_stand_in_the_notes() -> None:
    report = source("chat").report
    notes = "\n".join(slide.notes_slide.notes_text_frame.text for slide in made(report).slides)
    assert "Sources of " in notes
    assert report.answer in notes


def test_texts_that_do_not_fit_stand_in_the_notes_in_full() -> None:
    long = "One sentence that goes on and on. " * 200
    fact = Facts(facts=(Fact(label=LONG_NAME, value=LONG_NAME * 3, note=LONG_NAME * 9),) * 12)
    section = Section(key="long", title=LONG_NAME * 2, blocks=(Paragraph(text=long), fact))
    deck = made(by_hand(title=LONG_NAME * 2, sections=(section,)))
    assert beyond_its_slide(deck) == []
    assert long.strip() in deck.slides[1].notes_slide.notes_text_frame.text
    assert any(text.endswith("…") for text in texts_of(deck))


def test_a_report_of_many_chapters_stays_a_dozen_slides() -> None:
    sections = tuple(Section(key=f"k{n}", title=f"Chapter {n}", blocks=(Paragraph(text="text"),)) for n in range(40))
    assert len(made(by_hand(sections=sections)).slides) == MOST_SLIDES


def test_texts_stay_texts_and_control_characters_are_left_out() -> None:
    deck = made(by_hand(title="a\x07b <script>", answer="=1+1 \x1b"))
    texts = list(texts_of(deck))
    assert "ab <script>" in texts
    assert any(FORMULAS[0] in text for text in texts)
    assert not any("\x07" in text or "_x001B_" in text for text in texts)


@pytest.mark.parametrize("name", ["chat", "own prices"])
def test_no_money_is_on_a_slide_where_none_is_released(name: str) -> None:
    texts = " ".join(texts_of(Presentation(io.BytesIO(write(source(name, Released.NOTHING))))))
    assert "USD" not in texts
    assert "$" not in texts


def template(**size: int) -> bytes:
    """A presentation of a customer: its own size, with a slide in it."""
    deck = Presentation()
    for name, value in size.items():
        setattr(deck, name, value)
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "Left over"
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


def test_a_template_gives_master_and_size_and_none_of_its_slides() -> None:
    deck = made(by_hand(), Brand(template=template()))
    assert (deck.slide_width, deck.slide_height) == (Inches(10), Inches(7.5))
    assert not any("Left over" in text for text in texts_of(deck))
    assert beyond_its_slide(deck) == []
    assert {slide.slide_layout.name for slide in deck.slides} == {"Title Slide", "Title Only"}


@pytest.mark.parametrize("content", [b"PK\x03\x04 cut short", b"no zip"])
def test_a_template_that_cannot_be_opened_is_one_sentence(content: bytes) -> None:
    with pytest.raises(BadBrand, match=r"^template: it is no PowerPoint file"):
        made(by_hand(), Brand(template=content))


def test_a_template_without_titles_or_room_is_one_sentence() -> None:
    untitled = Presentation(io.BytesIO(template()))
    for layout in untitled.slide_layouts:
        for shape in list(layout.placeholders):
            shape._element.getparent().remove(shape._element)
    file = io.BytesIO()
    untitled.save(file)
    with pytest.raises(BadBrand, match="none of its layouts has a title"):
        made(by_hand(), Brand(template=file.getvalue()))
    with pytest.raises(BadBrand, match="too little room"):
        made(by_hand(), Brand(template=template(slide_height=Inches(2))))


def test_the_template_is_named_beside_the_file_of_the_brand(tmp_path: Path) -> None:
    (tmp_path / "house.pptx").write_bytes(template())
    (tmp_path / "brand.yaml").write_text("name: Example\ntemplate: house.pptx\n")
    assert read_brand(tmp_path / "brand.yaml").template == (tmp_path / "house.pptx").read_bytes()
    (tmp_path / "brand.yaml").write_text("template: brand.yaml\n")
    with pytest.raises(BadBrand, match=r"brand\.yaml: template: brand\.yaml is no PowerPoint file"):
        read_brand(tmp_path / "brand.yaml")


def test_logo_and_footer_are_on_every_slide() -> None:
    logo = io.BytesIO()
    Image.new("RGB", (900, 100), "red").save(logo, "PNG")
    deck = made(by_hand(), Brand(name="Example Systems", footer="Confidential", logo=logo.getvalue()))
    for slide in deck.slides:
        assert any("Example Systems · Confidential" in s.text_frame.text for s in slide.shapes if s.has_text_frame)
        assert sum(shape.name.startswith("Picture") for shape in slide.shapes) == 1
    assert beyond_its_slide(deck) == []


def test_the_same_report_is_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    of = source("chat")
    first = write(of)
    later = time.time() + 1e6
    monkeypatch.setattr("time.time", lambda: later)
    assert write(of) == first
    with zipfile.ZipFile(io.BytesIO(first)) as package:
        assert {entry.date_time[:3] for entry in package.infolist()} == {(2026, 11, 22)}
        inner = next(name for name in package.namelist() if name.endswith(".xlsx"))
        with zipfile.ZipFile(io.BytesIO(package.read(inner))) as workbook:
            assert b"2026-11-22T12:00:00Z" in workbook.read("docProps/core.xml")


def test_letters_get_smaller_before_a_text_is_cut() -> None:
    box = Box(0, 0, Inches(4), Inches(1))
    size, kept = fitting(["word " * 30], box, (20, 14, 10))
    assert size < 20
    assert kept == ("word " * 30,)
    assert height_of(kept, size, box.width) <= box.height
    size, kept = fitting(["word " * 900], box, (20, 14, 10))
    assert size == 10
    assert kept[0].endswith("…")
    assert height_of(kept, size, box.width) <= box.height


def test_a_chapter_of_one_sentence_about_alternatives_stands_on_the_first_slide() -> None:
    nothing = Section(key="alternatives", title="Alternatives", blocks=(Paragraph(text="There is no other."),))
    answer = Section(key="answer", title="The answer", blocks=(Paragraph(text="Take this one."),))
    slides = made(by_hand(sections=(answer, nothing))).slides
    assert len(slides) == 2
    texts = [shape.text_frame.text for shape in slides[1].shapes if shape.has_text_frame]
    assert any("There is no other." in text for text in texts)


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
