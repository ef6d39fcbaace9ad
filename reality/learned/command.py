"""The commands ``python -m reality learn`` and ``learned``: step times from live windows, accepted and undone."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from commandline.arguments import whole
from commandline.run import Commands, aligned, as_json
from reality.chosen import ChosenScenario, opened
from reality.learned.words import added_in_words
from reality.step_times import milliseconds
from sharing.author import owner
from sharing.bonds import Calibrations
from sizing.base.format import percent

if TYPE_CHECKING:
    from reality.diagnosis.result import Diagnosis, Recalibration
    from sharing.bonds.records import Accepted

LARGEST_NUMBER = 1_000_000_000
HEAD = ("id", "decode", "prefill", "ms/sequence", "windows", "until (UTC)", "source", "accepted", "undone")


def add_commands(
    commands: Commands,
    *,
    add_arguments: Callable[[argparse.ArgumentParser, str], None],
    diagnosed: Callable[[argparse.Namespace], tuple[Diagnosis, ChosenScenario]],
) -> None:
    """``learn``, with the arguments and the diagnosis of ``diagnose``, and ``learned``."""
    learn = commands.add_parser("learn", help="step times that live windows teach; --accept keeps them")
    add_arguments(learn, "diagnosis")
    learn.add_argument("--accept", action="store_true", help="keep them for the scenario in the library")
    learn.add_argument("--author", default="", metavar="NAME", help="default: the user of this machine")
    learn.set_defaults(run=lambda given: _learn(given, diagnosed))
    listing = commands.add_parser("learned", help="step times accepted for a scenario; --undo the newest")
    listing.add_argument("scenario", type=whole(1, LARGEST_NUMBER), help="its number in the library")
    listing.add_argument("--undo", action="store_true", help="the newest counts no more, the one before it does again")
    listing.add_argument("--author", default="", metavar="NAME", help="default: the user of this machine")
    listing.add_argument("--library", metavar="PLACE", help="file, or postgresql://...; default: as python -m sharing")
    listing.add_argument("--json", action="store_true", help="print them as JSON")
    listing.set_defaults(run=_learned)


def _learn(
    given: argparse.Namespace, diagnosed: Callable[[argparse.Namespace], tuple[Diagnosis, ChosenScenario]]
) -> int:
    diagnosis, chosen = diagnosed(given)
    one = diagnosis.recalibration
    if given.json:
        print("null" if one is None else as_json(one))
    else:
        print(_in_words(one) if one is not None else f"Nothing is learned. {diagnosis.headline}")
    if given.accept:
        _accept(given, diagnosis, chosen)
    return 0


def _accept(given: argparse.Namespace, diagnosis: Diagnosis, chosen: ChosenScenario) -> None:
    """Keep what was learned for the scenario of that number, or of that name, which is added where there is none."""
    from reality.learned.acceptance import calibration_of
    from reality.watch.watch import numbered

    calibration, by = calibration_of(diagnosis), owner(given.author)
    with opened(given.library) as library:
        number = numbered(library, chosen.scenario, by) if chosen.number is None else chosen.number
        kept = Calibrations(library).accept(number, calibration, by=by)
    if not given.json:
        print(f"Accepted for scenario {number} as number {kept.id}: compare, diagnose and watch {number} use it.")


def _in_words(one: Recalibration) -> str:
    lines = [
        f"{'Decode':16} {one.factor_decode:.3f} times as planned, 80 % {one.decode_low:.3f} to {one.decode_high:.3f}",
        f"{'Prefill':16} {one.factor_prefill:.3f} times as planned, 80 % {one.prefill_low:.3f} to "
        f"{one.prefill_high:.3f}",
        f"{'Before engine':16} {one.factor_fixed:.3f} times as planned",
        f"{'Each sequence':16} {added_in_words(one)}",
        f"{'Windows':16} {one.windows}" + (f", from {one.since} to {one.until}" if one.since else ""),
    ]
    if one.error_before is not None and one.error_after is not None:
        lines.append(f"{'Error left out':16} {percent(one.error_before)} before, {percent(one.error_after)} after")
    lines.append(one.why)
    return "\n".join([*lines, "Accept them with --accept." if one.offered else "There is nothing new to accept."])


def _learned(given: argparse.Namespace) -> int:
    with opened(given.library) as library:
        kept = Calibrations(library)
        if given.undo:
            undone = kept.undo(given.scenario, by=owner(given.author))
            print(f"Number {undone.id} of scenario {undone.scenario_id} counts no more.")
            return 0
        history = kept.history(given.scenario)
    if given.json:
        print(json.dumps([_as_json(one) for one in history], indent=2))
    else:
        print(aligned([HEAD, *map(_cells, history)]) if history else "Nothing was accepted for this scenario.")
    return 0


def _as_json(one: Accepted) -> dict[str, object]:
    learned = one.calibration
    return {
        "id": one.id,
        "scenario": one.scenario_id,
        "source": learned.source,
        "basis": learned.basis,
        "since": learned.since.isoformat(),
        "until": learned.until.isoformat(),
        "window_s": learned.window_s,
        "windows": learned.windows,
        "factor_decode": learned.decode,
        "factor_prefill": learned.prefill,
        "factor_fixed": learned.front,
        "sequence_ms": learned.sequence_ms,
        "accepted_by": one.accepted_by,
        "accepted_at": one.accepted_at.isoformat(),
        "undone_by": one.undone_by,
        "undone_at": None if one.undone_at is None else one.undone_at.isoformat(),
    }


def _cells(one: Accepted) -> tuple[str, ...]:
    learned = one.calibration
    return (
        str(one.id),
        f"{learned.decode:.3f}",
        f"{learned.prefill:.3f}",
        milliseconds(learned.sequence_ms),
        str(learned.windows),
        f"{learned.until:%Y-%m-%d %H:%M}",
        learned.source,
        f"{one.accepted_at:%Y-%m-%d %H:%M} by {one.accepted_by}",
        "" if one.undone_at is None else f"{one.undone_at:%Y-%m-%d %H:%M} by {one.undone_by}",
    )
