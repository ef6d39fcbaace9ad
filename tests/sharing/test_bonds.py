"""Bonds and comparisons keep what the library promises, in SQLite and in PostgreSQL alike."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text

from sharing.access import Actor, Role
from sharing.author import owner
from sharing.bonds import Bonds, Calibrations, store
from sharing.bonds.records import Finding, LearnedCalibration, SourcePlace
from sharing.errors import InvalidEntry, NotAllowed, NotInLibrary, StillInUse
from sharing.library.database import migrate
from sharing.library.schema import BONDS, CALIBRATIONS, COMPARISONS
from tests.sharing.test_library import draft

ANN = owner("ann")
AT = datetime(2026, 11, 26, 9, tzinfo=UTC)


def finding(hour=0, *, judged=True, answer="All as expected."):
    return Finding(
        source="live",
        at=AT + timedelta(hours=hour),
        state="ok" if judged else "unreachable",
        judged=judged,
        answer=answer,
        comparison='{"answer": "x"}',
    )


@pytest.fixture
def bonds(library):
    library.add(draft("one"), by=ANN)
    library.add(draft("two"), by=ANN)
    return Bonds(library)


def test_a_bond_is_kept_and_replaced(bonds):
    assert bonds.of_scenario(1) is None
    first = bonds.bind(1, SourcePlace(source="live", deployment="llama, prod"), by=ANN)
    assert bonds.of_scenario(1) == first
    assert (first.place.source, first.place.deployment, first.made_by) == ("live", "llama, prod", "ann")
    assert first.made_at.utcoffset() == timedelta(0)
    bonds.bind(1, SourcePlace(source="other"), by=owner("bob"))
    assert bonds.of_scenario(1).place == SourcePlace(source="other")
    assert bonds.of_scenario(2) is None


def test_each_source_has_the_scenario_said_last_unless_it_is_deleted(bonds):
    bonds.bind(1, SourcePlace(source="live"), by=ANN)
    bonds.bind(2, SourcePlace(source="live"), by=ANN)
    assert {source: bond.scenario_id for source, bond in bonds.by_source().items()} == {"live": 2}
    bonds.library.delete(2, 1, by=ANN)
    assert {source: bond.scenario_id for source, bond in bonds.by_source().items()} == {"live": 1}


def calibration(hour=0, **changed):
    given = {
        "source": "live",
        "basis": "a model on a GPU",
        "since": AT,
        "until": AT + timedelta(hours=hour),
        "window_s": 1800.0,
        "windows": 3,
        "decode": 1.35,
        "prefill": 1.1,
        "front": 0.9,
        "covariance": ((0.01, 0.0, 0.0), (0.0, 0.04, 0.0), (0.0, 0.0, 0.1)),
        "benchmark": "{}",
    }
    return LearnedCalibration(**{**given, **changed})


def test_accepted_step_times_count_until_they_are_undone(bonds):
    kept = Calibrations(bonds.library)
    assert (kept.of_scenario(1), kept.history(1)) == (None, ())
    first = kept.accept(1, calibration(), by=ANN)
    assert kept.of_scenario(1) == first
    assert (first.calibration, first.accepted_by, first.undone_at) == (calibration(), "ann", None)
    with pytest.raises(StillInUse):
        kept.accept(1, calibration(), by=ANN)
    second = kept.accept(1, calibration(1, decode=1.4), by=owner("bob"))
    assert kept.of_scenario(1) == second
    assert kept.of_scenario(2) is None
    undone = kept.undo(1, by=owner("eve"))
    assert (undone.id, undone.undone_by) == (second.id, "eve")
    assert kept.of_scenario(1) == first
    assert kept.history(1) == (undone, first)
    kept.undo(1, by=ANN)
    with pytest.raises(NotInLibrary, match="no learned step times"):
        kept.undo(1, by=ANN)
    viewer = Actor(name="eve", role=Role.VIEWER)
    for write in (lambda: kept.accept(1, calibration(2), by=viewer), lambda: kept.undo(1, by=viewer)):
        with pytest.raises(NotAllowed):
            write()


@pytest.mark.parametrize(
    "changed",
    [
        *(
            {"decode": 0.0},
            {"prefill": float("nan")},
            {"front": -1.0},
            {"covariance": ((1.0,),)},
            {"source": "x" * 999},
        ),
        *({"sequence_ms": -0.1}, {"sequence_ms": float("inf")}, {"sequence_covariance": (1.0,)}),
    ],
)
def test_step_times_that_cannot_be_are_refused(changed):
    with pytest.raises(InvalidEntry):
        calibration(**changed)


def test_a_number_that_no_database_holds_is_no_scenario(bonds):
    for number in (2**31, 10**30, -1):
        for ask in (bonds.library.version, bonds.library.history, bonds.library.entry):
            with pytest.raises(NotInLibrary):
                ask(number)


def test_findings_come_back_newest_first_and_the_last_good_one_is_known(bonds):
    kept = [bonds.keep(1, one, by=ANN) for one in (finding(0), finding(1), finding(2, judged=False))]
    assert bonds.comparisons(1) == tuple(reversed(kept))
    assert bonds.comparisons(1, limit=1) == (kept[2],)
    assert bonds.last_good(1) == kept[1]
    assert (bonds.comparisons(2), bonds.last_good(2)) == ((), None)
    assert kept[0].finding == finding(0)


def test_the_oldest_go_but_never_the_last_good_one(bonds, monkeypatch):
    monkeypatch.setattr(store, "MOST_KEPT", 3)
    bonds.keep(2, finding(), by=ANN)
    good = bonds.keep(1, finding(), by=ANN)
    for hour in range(1, 8):
        bonds.keep(1, finding(hour, judged=False), by=ANN)
    held = bonds.comparisons(1)
    assert [one.finding.at.hour for one in held] == [16, 15, 14, 9]
    assert bonds.last_good(1) == held[-1] == good
    assert len(bonds.comparisons(2)) == 1


def test_who_may_not_save_writes_nothing(bonds):
    viewer = Actor(name="eve", role=Role.VIEWER)
    for write in (
        lambda: bonds.bind(1, SourcePlace(source="live"), by=viewer),
        lambda: bonds.keep(1, finding(), by=viewer),
    ):
        with pytest.raises(NotAllowed):
            write()
    assert (bonds.of_scenario(1), bonds.comparisons(1)) == (None, ())


def test_what_cannot_be_kept_is_refused(bonds):
    for number in (9, 0):
        with pytest.raises(NotInLibrary):
            bonds.bind(number, SourcePlace(source="live"), by=ANN)
        with pytest.raises(NotInLibrary):
            bonds.keep(number, finding(), by=ANN)
    for name in ("", " ", "x" * 300, "a\x00b"):
        with pytest.raises(InvalidEntry):
            SourcePlace(source=name)


def test_nothing_is_left_after_a_removal_for_good(bonds):
    bonds.bind(1, SourcePlace(source="Quicksilver"), by=ANN)
    bonds.keep(1, finding(answer="Quicksilver"), by=ANN)
    Calibrations(bonds.library).accept(1, calibration(), by=ANN)
    bonds.library.delete(1, 1, by=ANN)
    bonds.library.purge(1, by=ANN)
    with bonds.library.database.reading() as connection:
        assert [row for table in (BONDS, COMPARISONS, CALIBRATIONS) for row in connection.execute(select(table))] == []


def test_several_watchers_at_once_lose_nothing(bonds):
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda hour: bonds.keep(1, finding(hour % 12), by=ANN), range(24)))
        list(pool.map(lambda i: bonds.bind(1, SourcePlace(source=f"s{i}"), by=ANN), range(12)))
    assert len(bonds.comparisons(1)) == 24
    assert bonds.of_scenario(1) is not None


def test_what_a_sequence_adds_is_kept_with_its_covariance(bonds):
    one = calibration(sequence_ms=0.42, sequence_covariance=(-0.01, 0.0, 0.02, 0.03))
    assert Calibrations(bonds.library).accept(1, one, by=ANN).calibration == one
    assert Calibrations(bonds.library).of_scenario(1).calibration == one


def test_a_library_without_bonds_opens(library, place, opened):
    first = library.add(draft(), by=ANN)
    with library.database.writing() as connection:
        for table in ("guesses", "ended_logins", "calibrations", "bonds", "comparisons"):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0002'"))
    migrate(library.database)
    again = opened(place)
    assert again.history(1) == (first,)
    assert Bonds(again).bind(1, SourcePlace(source="live"), by=ANN).scenario_id == 1
