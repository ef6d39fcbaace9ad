"""How much a search may simulate: counted in work, not in seconds, so that an answer is the same on every machine."""

from dataclasses import dataclass

from sizing.simulator.outcome import SimulationCounts

MOST_WORK = 12_000_000
"""Events and requests of all simulations behind one answer. Chosen: some two seconds of one core; the presets and their
like take a tenth of it."""

WORK_PER_RUN = 20_000
"""What a run takes beside its events: counting percentiles. Chosen: 2 ms at ten million events a second."""


class OutOfWork(Exception):
    """All the work that an answer may take is done; what was not decided by then is not decided."""


@dataclass
class Work:
    """What is left of the work that a search may do."""

    left: int = MOST_WORK

    def spend(self, events: int, requests: int) -> None:
        """A run has taken so many events, for so many requests. Raises OutOfWork when that was all there is."""
        self.left -= events + requests + WORK_PER_RUN
        if self.left <= 0:
            raise OutOfWork

    def spend_on(self, outcome: SimulationCounts) -> None:
        """As :meth:`spend`; raises OutOfWork, too, where the run could not be ended."""
        self.spend(outcome.events, outcome.arrived)
        if outcome.exhausted:
            raise OutOfWork
