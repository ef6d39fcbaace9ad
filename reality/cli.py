"""Command line: ``python -m reality compare SCENARIO SOURCE``. Exit code 0 with an answer, 2 on an invalid file."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from collectors.errors import InvalidSource
from collectors.source import Source, load_source
from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE
from sizing.scenario.file import load_scenario
from sizing.scenario.schema import Scenario

INVALID_INPUT = 2
UNITS_S = {"": 1.0, "s": 1.0, "m": S_PER_MINUTE, "h": S_PER_HOUR, "d": S_PER_DAY, "w": 7 * S_PER_DAY}
SHORTEST_S, LONGEST_S = 5.0, 30 * S_PER_DAY
WINDOW = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback."""
    asked = _parser().parse_args(arguments)
    try:
        return int(asked.run(asked))
    except (InvalidScenario, InvalidSource) as invalid:
        print("\n".join(invalid.problems), file=sys.stderr)
    except SizingError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader of our output left early, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        print(f"{error.filename or 'Input or output'}: {error.strerror or error}.", file=sys.stderr)
    return INVALID_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reality", description="Hold a plan against a running deployment.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compare = commands.add_parser("compare", help="planned, predicted and measured, with verdicts")
    compare.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    compare.add_argument("source", type=Path, help="source of live data in YAML or JSON")
    compare.add_argument("--json", action="store_true", help="print the whole comparison as JSON")
    compare.add_argument("--window", type=window, metavar="TIME", help="such as 15m or 1h; default: the source's")
    compare.add_argument(
        "--at",
        type=moment,
        metavar="TIME",
        help="end of the window: 2026-11-20T14:00Z or seconds since 1970; default: now",
    )
    compare.add_argument("--served-as", default="", metavar="NAME", help="name under which the planned model is served")
    compare.add_argument(
        "--analytic",
        action="store_true",
        help="take the plan of the analytic load model; it may have another number of instances than the pages show",
    )
    compare.set_defaults(run=_compare)
    return parser


def window(text: str) -> float:
    """Seconds of 15m, 1h, 7d or a plain number of seconds, from 5 s to 30 days."""
    found = WINDOW.fullmatch(text.strip().lower())
    seconds = float(found[1]) * UNITS_S[found[2]] if found else -1.0
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError("must be a time such as 15m, 1h or 7d, from 5 s to 30 days")
    return seconds


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
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return -1.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _compare(asked: argparse.Namespace) -> int:
    scenario, source = _files(asked.scenario, asked.source)
    from reality.answer import as_text
    from reality.compare import compare_source
    from sizing.planning.analytic import analytic_plan

    found = compare_source(
        scenario,
        source,
        at_s=asked.at,
        window_s=asked.window,
        served_as=asked.served_as,
        plan=analytic_plan(scenario) if asked.analytic else None,
    )
    print(found.model_dump_json(indent=2) if asked.json else as_text(found))
    return 0


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

    asked, live = read(load_scenario, scenario), read(load_source, source)
    if asked is None or live is None:
        raise InvalidScenario(problems)
    return asked, live
