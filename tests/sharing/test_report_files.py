"""HTML, Markdown and PDF of a report: complete, inert, and without a request to anywhere."""

import io
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageStat

from sharing.formats import FORMATS
from sharing.formats.brand import VARIABLE, BadBrand, Brand, check_logo, configured_brand, read_brand
from sharing.formats.chart_shape import scale
from sharing.formats.charts import picture
from sharing.formats.frame import width_of
from sharing.formats.markdown import plain
from sharing.formats.pdf import write as to_pdf
from sharing.formats.picture import Label, Rectangle, Stroke
from sharing.formats.slides import write as to_slides
from sharing.formats.source import ReportSource, source_of
from sharing.report.content import Chart, ChartSeries, Mark, Released, Report
from sizing.base.markdown import NO_BREAK
from tests.inert import live
from tests.sharing.office import pictures
from tests.sharing.report_cases import CASES, MADE_AT, source
from tests.sharing.report_example import report

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[free](javascript:alert(1))",
    "=cmd()|' /C calc'!A0",
    "![x](https://evil.example/x.png)",
    "https://evil.example www.evil.example",
    "{{ 7 * 7 }} {% raw %}",
    "<para><a href='https://evil.example'>x</a></para> &lt;b&gt;",
    "\x00\x1b[31m\u202egnp.exe",
    "| a | b |\n|---|---|\n# title\n- item",
)

SEEN = Path(__file__).parent / "pictures"
"""Contact sheets of the report that is written by hand, looked at by a person and kept."""

DPI, PAGES_IN_A_ROW, EDGE = 24, 4, 2
DIFFERENCE = {".pdf": 4.0, ".pptx": 12.0}
"""Mean difference of grey values, of 255, below which two pages look alike. Chosen: between what other versions of
poppler and other fonts of slides make of one page, and what a table that moved by a line makes."""

PART = 280
"""Height of what is compared at a time, in pixels: about a row of pages."""

PAPER = 235
"""Grey value below which something is drawn."""
FOOT, FILLED = 0.93, 0.55
"""Share of the height at which the foot of a page stands, and down to which a page is filled at least."""


