"""Simulations that run beside the page: started by a button, watched by a fragment, cancelled by another button."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sizing.errors import SizingError
from sizing.scenario.schema import Scenario

if TYPE_CHECKING:  # the simulator's compiler would slow down the start of every page
    from sizing.simulation.result import SimulationResult

AT_ONCE = 2
"""Simulations at once, over all sessions; more wait for their turn."""

MAX_TRACE_MB = 64
HOURS = 1.0


@dataclass(kw_only=True, eq=False)
class Job:
    """One simulation of a scenario, possibly of a trace; ``share`` is how far it has come."""

    scenario: Scenario
    trace_name: str = ""
    share: float = 0.0
    cancelled: threading.Event = field(default_factory=threading.Event)
    future: Future[SimulationResult] | None = None

    @property
    def done(self) -> bool:
        """Whether there is a result, or a problem."""
        return self.future is not None and self.future.done()

    def cancel(self) -> None:
        """Stop at the next look, or before the start."""
        self.cancelled.set()

    def heard(self, share: float) -> bool:
        """What the simulation calls between two chunks."""
        self.share = share
        return not self.cancelled.is_set()

    def outcome(self) -> SimulationResult | str:
        """The result, or in a sentence why there is none."""
        assert self.future is not None
        try:
            return self.future.result()
        except SizingError as error:
            return str(error)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="simulation")


def start(scenario: Scenario, *, trace_name: str = "", trace: bytes | None = None) -> Job:
    """Start to simulate an hour of the scenario, or the trace of an uploaded file."""
    job = Job(scenario=scenario, trace_name=trace_name)
    job.future = _pool().submit(_simulated, job, trace)
    return job


def _simulated(job: Job, content: bytes | None) -> SimulationResult:
    from sizing.question import understand
    from sizing.simulation.run import simulate
    from sizing.simulation.trace import read_trace

    if content is None:
        return simulate(job.scenario, hours=HOURS, progress=job.heard)
    with TemporaryDirectory() as folder:
        path = Path(folder) / Path(job.trace_name).name
        path.write_bytes(content)
        trace = read_trace(path, max_tokens=understand(job.scenario).model.max_context)
    return simulate(job.scenario, trace=trace, progress=job.heard)
