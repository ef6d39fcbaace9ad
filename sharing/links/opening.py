"""``python -m sharing open``: the scenario that a live link means, as a file.

A page takes of a link what it can and says what it cannot; a file would keep no such note, so that here a link that is
not understood as a whole is refused.
"""

import argparse
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from commandline.files import replacing
from commandline.run import Commands
from sharing.document import FILES, to_json, to_yaml
from sharing.errors import InvalidLink
from sharing.form.left_behind import GIVEN, KINDS, NAMED_TRACE
from sharing.form.link import VERSION, WITH_INPUTS, Parameters, from_parameters
from sharing.form.link_versions import unknown_version
from sharing.form.presets import defaults
from sharing.form.read import faults, to_scenario
from sizing import Scenario
from sizing.base.errors import InvalidScenario

_SHOWN = 80
"""Characters of an address that a sentence repeats."""


def add_command(commands: Commands) -> None:
    """The command, beside the others."""
    opening = commands.add_parser("open", help="write the scenario that a live link means as a file")
    opening.add_argument("link", help="the address of a page, in quotes: its parameters are in docs/LINKS.md")
    opening.add_argument("--to", type=Path, required=True, metavar="FILE", help=f"name of a {' or '.join(FILES)} file")
    opening.set_defaults(run=_open)


def scenario_of(link: str) -> Scenario:
    """The scenario that a live link means, what it does not say as in the untouched form that it was made with.

    Raises InvalidLink with one sentence per problem, InvalidScenario for names that are not in the catalogue.
    """
    parameters = _parameters(link)
    opened = from_parameters(parameters)
    problems = list(opened.problems)
    if unknown := unknown_version(parameters.get(VERSION, ())):
        problems.append(f"{unknown}.")
    if trace := parameters.get(NAMED_TRACE, [""])[-1]:
        problems.append(f"The link was made with the trace {trace[:_SHOWN]}, which it does not carry.")
    kinds = {kind for text in parameters.get(GIVEN, ()) for kind in text.split(",")}
    problems += [f"The link was made with {KINDS[kind]}, which it does not carry." for kind in KINDS if kind in kinds]
    values = {**defaults(), **opened.values}
    problems += [fault.sentence for fault in faults(values)]
    if problems:
        raise InvalidLink(tuple(dict.fromkeys(problems)))
    from sizing.question.understand import understand  # with arrays, which other commands do not need

    scenario = Scenario.model_validate(to_scenario(values))
    understand(scenario)  # what no plan can be computed for is not written
    return scenario


def _parameters(link: str) -> Parameters:
    """The parameters of the address of a page with inputs. Raises InvalidLink."""
    shown = link[:_SHOWN]
    try:
        parts = urlsplit(link.strip())
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
        parameters = parse_qs(parts.query, keep_blank_values=True)
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidLink((f"{shown} is no address of a page, such as http://localhost:8501/size?rps=20.",))
    page = parts.path.rstrip("/").rpartition("/")[2]
    if page == "shared":
        raise InvalidLink(("This is a frozen link: it shows a report and carries no inputs.",))
    if page not in WITH_INPUTS:
        raise InvalidLink((f"{shown} is no page with inputs: these are {', '.join(WITH_INPUTS)}.",))
    return parameters


def _open(given: argparse.Namespace) -> int:
    place: Path = given.to
    if place.suffix.lower() not in FILES:
        raise InvalidScenario([f"{place.name} does not say what to write: name a {' or '.join(FILES)} file."])
    scenario = scenario_of(given.link)
    text = to_json(scenario) if place.suffix.lower() == ".json" else to_yaml(scenario)
    with replacing(place) as written:
        written.write_text(text, encoding="utf-8")
    return 0
