"""The ends of the interval of every predicted measurement.

A closed loop, a static batch, an offline run and a rate have the held-out errors of their own protocol. What an open
loop measures bends where its load nears what the engine carries: the same error of step times is small at half load and
a multiple near capacity. So its latencies are simulated with the step times at both ends of their interval, decode
steps of closed loops and prompts of static batches, as a plan's are (``sizing.planning.spread``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, Floats
from sizing.base.units import MS_PER_S
from sizing.evidence.cases import PredictionCase, case_of
from sizing.evidence.error_factors import NORMAL
from sizing.evidence.open_loop import run_requests, stable_stretched, stretched_rate
from sizing.evidence.point_table import AnySource, PointTable
from sizing.evidence.points import OPEN_LOOP
from sizing.evidence.uncertainty import LOAD_NAMES, MEASURES, ErrorMetric, beyond, capacity_exponents, stratum_interval
from sizing.simulator.run_length import HEAVIEST

OUTPUTS: Mapping[str, ErrorMetric] = MappingProxyType(
    {
        "ttft_ms": "ttft",
        "ttft_p99_ms": "ttft",  # published ones are too few for an interval of their own
        "itl_ms": "itl",
        "e2e_ms": "e2e",
        "output_tokens_per_s": "throughput",
        "requests_per_s": "throughput",
    }
)
"""Predicted values that have an interval, and whose errors it comes from."""

SIMULATED: Mapping[str, str] = MappingProxyType(
    {"ttft_ms": "ttft_s", "ttft_p99_ms": "ttft_p99_s", "itl_ms": "itl_s", "e2e_ms": "e2e_s"}
)
"""Metrics that an open loop has by simulation, and the field of what is expected."""

STEP_TIMES = MEASURES["decode"], MEASURES["prefill"]
"""Metric and mode whose errors are those of decode steps and of prompts."""

FAST_END = 0.9
"""Share of engines that are slower than the fast end of an 80 % interval."""

FRONT_END = 2.0
"""Times as long as expected that client, server and tokeniser take at the slow end, and as short at the fast one. The
first token of runs at a tenth of their capacity leaves 10 to 42 ms for them where 20 are expected."""

Ends = dict[str, tuple[Floats, Floats]]
"""Low and high end (C,) by name of the value."""


class PointEnds(NamedTuple):
    """The ends of points, and which of them (C,) ask for more than step times at the slow end carry for ever: their
    high ends are the latencies of the heaviest load that those do."""

    ends: Ends
    overloaded: NDArray[np.bool_]


def point_ends(points: PointTable, values: Mapping[str, Floats], apart: Floats, source: AnySource) -> PointEnds:
    """The ends of those of ``values`` (C,) that have an interval; ``apart`` (C,) is NaN without kernel tables.

    ``source``: the step times that the values come from. A value that is not known has no ends (NaN).
    """
    modes = [p.mode for p in points.points]
    out: Ends = {}
    for column in OUTPUTS:
        if column in values:
            low, high = _factors(points, apart, OUTPUTS[column], modes)
            out[column] = values[column] * low, values[column] * high
    known, overloaded = np.isfinite(values["ttft_ms"]), np.zeros(len(points), dtype=bool)
    open_loops = np.flatnonzero((np.array(modes) == OPEN_LOOP) & known)
    if len(open_loops):
        simulated, overloaded[open_loops] = _simulated(points.take(open_loops), apart[open_loops], source)
        for column in out.keys() & SIMULATED.keys():
            own, (fast, slow) = values[column][open_loops], simulated[column]
            out[column][0][open_loops], out[column][1][open_loops] = np.minimum(own, fast), np.maximum(own, slow)
    return PointEnds(out, overloaded)


def chance_stable(points: PointTable, rates: Floats, apart: Floats, source: AnySource) -> Floats:
    """Probability that an instance of every open loop carries its rate for ever, its largest stable one being ``rates``
    (C,): Phi(ln(largest / rate) / s), with s from the largest rate of an engine as fast as the 80 % interval of its
    step times allows, and the exponent that runs at their limits have taught (``capacity`` in ``intervals.yaml``)."""
    fast = stable_stretched(points, source, *(low for low, _ in _step_factors(points, apart)))
    spread = np.maximum(np.log(fast), ROUNDING) * capacity_exponents()["low_factor"] / NORMAL.inv_cdf(FAST_END)
    distance = np.log(rates / points.rate_rps[:, 0]) / spread
    return np.array([NORMAL.cdf(float(each)) for each in distance])


def _step_factors(points: PointTable, apart: Floats) -> list[tuple[Floats, Floats]]:
    """Low and high factors of decode steps and of prompts, each (C,)."""
    return [_factors(points, apart, name, [mode] * len(points)) for name, mode in STEP_TIMES]


def _simulated(points: PointTable, apart: Floats, source: AnySource) -> PointEnds:
    """Open loops with their step times at both ends."""
    each = zip(*_step_factors(points, apart), (1.0 / FRONT_END, FRONT_END), strict=True)
    fast, slow = (stretched_rate(points, source, *factors) for factors in each)
    ends = {
        column: (getattr(fast, name)[:, 0] * MS_PER_S, getattr(slow, name)[:, 0] * MS_PER_S)
        for column, name in SIMULATED.items()
    }
    endless = ~np.isfinite(run_requests(points))
    return PointEnds(ends, endless & (slow.rps[:, 0] < HEAVIEST * points.rate_rps[:, 0]))


def _factors(points: PointTable, apart: Floats, metric: ErrorMetric, modes: Sequence[str]) -> tuple[Floats, Floats]:
    """Low and high factors (C,) of every point, as if it were of its mode in ``modes``."""
    cases = point_cases(points, apart, modes)
    ends = [stratum_interval(metric, mode, case) for mode, case in zip(modes, cases, strict=True)]
    return np.array([e.low_factor for e in ends]), np.array([e.high_factor for e in ends])


def point_cases(points: PointTable, apart: Floats, modes: Sequence[str]) -> list[PredictionCase]:
    """How hard every point is to predict, as if it were of its mode in ``modes``."""
    each = [(p.concurrency / p.instances, p.input_tokens, p.output_tokens) for p in points.points]
    loads, outside = np.array(each, dtype=np.float64).reshape(-1, len(LOAD_NAMES)), np.zeros(len(each))
    for mode in set(modes):
        there = np.array([other == mode for other in modes])
        outside[there] = beyond(mode, loads[there])
    return [
        replace(case_of(p.model, p.configuration, float(far), float(ratio)), open_split=p.open_split)
        for p, far, ratio in zip(points.points, outside, apart, strict=True)
    ]
