"""What is removed for good is gone from both databases: history, tags, customer, reports behind links."""

from pathlib import Path

import pytest
from sqlalchemy import select

from sharing.author import owner
from sharing.errors import LinkRefusal, LinkRefused, NotInLibrary, StillInUse
from sharing.library.database import migrate
from sharing.library.records import Project, ScenarioQuery
from sharing.library.schema import METADATA
from sharing.links import Holder, Links
from sharing.links.records import Terms
from tests.sharing.test_library import ACME, draft
from tests.sharing.test_links import ANN, report

SECRET = "Quicksilver"


@pytest.fixture
def links(library):
    """Scenario 1 is of a customer, named, tagged and shared; scenario 2 is of another project."""
    one = draft(SECRET, project=Project(name=f"{SECRET} chat", customer=f"{SECRET} Inc"), tags=[SECRET])
    library.add(one, by=owner(SECRET))
    library.save(1, 1, draft(f"{SECRET} again", rate=62.0, project=ACME), by=owner(SECRET))
    library.add(draft("another", project=ACME), by=owner("ann"))
    return Links(library)


def contents(library) -> str:
    with library.database.reading() as connection:
        return "\n".join(str(row) for table in METADATA.sorted_tables for row in connection.execute(select(table)))


def removed(library, number=1):
    library.delete(number, library.entry(number).version, by=owner("ann"))
    return library.purge(number, by=owner("ann"))


def test_nothing_is_left_of_it(library, links):
    links.make(1, 2, report(SECRET), Terms(password="correct horse"), by=ANN)
    assert SECRET in contents(library)
    gone = removed(library)
    assert (gone.versions, gone.links) == (3, 1)
    assert SECRET not in contents(library)
    for look in (library.history, library.version, library.entry):
        with pytest.raises(NotInLibrary):
            look(1)
    assert library.search(ScenarioQuery(deleted=True)).total == 0
    assert library.search(ScenarioQuery(text=SECRET)).total == 0
    assert [total.project for total in library.totals()] == [ACME]
    assert library.history(2)[0].project == ACME


def test_an_sqlite_file_holds_nothing_of_it_either(library, links, place):
    links.make(1, 2, report(SECRET), Terms(), by=ANN)
    if library.database.is_file:
        files = [Path(place), Path(f"{place}-wal")]
        assert any(SECRET.encode() in file.read_bytes() for file in files)
        removed(library)
        assert not any(SECRET.encode() in file.read_bytes() for file in files if file.exists())


def test_its_links_say_that_they_were_withdrawn(library, links):
    one, two = (links.make(1, 2, report(), Terms(), by=ANN) for _ in range(2))
    before = links.revoke(two.link.id, by=ANN)
    removed(library)
    for token in (one.token, two.token):
        with pytest.raises(LinkRefused, match="was withdrawn on") as error:
            Holder(library, token).show()
        assert error.value.refusal is LinkRefusal.REVOKED
    kept = {link.id: link for link in links.of_scenario(1, by=owner())}
    assert kept[two.link.id].revoked_at == before.revoked_at


def test_its_number_is_nobody_elses(library, links):
    """A session that still has it open would save on top of somebody else's scenario."""
    removed(library, 2)
    assert library.add(draft("new"), by=owner("ann")).scenario_id == 3
    with pytest.raises(NotInLibrary):
        library.save(2, 1, draft("mine"), by=owner("bob"))


def test_only_what_is_deleted(library, links):
    with pytest.raises(StillInUse, match="delete it first"):
        library.purge(1, by=owner("ann"))
    assert len(library.history(1)) == 2
    removed(library)
    with pytest.raises(NotInLibrary, match="has no scenario 1"):
        library.purge(1, by=owner("ann"))
    with pytest.raises(NotInLibrary):
        library.restore(1, 3, by=owner("ann"))
    migrate(library.database)
    assert library.search().total == 1
