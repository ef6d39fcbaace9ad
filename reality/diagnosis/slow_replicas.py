"""Which replicas are slower than their peers at equal load, and which get more of the load."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from collectors.questions.details import ReplicaDetails
from collectors.questions.devices import Device
from sizing.base.arrays import Floats
from sizing.simulator.fleet import Replica

SLOWER = 1.15
"""Times as long as those of its peers from which the steps of a replica are slow. Chosen: load explains the rest."""
THROTTLED = 1.06
"""How many times as slow a replica has to be where its GPUs say themselves that they are slowed down."""
SLOW_CLOCK = 0.9
"""Share of the median SM clock below which a busy GPU runs slow."""
FEWEST_GAPS = 200.0
"""Gaps between tokens from which the mean of a replica says something."""
UNEVEN = 0.12
"""Difference of a replica's share from an even one, relative, from which the load is unevenly shared."""
SURE = 4.0
"""Standard errors of a share beyond which it is no chance."""
LEAST_SHARE = 1e-3
"""Load of a replica at least, relative to an even share, so that its logarithm exists."""
LEAST_BUSY = 0.05
"""Share of time with kernels below which a clock says nothing: an idle GPU clocks down."""


@dataclass(frozen=True, kw_only=True)
class ReplicaSlowness:
    """Of every replica, by name: how many times as long its steps take (1: ordinary), its load relative to an even one
    (1: even), and whether that is so by its slowness alone; ``throttled``: GPUs that are slowed down."""

    names: tuple[str, ...]
    slowness: tuple[float, ...]
    shares: tuple[float, ...]
    throttled: tuple[Device, ...]
    error: float

    @property
    def slow(self) -> tuple[str, ...]:
        """Replicas that are slower than their peers."""
        return tuple(name for name, slow in zip(self.names, self.slowness, strict=True) if slow != 1.0)

    @property
    def uneven(self) -> bool:
        """Whether replicas get other shares than even ones."""
        return any(share != 1.0 for share in self.shares)


def fleet_of(
    replicas: Sequence[ReplicaDetails],
    devices: Sequence[Device],
    model: Replica,
    *,
    context: float,
    prompt: float,
    window_s: float,
) -> ReplicaSlowness:
    """What tells the replicas apart; ``model``: an ordinary one, ``context`` tokens of a sequence, ``prompt`` new
    tokens of a request."""
    throttled = slowed_down(devices)
    known = [one for one in replicas if one.gap_s and (one.gaps or 0.0) >= FEWEST_GAPS and one.running is not None]
    names = tuple(one.name for one in replicas)
    slow_places = {place for device in throttled for place in (device.pod, device.host) if place}
    full_speed = [not slow_places & places_of(one) for one in known]
    relative = dict(zip([one.name for one in known], _relative(known, full_speed, model, context, prompt), strict=True))
    slowness = []
    for one in replicas:
        ratio = relative.get(one.name, 1.0)
        least = THROTTLED if slow_places & places_of(one) else SLOWER
        slowness.append(ratio if ratio >= least else 1.0)
    fewest = min((one.gaps or 1.0 for one in known), default=1.0)
    return ReplicaSlowness(
        names=names,
        slowness=tuple(slowness),
        shares=_shares(replicas, window_s),
        throttled=throttled,
        error=0.02 + 1.0 / math.sqrt(fewest),
    )


def _relative(
    known: Sequence[ReplicaDetails], full_speed: Sequence[bool], model: Replica, context: float, prompt: float
) -> list[float]:
    """Gap of each replica over what its load explains, relative to its ordinary peers. ``full_speed``: whether no GPU
    of it says that it is slowed down.

    gap = r x (decode(n) + requests/s x gap x prompt time): n sequences, and the prompts that arrive within a gap.
    """
    ratios = []
    for one in known:
        gap, rate = one.gap_s or 0.0, one.first_tokens_rps or 0.0
        decode = decode_s(model, one.running or 0.0, context)
        ratios.append(gap / max(decode + rate * gap * prompt_s(model, prompt), 1e-9))
    if len(ratios) < 2:
        return [1.0] * len(ratios)
    peers = [ratio for ratio, full in zip(ratios, full_speed, strict=True) if full] or ratios
    usual = float(np.mean(_faster(peers)))
    return [ratio / usual for ratio in ratios]


