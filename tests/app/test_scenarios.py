"""Scenarios and Save without a browser: kept, opened, deleted, restored; two editors; a database that is away."""

import pytest
from streamlit.testing.v1 import AppTest

from sharing.document import to_yaml
from sharing.library import Library, open_library
from sharing.library.records import Draft, Query
from sizing import Scenario
from tests.app.pages_text import problems
from tests.sizing.asking import raw

PAGE = "pages/scenarios.py"


@pytest.fixture
def library(tmp_path, monkeypatch) -> Library:
    monkeypatch.setenv("SHARING_DATABASE", str(tmp_path / "library.sqlite"))
    library = open_library()
    yield library
    library.close()


def scenario(name="kept", rate=7.0):
    return Scenario.model_validate({**raw(workload={"peak_rps": rate}), "name": name})


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


def test_the_second_editor_sees_both_and_chooses(library: Library, size: AppTest) -> None:
    save(size)
    library.save(1, 1, Draft(scenario=scenario("theirs")), author="bob")
    size.text_input(key="rps").set_value("62").run()
    save(size, "save_version")
    assert any("bob has saved version 2" in one.value for one in size.warning)
    assert library.entry(1).version == 2
    size.button(key="keep_mine").click().run()
    assert not size.exception
    assert library.version(1).scenario().workload.peak_rps == 62.0
    assert library.entry(1).version == 3


def test_deleted_restored_and_duplicated(library: Library, app: AppTest) -> None:
    library.add(Draft(scenario=scenario()), author="ann")
    page = app.switch_page(PAGE).run()
    page.button(key="scenario_delete").click().run()
    assert library.search().total == 0
    page.toggle(key="scenarios_deleted").set_value(True).run()
    page.button(key="scenario_restore").click().run()
    page.toggle(key="scenarios_deleted").set_value(False).run()
    page.button(key="scenario_copy").click().run()
    assert not page.exception
    assert {entry.name for entry in library.search(Query(text="kept")).entries} == {"kept", "kept (copy)"}


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
