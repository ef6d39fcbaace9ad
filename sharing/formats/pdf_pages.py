"""The pages of a PDF: what stands above and below, numbers out of all pages, and an outline of the chapters."""

from functools import partial
from io import BytesIO
from typing import Any

from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate

from sharing.formats.brand import Brand
from sharing.formats.pdf_style import Style
from sharing.formats.pdf_text import runs
from sharing.report.content import Report

MARGIN, TOP, BOTTOM = 18 * mm, 19 * mm, 20 * mm
WIDTH = A4[0] - 2 * MARGIN
BAND = 2.2 * mm
SIZE = 7.8


class PdfDocument(BaseDocTemplate):  # type: ignore[misc]  # reportlab has no types
    """A document of a report on A4."""

    def __init__(self, content: BytesIO, report: Report, brand: Brand, style: Style) -> None:
        # invariant: the same report is the same bytes. No file is written but the one in memory.
        super().__init__(
            content,
            pagesize=A4,
            title=report.title,
            author=report.author or brand.name,
            subject="Sizing of an LLM inference deployment",
            creator=f"Inference sizing {report.engine_version}",
            lang="en",
            invariant=1,
        )
        self._report, self._brand, self._style = report, brand, style
        height = A4[1] - TOP - BOTTOM
        frame = Frame(MARGIN, BOTTOM, WIDTH, height, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0)
        self.addPageTemplates([PageTemplate(id="page", frames=[frame], onPage=self._around)])

    def build(self, flowables: list[Flowable]) -> None:
        """Lay out all pages, then number them."""
        super().build(flowables, canvasmaker=partial(_Numbered, style=self._style))

    def afterFlowable(self, flowable: Flowable) -> None:
        """Take a chapter into the outline."""
        if outline := getattr(flowable, "outline", None):
            key, title = outline
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(title, key, level=0)

    def _around(self, canvas: Canvas, document: BaseDocTemplate) -> None:
        style, report = self._style, self._report
        canvas.setFillColor(style.primary)
        canvas.rect(0, A4[1] - BAND, A4[0], BAND, stroke=0, fill=1)
        canvas.setFillColor(style.quiet)
        if document.page > 1:
            above = A4[1] - 12 * mm
            _write(canvas, style, MARGIN, above, _short(style, report.title))
            name = self._brand.name
            _write(canvas, style, A4[0] - MARGIN - style.width(name, SIZE), above, name)
        versions = f"Engine {report.engine_version}, data {report.data_version}. Estimates, not guarantees."
        _write(canvas, style, MARGIN, 12 * mm, versions)
        if self._brand.footer:
            _write(canvas, style, MARGIN, 8 * mm, _short(style, self._brand.footer))


def _write(canvas: Canvas, style: Style, x: float, y: float, text: str) -> None:
    """A line of small text."""
    for run in runs(text, style.regular):
        canvas.setFont(run.font, SIZE)
        canvas.drawString(x, y, run.text)
        x += run.width(SIZE)


def _short(style: Style, text: str) -> str:
    """The text on one line of the page."""
    while style.width(text, SIZE) > WIDTH * 0.7:
        text = f"{text[:-4]}..."
    return text


class _Numbered(Canvas):  # type: ignore[misc]  # reportlab has no types
    """Pages that say how many there are, which is known at the end."""

    def __init__(self, *given: Any, style: Style, **keys: Any) -> None:
        super().__init__(*given, **keys)
        self._style = style
        self._pages: list[dict[str, Any]] = []

    def showPage(self) -> None:
        """Keep the page until all are there."""
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        """Number the pages and write them."""
        for page in self._pages:
            self.__dict__.update(page)
            self.setFont(self._style.regular, SIZE)
            self.setFillColor(self._style.quiet)
            self.drawRightString(A4[0] - MARGIN, 12 * mm, f"{self._pageNumber} / {len(self._pages)}")
            super().showPage()
        super().save()
