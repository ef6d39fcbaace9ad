"""Files that commands write: whole, or as they were before."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The place of a file of the same name, which takes that of ``path`` once it is written without an error.

    Until then, and after an error, ``path`` is what it was. A link leads to the file that is replaced; what is no file
    (a pipe, /dev/stdout) is written itself. Raises OSError that names ``path``.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))
    try:
        with TemporaryDirectory(dir=target.parent, prefix=f".{target.stem[:32]}-") as folder:
            made = Path(folder) / target.name
            yield made
            if target.exists():
                shutil.copymode(target, made)
            made.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
