"""The files of a plan in a folder that is nobody else's, or in one zip."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from sharing.errors import ForeignFolder
from sharing.manifests.bundle import INDEX

SAME_DAY = (1980, 1, 1, 0, 0, 0)
"""The time that every file in a zip has, so that the same plan makes the same bytes."""
READABLE = 0o644 << 16

PART = ".new-"
"""How the name of a file begins until all are written."""


def write_folder(contents: Mapping[str, str], folder: Path) -> None:
    """Write the files; a folder may be new, empty, or hold an earlier export that nobody has changed since.

    Raises ForeignFolder for any other, and for a link in the place of the folder or of a file; nothing is written then,
    nor where one of the files cannot be written.
    """
    if folder.is_symlink():
        raise ForeignFolder(f"{folder} is a link: name the folder that it leads to.")
    if folder.exists() and not folder.is_dir():
        raise ForeignFolder(f"{folder} is a file: name a folder.")
    before = _earlier(folder) if folder.is_dir() else ()
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _write(contents, place)
        for name in contents:
            os.replace(PART + name, name, src_dir_fd=place, dst_dir_fd=place)
        for name in set(before) - contents.keys():
            os.unlink(name, dir_fd=place)
    finally:
        os.close(place)


def _write(contents: Mapping[str, str], place: int) -> None:
    """Write every file beside its place in an open folder; none where one of them cannot be written."""
    begun = []
    try:
        for name, text in contents.items():
            made = os.open(PART + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=place)
            begun.append(PART + name)
            with os.fdopen(made, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except BaseException:
        for name in begun:
            os.unlink(name, dir_fd=place)
        raise


def _earlier(folder: Path) -> tuple[str, ...]:
    """The files of an earlier export. Raises ForeignFolder where anything else is there, or one was changed."""
    present = sorted(folder.iterdir())
    sums = _sums(folder / INDEX)
    for path in present:
        if path.is_symlink() or not path.is_file():
            raise ForeignFolder(f"{folder} holds {path.name}, which no export wrote: name another folder.")
        own = (path.name == INDEX and sums) or sums.get(path.name) == hashlib.sha256(path.read_bytes()).hexdigest()
        if not own:
            changed = "which was changed since it was exported" if path.name in sums else "which no export wrote"
            raise ForeignFolder(f"{folder} holds {path.name}, {changed}: name another folder.")
    return tuple(path.name for path in present)


def _sums(index: Path) -> dict[str, str]:
    """What an earlier export wrote; nothing where there was none."""
    if index.is_symlink() or not index.is_file():
        return {}
    try:
        sums = json.loads(index.read_text(encoding="utf-8"))["sha256"]
    except (ValueError, KeyError, TypeError):
        return {}
    return sums if isinstance(sums, dict) else {}


def zipped(contents: Mapping[str, str]) -> bytes:
    """The files as one zip: the same plan, the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, SAME_DAY)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, READABLE
            archive.writestr(entry, text)
    return made.getvalue()
