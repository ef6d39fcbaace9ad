"""The sheet on which inputs are changed and what follows from them is read, and the sheet of their sources."""

from collections.abc import Iterator, Mapping
from itertools import groupby

from sharing.formats.workbook.book import INPUT_FILL, INPUT_INK, Book, Sheet
from sharing.formats.workbook.cost import BORDER, WAY_LABEL
from sharing.formats.workbook.counts import PLANNED_BASIS, CountsSheet, basis_formula
from sharing.formats.workbook.figures import WorkbookFigures
from sharing.formats.workbook.months import Months
from sharing.report.calculator import Calculator, CalculatorInput, InputGroup

NAME, SOURCES = "Calculator", "Sources of inputs"
GROUP_LABEL: Mapping[InputGroup, str] = {
    "load": "Load and utilisation",
    "growth": "Months to come",
    "power": "Power",
    "on_prem": "Own systems",
    "cloud": "Rented instances",
    "api": "API by the token",
    "staff": "People",
}
ORDER: tuple[InputGroup, ...] = ("load", "growth", "on_prem", "cloud", "api", "power", "staff")
FIRST_ROW, RESULTS = 4, 4
"""The first row of either block, and the column of the second one."""
SUBTITLE = (
    "Change the yellow cells: instances, systems, power{cost} follow. The deployment stays the planned one; another "
    "model, other lengths or limits are another question to the engine."
)


PROBLEM, MARK, RED = "inputs_problem", "!", "#C0392B"
"""Name of the cell that says what is wrong with the inputs, what stands beside each of those, and its colour."""


def checked(formula: str) -> str:
    """The formula, without a value while an input is not possible."""
    return f'IF({PROBLEM}="",{formula},NA())'


def grouped(calculator: Calculator) -> Iterator[tuple[InputGroup, list[CalculatorInput]]]:
    """The inputs, group by group."""
    each = sorted(calculator.inputs, key=lambda one: ORDER.index(one.group))
    for group, inputs in groupby(each, key=lambda one: one.group):
        yield group, list(inputs)


