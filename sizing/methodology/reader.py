"""The reader's version of the methodology: a few pages of text that lead into the reference.

The text stands in ``reader.md``: ``{name}`` is a number of :func:`numbers`, ``[words](formula:Title)`` leads to a
formula and ``[words](chapter:slug)`` to a chapter. An unknown name is a KeyError, so that the text cannot outlive what
it speaks of.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from sizing.base.constants import constant
from sizing.base.format import percent
from sizing.base.units import HOURS_PER_MONTH, MS_PER_S
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.evidence.open_loop import SAME_RATE
from sizing.methodology.accuracy import accuracy_figures
from sizing.methodology.content import Entry, MethodologyChapter, Prose
from sizing.methodology.markdown import heading_anchor, table_lines
from sizing.queueing.steady_state import concurrency_grid
from sizing.search.trials import FIRST_REQUESTS, MOST_REQUESTS
from sizing.simulator.layout import BATCHES, BIN_RATIO
from sizing.steps.efficiency import REFERENCE_YEAR

TEXT = Path(__file__).with_name("reader.md")
REFERENCE = "METHODOLOGY_REFERENCE.md"
CHAPTERS = "reference"
"""The folder beside the documents with a file for each chapter of the reference."""

_LINK = re.compile(r"\]\((formula|chapter):([^)]+)\)")

Link = Callable[[MethodologyChapter, Entry | None], str]
"""The address of a chapter, or of an entry in it."""


def reader(reference: Sequence[MethodologyChapter], link: Link) -> tuple[Prose, ...]:
    """The text with its numbers and links; ``reference`` are the chapters it leads to.

    Raises KeyError for a number, formula or chapter that does not exist.
    """
    text = TEXT.read_text(encoding="utf-8").format_map(numbers())
    chapters = {section.slug: section for section in reference}
    formulas = {entry.title: entry for entry in reversed(chapters["formulas"].entries)}

    def address(mark: re.Match[str]) -> str:
        kind, name = mark.groups()
        target = (chapters[name], None) if kind == "chapter" else (chapters["formulas"], formulas[name])
        return f"]({link(*target)})"

    parts = _LINK.sub(address, text).split("\n## ")
    return tuple(
        Prose(title=title, markdown=markdown.strip(), wide="\n|" in markdown)
        for title, _, markdown in (part.removeprefix("## ").partition("\n") for part in parts)
    )


def on_page(section: MethodologyChapter, entry: Entry | None) -> str:
    """The address of a chapter or an entry on the Methodology page."""
    return f"?term={quote(entry.title)}" if entry else f"?chapter={quote(section.title)}"


def in_document(section: MethodologyChapter, entry: Entry | None) -> str:
    """The address of a chapter of the reference, or of the heading above an entry in it."""
    heading = f"#{heading_anchor(entry.group)}" if entry else ""
    return f"{CHAPTERS}/{section.slug}.md{heading}"


def numbers() -> Mapping[str, str]:
    """Every number the text mentions, from the engine that uses it."""
    figures = accuracy_figures()
    (inside,) = [row for row in figures["reliability"] if row["nominal_pct"] == 80]
    return {
        "gpus": str(sum(gpu.sizable for gpu in gpus().values())),
        "engines": str(len(engines())),
        "formats": str(len(precisions())),
        "outside_gib": f"{engines()['vllm'].memory.outside_gib(1):g}",
        "communication_gib": f"{engines()['vllm'].memory.outside_gib(4):g}",
        "vllm_fraction": percent(engines()["vllm"].memory.fraction or 0.0),
        "pipeline_pct": f"{100 * constant('pipeline_efficiency'):g}",
        "reference_year": f"{REFERENCE_YEAR:g}",
        "grid_points": str(concurrency_grid(np.ones(1)).shape[1]),
        "hours_per_month": f"{HOURS_PER_MONTH:g}",
        "kv_setup_ms": f"{constant('kv_transfer_setup_s') * MS_PER_S:g}",
        "first_requests": f"{FIRST_REQUESTS:,}",
        "most_requests": f"{MOST_REQUESTS:,}",
        "bin_pct": f"{100 * (BIN_RATIO - 1):.1g}",
        "batches": str(BATCHES),
        "noise_pct": f"{100 * constant('measurement_repeatability'):g}",
        "same_rate_pct": f"{100 * (SAME_RATE - 1):.3g}",
        "evidence_rows": f"{figures['rows']:,}",
        "accuracy_table": _accuracy_table(figures["targets"]),
        **{f"{metric}_inside": f"{inside[f'{metric}_pct']:g}" for metric in ("ttft", "itl", "e2e", "throughput")},
    }


def _accuracy_table(targets: Sequence[Mapping[str, str | int]]) -> str:
    """Errors of what was not in the fit, by what was left out."""
    columns = ("Quantity", "Rows", "Its model", "Its GPU", "Its configuration", "Its source")
    keys = ("quantity", "rows", "model", "gpu", "configuration", "source")
    return table_lines(columns, tuple(tuple(row[key] for key in keys) for row in targets))
