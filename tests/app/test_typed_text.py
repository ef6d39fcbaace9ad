"""What somebody types is text on every page: in the list of scenarios, in its dialogs, and wherever a name stands."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from sharing.author import owner
from sharing.library import Library
from sharing.library.records import Project, ScenarioDraft
from tests.app.conftest import OpenLink, scenario, with_every_field
from tests.inert import TYPED, planted

TEXT = " ".join(TYPED)
NAME = TEXT[:120]
KINDS = ("markdown", "caption", "title", "header", "subheader", "info", "warning", "error", "success", "metric")
LABELLED = (
    "button",
    "metric",
    "expander",
    "tab",
    "checkbox",
    "toggle",
    "radio",
    "button_group",
    "popover",
    "text_input",
)


def written(page: AppTest) -> Iterator[str]:
    """Every text of a page that Streamlit reads as Markdown."""
    for kind in KINDS:
        yield from (str(one.value) for one in page.get(kind))
    for kind in LABELLED:
        yield from (str(getattr(one, "label", "")) for one in page.get(kind))
    for kind in ("radio", "button_group"):
        yield from (str(option) for one in page.get(kind) for option in getattr(one, "options", ()))
    for table in page.table:
        yield from (str(cell) for cell in (*table.value.columns, *table.value.to_numpy().flat))


def inert(page: AppTest) -> str:
    """All of the texts, none of which holds anything live."""
    assert not page.exception
    texts = list(written(page))
    assert [text for text in texts if planted(text)] == []
    return " ".join(texts)


@pytest.fixture
def typed(library: Library) -> Library:
    """A library with such a scenario, edited by two people with such names."""
    project = Project(name=NAME, customer=NAME)
    for number in range(2):
        filed = ScenarioDraft(scenario=scenario(f"{number} {NAME}"), project=project, tags=[TYPED[0], TYPED[4][:40]])
        library.add(filed, by=owner(NAME))
    library.save(1, 1, ScenarioDraft(scenario=scenario(f"2 {NAME}")), by=owner(NAME))
    return library


def test_in_the_list_and_its_dialogs(typed: Library, app: AppTest) -> None:
    page = app.switch_page("pages/scenarios.py").run()
    assert "evil.example" in page.dataframe[0].value.to_csv(), "it is shown"
    inert(page)
    typed.delete(2, 1, by=owner(NAME))
    page.toggle(key="scenarios_deleted").set_value(True).run()
    inert(page)


@pytest.mark.parametrize("slug", ["size", "explore", "compare", "cost"])
def test_wherever_the_name_of_a_scenario_stands(typed: Library, app: AppTest, slug: str) -> None:
    size = with_every_field(app.switch_page("pages/size.py"))
    size.text_input(key="name").set_value(NAME).run()
    page = size if slug == "size" else size.switch_page(f"pages/{slug}.py").run()
    assert "evil.example" in inert(page), "it is shown"


def test_beside_each_other_on_compare(typed: Library, app: AppTest) -> None:
    page = app.switch_page("pages/scenarios.py").run()
    page.selectbox(key="scenarios_chosen").set_value(1).run()
    page.multiselect(key="scenarios_beside").set_value([2]).run()
    page.button(key="scenarios_compare").click().run()
    assert "evil.example" in inert(page), "it is shown"


def test_where_a_second_editor_chooses(library: Library, size: AppTest) -> None:
    size.button(key="save_new").click().run()
    library.save(1, 1, ScenarioDraft(scenario=scenario(NAME)), by=owner(NAME))
    size.text_input(key="rps").set_value("62").run()
    size.button(key="save_version").click().run()
    assert any("has saved version 2" in one.value for one in size.warning)
    assert "evil.example" in inert(size), "it is shown"


def test_where_a_model_is_not_known(open_link: OpenLink) -> None:
    assert "is no model we know" in inert(open_link(model=TYPED[0]))
