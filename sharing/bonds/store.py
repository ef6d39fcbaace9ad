"""Bonds, comparisons and learned step times in the library; each write is one transaction of somebody who may save."""

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from sharing.access import Actor, Right
from sharing.audit import Act, record
from sharing.bonds.records import Accepted, Bond, Finding, LearnedCalibration, SourcePlace, StoredFinding
from sharing.errors import NotInLibrary, StillInUse
from sharing.library.reading import version
from sharing.library.schema import BONDS, CALIBRATIONS, COMPARISONS, SCENARIOS
from sharing.library.store import Library
from sharing.library.writing import insert_of

MOST_KEPT = 1_000
"""Comparisons of one scenario, at most: six weeks of one an hour; the oldest go first, the last good one never."""
_FINDING = tuple(name for name in Finding.__dataclass_fields__ if name != "judged")

_FACTORS = ("decode", "prefill", "front", "covariance")
_LATER = "sequence_covariance"
"""Beside the factors: what an older version reads of them stays as it knows it."""
_PLAIN = tuple(name for name in LearnedCalibration.__dataclass_fields__ if name not in (*_FACTORS, _LATER))
_NEWEST = CALIBRATIONS.c.id.desc()


class Bonds:
    """What belongs to which source. Every method raises LibraryUnavailable, and then has written nothing."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def bind(self, scenario_id: int, place: SourcePlace, *, by: Actor) -> Bond:
        """Keep that the scenario runs there from now on, and nowhere else. Raises NotAllowed, NotInLibrary."""
        with self.library.writing(by, Right.SAVE) as (connection, signed):
            version(connection, scenario_id)
            row = {
                "source": place.source,
                "deployment": place.deployment,
                "made_by": signed.author,
                "made_at": signed.at,
            }
            add = insert_of(connection)(BONDS).values(scenario_id=scenario_id, **row)
            place_it = add.on_conflict_do_update(index_elements=["scenario_id"], set_=row)
            record(Act.BOUND, by, f"scenario {scenario_id}")
            return _bond(connection.execute(place_it.returning(*BONDS.c)).one())

    def of_scenario(self, scenario_id: int) -> Bond | None:
        """Where a scenario runs; None where nobody has said."""
        with self.library.database.reading() as connection:
            row = connection.execute(select(BONDS).where(BONDS.c.scenario_id == scenario_id)).one_or_none()
        return None if row is None else _bond(row)

    def by_source(self) -> dict[str, Bond]:
        """The scenario that was said last to run at each source, unless it is deleted."""
        there = select(BONDS).join(SCENARIOS).where(SCENARIOS.c.deleted_at.is_(None)).order_by(BONDS.c.made_at)
        with self.library.database.reading() as connection:
            return {row.source: _bond(row) for row in connection.execute(there)}

    def keep(self, scenario_id: int, finding: Finding, *, by: Actor) -> StoredFinding:
        """One more comparison of the scenario, and the oldest out. Raises NotAllowed, NotInLibrary."""
        with self.library.writing(by, Right.SAVE) as (connection, _):
            version(connection, scenario_id)
            row = {**{name: getattr(finding, name) for name in _FINDING}, "judged": int(finding.judged)}
            added = insert(COMPARISONS).values(scenario_id=scenario_id, **row).returning(*COMPARISONS.c)
            kept = _kept(connection.execute(added).one())
            _forget_oldest(connection, scenario_id)
            return kept

    def comparisons(self, scenario_id: int, limit: int = 100) -> tuple[StoredFinding, ...]:
        """The newest comparisons of a scenario, the newest first."""
        with self.library.database.reading() as connection:
            return _newest(connection, COMPARISONS.c.scenario_id == scenario_id, limit)

    def last_good(self, scenario_id: int) -> StoredFinding | None:
        """The newest comparison that judged something; None where none did."""
        with self.library.database.reading() as connection:
            return next(iter(_newest(connection, _good(scenario_id), 1)), None)


def _good(scenario_id: int) -> ColumnElement[bool]:
    return and_(COMPARISONS.c.scenario_id == scenario_id, COMPARISONS.c.judged == 1)


def _newest(connection: Connection, wanted: ColumnElement[bool], limit: int) -> tuple[StoredFinding, ...]:
    rows = connection.execute(select(COMPARISONS).where(wanted).order_by(COMPARISONS.c.id.desc()).limit(limit))
    return tuple(map(_kept, rows))


def _forget_oldest(connection: Connection, scenario_id: int) -> None:
    its = COMPARISONS.c.scenario_id == scenario_id
    ids = select(COMPARISONS.c.id).order_by(COMPARISONS.c.id.desc())
    oldest = connection.execute(ids.where(its).offset(MOST_KEPT - 1).limit(1)).scalar()
    if oldest is None:
        return
    good = connection.execute(ids.where(_good(scenario_id)).limit(1)).scalar()
    kept = () if good is None else (COMPARISONS.c.id != good,)
    connection.execute(delete(COMPARISONS).where(its, COMPARISONS.c.id < oldest, *kept))


def _bond(row: Row[Any]) -> Bond:
    place = SourcePlace(source=row.source, deployment=row.deployment)
    return Bond(scenario_id=row.scenario_id, place=place, made_by=row.made_by, made_at=row.made_at)


def _kept(row: Row[Any]) -> StoredFinding:
    finding = Finding(**{name: getattr(row, name) for name in _FINDING}, judged=bool(row.judged))
    return StoredFinding(id=row.id, scenario_id=row.scenario_id, finding=finding)


class Calibrations:
    """What was learned of which scenario. Every method raises LibraryUnavailable, and then has written nothing."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def accept(self, scenario_id: int, one: LearnedCalibration, *, by: Actor) -> Accepted:
        """From now on these step times count for the scenario. Raises NotAllowed, NotInLibrary, and StillInUse where
        those of the same windows count already."""
        with self.library.writing(by, Right.SAVE) as (connection, signed):
            version(connection, scenario_id)
            row = {name: getattr(one, name) for name in _PLAIN}
            row["factors"] = json.dumps({name: getattr(one, name) for name in _FACTORS})
            row[_LATER] = json.dumps(one.sequence_covariance)
            its = (CALIBRATIONS.c.scenario_id == scenario_id, CALIBRATIONS.c.undone_at.is_(None))
            newest = connection.execute(select(CALIBRATIONS).where(*its).order_by(_NEWEST).limit(1)).one_or_none()
            if newest is not None and _accepted(newest).calibration.until >= one.until:
                raise StillInUse("Step times of these windows are accepted already: undo them, or wait for new ones.")
            signature = {"accepted_by": signed.author, "accepted_at": signed.at}
            add = insert(CALIBRATIONS).values(scenario_id=scenario_id, **row, **signature)
            record(Act.CALIBRATED, by, f"scenario {scenario_id}")
            return _accepted(connection.execute(add.returning(*CALIBRATIONS.c)).one())

    def undo(self, scenario_id: int, *, by: Actor) -> Accepted:
        """The newest that counts does so no more; the one before it does again. Raises NotAllowed, NotInLibrary."""
        with self.library.writing(by, Right.SAVE) as (connection, signed):
            version(connection, scenario_id)
            its = (CALIBRATIONS.c.scenario_id == scenario_id, CALIBRATIONS.c.undone_at.is_(None))
            newest = connection.execute(select(CALIBRATIONS.c.id).where(*its).order_by(_NEWEST).limit(1)).scalar()
            if newest is None:
                raise NotInLibrary(f"Scenario {scenario_id} has no learned step times to undo.")
            undone = update(CALIBRATIONS).where(CALIBRATIONS.c.id == newest)
            undone = undone.values(undone_by=signed.author, undone_at=signed.at)
            record(Act.UNDONE, by, f"scenario {scenario_id}")
            return _accepted(connection.execute(undone.returning(*CALIBRATIONS.c)).one())

    def of_scenario(self, scenario_id: int) -> Accepted | None:
        """The step times that count for a scenario; None where nothing was accepted, or all of it undone."""
        return next((one for one in self.history(scenario_id) if one.undone_at is None), None)

    def history(self, scenario_id: int) -> tuple[Accepted, ...]:
        """Everything that was ever accepted for a scenario, the newest first. Raises NotInLibrary."""
        with self.library.database.reading() as connection:
            version(connection, scenario_id)
            wanted = select(CALIBRATIONS).where(CALIBRATIONS.c.scenario_id == scenario_id)
            return tuple(map(_accepted, connection.execute(wanted.order_by(_NEWEST))))


def _accepted(row: Row[Any]) -> Accepted:
    factors = json.loads(row.factors)
    factors["covariance"] = tuple(map(tuple, factors["covariance"]))
    factors[_LATER] = tuple(json.loads(row.sequence_covariance))
    return Accepted(
        id=row.id,
        scenario_id=row.scenario_id,
        calibration=LearnedCalibration(**{name: getattr(row, name) for name in _PLAIN}, **factors),
        accepted_by=row.accepted_by,
        accepted_at=row.accepted_at,
        undone_by=row.undone_by,
        undone_at=row.undone_at,
    )
