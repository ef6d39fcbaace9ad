"""The workbook, computed anew by LibreOffice after a change of inputs, says what the engine says."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from openpyxl.workbook import Workbook

from sharing.formats.brand import Brand
from sharing.formats.workbook import to_xlsx
from sharing.report.build_calculator import calculator_of
from sharing.report.calculator import Calculator
from sharing.report.content import Released
from sizing import Plan, Scenario, plan
from sizing.economics.cost import cost
from sizing.economics.results import CostAnswer, WayToPay
from sizing.explore.load_steps import at_load
from sizing.explore.pinned import pinned_to
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sharing.office import changed, computed, opened, value_of
from tests.sharing.report_cases import CASES
from tests.sharing.report_example import report

pytestmark = pytest.mark.slow

CLOSE = 1e-9
WAYS = ("on_prem", "cloud", "api")
CONSTANTS = {
    "switches_percent": 7.0,
    "storage_percent": 3.0,
    "support_percent_per_year": 5.0,
    "capital_charge_percent_per_year": 6.0,
    "staff_usd_per_month": 4000.0,
    "growth_percent_per_year": 40.0,
    "facility": "colocation",
    "licence": "nvidia_ai_enterprise",
    "purchase": "spot",
}
"""Every part of the cost is above 0, and systems are added in the months to come."""
ASKED: dict[str, dict[str, Any]] = {
    "chat": CASES["chat"],
    "every part": CASES["pools"]
    | {
        "deployment": {"gpus": ["h100_sxm"], "spare_instances": 1},
        "costs": CONSTANTS,
        "workload": {"input_tokens": 1200, "output_tokens": 200, "peak_rps": 40},
    },
    "pools": CASES["pools"] | {"costs": {"growth_percent_per_year": 25.0}},
    "measured": CASES["measured"],
}


@cache
def asked(name: str) -> Scenario:
    return Scenario.model_validate(ASKED[name])


@cache
def planned(name: str) -> Plan:
    return plan(asked(name))


@cache
def calculator(name: str) -> Calculator:
    made = calculator_of(Answer(understand(asked(name)), planned(name)), Released.OWN_PRICES)
    assert made is not None
    return made


def only_planned(name: str, changes: dict[str, Any] | None = None) -> Scenario:
    """The scenario, some of its parts changed, with the planned deployment alone: what the workbook is about."""
    deployed = planned(name).deployment
    assert deployed is not None
    scenario = Scenario.model_validate(ASKED[name] | (changes or {}))
    return scenario if scenario.measured else pinned_to(deployed, scenario)


def gap(name: str, *, same: bool) -> tuple[float, float]:
    """The widest gap between two rates of the table with the same counts on both sides, or with others."""
    pairs = [(a, b) for a, b in pairwise(calculator(name).rows) if (a.working == b.working) is same]
    low, high = max(pairs, key=lambda pair: pair[1].requests_per_s - pair[0].requests_per_s)
    return low.requests_per_s, high.requests_per_s


def middle(name: str, *, same: bool) -> float:
    return sum(gap(name, same=same)) / 2.0


def row_at(name: str, share: float) -> float:
    """The rate of the row in that part of the table."""
    rows = calculator(name).rows
    return rows[int(len(rows) * share)].requests_per_s


MORE = ("chat", "pools")
"""Changed in more ways: one kind of instances, and two."""

CHANGES: dict[str, dict[str, float]] = {
    "untouched": {},
    "price": {"system_price": 200_000.0, "staff": 9_000.0, "electricity_price": 0.31, "instance_price": 11.5},
    "investment": {"residual_percent": 12.0, "discount_percent": 9.0, "ramp_up_months": 6.0, "depreciation_years": 2.0},
    "constants": {
        "pue": 1.2,
        "work_power_share": 0.5,
        "idle_power_share": 0.5,
        "depreciation_years": 4.0,
        "growth_percent": 60.0,
    },
}


def changes_of(name: str) -> Iterator[tuple[str, dict[str, float]]]:
    yield from ((kind, values) for kind, values in CHANGES.items() if kind == "untouched" or name == "every part")
    yield "row", {"requests_per_s": row_at(name, 0.3)}
    yield "same count", {"requests_per_s": middle(name, same=True)}
    yield "interpolated", {"requests_per_s": middle(name, same=False)}
    if name not in MORE:
        return
    yield "beyond", {"requests_per_s": calculator(name).rows[-1].requests_per_s * 1.7}
    yield "half used", {"share_of_capacity": 50.0, "requests_per_s": row_at(name, 0.6) / 2.0}
    yield "busy day", {"hours_at_full_load": 20.0}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Workbook]:
    """Every change of every scenario, computed in one go."""
    files = {}
    for name in ASKED:
        content = workbook(name)
        files |= {f"{name}, {kind}": changed(content, values) for kind, values in changes_of(name)}
    return computed(files, tmp_path_factory.mktemp("office"))


def workbook(name: str) -> bytes:
    return to_xlsx(report(sections=()), calculator(name), Brand())


def engine_at(name: str, rps: float) -> tuple[Plan, CostAnswer]:
    """The engine's answer for the planned deployment at another rate."""
    scenario = at_load(only_planned(name), rps)
    answer = plan(scenario)
    return answer, cost(Answer(understand(scenario), answer))


