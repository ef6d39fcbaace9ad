"""The workbook of a report: what is in it, that texts stay texts, and that no money is in it that was not released."""

import io
import time
import zipfile
from dataclasses import dataclass
from typing import TypeVar

import pytest
from openpyxl.workbook import Workbook

from sharing.formats import FORMATS
from sharing.formats.brand import Brand
from sharing.formats.workbook import to_xlsx, write
from sharing.formats.workbook.counts import systems_formula
from sharing.report.build_calculator import FOLLOWED, calculator_of
from sharing.report.calculator import Calculator, CalculatorInput
from sharing.report.content import Released, Section, Table
from sharing.report.money import Dollars
from sizing import Scenario
from sizing.base.quantity import Result
from sizing.economics.ways import ways_of
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sharing.office import opened, value_of
from tests.sharing.report_cases import CASES, OWN_PRICE, answered, planned, report, source
from tests.sharing.report_example import FORMULAS
from tests.sharing.report_example import report as by_hand

OWN_SHEETS = [
    "Summary",
    "Calculator",
    "Calculated cost",
    "Engine counts",
    "36 months",
    "Cash flow",
    "Sources of inputs",
]
Converted = TypeVar("Converted", bound=Result)


@pytest.fixture(scope="module")
def calculator() -> Calculator:
    made = calculator_of(answered("chat"), Released.LIST_PRICES)
    assert made is not None
    return made


@pytest.fixture(scope="module")
def book(calculator: Calculator) -> Workbook:
    return opened(to_xlsx(by_hand(), calculator, Brand()))


def cells(book: Workbook) -> list[object]:
    return [
        cell.value for sheet in book.worksheets for row in sheet.iter_rows() for cell in row if cell.value is not None
    ]


def parts_of(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name).decode("utf-8", "replace") for name in file.namelist()}


def test_it_is_offered_and_every_chapter_has_a_sheet() -> None:
    made = opened(FORMATS[".xlsx"].write(source("chat")))
    assert made.sheetnames[: len(OWN_SHEETS)] == OWN_SHEETS
    assert len(made.sheetnames) == len(OWN_SHEETS) + len(report("chat").sections)


def test_a_text_that_looks_like_a_formula_stays_a_text(book: Workbook) -> None:
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and any(text in cell.value for text in FORMULAS):
                    assert cell.data_type == "s", f"{sheet.title} {cell.coordinate}"
    shown = cells(book)
    assert set(FORMULAS) <= set(shown)
    assert "=1+1 Acme: assistant for claims" in shown


def test_no_link_leads_out_of_the_workbook(calculator: Calculator) -> None:
    parts = parts_of(to_xlsx(by_hand(title='=HYPERLINK("http://example.org")'), calculator, Brand()))
    assert not any('TargetMode="External"' in text for text in parts.values())


def test_names_of_sheets_are_those_that_a_workbook_takes(calculator: Calculator) -> None:
    titles = ["Calculator", "a/b\\c:d*e?f[g]", "'quoted'", "x" * 60, "x" * 60, "History", "\x00", ""]
    sections = tuple(Section(key=f"k{n}", title=title, blocks=()) for n, title in enumerate(titles))
    names = opened(to_xlsx(by_hand(sections=sections), calculator, Brand())).sheetnames
    assert len({name.lower() for name in names}) == len(OWN_SHEETS) + len(titles)
    assert all(0 < len(name) <= 31 and not set("[]:*?/\\\x00") & set(name) and name[0] != "'" for name in names)


def test_a_text_longer_than_a_cell_is_cut_and_control_characters_are_left_out() -> None:
    made = opened(to_xlsx(by_hand(answer="a" * 40_000 + "\x0b", title="bad \x07 bell"), None, Brand()))
    assert any(isinstance(value, str) and value.startswith("aaa") and value.endswith("…") for value in cells(made))
    assert "bad  bell" in cells(made)


def test_every_input_is_named_coloured_and_bounded(book: Workbook, calculator: Calculator) -> None:
    sheet = book["Calculator"]
    bounded = {str(cells) for rule in sheet.data_validations.dataValidation for cells in rule.sqref.ranges}
    for one in calculator.inputs:
        assert value_of(book, one.name) == pytest.approx(one.value)
        ((_, place),) = book.defined_names[one.name].destinations
        cell = sheet[place.replace("$", "")]
        assert cell.fill.fgColor.rgb == "FFFFF4C2"
        assert cell.coordinate in bounded
    assert {"requests_per_s", "share_of_capacity", "system_price", "instance_price"} <= {
        i.name for i in calculator.inputs
    }


def test_what_follows_from_the_inputs_is_a_formula(book: Workbook) -> None:
    names = ("instances_1", "gpus", "systems_bought", "systems_rented", "cost_on_prem", "cost_cloud", "months_on_prem")
    assert all(str(value_of(book, name)).startswith("=") for name in names)


