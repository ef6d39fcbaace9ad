"""The report as a workbook for Excel and LibreOffice, with formulas that follow the engine's cost model."""

from sharing.formats.brand import Brand
from sharing.formats.source import ReportSource
from sharing.formats.workbook.book import Book
from sharing.formats.workbook.cash_flow import CashFlowSheet
from sharing.formats.workbook.cost import write_cost
from sharing.formats.workbook.counts import CountsSheet
from sharing.formats.workbook.figures import WorkbookFigures
from sharing.formats.workbook.inputs import CalculatorSheet, write_sources
from sharing.formats.workbook.months import Months
from sharing.formats.workbook.sections import write_section, write_summary
from sharing.report.build_calculator import calculator_of
from sharing.report.calculator import Calculator
from sharing.report.content import Report


def write(source: ReportSource) -> bytes:
    """The file. The engine is asked for the counts over the load."""
    calculator = calculator_of(source.answer, source.report.released, source.money)
    return to_xlsx(source.report, calculator, source.brand)


def to_xlsx(report: Report, calculator: Calculator | None, brand: Brand) -> bytes:
    """The file: summary, calculator with its sheets, then a sheet for each chapter.

    ``calculator``: None where nothing serves the scenario, or a mixed fleet does; then no formulas are written.
    """
    book = Book(title=report.title, author=report.author, made_at=report.made_at, brand=brand)
    summary = book.sheet("Summary", [30, 60, 30])
    sheets = [] if calculator is None else _calculate(book, calculator)
    sheets += [write_section(book, section, report.currency) for section in report.sections]
    write_summary(book, summary, report, sheets)
    summary.sheet.activate()
    return book.content()


def _calculate(book: Book, calculator: Calculator) -> list[str]:
    """The calculator and what it computes with; returns the names of its sheets."""
    before = len(book.workbook.worksheets())
    main = CalculatorSheet(book, calculator)
    if calculator.ways:
        write_cost(book, calculator, WorkbookFigures(calculator))
    counts = CountsSheet(book, calculator)
    months = Months(book, calculator, counts)
    counts.write()
    months.write()
    if calculator.ways:
        CashFlowSheet(book, calculator, months).write()
    write_sources(book, calculator)
    main.write(counts, months)
    return [str(sheet.get_name()) for sheet in book.workbook.worksheets()[before:]]
