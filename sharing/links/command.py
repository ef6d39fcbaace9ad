"""``python -m sharing link``, ``links`` and ``revoke``: what they take and print."""

import argparse
import re
import sys
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from commandline.arguments import whole
from commandline.run import aligned
from sharing.author import owner
from sharing.document import is_file_name
from sharing.errors import InvalidEntry
from sharing.library import open_library
from sharing.library.store import chosen
from sharing.links.live import BASE, live_link, page_at
from sharing.links.records import Link, Terms
from sharing.links.store import Links
from sharing.report.content import BY_WORD
from sizing import Scenario
from sizing.scenario.file import load_scenario

UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
LONGEST = timedelta(days=3660)
HEAD = (
    "id",
    "version",
    "made (UTC)",
    "by",
    "prices",
    "state",
    "until (UTC)",
    "password",
    "views",
    "last view (UTC)",
    "engine",
)


def add_commands(commands: Any) -> None:
    """What the command line has about links."""
    linking = commands.add_parser("link", help="print a link to a scenario: to its inputs, or to the answer of now")
    linking.add_argument("scenario", help="its id or name in the library, or a YAML or JSON file")
    linking.add_argument("--base", default=BASE, metavar="URL", help=f"where the dashboard answers; default {BASE}")
    linking.add_argument("--frozen", action="store_true", help="to a stored report that does not change")
    linking.add_argument("--prices", choices=BY_WORD, default="none", help="money that the report shows (default none)")
    linking.add_argument("--expires", type=duration, metavar="30d", help="until when it opens: hours, days or weeks")
    linking.add_argument("--password-stdin", action="store_true", help="read the password that opens it from stdin")
    linking.add_argument("--author", default="", metavar="NAME", help="default: the user of this machine")
    linking.set_defaults(run=_link)
    listing = commands.add_parser("links", help="the frozen links of a scenario, the latest first")
    listing.add_argument("scenario", help="its id or name")
    listing.set_defaults(run=_links)
    revoking = commands.add_parser("revoke", help="let a frozen link show nothing any more")
    revoking.add_argument("link", type=whole(1, 1_000_000_000), help="its id in the list of links")
    revoking.add_argument("--author", default="", metavar="NAME", help="default: the user of this machine")
    revoking.set_defaults(run=_revoke)


def duration(text: str) -> timedelta:
    """A time such as 12h, 30d or 4w. Raises ArgumentTypeError."""
    match = re.fullmatch(r"(\d{1,5})([hdw])", text.strip().lower())
    time = int(match[1]) * UNITS[match[2]] if match else timedelta()
    if not timedelta() < time <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text[:40]} is no time: enter for example 12h, 30d or 4w")
    return time


def _link(given: argparse.Namespace) -> int:
    if given.frozen:
        return _freeze(given)
    if given.expires or given.password_stdin or given.prices != "none":
        raise InvalidEntry("--prices, --expires and --password-stdin belong to a link that is --frozen.")
    link = live_link(_scenario(given), page_at(given.base, "size"))
    print(link.address)
    if link.left_out:
        print(f"Not in the link: {', '.join(link.left_out)}", file=sys.stderr)
    return 0


def _freeze(given: argparse.Namespace) -> int:
    from sharing.links.freezing import frozen  # with the engine and all reports, which other commands do not need

    if is_file_name(given.scenario):
        raise InvalidEntry("A frozen link is to a scenario in the library: python -m sharing import keeps this file.")
    page = page_at(given.base, "shared")
    password = sys.stdin.readline().rstrip("\r\n") if given.password_stdin else ""
    if given.password_stdin and not password:
        raise InvalidEntry("There is no password on stdin.")
    by = owner(given.author)
    with closing(open_library(given.library)) as library:
        version, now = chosen(library, given.scenario), library.now()
        report = frozen(version, BY_WORD[given.prices], made_at=now, author=by.name)
        terms = Terms(expires_at=now + given.expires if given.expires else None, password=password)
        made = Links(library).make(version.scenario_id, version.number, report, terms, by=by)
    print(f"{page}?{urlencode({'token': made.token})}")
    print(f"Link {made.link.id}: copy the address now, it is kept nowhere.", file=sys.stderr)
    return 0


def _links(given: argparse.Namespace) -> int:
    with closing(open_library(given.library)) as library:
        now = library.now()
        links = Links(library).of_scenario(chosen(library, given.scenario).scenario_id, by=owner())
    print(aligned([HEAD, *(_cells(link, now) for link in links)]))
    return 0


def _cells(link: Link, now: datetime) -> tuple[str, ...]:
    return (
        str(link.id),
        str(link.version),
        _moment(link.made_at),
        link.made_by,
        link.released.value,
        link.state(now).value,
        _moment(link.expires_at),
        "yes" if link.has_password else "",
        str(link.views),
        _moment(link.viewed_at),
        link.engine_version,
    )


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def _revoke(given: argparse.Namespace) -> int:
    with closing(open_library(given.library)) as library:
        link = Links(library).revoke(given.link, by=owner(given.author))
    print(f"Link {link.id} shows nothing since {link.revoked_at:%Y-%m-%d %H:%M} UTC.")
    return 0


def _scenario(given: argparse.Namespace) -> Scenario:
    if is_file_name(given.scenario):
        return load_scenario(Path(given.scenario))
    with closing(open_library(given.library)) as library:
        return chosen(library, given.scenario).scenario()
