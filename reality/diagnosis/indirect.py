"""Limits on what an engine does not measure as it is limited: TPOT where single gaps alone are counted (SGLang, NIM 1,
Dynamo), TTFT where the time in the queue and the prefill are (TGI).
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import assert_never

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles
from collectors.questions.details import Details, GapLine
from collectors.questions.over_limits import OverLimit
from collectors.reading.observation import Observation
from reality.diagnosis.changes import together
from reality.diagnosis.limits import (
    Asked,
    Step,
    attainment,
    composed,
    ends,
    limit_row,
    percentile_ms,
    steps_beyond,
    too_few,
    with_burn_rates,
)
from reality.diagnosis.result import LimitRow
from reality.diagnosis.worlds import SINGLE_GAPS, Ran
from sizing.base.format import ms
from sizing.base.units import TWO_SIDED_80

SPREAD_ERROR = 0.1
"""Relative error of a percentile of TPOT that is estimated from the mean gap and the spread of a run. Chosen:
because four simulated runs of Dynamo, SGLang and NIM had it 0 to 6 % off (2026-11-30), and real ones differ more."""


def row_of(
    bound: Asked, percentile: float, observed: Observation, details: Details, ran: Ran | None, blocked: str
) -> LimitRow:
    """One limit, judged by what there is. ``ran``: the engine's run of the measured traffic; ``blocked`` is why it
    cannot be judged ("" where it can)."""
    match bound.by:
        case "itself":
            return limit_row(bound, percentile, observed, details.over.get(bound.counted_as), ran, blocked)
        case "gaps":
            return _by_gaps(bound, percentile, observed, details.gaps, ran, blocked)
        case "queue":
            over = details.over.get(bound.counted_as)
            return with_burn_rates(_by_queue(bound, percentile, observed, over, ran, blocked), over)
        case unknown:
            assert_never(unknown)


def _by_gaps(
    bound: Asked, percentile: float, observed: Observation, lines: Sequence[GapLine], ran: Ran | None, blocked: str
) -> LimitRow:
    """TPOT from single gaps. Means agree; how far requests lie apart is that of a run. Without a run, a request's mean
    of its gaps is taken to be spread no wider than these, and as high as they are in the mean."""
    gaps, share = observed.distribution(SINGLE_GAPS), percentile / 100.0
    requests = observed.distribution("ttft_ms").count or observed.distribution("e2e_ms").count
    weak = blocked or too_few(requests, share)
    usual = math.nan if ran is None else ran.mean_ms(SINGLE_GAPS)
    if ran is None or not gaps.mean or not usual > 0.0:
        return _by_spread_of_gaps(bound, percentile, gaps, requests, weak)
    scale, off = gaps.mean / usual, 1.0 + SPREAD_ERROR
    measured = ran.percentile_ms(bound.quantity, percentile) * scale
    within = tuple(
        ran.share_within(bound.quantity, bound.limit_ms / scale / factor) for factor in (1.0, off, 1.0 / off)
    )
    attained = None if weak else (within[0], within[1], within[2])
    reason = weak or f"estimated from the mean of single gaps, {ms(gaps.mean)}, as the engine measures no TPOT"
    steps = _steps(lines, bound, ran, usual)
    return composed(bound, percentile, measured, (measured / off, measured * off), attained, reason, requests, steps)


def _by_spread_of_gaps(
    bound: Asked, percentile: float, gaps: HistogramQuantiles, requests: float | None, weak: str
) -> LimitRow:
    """What single gaps say by themselves: met where enough of them are within, broken where their mean is beyond."""
    share = percentile / 100.0
    of_gaps = None if weak else attainment(gaps, bound, None)
    beyond = gaps.mean is not None and gaps.mean > bound.limit_ms
    attained = None if of_gaps is None else (of_gaps[0], of_gaps[1], of_gaps[2] if beyond else 1.0)
    measured = percentile_ms(gaps, share, SINGLE_GAPS, None)
    reason = weak or f"p{percentile:g} of single gaps, as the engine measures no TPOT, which is spread less"
    return composed(bound, percentile, measured, ends(gaps, share), attained, reason, requests, ())


def _steps(lines: Sequence[GapLine], bound: Asked, ran: Ran, usual_ms: float) -> tuple[Step, ...]:
    """The share beyond the limit from scrape to scrape, by the mean gap of all replicas."""
    if not lines:
        return ()
    line = together(lines)
    return tuple(
        Step(
            start_s=start,
            end_s=end,
            share=1.0 - ran.share_within(bound.quantity, bound.limit_ms * usual_ms / (gap_s * 1e3)),
            requests=number,
        )
        for (start, end), gap_s, number in zip(pairwise(line.times_s), line.gaps_s[1:], line.gaps[1:], strict=True)
        if gap_s > 0.0
    )


def _by_queue(
    bound: Asked, percentile: float, observed: Observation, over: OverLimit | None, ran: Ran | None, blocked: str
) -> LimitRow:
    """TTFT from the time in the queue and that of the prefill, however the two go together: it is no less than the
    first, and beyond a + b at most as often as the one is beyond a and the other beyond b (Boole's inequality)."""
    queue, prefill = observed.distribution("queue_ms"), observed.distribution("prefill_ms")
    share = percentile / 100.0
    weak = blocked or too_few(queue.count, share)
    waits = percentile_ms(queue, share, bound.quantity, ran)  # where requests wait for long, that is their TTFT
    most = None if weak else attainment(queue, bound, None)
    measured = None if waits is None else waits + (prefill.mean or 0.0)
    sums = _sums(queue, prefill)
    high = min((total for total, beyond in sums if beyond <= 1.0 - share), default=None)
    attained = None
    if most is not None and queue.count:
        least = max((1.0 - beyond for total, beyond in sums if total <= bound.limit_ms), default=0.0)
        chance = TWO_SIDED_80 * math.sqrt(least * (1.0 - least) / queue.count)
        attained = ((least + most[0]) / 2.0, max(least - chance, 0.0), most[2])
    reason = weak or "estimated: time in the queue and mean prefill, as the engine measures no TTFT"
    steps = steps_beyond(over, bound, None)
    return composed(bound, percentile, measured, (ends(queue, share)[0], high), attained, reason, queue.count, steps)


def _sums(queue: HistogramQuantiles, prefill: HistogramQuantiles) -> list[tuple[float, float]]:
    """Sums of an end of a bucket of each, in ms, with the share of requests that are beyond at most."""
    first, second = _beyond(queue.buckets), _beyond(prefill.buckets)
    return [(a + b, min(p + q, 1.0)) for a, p in first for b, q in second]


def _beyond(buckets: Sequence[Bucket]) -> list[tuple[float, float]]:
    """Ends of buckets with the share that lies beyond."""
    total = sum(one.count for one in buckets)
    if not total > 0.0:
        return []
    ordered = sorted(buckets, key=lambda one: one.high)
    return [
        (one.high, sum(other.count for other in ordered[i + 1 :]) / total)
        for i, one in enumerate(ordered)
        if math.isfinite(one.high)
    ]
