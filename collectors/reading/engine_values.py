"""From answers to the numbers and distributions of an observation. What has no data stays None."""

import math
from collections.abc import Mapping

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import Distribution, buckets_of, distribution, finite, native
from collectors.queries.query import Part, Query, Subject
from collectors.reading.observation import DISTRIBUTIONS, Mapped, Missing
from collectors.units import MS_PER_S
from collectors.vocabulary.detect import Choice
from collectors.vocabulary.expressions import Scope, distribution_queries, quantile_expression, scalar_queries
from collectors.vocabulary.schema import DISTRIBUTIONS as UNITS
from collectors.vocabulary.schema import SCALARS

SHOWN_QUANTILE = 0.95
"""Of the expression that is shown to be copied. Chosen: the percentile that scenarios limit by default."""
SHOWN_AS = {"s": MS_PER_S, "tokens": 1.0}
"""What turns the unit of a distribution into the one it is shown in: milliseconds, tokens."""

DIRECT = {
    "finished_rps": Subject("finished"),
    "failed_rps": Subject("failed"),
    "client_errors_rps": Subject("client_errors"),
    "prompt_tokens_per_s": Subject("prompt_tokens"),
    "computed_prompt_tokens_per_s": Subject("computed_prompt_tokens"),
    "generation_tokens_per_s": Subject("generation_tokens"),
    "running": Subject("running"),
    "running_max": Subject("running", Part.MAX),
    "waiting": Subject("waiting"),
    "waiting_max": Subject("waiting", Part.MAX),
    "waiting_growth_per_s": Subject("waiting", Part.GROWTH),
    "kv_usage": Subject("kv_usage"),
    "kv_usage_max": Subject("kv_usage", Part.MAX),
    "prefix_hit_ratio": Subject("prefix_hit"),
    "preemptions_per_s": Subject("preemptions"),
}
"""Numbers that are one query each, by their name in an observation."""

