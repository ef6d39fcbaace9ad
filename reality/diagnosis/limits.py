"""The limits of a scenario beside what is measured: percentile, attainment, since when, error budget, burn rates.

A histogram counts exactly at the ends of its buckets; inside one they lie as in :mod:`reality.diagnosis.inside_bucket`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles, quantile
from collectors.questions.over_limits import SAME_EDGE, OverLimit
from collectors.reading.observation import Observation
from collectors.vocabulary.burn_rates import BURNS, LEAST_REQUESTS
from reality.diagnosis.inside_bucket import inside_bucket, inside_bucket_of
from reality.diagnosis.open_bucket import beyond_ms, in_words, open_bucket, share_inside
from reality.diagnosis.result import BurnRate, LimitRow, LimitVerdict
from reality.diagnosis.worlds import SINGLE_GAPS, Ran
from reality.sampling import FEWEST_BEYOND, FEWEST_REQUESTS
from sizing.base.format import counted, ms
from sizing.base.units import MS_PER_S, TWO_SIDED_80
from sizing.question.limits import LatencyLimits

BUDGET_WINDOW = "3d"
"""The window over which the error budget is counted: the longest window of the alerts."""
GUESSED = 0.03
"""Share of the requests of a bucket by which a limit inside it may be misjudged. Chosen: as a run misses them."""
CALM_STEPS = 2
"""Steps within the limit that end the time in which it was broken."""


MeasuredBy = Literal["itself", "gaps", "queue"]
"""What a limit is judged by: a histogram of what it limits; of TPOT one of single gaps; of TTFT those of queue and
prefill (:mod:`reality.diagnosis.indirect`)."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One limit: key in the scenario, quantity that is limited, limit in ms, and what that is judged by."""

    key: str
    quantity: str
    limit_ms: float
    by: MeasuredBy = "itself"

    @property
    def counted_as(self) -> str:
        """The histogram whose counts beyond the limit are looked up: of the queue no more than those of TTFT."""
        return "queue_ms" if self.by == "queue" else self.quantity


@dataclass(frozen=True, kw_only=True)
class Step:
    """Share of requests beyond the limit from ``start_s`` to ``end_s``, of so many."""

    start_s: float
    end_s: float
    share: float
    requests: float


def asked_limits(limits: LatencyLimits, observed: Observation) -> tuple[Asked, ...]:
    """The limits that apply. The plan's ITL is the mean gap of a request, TPOT: single gaps are not, and by themselves
    say less of it."""

    def there(*names: str) -> bool:
        return all(observed.distribution(name).buckets for name in names)

    gap: MeasuredBy = "gaps" if there(SINGLE_GAPS) and not there("tpot_ms") else "itself"
    first: MeasuredBy = "queue" if there("queue_ms", "prefill_ms") and not there("ttft_ms") else "itself"
    each = (
        Asked(key="ttft_ms", quantity="ttft_ms", limit_ms=limits.ttft_s * MS_PER_S, by=first),
        Asked(key="itl_ms", quantity="tpot_ms", limit_ms=limits.itl_s * MS_PER_S, by=gap),
        Asked(key="e2e_ms", quantity="e2e_ms", limit_ms=limits.e2e_s * MS_PER_S),
    )
    return tuple(one for one in each if math.isfinite(one.limit_ms))


def limit_row(
    bound: Asked, percentile: float, observed: Observation, over: OverLimit | None, ran: Ran | None, blocked: str
) -> LimitRow:
    """One limit, judged. ``blocked`` is why it cannot be ("" where it can)."""
    distribution, share = observed.distribution(bound.quantity), percentile / 100.0
    steps = steps_beyond(over, bound, ran)
    weak = blocked or (too_few(distribution.count, share) if distribution.buckets else "")
    attained = None if weak else attainment(distribution, bound, ran)
    verdict = judged(attained, share)
    measured = percentile_ms(distribution, share, bound.quantity, ran)
    low, high = ends(distribution, share)
    last = open_bucket(distribution.buckets)
    estimated = in_words(last) if last is not None and measured is not None and measured > last.low else ""
    only_open = bool(distribution.buckets) and all(math.isinf(one.high) for one in distribution.buckets)
    reason = weak or _why_unclear(verdict, bound, attained, last, only_open=only_open) or estimated
    row = composed(bound, percentile, measured, (low, high), attained, reason, distribution.count, steps)
    return with_burn_rates(row, over)


