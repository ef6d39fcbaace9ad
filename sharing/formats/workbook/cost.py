"""The sheet with the cost of a month in every way, part by part: the formulas of :mod:`sizing.economics`."""

from collections.abc import Mapping, Sequence

from sharing.formats.workbook.book import Book, Sheet
from sharing.formats.workbook.figures import WorkbookFigures
from sharing.report.calculator import Calculator, WayName

NAME = "Calculated cost"
WAY_LABEL: Mapping[WayName, str] = {"on_prem": "Own systems", "cloud": "Rented instances", "api": "API by the token"}
PART_LABEL: Mapping[str, str] = {
    "servers": "Servers, written off in a straight line",
    "switches": "Switches and cables",
    "storage": "Shared storage",
    "support": "Hardware support",
    "capital_charge": "Capital charge, on the mean book value",
    "power": "Electricity, cooling included; it follows the utilisation",
    "colocation": "Colocation",
    "licence": "Licences",
    "staff": "People who run it",
    "instances": "Instance hours, 730 a month",
    "interruptions": "More because of interruptions",
    "api_input": "New prompt tokens",
    "api_cached_input": "Cached prompt tokens",
    "api_output": "Tokens of answers",
}
POWER = "power_bought"
"""Name of the electricity of bought systems in a month."""
BORDER = {"bottom": 1, "bottom_color": "#C9D2DB"}


def part_formulas(calculator: Calculator, name: WayName) -> Mapping[str, str]:
    """A month of each part of a way, from the names of the inputs and what is looked up."""
    if name == "on_prem":
        return _on_prem(calculator)
    if name == "cloud":
        instances = "systems_rented*instance_price*730"
        gpus = calculator.rented.gpus if calculator.rented else 0
        return {
            "instances": instances,
            "interruptions": f"{instances}*spot_interruption_percent/100",
            "licence": f"systems_rented*730*{gpus}*licence_per_gpu_hour",
            "staff": "staff_rented",
        }
    millions = "requests_per_month/1000000"
    new = calculator.input_tokens - calculator.cached_tokens
    return {
        "api_input": f"{millions}*{new!r}*api_input_price",
        "api_cached_input": f"{millions}*{calculator.cached_tokens!r}*api_cached_price",
        "api_output": f"{millions}*{calculator.output_tokens!r}*api_output_price",
    }


def _on_prem(calculator: Calculator) -> Mapping[str, str]:
    bought = "systems_bought*system_price"
    purchase = f"{bought}*(1+switches_percent/100+storage_percent/100)"
    known = {one.name for one in calculator.inputs}
    month = "*(1-residual_percent/100)/(depreciation_years*12)"
    working = [f"working_{k}" for k in range(1, len(calculator.kinds) + 1)]
    power = power_formula(calculator, "systems_bought", "utilisation", working)
    return {
        "servers": f"{bought}{month}",
        "switches": f"{bought}*switches_percent/100{month}",
        "storage": f"{bought}*storage_percent/100{month}",
        "support": f"{purchase}/12*support_percent/100",
        "capital_charge": f"{purchase}*(1+residual_percent/100)/2/12*capital_charge_percent/100",
        "power": power if "electricity_price" in known else "0",
        "colocation": "systems_bought*system_kw*colocation_price" if "colocation_price" in known else "0",
        "licence": f"systems_bought*{calculator.bought.gpus}*licence_per_gpu_year/12",
        "staff": "staff",
    }


def power_formula(calculator: Calculator, systems: str, utilisation: str, working: Sequence[str]) -> str:
    """A month of electricity: idle power of all GPUs, and what those that carry the load draw beyond it."""
    pairs = zip(working, calculator.kinds, strict=True)
    gpus = "+".join(f"{count}*{kind.gpus}" for count, kind in pairs)
    beyond = f"MAX(work_power_share-idle_power_share,0)*{utilisation}*({gpus})/{calculator.bought.gpus}"
    return f"({systems}*idle_power_share+{beyond})*system_kw*pue*730*electricity_price"


def write_cost(book: Book, calculator: Calculator, figures: WorkbookFigures) -> None:
    """The sheet; names ``cost_on_prem``, ``cost_cloud`` and ``cost_api``."""
    sheet = book.sheet(NAME, [46, 22, 80])
    sheet.title(0, "Cost of a month")
    sheet.paragraph(
        1,
        f"In {calculator.currency}, at the inputs of the calculator; every figure is a formula. Central estimates: the "
        "ranges stand in the chapters of the report.",
        3,
    )
    row = 3
    for way in calculator.ways:
        row = _way(book, sheet, row, calculator, way.name, figures) + 1
    if calculator.chosen == "hybrid":
        sheet.paragraph(
            row,
            "The scenario pays for a base with rented peaks. Which base costs least is decided anew at each load, "
            "which no formula follows: its cost at the planned load stands in the chapters of the report.",
            3,
        )


def _way(book: Book, sheet: Sheet, row: int, calculator: Calculator, name: WayName, figures: WorkbookFigures) -> int:
    way = calculator.way(name)
    assert way is not None
    sheet.heading(row, f"{WAY_LABEL[name]}: {way.system}", 3)
    sheet.head(row + 1, ["Part", f"{calculator.currency} a month", "Formula"], [False, True, False])
    first = row = row + 2
    formulas = part_formulas(calculator, name)
    for part, value in way.parts.items():
        sheet.text(row, 0, PART_LABEL[part], **BORDER)
        sheet.formula(row, 1, formulas[part], value, "#,##0.00", **BORDER)
        if part == "power":
            book.name(POWER, sheet, row, 1)
        sheet.text(
            row,
            2,
            formulas[part].replace("*", " x "),
            font_size=9,
            indent=1,
            font_color="#5A6B7B",
            text_wrap=True,
            **BORDER,
        )
        row += 1
    sheet.text(row, 0, "Together", bold=True)
    sheet.formula(row, 1, f"SUM(B{first + 1}:B{row})", figures.per_month(name), "#,##0.00", bold=True)
    book.name(f"cost_{name}", sheet, row, 1)
    return row + 1
