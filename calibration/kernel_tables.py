"""NVIDIA's measured kernel tables, read out of the wheel of ``aisimulate`` (Apache-2.0) without unpacking it.

The wheel is fetched once, without its dependencies, into a folder that git ignores; nothing of it is imported or run.
Only tables of measured kernels are read, none of whole requests.
"""

import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]

VERSION = "0.13.0.dev202610270000000085"
"""Release that the committed numbers come from: another one carries other measurements."""
WHEEL_FOLDER = Path(__file__).parent / "out/kernel_tables"
DATA = "aisimulate_core/systems/data/"
FULL = 0.5
"""Share of the rows of the fullest version that a table must have to be taken. Chosen: because the newest versions of
some frameworks hold the shapes of one model only."""


class NoTables(Exception):
    """The file holds no kernel tables, in one sentence."""


@dataclass(frozen=True)
class KernelTable:
    """One measured table: which system and framework it comes from, in which version."""

    system: str
    framework: str
    version: str
    frame: pd.DataFrame


def fetched(folder: Path = WHEEL_FOLDER) -> Path:
    """The wheel in ``folder``, downloaded if it is not there. Raises NoTables where that fails."""
    if wheels := sorted(folder.glob(f"aisimulate-{VERSION}-*.whl")):
        return wheels[0]
    folder.mkdir(parents=True, exist_ok=True)
    wanted = ["download", "--no-deps", "--only-binary", ":all:", f"aisimulate=={VERSION}", "-d", str(folder)]
    done = subprocess.run([sys.executable, "-m", "pip", *wanted], capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob(f"aisimulate-{VERSION}-*.whl"))
    if not wheels:
        reason = (done.stderr.strip() or "no file").splitlines()[-1]
        raise NoTables(f"The kernel tables (aisimulate {VERSION}) could not be fetched: {reason.rstrip('.')}.")
    return wheels[0]


def newest(wheel: Path, kind: str, columns: Sequence[str]) -> Iterator[KernelTable]:
    """Table ``kind`` (``gemm/gemm_perf``) of every system and framework in its newest full version, in order.

    Columns that a table lacks are left out. Raises NoTables for a file without such tables.
    """
    with _opened(wheel) as archive:
        names = _names(archive, kind)
        if not names:
            raise NoTables(f"{wheel.name} holds no kernel tables of kind {kind}.")
        for (system, framework), versions in sorted(names.items()):
            rows = {v: pq.read_metadata(io.BytesIO(archive.read(name))).num_rows for v, name in versions.items()}
            full = [v for v in versions if rows[v] >= FULL * max(rows.values())]
            version = max(full, key=_order)
            data = archive.read(versions[version])
            present = [c for c in columns if c in pq.read_schema(io.BytesIO(data)).names]
            yield KernelTable(system, framework, version, pd.read_parquet(io.BytesIO(data), columns=present))


def _opened(wheel: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(wheel)
    except (OSError, zipfile.BadZipFile) as error:
        raise NoTables(f"{wheel.name} cannot be read as a wheel: {error}") from error


def _names(archive: zipfile.ZipFile, kind: str) -> dict[tuple[str, str], dict[str, str]]:
    """File names by (system, framework) and version; development versions (``dev-...``) are left out."""
    topic, table = kind.split("/")
    pattern = re.compile(rf"{DATA}([^/]+)/{topic}/([^/]+)/(?!dev)([^/]+)/{table}\.parquet")
    out: dict[tuple[str, str], dict[str, str]] = {}
    for name in archive.namelist():
        if match := pattern.fullmatch(name):
            out.setdefault((match[1], match[2]), {})[match[3]] = name
    return out


def _order(version: str) -> tuple[tuple[int, ...], int]:
    """Versions in order: ``1.3.0rc20`` after ``1.3.0rc10`` and before ``1.3.0``, ``0.5.6.post2`` after ``0.5.6``."""
    head, candidate, rest = version.partition("rc")
    numbers = tuple(int(x) for x in re.findall(r"\d+", head))
    return numbers, int(rest) if candidate and rest.isdigit() else 10**6
