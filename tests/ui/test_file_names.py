"""Files that are dropped may be called anything."""

from pathlib import Path

import pytest

from ui.inputs.trace import plain_name

NAMES = [
    "../../etc/passwd.csv",
    "..",
    ".",
    "",
    "/",
    "a\0b.csv",
    "x" * 300 + ".parquet",
    "\U0001f600" * 300 + ".csv",
    "a\nb.gz",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_be_called_anything(tmp_path: Path, name: str) -> None:
    path = tmp_path / plain_name(name)
    path.write_bytes(b"content")
    assert path.parent == tmp_path
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"content"]
    assert path.suffix == Path(name).suffix or "." not in Path(name).name.lstrip(".")


def test_a_usual_name_stays() -> None:
    assert plain_name("Azure trace (2024).csv.gz") == "Azure trace (2024).csv.gz"
