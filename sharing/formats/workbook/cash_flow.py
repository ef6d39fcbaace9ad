"""The sheet with what is paid when, and what that is worth today: purchases, running cost, residual value."""

from xlsxwriter.utility import xl_rowcol_to_cell as cell_at

from sharing.formats.workbook.book import Book, Sheet
from sharing.formats.workbook.cost import WAY_LABEL
from sharing.formats.workbook.months import FIRST_ROW as MONTHS_FROM
from sharing.formats.workbook.months import Months
from sharing.report.calculator import Calculator, Way, WayName

NAME = "Cash flow"
FIRST_ROW = 4
ADDED, FIRST_WAY = 1, 2
LIFE = "MAX(ROUND(depreciation_years*12,0),1)"
"""Months in which a purchase is written off."""
PRICE = "system_price*(1+switches_percent/100+storage_percent/100)"
"""What a bought system costs, its switches and storage included."""

EXPLANATION = (
    "Month 0 is today. A system is paid for at the end of the month before it is needed, running cost at the end of "
    "its month; what is written off within the months is sold for its residual value and bought anew. The last month "
    "is less what the purchases are still worth. Depreciation and capital charge are no payments: discounting stands "
    "for them. Tax is left out."
)


class CashFlowSheet:
    """Writes the sheet; its columns: month, systems added at its end, then what each way pays."""

    def __init__(self, book: Book, calculator: Calculator, months: Months) -> None:
        self.book, self.calculator, self.months = book, calculator, months
        self.ways: tuple[WayName, ...] = tuple(way.name for way in calculator.ways)
        self.count = len(calculator.months)
        self.last = FIRST_ROW + self.count
        self.sheet: Sheet = book.sheet(NAME, [38, 15, *[22] * max(len(self.ways), 3)])

    def write(self) -> None:
        """Everything on the sheet; names ``present_on_prem``, ``present_cloud``, ``present_api`` and ``npv_cloud``,
        ``npv_api`` of owning against either."""
        self.sheet.title(0, "Cash flow and present value")
        self.sheet.paragraph(1, EXPLANATION, FIRST_WAY + max(len(self.ways), 3))
        labels = ["End of month", "Systems added", *(f"{WAY_LABEL[name]} pays" for name in self.ways)]
        self.sheet.head(FIRST_ROW - 1, labels, [True] * len(labels))
        self.sheet.sheet.freeze_panes(FIRST_ROW, 1)
        for month in range(self.count + 1):
            row = FIRST_ROW + month
            self.sheet.number(row, 0, month, "0")
            self._added(row, month)
            for k, name in enumerate(self.ways):
                formula = self._bought(month) if name == "on_prem" else self._month(month, name)
                value = self._way(name).payments[month]
                self.sheet.formula(row, FIRST_WAY + k, formula, value, "#,##0.00")
        self._present(self.last + 2)

    def _way(self, name: WayName) -> Way:
        way = self.calculator.way(name)
        assert way is not None
        return way

    def _added(self, row: int, month: int) -> None:
        """Systems that are bought at the end of the month, for the next one."""
        months = self.calculator.months
        if month == self.count:
            return
        before = months[month - 1].bought if month else 0
        column = self.months.column_of["bought"]
        cells = [self._elsewhere(MONTHS_FROM + n, column) for n in (month, month - 1)]
        formula = cells[0] if month == 0 else f"MAX({cells[0]}-{cells[1]},0)"
        self.sheet.formula(row, ADDED, formula, max(months[month].bought - before, 0), "#,##0")

    def _elsewhere(self, row: int, column: int) -> str:
        return f"'{self.months.sheet.name}'!{cell_at(row, column)}"

    def _month(self, month: int, name: WayName) -> str:
        """The cost of a month, paid at its end."""
        if month == 0:
            return "0"
        return self._elsewhere(MONTHS_FROM + month - 1, self.months.first_way + self.ways.index(name))

    def _bought(self, month: int) -> str:
        """Purchases, replacements and running cost of own systems; the last month less the residual value."""
        added = f"{cell_at(FIRST_ROW, ADDED, True, True)}:{cell_at(self.last - 1, ADDED, True, True)}"
        numbers = f"{cell_at(FIRST_ROW, 0, True, True)}:{cell_at(self.last - 1, 0, True, True)}"
        terms = []
        if month < self.count:
            again = f"SUMPRODUCT(({numbers}<{month})*(MOD({month}-{numbers},{LIFE})=0)*{added})"
            terms.append(f"{PRICE}*({cell_at(FIRST_ROW + month, ADDED)}+(1-residual_percent/100)*{again})")
        if month:
            owned = self._elsewhere(MONTHS_FROM + month - 1, self.months.column_of["bought"])
            left = "1-residual_percent/100"
            written_off = f"({left})/(depreciation_years*12)"
            charge = "(1+residual_percent/100)/2/12*capital_charge_percent/100"
            terms.append(f"{self._month(month, 'on_prem')}-{owned}*{PRICE}*({written_off}+{charge})")
        if month == self.count:
            age = f"(MOD({self.count - 1}-{numbers},{LIFE})+1)"
            terms.append(f"-{PRICE}*SUMPRODUCT({added}*(1-(1-residual_percent/100)*{age}/{LIFE}))")
        return "+".join(terms).replace("+-", "-")

    def _present(self, row: int) -> None:
        """Present cost of each way, and what owning is worth against the others."""
        rate = "(1+discount_percent/100)"
        self.sheet.text(row, 0, f"Present cost, {self.calculator.currency}", bold=True, top=1)
        numbers = f"{cell_at(FIRST_ROW, 0, True, True)}:{cell_at(self.last, 0, True, True)}"
        for k, name in enumerate(self.ways):
            paid = f"{cell_at(FIRST_ROW, FIRST_WAY + k)}:{cell_at(self.last, FIRST_WAY + k)}"
            formula = f"SUMPRODUCT({paid}/{rate}^({numbers}/12))"
            value = self._way(name).present_cost
            self.sheet.formula(row, FIRST_WAY + k, formula, value, "#,##0.00", bold=True, top=1)
            self.book.name(f"present_{name}", self.sheet, row, FIRST_WAY + k)
        if "on_prem" not in self.ways:
            return
        self.sheet.text(row + 1, 0, "Net present value of owning beside it", bold=True)
        for k, name in enumerate(self.ways):
            if name != "on_prem":
                value = self._way(name).present_cost - self._way("on_prem").present_cost
                formula = f"present_{name}-present_on_prem"
                self.sheet.formula(row + 1, FIRST_WAY + k, formula, value, "#,##0.00", bold=True)
                self.book.name(f"npv_{name}", self.sheet, row + 1, FIRST_WAY + k)
