"""Cost without a browser: every tab, the price book, bad input, figures that agree with the engine."""

import json
import re

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from sizing import Scenario, plan
from sizing.decision.outcome import Answers
from sizing.decision.tornado import two_inputs
from sizing.economics.api import PROVIDERS
from sizing.economics.cost import cost
from sizing.economics.curves import over_load, over_months
from sizing.economics.text import as_text
from sizing.economics.ways import ways_of
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.app.conftest import started
from tests.app.pages_text import problems
from ui.cost.book import GIVEN
from ui.figures.cost import AGES, build_over_load, build_ways, months_table, sources_table, units_table, ways_table
from ui.figures.sensitivity import build_two_inputs
from ui.figures.template import short_ticks, spread_out
from ui.shell.charts import as_number
from ui.state import PRICE_BOOK

PAGE = "pages/cost.py"
TABS = ("Ways to pay", "36 months", "Break-even", "Sensitivity", "Prices and constants")
SCENARIO = Scenario.model_validate(
    {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10},
        "deployment": {"gpus": ["h100_sxm"]},
        "costs": {"growth_percent_per_year": 300},
    }
)

RENTED_TOO = {"gpu": ["h100_sxm"]}
"""A GPU that is sold and rented: only then owning breaks even against renting the same."""


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.button(key="open_chatbot").click().run()
    return app.switch_page(PAGE).run()


def show(app: AppTest, **state: object) -> AppTest:
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_has_something_to_say(page: AppTest, tab: str) -> None:
    show(page, cost_view=tab)
    assert not page.exception
    assert not problems(page)
    assert any("a month" in m.value for m in page.markdown)


@pytest.mark.parametrize("view", ["tornado", pytest.param("flips", marks=pytest.mark.slow), "promises", "two"])
def test_every_view_of_what_moves_the_cost_is_shown_and_opened_again(page: AppTest, view: str) -> None:
    """What was computed under a progress bar is shown again where that bar is no more."""
    show(page, cost_view="Sensitivity", cost_moves=view)
    assert not page.exception
    assert not problems(page)
    show(page, cost_view="Ways to pay")
    show(page, cost_view="Sensitivity", cost_moves=view)
    assert not page.exception
    assert not problems(page)


def test_the_address_keeps_how_it_is_paid() -> None:
    app = started(goto="cost", isl="3500", where="Cloud", cost_purchase="Spot")
    assert not app.exception
    assert app.session_state["cost_purchase"] == "spot"
    assert app.session_state["last_answer"].plan.cost.payment == "spot"  # Size and every export show this plan


def test_a_constant_of_ones_own_moves_the_cost_and_stays_out_of_the_address(page: AppTest) -> None:
    before = next(frame.value for frame in page.dataframe if "All costs (USD a month)" in frame.value)
    show(page, **{GIVEN: {"electricity_usd_per_kwh": 10.0}})
    after = next(frame.value for frame in page.dataframe if "All costs (USD a month)" in frame.value)
    assert after["All costs (USD a month)"][0] > 1.5 * before["All costs (USD a month)"][0]
    assert not any("electricity" in key for key in page.query_params)


def test_published_shares_stand_beside_what_is_left_out(page: AppTest) -> None:
    show(page, cost_view="Prices and constants", cost_without=["switches", "storage"])
    book = next(frame.value for frame in page.dataframe if "Published" in frame.value)
    by_constant = book.loc[["switches_percent", "storage_percent"]]
    assert list(by_constant["Value"]) == [0.0, 0.0]
    assert list(by_constant["Basis"]) == ["left out", "left out"]
    assert list(by_constant["Published"]) == ["5.6 (2025-11)", "2.6 (2025-11)"]
    assert page.query_params["cost_without"] == ["Switches", "Storage"]


def test_the_figures_come_first_and_say_what_they_count(page: AppTest) -> None:
    labels = [metric.label for metric in page.metric]
    assert labels[:2] == ["All costs a month", "Hardware and power only"]
    assert {"Per million output tokens", "Paid at once", "Cheaper than the API"} <= set(labels)
    hardware = page.metric[1].value
    show(page, cost_without=["support", "switches", "storage", "staff", "capital_charge"])
    assert not page.exception
    assert page.metric[0].label == "Hardware and power only, a month"
    assert page.metric[0].value == hardware
    assert any("Hardware and power only: own systems" in text.value.replace("\\", "") for text in page.markdown)


def test_payments_and_present_value(page: AppTest) -> None:
    show(page, cost_view="36 months", cost_counted="paid")
    assert not page.exception
    table = next(frame.value for frame in page.dataframe if "Present cost (USD)" in frame.value).set_index("Way")
    own = table.loc["Own systems"]
    assert own["Paid at once (USD)"] > own["Residual value (USD)"] > 0
    assert any("Tax is left out" in one.value for one in page.caption)