class Page(HTMLParser):
    """Elements, their attributes and the text of a page."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def named(text: str, name: str = "chat") -> ReportSource:
    """A report whose title, customer and author somebody typed."""
    one = source(name)
    typed = {"title": text, "customer": text, "author": text}
    return replace(one, report=one.report.model_copy(update=typed))


def pdf_text(content: bytes) -> str:
    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages)


def packed_png(head: tuple[int, ...], pixels: bytes) -> bytes:
    def part(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    start = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", *head, 0, 0, 0))
    return start + part(b"IDAT", pixels) + part(b"IEND", b"")


def png() -> bytes:
    return packed_png((2, 1, 8, 2), zlib.compress(b"\0" + bytes([200, 10, 10] * 2)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("suffix", [".html", ".md", ".pdf"])
def test_every_kind_of_plan_becomes_a_file(name: str, suffix: str) -> None:
    content = FORMATS[suffix].write(source(name))
    text = pdf_text(content) if suffix == ".pdf" else content.decode()
    assert source(name).report.title in text
    for section in source(name).report.sections:
        assert section.title in text
    assert content == FORMATS[suffix].write(source(name)), "the same report is the same bytes"


def test_html_asks_nobody_for_anything() -> None:
    page = Page(FORMATS[".html"].write(source("chat")))
    assert not {tag for tag, _ in page.elements} & {"script", "link", "iframe", "object", "embed", "form", "base"}
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:")), (tag, name, value)
        assert not any(name.startswith("on") for name in attributes), tag
    content = FORMATS[".html"].write(source("chat")).decode()
    assert not re.search(r"url\(|@import|@font-face", content)
    assert "default-src 'none'" in content


def test_html_has_every_figure_chart_and_chapter() -> None:
    page = Page(FORMATS[".html"].write(source("chat")))
    ids = {attributes.get("id") for tag, attributes in page.elements if tag == "section"}
    assert ids == {section.key for section in source("chat").report.sections}
    charts = [block for s in source("chat").report.sections for block in s.blocks if isinstance(block, Chart)]
    drawn = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(drawn) == 2 * len(charts)
    assert all(attributes["aria-label"] for attributes in drawn)


@pytest.mark.parametrize("text", EVIL)
def test_what_was_typed_is_text_in_html(text: str) -> None:
    plain_page = Page(FORMATS[".html"].write(named("plain")))
    page = Page(FORMATS[".html"].write(named(text)))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain_page.elements]
    assert "49" not in page.text or "{{ 7 * 7 }}" in page.text or "{{" not in text


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60))
def test_no_text_becomes_an_element_of_the_page(text: str) -> None:
    plain_page = Page(FORMATS[".html"].write(named("plain", "impossible")))
    page = Page(FORMATS[".html"].write(named(text, "impossible")))
    optional = {"div", "dt", "dd"}  # nothing is drawn for an empty customer or author
    assert [t for t, _ in page.elements if t not in optional] == [
        t for t, _ in plain_page.elements if t not in optional
    ]


@settings(max_examples=200)
@given(st.text(max_size=80) | st.sampled_from(EVIL))
def test_markdown_shows_a_text_as_it_is(text: str) -> None:
    written = plain(text)
    assert "\n" not in written
    shown = re.sub(r"\\(.)", r"\1", written)
    assert shown.replace(NO_BREAK, "") == " ".join(text.split()).replace(NO_BREAK, "")
    assert live(written) == []
    unescaped = re.sub(r"\\.", "\x00", written)
    assert not re.search(r"[`*_{}\[\]<>#$~|!&]", unescaped)
    assert not re.match(r"\s*([-+=]|\d+[.)])", unescaped.lstrip())
    assert not re.search(r"(?i)https?:|javascript:|www\.|@", unescaped)


def test_markdown_tables_are_as_wide_as_their_heads() -> None:
    lines = FORMATS[".md"].write(named("a | b")).decode().splitlines()
    rows: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            rows.append(line)
            continue
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1
        rows = []


@pytest.mark.parametrize("text", EVIL)
def test_a_pdf_has_no_link_script_or_form(text: str) -> None:
    reader = pypdf.PdfReader(io.BytesIO(FORMATS[".pdf"].write(named(text, "impossible"))))
    assert "/AcroForm" not in reader.trailer["/Root"]
    assert "/OpenAction" not in reader.trailer["/Root"]
    assert not any(page.get("/Annots") for page in reader.pages)


def test_a_pdf_says_what_the_plan_says() -> None:
    report = source("chat").report
    reader = pypdf.PdfReader(io.BytesIO(FORMATS[".pdf"].write(source("chat"))))
    first = " ".join(reader.pages[0].extract_text().split())
    assert all(sentence.text in first for sentence in source("chat").answer.plan.sentences)
    assert "Bill of materials" not in first, "the summary has a page of its own"
    assert "Bill of materials" in reader.pages[1].extract_text()
    assert f"1 / {len(reader.pages)}" in first
    assert [outline.title for outline in reader.outline] == [s.title for s in report.sections]
    assert reader.metadata.title == report.title


def shapes(chart: Chart, width: float) -> Iterator[tuple[float, float]]:
    for shape in picture(chart, width).shapes:
        if isinstance(shape, Rectangle):
            yield shape.x, shape.y
            yield shape.x + shape.width, shape.y + shape.height
        elif isinstance(shape, Stroke):
            yield from shape.points
        else:
            yield shape.x, shape.y


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [760.0, 340.0])
def test_charts_stay_within_their_picture(name: str, width: float) -> None:
    for section in source(name).report.sections:
        for chart in (block for block in section.blocks if isinstance(block, Chart)):
            height = picture(chart, width).height
            assert all(-0.5 <= x <= width + 0.5 and -0.5 <= y <= height + 0.5 for x, y in shapes(chart, width)), (
                chart.title
            )


@pytest.mark.parametrize("width", [760.0, 340.0])
def test_names_of_ticks_stand_beside_each_other(width: float) -> None:
    series = (ChartSeries(name="low", values=(3100.0,)), ChartSeries(name="high", values=(4400.0,)))
    chart = Chart(title="t", draws="tornado", x_label="", y_label="USD", x=("PUE",), series=series, base=3590.0)
    shown = [one for one in picture(chart, width).shapes if isinstance(one, Label) and one.anchor == "middle"]
    ends = [(one.x - width_of(one.text) / 2.0, one.x + width_of(one.text) / 2.0) for one in shown]
    assert len(ends) >= 2
    assert all(right < left for (_, right), (left, _) in pairwise(ends))
    assert ends[-1][1] <= width


def test_the_name_of_a_limit_does_not_run_into_the_legend() -> None:
    series = (ChartSeries(name="TTFT", values=(100.0, 200.0)),)
    marks = (Mark(label="limit 2 s", axis="y", at=2000.0),)
    chart = Chart(title="t", draws="line", x_label="x", y_label="ms", x=(0.0, 1.0), series=series, marks=marks)
    labels = [shape for shape in picture(chart, 760.0).shapes if isinstance(shape, Label)]
    (limit,) = (label for label in labels if label.text == "limit 2 s")
    (legend,) = (label for label in labels if label.text == "ms")
    assert limit.y - legend.y > 14.0


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20), st.booleans())
def test_a_scale_holds_its_values_between_round_ends(values: list[float], from_zero: bool) -> None:
    one = scale(values, 0.0, 100.0, from_zero=from_zero)
    slack = 1e-6 * (one.high - one.low)
    assert one.low <= min(values) + slack
    assert one.high >= max(values) - slack
    assert all(-1e-6 <= one.at(value) <= 100.0 + 1e-6 for value in values)
    assert 2 <= len(one.ticks) <= 12


def test_a_brand_is_name_logo_and_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logo.png").write_bytes(png())
    file = tmp_path / "brand.yaml"
    file.write_text('name: Acme & Sons\nprimary: "#aa0044"\nlogo: logo.png\nfooter: Confidential\n')
    monkeypatch.setenv(VARIABLE, str(file))
    branded = replace(source("impossible"), brand=configured_brand())
    html = FORMATS[".html"].write(branded).decode()
    assert "Acme &amp; Sons" in html
    assert "data:image/png;base64," in html
    assert "#aa0044" in html
    reader = pypdf.PdfReader(io.BytesIO(FORMATS[".pdf"].write(branded)))
    assert len(reader.pages[0].images) == 1
    assert "Confidential" in reader.pages[0].extract_text()
    monkeypatch.delenv(VARIABLE)
    assert configured_brand() == Brand()


@pytest.mark.parametrize(
    "text",
    [
        "primary: red", "colour: blue", "- a", "name: [", "logo: ../logo.png", "logo: missing.png", "logo: brand.yaml",
        "logo: 7", "name: !!python/object:os.system x", "font: logo.png",
    ],
)  # fmt: skip
def test_a_brand_that_cannot_be_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "logo.png").write_bytes(png())
    file = tmp_path / "brand.yaml"
    file.write_text(text)
    with pytest.raises(BadBrand) as caught:
        read_brand(file)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_damaged_logo_is_one_sentence() -> None:
    branded = replace(source("impossible"), brand=Brand(logo=png()[:20]))
    with pytest.raises(BadBrand):
        FORMATS[".pdf"].write(branded)


def test_a_long_word_and_a_long_cell_do_not_break_a_pdf() -> None:
    one = source("impossible")
    long = Report.model_validate(
        one.report.model_dump()
        | {
            "made_at": MADE_AT,
            "title": "x" * 200,
            "sections": [
                {
                    "key": "k",
                    "title": "T" * 300,
                    "blocks": [
                        {
                            "kind": "table",
                            "title": "wide",
                            "columns": [{"label": str(n)} for n in range(14)],
                            "rows": [["word " * 400, "w" * 900, *["x"] * 12]],
                        }
                    ],
                }
            ],
        }
    )
    assert len(pypdf.PdfReader(io.BytesIO(FORMATS[".pdf"].write(replace(one, report=long)))).pages) >= 2


def blank(side: int) -> bytes:
    """A PNG of so many pixels a side, black, which takes next to no room."""
    rows = zlib.compressobj(1)
    return packed_png(
        (side, side, 1, 0), b"".join(rows.compress(bytes(1 + side // 8)) for _ in range(side)) + rows.flush()
    )


@pytest.mark.parametrize(
    ("logo", "sentence"),
    [
        (blank(4_800), "The logo has more than 16 million pixels: save it smaller."),
        (blank(16_000), "The logo has more than 16 million pixels: save it smaller."),  # of these Pillow itself refuses
        (png()[:-30], "The logo is no image that can be read."),
        (png() + bytes(20_000_000), "The logo is larger than 20 MB."),
        (b"GIF89a", "The logo is no PNG or JPEG image."),
    ],
)
def test_a_logo_that_memory_or_a_format_could_not_hold_is_refused(logo: bytes, sentence: str) -> None:
    """Before anything is planned: one of 3 MB took 2.8 GB in a PDF, and one of 7 MB broke the slides."""
    with pytest.raises(BadBrand, match=re.escape(sentence)):
        check_logo(logo, "The logo")
    with pytest.raises(BadBrand):
        source_of(source("impossible").answer, released=Released.LIST_PRICES, made_at=MADE_AT, customer_logo=logo)


def test_a_logo_as_large_as_any_is_taken() -> None:
    check_logo(blank(4_000), "The logo")


def by_hand() -> SimpleNamespace:
    """What a file of the report that is written by hand is made from."""
    return SimpleNamespace(report=report(), brand=Brand(name="Example Systems"), customer_logo=b"")


def sheet(pages: list[Image.Image]) -> Image.Image:
    """The pages beside and below each other."""
    width, height = pages[0].width + EDGE, pages[0].height + EDGE
    rows = -(-len(pages) // PAGES_IN_A_ROW)
    whole = Image.new("L", (PAGES_IN_A_ROW * width, rows * height), 128)
    for number, page in enumerate(pages):
        whole.paste(page, (number % PAGES_IN_A_ROW * width, number // PAGES_IN_A_ROW * height))
    return whole


def drawn_to(page: Image.Image) -> float:
    """Share of the height of a page down to which something is drawn above its foot."""
    body = page.crop((0, 0, page.width, int(page.height * FOOT)))
    box = body.point(lambda grey: 255 if grey < PAPER else 0).getbbox()
    return box[3] / page.height if box else 0.0


@pytest.mark.parametrize(("suffix", "write"), [(".pdf", to_pdf), (".pptx", to_slides)])
def test_a_report_looks_as_it_was_looked_at(suffix: str, write, tmp_path: Path, renew_golden: bool) -> None:
    now, file = sheet(pictures(write(by_hand()), suffix, tmp_path, dpi=DPI)), SEEN / f"report{suffix}.png"
    if renew_golden:
        SEEN.mkdir(exist_ok=True)
        now.save(file, optimize=True)
    with Image.open(file) as kept:
        seen = kept.convert("L")
    assert now.size == seen.size, "another number of pages: look at them, then renew with --renew-golden"
    for top in range(0, seen.height, PART):
        part = (0, top, seen.width, min(top + PART, seen.height))
        difference = ImageStat.Stat(ImageChops.difference(now.crop(part), seen.crop(part))).mean[0]
        assert difference < DIFFERENCE[suffix], f"from {top} pixels on: look at it, then renew with --renew-golden"


def test_a_page_that_moved_is_noticed(tmp_path: Path) -> None:
    first, *others = pictures(to_pdf(by_hand()), ".pdf", tmp_path, dpi=DPI)
    moved = ImageChops.offset(first, 0, 6)
    assert ImageStat.Stat(ImageChops.difference(first, moved)).mean[0] > DIFFERENCE[".pdf"]
    assert others


@pytest.mark.parametrize("name", ["chat", "pools"])
def test_every_page_is_filled(name: str, tmp_path: Path) -> None:
    pages = pictures(to_pdf(source(name)), ".pdf", tmp_path, dpi=DPI)
    empty = {n: round(drawn_to(page), 2) for n, page in enumerate(pages[:-1], start=1) if drawn_to(page) < FILLED}
    assert not empty
