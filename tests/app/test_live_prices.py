"""Live prices on Cost, and what a running deployment costs beside its plan."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from collectors.prices import offers
from collectors.prices.offers import Offer
from reality.money import PlannedCost, usd_per_million_output_tokens
from sizing import Scenario
from sizing.base.format import usd
from sizing.planning.analytic import analytic_plan
from tests.app.conftest import Clock, started
from tests.app.live import open_live, said, settled, source_file, vllm
from tests.app.pages_text import problems
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed, steady
from tests.collectors.questions.test_serving_cost import gauges, read
from tests.collectors.reading.test_alerts import observed
from tests.collectors.servers import serving
from ui.cost.live_prices import NOBODY, WHY, names_of
from ui.live.serving_cost import cost_table, cost_text, notes, planned_usd_per_gpu_hour
from ui.sources.reading import Registry
from ui.state import PRICE_BOOK

PLAN = PlannedCost(usd_per_hour=10.0, usd_per_million_tokens=2.5, api="m at here", api_usd_per_million_tokens=1.5)


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.button(key="open_chatbot").click().run()
    app.switch_page("pages/cost.py").run()
    app.session_state["cost_view"] = "Prices and constants"
    return app.run()


def test_names_are_those_that_providers_use() -> None:
    assert "H100" in names_of("h100_sxm")
    assert "MI300X" in names_of("mi300x")
    assert names_of("own accelerator") == ()


def test_offers_are_shown_with_what_failed(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        if provider == "oci":
            raise ConnectionError
        gpu = names[0]
        return [Offer(provider=provider, instance="i", region="r", gpu=gpu, gpus=2, usd_per_hour=5.0, spot=False)]

    monkeypatch.setattr(offers, "fetch", fetch)
    page.button(key="live_prices_now").click().run()
    assert not page.exception
    rows = next(frame.value for frame in page.dataframe if "Provider" in frame.value)
    assert set(rows["USD per GPU-hour"]) == {2.5}
    assert len(rows) == len(offers.PROVIDERS) - 1
    assert any("Without oci (offline)" in one.value.replace("\\", "") for one in page.caption)


SOURCES = ["What", "Source", "Date", "Age"]


def test_an_offer_that_is_used_becomes_a_price_of_ones_own_with_its_source(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        price = 16.0 if provider == "verda" else 40.0
        return [
            Offer(
                provider=provider, instance="8x", region="FIN-01", gpu=names[0], gpus=8, usd_per_hour=price, spot=True
            )
        ]

    monkeypatch.setattr(offers, "fetch", fetch)
    page.button(key="live_prices_now").click().run()
    page.button(key="live_offer_use").click().run()
    assert not page.exception
    assert not problems(page)
    gpu = last_gpu(page)
    (price,) = page.session_state[PRICE_BOOK]["listed"]["gpu_hours"]
    assert (price["gpu"], price["usd"], price["gpus"]) == (gpu, 2.0, 8)
    assert (price["provider"], price["region"]) == ("verda", "FIN-01")
    assert page.session_state["cost_purchase"] == "spot"
    sources = next(frame.value for frame in page.table if [*frame.value] == SOURCES)
    row = sources[sources["Source"].str.contains("gpuhunt")].iloc[0]
    assert row["Source"].startswith("verda 8x in FIN-01, spot, looked up through gpuhunt (20")
    assert row["Age"] == "stated in the scenario"
    assert not any("verda" in str(value) for value in page.query_params.values())


def last_gpu(app: AppTest) -> str:
    """The GPU of the plan on the page."""
    return str(app.session_state["last_answer"].plan.deployment.gpu)


def test_offline_is_said_in_one_sentence(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        raise ConnectionError

    monkeypatch.setattr(offers, "fetch", fetch)
    page.button(key="live_prices_now").click().run()
    assert not page.exception
    assert not problems(page)
    assert [one.value for one in page.info] == [WHY["offline"]]


def test_offers_stay_where_the_next_look_up_finds_nobody(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        return [Offer(provider=provider, instance="i", region="r", gpu=names[0], gpus=2, usd_per_hour=5.0, spot=False)]

    def blocked(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        raise ConnectionError

    def mixed(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        raise ConnectionError if provider == "oci" else ValueError

    monkeypatch.setattr(offers, "fetch", fetch)
    page.button(key="live_prices_now").click().run()
    for away, sentence in ((blocked, WHY["offline"]), (mixed, NOBODY)):
        monkeypatch.setattr(offers, "fetch", away)
        page.button(key="live_prices_now").click().run()
        assert not page.exception
        assert [one.value for one in page.info] == [sentence]
        rows = next(frame.value for frame in page.dataframe if "Provider" in frame.value)
        assert len(rows) == len(offers.PROVIDERS)
        assert any("the last time that providers answered, 20" in one.value for one in page.caption)
    page.button(key="live_offer_use").click().run()
    assert page.session_state[PRICE_BOOK]["listed"]["gpu_hours"][0]["usd"] == 2.5


def test_tokens_cost_what_their_gpus_cost() -> None:
    """4 GPUs at $3 an hour, 2,000 tokens/s: 12 / (2,000 x 3,600) x 10^6 = $1.6667."""
    busy = observed(gpus=4.0, generation_tokens_per_s=2000.0)
    assert usd_per_million_output_tokens(busy, 3.0) == pytest.approx(5 / 3)
    assert usd_per_million_output_tokens(observed(gpus=4.0, generation_tokens_per_s=0.0), 3.0) is None


def test_the_cost_now_stands_beside_the_plans() -> None:
    scenario = Scenario.model_validate(
        {
            "model": "meta-llama/Meta-Llama-3-8B-Instruct",
            "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10},
            "deployment": {"gpus": ["h100_sxm"]},
        }
    )
    plan = analytic_plan(scenario)
    seen = observed(gpus=4.0, generation_tokens_per_s=2000.0)
    own = cost_text(seen, plan, 3.0)
    assert own.startswith(
        "Cost per million output tokens now: $1.67, at your price of $3 per GPU-hour. Plan, by its own price: $"
    )
    price = planned_usd_per_gpu_hour(plan)
    same_load = usd(plan.cost.usd_per_hour / (2000.0 * 3600.0) * 1e6)
    assert f"{same_load} at this load. {usd(plan.cost.usd_per_million_output_tokens)} over its day." in own
    assert price * 730 * plan.deployment.gpus_bought == pytest.approx(plan.cost.hardware_usd_per_month)
    assert "at the plan's price of" in cost_text(seen, plan, None)
    assert cost_text(seen, None, None) == ""
    assert "nothing is generated" in cost_text(observed(gpus=4.0, generation_tokens_per_s=0.0), None, 3.0)


def test_live_refuses_a_price_that_is_none_and_keeps_the_last() -> None:
    app = started(goto="live")
    app.text_input(key="live_gpu_hour_usd").set_value("2.50").run()
    assert not problems(app)
    for text, why in (
        ("-1", "must be more than 0 and at most 1,000,000,000; -1 was entered. $2.50 stays."),
        ("0", "must be more than 0 and at most 1,000,000,000; 0 was entered. $2.50 stays."),
        ("free", ": “free” is not a number; enter a number, for example 2.50. $2.50 stays."),
        ("3,5", ": did you mean 3.5? “3,5” is not taken: a comma separates thousands here. $2.50 stays."),
    ):
        app.text_input(key="live_gpu_hour_usd").set_value(text).run()
        (problem,) = problems(app)
        assert problem.startswith("Price of a GPU-hour")
        assert problem.endswith(why)
        assert app.session_state["live_gpu_hour_usd_kept"] == 2.5


def test_every_figure_names_its_basis() -> None:
    rows = cost_table(read(gauges("org/m")), PLAN)
    assert list(rows["Basis"]) == ["Allocation", "Usage", "Allocation", "compare with allocation"]
    assert "Usage: what requests consumed." in notes(read(gauges("org/m")), PLAN)
    assert list(rows["USD per million tokens"]) == [2.0, 0.75, 2.5, 1.5]
    assert list(rows["USD per hour"].dropna()) == [8.0, 3.0, 10.0]
    assert rows["What"].iloc[-1] == "API: m at here"


def test_what_opencost_does_not_know_is_not_shown_as_free() -> None:
    costs = read(gauges("m", scale=0.0))
    assert cost_table(costs, None)["USD per hour"].isna().all()
    assert "OpenCost has no cost on the basis of allocation or usage" in notes(costs, None)


def test_live_shows_opencost_where_it_is_and_nothing_where_it_is_not(
    clock: Clock, sources_folder: Path, registry: Registry
) -> None:
    page = steady(*gauges("m").splitlines())
    feed = Feed({"a:8000": vllm(), "opencost:9003": page})
    with serving(FakePrometheus(feed, shift_s=clock.now_s - NOW)) as server:
        source_file(sources_folder, server.url, timeout_s=30)
        app = settled(open_live(registry), registry, until=lambda app: "by computing time" in said(app))
        table = next(frame.value for frame in app.dataframe if "Basis" in frame.value)
        assert list(table["USD per hour"]) == [8.0, 3.0]
    with serving(FakePrometheus(Feed({"a:8000": vllm()}), shift_s=clock.now_s - NOW)) as server:
        source_file(sources_folder, server.url, timeout_s=30)
        app = open_live(registry)
        assert not any("Basis" in frame.value for frame in app.dataframe)
