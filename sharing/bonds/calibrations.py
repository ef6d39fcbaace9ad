"""Learned step times in the library: accepted for a scenario, the newest counts, and each can be undone."""

import json
from typing import Any

from sqlalchemy import Row, insert, select, update

from sharing.access import Actor, Right
from sharing.audit import Act, record
from sharing.bonds.records import Accepted, LearnedCalibration
from sharing.errors import NotInLibrary, StillInUse
from sharing.library.reading import version
from sharing.library.schema import CALIBRATIONS
from sharing.library.store import Library

_FACTORS = ("decode", "prefill", "front", "covariance")
_LATER = "sequence_covariance"
"""Beside the factors: what an older version reads of them stays as it knows it."""
_PLAIN = tuple(name for name in LearnedCalibration.__dataclass_fields__ if name not in (*_FACTORS, _LATER))
_NEWEST = CALIBRATIONS.c.id.desc()


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
