"""Export without a browser: what a report is to show, the file that is built, and what cannot be built."""

import pytest
from streamlit.testing.v1 import AppTest

from sharing.formats import FORMATS
from sharing.report.content import Released
from tests.app.pages_text import problems
from ui.library.export import PRICES, Built, manifests_zip

QUICK = {"model": "meta-llama/Meta-Llama-3-8B-Instruct", "gpu": "H100 SXM5 80GB", "view": "Export"}


def opened(page: AppTest) -> AppTest:
    page.session_state["export"] = True
    return page.run()


def built(page: AppTest) -> Built:
    assert not page.exception
    result: Built = page.session_state["export_built"]
    return result


@pytest.mark.parametrize("suffix", [".html", pytest.param(".md", marks=pytest.mark.slow)])
def test_a_report_is_built_on_a_click_and_kept_for_the_download(size: AppTest, suffix: str) -> None:
    page = opened(size)
    page.text_input(key="export_customer").set_value("Acme").run()
    page.selectbox(key="export_format").set_value(suffix).run()
    page.button(key="export_build").click().run()
    file = built(page)
    assert file.name.endswith(suffix)
    assert b"Acme" in file.content
    assert [button.label for button in page.get("download_button") if "Download " in button.label]
    page.text_input(key="export_customer").set_value("Other").run()
    assert built(page).wanted.customer == "Acme"
    labels = [button.label for button in page.get("download_button")]
    assert not any(label.startswith("Download") for label in labels), "what was built is of other inputs"


def test_nothing_is_drawn_until_it_is_opened(size: AppTest) -> None:
    assert not [box for box in size.selectbox if box.key == "export_format"]


def test_every_format_is_offered(size: AppTest) -> None:
    box = opened(size).selectbox(key="export_format")
    assert box.options == [one.label for one in FORMATS.values()]


@pytest.mark.slow
def test_own_prices_are_offered_where_there_are_some_and_are_not_the_first_choice(size: AppTest) -> None:
    choice = opened(size).radio(key="export_prices")
    assert choice.options == [PRICES[Released.NOTHING], PRICES[Released.LIST_PRICES]]
    assert choice.value == Released.LIST_PRICES
    size.session_state["cost_book"] = {"staff_usd_per_month": 7654.0}
    choice = size.run().radio(key="export_prices")
    assert PRICES[Released.OWN_PRICES] in choice.options
    assert choice.value == Released.LIST_PRICES
    size.selectbox(key="export_format").set_value(".md").run()
    size.button(key="export_build").click().run()
    assert "7,654" not in built(size).content.decode()
    size.radio(key="export_prices").set_value(Released.OWN_PRICES).run()
    size.button(key="export_build").click().run()
    assert "7,65" in built(size).content.decode()


@pytest.mark.slow
def test_a_brand_that_cannot_be_read_is_a_sentence(size: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARING_BRAND", "nowhere.yaml")
    page = opened(size)
    page.button(key="export_build").click().run()
    assert not page.exception
    assert any("nowhere.yaml, which cannot be read" in problem for problem in problems(page))


def test_inputs_without_an_answer_are_not_exported(size: AppTest) -> None:
    size.text_input(key="rps").set_value("").run()
    page = opened(size)
    assert not page.exception
    assert any("no answer yet" in caption.value for caption in page.caption)
    assert not [button for button in page.button if button.key == "export_build"]


@pytest.mark.slow
def test_a_name_cannot_lead_to_another_folder(size: AppTest) -> None:
    size.text_input(key="name").set_value("../../etc/<b>passwd</b>").run()
    page = opened(size)
    page.selectbox(key="export_format").set_value(".md").run()
    page.button(key="export_build").click().run()
    assert built(page).name == "etc-b-passwd-b.md"


def buttons(app) -> list[str]:
    return [one.label for one in app.get("download_button")]


def test_an_answer_has_manifests_in_one_zip(open_link):
    app = open_link(**QUICK)
    assert not app.exception
    assert "Manifests (zip)" in buttons(app)
    made = manifests_zip(app.session_state["last_answer"])
    assert made[:2] == b"PK"


def test_an_answer_without_a_deployment_has_none(open_link):
    app = open_link(**QUICK | {"gpu": "L4", "model": "deepseek-ai/DeepSeek-V3"})
    assert not app.exception
    assert any("nothing" in one.value.lower() for one in (*app.error, *app.warning, *app.markdown))
    assert "Manifests (zip)" not in buttons(app)


def test_export_offers_them_on_every_page_of_a_scenario(open_link):
    app = open_link(**QUICK)
    app.session_state["export"] = True
    assert buttons(app.run()).count("Manifests (zip)") == 2  # in the popover, and in the tab of Size
    app.switch_page("pages/compare.py").run()
    app.session_state["export"] = True
    assert "Manifests (zip)" in buttons(app.run())
    assert not app.exception
