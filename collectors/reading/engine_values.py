"""Turns answers into the numbers and distributions of an observation. What has no data stays None."""

import math
from collections.abc import Mapping
from dataclasses import replace

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import (
    QUANTILES,
    SHOWN,
    HistogramQuantiles,
    buckets_of,
    distribution,
    finite,
    native,
)
from collectors.prometheus.promql import duration
from collectors.queries.live_numbers import DIRECT, MISSING_WITHOUT
from collectors.queries.query import QuantityPart, Query, Subject
from collectors.queries.ttl import FIRST
from collectors.reading.observation import DISTRIBUTIONS, Mapped, MissingQuantity
from collectors.units import MS_PER_S
from collectors.vocabulary.detect import Choice
from collectors.vocabulary.expressions import Scope, distribution_queries, quantile_expression, scalar_queries, selected
from collectors.vocabulary.schema import DISTRIBUTIONS as UNITS
from collectors.vocabulary.schema import SCALARS, MetricCandidate

JUDGED_STEP_S = 60.0
"""Steps of a window that are judged apart. Chosen: a minute in a window of half an hour."""
LEAST_SCRAPES = 4
"""Scrapes that a step holds at least: a rate over two is noise."""
FULL_KV = 0.95
"""KV use from which the cache counts as full. Chosen: the last
blocks are seldom all in use, so that a full cache reads a little less than 1."""
SHOWN_AS = {"s": MS_PER_S, "tokens": 1.0}
"""What turns the unit of a distribution into the one it is shown in: milliseconds, tokens."""

QUANTITY = MISSING_WITHOUT | {
    concept: name for name, concept in DISTRIBUTIONS.items() if concept not in ("prefill", "decode")
}
"""The number or distribution that is missing where a concept has no data."""


def engine_queries(choices: Mapping[str, Choice], scope: Scope) -> list[Query]:
    """Everything to ask for one observation of an engine."""
    queries: list[Query] = []
    for key, choice in choices.items():
        if choice.candidate is not None:
            make = scalar_queries if key in SCALARS else distribution_queries
            queries += make(key, choice.candidate, scope)
    return queries


def saturation_query(choices: Mapping[str, Choice], scope: Scope) -> Query | None:
    """The share of the minutes in which more was asked than could be served; None where the window holds too few.

    A minute is such a one when the queue never emptied within it, or requests were preempted beside a full KV cache.
    """
    step_s = judged_step_s(scope)
    saturated = saturated_steps(choices, scope, step_s=step_s)
    if saturated is None or scope.window_s < 2 * step_s:
        return None
    text = f"avg_over_time({saturated}[{scope.window}:{duration(step_s)}])"
    return Query(expression=text, subject=Subject("saturated"), unit="ratio", ttl=FIRST)


def judged_step_s(scope: Scope) -> float:
    """Seconds of the steps that are judged apart."""
    return max(JUDGED_STEP_S, LEAST_SCRAPES * scope.step_s)


def saturated_steps(choices: Mapping[str, Choice], scope: Scope, *, step_s: float) -> str | None:
    """1 where the step before was saturated, else 0."""
    step, inner = duration(step_s), duration(max(scope.step_s, step_s / LEAST_SCRAPES))

    def gauge(*keys: str) -> MetricCandidate | None:
        candidates = (choice.candidate for key in keys if (choice := choices.get(key)))
        return next((one for one in candidates if one and one.gauge), None)

    parts = []
    queue, kv = gauge("waiting_for_capacity", "waiting"), gauge("kv_usage")
    if queue is not None:
        total = f"sum({scope.once(selected(queue, queue.gauge or '', scope))})"
        parts.append(f"(min_over_time({total}[{step}:{inner}]) >= bool 1)")
    choice = choices.get("preemptions")
    preempted = choice.candidate if choice else None
    if kv is not None and preempted is not None and preempted.counter:
        within = replace(scope, window_s=step_s)
        events = f"sum({selected(preempted, preempted.counter, within, over='increase')}) > bool 0"
        full = f"max({selected(kv, kv.gauge or '', within, over='max_over_time')}) >= bool {FULL_KV:g}"
        parts.append(f"(({events}) * ({full}))")
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else f"(clamp_max({' + '.join(parts)}, 1) or {parts[0]})"