def way(answer: CostAnswer, name: str) -> WayToPay:
    return next(one for one in answer.ways if one.name == name)


def counts(book: Workbook, name: str) -> list[object]:
    return [value_of(book, f"instances_{k + 1}") for k in range(len(calculator(name).kinds))]


def counted(answer: Plan) -> list[int]:
    return [kind.instances for kind in answer.deployment.kinds]


@pytest.mark.parametrize("name", ASKED)
def test_computed_anew_everything_is_as_written_from_the_engine(books: dict[str, Workbook], name: str) -> None:
    written = opened(workbook(name), values=True)
    anew = books[f"{name}, untouched"]
    numbers = 0
    for sheet in written.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                value = anew[sheet.title][cell.coordinate].value
                if isinstance(cell.value, int | float):
                    numbers += 1
                    assert value == pytest.approx(cell.value, rel=CLOSE, abs=CLOSE), f"{sheet.title} {cell.coordinate}"
                else:
                    assert (value or "") == (cell.value or ""), f"{sheet.title} {cell.coordinate}"
    assert numbers > 300
    assert value_of(anew, "basis") == "The engine's answer for this rate."


@pytest.mark.parametrize("name", ASKED)
def test_the_planned_cost_is_the_engines(books: dict[str, Workbook], name: str) -> None:
    answer, book = cost(Answer(understand(asked(name)), planned(name))), books[f"{name}, untouched"]
    known = [one for one in WAYS if way(answer, one).usd_per_month is not None]
    assert "on_prem" in known
    for one in known:
        assert value_of(book, f"cost_{one}") == pytest.approx(way(answer, one).usd_per_month, rel=CLOSE)
    chosen = answer.location
    assert value_of(book, f"months_{chosen}") == pytest.approx(sum(answer.cash), rel=CLOSE)
    assert value_of(book, f"per_million_{chosen}") == pytest.approx(answer.usd_per_million_output_tokens, rel=CLOSE)
    assert value_of(book, "utilisation") == pytest.approx(way(answer, chosen).utilization, rel=1e-6)
    assert counts(book, name) == counted(planned(name))


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("kind", ["row", "same count"])
def test_at_another_rate_it_is_the_engines_answer(books: dict[str, Workbook], name: str, kind: str) -> None:
    book, rps = books[f"{name}, {kind}"], dict(changes_of(name))[kind]["requests_per_s"]
    answer, money = engine_at(name, rps)
    assert str(value_of(book, "basis")).startswith("The engine's answer")
    assert counts(book, name) == counted(answer)
    for one, systems in (("on_prem", "systems_bought"), ("cloud", "systems_rented")):
        there = way(money, one)
        if there.usd_per_month is None or there.system != way_of(name, one):
            continue
        assert value_of(book, systems) == there.systems
        assert value_of(book, f"cost_{one}") == pytest.approx(there.usd_per_month, rel=CLOSE)
        if kind == "row" and money.location == one:
            assert value_of(book, f"months_{one}") == pytest.approx(sum(money.cash), rel=CLOSE)


def way_of(name: str, one: str) -> str:
    known = calculator(name).way(one)
    return "" if known is None else known.system


@pytest.mark.parametrize("name", ASKED)
def test_where_the_count_steps_up_the_sheet_says_that_it_interpolates(books: dict[str, Workbook], name: str) -> None:
    book = books[f"{name}, interpolated"]
    basis = str(value_of(book, "basis"))
    low, high = (counted(engine_at(name, rps)[0]) for rps in gap(name, same=False))
    assert basis.startswith("Interpolated: the engine gives ")
    for count, ends in zip(counts(book, name), zip(low, high, strict=True), strict=True):
        assert min(ends) <= count <= max(ends)


@pytest.mark.parametrize("name", MORE)
def test_beyond_the_table_the_sheet_says_so(books: dict[str, Workbook], name: str) -> None:
    book, last = books[f"{name}, beyond"], calculator(name).rows[-1]
    assert str(value_of(book, "basis")).startswith("Beyond the engine's table")
    for k, (working, count) in enumerate(zip(last.working, counts(book, name), strict=True)):
        grown = last.requests_per_s * 1.7 / last.capacity_rps[k]
        assert count >= max(working, grown)


