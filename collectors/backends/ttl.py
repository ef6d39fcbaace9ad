"""How long an answer is believed, by what was asked. A large fleet is read in turns, to spare its Prometheus.

What hardly changes (metric names, places of GPUs, capacities) is believed for a minute. Of a fleet, everything has its
turn once a minute, so that no refresh (every 15 s) asks for all: rates and gauges of the engines first, then quantiles,
sums over GPUs, single GPUs. Whatever the turn, it is about the full minute before it: lines have their points there, so
one answer serves both, and all values of a minute belong together. Capacities have their turn every five minutes. Which
replicas there are is asked at every refresh. Samples keep the moment they are about: that is how their age is known.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from collectors.vocabulary.schema import DISTRIBUTIONS, SCALARS

FLEET_REPLICAS = 500
"""From here on a query touches so many series that answers are shared and only what is needed is asked for."""
BELIEVED_S = 60.0
GRID_S = 60.0
"""A fleet's turns are about full minutes, and its lines have their points there."""
LONGEST_S = 300.0

SLOW = (
    "names",
    "gpu_names",
    "engines",
    "instances",
    "kv_capacity_tokens",
    "max_concurrency",
    "gpu/memory_free.0",
    "gpu/memory_reserved.0",
    "gpu/memory_total.0",
    "gpu/power_cap.0",
    "gpu/power_cap.1",
    "gpu/ecc_uncorrected.0",
    "gpu/ecc_uncorrected.1",
    "gpu/row_remap_failure.0",
    "gpu/engine_active.0",
    "device_labels",
    "power_cap.0",
    "power_cap.1",
    "ecc_corrected.0",
    "ecc_corrected.1",
    "ecc_uncorrected.0",
    "ecc_uncorrected.1",
)
"""Keys of expressions whose answer is believed for a minute; so are those that begin with ``gpu_places.``"""

SECOND = (
    "ttft.buckets",
    "itl.buckets",
    "e2e.buckets",
    "ttft.sum",
    "ttft.count",
    "itl.sum",
    "itl.count",
    "e2e.sum",
    "e2e.count",
    "gpu/memory_used.0",
    "gpu/sm_clock.0",
    "throttle_reasons.0",
    "throttle_reasons.1",
)
THIRD = (
    "gpu/busy.0",
    "gpu/sm_active.0",
    "gpu/tensor_active.0",
    "gpu/dram_active.0",
    "gpu/power.0",
    "gpu/temperature.0",
    "xid.0",
    "oldest",
    "scrapes",
    "newest_then",
)
FOURTH = (
    "gpu/devices.0",
    "gpu/partitions.0",
    "gpu/xid.0",
    "gpu/throttle_reasons.0",
    "gpu/throttle_reasons.1",
    "busy.0",
    "engine_active.0",
    "sm_active.0",
    "tensor_active.0",
    "dram_active.0",
    "memory_used.0",
    "power.0",
    "temperature.0",
    "memory_temperature.0",
    "sm_clock.0",
    *(
        f"{key}.{part}"
        for key in ("tpot", "queue", "prefill", "decode", "input_tokens", "output_tokens")
        for part in ("sum", "count", "zeros")
    ),
)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """An answer holds until its next turn: at every ``period_s``, ``phase_s`` after a whole multiple of it.

    ``phase_s`` None: until ``period_s`` after the moment it is about.
    """

    period_s: float
    phase_s: float | None = None

    @property
    def absence(self) -> bool:
        """Whether it is believed, too, that there is nothing: of what has its turn every minute."""
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


def _fleet_turns() -> dict[str, Turn]:
    found = {
        key: Turn(period_s=GRID_S, phase_s=15.0 * n)
        for n, keys in enumerate((SECOND, THIRD, FOURTH), start=1)
        for key in keys
    }
    return found | {key: Turn(period_s=LONGEST_S, phase_s=15.0 + 15.0 * i) for i, key in enumerate(SLOW)}


_FLEET = _fleet_turns()
_PLACES = Turn(period_s=LONGEST_S, phase_s=120.0)
_MINUTE = Turn(period_s=BELIEVED_S)
_FIRST = Turn(period_s=GRID_S, phase_s=0.0)
_ENGINE = re.compile(rf"(?:replica\.)?(?:{'|'.join((*SCALARS, *DISTRIBUTIONS))})(?:_max|_min|_growth|\.\w+)?")


def turn_of(key: str, *, fleet: bool) -> Turn | None:
    """When the answer to an expression is asked for again; None: at every new moment."""
    places = key.startswith("gpu_places.")
    if fleet:
        first = _FIRST if key == "answering" or _ENGINE.fullmatch(key) else None
        return _PLACES if places or key.startswith("gpu_devices.") else _FLEET.get(key, first)
    return _MINUTE if places or key in SLOW else None


def lag_of(key: str, step_s: float, *, fleet: bool) -> float:
    """How long after its moment a point of a line is asked for: at the turn, where lines have a point every minute."""
    turn = turn_of(key, fleet=fleet)
    phased = fleet and turn is not None and turn.period_s == step_s == GRID_S
    return turn.phase_s or 0.0 if phased and turn is not None else 0.0
