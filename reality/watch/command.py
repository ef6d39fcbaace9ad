"""The command ``python -m reality watch``."""

import argparse
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from commandline.arguments import Argument
from commandline.run import Commands
from reality.chosen import chosen_of, opened
from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE

LONGEST_PAUSE_S = 7 * S_PER_DAY


def add_command(commands: Commands, *, span: Callable[[float, float], Argument], window: Argument) -> None:
    """``watch``, with the readers of times that all commands share."""
    parser = commands.add_parser("watch", help="compare on schedule, keep the findings in the library, tell a webhook")
    parser.add_argument("scenario", help="scenario in YAML or JSON, or the number of one in the library")
    parser.add_argument("source", type=Path, help="source of live data in YAML or JSON")
    parser.add_argument(
        "--every",
        type=span(S_PER_MINUTE, LONGEST_PAUSE_S),
        default=S_PER_HOUR,
        metavar="TIME",
        help="pause, such as 15m or 1h (default 1h)",
    )
    parser.add_argument("--once", action="store_true", help="compare once, for a scheduler of your own")
    parser.add_argument("--window", type=window, metavar="TIME", help="such as 15m or 1h; default: the source's")
    parser.add_argument("--webhook", default="", metavar="URL", help="is told every finding as JSON")
    parser.add_argument(
        "--library", metavar="PLACE", help="file, or postgresql://...; default: as of python -m sharing"
    )
    parser.add_argument("--author", default="", metavar="NAME", help="default: the user of this machine")
    parser.add_argument("--json", action="store_true", help="print each comparison as one line of JSON")
    parser.add_argument(
        "--analytic", action="store_true", help="take the plan of the analytic load model, as compare does"
    )
    parser.set_defaults(run=_watch)


def _watch(given: argparse.Namespace) -> int:
    from reality.watch.watch import Round, Watched, bind, numbered, watch, webhook
    from sharing.author import owner
    from sharing.bonds import Bonds
    from sizing.planning.analytic import analytic_plan
    from sizing.planning.answered import Answer

    hook = webhook(given.webhook) if given.webhook else None
    by = owner(given.author)

    def show(one: Round) -> None:
        comparison = one.comparison
        line = f"{comparison.at} {comparison.state}: {comparison.answer}"
        print(comparison.model_dump_json() if given.json else f"{line} {one.last_good}".rstrip(), flush=True)

    chosen, source = chosen_of(given.scenario, given.source, given.library)
    answer = Answer.of(chosen.scenario, analytic_plan if given.analytic else None)
    with opened(given.library) as library, suppress(KeyboardInterrupt):
        watched = Watched(
            answer=answer,
            scenario_id=numbered(library, chosen.scenario, by) if chosen.number is None else chosen.number,
            source=source,
            window_s=given.window,
            bonds=Bonds(library),
            by=by,
            webhook=hook,
        )
        bind(watched)
        watch(watched, show, every_s=given.every, times=1 if given.once else 0)
    return 0