def test_an_api_that_was_chosen_stands_beside_the_cheapest_and_the_median(page: AppTest) -> None:
    offers = next(frame.value for frame in page.dataframe if "Provider" in frame.value)
    dearest = next(key for key, name in PROVIDERS.items() if name == offers["Provider"].iloc[-1])
    assert offers["Provider"].iloc[-1] in page.selectbox(key="cost_api").options
    show(page, cost_api=dearest)
    assert not page.exception
    ways = next(frame.value for frame in page.dataframe if "Way" in frame.value)
    assert {"API", "API, cheapest", "API, median"} <= set(ways["Way"])


def test_the_sentence_leads_from_the_hardware_of_size_to_all_costs(page: AppTest) -> None:
    """Two amounts a month stand on one page: the first is a part of the second, and each says what it counts."""
    texts = [text.value.replace("\\", "") for text in page.markdown]
    size = next(re.search(r"(\$[\d.,k]+) a month for the hardware alone", text) for text in texts if "alone" in text)
    sentence = next(text for text in texts if text.startswith("- Own systems"))
    assert size
    assert f"servers {size[1]}, " in sentence


def test_constants_that_cannot_be_are_said(page: AppTest) -> None:
    show(page, **{GIVEN: {"pue": 0.5}})
    assert not page.exception
    assert problems(page) == ["These constants cannot be: pue. Change them under Prices and constants."]


def test_charts_show_what_the_engine_says() -> None:
    answer = plan(SCENARIO, alternatives=0)
    money = cost(Answer(understand(SCENARIO), answer))
    rows = ways_table(money).set_index("Way")
    own = next(way for way in money.ways if way.name == "on_prem")
    assert rows.loc["Own systems", "All costs (USD a month)"] == pytest.approx(own.usd_per_month, rel=0.01)
    figure = build_ways(money)
    assert go.Figure(figure.to_dict()).to_plotly_json() == figure.to_plotly_json()  # raises for one it does not know
    drawn = sum(bar.x[list(bar.y).index("Own systems")] for bar in figure.data)
    assert drawn == pytest.approx(own.usd_per_month)
    counted = {"Everything provisioned", "The share in use", "At full load", "The next system"}
    assert set(units_table(money)["Counted"]) == counted


def test_thousands_are_grouped_in_tables_of_amounts(page: AppTest) -> None:
    (ways,) = [frame for frame in page.dataframe if "Way" in frame.value]
    assert json.loads(ways.proto.columns)["All costs (USD a month)"]["type_config"]["format"] == "localized"


def test_amounts_per_request_keep_their_digits_and_name_their_currency(page: AppTest) -> None:
    (frame,) = (table for table in page.table if "Counted" in table.value)
    amounts = [name for name in frame.value if name != "Counted"]
    assert all(name.startswith("USD per ") for name in amounts)
    assert [as_number(amount, digits=3) for amount in (0.0012345, 1.2, 12_345.6, None)] == [
        "0.00123",
        "1.2",
        "12,300",
        "",
    ]


def test_ticks_of_a_logarithmic_axis_are_written_in_full() -> None:
    assert spread_out([100.0, 90_000.0]) == {"type": "log", "dtick": "D2", "tickformat": ",.3~r"}
    assert spread_out([100.0, 200.0])["type"] == "linear"
    short = short_ticks([2_900.0, 430_000.0])
    assert short["ticktext"][:6] == ["1k", "2k", "5k", "10k", "20k", "50k"]
    assert short["tickvals"][3] == 10_000
    assert short_ticks([100.0, 200.0])["type"] == "linear"


def test_a_way_without_a_cost_speaks_of_the_page_and_the_terminal_of_the_file() -> None:
    answer = cost(Answer.of(SCENARIO, analytic_plan))
    table = ways_table(answer)
    (why,) = table["What"][table["Way"] == "Hybrid"]
    assert why == "It needs the load over the day: enter a load by hour or a trace on Size"
    assert "enter a load by hour or a trace on Size (workload.arrivals)" in as_text(answer)


def test_a_way_without_a_cost_says_why_where_it_is_seen() -> None:
    rows = ways_table(cost(Answer(understand(SCENARIO), plan(SCENARIO, alternatives=0)))).set_index("Way")
    assert rows.loc["Hybrid", "What"].startswith("It needs the load over the day")


def test_sources_are_called_as_people_call_them() -> None:
    money = cost(Answer(understand(SCENARIO), plan(SCENARIO, alternatives=0)))
    table = sources_table(money.sources)
    assert {"electricity", "power usage effectiveness"} <= set(table["What"])
    assert not [name for name in table["What"] if "_per_" in name]
    assert set(table["Age"]) <= set(AGES.values())


def test_cells_of_two_inputs_fit_a_phone() -> None:
    drawn = two_inputs(SCENARIO, "workload.peak_rps", "workload.output_tokens", Answers(analytic_plan))
    figure = build_two_inputs(drawn)
    assert max(len(text) for row in figure.data[0].text for text in row) <= len("12.3k")
    assert figure.layout.xaxis.title.text == "Peak load (requests/s)"
    assert "requests" not in "".join(figure.data[0].x)


