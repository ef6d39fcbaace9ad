"""Kernel tables, where they are installed."""

import pytest

from sizing.steps import kernel_engines
from sizing.steps.kernel import KernelTables


@pytest.fixture
def tables() -> KernelTables:
    pytest.importorskip("aiconfigurator_core")
    return KernelTables()


@pytest.fixture
def fresh_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile again: nothing that another test left in the process is used."""
    monkeypatch.setattr(kernel_engines, "_ENGINES", type(kernel_engines._ENGINES)())
    monkeypatch.setattr(kernel_engines, "_ABSENT", {})
