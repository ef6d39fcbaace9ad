"""How long an answer serves (time to live). A large fleet is read in turns, to spare its Prometheus.

What hardly changes (metric names, places of GPUs, capacities) serves for a minute. Of a fleet, everything has its turn
once a minute, so that no refresh (every 15 s) asks for all: rates and gauges of the engines first, then quantiles, sums
over GPUs, single GPUs. Whatever the turn, it is about the full minute before it: lines have their points there, so one
answer serves both, and all values of a minute belong together. Capacities have their turn every five minutes. Which
replicas there are is asked at every refresh. Samples keep the moment they are about: that is how their age is known.
"""

import math
from dataclasses import dataclass

FLEET_REPLICAS = 500
"""From here on a query touches so many series that answers are shared and only what is needed is asked for.
Chosen: far above an ordinary deployment, far below the 2,000 replicas of the bench."""
MINUTE_S = 60.0
"""Seconds that an answer which hardly changes serves. Chosen: four refreshes."""
GRID_S = 60.0
"""A fleet's turns are about full minutes, and its lines have their points there. Chosen: four refreshes of 15 s."""
LONGEST_S = 300.0
"""Between two turns of what hardly changes in a fleet. Chosen: five of its minutes."""
REFRESH_S = 15.0
"""Between two turns: the pages refresh this often."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """An answer holds until its next turn: at every ``period_s``, ``phase_s`` after a whole multiple of it.

    ``phase_s`` None: until ``period_s`` after the moment it is about.
    """

    period_s: float
    phase_s: float | None = None

    @property
    def absence(self) -> bool:
        """Whether an empty answer is kept, too: of what has its turn every minute."""
        return self.phase_s is not None and self.period_s == GRID_S

    def about(self, at_s: float) -> float:
        """The moment that a question asked at ``at_s`` is about: the full minute at which its turn began."""
        if self.phase_s is None:
            return at_s
        begun = math.floor((at_s - self.phase_s) / self.period_s) * self.period_s + self.phase_s
        return math.floor(begun / GRID_S) * GRID_S

    def holds(self, held_s: float, at_s: float) -> bool:
        """Whether what is known about ``held_s`` still stands at ``at_s``: no turn came in between."""
        if self.phase_s is None:
            return 0 <= at_s - held_s < self.period_s
        return self.about(at_s) <= held_s <= at_s

    def follows(self, held_s: float, at_s: float) -> bool:
        """Whether the turn at ``at_s`` is the one after what is known: longer ago, all is read anew."""
        return 0 <= self.about(at_s) - held_s <= self.period_s


@dataclass(frozen=True, kw_only=True)
class Ttl:
    """When the answer to a query is asked for again, of one deployment and of a fleet; None: at every new moment."""

    single: Turn | None = None
    fleet: Turn | None = None

    def turn(self, *, fleet: bool) -> Turn | None:
        """The turn by which a query is asked again, of a fleet or of one deployment."""
        return self.fleet if fleet else self.single

    def lag(self, step_s: float, *, fleet: bool) -> float:
        """Seconds after its moment at which a point of a line is asked for: its turn, where lines have a point a
        minute."""
        turn = self.turn(fleet=fleet)
        phased = fleet and turn is not None and turn.period_s == step_s == GRID_S
        return turn.phase_s or 0.0 if phased and turn is not None else 0.0


def _each_minute(place: int) -> Ttl:
    return Ttl(fleet=Turn(period_s=GRID_S, phase_s=REFRESH_S * place))


def slow(place: int) -> Ttl:
    """Of what hardly changes; ``place`` tells the five-minute turns of a fleet apart, so that they spread."""
    return Ttl(single=Turn(period_s=MINUTE_S), fleet=Turn(period_s=LONGEST_S, phase_s=REFRESH_S + REFRESH_S * place))


EVERY_MOMENT = Ttl()
FIRST, SECOND, THIRD, FOURTH = (_each_minute(place) for place in range(4))
"""The turns within a minute of a fleet: rates and gauges; quantiles; sums over GPUs; single GPUs and the rest."""
GPU_PLACES = Ttl(single=Turn(period_s=MINUTE_S), fleet=Turn(period_s=LONGEST_S, phase_s=2 * GRID_S))
GPU_COUNT = Ttl(fleet=GPU_PLACES.fleet)
"""Where GPUs are and how many; the turn lies between those of capacities. Chosen: at the second minute."""
