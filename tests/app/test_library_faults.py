"""A library that is read-only, full or goes away in the middle of a save: the draft stays, and is saved later."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from streamlit.testing.v1 import AppTest

from sharing.author import owner
from sharing.errors import DatabaseFault
from sharing.library import Library, open_library
from tests.app.pages_text import problems
from ui.database import library as shared_library

PAGE = "pages/scenarios.py"
Break = Callable[[Library], Callable[[], None]]


def on_every_connection(library: Library, pragma: str) -> Callable[[], None]:
    """From now on connections start with this; returns what ends it."""

    def prepared(connection: object, _record: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    engine = library.database.engine
    event.listen(engine, "connect", prepared)
    engine.dispose()

    def mended() -> None:
        event.remove(engine, "connect", prepared)
        engine.dispose()

    return mended


def read_only(library: Library) -> Callable[[], None]:
    return on_every_connection(library, "query_only=ON")


def full(library: Library) -> Callable[[], None]:
    with library.database.reading() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar()
    return on_every_connection(library, f"max_page_count={pages}")


def away_in_the_middle(library: Library) -> Callable[[], None]:
    """The version is written, and then the answer to the commit never comes."""
    engine = library.database.engine

    def lost(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO versions"):
            raise OperationalError(statement, {}, Exception("gone"))

    event.listen(engine, "before_cursor_execute", lost)
    return lambda: event.remove(engine, "before_cursor_execute", lost)


@pytest.fixture
def library(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """The library as the pages of this process use it."""
    monkeypatch.setenv("SHARING_DATABASE", f"{tmp_path}/library.sqlite")
    library = shared_library()
    yield library
    library.close()


@pytest.mark.parametrize(
    ("broken", "fault"),
    [(read_only, DatabaseFault.READ_ONLY), (full, DatabaseFault.FULL), (away_in_the_middle, DatabaseFault.UNREACHABLE)],
)
def test_a_draft_is_kept_and_saved_later(library: Library, size: AppTest, broken: Break, fault: DatabaseFault) -> None:
    size.text_input(key="rps").set_value("62").run()
    mend = broken(library)
    try:
        size.button(key="save_new").click().run()
        size.button(key="save_new").click().run()
    finally:
        mend()
    assert not size.exception
    assert fault.value in problems(size)[0]
    assert "your inputs stay in this session" in problems(size)[0]
    assert library.search().total == 0
    size.text_input(key="rps").set_value("7").run()  # the form goes on; the draft does not
    page = size.switch_page(PAGE).run()
    waiting = [one for one in page.button if one.label == "Save now"]
    assert len(waiting) == 1
    waiting[0].click().run()
    assert not page.exception
    assert library.version(1).scenario().workload.peak_rps == 62.0
    assert not [one for one in page.button if one.label == "Save now"]


def test_a_library_that_stays_away_says_so_again(
    library: Library, size: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARING_DATABASE", "postgresql://nobody@127.0.0.1:1/none")
    size.button(key="save_new").click().run()
    page = size.switch_page(PAGE).run()
    next(one for one in page.button if one.label == "Save now").click().run()
    assert all("is not available" in problem for problem in problems(page))
    next(one for one in page.button if one.label == "Discard").click().run()
    assert not page.exception
    assert not [one for one in page.button if one.label in ("Save now", "Discard")]


def test_the_version_it_was_made_from_is_not_the_latest_any_more(library: Library, size: AppTest) -> None:
    size.button(key="save_new").click().run()
    mend = read_only(library)
    size.text_input(key="rps").set_value("62").run()
    size.button(key="save_version").click().run()
    mend()
    other = open_library()
    other.save(1, 1, other.version(1).draft(), by=owner("bob"))
    other.close()
    page = size.switch_page(PAGE).run()
    next(one for one in page.button if one.label == "Save now").click().run()
    assert not page.exception
    assert library.entry(1).version == 2
    assert library.version(2).scenario().workload.peak_rps == 62.0
