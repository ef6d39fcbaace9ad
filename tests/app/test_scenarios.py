"""Scenarios and Save without a browser: kept, opened, deleted, restored; two editors; a database that is away."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from sharing.author import owner
from sharing.document import to_yaml
from sharing.library import Library
from sharing.library.records import Project, ScenarioDraft, ScenarioQuery, StoredFigures
from sizing import ENGINE_VERSION, Scenario
from tests.app.conftest import scenario, started
from tests.app.pages_text import problems
from tests.sizing.asking import raw
from ui.currency import DOLLARS
from ui.format import as_markdown
from ui.scenarios import one
from ui.scenarios.one import history_table

PAGE = "pages/scenarios.py"
COST = StoredFigures(answer="yes", engine_version="0", gpus=8, usd_per_month=1000.0, power_kw=10.0)


def save(size: AppTest, button="save_new") -> AppTest:
    return size.button(key=button).click().run()


def test_saved_on_size_and_opened_again(library: Library, size: AppTest) -> None:
    size.text_input(key="save_customer").set_value("Acme").run()
    save(size)
    assert any("Saved as version 1 of scenario 1" in one.value for one in size.success)
    entry = library.entry(1)
    assert (entry.project.customer, entry.gpus > 0) == ("Acme", True)
    size.text_input(key="rps").set_value("62").run()
    save(size, "save_version")
    assert library.version(1).scenario().workload.peak_rps == 62.0
    page = size.switch_page(PAGE).run()
    assert not page.exception
    assert list(page.dataframe[0].value["Customer"]) == ["Acme"]
    page.selectbox(key="scenario_version").set_value(1).run()
    page.button(key="version_open").click().run()
    assert not page.exception
    assert page.text_input(key="rps").value != "62"
    assert page.text_input(key="save_customer").value == "Acme"
    save(page, "save_version")  # an old version is saved on top of the latest: nobody else has changed it
    latest = library.version(1)
    assert (latest.number, latest.scenario().workload.peak_rps != 62.0) == (3, True)


def test_a_version_is_offered_only_where_something_has_changed(library: Library, size: AppTest) -> None:
    def offered() -> bool:
        return any(one.key == "save_version" for one in size.button)

    save(size)
    assert not offered()
    for key, value in (("save_tags", "q3"), ("save_customer", "Acme"), ("rps", "62")):
        before = size.text_input(key=key).value
        size.text_input(key=key).set_value(value).run()
        assert offered(), key
        size.text_input(key=key).set_value(before).run()
        assert not offered(), key


def test_save_says_the_name_and_the_list_has_the_cost_of_the_answer(library: Library, size: AppTest) -> None:
    size.text_input(key="name").set_value("Internal RAG").run()
    assert [one.value for one in size.text_input if one.label == "Name"] == ["Internal RAG"]
    save(size)
    (metric,) = [one.value for one in size.metric if one.label == "Hardware per month"]
    page = size.switch_page(PAGE).run()
    (usd,) = page.dataframe[0].value["Hardware (USD/month)"]
    assert f"${usd:,.0f}" == metric


def test_the_second_editor_sees_both_and_chooses(library: Library, size: AppTest) -> None:
    save(size)
    library.save(1, 1, ScenarioDraft(scenario=scenario("theirs")), by=owner("bob"))
    size.text_input(key="rps").set_value("62").run()
    save(size, "save_version")
    assert any("bob has saved version 2" in one.value for one in size.warning)
    assert library.entry(1).version == 2
    size.button(key="keep_mine").click().run()
    assert not size.exception
    assert library.version(1).scenario().workload.peak_rps == 62.0
    assert library.entry(1).version == 3


def test_deleted_restored_and_duplicated(library: Library, app: AppTest) -> None:
    library.add(ScenarioDraft(scenario=scenario()), by=owner("ann"))
    page = app.switch_page(PAGE).run()
    page.button(key="scenario_delete").click().run()
    assert library.search().total == 0
    page.toggle(key="scenarios_deleted").set_value(True).run()
    page.button(key="scenario_restore").click().run()
    page.toggle(key="scenarios_deleted").set_value(False).run()
    page.button(key="scenario_copy").click().run()
    assert not page.exception
    assert {entry.name for entry in library.search(ScenarioQuery(text="kept")).entries} == {"kept", "kept (copy)"}


def test_removed_for_good_after_a_confirmation(library: Library, size: AppTest) -> None:
    save(size)
    another = library.add(ScenarioDraft(scenario=scenario("another")), by=owner("ann"))
    library.delete(another.scenario_id, 1, by=owner("ann"))
    page = size.switch_page(PAGE).run()
    assert "scenario_remove_1" not in {one.key for one in page.get("popover")}
    page.button(key="scenario_delete").click().run()
    page.toggle(key="scenarios_deleted").set_value(True).run()
    page.session_state["scenario_remove_1"] = True
    page.run()
    assert any("2 versions and 0 frozen links" in one.value for one in page.markdown)
    assert library.entry(1).version == 2
    page.button(key="scenario_purge_1").click().run()
    assert not page.exception
    assert [entry.name for entry in library.search(ScenarioQuery(deleted=True)).entries] == ["another"]
    assert not [one for one in page.button if (one.key or "").startswith("scenario_purge")]
    size = page.switch_page("pages/size.py").run()
    size.text_input(key="rps").set_value("62").run()
    save(size, "save_version")
    assert "somebody has removed it" in problems(size)[0]
    save(size)
    assert library.entry(3).version == 1


def test_a_database_that_is_away_keeps_the_draft(library: Library, size: AppTest, monkeypatch, tmp_path) -> None:
    place = str(tmp_path / "library.sqlite")
    monkeypatch.setenv("SHARING_DATABASE", "postgresql://nobody@127.0.0.1:1/none")
    save(size)
    assert "is not available" in problems(size)[0]
    assert "Not saved" in problems(size)[0]
    page = size.switch_page(PAGE).run()
    assert "is not available" in problems(page)[0]
    size = page.switch_page("pages/size.py").run()
    monkeypatch.setenv("SHARING_DATABASE", place)
    save(size)
    assert library.search().total == 1


def test_a_file_is_opened_in_size(library: Library, app: AppTest) -> None:
    app.switch_page(PAGE).run()
    app.session_state["scenarios_view"] = "Import"
    app.run()
    app.file_uploader(key="scenario_file").upload("a.yaml", to_yaml(scenario("from file")).encode()).run()
    app.button(key="open_file").click().run()
    assert not app.exception
    assert app.text_input(key="rps").value == "7"


def test_a_bad_file_is_refused(library: Library, app: AppTest) -> None:
    app.switch_page(PAGE).run()
    app.session_state["scenarios_view"] = "Import"
    app.run()
    app.file_uploader(key="scenario_file").upload("a.yaml", b"schema_version: 9\nmodel: a").run()
    assert "newer than this engine knows" in problems(app)[0]


def test_home_offers_what_was_saved_last(library: Library, app: AppTest) -> None:
    assert not [one for one in app.button if one.key.startswith("recent_")]
    for n in range(6):
        library.add(ScenarioDraft(scenario=scenario(f"case *{n}*", 5.0 + n)), by=owner("ann"))
    page = app.run()
    assert [one.key for one in page.button if one.key.startswith("recent_")] == [f"recent_{n}" for n in (6, 5, 4, 3)]
    page.button(key="recent_6").click().run()
    assert not page.exception
    assert page.text_input(key="rps").value == "10"
    assert page.session_state["kept_scenario"].scenario_id == 6


def test_scenarios_of_the_library_are_compared(library: Library, app: AppTest) -> None:
    for name, rate in (("first", 7.0), ("second", 14.0), ("third", 28.0)):
        library.add(ScenarioDraft(scenario=scenario(name, rate)), by=owner("ann"))
    page = app.switch_page(PAGE).run()
    assert page.button(key="scenarios_compare").disabled
    page.selectbox(key="scenarios_chosen").set_value(1).run()
    page.multiselect(key="scenarios_beside").set_value([2, 3]).run()
    page.button(key="scenarios_compare").click().run()
    assert not page.exception
    rows = next(frame.value for frame in page.table if "Answer" in frame.value)
    assert list(rows)[1:] == ["first", r"2\: second", r"3\: third"]
    assert page.query_params["beside"] == ["Scenario 2", "Scenario 3"]


def test_a_link_to_a_comparison_with_the_library(library: Library, app: AppTest) -> None:
    library.add(ScenarioDraft(scenario=scenario("kept")), by=owner("ann"))
    link = started(goto="compare", isl="3500", beside=["Scenario 1", "Scenario 99"])
    assert not link.exception
    assert link.multiselect(key="beside").value == ["library-1"]
    assert "The library has no scenario 99." in problems(link)


def test_files_of_a_kept_scenario_are_at_list_prices_until_asked(
    library: Library, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"negotiated": {"systems": [{"system": "dgx_h100", "usd": 123_456}]}}
    files: dict[str, str] = {}
    monkeypatch.setattr(one, "draw_download", lambda title, content, *more, **named: files.update({title: content()}))
    library.add(ScenarioDraft(scenario=Scenario.model_validate({**raw(prices=own), "name": "kept"})), by=owner("ann"))
    page = app.switch_page(PAGE).run()
    assert not page.exception
    assert set(files) == {"Export (YAML)", "Export (JSON)"}
    assert not any("123456" in text for text in files.values())
    page.toggle(key="downloads_with_own_prices").set_value(True).run()
    assert all("123456" in text for text in files.values())


def test_amounts_in_another_currency(library: Library, app: AppTest) -> None:
    library.add(ScenarioDraft(scenario=scenario(), project=Project(name="Chat"), figures=COST), by=owner("ann"))
    page = app.switch_page(PAGE).run()
    assert list(page.dataframe[0].value["Hardware (USD/month)"]) == [1000.0]
    page.selectbox(key="currency").set_value("EUR").run()
    page.text_input(key="rate_EUR").set_value("0.5").run()
    assert list(page.dataframe[0].value["Hardware (EUR/month)"]) == [500.0]
    page.session_state["scenarios_view"] = "Projects"
    page.run()
    assert list(page.dataframe[0].value["Hardware (EUR/month)"]) == [500.0]


def test_a_line_for_each_version(library: Library, app: AppTest) -> None:
    library.add(ScenarioDraft(scenario=scenario(), figures=COST), by=owner("ann"))
    library.save(1, 1, ScenarioDraft(scenario=scenario(rate=14.0), tags=["pilot"]), by=owner("bob"))
    library.save(1, 2, ScenarioDraft(scenario=scenario(rate=14.0), tags=["pilot"]), by=owner("bob"))
    library.delete(1, 3, by=owner("ann"))
    lines = history_table(library.history(1), DOLLARS)
    assert list(lines["What changed"]) == [
        "Deleted",
        "Saved without a change",
        'peak load: 7 requests/s → 14 requests/s; tags: none → ["pilot"]',
        "Created",
    ]
    assert list(lines["Who"]) == ["ann", "bob", "bob", "ann"]
    assert lines["GPUs"].tolist()[-1] == 8
    assert lines["Engine"].tolist() == ["", "", "", COST.engine_version]


@pytest.mark.parametrize(("then", "said"), [("0.1.0", True), (ENGINE_VERSION, False)])
def test_a_version_of_another_engine_says_so(library: Library, app: AppTest, then: str, said: bool) -> None:
    library.add(ScenarioDraft(scenario=scenario(), figures=replace(COST, engine_version=then)), by=owner("ann"))
    page = app.switch_page(PAGE).run()
    assert not page.exception
    captions = " ".join(one.value for one in page.caption)
    assert (as_markdown(f"Engine {then} answered then and engine {ENGINE_VERSION} answers now;") in captions) is said


@pytest.mark.slow
def test_a_customer_sees_the_report_without_prices_until_they_are_released(library: Library, app: AppTest) -> None:
    priced = Scenario.model_validate(
        {**scenario().model_dump(), "prices": {"system_usd": 123_457.0, "system": "hgx_h100_8"}}
    )
    library.add(ScenarioDraft(scenario=priced), by=owner("ann"))
    page = app.switch_page(PAGE).run()
    page.button(key="customer_on").click().run()
    assert not page.exception
    titles = [header.value for header in page.header]
    assert "Executive summary" in titles
    assert not {"What moves the answer", "Evidence and accuracy"} & set(titles)
    assert not page.sidebar.children
    assert "$" not in shown_text(page)
    page.selectbox(key="customer_prices").set_value("list prices").run()
    assert "$" in shown_text(page)
    assert "123,457" not in shown_text(page)
    page.button(key="customer_off").click().run()
    assert page.text_input(key="scenarios_text")


def shown_text(page: AppTest) -> str:
    kinds = (page.markdown, page.info, page.caption, page.metric)
    frames = "".join(frame.value.to_csv() for frame in page.dataframe)
    return frames + " ".join(str(one.value) for kind in kinds for one in kind).replace("\\", "")
