from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.benchmarks import BenchmarkRun, Imported, read_benchmark

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def samples() -> Path:
    return SAMPLES


@pytest.fixture
def read() -> Callable[[str], Imported]:
    """One sample file through the importer."""
    return lambda name: read_benchmark((SAMPLES / name).read_bytes(), name)


@pytest.fixture
def point(read: Callable[[str], Imported]) -> Callable[[str], BenchmarkRun]:
    """The single point of a sample that has no errors."""

    def only(name: str) -> BenchmarkRun:
        imported = read(name)
        assert imported.errors == ()
        assert len(imported.points) == 1
        return imported.points[0]

    return only
