"""What worker processes are asked in tests of long questions; it loads nothing, so that they start fast."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

LOOK_S = 0.01
SHARE = 0.25
"""What is said to be done, whenever."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL


def nothing() -> None:
    """Nothing to prepare."""


def short(question: str, brief: bool) -> tuple[str, int]:
    """In place of a plan: who computed it."""
    time.sleep(LOOK_S)
    return question, os.getpid()


def held_plan(folder: Path, number: int) -> None:
    """In place of a plan: begins once ``plans.go`` is there, and leaves a byte in ``plans``."""
    while not (folder / "plans.go").exists():
        time.sleep(LOOK_S)
    with (folder / "plans").open("a") as done:
        done.write("x")


def work(folder: Path, name: str, *, progress: Callable[[float], bool]) -> tuple[str, int]:
    """Goes on until it is stopped, which leaves ``NAME.stopped``, or the file ``NAME.go`` is there; one more byte in
    ``NAME`` for each time, and in ``NAME.after`` how many held plans there were before."""
    plans = folder / "plans"
    (folder / f"{name}.after").write_text(str(len(plans.read_text()) if plans.exists() else 0))
    with (folder / name).open("a") as begun:
        begun.write("x")
    if name == "dies once" and (folder / name).read_text() == "x":
        os.kill(os.getpid(), KILL)
    while not (folder / f"{name}.go").exists():
        if not progress(SHARE):
            (folder / f"{name}.stopped").touch()
            return "stopped", os.getpid()
        time.sleep(LOOK_S)
    return "finished", os.getpid()
