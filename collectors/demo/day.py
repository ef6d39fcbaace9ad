"""The day of the demo: load by the hour, and what goes wrong when."""

import math
from dataclasses import dataclass

from collectors.units import S_PER_DAY, S_PER_HOUR

PEAK_RPS = 16.0
"""Requests/s at the peak of the day. Chosen: what four replicas carry."""
NIGHT_SHARE = 0.12
"""Share of the peak that is left at night. Chosen: some people and jobs are always awake."""
BUMPS = ((10.5, 1.8, 1.0), (15.0, 2.2, 0.93), (20.5, 1.6, 0.35))
"""(hour, width in hours, height) of the bumps of a working day, before scaling to the peak. Chosen: a morning, an
afternoon and an evening at home."""

# Chosen: a chat with documents.
INPUT_TOKENS, OUTPUT_TOKENS = 1_800.0, 260.0
"""Median lengths of prompt and output, in tokens."""
INPUT_SPREAD, OUTPUT_SPREAD = 0.55, 0.7
"""Sigma of the lognormal that lengths follow: answers differ more than prompts."""
CACHE_HITS = 0.45
"""Share of prompt tokens that the prefix cache holds: the system prompt and the earlier turns."""
BURST = 1.45
"""Load during the burst, as a multiple of the hour's. Chosen: more than the replicas carry."""
CACHE_HITS_AFTER_CHANGE = 0.05
"""Cache hits while a new system prompt is not cached yet."""


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Something that goes wrong between two hours of the day."""

    kind: str
    start_h: float
    end_h: float
    text: str


INCIDENTS = (
    Incident(kind="cache", start_h=9.0, end_h=9.5, text="a new system prompt: prefix cache hits fall from 45 to 5 %"),
    Incident(kind="burst", start_h=11.0, end_h=11.25, text="a burst: half as much load again"),
    Incident(kind="lost", start_h=13.5, end_h=13.75, text="replica 3 is lost with XID 79 and comes back"),
    Incident(kind="slow", start_h=16.0, end_h=17.0, text="a GPU of replica 1 throttles from heat"),
)


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What holds at one moment: arrivals a second, share of cached prompt tokens, lost and slow replicas."""

    arrivals_rps: float
    cache_hits: float
    lost: frozenset[int]
    slow: frozenset[int]


def load_share(hour: float) -> float:
    """Load at an hour of the day as a share of the peak, between the night's level and about 1."""
    bumps = sum(
        height * math.exp(-((((hour - centre + 12.0) % 24.0 - 12.0) / width) ** 2) / 2.0)
        for centre, width, height in BUMPS
    )
    return NIGHT_SHARE + (1.0 - NIGHT_SHARE) * min(1.0, bumps)


def conditions_at(second_of_day: float) -> Conditions:
    """Load and incidents at a second of the day."""
    hour = second_of_day % S_PER_DAY / S_PER_HOUR
    active = {i.kind for i in INCIDENTS if i.start_h <= hour < i.end_h}
    burst = BURST if "burst" in active else 1.0
    return Conditions(
        arrivals_rps=PEAK_RPS * load_share(hour) * burst,
        cache_hits=CACHE_HITS_AFTER_CHANGE if "cache" in active else CACHE_HITS,
        lost=frozenset({3}) if "lost" in active else frozenset(),
        slow=frozenset({1}) if "slow" in active else frozenset(),
    )
