"""The files that a report becomes, by their suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a report is made of is loaded when one is written: the first page only lists the formats
    from sharing.formats.source import ReportSource

Writer = Callable[["ReportSource"], bytes]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A kind of file. ``write`` loads what it needs when it is called."""

    label: str
    mime: str
    write: Writer


def _html(source: ReportSource) -> bytes:
    from sharing.formats.html import write

    return write(source)


def _markdown(source: ReportSource) -> bytes:
    from sharing.formats.markdown import write

    return write(source)


def _pdf(source: ReportSource) -> bytes:
    from sharing.formats.pdf import write

    return write(source)


def _slides(source: ReportSource) -> bytes:
    from sharing.formats.slides import write

    return write(source)


def _workbook(source: ReportSource) -> bytes:
    from sharing.formats.workbook import write

    return write(source)


OPEN_XML = "application/vnd.openxmlformats-officedocument"

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".html": Format(label="Web page (HTML)", mime="text/html", write=_html),
        ".pdf": Format(label="PDF", mime="application/pdf", write=_pdf),
        ".xlsx": Format(label="Excel", mime=f"{OPEN_XML}.spreadsheetml.sheet", write=_workbook),
        ".pptx": Format(label="PowerPoint", mime=f"{OPEN_XML}.presentationml.presentation", write=_slides),
        ".md": Format(label="Markdown", mime="text/markdown", write=_markdown),
    }
)
"""Every format by its suffix, in the order in which they are offered."""