@pytest.mark.parametrize("name", MORE)
def test_half_the_utilisation_takes_what_twice_the_rate_takes(books: dict[str, Workbook], name: str) -> None:
    answer, _ = engine_at(name, row_at(name, 0.6))
    assert counts(books[f"{name}, half used"], name) == counted(answer)


@pytest.mark.parametrize("name", MORE)
def test_a_busier_day_makes_tokens_cheaper_and_no_system_more(books: dict[str, Workbook], name: str) -> None:
    before, after = books[f"{name}, untouched"], books[f"{name}, busy day"]
    share = calculator(name).value("hours_at_full_load") / 20.0
    assert value_of(after, "systems_bought") == value_of(before, "systems_bought")
    evenly = value_of(before, "per_million_on_prem") * share
    assert evenly < value_of(after, "per_million_on_prem") < 1.05 * evenly, "power alone follows the hours"
    if calculator(name).way("api"):
        assert value_of(after, "cost_api") == pytest.approx(value_of(before, "cost_api") / share)


def test_prices_move_the_cost_as_the_engine_says(books: dict[str, Workbook]) -> None:
    name, book = "every part", books["every part, price"]
    prices = {"system": calculator(name).bought.name, "system_usd": 200_000.0}
    costs = CONSTANTS | {"staff_usd_per_month": 9_000.0, "electricity_usd_per_kwh": 0.31}
    answer = cost(Answer.of(only_planned(name, {"prices": prices, "costs": costs})))
    assert all(way(answer, "on_prem").parts.values())
    assert value_of(book, "cost_on_prem") == pytest.approx(way(answer, "on_prem").usd_per_month, rel=CLOSE)
    assert value_of(book, "months_on_prem") == pytest.approx(sum(answer.cash), rel=CLOSE)


def test_constants_move_the_cost_as_the_engine_says(books: dict[str, Workbook]) -> None:
    name, book = "every part", books["every part, constants"]
    costs = CONSTANTS | {"pue": 1.2, "power_utilization": 0.5, "growth_percent_per_year": 60.0}
    answer = cost(Answer.of(only_planned(name, {"prices": {"depreciation_years": 4.0}, "costs": costs})))
    assert value_of(book, "cost_on_prem") == pytest.approx(way(answer, "on_prem").usd_per_month, rel=CLOSE)
    assert value_of(book, "months_on_prem") == pytest.approx(sum(answer.cash), rel=CLOSE)
    assert len(set(answer.cash)) > 1


def test_present_values_are_the_engines(books: dict[str, Workbook]) -> None:
    """As planned; and written off in two years with a ramp-up, so that systems are replaced within the months."""
    name = "every part"
    assert_present_values(books[f"{name}, untouched"], cost(Answer(understand(asked(name)), planned(name))))
    costs = CONSTANTS | {"residual_percent": 12.0, "discount_percent_per_year": 9.0, "ramp_up_months": 6}
    answer = cost(Answer.of(only_planned(name, {"prices": {"depreciation_years": 2.0}, "costs": costs})))
    book = books[f"{name}, investment"]
    assert value_of(book, "months_on_prem") == pytest.approx(sum(answer.cash), rel=CLOSE)
    assert_present_values(book, answer)


def assert_present_values(book: Workbook, answer: CostAnswer) -> None:
    """Present cost of each way that formulas follow, and owning beside renting."""
    for one in answer.investment.ways:
        if one.name in WAYS:
            assert value_of(book, f"present_{one.name}") == pytest.approx(one.present_cost_usd, rel=CLOSE)
    rent = next(one for one in answer.investment.owning_against if one.name == "cloud")
    assert value_of(book, "npv_cloud") == pytest.approx(rent.npv_usd, rel=1e-6)


def test_nothing_is_computed_from_an_input_that_is_pasted_over_its_bounds(tmp_path: Path) -> None:
    """A paste passes by the checks of a cell: a sentence says so, and no result is shown."""
    book = to_xlsx(report(), calculator("chat"), Brand())
    wrong = computed({"wrong": changed(book, {"requests_per_s": -5.0, "pue": 900.0}), "right": book}, tmp_path)
    assert str(value_of(wrong["wrong"], "inputs_problem")).startswith("2 inputs are not possible")
    assert value_of(wrong["wrong"], "systems_bought") == value_of(wrong["wrong"], "gpus") == "#N/A"
    assert not value_of(wrong["right"], "inputs_problem")
    assert isinstance(value_of(wrong["right"], "gpus"), int)
