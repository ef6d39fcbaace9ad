"""What the plan's engine predicts for the observed traffic beside what is measured, row by row.

Only like with like: TTFT at the server with TTFT at the server, TPOT (mean gap of a request) never with ITL (single
gaps), of which the engine predicts the mean alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.reading.observation import DISTRIBUTIONS, Observation
from collectors.vocabulary import engine_vocabularies
from reality.labels import LABELS, LATENCIES, SINGLE, STATISTICS, RowKind
from reality.prediction import Prediction
from reality.result import Interval, PerformanceRow
from reality.sampling import NOTHING, UNKNOWN, SampledValue, around, counted, exact, mean_of, quantile_of
from reality.traffic import length_variation
from reality.verdict import far_off, says_little, tolerated, verdict
from sizing.base.deployed import Deployed as PlannedDeployment
from sizing.base.format import percent, significant
from sizing.question.configuration import Configuration

AT_FRONT_END = ("ttft_ms", "e2e_ms", "queue_ms")


PER_GPU = "output_tokens_per_s_per_gpu"
"""The row that is measured as a sum over all GPUs."""

OPEN = "open above: at the slow end of the step times the load could not be carried"
NEAR_SATURATION = 0.85
"""Share of the largest stable load beyond which a queue answers small changes of the step times with large ones."""


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """Why rows are not judged: ``all`` for every row, ``load`` for those that depend on the load."""

    all: str = ""
    load: str = ""


def performance_rows(
    observed: Observation,
    prediction: Prediction | None,
    row: Configuration | None,
    planned: PlannedDeployment | None,
    blocked: Blocked,
) -> tuple[PerformanceRow, ...]:
    """Every row; without a prediction the measured values stand alone."""
    values: Mapping[str, Interval] = prediction.values if prediction else {}
    requests = _requests(observed)
    rows = []
    for name in LATENCIES:
        rows += _latency_rows(name, observed, values, requests, blocked)
    rows += _load_rows(observed, values, row, requests, blocked)
    rows += _counted_rows(observed, prediction, planned, blocked)
    return tuple(_width_explained(one, prediction.slow_share) for one in rows) if prediction else tuple(rows)


def _width_explained(row: PerformanceRow, slow_share: float) -> PerformanceRow:
    """The row with the reason why its interval is so wide that lying within says little."""
    if row.reason or not row.predicted.value or not says_little(row.predicted) or slow_share < NEAR_SATURATION:
        return row
    why = (
        "wide, so that lying within says little: at the slow end of the step times this load is "
        f"{percent(slow_share)} of what the replicas carry, where queues grow long"
    )
    return row.model_copy(update={"reason": why})


def _requests(observed: Observation) -> float | None:
    """Requests in the window: of gaps, the number that may be taken as independent."""
    rate = observed.number("arrivals_rps")
    if rate is None:
        rate = observed.number("finished_rps")
    return None if rate is None else counted(rate, observed.window_s, observed.scrape_interval_s)


def _is_front_end(engine: str | None) -> bool:
    """Whether latencies are measured before the engine, by what routes to it."""
    return engine is not None and engine_vocabularies()[engine].front_end


def _latency_rows(
    name: str, observed: Observation, values: Mapping[str, Interval], requests: float | None, blocked: Blocked
) -> list[PerformanceRow]:
    distribution, rows = observed.distribution(name), []
    for statistic in ("mean",) if name == "itl_ms" else STATISTICS:
        measured = mean_of(distribution, requests) if statistic == "mean" else quantile_of(distribution, statistic)
        why = blocked.all or blocked.load
        if not why and name in AT_FRONT_END and _is_front_end(observed.engine):
            why = "measured at the front end, predicted at the engine: not the same quantity"
        kind = RowKind(key=f"{name}.{statistic}", unit="ms", measured_as=name, concept=DISTRIBUTIONS[name])
        rows.append(_row(kind, values.get(kind.key), measured, why, observed))
    return rows


def _load_rows(
    observed: Observation,
    values: Mapping[str, Interval],
    row: Configuration | None,
    requests: float | None,
    blocked: Blocked,
) -> list[PerformanceRow]:
    why, cv2 = blocked.all or blocked.load, length_variation(observed)
    gpus, tokens = _gpus(observed, row), observed.number("generation_tokens_per_s")
    per_gpu = tokens / gpus if tokens is not None and gpus else None
    kinds = [kind for kind in SINGLE.values() if kind.by_request]
    measured = {kind.key: observed.number(kind.measured_as) for kind in kinds} | {PER_GPU: per_gpu}
    return [
        _row(kind, values.get(kind.key), _of_requests(measured[kind.key], requests, cv2), why, observed)
        for kind in kinds
    ]


def _of_requests(value: float | None, requests: float | None, cv2: float) -> SampledValue:
    """A quantity that every request adds to: relative error sqrt((1 + cv^2) / n) (variance of a compound Poisson sum;
    of a time average of requests in the system by Little's law)."""
    return NOTHING if value is None else around(value, requests, 1.0 + cv2)


def _gpus(observed: Observation, row: Configuration | None) -> float | None:
    """GPUs seen; without an exporter, replicas x GPUs of a planned replica."""
    seen, replicas = observed.number("gpus"), observed.number("replicas")
    if seen:
        return seen
    return replicas * row.gpus if row is not None and replicas else None


def _counted_rows(
    observed: Observation, prediction: Prediction | None, planned: PlannedDeployment | None, blocked: Blocked
) -> list[PerformanceRow]:
    """What does not depend on the load: KV cache, replicas, GPUs."""
    capacity = tolerated(prediction.kv_tokens) if prediction else None
    instances, gpus = (float(planned.instances), float(planned.gpus)) if planned else (None, None)
    return [
        _row(
            SINGLE["kv_capacity_tokens"],
            capacity,
            exact(observed.number("kv_capacity_tokens")),
            blocked.all,
            observed,
            note="no interval is known of the memory estimate: +- 10 % counts as agreement",
        ),
        _row(SINGLE["replicas"], _point(instances), exact(observed.number("replicas")), blocked.all, observed),
        _row(SINGLE["gpus"], _point(gpus), exact(observed.number("gpus")), blocked.all, observed),
    ]


def _point(value: float | None) -> Interval | None:
    return None if value is None else Interval(value=value, low=value, high=value)


def _row(
    kind: RowKind,
    predicted: Interval | None,
    measured: SampledValue,
    why: str,
    observed: Observation,
    *,
    note: str = "",
) -> PerformanceRow:
    value = measured.interval.value
    reason = why or measured.weak
    if value is None:
        reason = _missing(kind.measured_as, observed)
    elif predicted is None:
        reason = reason or "there is no prediction"
    coarse = _coarse(predicted, measured.interval, kind.unit)
    reason = reason or coarse or _far(predicted, measured.interval)
    judged = predicted is not None and not reason
    error = None
    if predicted is not None and predicted.value is not None and value and not coarse:
        error = predicted.value / value - 1.0
    mapped = observed.mapping.get(kind.concept)
    return PerformanceRow(
        key=kind.key,
        measured_as=kind.measured_as,
        label=LABELS[kind.key],
        unit=kind.unit,
        predicted=predicted or UNKNOWN,
        measured=measured.interval,
        count=measured.count,
        error=error,
        verdict=verdict(predicted, measured.interval) if predicted is not None and judged else "cannot_judge",
        reason=reason or _open(predicted) or note,
        query=mapped.query if mapped else "",
    )


def _coarse(predicted: Interval | None, measured: Interval, unit: str) -> str:
    """Why a value in the first bucket of a histogram says nothing about a prediction within that bucket."""
    if predicted is None or predicted.high is None or measured.low != 0.0 or measured.high is None:
        return ""
    if predicted.high > measured.high or measured.high == 0.0:
        return ""
    return (
        f"the first range in which the server counts, up to {measured.high:g} {unit}, holds the whole prediction: use "
        "the mean"
    )


def _far(predicted: Interval | None, measured: Interval) -> str:
    """Why a value far from the prediction is not judged though the intervals meet."""
    if predicted is None or not predicted.value or not measured.value or not far_off(predicted, measured):
        return ""
    if verdict(predicted, measured) != "within":
        return ""
    ratio = measured.value / predicted.value
    return (
        f"measured {significant(ratio, 2)} times the prediction; the intervals meet only because they are this wide, "
        "which is no agreement"
    )


def _open(predicted: Interval | None) -> str:
    """What a predicted interval without an end means, as a sentence; empty where it has both."""
    if predicted is None:
        return ""
    if predicted.low is None:
        return "the plan's engine has no value: it cannot carry this load, or answers of one token have no gaps"
    if predicted.value is None:
        return "the plan's engine could not carry this load: only the lower end, of the fast step times, is known"
    return "" if predicted.high is not None else OPEN


def _missing(quantity: str, observed: Observation) -> str:
    """The collector's reason for a quantity that is not there."""
    why = next((m.reason for m in observed.missing if m.quantity == quantity), "")
    if why:
        return why
    return "no data" if observed.number("arrivals_rps") is None else "nothing was recorded in the window"