class CalculatorSheet:
    """Made first, so that it stands first; written once the names that it shows are known."""

    def __init__(self, book: Book, calculator: Calculator) -> None:
        self.book, self.calculator, self.figures = book, calculator, WorkbookFigures(calculator)
        self.sheet: Sheet = book.sheet(NAME, [64, 14, 30, 3, 46, 18, 18])

    def write(self, counts: CountsSheet, months: Months) -> None:
        """Inputs on the left, results on the right, charts below the results."""
        self.sheet.title(0, "Calculator")
        self.sheet.paragraph(1, SUBTITLE.format(cost=" and cost" if self.calculator.ways else ""), 7)
        row = FIRST_ROW
        for group, inputs in grouped(self.calculator):
            row = self._inputs(row, GROUP_LABEL[group], inputs)
        self._problem(row)
        below = self._results(FIRST_ROW, counts)
        if self.calculator.ways:
            below = self._ways(below + 1)
            self._charts(below + 1, months)
        self.sheet.sheet.activate()

    def _inputs(self, row: int, label: str, inputs: list[CalculatorInput]) -> int:
        self.sheet.text(row, 0, label, bold=True, font_color=self.book.colour, bottom=1, bottom_color=self.book.colour)
        for one in inputs:
            row += 1
            self.sheet.text(row, 0, one.label)
            self.sheet.number(
                row,
                1,
                one.value,
                "#,##0.######",
                bg_color=INPUT_FILL,
                font_color=INPUT_INK,
                border=1,
                border_color="#E0C95A",
            )
            self.sheet.text(row, 2, one.unit, font_color="#5A6B7B", indent=1)
            self.book.name(one.name, self.sheet, row, 1)
            self._validate(row, one)
        return row + 2

    def _problem(self, last: int) -> None:
        """A sentence while an input is not possible: what is pasted passes by the checks of a cell, and what would be
        computed from it is nonsense."""
        marks = f"COUNTIF(D{FIRST_ROW + 1}:D{last + 1},{MARK!r})".replace("'", '"')
        which = "marked with !, its bounds show when the cell is chosen. Nothing is computed from it."
        several = f'{marks}&" inputs are not possible: each is {which}"'
        one = f'IF({marks}=1,"One input is not possible: it is {which}",{several})'
        row = FIRST_ROW - 2
        self.sheet.formula(row, 0, f'IF({marks}=0,"",{one})', "", bold=True, font_color=RED)
        self.book.name(PROBLEM, self.sheet, row, 0)

    def _validate(self, row: int, one: CalculatorInput) -> None:
        bounds = f"From {one.low:,.6g} to {one.high:,.6g} {one.unit}."
        cell = f"B{row + 1}"
        held = f"AND(ISNUMBER({cell}),{cell}>={one.low!r},{cell}<={one.high!r})"
        self.sheet.formula(row, 3, f'IF({held},"","{MARK}")', "", bold=True, font_color=RED, align="center")
        self.sheet.sheet.data_validation(
            row,
            1,
            row,
            1,
            {
                "validate": "decimal",
                "criteria": "between",
                "minimum": one.low,
                "maximum": one.high,
                "ignore_blank": False,
                "input_title": one.label[:32],
                "input_message": bounds[:255],
                "error_title": "Not possible",
                "error_message": bounds[:255],
            },
        )

    def _results(self, row: int, counts: CountsSheet) -> int:
        calculator, figures = self.calculator, self.figures
        self.sheet.text(row, RESULTS, "What it takes", bold=True, bottom=1, font_color=self.book.colour)
        row += 1
        for k, kind in enumerate(calculator.kinds):
            self._result(row, "", f"{kind.label}, spares included", f"instances_{k + 1}", figures.instances[k], "#,##0")
            row += 1
        gpus = "+".join(f"instances_{k + 1}*{kind.gpus}" for k, kind in enumerate(calculator.kinds))
        busy = ",".join(f"working_{k + 1}*capacity_{k + 1}" for k in range(len(calculator.kinds)))
        rows = [
            ("gpus", "GPUs", gpus, figures.gpus, "#,##0"),
            ("systems_bought", f"Systems to buy: {calculator.bought.name}", *self._systems(counts, True)),
        ]
        if calculator.rented is not None:
            rows.append(
                ("systems_rented", f"Instances to rent: {calculator.rented.name}", *self._systems(counts, False))
            )
        if any(one.name == "system_kw" for one in calculator.inputs):
            budget = figures.bought * calculator.value("system_kw")
            rows.append(
                ("power_kw", "Power budget of bought systems, kW", "systems_bought*system_kw", budget, "#,##0.0")
            )
        monthly = "requests_per_s*3600*hours_at_full_load*730/24"
        share = f"MIN(1,requests_per_month/(MIN({busy})*3600*730))"
        rows += [
            ("requests_per_month", "Requests a month", monthly, figures.requests_per_month, "#,##0"),
            ("utilisation", "Utilisation over day and night", share, figures.utilisation, "0.0 %"),
        ]
        for name, label, formula, value, shown in rows:
            self._result(row, name, label, formula, value, shown)
            row += 1
        self.sheet.sheet.merge_range(
            row, RESULTS, row + 1, RESULTS + 2, "", self.book.look(text_wrap=True, italic=True)
        )
        self.sheet.formula(row, RESULTS, basis_formula(calculator), PLANNED_BASIS, text_wrap=True, italic=True)
        self.book.name("basis", self.sheet, row, RESULTS)
        return row + 2

    def _systems(self, counts: CountsSheet, bought: bool) -> tuple[str, float, str]:
        rented = self.calculator.rented
        if bought or rented is None:
            return counts.systems(self.calculator.bought.gpus), self.figures.bought, "#,##0"
        return counts.systems(rented.gpus), self.figures.rented, "#,##0"

    def _result(self, row: int, name: str, label: str, formula: str, value: float, shown: str) -> None:
        self.sheet.text(row, RESULTS, label, **BORDER)
        self.sheet.formula(row, RESULTS + 1, checked(formula), value, shown, bold=True, **BORDER)
        if name:
            self.book.name(name, self.sheet, row, RESULTS + 1)

    def _ways(self, row: int) -> int:
        """A line for each way: a month, a million tokens, all months."""
        currency = self.calculator.currency
        look = {"bold": True, "bottom": 1, "font_color": self.book.colour}
        self.sheet.text(row, RESULTS, f"What it costs, {currency}", **look)
        self.sheet.text(row, RESULTS + 1, "A month", align="right", **look)
        self.sheet.text(row, RESULTS + 2, "36 months", align="right", **look)
        self.ways_row = row + 1
        for way in self.calculator.ways:
            row += 1
            self.sheet.text(row, RESULTS, WAY_LABEL[way.name], **BORDER)
            month, months = checked(f"cost_{way.name}"), checked(f"months_{way.name}")
            self.sheet.formula(row, RESULTS + 1, month, way.per_month, "#,##0", bold=True, **BORDER)
            self.sheet.formula(row, RESULTS + 2, months, sum(way.cash), "#,##0", bold=True, **BORDER)
        row += 2
        self.sheet.text(row, RESULTS, f"A million tokens of answers, {currency}", **look)
        self.sheet.text(row, RESULTS + 1, "All of the cost", align="right", **look)
        for way in self.calculator.ways:
            row += 1
            formula = f"cost_{way.name}/(requests_per_month*{self.calculator.output_tokens!r})*1000000"
            self._result(
                row,
                f"per_million_{way.name}",
                WAY_LABEL[way.name],
                formula,
                self.figures.per_million(way.name),
                "#,##0.00",
            )
        return row + 1

    def _charts(self, row: int, months: Months) -> None:
        bars = self.book.workbook.add_chart({"type": "bar"})
        last = self.ways_row + len(self.calculator.ways) - 1
        bars.add_series(
            {
                "name": f"{self.calculator.currency} a month",
                "categories": [self.sheet.name, self.ways_row, RESULTS, last, RESULTS],
                "values": [self.sheet.name, self.ways_row, RESULTS + 1, last, RESULTS + 1],
                "fill": {"color": self.book.colour},
                "data_labels": {"value": True, "num_format": "#,##0"},
                "gap": 60,
            }
        )
        bars.set_title({"name": f"Cost of a month, {self.calculator.currency}", "name_font": {"size": 11}})
        bars.set_legend({"none": True})
        bars.set_y_axis({"reverse": True})
        bars.set_x_axis({"num_format": "#,##0", "min": 0, "major_gridlines": {"visible": False}})
        bars.set_size({"width": 570, "height": 220})
        self.sheet.sheet.insert_chart(row, RESULTS, bars)
        lines = self.book.workbook.add_chart({"type": "line"})
        months.lines(lines)
        lines.set_size({"width": 570, "height": 280})
        self.sheet.sheet.insert_chart(row + 12, RESULTS, lines)


def write_sources(book: Book, calculator: Calculator) -> None:
    """Every input with its planned value, source and date."""
    sheet = book.sheet(SOURCES, [54, 14, 24, 70, 28])
    sheet.title(0, "Where the inputs come from")
    sheet.paragraph(1, "As planned; what is changed in the calculator is not repeated here.", 5)
    sheet.head(3, ["CalculatorInput", "As planned", "Unit", "Source", "Date"], [False, True, False, False, False])
    row = 4
    for group, inputs in grouped(calculator):
        sheet.text(row, 0, GROUP_LABEL[group], bold=True, font_color=book.colour)
        row += 1
        for one in inputs:
            sheet.cell(row, 1, one.value, None)
            for column, text in ((0, one.label), (2, one.unit), (3, one.source), (4, one.date)):
                sheet.cell(row, column, text, None)
            row += 1
    sheet.sheet.freeze_panes(4, 0)
