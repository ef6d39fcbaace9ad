"""Answering an expression from samples in memory, with the semantics of Prometheus."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from collectors.backends.scrape.promql.samples import Floats, Tracks, at, increase, slope, within
from collectors.backends.scrape.promql.tree import (
    Aggregate,
    Binary,
    Call,
    Negative,
    Node,
    Number,
    Selector,
    Subquery,
    Text,
)
from collectors.errors import UnsupportedExpression
from collectors.prometheus.answers import Sample
from collectors.prometheus.histograms import buckets_of, quantile

Key = tuple[tuple[str, str], ...]
Value = dict[Key, float]
"""A vector: values by labels."""

OPERATE: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b != 0 else math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
}
FILTERS = frozenset({"==", "!=", "<", "<=", ">", ">="})

MAX_SUBQUERY_STEPS = 5_000
"""Chosen: 20 hours in steps of 15 s."""


def key_of(labels: Mapping[str, str]) -> Key:
    """Labels in an order of their own, so that equal ones are one key."""
    return tuple(sorted(labels.items()))


def nameless(key: Key) -> Key:
    """A key without the name of the metric: what is computed is no longer that metric."""
    return tuple((k, v) for k, v in key if k != "__name__")


def combined(node: Binary, left: Value | float, right: Value | float) -> Value | float:
    """Both sides joined by the operator of ``node``. Raises UnsupportedExpression."""
    if node.sign in ("and", "or", "unless"):
        if isinstance(left, float) or isinstance(right, float):
            raise UnsupportedExpression(f"{node.sign} needs metrics on both sides.")
        return _set(node, left, right)
    operate = OPERATE[node.sign]
    if isinstance(left, float) and isinstance(right, float):
        return operate(left, right)
    if isinstance(right, float):
        return _kept(node, {k: (v, operate(v, right)) for k, v in _only(left).items()})
    if isinstance(left, float):
        return _kept(node, {k: (v, operate(left, v)) for k, v in right.items()})
    others: dict[Key, float] = {}
    for key, value in right.items():
        matched = _matching(key, node)
        if matched in others:
            raise UnsupportedExpression("Several series match one on the other side.")
        others[matched] = value
    pairs = {k: (v, operate(v, others[m])) for k, v in left.items() if (m := _matching(k, node)) in others}
    return _kept(node, pairs)


def _only(value: Value | float) -> Value:
    assert not isinstance(value, float)
    return value


def _kept(node: Binary, results: Mapping[Key, tuple[float, float]]) -> Value:
    """Results without the metric name; a comparison filters and keeps the left value, unless it is a bool one."""
    if node.sign in FILTERS and not node.as_bool:
        return {key: original for key, (original, holds) in results.items() if holds}
    return {nameless(key): result for key, (_, result) in results.items()}


def _set(node: Binary, left: Value, right: Value) -> Value:
    there = {_matching(key, node) for key in right}
    if node.sign == "and":
        return {k: v for k, v in left.items() if _matching(k, node) in there}
    if node.sign == "unless":
        return {k: v for k, v in left.items() if _matching(k, node) not in there}
    here = {_matching(key, node) for key in left}
    return {**left, **{k: v for k, v in right.items() if _matching(k, node) not in here}}


def _matching(key: Key, node: Binary) -> Key:
    if node.on is not None:
        return tuple((k, v) for k, v in key if k in node.on)
    return tuple((k, v) for k, v in key if k not in node.ignoring and k != "__name__")


@dataclass(frozen=True)
class RangeSamples:
    """Samples of one series over a range."""

    times: Floats
    values: Floats


@dataclass(frozen=True)
class EvaluationContext:
    """The series that an expression is evaluated on, and the moment in Unix seconds."""

    tracks: Tracks
    time_s: float


def evaluate(node: Node, tracks: Tracks, time_s: float) -> tuple[Sample, ...]:
    """The samples of an expression at a moment. Raises UnsupportedExpression."""
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinities are samples too, and come out as NaN
        result = _value(node, EvaluationContext(tracks, time_s))
    vector = {(): result} if isinstance(result, float) else result
    return tuple(Sample(labels=dict(key), time_s=time_s, value=value) for key, value in vector.items())


def _value(node: Node, now: EvaluationContext) -> Value | float:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Selector):
        if node.range_s is not None:
            raise UnsupportedExpression("A range needs a function such as rate around it.")
        return {
            key_of(t.labels): sample[1] for t in now.tracks.select(node) if (sample := at(t, now.time_s)) is not None
        }
    if isinstance(node, Negative):
        inner = _value(node.inner, now)
        return -inner if isinstance(inner, float) else {nameless(k): -v for k, v in inner.items()}
    if isinstance(node, Aggregate):
        return _aggregate(node, now)
    if isinstance(node, Binary):
        return combined(node, _value(node.left, now), _value(node.right, now))
    if isinstance(node, Call):
        return _call(node, now)
    raise UnsupportedExpression("This expression is not answered without a Prometheus.")


def _vector(node: Node, now: EvaluationContext) -> Value:
    result = _value(node, now)
    if isinstance(result, float):
        raise UnsupportedExpression("A metric is expected where a number stands.")
    return result


def _number(node: Node, now: EvaluationContext) -> float:
    result = _value(node, now)
    if not isinstance(result, float):
        raise UnsupportedExpression("A number is expected where a metric stands.")
    return result


# Functions of a range

RangeFunction = Callable[[RangeSamples, float, float], float | None]


def _over(reduce: Callable[[Floats], float]) -> RangeFunction:
    return lambda run, start, end: float(reduce(run.values)) if len(run.values) else None


def _per_second(run: RangeSamples, start: float, end: float) -> float | None:
    rise = increase(run.times, run.values, start, end, counter=True)
    return None if rise is None else rise / (end - start)


RANGE_FUNCTIONS: dict[str, RangeFunction] = {
    "rate": _per_second,
    "increase": lambda run, start, end: increase(run.times, run.values, start, end, counter=True),
    "delta": lambda run, start, end: increase(run.times, run.values, start, end, counter=False),
    "deriv": lambda run, start, end: slope(run.times, run.values, end) if len(run.times) >= 2 else None,
    "changes": _over(lambda v: float(np.count_nonzero(np.diff(v) != 0))),
    "resets": _over(lambda v: float(np.count_nonzero(np.diff(v) < 0))),
    "avg_over_time": _over(np.mean),
    "max_over_time": _over(np.fmax.reduce),
    "min_over_time": _over(np.fmin.reduce),
    "sum_over_time": _over(np.sum),
    "count_over_time": _over(len),
    "last_over_time": _over(lambda v: float(v[-1])),
}


def _runs(node: Node, now: EvaluationContext) -> tuple[dict[Key, RangeSamples], float]:
    """The samples per series of a range or subquery, and the length of the range."""
    if isinstance(node, Selector) and node.range_s is not None:
        start = now.time_s - node.range_s
        runs = {key_of(t.labels): RangeSamples(*within(t, start, now.time_s)) for t in now.tracks.select(node)}
        return {key: run for key, run in runs.items() if len(run.times)}, node.range_s
    if isinstance(node, Subquery):
        return _subquery(node, now), node.range_s
    raise UnsupportedExpression("A range such as [5m] is expected.")


def _subquery(node: Subquery, now: EvaluationContext) -> dict[Key, RangeSamples]:
    steps = int(node.range_s / node.step_s)
    if steps > MAX_SUBQUERY_STEPS:
        raise UnsupportedExpression("A subquery has too many steps.")
    last = math.floor(now.time_s / node.step_s) * node.step_s
    points: dict[Key, list[tuple[float, float]]] = {}
    moment = last - steps * node.step_s
    while moment <= last:
        if moment > now.time_s - node.range_s:
            for key, value in _at_step(node.inner, EvaluationContext(now.tracks, moment)).items():
                points.setdefault(key, []).append((moment, value))
        moment += node.step_s
    return {k: RangeSamples(np.array([p[0] for p in ps]), np.array([p[1] for p in ps])) for k, ps in points.items()}


def _at_step(node: Node, now: EvaluationContext) -> Value:
    """The vector at one step of a subquery. Steps are aligned, so neighbours and other functions ask for it again."""
    known = now.tracks.evaluated.get((node, now.time_s))
    if isinstance(known, dict):
        return known
    result = _value(node, now)
    vector: Value = {(): result} if isinstance(result, float) else result
    now.tracks.evaluated[node, now.time_s] = vector
    return vector


def _call(node: Call, now: EvaluationContext) -> Value | float:
    name, arguments = node.function, node.arguments
    if name in RANGE_FUNCTIONS and len(arguments) == 1:
        runs, span = _runs(arguments[0], now)
        results = {k: RANGE_FUNCTIONS[name](run, now.time_s - span, now.time_s) for k, run in runs.items()}
        keep = name == "last_over_time"
        return {k if keep else nameless(k): v for k, v in results.items() if v is not None}
    if name == "time" and not arguments:
        return now.time_s
    if name == "vector" and len(arguments) == 1:
        return {(): _number(arguments[0], now)}
    if name == "scalar" and len(arguments) == 1:
        inner = _vector(arguments[0], now)
        return next(iter(inner.values())) if len(inner) == 1 else math.nan
    if name == "timestamp" and len(arguments) == 1:
        return _timestamps(arguments[0], now)
    if name == "abs" and len(arguments) == 1:
        return {nameless(k): abs(v) for k, v in _vector(arguments[0], now).items()}
    if name in ("clamp_min", "clamp_max") and len(arguments) == 2:
        limit, clip = _number(arguments[1], now), max if name == "clamp_min" else min
        return {nameless(k): clip(v, limit) for k, v in _vector(arguments[0], now).items()}
    if name == "histogram_quantile" and len(arguments) == 2:
        return _histogram_quantile(_number(arguments[0], now), _vector(arguments[1], now))
    raise UnsupportedExpression(f"{name} is not used as it should be.")


def _timestamps(node: Node, now: EvaluationContext) -> Value:
    """The time of each newest sample; of anything but a plain metric, the moment itself."""
    if isinstance(node, Selector) and node.range_s is None:
        newest = {key_of(t.labels): at(t, now.time_s) for t in now.tracks.select(node)}
        return {nameless(key): sample[0] for key, sample in newest.items() if sample is not None}
    return {nameless(key): now.time_s for key in _vector(node, now)}


def _histogram_quantile(q: float, vector: Value) -> Value:
    groups: dict[Key, list[Sample]] = {}
    for key, value in vector.items():
        labels = dict(key)
        rest = key_of({k: v for k, v in labels.items() if k not in ("le", "__name__")})
        groups.setdefault(rest, []).append(Sample(labels=labels, time_s=0.0, value=value))
    values = {key: quantile(q, buckets_of(samples)) for key, samples in groups.items()}
    return {key: math.nan if value is None else value[0] for key, value in values.items()}


# Aggregation

REDUCE: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "avg": lambda values: math.fsum(values) / len(values),
    "max": lambda values: max((v for v in values if not math.isnan(v)), default=math.nan),
    "min": lambda values: min((v for v in values if not math.isnan(v)), default=math.nan),
    "count": lambda values: float(len(values)),
}


def _aggregate(node: Aggregate, now: EvaluationContext) -> Value:
    groups: dict[Key, list[float]] = {}
    extra = node.parameter.value if isinstance(node.parameter, Text) else ""
    for key, value in _vector(node.inner, now).items():
        kept = _grouped(key, node)
        if node.how == "count_values":
            kept = key_of({**dict(kept), extra: f"{value:.17g}".removesuffix(".0")})
        groups.setdefault(kept, []).append(value)
    reduce = REDUCE["count" if node.how == "count_values" else node.how]
    return {key: reduce(values) for key, values in groups.items()}


def _grouped(key: Key, node: Aggregate) -> Key:
    if node.labels is None:
        return ()
    if node.without:
        return tuple((k, v) for k, v in key if k not in node.labels and k != "__name__")
    return tuple((k, v) for k, v in key if k in node.labels)