def test_charts_are_native_and_show_the_cells_of_the_report(calculator: Calculator) -> None:
    parts = parts_of(to_xlsx(by_hand(), calculator, Brand()))
    charts = [text for name, text in parts.items() if name.startswith("xl/charts/chart")]
    of_report = sum(block.kind == "chart" for section in by_hand().sections for block in section.blocks)
    assert len(charts) == of_report + 4
    assert not any(name.startswith("xl/media") for name in parts)
    latency = next(text for text in charts if "TTFT over the load" in text)
    assert "limit" in latency
    assert "planned" in latency
    assert "scatterChart" in latency


def test_numbers_of_tables_are_numbers(book: Workbook) -> None:
    table = next(block for s in by_hand().sections for block in s.blocks if isinstance(block, Table))
    rows = list(book["Alternatives"].iter_rows(min_row=5, values_only=True))
    assert rows[0][:4] == table.rows[0]
    assert rows[4][2] == "–"
    assert [cell.value for cell in book["Alternatives"][4]][2] == "Cost (USD)"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chat", "own prices", "measured", "pools"])
def test_where_no_money_is_released_there_is_none(name: str) -> None:
    of = source(name, Released.NOTHING)
    made = calculator_of(of.answer, Released.NOTHING)
    assert made.ways == ()
    assert not [one for one in made.inputs if "USD" in one.unit or "price" in one.name]
    book = opened(write(of))
    assert "Calculated cost" not in book.sheetnames
    assert not [value for value in cells(book) if "USD" in str(value) or "$" in str(value).replace("$A$", "")]
    assert not [one for one in book.defined_names if "cost" in one or "price" in one]


@pytest.mark.slow
def test_at_list_prices_no_price_of_ones_own_is_in_the_file() -> None:
    content = write(source("own prices", Released.LIST_PRICES))
    text = " ".join(parts_of(content).values())
    assert not OWN_PRICE.search(text)
    own = " ".join(parts_of(write(source("own prices", Released.OWN_PRICES))).values())
    assert "123457" in own
    assert "7771" in own


@dataclass(frozen=True)
class Thalers:
    """Seven for a dollar."""

    code: str = "THL"

    def of(self, usd_amount: float) -> float:
        return 7.0 * usd_amount

    def written(self, amount: float | None) -> str:
        return f"{amount} thalers"

    def converted(self, result: Converted) -> Converted:
        return result


def test_every_amount_is_in_the_currency_of_the_report(calculator: Calculator) -> None:
    other = calculator_of(answered("chat"), Released.LIST_PRICES, Thalers())
    for one, same in zip(other.inputs, calculator.inputs, strict=True):
        assert one.value == pytest.approx(same.value * (7.0 if "THL" in one.unit else 1.0)), one.name
        assert "USD" not in one.unit
    for way, same_way in zip(other.ways, calculator.ways, strict=True):
        assert way.per_month == pytest.approx(7.0 * same_way.per_month)
        assert sum(way.cash) == pytest.approx(7.0 * sum(same_way.cash))
    assert calculator_of(answered("chat"), Released.LIST_PRICES, Dollars()) == calculator


def test_a_scenario_that_nothing_serves_has_its_report_and_no_calculator() -> None:
    names = opened(write(source("impossible"))).sheetnames
    assert names[0] == "Summary"
    assert "Calculator" not in names


def test_a_stored_calculator_is_read_again(calculator: Calculator) -> None:
    assert Calculator.model_validate_json(calculator.model_dump_json()) == calculator


def test_an_address_inside_a_company_is_in_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = CalculatorInput(
        name="a", label="a", unit="", value=1, low=0, high=2, group="load", source="http://wiki.corp/prices"
    )
    monkeypatch.setattr("sharing.report.build_calculator.inputs_of", lambda *_: [secret])
    made = calculator_of(answered("chat"), Released.NOTHING)
    assert "corp" not in made.inputs[0].source


def test_formulas_follow_every_part_of_the_cost() -> None:
    api = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}
    priced = Scenario.model_validate(CASES["chat"] | {"costs": {"api": api}})
    ways = ways_of(Answer(understand(priced), planned("chat")))
    assert {name: set(ways.by_name[name](1.0).parts) for name in FOLLOWED} == FOLLOWED


def test_instances_that_fill_systems_alone() -> None:
    assert systems_formula(["n"], [2], 8) == "ROUNDUP(n/4,0)"
    assert systems_formula(["n"], [8], 8) == "n"
    assert systems_formula(["n"], [16], 8) == "n*2"


def test_a_brand_colours_the_titles() -> None:
    sheet = opened(to_xlsx(by_hand(), None, Brand(primary="#123456")))["Summary"]
    assert sheet["A1"].font.color.rgb == "FF123456"


def test_the_same_report_is_the_same_bytes(calculator: Calculator, monkeypatch: pytest.MonkeyPatch) -> None:
    first = to_xlsx(by_hand(), calculator, Brand())
    later = time.time() + 1e6
    monkeypatch.setattr("time.time", lambda: later)
    assert to_xlsx(by_hand(), calculator, Brand()) == first
    with zipfile.ZipFile(io.BytesIO(first)) as package:
        assert len({entry.date_time for entry in package.infolist()}) == 1
        assert b"2026-11-22T16:00:00Z" in package.read("docProps/core.xml")
