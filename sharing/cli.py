"""Command line: ``python -m sharing list | import | export``. Exit code 0, 2 with one line per problem otherwise."""

import argparse
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from commandline.arguments import whole
from commandline.run import run
from sharing.author import user_of_machine
from sharing.document import to_json, to_yaml
from sharing.errors import NotInLibrary, SharingError
from sharing.library import Library, open_library
from sharing.library.database import VARIABLE
from sharing.library.records import Draft, Entry, Figures, Project, Query, Version, figures_of
from sizing import Scenario
from sizing.base.errors import InvalidScenario, SizingError
from sizing.scenario.file import load_scenario

WRITERS: dict[str, Callable[[Scenario], str]] = {".yaml": to_yaml, ".yml": to_yaml, ".json": to_json}
"""What a scenario is exported as, by the name of the file."""
MOST_LISTED = 1_000_000
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
    giving = commands.add_parser("export", help="write a scenario to a file")
    giving.add_argument("scenario", help="its id, or its name where no other has it")
    giving.add_argument("--to", type=Path, required=True, metavar="FILE", help=f"name of a {_suffixes()} file")
    giving.add_argument("--version", type=whole(1, 1_000_000_000), metavar="N", help="default: the latest")
    giving.set_defaults(run=_export)
    return parser


def _suffixes() -> str:
    return " or ".join(sorted(WRITERS))


def _list(given: argparse.Namespace) -> int:
    query = Query(
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


def _table(entries: Sequence[Entry]) -> str:
    rows = [HEAD, *map(_cells, entries)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def _cells(entry: Entry) -> tuple[str, ...]:
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
    Draft(**draft)  # refused before a plan is computed for it
    with closing(open_library(given.library)) as library:
        figures = None if given.no_plan else _figures(scenario)
        kept = library.add(Draft(**draft, figures=figures), author=given.author or user_of_machine())
    print(f"Scenario {kept.scenario_id}: {scenario.name}")
    return 0


def _figures(scenario: Scenario) -> Figures:
    from sizing.planning.plan import plan

    return figures_of(plan(scenario))


def _export(given: argparse.Namespace) -> int:
    write = WRITERS.get(given.to.suffix.lower())
    if write is None:
        raise InvalidScenario([f"{given.to.name} does not say what to write: name a {_suffixes()} file."])
    with closing(open_library(given.library)) as library:
        scenario = _chosen(library, given.scenario, given.version).scenario()
    given.to.write_text(write(scenario), encoding="utf-8")
    return 0


def _chosen(library: Library, wanted: str, number: int | None) -> Version:
    """The scenario with this id, else the one with this name. Raises NotInLibrary."""
    if wanted.isdecimal() and len(wanted) <= len(str(MOST_LISTED)) + 2:
        return library.version(int(wanted), number)
    entries = library.search(Query(text=wanted, limit=MOST_LISTED)).entries
    ids = [entry.id for entry in entries if entry.name.casefold() == wanted.casefold()]
    if len(ids) > 1:
        raise NotInLibrary(f"Several scenarios are called {wanted[:60]}: give one of the ids {_some(ids)}.")
    if not ids:
        raise NotInLibrary(f"No scenario is called {wanted[:60]}: python -m sharing list shows them all.")
    return library.version(ids[0], number)


def _some(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:10])) + (", ..." if len(ids) > 10 else "")