def test_curves_meet_the_answer_at_the_planned_load() -> None:
    answer = plan(SCENARIO, alternatives=0)
    ways, money = ways_of(Answer(understand(SCENARIO), answer)), cost(Answer(understand(SCENARIO), answer))
    curve = over_load(ways)
    at = int(abs(curve.requests_per_day - curve.planned).argmin())
    for way in money.ways:
        if way.usd_per_month is not None and way.name in curve.usd_per_month:
            assert curve.usd_per_month[way.name][at] == pytest.approx(way.usd_per_month)
    assert all((values[1:] >= values[:-1] - 1e-6).all() for values in curve.usd_per_month.values())
    figure = build_over_load(curve, money)
    assert len(figure.data) >= len(curve.usd_per_month)


def test_months_are_those_of_the_answer() -> None:
    answer = plan(SCENARIO, alternatives=0)
    months = over_months(ways_of(Answer(understand(SCENARIO), answer)))
    assert months["on_prem"] == cost(Answer(understand(SCENARIO), answer)).cash
    assert months["on_prem"][-1] > months["on_prem"][0]
    assert len(months_table(months)) == 36


def test_a_price_of_ones_own_moves_the_break_even_and_reset_brings_it_back(page: AppTest) -> None:
    show(page, cost_view="Break-even", **RENTED_TOO)
    before = break_even(page)
    show(page, **{GIVEN: {"electricity_usd_per_kwh": 2.0}})
    assert break_even(page) != before
    show(page, cost_view="Prices and constants")
    page.button(key="cost_book_reset").click().run()
    show(page, cost_view="Break-even")
    assert break_even(page) == before


def test_a_negotiated_price_moves_the_break_even(page: AppTest) -> None:
    show(page, cost_view="Break-even", **RENTED_TOO)
    before = break_even(page)
    bought = str(page.session_state["last_answer"].plan.deployment.system)
    show(page, **{PRICE_BOOK: {"negotiated": {"systems": [{"system": bought, "usd": 30_000.0}]}}})
    assert not problems(page)
    assert break_even(page) != before
    show(page, cost_view="Prices and constants", cost_price_list="negotiated")
    assert not page.exception
    page.button(key="price_book_reset").click().run()
    show(page, cost_view="Break-even")
    assert break_even(page) == before


def test_the_break_even_moves_with_how_busy_instances_may_be(page: AppTest) -> None:
    show(page, cost_view="Break-even", **RENTED_TOO)
    before = break_even(page)
    show(page, util="50")
    assert not problems(page)
    assert break_even(page) != before


def test_an_old_price_of_the_book_is_flagged(page: AppTest) -> None:
    bought = str(page.session_state["last_answer"].plan.deployment.system)
    old = {"system": bought, "usd": 1_000.0, "source": "Quote 7", "date": "2025-01-01"}
    show(page, cost_view="Prices and constants", **{PRICE_BOOK: {"listed": {"systems": [old]}}})
    assert any("(2025-01-01)" in one.value.replace("\\", "") for one in page.warning)


def break_even(app: AppTest) -> str:
    """The sentence on the break-even tab."""
    return next(m.value for m in app.markdown if "Owning" in m.value)


def test_parts_of_a_file_add_up_to_the_cent() -> None:
    rows = ways_table(cost(Answer(understand(SCENARIO), plan(SCENARIO, alternatives=0))), cents=True)
    for _, row in rows[rows["All costs (USD a month)"].notna()].iterrows():
        parts = [row[name] for name in rows if name.endswith("(USD)") and row[name] == row[name]]
        assert sum(parts) == pytest.approx(row["All costs (USD a month)"], abs=0.005 * (len(parts) + 1))


PAGE_PX = 1070
"""What is left for a table beside the navigation in a window of 1440 pixels, as measured."""


def test_the_tables_of_ways_fit_beside_the_navigation(page: AppTest) -> None:
    (ways,) = [frame for frame in page.dataframe if "Way" in frame.value and "What" in frame.value]
    columns = json.loads(ways.proto.columns)
    assert set(ways.value) <= set(columns)
    assert sum(columns[name]["width"] for name in ways.value) <= PAGE_PX
    assert all(ways.value[name].notna().any() for name in ways.value)
    (parts,) = [frame for frame in page.dataframe if "USD a month" in frame.value and "API" in frame.value]
    assert list(parts.value["USD a month"])[-1] == "All parts"
    for name in set(parts.value) - {"USD a month"}:
        *each, together = parts.value[name]
        assert sum(one for one in each if one == one) == pytest.approx(together, rel=0.01)
    (offers,) = [frame for frame in page.dataframe if "Provider" in frame.value]
    assert [name for name in offers.value if "million" in name] == [
        f"{what} (USD per million)" for what in ("Input", "Cached input", "Output")
    ]
