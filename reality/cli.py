"""Command line: ``python -m reality compare | diagnose | learn | learned | forecast | watch``.

Exit code 0 with an answer, 2 on an invalid file.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.errors import InvalidSource
from collectors.source import Source
from commandline.run import progress_line, run, show
from reality.chosen import ChosenScenario, chosen_of, files
from reality.forecast.command import add_command as add_forecast
from reality.learned.command import add_commands as add_learning
from reality.watch.command import add_command as add_watch
from sharing.errors import SharingError
from sizing.base.errors import SizingError
from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE

if TYPE_CHECKING:
    from reality.diagnosis.result import Diagnosis
    from sizing.planning.answered import Answer

UNITS_S = {"": 1.0, "s": 1.0, "m": S_PER_MINUTE, "h": S_PER_HOUR, "d": S_PER_DAY, "w": 7 * S_PER_DAY}
SHORTEST_S, LONGEST_S = 5.0, 30 * S_PER_DAY
"""Windows that may be asked for. Chosen: from one scrape of a quick source to a month."""
AT_MOST_S, LONGEST_LOOK_S = 60.0, S_PER_HOUR
"""Seconds after which a diagnosis says what it knows. Chosen: twenty times what one takes."""
WINDOW = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback."""
    return run(_parser(), arguments, malformed=(SizingError, InvalidSource, SharingError), nameless="Input or output")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reality", description="Hold a plan against a running deployment.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compare = commands.add_parser("compare", help="planned, predicted and measured, with verdicts")
    diagnose = commands.add_parser("diagnose", help="whether the limits hold, what made the difference, what helps")
    _add_arguments(compare, "comparison")
    compare.set_defaults(run=_compare)
    _add_bounded(diagnose, "diagnosis")
    diagnose.set_defaults(run=_diagnose)
    add_learning(commands, add_arguments=_add_bounded, diagnosed=_diagnosed)
    add_forecast(commands, files=files, span=span, moment=moment)
    add_watch(commands, span=span, window=window)
    return parser


def _add_bounded(command: argparse.ArgumentParser, what: str) -> None:
    _add_arguments(command, what)
    command.add_argument(
        "--at-most",
        type=span(SHORTEST_S, LONGEST_LOOK_S),
        default=AT_MOST_S,
        metavar="TIME",
        help=f"after reading, such as 30s or 2m (default {AT_MOST_S:g}s): then limits are judged without a cause",
    )


def _add_arguments(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument(
        "scenario",
        help="scenario in YAML or JSON, or the number of one in the library: with the step times accepted for it",
    )
    command.add_argument("source", type=Path, help="source of live data in YAML or JSON")
    command.add_argument("--json", action="store_true", help=f"print the whole {what} as JSON")
    command.add_argument("--window", type=window, metavar="TIME", help="such as 15m or 1h; default: the source's")
    command.add_argument(
        "--at",
        type=moment,
        metavar="TIME",
        help="end of the window: 2026-11-20T14:00Z or seconds since 1970; default: now",
    )
    command.add_argument("--served-as", default="", metavar="NAME", help="name under which the planned model is served")
    command.add_argument(
        "--library", metavar="PLACE", help="file, or postgresql://...; default: as of python -m sharing"
    )
    command.add_argument(
        "--analytic",
        action="store_true",
        help="take the plan of the analytic load model; it may have another number of instances than the pages show",
    )


def window(text: str) -> float:
    """Seconds of 15m, 1h, 7d or a plain number of seconds, from 5 s to 30 days."""
    return span(SHORTEST_S, LONGEST_S)(text)


def span(shortest_s: float, longest_s: float) -> Callable[[str], float]:
    """Seconds of 15m, 1h, 7d or a plain number of seconds, within bounds."""

    def read(text: str) -> float:
        parts = WINDOW.fullmatch(text.strip().lower())
        seconds = float(parts[1]) * UNITS_S[parts[2]] if parts else -1.0
        if not shortest_s <= seconds <= longest_s:
            bounds = f"from {_in_words(shortest_s)} to {_in_words(longest_s)}"
            raise argparse.ArgumentTypeError(f"must be a time such as 15m, 1h or 7d, {bounds}")
        return seconds

    return read


def _in_words(seconds: float) -> str:
    days = seconds / S_PER_DAY
    return f"{seconds:g} s" if days < 1.0 else f"{days:g} day{'s' if days != 1.0 else ''}"


def moment(text: str) -> float:
    """Seconds since 1970 of a date with time (UTC unless it says otherwise) or of a plain number, not in the future."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = _date(text)
    if not 0.0 < seconds <= time.time() + S_PER_MINUTE:
        raise argparse.ArgumentTypeError("must be a time in the past such as 2026-11-20T14:00Z or seconds since 1970")
    return seconds


def _date(text: str) -> float:
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        return -1.0
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _compare(given: argparse.Namespace) -> int:
    answer, chosen, source = _asked(given)
    from reality.answer import as_text
    from reality.compare import compare_source

    comparison = compare_source(
        answer, source, at_s=given.at, window_s=given.window, served_as=given.served_as, learned=chosen.learned
    )
    return show(comparison, as_text, json=given.json)


def _diagnose(given: argparse.Namespace) -> int:
    diagnosis, _ = _diagnosed(given)
    from reality.diagnosis.sentences import as_text

    return show(diagnosis, as_text, json=given.json)


def _diagnosed(given: argparse.Namespace) -> tuple[Diagnosis, ChosenScenario]:
    with progress_line() as tell:
        tell(0.0, "Planning")
        answer, chosen, source = _asked(given)
        from reality.diagnosis.diagnose import diagnose_source
        from sizing.planning.analytic import analytic_plan

        tell(0.0, "Reading")
        return diagnose_source(
            answer,
            source,
            planner=analytic_plan if given.analytic else None,
            at_s=given.at,
            window_s=given.window,
            served_as=given.served_as,
            progress=lambda share: tell(share, "Looking for the cause"),
            learned=chosen.learned,
            at_most_s=given.at_most,
        ), chosen


def _asked(given: argparse.Namespace) -> tuple[Answer, ChosenScenario, Source]:
    """The answer to the scenario, by the load model that is asked for, with what was accepted for it, and the
    source."""
    chosen, source = chosen_of(given.scenario, given.source, given.library)
    from sizing.planning.analytic import analytic_plan
    from sizing.planning.answered import Answer

    return Answer.of(chosen.scenario, analytic_plan if given.analytic else None), chosen, source
