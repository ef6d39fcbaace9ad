"""One measured quantity against its limit, and the table of them."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

HEAD = ("what", "median", "min", "max", "runs", "yardsticks", "limit", "median/limit")
MS_OF = {"ms": 1.0, "s": 1e3, "us/request": 1e-3}
"""Milliseconds of the units of time."""
UNIT = "yardsticks"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was measured several times, in ``unit``; ``limit`` is the largest value the product promises.

    ``beside_ms``: how long a yardstick took beside each sample, milliseconds (:mod:`bench.yardstick`). A time that has
    them is compared in yardsticks, and so is its limit; anything else has its limit in ``unit``.
    """

    what: str
    unit: str
    samples: tuple[float, ...]
    beside_ms: tuple[float, ...] = ()
    limit: float | None = None

    @property
    def median(self) -> float:
        """The middle sample: one slow run, of a machine that does other things too, does not move it."""
        return statistics.median(self.samples)

    @property
    def yardsticks(self) -> float | None:
        """Median in yardsticks; None for what was measured without."""
        return self.median * MS_OF[self.unit] / statistics.median(self.beside_ms) if self.beside_ms else None

    @property
    def ratio(self) -> float | None:
        """Median over limit; above 1 the promise is broken."""
        if not self.limit:
            return None
        return (self.median if self.yardsticks is None else self.yardsticks) / self.limit

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of ``HEAD``."""
        ratio, beside = self.ratio, self.yardsticks
        return (
            self.what,
            f"{self.median:.4g} {self.unit}",
            f"{min(self.samples):.4g}",
            f"{max(self.samples):.4g}",
            str(len(self.samples)),
            "" if beside is None else f"{beside:.3g}",
            "" if self.limit is None else f"{self.limit:.4g} {self.unit if beside is None else UNIT}",
            "" if ratio is None else f"{ratio:.2f}" + (" OVER" if ratio > 1 else ""),
        )


def render(rows: Sequence[Row]) -> str:
    """The rows as a table with aligned columns: the first to the left, numbers to the right."""
    table = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = []
    for first, *rest in table:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
