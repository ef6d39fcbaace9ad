"""Workbooks changed as a person would change them, and computed anew by LibreOffice."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from tests.patience import PATIENCE_S

MAC = "/Applications/LibreOffice.app/Contents/MacOS/soffice"
PROGRAM = shutil.which("soffice") or (MAC if Path(MAC).exists() else None)

Value = float | str | None
Changes = Mapping[str, float]
"""New values of inputs, by their names."""


def opened(content: bytes, *, values: bool = False) -> Workbook:
    """A workbook; ``values``: what its formulas came to, instead of the formulas."""
    return openpyxl.load_workbook(io.BytesIO(content), data_only=values)


def value_of(book: Workbook, name: str) -> Value:
    """What a named cell holds."""
    ((sheet, place),) = book.defined_names[name].destinations
    value: Value = book[sheet][place.replace("$", "")].value
    return value


def changed(content: bytes, changes: Changes) -> bytes:
    """The workbook with other inputs. openpyxl writes no value beside a formula: whoever opens it has to compute."""
    book = opened(content)
    for name, value in changes.items():
        ((sheet, place),) = book.defined_names[name].destinations
        book[sheet][place.replace("$", "")].value = value
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def computed(workbooks: Mapping[str, bytes], folder: Path) -> dict[str, Workbook]:
    """Each of the workbooks after LibreOffice has opened, computed and saved it; one start for all of them."""
    if PROGRAM is None:
        pytest.skip("LibreOffice is not installed")
    given, made = folder / "given", folder / "computed"
    given.mkdir()
    for name, content in workbooks.items():
        (given / f"{name}.xlsx").write_bytes(content)
    arguments = [
        PROGRAM,
        "--headless",
        f"-env:UserInstallation={(folder / 'profile').as_uri()}",
        "--convert-to",
        "xlsx",
    ]
    subprocess.run(
        [*arguments, "--outdir", str(made), *map(str, sorted(given.iterdir()))],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return {name: opened((made / f"{name}.xlsx").read_bytes(), values=True) for name in workbooks}
