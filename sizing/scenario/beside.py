"""Files that a scenario file names: they stand beside it, or in a folder below."""

from pathlib import Path


def path_beside(folder: Path, name: str) -> Path:
    """The path of a file that a scenario in ``folder`` names. Raises ValueError for a name that leads elsewhere.

    A scenario may come from somebody else, through a page too: it must not read what is not its own.
    """
    path = Path(name)
    if path.anchor or ".." in path.parts:
        raise ValueError("leads to another folder")
    return folder / path
