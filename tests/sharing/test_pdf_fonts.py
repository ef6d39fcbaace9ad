"""Names in other scripts in the PDF of a report: shown, or said that they are not."""

import io
from dataclasses import replace

import pypdf
import pytest

from sharing.formats import FORMATS
from sharing.formats.brand import Brand
from sharing.formats.pdf import NOT_SHOWN, drawing
from sharing.formats.pdf_style import style_of
from sharing.formats.picture import TEXT_SIZE, Label, Picture
from tests.sharing.report_cases import source


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
