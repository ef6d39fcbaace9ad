"""A server of the HTTP API, started as a user starts it."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def serving(*options: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """``python -m api http`` on a free port; its address."""
    command = [sys.executable, "-m", "api", "http", "--port", "0", *options]
    with answering(command, cwd=ROOT, environment=environment) as address:
        yield address


@contextlib.contextmanager
def answering(
    command: Sequence[str | Path], *, cwd: Path, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """A command that serves the API; the address that it prints."""
    process = subprocess.Popen(
        command, cwd=cwd, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        yield line.split()[-1].removesuffix("/openapi.json")
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with serving() as address:
        yield address
