"""The sheet with the months to come: systems added when the load needs them, and what each month costs."""

from xlsxwriter.chart import Chart
from xlsxwriter.utility import xl_rowcol_to_cell as cell_at

from sharing.formats.palette import series_colour
from sharing.formats.workbook.book import Book, Sheet
from sharing.formats.workbook.cost import POWER, WAY_LABEL, power_formula
from sharing.formats.workbook.counts import CLOSE, CountsSheet
from sharing.report.calculator import Calculator, WayName

NAME = "36 months"
FIRST_ROW = 4

EXPLANATION = (
    "The load of month m is the planned one times (1 + growth)^(m / 12), m counted from 0, and in a ramp-up the share "
    "of it that is reached. Instances grow by what one of them carries; bought systems are there from the first month, "
    "rented ones follow the load unless they are committed to. Systems are whole. That is how the engine counts the "
    "months to come, too: it is not asked again for each."
)


class Months:
    """Writes the sheet; its columns: month, load, counts of each kind, systems, then each way and its sum so far."""

    def __init__(self, book: Book, calculator: Calculator, counts: CountsSheet) -> None:
        self.book, self.calculator, self.counts = book, calculator, counts
        self.kinds = len(calculator.kinds)
        self.column_of = {"load": 1, "bought": 2 + self.kinds, "rented": 3 + self.kinds}
        self.ways: tuple[WayName, ...] = tuple(way.name for way in calculator.ways)
        self.first_way = 4 + self.kinds
        self.last = FIRST_ROW + len(calculator.months) - 1
        columns = self.first_way + 2 * len(self.ways)
        self.sheet: Sheet = book.sheet(NAME, [9, 12, *[15] * (columns - 2)])

    def write(self) -> None:
        """Everything on the sheet; names ``months_on_prem``, ``months_cloud`` and ``months_api``: the sums."""
        self.sheet.title(0, "36 months")
        self.sheet.paragraph(1, EXPLANATION, min(self.first_way + len(self.ways), 9))
        self._head()
        for number in range(len(self.calculator.months)):
            self._load(FIRST_ROW + number, number)
            for k, name in enumerate(self.ways):
                self._cost(FIRST_ROW + number, number, self.first_way + k, name)
        for k, name in enumerate(self.ways):
            self._sum(self.first_way + k, name)
        if self.ways:
            self._chart()

    def _head(self) -> None:
        money = f"{self.calculator.currency} a month"
        labels = ["Month", "Times the load", *(f"{kind.label} that work" for kind in self.calculator.kinds)]
        labels += ["Bought systems", "Rented systems", *(f"{WAY_LABEL[name]}, {money}" for name in self.ways)]
        labels += [f"{WAY_LABEL[name]}, so far" for name in self.ways]
        self.sheet.head(FIRST_ROW - 1, labels, [True] * len(labels))
        self.sheet.sheet.freeze_panes(FIRST_ROW, 1)

    def _load(self, row: int, number: int) -> None:
        month, load = self.calculator.months[number], cell_at(row, 1)
        growth, ramp = self.calculator.value("growth_percent"), self.calculator.value("ramp_up_months")
        self.sheet.number(row, 0, number + 1, "0")
        reached = f"IF(ramp_up_months>0,MIN(1,{number + 1}/ramp_up_months),1)"
        value = (1 + growth / 100) ** (number / 12) * (min(1.0, (number + 1) / ramp) if ramp else 1.0)
        self.sheet.formula(row, 1, f"(1+growth_percent/100)^({number}/12)*{reached}", value, "0.000")
        names, running = [], []
        for k, working in enumerate(month.working):
            needed = f"MAX(working_{k + 1},ROUNDUP(sized_rps*{load}/capacity_{k + 1}-{CLOSE},0))"
            self.sheet.formula(row, 2 + k, f"IF({load}=1,working_{k + 1},{needed})", working, "#,##0")
            there = cell_at(row, 2 + k)
            names.append(there)
            fewer = f"MIN({there},MAX(1,ROUNDUP(sized_rps*{load}/capacity_{k + 1}-{CLOSE},0)))"
            running.append(there if self.calculator.committed else f"IF({load}<1,{fewer},{there})")
        bought = self.counts.systems(self.calculator.bought.gpus, names)
        self.sheet.formula(row, self.column_of["bought"], bought, month.bought, "#,##0")
        rented = self.calculator.rented
        if rented is not None and month.rented is not None:
            formula = self.counts.systems(rented.gpus, running)
            self.sheet.formula(row, self.column_of["rented"], formula, month.rented, "#,##0")

    def _cost(self, row: int, number: int, column: int, name: WayName) -> None:
        way = self.calculator.way(name)
        assert way is not None
        monthly, so_far = cell_at(row, column), column + len(self.ways)
        if name == "api":
            formula = f"cost_api*{cell_at(row, 1)}"
        elif name == "cloud":
            formula = f"(cost_cloud-staff_rented)/systems_rented*{cell_at(row, self.column_of['rented'])}+staff_rented"
        else:
            each = f"(cost_on_prem-staff-{POWER})/systems_bought"
            formula = f"{each}*{cell_at(row, self.column_of['bought'])}+staff+{self._power(row)}"
        self.sheet.formula(row, column, formula, way.cash[number], "#,##0")
        before = f"{cell_at(row - 1, so_far)}+" if number else ""
        self.sheet.formula(row, so_far, f"{before}{monthly}", sum(way.cash[: number + 1]), "#,##0")

    def _power(self, row: int) -> str:
        """Electricity of a month: it follows how busy the systems are."""
        if not any(one.name == "electricity_price" for one in self.calculator.inputs):
            return "0"
        working = [cell_at(row, 2 + k) for k in range(self.kinds)]
        most = ",".join(f"{count}*capacity_{k + 1}" for k, count in enumerate(working))
        busy = f"MIN(1,requests_per_month*{cell_at(row, 1)}/(MIN({most})*3600*730))"
        return power_formula(self.calculator, cell_at(row, self.column_of["bought"]), busy, working)

    def _sum(self, column: int, name: WayName) -> None:
        way = self.calculator.way(name)
        assert way is not None
        row, of = self.last + 1, f"{cell_at(FIRST_ROW, column)}:{cell_at(self.last, column)}"
        self.sheet.text(row, 0, "Sum", bold=True)
        self.sheet.formula(row, column, f"SUM({of})", sum(way.cash), "#,##0", bold=True, top=1)
        self.book.name(f"months_{name}", self.sheet, row, column)

    def _chart(self) -> None:
        chart = self.book.workbook.add_chart({"type": "line"})
        self.lines(chart)
        chart.set_size({"width": 900, "height": 380})
        self.sheet.sheet.insert_chart(self.last + 3, 0, chart)

    def lines(self, chart: Chart) -> None:
        """Put the sums so far into a line chart."""
        for k, name in enumerate(self.ways):
            column = self.first_way + len(self.ways) + k
            chart.add_series(
                {
                    "name": WAY_LABEL[name],
                    "categories": [self.sheet.name, FIRST_ROW, 0, self.last, 0],
                    "values": [self.sheet.name, FIRST_ROW, column, self.last, column],
                    "line": {"width": 2, "color": series_colour(self.book.brand, k)},
                }
            )
        chart.set_title({"name": f"Cost so far, {self.calculator.currency}", "name_font": {"size": 11}})
        chart.set_x_axis({"name": "Month", "interval_unit": 6, "interval_tick": 6, "num_font": {"size": 8}})
        chart.set_y_axis({"num_format": "#,##0", "major_gridlines": {"visible": True, "line": {"color": "#DDE3E9"}}})
        chart.set_legend({"position": "bottom"})
