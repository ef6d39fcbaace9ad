"""How the chapters of a PDF share its pages, and how words that are wider than a column end their lines."""

import io
from dataclasses import replace

import pypdf
import pytest

from sharing.formats import FORMATS
from sharing.formats.brand import Brand
from sharing.formats.pdf import NOT_SHOWN, drawing
from sharing.formats.pdf_style import style_of
from sharing.formats.pdf_table import _pieces
from sharing.formats.picture import TEXT_SIZE, Label, Picture
from sharing.report.content import Column, Paragraph, Section, Table
from tests.sharing.report_cases import source

STYLE = style_of(Brand())


def table(title: str, rows: int, note: str = "") -> Table:
    return Table(
        title=title,
        columns=(Column(label="Name"), Column(label="Value", holds="number")),
        rows=tuple((f"{title} {row}", float(row)) for row in range(rows)),
        note=note,
    )


def pages(*sections: Section) -> list[str]:
    one = source("impossible")
    made = replace(one, report=one.report.model_copy(update={"sections": sections}))
    reader = pypdf.PdfReader(io.BytesIO(FORMATS[".pdf"].write(made)))
    return [page.extract_text() for page in reader.pages]


def test_a_long_table_begins_on_the_page_of_the_chapter_before() -> None:
    short = Section(key="questions", title="Questions", blocks=(table("Asked", 10),))
    long = Section(key="assumptions", title="Assumptions", blocks=(table("Input", 30),))
    first, second = pages(short, long)
    assert "Input 0" in first
    assert "Input 29" in second
    assert "Value" in second  # its heads again


@pytest.mark.parametrize("rows", range(24, 36))
def test_a_short_table_stands_with_its_title_and_note_on_one_page(rows: int) -> None:
    last = table("Memory", 6, note="A GPU has 80 GiB.")
    section = Section(key="latency", title="Latency", blocks=(table("Before", rows), last))
    (page,) = [text for text in pages(section) if "Memory 0" in text]
    assert "A GPU has 80 GiB." in page
    assert "Memory 5" in page


@pytest.mark.parametrize("rows", range(20, 38, 2))
@pytest.mark.parametrize("below", [6, 9, 12, 30])
def test_the_title_of_a_chapter_stands_on_the_page_of_its_first_rows(rows: int, below: int) -> None:
    before = Section(key="answer", title="Answer", blocks=(table("Before", rows),))
    section = Section(key="questions", title="Chapter two", blocks=(table("Asked", below),))
    (page,) = [text for text in pages(before, section) if "Chapter two" in text]
    assert "Asked 0" in page


def test_a_chapter_of_one_sentence_needs_no_page_of_its_own() -> None:
    before = Section(key="latency", title="Latency", blocks=(table("Before", 26),))
    brief = Section(key="alternatives", title="Alternatives", blocks=(Paragraph(text="There is no other."),))
    assert len(pages(before, brief)) == 1


@pytest.mark.parametrize(
    "word", ["runlocalai.co/pulse/nvidia-b200-production-ramp-pricing", "model_prices_and_context_window_backup.json"]
)
def test_an_address_ends_its_lines_behind_signs(word: str) -> None:
    pieces = _pieces(word, 80.0, 8.4, STYLE)
    assert "".join(pieces) == word
    assert len(pieces) > 1
    assert all(piece[-1] in "/_-." for piece in pieces[:-1])
    assert all(STYLE.width(piece, 8.4) <= 80.0 for piece in pieces)


def test_a_word_that_fits_stays_whole() -> None:
    assert _pieces("on-premises", 80.0, 8.4, STYLE) == ["on-premises"]


def test_columns_of_figures_that_no_row_has_are_left_out() -> None:
    columns = (Column(label="Name"), Column(label="ITL", holds="number"), Column(label="Rate", holds="number"))
    kept = Table(title="Measured", columns=columns, rows=(("a", None, 1.0), ("b", None, None))).without_empty_columns()
    assert [column.label for column in kept.columns] == ["Name", "Rate"]
    assert kept.rows == (("a", 1.0), ("b", None))


def pages_named(name: str) -> pypdf.PdfReader:
    """A report whose title, customer and author somebody typed."""
    one = source("impossible")
    report = one.report.model_copy(update={"title": name, "customer": name, "author": name})
    return pypdf.PdfReader(io.BytesIO(FORMATS[".pdf"].write(replace(one, report=report))))


def text_of(page: pypdf.PageObject) -> str:
    return " ".join(page.extract_text().split())


@pytest.mark.parametrize(
    "name",
    [
        "Łódź Škoda Příliš ğüşı", "Εθνική Τράπεζα", "Газпром Київстар", "Nguyễn Đặng", "東京エレクトロン",
        "삼성전자 Ltd", "中国移动", "₹ € → ≤ „A“",
    ],
)  # fmt: skip
def test_a_pdf_shows_names_in_other_scripts(name: str) -> None:
    reader = pages_named(name)
    first = text_of(reader.pages[0])
    assert first.count(name) == 4  # title, customer in place of a logo, whom it is for, author
    assert NOT_SHOWN not in first
    assert name in text_of(reader.pages[1])
    assert reader.metadata.title == name
    fonts = {str(font["/BaseFont"]) for font in reader.pages[0]["/Resources"]["/Font"].get_object().values()}
    embedded = {font for font in fonts if "SourceSansPro" in font}
    assert len(embedded) >= 2


@pytest.mark.parametrize("name", ["שלום", "مرحبا", "Acme 😀"])
def test_a_pdf_says_that_it_cannot_show_some_letters(name: str) -> None:
    first = text_of(pages_named(name).pages[0])
    assert NOT_SHOWN in first
    assert "?" in first.partition("For")[0]
    assert NOT_SHOWN not in text_of(pages_named("Acme").pages[0])


def test_a_label_of_two_scripts_ends_where_its_anchor_says() -> None:
    style = style_of(Brand())
    label = Label(x=100.0, y=10.0, text="Ltd 東京", anchor="end")
    drawn = drawing(Picture(width=200.0, height=20.0, shapes=(label,), says="t"), 200.0, style)
    first, second = drawn.contents
    assert (first.text, second.text) == ("Ltd ", "東京")
    assert second.x == pytest.approx(first.x + style.width("Ltd ", TEXT_SIZE))
    assert second.x + style.width("東京", TEXT_SIZE) == pytest.approx(100.0)
