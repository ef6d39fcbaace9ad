"""litellm's map of prices (MIT), read out of its wheel without unpacking or importing it.

The package itself would bring fifty others; one file of it is wanted.
"""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAP_FILE = "litellm/model_prices_and_context_window_backup.json"
WHEEL_FOLDER = Path(__file__).parents[1] / "out/prices"

_VERSION = re.compile(r"^litellm-([^-]+)-")


class NoMap(Exception):
    """Raised, with one sentence, where there is no map to read."""


@dataclass(frozen=True, kw_only=True)
class PriceMap:
    """Every entry of the map by its name, and the release of litellm that carries it."""

    entries: Mapping[str, Any]
    version: str


def fetched(folder: Path = WHEEL_FOLDER) -> Path:
    """The newest wheel of litellm, downloaded into ``folder``. Raises NoMap where that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = ["download", "--no-deps", "--only-binary", ":all:", "litellm", "-d", str(folder)]
    done = subprocess.run([sys.executable, "-m", "pip", *wanted], capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("litellm-*.whl"), key=lambda path: path.stat().st_mtime)
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip() or "no file").splitlines()[-1]
        raise NoMap(f"litellm could not be fetched: {reason.rstrip('.')}.")
    return wheels[-1]


def read(wheel: Path) -> PriceMap:
    """The map of a wheel. Raises NoMap for a file that is none, or that holds no map."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            entries = json.loads(archive.read(MAP_FILE))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise NoMap(f"{wheel.name} holds no map of prices: {error}.") from error
    named = _VERSION.match(wheel.name)
    if not isinstance(entries, dict) or named is None:
        raise NoMap(f"{wheel.name} is not a wheel of litellm with a map of prices.")
    return PriceMap(entries=entries, version=named[1])
