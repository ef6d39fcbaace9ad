"""Alerts: what an operator should look at although the deployment answers, the worst first."""

from collections.abc import Iterator

from collectors.reading.engine_values import FULL_KV
from collectors.reading.health import FEW_REQUESTS
from collectors.reading.observation import Observation, State
from collectors.reading.remarks import Remark, RemarkKind, remark

ERRORS_FROM = 0.01
"""Share of requests that fail from which it is an alert; 99 % is the loosest objective in use for such services."""

ABORTS_FROM = 0.05
"""Share of requests that end early. Chosen: users who close a page are usually fewer."""
GROWTH_FROM_PER_S = 0.05
"""Growth of the queue. Chosen: three requests a minute."""
NAMED_GPUS = (
    RemarkKind.XID_ON,
    RemarkKind.XIDS_ON,
    RemarkKind.GPU_SLOWED_DOWN,
    RemarkKind.GPUS_SLOWED_DOWN,
    RemarkKind.GPU_SLOWED_BY_HEAT,
    RemarkKind.GPUS_SLOWED_BY_HEAT,
)
"""What is said of single GPUs and is an alert."""
LATE_SCRAPES = 2.5
"""Scrape intervals after which the newest sample counts as late. Chosen: one that is missed is no alert."""


def alerts(observed: Observation) -> tuple[Remark, ...]:
    """Alerts beyond the causes of the state; none for an observation without values."""
    if observed.state in (State.NO_DATA, State.STALE, State.UNREACHABLE):
        return ()
    fewer = (note for note in observed.remarks if note.kind is RemarkKind.REPLICAS_FEWER)
    return (*fewer, *_errors(observed), *_load(observed), *_gpus(observed), *_age(observed))


def _errors(observed: Observation) -> Iterator[Remark]:
    ratio, failed = observed.number("error_ratio"), observed.number("failed_rps")
    if ratio is not None and ratio >= ERRORS_FROM and (failed or 0.0) * observed.window_s >= 1:
        yield remark(RemarkKind.REQUESTS_FAIL, ratio=ratio, failed_rps=failed)
    aborted, arrivals = observed.number("aborted_rps"), observed.number("arrivals_rps")
    many = arrivals is not None and arrivals * observed.window_s >= FEW_REQUESTS
    if aborted is not None and arrivals is not None and many and aborted >= ABORTS_FROM * arrivals:
        yield remark(RemarkKind.REQUESTS_ABORTED, share=aborted / arrivals)


def _load(observed: Observation) -> Iterator[Remark]:
    if observed.state is State.SATURATED:
        return  # the causes of the state say it
    growth, waiting = observed.number("waiting_growth_per_s"), observed.number("waiting_max")
    if growth is not None and growth >= GROWTH_FROM_PER_S and waiting is not None and waiting >= 1:
        yield remark(RemarkKind.QUEUE_GROWS, growth_per_s=growth, waiting=waiting)
    preempted, kv = observed.number("preemptions_per_s"), observed.number("kv_usage_max")
    if preempted:
        yield remark(RemarkKind.PREEMPTIONS, per_s=preempted)
    elif kv is not None and kv >= FULL_KV:
        yield remark(RemarkKind.KV_NEARLY_FULL, kv_usage=kv)


def _gpus(observed: Observation) -> Iterator[Remark]:
    errors = observed.number("ecc_uncorrected")
    yield from (note for note in observed.remarks if note.kind in NAMED_GPUS)
    if errors:
        yield remark(RemarkKind.ONE_ECC_ERROR if errors == 1 else RemarkKind.ECC_ERRORS, errors=errors)


def _age(observed: Observation) -> Iterator[Remark]:
    age, interval = observed.age_s, observed.scrape_interval_s
    if age is not None and interval is not None and age > LATE_SCRAPES * interval:
        yield remark(RemarkKind.LATE, age_s=age, interval_s=interval)