QUANTITY = {
    "first_tokens": "arrivals_rps",
    "finished": "finished_rps",
    "prompt_tokens": "prompt_tokens_per_s",
    "generation_tokens": "generation_tokens_per_s",
    "running": "running",
    "waiting": "waiting",
    "kv_usage": "kv_usage",
    "kv_capacity_tokens": "kv_capacity_tokens",
    "preemptions": "preemptions_per_s",
    "prefix_hit": "prefix_hit_ratio",
    "failed": "error_ratio",
    "ttft": "ttft_ms",
    "itl": "itl_ms",
    "tpot": "tpot_ms",
    "e2e": "e2e_ms",
    "queue": "queue_ms",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
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


def engine_numbers(vectors: Vectors, choices: Mapping[str, Choice]) -> dict[str, float | None]:
    """The numbers of the engine; a series that is born with its first event counts 0 while the engine is seen."""

    def value(subject: Subject) -> float | None:
        choice = choices.get(subject.quantity) if subject.part is Part.WHOLE else None
        born_with_first = choice is not None and choice.candidate is not None and choice.concept.absent_means_zero
        if born_with_first and not vectors.of(subject) and subject not in vectors.problems:
            return 0.0
        return finite_of(vectors, subject)

    numbers = {name: value(subject) for name, subject in DIRECT.items()}
    for key in ("kv_capacity_tokens", "max_concurrency"):
        choice = choices.get(key)
        numbers[key] = _capacity(vectors, key, choice) if choice else None
    numbers["arrivals_rps"] = _arrivals(one(vectors, "arrivals"), one(vectors, "first_tokens"), vectors)
    if numbers["computed_prompt_tokens_per_s"] is None:
        numbers["computed_prompt_tokens_per_s"] = _less(
            numbers["prompt_tokens_per_s"], one(vectors, "cached_prompt_tokens")
        )
    numbers["aborted_rps"] = _aborted(
        one(vectors, "first_tokens"), numbers["finished_rps"], one(vectors, "running", Part.GROWTH)
    )
    requests = one(vectors, "requests")
    if requests is None:
        requests = _sum(numbers["finished_rps"], numbers["failed_rps"])
    numbers["error_ratio"] = _share(numbers["failed_rps"], requests)
    numbers["client_error_ratio"] = _share(numbers["client_errors_rps"], requests)
    return numbers


def queue_persists(vectors: Vectors) -> bool:
    """Whether requests waited for capacity during the whole window."""
    lowest = one(vectors, "waiting_for_capacity", Part.MIN)
    if lowest is None:
        lowest = one(vectors, "waiting", Part.MIN)
    return lowest is not None and lowest >= 1.0


def engine_distributions(vectors: Vectors, choices: Mapping[str, Choice], scope: Scope) -> dict[str, Distribution]:
    """The distributions: latencies in milliseconds, lengths in tokens."""
    distributions = {}
    for name, key in DISTRIBUTIONS.items():
        choice = choices.get(key)
        candidate = choice.candidate if choice else None
        if candidate is None:
            distributions[name] = Distribution()
            continue
        shown = SHOWN_AS[UNITS[key]]
        if candidate.mean:
            mean = one(vectors, key, Part.MEAN)
            distributions[name] = Distribution(mean=None if mean is None else mean * candidate.scale * shown)
            continue
        samples = vectors.of(Subject(key, Part.BUCKETS))
        whole = native(samples)
        distributions[name] = distribution(
            buckets_of(samples),
            rate_sum=whole.sum if whole else one(vectors, key, Part.SUM),
            rate_count=whole.count if whole else one(vectors, key, Part.COUNT),
            window_s=scope.window_s,
            scale=candidate.scale * shown,
            zeros=one(vectors, key, Part.ZEROS) or 0.0,
        )
    return distributions


def mapping_of(choices: Mapping[str, Choice], scope: Scope) -> dict[str, Mapped]:
    """What each concept was read from."""
    mapping = {}
    for key, choice in choices.items():
        if choice.candidate is None:
            continue
        if choice.candidate.histogram:
            expression = quantile_expression(SHOWN_QUANTILE, choice.candidate, scope)
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
    distributions: Mapping[str, Distribution],
) -> tuple[Missing, ...]:
    """Quantities without data, each with its reason: no metric, a query that failed, or nothing happened."""
    missing = [
        Missing(quantity=quantity, reason=choices[key].reason)
        for key, quantity in QUANTITY.items()
        if key in choices and choices[key].candidate is None
    ]
    rejected = {subject.name for subject in vectors.problems}
    for key, quantity in QUANTITY.items():
        if key not in choices or choices[key].candidate is None:
            continue
        known = distributions[quantity].mean if quantity in distributions else numbers[quantity]
        if known is None:
            why = "the query failed" if key in rejected else "nothing was recorded in the window"
            missing.append(Missing(quantity=quantity, reason=why))
    explained = {one.quantity for one in missing}
    for quantity in dict.fromkeys(QUANTITY.values()):
        known = distributions[quantity].mean if quantity in distributions else numbers[quantity]
        if known is None and quantity not in explained:
            missing.append(Missing(quantity=quantity, reason="this engine has no metric for it"))
    return tuple(missing)


def one(vectors: Vectors, quantity: str, part: Part = Part.WHOLE) -> float | None:
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
    values = []
    for sample in vectors.of(Subject(key)):
        try:
            values.append(math.prod(float(sample.labels.get(n, "")) for n in candidate.labels + candidate.times))
        except ValueError:  # vLLM writes None for what it does not know
            continue
    return finite(min(values)) if values else None


def _arrivals(true: float | None, first_tokens: float | None, vectors: Vectors) -> float | None:
    """Arrivals; from first tokens plus the growth of a queue that never empties, where the engine counts none."""
    if true is not None or first_tokens is None:
        return true
    growth = one(vectors, "waiting", Part.GROWTH) if queue_persists(vectors) else 0.0
    return max(0.0, first_tokens + (growth or 0.0))


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
