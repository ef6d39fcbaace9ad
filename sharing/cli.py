"""Command line: ``python -m sharing COMMAND``. Exit code 0, 2 with one line per problem otherwise."""

import argparse
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from commandline.arguments import whole
from commandline.run import aligned, run
from sharing.author import owner
from sharing.errors import SharingError, StillInUse
from sharing.export import add_command
from sharing.library import open_library
from sharing.library.database import VARIABLE
from sharing.library.records import LibraryEntry, Project, ScenarioDraft, ScenarioQuery, StoredFigures, figures_of
from sharing.library.store import MOST_LISTED
from sharing.links.command import add_commands
from sharing.links.opening import add_command as add_open
from sizing import Scenario
from sizing.base.errors import SizingError
from sizing.scenario.file import load_scenario

HEAD = ("id", "name", "customer", "project", "model", "GPUs", "USD/month", "version", "updated (UTC)", "by")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback."""
    return run(_parser(), arguments, malformed=(SharingError, SizingError), nameless="Input or output")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sharing", description="The library of scenarios.")
    parser.add_argument(
        "--library", metavar="PLACE", help=f"file, or postgresql://...; default: {VARIABLE}, else a file of this user"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="scenarios, the latest changed first")
    for name, what in (("text", "words in name, model, project, customer or tags"), ("model", "part of its name")):
        listing.add_argument(f"--{name}", default="", metavar=name.upper(), help=what)
    for name in ("customer", "project", "tag"):
        listing.add_argument(f"--{name}", default="", metavar=name.upper(), help=f"of this {name} only")
    listing.add_argument("--deleted", action="store_true", help="those that were deleted, instead")
    listing.add_argument("--limit", type=whole(1, MOST_LISTED), default=100, metavar="N", help="at most (default 100)")
    listing.add_argument("--json", action="store_true", help="print them, and the totals of projects, as JSON")
    listing.set_defaults(run=_list)
    taking = commands.add_parser("import", help="keep the scenario of a file")
    taking.add_argument("file", type=Path, help="scenario in YAML or JSON")
    taking.add_argument("--project", default="", metavar="NAME", help="where it belongs; default: the customer's name")
    taking.add_argument("--customer", default="", metavar="NAME", help="for whom")
    taking.add_argument("--tag", action="append", default=[], metavar="TAG", help="may be given several times")
    taking.add_argument("--author", default="", metavar="NAME", help="default: the user of this machine")
    taking.add_argument("--no-plan", action="store_true", help="do not compute GPUs, cost and power")
    taking.set_defaults(run=_import)
    purging = commands.add_parser("purge", help="remove a deleted scenario for good, with its history and links")
    purging.add_argument("scenario", type=whole(1, 1_000_000_000), help="its id, as list --deleted shows it")
    purging.add_argument("--yes", action="store_true", help="nothing brings it back")
    purging.add_argument("--author", default="", metavar="NAME", help="default: the user of this machine")
    purging.set_defaults(run=_purge)
    add_command(commands)
    add_commands(commands)
    add_open(commands)
    return parser


def _list(given: argparse.Namespace) -> int:
    query = ScenarioQuery(
        text=given.text,
        customer=given.customer,
        project=given.project,
        tag=given.tag,
        model=given.model,
        deleted=given.deleted,
        limit=given.limit,
    )
    with closing(open_library(given.library)) as library:
        listed = library.search(query)
        if not given.json:
            print(_table(listed.entries))
            return 0
        answer = {
            "total": listed.total,
            "scenarios": [asdict(entry) for entry in listed.entries],
            "projects": [asdict(total) for total in library.totals()],
        }
    print(json.dumps(answer, indent=2, default=lambda moment: moment.isoformat()))
    return 0


def _table(entries: Sequence[LibraryEntry]) -> str:
    return aligned([HEAD, *map(_cells, entries)])


def _cells(entry: LibraryEntry) -> tuple[str, ...]:
    project = entry.project
    return (
        str(entry.id),
        entry.name,
        project.customer if project else "",
        project.name if project else "",
        entry.model,
        _number(entry.gpus),
        _number(entry.usd_per_month),
        str(entry.version),
        f"{entry.updated_at:%Y-%m-%d %H:%M}",
        entry.updated_by,
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _import(given: argparse.Namespace) -> int:
    scenario = load_scenario(given.file)
    name = given.project or given.customer
    project = Project(name=name, customer=given.customer) if name.strip() else None
    draft: dict[str, Any] = {"scenario": scenario, "project": project, "tags": tuple(given.tag)}
    ScenarioDraft(**draft)  # refused before a plan is computed for it
    if given.no_plan:
        from sizing.question.understand import understand

        understand(scenario)  # what no plan can be computed for is not kept either
    with closing(open_library(given.library)) as library:
        figures = None if given.no_plan else _figures(scenario)
        kept = library.add(ScenarioDraft(**draft, figures=figures), by=owner(given.author))
    print(f"Scenario {kept.scenario_id}: {scenario.name}")
    return 0


def _purge(given: argparse.Namespace) -> int:
    with closing(open_library(given.library)) as library:
        entry = library.entry(given.scenario)
        if not given.yes:
            raise StillInUse(f"Nothing brings scenario {entry.id} ({entry.name[:60]}) back: say --yes to remove it.")
        removed = library.purge(entry.id, by=owner(given.author))
    print(f"Scenario {entry.id} is gone for good (versions: {removed.versions}, frozen links: {removed.links}).")
    return 0


def _figures(scenario: Scenario) -> StoredFigures:
    from sizing.planning.plan import plan

    return figures_of(plan(scenario))
