"""``make prices``: renew API offers and rents, print what would change, and keep it only when told.

Exit code 0, also where nothing is kept; 1 where no source could be read.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from calibration.prices import api_map, cloud_rows, hunted, wheel
from calibration.prices.api_rows import api_rows
from calibration.prices.difference import PriceChange, PriceFile, changes, table
from calibration.prices.refused import RefusedRow
from sizing.catalog.files import DATA_DIR, Row, read_rows

API = PriceFile(
    name="api_prices.csv",
    key=("provider", "model"),
    prices=("input_usd_per_mtok", "output_usd_per_mtok", "cached_input_usd_per_mtok"),
    silent=("date", "source", "provider_price_page"),
)
CLOUD = PriceFile(
    name="cloud_instances.csv",
    key=("provider", "instance_type", "region"),
    prices=("on_demand_usd_per_hour", "spot_usd_per_hour"),
    silent=("date", "source", "license", "usd_per_gpu_hour"),
)
FAILED = 1


@dataclass(frozen=True, kw_only=True)
class Renewed:
    """A price file as it would be, what changes by that, and what its source holds that is not taken."""

    file: PriceFile
    rows: list[Row]
    changes: list[PriceChange]
    refused: list[RefusedRow]


def api_offers(given: Path | None, on: date) -> Renewed:
    """API offers of the newest map, or of a wheel at hand. Raises NoMap."""
    price_map = wheel.read(given or wheel.fetched())
    offers, refused = api_map.offers(price_map.entries)
    new = api_rows(offers, price_map.version, on.isoformat())
    return Renewed(file=API, rows=new, changes=changes(API, read_rows(API.name), new), refused=refused)


def rents(on: date) -> Renewed:
    """Rents of the instances that are listed. Raises NoCatalogue where not one provider answers."""
    offers: list[cloud_rows.HuntedOffer] = []
    failures: list[str] = []
    for provider in hunted.PROVIDERS:
        try:
            offers += hunted.offers(provider)
        except hunted.NoCatalogue as no_catalogue:
            failures.append(str(no_catalogue))
    for failure in dict.fromkeys(failures):
        print(failure, file=sys.stderr)
    if len(failures) == len(hunted.PROVIDERS):
        raise hunted.NoCatalogue("No provider of cloud instances could be asked: their rents stay.")
    old = read_rows(CLOUD.name)
    new, refused = cloud_rows.renewed(old, offers, on)
    return Renewed(file=CLOUD, rows=new, changes=changes(CLOUD, old, new), refused=refused)


def keep(renewed: Renewed, folder: Path = DATA_DIR) -> None:
    """Write the price file as it would be."""
    with (folder / renewed.file.name).open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(renewed.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(renewed.rows)


def _told(arguments: argparse.Namespace, file: PriceFile) -> bool:
    """Whether to keep a file: as the command line says, else as a person answers; nobody there means no."""
    if arguments.keep:
        return True
    if not sys.stdin.isatty():
        print(f"{file.name} is as it was: --keep writes it.")
        return False
    return input(f"Keep this as {file.name}? [y/N] ").strip().lower() in ("y", "yes")


def main(given: Sequence[str] | None = None) -> int:
    """Renew, show, and keep what is told to be kept."""
    parser = argparse.ArgumentParser(prog="python -m calibration.prices", description="Renew list prices.")
    parser.add_argument("--keep", action="store_true", help="write the files without asking")
    parser.add_argument("--only", choices=("api", "cloud"), help="renew one of them alone")
    parser.add_argument("--wheel", type=Path, help="a wheel of litellm; the newest is fetched when not given")
    arguments = parser.parse_args(given)
    on = datetime.now(UTC).date()
    sources: dict[str, Callable[[], Renewed]] = {
        "api": lambda: api_offers(arguments.wheel, on),
        "cloud": lambda: rents(on),
    }
    read = 0
    for name, renew in sources.items():
        if arguments.only not in (None, name):
            continue
        try:
            renewed = renew()
        except (wheel.NoMap, hunted.NoCatalogue) as failure:
            print(failure, file=sys.stderr)
            continue
        read += 1
        for refused in renewed.refused:
            print(refused.sentence, file=sys.stderr)
        print(table(renewed.file, renewed.changes))
        if renewed.changes and _told(arguments, renewed.file):
            keep(renewed)
    return 0 if read else FAILED


if __name__ == "__main__":
    sys.exit(main())
