"""The command ``python -m reality forecast``."""

import argparse
from collections.abc import Callable
from pathlib import Path

from collectors.source import Source
from commandline.arguments import Argument, number
from commandline.run import Commands, show
from sizing.base.units import S_PER_DAY
from sizing.scenario.schema import Scenario

Files = Callable[[Path, Path], tuple[Scenario, Source]]
"""Reads scenario and source, or raises with the problems of both."""

DEFAULT_DAYS = 28.0
"""History that is read: four weeks, which tell growth from a week."""
LONGEST_DAYS = 400.0
"""Longest history: a year and a month."""
MOST_LEAD_WEEKS = 260.0


def add_command(
    commands: Commands, *, files: Files, span: Callable[[float, float], Argument], moment: Argument
) -> None:
    """``forecast``, with the readers of files and of times that all commands share."""
    parser = commands.add_parser("forecast", help="when the load outgrows what the limits carry, what to order by when")
    parser.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    parser.add_argument("source", type=Path, help="source of live data in YAML or JSON")
    parser.add_argument("--json", action="store_true", help="print the whole forecast as JSON")
    parser.add_argument(
        "--history",
        type=span(S_PER_DAY, LONGEST_DAYS * S_PER_DAY),
        default=DEFAULT_DAYS * S_PER_DAY,
        metavar="TIME",
        help="history to read, such as 28d or 12w (default 28d)",
    )
    parser.add_argument("--at", type=moment, metavar="TIME", help="moment to look ahead from; default: now")
    parser.add_argument(
        "--lead-time",
        type=number("a number of weeks", 0.0, MOST_LEAD_WEEKS),
        metavar="WEEKS",
        help="from order to use; default: the longest published for the GPU, else 12, rented 1",
    )
    parser.add_argument(
        "--carried-by",
        choices=("deployment", "plan"),
        default="deployment",
        help="what has to carry the load: the replicas seen (default), or those planned",
    )
    parser.add_argument(
        "--analytic", action="store_true", help="take the plan of the analytic load model, as compare does"
    )
    parser.set_defaults(run=lambda given: _forecast(given, files))


def _forecast(given: argparse.Namespace, files: Files) -> int:
    scenario, source = files(given.scenario, given.source)
    from reality.forecast.door import forecast_source
    from reality.forecast.foresee import ForecastRequest
    from reality.forecast.sentences import as_text
    from sizing.planning.analytic import analytic_plan
    from sizing.planning.answered import Answer

    foreseen = forecast_source(
        Answer.of(scenario, analytic_plan if given.analytic else None),
        source,
        history_s=given.history,
        at_s=given.at,
        wanted=ForecastRequest(carried_by=given.carried_by, lead_weeks=given.lead_time),
    )
    return show(foreseen, as_text, json=given.json)
