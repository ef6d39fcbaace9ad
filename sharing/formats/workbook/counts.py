"""The sheet with the engine's counts of instances over the load, and the formulas that look one up.

A spreadsheet cannot simulate. Between two loads with the same count that count is the engine's; where it steps up
between them, and beyond the last one, the sheet says that it is an interpolation.

Whole systems are a formula too: what :mod:`sizing.prices.packing` computes, for counts that stand in cells.
"""

from collections.abc import Sequence
from typing import assert_never

from sharing.formats.workbook.book import Book, Sheet
from sharing.report.calculator import Calculator, InstanceKind

NAME = "Engine counts"
CLOSE = "1E-9"
"""Share by which two equal rates may differ, and what is left of a whole number: as in the engine."""

LOOKUP_ROW, FIRST_ROW = 5, 19
WIDTH = 18

EXPLANATION = (
    "Each row of the table is an answer of the engine for this deployment at that rate, decided as the plan was. Rates "
    "stand close together where the number of instances steps up. At a rate of the table, and between two rates with "
    "the same number, the number is the engine's answer. Where it steps up between them, and beyond the table, it is "
    "an interpolation: the rate over what one instance carries, within what the engine says on both sides."
)


class CountsSheet:
    """Writes the sheet; afterwards the names of what is looked up can be used in formulas."""

    def __init__(self, book: Book, calculator: Calculator) -> None:
        self.calculator, self.book = calculator, book
        kinds = len(calculator.kinds)
        self.sheet: Sheet = book.sheet(NAME, [46, *[WIDTH] * max(2 * kinds, 4)])
        self.rows = calculator.rows
        self.planned = next(n for n, row in enumerate(self.rows) if row.requests_per_s == calculator.planned_rps)

    def write(self) -> None:
        """Everything on the sheet."""
        self.sheet.title(0, "Instances over the load, by the engine")
        self.sheet.text(1, 0, self.calculator.deployment, font_color="#5A6B7B")
        self.sheet.paragraph(2, EXPLANATION, 5)
        self._lookup()
        self._table()
        self._chart()

    def _table(self) -> None:
        kinds = self.calculator.kinds
        labels = ["Requests/s in the busiest time"]
        for kind in kinds:
            labels += [f"{kind.label} that work", f"Requests/s of one of the {kind.label.lower()}"]
        self.sheet.head(FIRST_ROW - 1, labels, [True] * len(labels))
        for n, row in enumerate(self.rows):
            bold = {"bold": True} if n == self.planned else {}
            values = [row.requests_per_s]
            for working, capacity in zip(row.working, row.capacity_rps, strict=True):
                values += [working, capacity]
            for column, value in enumerate(values):
                shown = 0 if column % 2 else None
                self.sheet.cell(FIRST_ROW + n, column, value, shown, **bold)
        last = FIRST_ROW + len(self.rows) - 1
        self.book.name("load_rps", self.sheet, FIRST_ROW, 0, last)
        for k in range(len(kinds)):
            self.book.name(f"load_working_{k + 1}", self.sheet, FIRST_ROW, 1 + 2 * k, last)
            self.book.name(f"load_capacity_{k + 1}", self.sheet, FIRST_ROW, 2 + 2 * k, last)

    def _lookup(self) -> None:
        total, row = len(self.rows), LOOKUP_ROW
        at = f"ABS(INDEX(load_rps,MAX(row_below,1))-sized_rps)<={CLOSE}*sized_rps"
        same = ",".join(
            f"INDEX(load_working_{k},MAX(row_below,1))=INDEX(load_working_{k},row_above)" for k in self._numbers
        )
        self.sheet.heading(row - 1, "Looked up for the rate of the calculator", 5)
        first = self.planned + 1
        for name, label, formula, value in (
            (
                "sized_rps",
                "Rate that is looked up",
                "requests_per_s/(share_of_capacity/100)",
                self.calculator.planned_rps,
            ),
            ("row_below", "Row at or below it", f"IFERROR(MATCH(sized_rps*(1+{CLOSE}),load_rps,1),0)", first),
            ("row_above", "Row above it", f"MIN(row_below+1,{total})", min(first + 1, total)),
            ("at_a_row", "It is a rate of the table (1: yes)", f"IF(row_below=0,0,IF({at},1,0))", 1),
            ("beyond_the_table", "It is beyond the table (1: yes)", f"IF(AND(row_below={total},at_a_row=0),1,0)", 0),
            ("same_count", "Both rows have the same count (1: yes)", f"IF(AND({same}),1,0)", int(self._same())),
        ):
            self._named(row, name, label, formula, value)
            row += 1
        for k in self._numbers:
            row = self._kind(row, k)

    @property
    def _numbers(self) -> range:
        return range(1, len(self.calculator.kinds) + 1)

    def _same(self) -> bool:
        above = min(self.planned + 1, len(self.rows) - 1)
        return self.rows[self.planned].working == self.rows[above].working

    def _kind(self, row: int, k: int) -> int:
        """Capacity and count of one kind; returns the next row."""
        planned, kind = self.rows[self.planned], self.calculator.kinds[k - 1]
        low, high = f"INDEX(load_working_{k},MAX(row_below,1))", f"INDEX(load_working_{k},row_above)"
        needed = f"MAX(1,ROUNDUP(sized_rps/capacity_{k}-{CLOSE},0))"
        inside = f"MAX(MIN({low},{high}),MIN(MAX({low},{high}),{needed}))"
        exact = "OR(at_a_row=1,same_count=1,row_below=0)"
        count = f"IF(beyond_the_table=1,MAX({low},{needed}),IF({exact},{low},{inside}))"
        capacity = f"INDEX(load_capacity_{k},MAX(row_below,1))"
        label = kind.label
        self._named(
            row, f"capacity_{k}", f"Requests/s of one of the {label.lower()}", capacity, planned.capacity_rps[k - 1]
        )
        self._named(row + 1, f"working_{k}", f"{label} that work", count, planned.working[k - 1])
        self._named(
            row + 2, f"instances_{k}", f"{label}, spares included", f"working_{k}+{kind.spares}", self.instances[k - 1]
        )
        return row + 3

    @property
    def instances(self) -> tuple[int, ...]:
        """Instances of each kind at the planned load, spares included."""
        pairs = zip(self.rows[self.planned].working, self.calculator.kinds, strict=True)
        return tuple(working + kind.spares for working, kind in pairs)

    def systems(self, system_gpus: int, names: list[str] | None = None) -> str:
        """The formula of whole systems of so many GPUs, of the instances that work: looked up, or in cells."""
        kinds = self.calculator.kinds
        if names is None and self.calculator.redundancy == "none":
            counts = [f"instances_{k}" for k in self._numbers]
        else:
            working = names or [f"working_{k}" for k in self._numbers]
            counts = [self._held(each, kind, system_gpus) for each, kind in zip(working, kinds, strict=True)]
        return systems_formula(counts, [kind.gpus for kind in kinds], system_gpus)

    def _held(self, working: str, kind: InstanceKind, system_gpus: int) -> str:
        """The instances for which there is room in systems, as :func:`sizing.prices.packing.held_in_systems` counts."""
        in_one = max(system_gpus // kind.gpus, 1)
        match self.calculator.redundancy:
            case "none":
                return f"({working}+{kind.spares})"
            case "system":
                return f"({working}+{max(kind.spares, in_one)})"
            case "site":
                return f"({working}+MAX({kind.spares},ROUNDUP({working}/{in_one},0)*{in_one}))"
            case unknown:
                assert_never(unknown)

    def _named(self, row: int, name: str, label: str, formula: str, value: float) -> None:
        self.sheet.text(row, 0, label, bottom=1, bottom_color="#C9D2DB")
        self.sheet.formula(row, 1, formula, value, "#,##0.####", bottom=1, bottom_color="#C9D2DB")
        self.book.name(name, self.sheet, row, 1)

    def _chart(self) -> None:
        chart = self.book.workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
        last = FIRST_ROW + len(self.rows) - 1
        for k, kind in enumerate(self.calculator.kinds):
            chart.add_series(
                {
                    "name": f"{kind.label} that work",
                    "categories": [self.sheet.name, FIRST_ROW, 0, last, 0],
                    "values": [self.sheet.name, FIRST_ROW, 1 + 2 * k, last, 1 + 2 * k],
                    "marker": {"type": "circle", "size": 4},
                    "line": {"width": 1.25},
                }
            )
        chart.set_title({"name": "Instances over the load", "name_font": {"size": 11}})
        chart.set_x_axis({"name": "Requests/s in the busiest time", "min": 0, "major_gridlines": {"visible": False}})
        chart.set_y_axis({"name": "Instances that work", "min": 0})
        chart.set_legend({"none": True} if len(self.calculator.kinds) == 1 else {"position": "bottom"})
        chart.set_size({"width": 620, "height": 360})
        self.sheet.sheet.insert_chart(FIRST_ROW - 1, 2 + 2 * len(self.calculator.kinds), chart)


def basis_formula(calculator: Calculator) -> str:
    """A sentence that says where the count comes from."""
    first = "load_working_1"
    low, high = f"INDEX({first},MAX(row_below,1))", f"INDEX({first},row_above)"
    rates = [f'ROUND(INDEX(load_rps,{row}),3)&""' for row in ("MAX(row_below,1)", "row_above")]
    between = f'{rates[0]}&" and "&{rates[1]}&" requests/s"'
    what = calculator.kinds[0].label.lower()
    return (
        'IF(at_a_row=1,"The engine\'s answer for this rate.",'
        'IF(beyond_the_table=1,"Beyond the engine\'s table: extrapolated from what one instance carries.",'
        'IF(row_below=0,"Below the engine\'s table: its smallest count.",'
        f'IF(same_count=1,"The engine\'s answer: it gives the same count at "&{between}&".",'
        f'"Interpolated: the engine gives "&{low}&" and "&{high}&" {what} at "&{between}&"."))))'
    )


PLANNED_BASIS = "The engine's answer for this rate."


def systems_formula(counts: Sequence[str], gpus: Sequence[int], system_gpus: int) -> str:
    """Systems of ``system_gpus`` GPUs for the counts (cells or names) of instances of so many ``gpus`` each."""
    if len(counts) == 1:
        return _alone(counts[0], gpus[0], system_gpus)
    pairs = sorted(zip(gpus, counts, strict=True), key=lambda pair: -pair[0])
    (large, n_large), (small, n_small) = pairs
    per_system = system_gpus // large
    if not per_system:
        return f"{_alone(n_large, large, system_gpus)}+{_alone(n_small, small, system_gpus)}"
    full = f"INT({n_large}/{per_system})"
    rest = f"({n_large}-{full}*{per_system})"
    beside = f"{full}*{(system_gpus - per_system * large) // small}"
    last = f"IF({rest}>0,INT(({system_gpus}-{rest}*{large})/{small}),0)"
    left = f"MAX({n_small}-({beside}+{last}),0)"
    return f"{_alone(n_large, large, system_gpus)}+{_alone(left, small, system_gpus)}"


def _alone(count: str, gpus: int, system_gpus: int) -> str:
    per_system, per_instance = system_gpus // gpus, -(-gpus // system_gpus)
    if per_system > 1:
        return f"ROUNDUP({count}/{per_system},0)"
    return f"{count}*{per_instance}" if per_instance > 1 else f"{count}"