def with_burn_rates(row: LimitRow, over: OverLimit | None) -> LimitRow:
    """The row with what is left of its error budget, and how fast that is spent."""
    budget = 1.0 - row.percentile / 100.0
    return row.model_copy(update={"budget_left": _budget_left(over, budget), "burn_rates": burn_rates(over, budget)})


def composed(
    bound: Asked,
    percentile: float,
    measured: float | None,
    ends_ms: tuple[float | None, float | None],
    attained: tuple[float, float, float] | None,
    reason: str,
    requests: float | None,
    steps: Sequence[Step],
) -> LimitRow:
    """The row of a limit, without burn rates. ``attained``: share within and its interval; ``steps``: shares beyond."""
    share = percentile / 100.0
    verdict = judged(attained, share)
    since = broken_since(steps, 1.0 - share) if verdict == "broken" else None
    return LimitRow(
        quantity=bound.quantity,
        limit_key=bound.key,
        percentile=percentile,
        limit=bound.limit_ms,
        measured=measured,
        low=ends_ms[0],
        high=ends_ms[1],
        attainment=None if attained is None else attained[0],
        attainment_low=None if attained is None else attained[1],
        attainment_high=None if attained is None else attained[2],
        verdict=verdict,
        reason=reason,
        requests=requests,
        broken_since=None if since is None else utc(since),
        budget_left=None,
        burn_rates=(),
    )


def utc(moment_s: float) -> str:
    """A moment to the minute."""
    return datetime.fromtimestamp(moment_s, UTC).strftime("%Y-%m-%dT%H:%MZ")


def judged(attained: tuple[float, float, float] | None, share: float) -> LimitVerdict:
    """ "met" when surely enough requests are within, "broken" when surely not, else "unclear"."""
    if attained is None:
        return "unclear"
    _, low, high = attained
    if low >= share:
        return "met"
    return "broken" if high < share else "unclear"


def _why_unclear(
    verdict: LimitVerdict,
    bound: Asked,
    attained: tuple[float, float, float] | None,
    last: Bucket | None,
    *,
    only_open: bool,
) -> str:
    if verdict != "unclear":
        return ""
    if attained is None:
        name = bound.quantity.removesuffix("_ms").upper()
        if only_open:
            return f"the histogram of {name} has no bucket with an end: it tells how many there were, and their mean"
        return f"no histogram of {name} was recorded in the window"
    if last is not None and last.low < bound.limit_ms:
        return (
            f"the last bucket of the histogram begins at {ms(last.low)}, below the limit: give the engine longer ones"
        )
    return "as close to the limit as chance with so many requests: choose a longer window"


def too_few(count: float | None, share: float) -> str:
    """Why too few requests stand behind a percentile; "" where enough do, or none."""
    if not count:
        return ""
    needed = max(FEWEST_REQUESTS, math.ceil(FEWEST_BEYOND / (1.0 - share))) if share < 1.0 else math.inf
    return "" if count >= needed else f"only {counted(count, 'request')} in the window, at least {needed} are needed"


def steps_beyond(over: OverLimit | None, bound: Asked, ran: Ran | None) -> tuple[Step, ...]:
    """The steps of the last day; of requests in the bucket of the limit, the part that is beyond it now."""
    if over is None:
        return ()
    beyond = 0.0
    if bound.limit_ms < over.edge_ms * (1.0 - SAME_EDGE):
        bucket = Bucket(low=over.low_ms, high=over.edge_ms, count=1.0)
        beyond = 1.0 - inside_bucket(bucket, bound.quantity, ran).share_within(bound.limit_ms)
    return tuple(
        Step(start_s=t - over.step_s, end_s=t, share=share + inside * beyond, requests=number)
        for t, share, inside, number in zip(over.times_s, over.shares, over.inside, over.requests, strict=True)
    )


