"""Command line: ``python -m reality compare | diagnose | forecast | watch``.

Exit code 0 with an answer, 2 on an invalid file.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from collectors.errors import InvalidSource
from collectors.source import Source, load_source
from commandline.run import run, show
from reality.forecast.command import add_command as add_forecast
from reality.watch.command import add_command as add_watch
from sharing.errors import SharingError
from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE
from sizing.scenario.file import load_scenario
from sizing.scenario.schema import Scenario

if TYPE_CHECKING:
    from sizing.planning.answered import Answer

UNITS_S = {"": 1.0, "s": 1.0, "m": S_PER_MINUTE, "h": S_PER_HOUR, "d": S_PER_DAY, "w": 7 * S_PER_DAY}
SHORTEST_S, LONGEST_S = 5.0, 30 * S_PER_DAY
"""Windows that may be asked for. Chosen: from one scrape of a quick source to a month."""
WINDOW = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback."""
    return run(_parser(), arguments, malformed=(SizingError, InvalidSource, SharingError), nameless="Input or output")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reality", description="Hold a plan against a running deployment.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compare = commands.add_parser("compare", help="planned, predicted and measured, with verdicts")
    diagnose = commands.add_parser("diagnose", help="whether the limits hold, what made the difference, what helps")
    for command, what, run_it in ((compare, "comparison", _compare), (diagnose, "diagnosis", _diagnose)):
        _add_arguments(command, what)
        command.set_defaults(run=run_it)
    add_forecast(commands, files=_files, span=span, moment=moment)
    add_watch(commands, files=_files, span=span, window=window)
    return parser


def _add_arguments(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
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
    answer, source = _asked(given)
    from reality.answer import as_text
    from reality.compare import compare_source

    comparison = compare_source(answer, source, at_s=given.at, window_s=given.window, served_as=given.served_as)
    return show(comparison, as_text, json=given.json)


def _diagnose(given: argparse.Namespace) -> int:
    answer, source = _asked(given)
    from reality.diagnosis.diagnose import diagnose_source
    from reality.diagnosis.sentences import as_text

    diagnosis = diagnose_source(answer, source, at_s=given.at, window_s=given.window, served_as=given.served_as)
    return show(diagnosis, as_text, json=given.json)


def _asked(given: argparse.Namespace) -> tuple[Answer, Source]:
    """The answer to the scenario, by the load model that is asked for, and the source."""
    scenario, source = _files(given.scenario, given.source)
    from sizing.planning.analytic import analytic_plan
    from sizing.planning.answered import Answer

    return Answer.of(scenario, analytic_plan if given.analytic else None), source


def _files(scenario: Path, source: Path) -> tuple[Scenario, Source]:
    """Both files, or the problems of both at once."""
    problems: list[str] = []

    def read(load: Callable[[Path], T], path: Path) -> T | None:
        try:
            return load(path)
        except (InvalidScenario, InvalidSource) as invalid:
            problems.extend(invalid.problems)
        except SizingError as error:
            problems.append(" ".join(str(error).split()))
        return None

    planned, live = read(load_scenario, scenario), read(load_source, source)
    if planned is None or live is None:
        raise InvalidScenario(problems)
    return planned, live
