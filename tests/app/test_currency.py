"""Money in another currency: at a dated rate, written as in a country; own prices stay out of files."""

from datetime import date

import pytest
from streamlit.testing.v1 import AppTest

from sharing.document import to_yaml
from sharing.report.prices import at_list_prices, has_own_prices
from sizing import Scenario
from sizing.decision.outcome import NOTHING
from sizing.decision.tornado import Tornado, tornado
from sizing.economics.cost import cost
from sizing.economics.text import sentences
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from sizing.scenario.prices import Prices
from tests.app.pages_text import problems
from tests.sizing.decision.test_decision import Market, asked, tokens
from ui.cost.book import GIVEN
from ui.currency import DOLLARS, LOCALES, Currency, rates
from ui.figures.cost import build_ways, months_table, ways_table
from ui.shell.charts import CONFIG
from ui.shell.money import NO_FILES, WITHHELD
from ui.state import PRICE_BOOK

SCENARIO = Scenario.model_validate(
    {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10},
        "deployment": {"gpus": ["h100_sxm"]},
    }
)
ALL_COSTS = "All costs (EUR a month)"
EURO = Currency(code="EUR", per_usd=0.8, locale="de_DE")


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.button(key="open_chatbot").click().run()
    return app.switch_page("pages/cost.py").run()


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_cannot_be_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="An exchange rate is a number above 0"):
        Currency(code="EUR", per_usd=rate)


@pytest.mark.parametrize(
    ("locale", "amount", "text"),
    [
        ("de_DE", 9512.0, "9.510 €"),
        ("de_DE", 0.42, "0,42 €"),
        ("de_DE", 1_234_567.0, "1,23 Mio. €"),
        ("en_US", 9512.0, "€9,510"),
        ("fr_FR", 950.0, "950 €"),
        ("de_CH", 9512.0, "EUR 9'510"),
    ],
)
def test_amounts_are_written_as_in_the_country(locale: str, amount: float, text: str) -> None:
    written = Currency(code="EUR", per_usd=1.0, locale=locale).written(amount)
    # Releases of the country data differ in which apostrophe and which space they write.
    assert written.replace("\u00a0", " ").replace("\u202f", " ").replace("\u2019", "'") == text


def test_dollars_are_written_as_everywhere_else() -> None:
    assert DOLLARS.written(12345.6) == "$12.3k"
    assert DOLLARS.written(None) == "unknown"


def test_every_rate_is_dated_and_old_ones_are_known() -> None:
    assert rates()["USD"].per_usd == 1.0
    for rate in rates().values():
        assert rate.source
        assert not rate.is_old(rate.on)
        assert rate.is_old(date(rate.on.year + 1, rate.on.month, 1))


def test_a_cost_is_converted_in_every_part_and_nothing_else_is() -> None:
    plan = analytic_plan(SCENARIO)
    money = cost(Answer(understand(SCENARIO), plan))
    euros = EURO.converted(money)
    assert euros.usd_per_month == pytest.approx(0.8 * (money.usd_per_month or 0.0))
    assert sum(euros.parts.values()) == pytest.approx(euros.usd_per_month)
    assert sum(euros.cash) == pytest.approx(0.8 * sum(money.cash))
    lens, own = euros.lenses[0].per_unit, money.lenses[0].per_unit
    assert lens.usd_per_request == pytest.approx(0.8 * own.usd_per_request)
    assert (euros.gpus, euros.requests_per_day, euros.break_even) == (
        money.gpus,
        money.requests_per_day,
        money.break_even,
    )
    assert [way.energy_kwh_per_month for way in euros.ways] == [way.energy_kwh_per_month for way in money.ways]
    assert DOLLARS.converted(money) is money
    text = sentences(euros, EURO.written)
    assert "€" in text
    assert "$" not in text


def test_a_tornado_keeps_the_values_of_its_inputs() -> None:
    drawn = tornado(asked(), Market(tokens))
    euros: Tornado = EURO.converted(drawn)
    assert euros.base.usd_per_month == pytest.approx(0.8 * 11_000)
    assert [(bar.key, bar.low, bar.high) for bar in euros.bars] == [(bar.key, bar.low, bar.high) for bar in drawn.bars]
    assert EURO.converted(NOTHING) == NOTHING


