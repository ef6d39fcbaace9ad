"""Workbooks changed as a person would change them and computed anew by LibreOffice; pages and slides as pictures."""

import io
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook
from PIL import Image

from tests.patience import PATIENCE_S

MAC = "/Applications/LibreOffice.app/Contents/MacOS/soffice"
PROGRAM = shutil.which("soffice") or (MAC if Path(MAC).exists() else None)
DRAWS_PAGES = shutil.which("pdftoppm")
DRAWS_SLIDES = PROGRAM == MAC or any(Path("/usr").glob("lib*/libreoffice/program/libsdlo.so"))
"""Whether LibreOffice has the part that opens presentations."""

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
    given = folder / "given"
    given.mkdir()
    for name, content in workbooks.items():
        (given / f"{name}.xlsx").write_bytes(content)
    made = _converted(sorted(given.iterdir()), "xlsx", folder)
    return {name: opened((made / f"{name}.xlsx").read_bytes(), values=True) for name in workbooks}


def pictures(content: bytes, suffix: str, folder: Path, *, dpi: int) -> list[Image.Image]:
    """The pages of a PDF, or the slides of a presentation as LibreOffice draws them, in grey."""
    if DRAWS_PAGES is None or (suffix == ".pptx" and not DRAWS_SLIDES):
        pytest.skip("poppler or LibreOffice Impress is not installed")
    file = folder / f"given{suffix}"
    file.write_bytes(content)
    if suffix != ".pdf":
        file = _converted([file], "pdf", folder) / "given.pdf"
    subprocess.run(
        [DRAWS_PAGES, "-r", str(dpi), "-gray", "-png", str(file), str(folder / "page")],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return [Image.open(page).convert("L") for page in sorted(folder.glob("page-*.png"))]


def _converted(files: Sequence[Path], kind: str, folder: Path) -> Path:
    """The folder in which LibreOffice has saved the files as another kind."""
    assert PROGRAM is not None
    made = folder / "made"
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    subprocess.run(
        [PROGRAM, "--headless", profile, "--convert-to", kind, "--outdir", str(made), *map(str, files)],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return made
