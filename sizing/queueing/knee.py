"""Where a load curve bends, and its value at a load."""

from collections.abc import Sequence

import numpy as np

from sizing.base.result import LoadPoint


def knee(load_curve: Sequence[LoadPoint]) -> LoadPoint | None:
    """The point of the load curve beyond which latency grows faster than the load; None when it is not reached.

    Equation: knee = argmax over load of requests/s / E2E, the "power" of a queue
    Valid: a curve with at least three points that goes on beyond its knee.
    Source: L. Kleinrock, Power and deterministic rules of thumb for probabilistic problems, ICC 1979.
    """
    points = [p for p in load_curve if np.isfinite(p.e2e_ms) and p.e2e_ms > 0 and p.rps > 0]
    if len(points) < 3:
        return None
    best = int(np.argmax([p.rps / p.e2e_ms for p in points]))
    return points[best] if 0 < best < len(points) - 1 else None


def on_curve(load_curve: Sequence[LoadPoint], rps: float) -> LoadPoint | None:
    """The load curve at a load, straight between its points; None outside it."""
    points = [p for p in load_curve if np.isfinite(p.ttft_ms + p.itl_ms + p.e2e_ms)]
    rates = [p.rps for p in points]
    if not points or not rates[0] <= rps <= rates[-1]:
        return None

    def at(values: Sequence[float]) -> float:
        return float(np.interp(rps, rates, values))

    return LoadPoint(
        rps=rps,
        concurrency=at([p.concurrency for p in points]),
        ttft_ms=at([p.ttft_ms for p in points]),
        itl_ms=at([p.itl_ms for p in points]),
        e2e_ms=at([p.e2e_ms for p in points]),
        output_tokens_per_s_per_gpu=at([p.output_tokens_per_s_per_gpu for p in points]),
    )
