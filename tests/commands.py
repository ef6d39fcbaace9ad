"""The command lines of the packages: as a call, which takes milliseconds, or as the process that a user starts."""

import contextlib
import importlib
import io
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import yaml

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]


def run(package: str, *arguments: object) -> CompletedProcess[str]:
    """What ``python -m PACKAGE ARGUMENTS`` prints and returns, without the process."""
    words = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = importlib.import_module(f"{package}.cli").main(words)
        except SystemExit as stopped:  # argparse leaves so
            code = stopped.code
    return CompletedProcess(words, code, out.getvalue(), err.getvalue())


def run_process(package: str, *arguments: object, **options: Any) -> CompletedProcess[str]:
    """``python -m PACKAGE ARGUMENTS`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", package, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **options,
    )


def source_file(folder: Path, **raw: object) -> str:
    """A SOURCE.yaml in the folder; its path."""
    file = folder / "source.yaml"
    file.write_text(yaml.safe_dump({"schema_version": 1, "name": "test", **raw}))
    return str(file)