def test_tables_and_charts_name_the_currency() -> None:
    money = EURO.converted(cost(Answer.of(SCENARIO, analytic_plan)))
    assert ALL_COSTS in ways_table(money, EURO)
    assert not [name for name in ways_table(money, EURO) if "USD" in name]
    assert list(months_table({"on_prem": [1.0]}, EURO)) == ["Month", "Own systems (EUR)"]
    figure = build_ways(money, currency=EURO)
    assert figure.layout.xaxis.title.text == ALL_COSTS
    assert figure.layout.separators == ",."


def test_the_cost_page_shows_another_currency_and_refuses_a_rate_of_zero(page: AppTest) -> None:
    page.selectbox(key="currency").set_value("EUR").run()
    page.selectbox(key="number_locale").set_value("de_DE").run()
    assert not page.exception
    before = next(frame.value for frame in page.dataframe if ALL_COSTS in frame.value)
    assert any("ECB" in one.value or "European Central Bank" in one.value for one in page.caption)
    page.text_input(key="rate_EUR").set_value("2,0").run()
    doubled = next(frame.value for frame in page.dataframe if ALL_COSTS in frame.value)
    assert doubled[ALL_COSTS][0] == pytest.approx(2 / rates()["EUR"].per_usd * before[ALL_COSTS][0], rel=0.02)
    for text in ("0", "-1", "much"):
        page.text_input(key="rate_EUR").set_value(text).run()
        assert problems(page) == ["An exchange rate is a number above 0: the last one, 2, stays."]
        kept = next(frame.value for frame in page.dataframe if ALL_COSTS in frame.value)
        assert kept[ALL_COSTS][0] == doubled[ALL_COSTS][0]


@pytest.mark.parametrize("locale", LOCALES)
def test_every_way_of_writing_numbers_draws_every_tab(page: AppTest, locale: str) -> None:
    page.session_state["currency"], page.session_state["number_locale"] = "CHF", locale
    for tab in ("36 months", "Break-even"):
        page.session_state["cost_view"] = tab
        page.run()
        assert not page.exception


def csv_buttons(app: AppTest) -> list[str]:
    return [one.label for one in app.get("download_button")]


def test_a_typed_constant_keeps_tables_out_of_files_until_asked(page: AppTest) -> None:
    assert csv_buttons(page) == ["CSV: Ways to pay"]
    page.session_state[GIVEN] = {"electricity_usd_per_kwh": 0.01}
    page.run()
    assert csv_buttons(page) == []
    assert any("at list prices" in one.value for one in page.info)
    page.toggle(key="downloads_with_own_prices").set_value(True).run()
    assert csv_buttons(page) == ["CSV: Ways to pay"]
    page.switch_page("pages/size.py").run()
    assert not page.exception


def test_files_of_a_scenario_with_prices_of_ones_own_are_at_list_prices() -> None:
    own = SCENARIO.model_copy(
        update={"prices": SCENARIO.prices.model_copy(update={"system": "dgx_h100", "system_usd": 100_000.0})}
    )
    assert has_own_prices(own)
    assert not has_own_prices(at_list_prices(own))
    assert at_list_prices(own) == SCENARIO


def test_a_price_book_is_in_a_file_without_its_negotiated_prices() -> None:
    lists = {name: {"systems": [{"system": "dgx_h100", "usd": 1e5}]} for name in ("listed", "negotiated")}
    own = SCENARIO.model_copy(update={"prices": Prices.model_validate(lists)})
    assert has_own_prices(own)
    listed = at_list_prices(own)
    assert not has_own_prices(listed)
    assert listed.prices.listed == own.prices.listed
    assert "negotiated" not in to_yaml(listed)


@pytest.mark.parametrize("path", ["pages/size.py", "pages/explore.py", "pages/compare.py", "pages/cost.py"])
def test_no_page_gives_a_negotiated_price_away_by_the_buttons_of_tables_and_charts(app: AppTest, path: str) -> None:
    app.session_state[PRICE_BOOK] = {"negotiated": {"systems": [{"system": "dgx_h100", "usd": 1e5}]}}
    app.button(key="open_chatbot").click().run()
    app.switch_page(path).run()
    assert not app.exception
    assert app.session_state[WITHHELD]
    assert not any(label.startswith("CSV: ") and "Price book" not in label for label in csv_buttons(app))
    assert NO_FILES in [one.proto.body for one in app.get("html")]
    assert not any("1e5" in str(value) or "negotiated" in key for key, value in app.query_params.items())


def test_a_chart_keeps_its_button_for_a_picture() -> None:
    removed = CONFIG.get("modeBarButtonsToRemove", [])
    assert isinstance(removed, list)
    assert "toImage" not in removed
    assert CONFIG.get("displayModeBar", True) is not False
