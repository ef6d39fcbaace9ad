"""What the library promises, in SQLite and in PostgreSQL alike."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text, update

from bench.library_writers import prepare, torment
from sharing.access.identity import login_of
from sharing.author import owner
from sharing.errors import InvalidEntry, NewerLibrary, NotInLibrary, UnreadableVersion
from sharing.library import database
from sharing.library.logins import end_login, ended_logins
from sharing.library.records import Conflict, LibraryAction, Project, ScenarioDraft, ScenarioQuery, StoredFigures
from sharing.library.schema import METADATA, REVISION, VERSIONS
from sizing import Scenario
from tests.sizing.asking import raw
from tests.sizing.random_scenarios import DEPLOYMENTS, LIMITS, MODELS

ACME = Project(name="Chat", customer="Acme")

CLAIMS = {"iss": "https://login.acme.com", "sub": "17", "iat": 1_790_000_000, "email": "ann@acme.com"}


def scenario(name="case", rate=31.0, **sections):
    return Scenario.model_validate({**raw(workload={"peak_rps": rate}, **sections), "name": name})


def draft(name="case", rate=31.0, **about):
    return ScenarioDraft(scenario=scenario(name, rate), **about)


def figures(gpus=8, usd=1000.0, kw=10.0):
    return StoredFigures(answer="yes", engine_version="0", gpus=gpus, usd_per_month=usd, power_kw=kw)


def names(listed):
    return [entry.name for entry in listed.entries]


def test_what_is_kept_comes_back(library, place, opened):
    kept = library.add(draft(project=ACME, tags=["Pilot ", "pilot", "EU"], figures=figures()), by=owner("ann"))
    again = opened(place).version(kept.scenario_id)
    assert again == kept
    assert again.scenario() == scenario()
    assert (again.number, again.author, again.action, again.project) == (1, "ann", LibraryAction.CREATED, ACME)
    assert (again.tags, again.figures) == (("eu", "pilot"), figures())
    entry = library.entry(kept.scenario_id)
    assert (entry.gpus, entry.usd_per_month, entry.power_kw, entry.tags) == (8, 1000.0, 10.0, ("eu", "pilot"))
    assert entry.updated_at == kept.at
    assert kept.at.utcoffset() == timedelta(0)


def test_history_has_who_when_and_what(library):
    first = library.add(draft(), by=owner("ann"))
    library.save(first.scenario_id, 1, draft(rate=62.0, project=ACME), by=owner("bob"))
    second, created = library.history(first.scenario_id)
    assert (second.number, second.author, second.action) == (2, "bob", LibraryAction.SAVED)
    assert second.at > created.at
    assert {(c.key, c.before, c.after) for c in second.changes} == {
        ("workload.peak_rps", "31 requests/s", "62 requests/s"),
        ("project", None, "Chat"),
        ("customer", None, "Acme"),
    }
    assert library.version(first.scenario_id, 1).scenario().workload.peak_rps == 31.0


def test_the_second_of_two_editors_sees_both_and_loses_nothing(library):
    first = library.add(draft(), by=owner("ann"))
    theirs = library.save(first.scenario_id, 1, draft(rate=62.0), by=owner("ann"))
    mine = draft("renamed", rate=99.0)
    conflict = library.save(first.scenario_id, 1, mine, by=owner("bob"))
    assert isinstance(conflict, Conflict)
    assert (conflict.mine, conflict.theirs, conflict.base) == (mine, theirs, first)
    assert {c.key for c in conflict.my_changes} == {"name", "workload.peak_rps"}
    assert {c.key for c in conflict.their_changes} == {"workload.peak_rps"}
    assert library.version(first.scenario_id) == theirs
    chosen = library.save(first.scenario_id, conflict.theirs.number, mine, by=owner("bob"))
    assert (chosen.number, chosen.scenario().name) == (3, "renamed")
    assert len(library.history(first.scenario_id)) == 3


def test_the_same_draft_saved_again_is_one_version(library):
    new, edit = draft(), draft(rate=62.0)
    first = library.add(new, by=owner("ann"))
    assert library.add(new, by=owner("ann")) == first
    second = library.save(first.scenario_id, 1, edit, by=owner("ann"))
    assert library.save(first.scenario_id, 1, edit, by=owner("ann")) == second
    assert library.save(first.scenario_id, 2, edit, by=owner("ann")) == second
    assert library.search().total == 1


def test_deleted_and_restored(library):
    first = library.add(draft(tags=["eu"]), by=owner("ann"))
    deleted = library.delete(first.scenario_id, 1, by=owner("bob"))
    assert library.delete(first.scenario_id, 1, by=owner("cat")) == deleted
    assert library.search().total == 0
    assert names(library.search(ScenarioQuery(deleted=True))) == ["case"]
    restored = library.restore(first.scenario_id, deleted.number, by=owner("ann"))
    assert restored.document == first.document
    assert restored.tags == ("eu",)
    assert names(library.search()) == ["case"]
    assert [v.action for v in library.history(first.scenario_id)] == [
        LibraryAction.RESTORED,
        LibraryAction.DELETED,
        LibraryAction.CREATED,
    ]


def test_what_somebody_edited_meanwhile_is_not_deleted(library):
    first = library.add(draft(), by=owner("ann"))
    library.save(first.scenario_id, 1, draft(rate=62.0), by=owner("ann"))
    assert isinstance(library.delete(first.scenario_id, 1, by=owner("bob")), Conflict)
    assert library.search().total == 1


def test_search_by_text_customer_project_tag_and_model(library):
    library.add(draft("Größe 100%", project=ACME, tags=["eu"]), by=owner("ann"))
    library.add(draft("other_case", project=Project(name="RAG", customer="Bolt")), by=owner("ann"))
    library.add(
        ScenarioDraft(scenario=Scenario.model_validate({**raw("openai/gpt-oss-120b"), "name": "third"})),
        by=owner("ann"),
    )
    assert names(library.search()) == ["third", "other_case", "Größe 100%"]
    for query, expected in [
        (ScenarioQuery(text="GRÖSSE acme"), ["Größe 100%"]),
        (ScenarioQuery(text="0%"), ["Größe 100%"]),
        (ScenarioQuery(text="r_c"), ["other_case"]),
        (ScenarioQuery(text="\\"), []),
        (ScenarioQuery(text="case acme"), []),
        (ScenarioQuery(customer="bolt"), ["other_case"]),
        (ScenarioQuery(project="chat"), ["Größe 100%"]),
        (ScenarioQuery(tag="EU"), ["Größe 100%"]),
        (ScenarioQuery(model="GPT-OSS"), ["third"]),
        (ScenarioQuery(text="'; drop table scenarios; --"), []),
    ]:
        assert names(library.search(query)) == expected, query
    page = library.search(ScenarioQuery(limit=1, offset=1))
    assert (names(page), page.total) == (["other_case"], 3)


def test_totals_of_a_project_count_what_has_no_figure(library):
    library.add(draft(project=ACME, figures=figures(8, 1000.0, 10.0)), by=owner("ann"))
    library.add(draft(project=ACME, figures=figures(4, None, 5.5)), by=owner("ann"))
    gone = library.add(draft(project=ACME, figures=figures()), by=owner("ann"))
    library.delete(gone.scenario_id, 1, by=owner("ann"))
    library.add(draft(project=Project(name="Chat", customer="Bolt")), by=owner("ann"))
    acme, bolt = library.totals()
    assert (acme.project, acme.scenarios, acme.gpus, acme.without_gpus) == (ACME, 2, 12, 0)
    assert (acme.usd_per_month, acme.without_usd, acme.power_kw) == (1000.0, 1, 15.5)
    assert (bolt.scenarios, bolt.gpus, bolt.without_gpus) == (1, 0, 1)


def test_a_copy_is_a_scenario_of_its_own(library):
    first = library.add(draft(project=ACME, tags=["eu"], figures=figures()), by=owner("ann"))
    copy = library.duplicate(first.scenario_id, name="copy", by=owner("bob"))
    assert (copy.scenario_id != first.scenario_id, copy.scenario().name, copy.tags) == (True, "copy", ("eu",))


def test_what_is_not_there(library):
    first = library.add(draft(), by=owner("ann"))
    with pytest.raises(NotInLibrary, match="no scenario 99"):
        library.version(99)
    with pytest.raises(NotInLibrary, match="no version 7 of scenario"):
        library.save(first.scenario_id, 7, draft(), by=owner("ann"))


@pytest.mark.parametrize("bad", [{"name": ""}, {"name": "a\nb"}, {"name": "x" * 121}, {"name": "a", "customer": "\0"}])
def test_a_project_that_cannot_be_kept(bad):
    with pytest.raises(InvalidEntry):
        Project(**bad)


def test_a_scenario_of_a_newer_version_is_listed_and_refused_with_a_sentence(library):
    first = library.add(draft(), by=owner("ann"))
    newer = '{"schema_version": 99, "name": "case", "invention": 1}'
    with library.database.writing() as connection:
        connection.execute(update(VERSIONS).values(document=newer, schema_version=99))
    assert names(library.search()) == ["case"]
    with pytest.raises(UnreadableVersion, match="schema_version 99 is newer than this engine knows"):
        library.version(first.scenario_id).scenario()


def test_the_migrations_lead_to_the_tables(library, place, opened):
    opened(place)  # opening a library again changes nothing
    with library.database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    assert ScriptDirectory(str(database.STEPS)).get_current_head() == REVISION


def test_a_library_of_a_newer_version_is_refused(library, place, opened):
    with library.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerLibrary, match="was written by a newer version"):
        opened(place)


def test_many_open_a_new_library_at_once(place, opened):
    with ThreadPoolExecutor(8) as pool:
        libraries = list(pool.map(lambda _: opened(place), range(8)))
    libraries[0].add(draft(), by=owner("ann"))
    assert [library.search().total for library in libraries] == [1] * 8


@pytest.mark.slow
def test_writers_that_are_killed_leave_no_half_version(place, tmp_path):
    prepare(place, scenarios=2)
    outcome = torment(place, tmp_path, writers=3, edits=60, kills=2)
    assert (outcome.lost, outcome.gaps, outcome.broken) == ((), (), ())
    assert outcome.confirmed >= 60
    assert outcome.kept >= outcome.confirmed


KILLED = """
import os, sys
from sharing.author import owner
from bench.library_writers import scenario
from sharing.library import open_library, writing
from sharing.library.records import ScenarioDraft
writing._append = lambda *_: os.kill(os.getpid(), 9)
open_library(sys.argv[1]).save(1, 1, ScenarioDraft(scenario=scenario(1, 2.0)), by=owner("x"))
"""


def test_a_writer_killed_in_the_middle_has_written_nothing(library, place):
    first = library.add(draft(), by=owner("ann"))
    assert subprocess.run([sys.executable, "-c", KILLED, place], check=False).returncode == -9
    assert library.history(first.scenario_id) == (first,)
    assert library.save(first.scenario_id, 1, draft(rate=2.0), by=owner("ann")).number == 2


NAMES = st.text(max_size=60)
SCENARIOS = st.builds(
    lambda name, model, limits, deployment: Scenario.model_validate(
        {**raw(model), "name": name, "limits": limits, "deployment": deployment}
    ),
    NAMES,
    MODELS,
    LIMITS,
    DEPLOYMENTS,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(given=SCENARIOS, word=st.text(max_size=20), tags=st.lists(st.text(max_size=10), max_size=3))
def test_any_scenario_comes_back_as_it_was(library, given, word, tags):
    try:
        one = ScenarioDraft(scenario=given, tags=tags)
    except InvalidEntry:
        one = ScenarioDraft(scenario=given)
    kept = library.add(one, by=owner("ann"))
    assert library.version(kept.scenario_id).scenario() == given
    library.search(ScenarioQuery(text=word, tag=word, model=word, customer=word))


def test_every_login_is_another_one() -> None:
    changes = ({}, {"iat": 1_790_000_001}, {"sub": "18"}, {"iss": "https://x"}, {"sid": 1})
    assert len({login_of({**CLAIMS, **change}) for change in changes}) == 5
    assert login_of(CLAIMS) == login_of(CLAIMS | {"email": "another@acme.com"})


def test_what_one_server_ends_another_knows(library, place, opened) -> None:
    until = library.now() + timedelta(hours=1)
    end_login(library, login_of(CLAIMS), until)
    end_login(library, login_of(CLAIMS), until)
    assert ended_logins(opened(place)) == {login_of(CLAIMS)}


def test_what_would_have_ended_by_now_is_forgotten(library) -> None:
    end_login(library, "a" * 64, library.now() + timedelta(seconds=5))
    library.now.now += timedelta(minutes=1)
    end_login(library, "b" * 64, library.now() + timedelta(hours=1))
    assert ended_logins(library) == {"b" * 64}
