"""Runs kept in memory: questions that differ in a limit or a price simulate the same requests on the same instances.

A kept run is taken only where a simulation would have ended the same way, and it counts as work as if it had been
simulated: no answer depends on what was asked before.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial

from sizing.simulator import run_length
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Fleet
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import UNLIMITED
from sizing.simulator.request_lengths import DrawnLengths, RequestLengths

KEPT_RUNS = 256
"""Runs kept, some 0.1 MB each. Chosen: moving every input of a scenario to both ends takes 30 to 200."""


class KeptRuns:
    """The runs used last, ``most`` of them; safe to use from several threads."""

    def __init__(self, most: int = KEPT_RUNS) -> None:
        self._most, self._lock = most, threading.Lock()
        self._runs: OrderedDict[Hashable, SimulationCounts] = OrderedDict()

    def run(
        self,
        fleet: Fleet,
        arrivals: Arrivals,
        lengths: RequestLengths,
        requests: int,
        seed: int,
        *,
        most_events: int = UNLIMITED,
    ) -> SimulationCounts:
        """As :func:`run_length.run`, of equal replicas without failures.

        A trace may be large: what was drawn from one is not kept, because the trace would be, too.
        """
        simulate = partial(run_length.run, fleet, arrivals, lengths, requests, seed)
        if not isinstance(lengths, DrawnLengths):
            return simulate(most_events=most_events)
        key = (fleet.replicas, fleet.routing, arrivals, lengths, requests, seed)
        return self.kept(key, lambda most: simulate(most_events=most), most_events)

    def kept(
        self, key: Hashable, simulate: Callable[[int], SimulationCounts], most_events: int = UNLIMITED
    ) -> SimulationCounts:
        """What ``simulate`` counts, told how much work it may do; ``key`` holds all that decides it.

        A run that the work allowed has cut short is not kept.
        """
        known = self._known(key)
        if known is not None and known.events < most_events:
            return known
        outcome = simulate(most_events)
        if not outcome.exhausted:
            self._keep(key, outcome)
        return outcome

    def _known(self, key: Hashable) -> SimulationCounts | None:
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
            return self._runs.get(key)

    def _keep(self, key: Hashable, kept: SimulationCounts) -> None:
        with self._lock:
            self._runs[key] = kept
            while len(self._runs) > self._most:
                self._runs.popitem(last=False)