def attainment(distribution: HistogramQuantiles, bound: Asked, ran: Ran | None) -> tuple[float, float, float] | None:
    """Share of requests within the limit with its 80 % interval: Wilson's, which is never empty (1927), and what is not
    known of a bucket in which the limit lies."""
    total, count = sum(b.count for b in distribution.buckets), distribution.count or 0.0
    if not total > 0 or not count > 0 or not any(math.isfinite(b.high) for b in distribution.buckets):
        return None
    below = sum(b.count for b in distribution.buckets if b.high <= bound.limit_ms * (1.0 + SAME_EDGE))
    inside = next((b for b in distribution.buckets if b.low < bound.limit_ms < b.high * (1.0 - SAME_EDGE)), None)
    guessed = 0.0
    if inside is not None and math.isfinite(inside.high):
        spread = inside_bucket_of(distribution, inside, bound.quantity, ran)
        below += inside.count * spread.share_within(bound.limit_ms)
        guessed = GUESSED * inside.count / total
    share = min(below / total, 1.0)
    z2 = TWO_SIDED_80**2 / count
    centre = (share + z2 / 2.0) / (1.0 + z2)
    half = TWO_SIDED_80 / (1.0 + z2) * math.sqrt(share * (1.0 - share) / count + z2 / (4.0 * count))
    half = math.hypot(half, guessed)
    low, high = max(centre - half, 0.0), min(centre + half, 1.0)
    last = open_bucket(distribution.buckets)
    if last is None or bound.limit_ms <= last.low * (1.0 + SAME_EDGE):
        return share, low, high
    part = last.count / total  # any of these may be within, or beyond
    inside_of_it = share_inside(last, bound.limit_ms, bound.quantity, ran)
    return min(share + part * inside_of_it, 1.0), low, min(high + part, 1.0)


def percentile_ms(distribution: HistogramQuantiles, share: float, quantity: str, ran: Ran | None) -> float | None:
    """The percentile: where within its bucket the share is reached."""
    beyond = beyond_ms(distribution, share, quantity, ran)
    if beyond is not None:
        return beyond
    interval = quantile(share, distribution.buckets)
    if interval is None:
        return None
    value, low, high = interval
    bucket = next((b for b in distribution.buckets if b.low == low and b.high == high and b.count > 0), None)
    if bucket is None or not math.isfinite(high):
        return value
    below = sum(b.count for b in distribution.buckets if b.high <= low)
    wanted = (share * sum(b.count for b in distribution.buckets) - below) / bucket.count
    return inside_bucket_of(distribution, bucket, quantity, ran).percentile_ms(wanted)


def ends(distribution: HistogramQuantiles, share: float) -> tuple[float | None, float | None]:
    """Order-statistics interval: from the lower edge of the bucket of q - e to the upper one of that of q + e."""
    count = distribution.count
    if not count or not distribution.buckets:
        return None, None
    error = TWO_SIDED_80 * math.sqrt(share * (1.0 - share) / count)
    below, above = (quantile(min(max(q, 0.0), 1.0), distribution.buckets) for q in (share - error, share + error))
    if below is None or above is None:
        last = open_bucket(distribution.buckets)
        return (None if last is None else last.low), None
    return below[1], above[2] if math.isfinite(above[2]) else None


def broken_since(steps: Sequence[Step], budget: float) -> float | None:
    """The beginning of the last time without :data:`CALM_STEPS` steps within the limit, at the earliest that of what is
    known; None where no step was beyond it."""
    since, calm = None, 0
    for one in reversed(steps):
        if one.share > budget:
            since, calm = one.start_s, 0
        elif since is not None:
            calm += 1
            if calm >= CALM_STEPS:
                break
    return since


def burn_rates(over: OverLimit | None, budget: float) -> tuple[BurnRate, ...]:
    """The burn rates of the exported alerts; those that no share of slow requests could reach are left out."""
    if over is None or budget <= 0.0:
        return ()
    rows = []
    for burn in BURNS:
        if burn.factor * budget >= 1.0:
            continue
        long, short = (_rate(over.by_window, window, budget) for window in (burn.long, burn.short))
        enough = over.by_window.get(burn.long, (0.0, 0.0))[1] > LEAST_REQUESTS
        rows.append(
            BurnRate(
                long=burn.long,
                short=burn.short,
                threshold=burn.factor,
                over_long=long,
                over_short=short,
                alerts=enough and long is not None and short is not None and min(long, short) > burn.factor,
            )
        )
    return tuple(rows)


def _rate(by_window: Mapping[str, tuple[float, float]], window: str, budget: float) -> float | None:
    return by_window[window][0] / budget if window in by_window else None


def _budget_left(over: OverLimit | None, budget: float) -> float | None:
    rate = None if over is None or budget <= 0.0 else _rate(over.by_window, BUDGET_WINDOW, budget)
    return None if rate is None else 1.0 - rate


def worst(rows: Sequence[LimitRow]) -> LimitRow | None:
    """The limit whose percentile is highest against it; of broken ones first."""
    known = [row for row in rows if row.measured is not None]
    return max(known, key=lambda row: (row.verdict == "broken", (row.measured or 0.0) / row.limit), default=None)
