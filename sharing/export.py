"""``python -m sharing export``: a scenario as a file of its inputs, as a report, or as manifests in a folder."""

import argparse
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from commandline.arguments import whole
from commandline.files import replacing
from commandline.run import Commands
from sharing.audit import Act, record
from sharing.author import owner
from sharing.document import is_file_name, to_json, to_yaml
from sharing.errors import InvalidEntry
from sharing.formats import FORMATS
from sharing.library import open_library
from sharing.library.store import chosen
from sharing.report.content import BY_WORD
from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.scenario.file import load_scenario

INPUTS: dict[str, Callable[[Scenario], str]] = {".yaml": to_yaml, ".yml": to_yaml, ".json": to_json}
"""What a scenario is exported as, by the name of the file."""


def add_command(commands: Commands) -> None:
    """The command, beside the others."""
    giving = commands.add_parser("export", help="write a scenario, its report, or its manifests")
    giving.add_argument("scenario", help="its id or name in the library, or a YAML or JSON file")
    giving.add_argument(
        "--to", type=Path, required=True, metavar="PLACE", help=f"name of a {_suffixes()} file, or of a folder: k8s/"
    )
    giving.add_argument("--version", type=whole(1, 1_000_000_000), metavar="N", help="default: the latest")
    giving.add_argument("--prices", choices=BY_WORD, help="money that a report shows (default list)")
    giving.add_argument("--customer", metavar="NAME", help="for whom a report is; default: the project's customer")
    giving.add_argument("--customer-logo", type=Path, metavar="FILE", help="PNG or JPEG that a report shows")
    giving.add_argument("--author", metavar="NAME", help="who makes a report; default: the user of this machine")
    giving.set_defaults(run=_export)


def _suffixes() -> str:
    return " or ".join(sorted({*INPUTS, *FORMATS}))


def _export(given: argparse.Namespace) -> int:
    place: Path = given.to
    suffix = place.suffix.lower() or place.name.lower()  # ".pdf" alone is no folder
    folder = place.is_dir() or not (place.suffix or place.name.startswith("."))
    if not folder and (not place.suffix or suffix not in {*INPUTS, *FORMATS}):
        raise InvalidScenario([f"{place.name} does not say what to write: name a {_suffixes()} file, or a folder."])
    is_report = not folder and suffix in FORMATS
    of_report = (given.prices, given.customer, given.author, given.customer_logo)
    if not is_report and any(one is not None for one in of_report):
        raise InvalidEntry("--prices, --customer, --customer-logo and --author belong to a report.")
    scenario, customer = _asked(given)
    if folder:
        _export_manifests(scenario, place)
        record(Act.EXPORTED, owner(), "manifests")
        return 0
    made = _report(scenario, suffix, given, customer) if is_report else INPUTS[suffix](scenario).encode()
    record(Act.EXPORTED, owner(), "report" if is_report else "scenario file")
    with replacing(place) as written:
        written.write_bytes(made)
    return 0


def _asked(given: argparse.Namespace) -> tuple[Scenario, str]:
    """The scenario, and its project's customer where the library knows one."""
    if is_file_name(given.scenario):
        if given.version:
            raise InvalidEntry("--version belongs to a scenario in the library.")
        return load_scenario(Path(given.scenario)), ""
    with closing(open_library(given.library)) as library:
        version = chosen(library, given.scenario, given.version)
        return version.scenario(), version.project.customer if version.project else ""


def _report(scenario: Scenario, suffix: str, given: argparse.Namespace, customer: str) -> bytes:
    from sharing.formats.brand import read_logo
    from sharing.formats.source import source_of
    from sizing.planning.answered import Answer

    source = source_of(
        Answer.of(scenario),
        released=BY_WORD[given.prices or "list"],
        made_at=datetime.now(UTC).replace(microsecond=0),
        author=owner().name if given.author is None else given.author,
        customer=customer if given.customer is None else given.customer,
        customer_logo=b"" if given.customer_logo is None else read_logo(given.customer_logo),
    )
    return FORMATS[suffix].write(source)


def _export_manifests(scenario: Scenario, folder: Path) -> None:
    from sharing.manifests import manifests, write_folder
    from sizing.planning.answered import Answer

    write_folder(manifests(Answer.of(scenario)), folder)