def _faster(ratios: Sequence[float]) -> list[float]:
    """Those that are as fast as each other, the fastest, where they are half of all or more; else those around the
    middle. A median alone would call half of the replicas ordinary whichever half that is."""
    ordered = sorted(ratios)
    ends = [i + 1 for i, (a, b) in enumerate(pairwise(ordered)) if b > a * SLOWER]
    if ends and 2 * ends[0] >= len(ordered):
        return ordered[: ends[0]]
    middle = float(np.median(ordered))
    return [ratio for ratio in ordered if ratio <= middle * SLOWER]


def decode_s(model: Replica, running: float, context: float) -> float:
    """A decode step of ``running`` sequences at a mean context, in seconds."""
    grid = model.grid
    at_context = np.array([np.interp(context, grid.knots, row) for row in grid.decode_s])
    return float(np.interp(max(running, 1.0), np.arange(len(at_context)), at_context))


def prompt_s(model: Replica, prompt: float) -> float:
    """What the new tokens of a prompt add to the steps they ride on, in seconds."""
    grid = model.grid
    pairs: Floats = np.array([prompt * prompt / 2.0])
    return float(np.interp(prompt, grid.row_knots, grid.row_s) + pairs[0] * grid.full_pair_s + prompt * grid.token_s)


def places_of(one: ReplicaDetails) -> set[str]:
    """Names under which the GPUs of a replica may be known: its pod, or its host."""
    return {one.name, one.labels.get("pod", ""), one.labels.get("instance", "").split(":")[0]} - {""}


def _shares(replicas: Sequence[ReplicaDetails], window_s: float) -> tuple[float, ...]:
    """Load of each replica relative to an even share; all 1 where chance explains it."""
    rates = np.array([one.arrivals_rps or 0.0 for one in replicas])
    if len(rates) < 2 or not rates.sum() > 0:
        return (1.0,) * len(rates)
    relative = rates / rates.mean()
    chance = SURE / math.sqrt(max(float(rates.mean()) * window_s, 1.0))
    if float(np.abs(relative - 1.0).max()) < max(UNEVEN, chance):
        return (1.0,) * len(rates)
    return tuple(float(max(value, LEAST_SHARE)) for value in relative)


def follows_speed(fleet: ReplicaSlowness) -> bool:
    """Whether the load is uneven because slower replicas get less of it, as behind a balancer that looks at load."""
    pairs = list(zip(fleet.slowness, fleet.shares, strict=True))
    slow = [share for slow, share in pairs if slow != 1.0]
    others = [share for slow, share in pairs if slow == 1.0]
    if not slow or not others:
        return False
    even = max(others) - min(others) < UNEVEN * 2.0
    return even and max(slow) < min(others)


def slowed_down(devices: Sequence[Device]) -> tuple[Device, ...]:
    """GPUs with a reason to be slow that should not be, or a clock far below that of the others while they work."""
    clocks = [clock for one in devices if (clock := _busy_clock(one)) is not None]
    usual = float(np.median(clocks)) if clocks else math.nan
    highest = max(clocks, default=math.nan)
    slow = []
    for one in devices:
        clock = _busy_clock(one)
        behind = clock is not None and clock < SLOW_CLOCK * max(usual, SLOW_CLOCK * highest)
        if one.harmful_causes or behind:
            slow.append(one)
    return tuple(slow)


def _busy_clock(one: Device) -> float | None:
    busy = one.values.get("busy")
    clock = one.values.get("sm_clock")
    return clock if clock and (busy is None or busy > LEAST_BUSY) else None