SIGNED = {"waiting_growth_per_s"}
"""Numbers that may be below 0; any other that is has been reported wrongly, and is unknown."""


def engine_numbers(vectors: Vectors, choices: Mapping[str, Choice], scope: Scope) -> dict[str, float | None]:
    """The numbers of the engine that can be; a series born with its first event counts 0 while the engine is seen."""

    def value(subject: Subject) -> float | None:
        choice = choices.get(subject.quantity) if subject.part is QuantityPart.WHOLE else None
        born_with_first = choice is not None and choice.candidate is not None and choice.concept.absent_means_zero
        if born_with_first and not vectors.of(subject) and subject not in vectors.problems:
            return 0.0
        return finite_of(vectors, subject)

    numbers = {name: value(subject) for name, subject in DIRECT.items()}
    for key in ("kv_capacity_tokens", "max_concurrency"):
        choice = choices.get(key)
        numbers[key] = _capacity(vectors, key, choice) if choice else None
    numbers["arrivals_rps"] = _arrivals(vectors, choices, scope)
    if numbers["computed_prompt_tokens_per_s"] is None:
        numbers["computed_prompt_tokens_per_s"] = _less(
            numbers["prompt_tokens_per_s"], one(vectors, "cached_prompt_tokens")
        )
    numbers["aborted_rps"] = _aborted(
        one(vectors, "first_tokens"), numbers["finished_rps"], one(vectors, "running", QuantityPart.GROWTH)
    )
    requests = one(vectors, "requests")
    if requests is None:
        requests = _sum(numbers["finished_rps"], numbers["failed_rps"])
    numbers["error_ratio"] = _share(numbers["failed_rps"], requests)
    numbers["client_error_ratio"] = _share(numbers["client_errors_rps"], requests)
    return {name: value for name, value in numbers.items() if value is None or value >= 0 or name in SIGNED}


def queue_persists(vectors: Vectors) -> bool:
    """Whether requests waited for capacity during the whole window."""
    lowest = one(vectors, "waiting_for_capacity", QuantityPart.MIN)
    if lowest is None:
        lowest = one(vectors, "waiting", QuantityPart.MIN)
    return lowest is not None and lowest >= 1.0


def engine_distributions(
    vectors: Vectors, choices: Mapping[str, Choice], scope: Scope
) -> dict[str, HistogramQuantiles]:
    """The distributions: latencies in milliseconds, lengths in tokens."""
    distributions = {}
    for name, key in DISTRIBUTIONS.items():
        choice = choices.get(key)
        candidate = choice.candidate if choice else None
        if candidate is None:
            distributions[name] = HistogramQuantiles()
            continue
        shown = SHOWN_AS[UNITS[key]]
        if candidate.mean:
            mean = one(vectors, key, QuantityPart.MEAN)
            distributions[name] = HistogramQuantiles(mean=None if mean is None else mean * candidate.scale * shown)
            continue
        samples = vectors.of(Subject(key, QuantityPart.BUCKETS))
        whole = native(samples)
        distributions[name] = distribution(
            buckets_of(samples),
            rate_sum=whole.sum if whole else one(vectors, key, QuantityPart.SUM),
            rate_count=whole.count if whole else one(vectors, key, QuantityPart.COUNT),
            window_s=scope.window_s,
            scale=candidate.scale * shown,
            zeros=one(vectors, key, QuantityPart.ZEROS) or 0.0,
        )
    return distributions


def mapping_of(choices: Mapping[str, Choice], scope: Scope) -> dict[str, Mapped]:
    """What each concept was read from."""
    mapping = {}
    for key, choice in choices.items():
        if choice.candidate is None:
            continue
        if choice.candidate.histogram:
            expression = quantile_expression(QUANTILES[SHOWN], choice.candidate, scope)
        elif key in SCALARS:
            expression = scalar_queries(key, choice.candidate, scope)[0].expression
        else:
            expression = scope.fill(choice.candidate.mean or "")
        mapping[key] = Mapped(
            query=expression,
            unit=choice.concept.unit,
            versions=choice.candidate.versions,
            verified=choice.candidate.verified,
            trap=choice.concept.trap,
            at_finish=choice.concept.at_finish,
            overridden=choice.overridden,
        )
    return mapping


