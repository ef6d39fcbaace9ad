"""What a command writes is whole, or nothing is written."""

import argparse
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from commandline.arguments import number, rounded, whole
from commandline.files import replacing


def full_disk(place: Path) -> None:
    place.write_text("hal")
    raise OSError(28, "No space left on device")


def broken(place: Path) -> None:
    place.write_text("hal")
    raise ValueError("a bug")


@pytest.mark.parametrize("write", [full_disk, broken])
@pytest.mark.parametrize("before", ["whole", None])
def test_a_write_that_fails_leaves_all_as_it_was(
    tmp_path: Path, write: Callable[[Path], None], before: str | None
) -> None:
    path = tmp_path / "plan.csv"
    if before:
        path.write_text(before)
    with pytest.raises((OSError, ValueError)), replacing(path) as place:
        write(place)
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == ({"plan.csv": before} if before else {})


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*/plan.csv'$"),
        replacing(tmp_path / "plan.csv") as p,
    ):
        full_disk(p)
    with pytest.raises(FileNotFoundError, match=r"'.*/none/plan.csv'$"), replacing(tmp_path / "none" / "plan.csv"):
        pass


def test_the_new_file_has_the_name_for_its_writer_and_the_rights_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv.gz"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as place:
        assert place.name == path.name
        place.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_rights_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "any").write_text("")
    with replacing(tmp_path / "plan.csv") as place:
        place.write_text("new")
    assert (tmp_path / "plan.csv").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("folder/real.csv")
    with replacing(tmp_path / "link.csv") as place:
        place.write_text("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "folder" / "real.csv").read_text() == "new"


def test_a_pipe_is_written(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.csv")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with replacing(pipe) as place:
        place.write_text("new")
    reader.join()
    assert read == ["new"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (whole(0, 10), "0", 0),
        (whole(0, 10), "10", 10),
        (number("a time", 0.2, 5.0), "0.2", 0.2),
        (number("a time", 0.0, 5.0, above=True), "1e-3", 0.001),
        (rounded("a port", 0, 65535), "80.9", 80),
    ],
)
def test_within_the_bounds(read: Callable[[str], float], text: str, value: float) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "texts", "told"),
    [
        (whole(1, 1000), ("0", "1001", "1.5", "-1", "²", "x", ""), "must be a whole number from 1 to 1000"),
        (whole(0, 2**32 - 1), ("4294967296",), "must be a whole number from 0 to 4,294,967,295"),
        (number("a time", 0.2, 2_592_000), ("0.1", "nan", "inf", "x"), "must be a time from 0.2 to 2592000"),
        (number("a time", 0.0, 10_080, above=True), ("0", "nan", "10081"), "must be a time above 0 and up to 10080"),
        (rounded("a port", 0, 65535), ("-1", "65536", "x"), "must be a port from 0 to 65535"),
    ],
)
def test_out_of_bounds(read: Callable[[str], float], texts: tuple[str, ...], told: str) -> None:
    for text in texts:
        with pytest.raises(argparse.ArgumentTypeError) as error:
            read(text)
        assert str(error.value) == told