def missing_of(
    choices: Mapping[str, Choice],
    vectors: Vectors,
    numbers: Mapping[str, float | None],
    distributions: Mapping[str, HistogramQuantiles],
) -> tuple[MissingQuantity, ...]:
    """Quantities without data, each with its reason: no metric, a query that failed, or nothing happened."""

    def known(quantity: str) -> float | None:
        return distributions[quantity].mean if quantity in distributions else numbers[quantity]

    missing = [
        MissingQuantity(quantity=quantity, reason=choices[key].reason)
        for key, quantity in QUANTITY.items()
        if key in choices and choices[key].candidate is None and known(quantity) is None
    ]
    rejected = {subject.name for subject in vectors.problems}
    for key, quantity in QUANTITY.items():
        if key not in choices or choices[key].candidate is None:
            continue
        if known(quantity) is None:
            why = "the query failed" if key in rejected else "nothing was recorded in the window"
            missing.append(MissingQuantity(quantity=quantity, reason=why))
    explained = {one.quantity for one in missing}
    for quantity in dict.fromkeys(QUANTITY.values()):
        if known(quantity) is None and quantity not in explained:
            missing.append(MissingQuantity(quantity=quantity, reason="this engine has no metric for it"))
    return tuple(missing)


def one(vectors: Vectors, quantity: str, part: QuantityPart = QuantityPart.WHOLE) -> float | None:
    """The single finite value of a quantity of the engine."""
    return finite_of(vectors, Subject(quantity, part))


def finite_of(vectors: Vectors, subject: Subject) -> float | None:
    """The single finite value of a query."""
    samples = vectors.of(subject)
    return finite(samples[0].value) if samples else None


def _capacity(vectors: Vectors, key: str, choice: Choice) -> float | None:
    """A number held in labels of an info metric, or a plain gauge; the smallest of several replicas."""
    candidate = choice.candidate
    if candidate is None:
        return None
    if not candidate.info:
        return one(vectors, key)
    values = [_held(sample.labels, candidate) for sample in vectors.of(Subject(key))]
    return finite(min((value for value in values if value is not None), default=None))


def _held(labels: Mapping[str, str], candidate: MetricCandidate) -> float | None:
    """The number in the labels of an info metric, in either of its two forms."""
    for names in (candidate.labels, candidate.times):
        try:
            if names:
                return math.prod(float(labels.get(name, "")) for name in names)
        except ValueError:  # vLLM writes None for what it does not know
            continue
    return None


def arrival_queries(choices: Mapping[str, Choice], scope: Scope) -> list[Query]:
    """What arrivals are made of: as counted, else what left the queue, then what the queue has more than before.

    What left the queue got its first token; where that is told at the end only, what runs changes, too.
    """
    for key in ("arrivals", "first_tokens", "finished"):
        choice = choices.get(key)
        if choice is None or choice.candidate is None:
            continue
        own = scalar_queries(key, choice.candidate, scope)[:1]
        if key == "arrivals":
            return own
        growing = ("waiting", "running") if choice.concept.at_finish else ("waiting",)
        candidates = ((name, more.candidate) for name in growing if (more := choices.get(name)))
        parts = [q for name, one in candidates if one is not None for q in scalar_queries(name, one, scope)]
        return [*own, *(q for q in parts if q.subject.part is QuantityPart.CHANGE)]
    return []


def _arrivals(vectors: Vectors, choices: Mapping[str, Choice], scope: Scope) -> float | None:
    """Arrivals over the window; where the metric that counts them has no data, from the next best."""
    for without in ((), ("arrivals",), ("arrivals", "first_tokens")):
        queries = arrival_queries({key: choice for key, choice in choices.items() if key not in without}, scope)
        values = [finite_of(vectors, query.subject) for query in queries]
        if values and values[0] is not None:
            return max(0.0, values[0] + sum(value for value in values[1:] if value is not None))
    return None


def _aborted(first_tokens: float | None, finished: float | None, running_growth: float | None) -> float | None:
    """Requests that got a first token, did not finish and no longer run."""
    if first_tokens is None or finished is None or running_growth is None:
        return None
    return max(0.0, first_tokens - finished - running_growth)


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole is not None and whole > 0 else None


def _less(whole: float | None, part: float | None) -> float | None:
    return max(0.0, whole - part) if whole is not None and part is not None else None


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None and b is None else (a or 0.0) + (b or 0.0)
