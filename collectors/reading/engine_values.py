"""From answers to the numbers and distributions of an observation. What has no data stays None."""

from __future__ import annotations

import math
from collections.abc import Mapping

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import Distribution, buckets_of, distribution, finite, native
from collectors.reading.observation import DISTRIBUTIONS, Mapped, Missing
from collectors.vocabulary.detect import Choice
from collectors.vocabulary.expressions import Scope, distribution_expressions, quantile_expression, scalar_expressions
from collectors.vocabulary.schema import SCALARS

MILLISECONDS = 1000.0

# Numbers read one to one from a concept.
DIRECT = {
    "finished_rps": "finished",
    "failed_rps": "failed",
    "client_errors_rps": "client_errors",
    "prompt_tokens_per_s": "prompt_tokens",
    "computed_prompt_tokens_per_s": "computed_prompt_tokens",
    "generation_tokens_per_s": "generation_tokens",
    "running": "running",
    "running_max": "running_max",
    "waiting": "waiting",
    "waiting_max": "waiting_max",
    "waiting_growth_per_s": "waiting_growth",
    "kv_usage": "kv_usage",
    "kv_usage_max": "kv_usage_max",
    "prefix_hit_ratio": "prefix_hit",
    "preemptions_per_s": "preemptions",
}
# Shown for a concept that has no data.
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


def expressions(choices: Mapping[str, Choice], scope: Scope) -> dict[str, str]:
    """Everything to ask for one observation of an engine."""
    found: dict[str, str] = {}
    for key, choice in choices.items():
        if choice.candidate is None:
            continue
        make = scalar_expressions if key in SCALARS else distribution_expressions
        found.update(make(key, choice.candidate, scope))
    return found


def engine_numbers(vectors: Vectors, choices: Mapping[str, Choice]) -> dict[str, float | None]:
    """The numbers of the engine; a series that is born with its first event counts 0 while the engine is seen."""

    def value(key: str) -> float | None:
        found = one(vectors, key)
        choice = choices.get(key)
        if found is None and choice and choice.candidate and choice.concept.absent_means_zero and not vectors.of(key):
            return None if key in vectors.problems else 0.0
        return found

    numbers = {name: value(key) for name, key in DIRECT.items()}
    for key in ("kv_capacity_tokens", "max_concurrency"):
        choice = choices.get(key)
        numbers[key] = _capacity(vectors, key, choice) if choice else None
    numbers["arrivals_rps"] = _arrivals(one(vectors, "arrivals"), one(vectors, "first_tokens"), vectors)
    if numbers["computed_prompt_tokens_per_s"] is None:
        numbers["computed_prompt_tokens_per_s"] = _less(
            numbers["prompt_tokens_per_s"], one(vectors, "cached_prompt_tokens")
        )
    numbers["aborted_rps"] = _aborted(
        one(vectors, "first_tokens"), numbers["finished_rps"], one(vectors, "running_growth")
    )
    requests = one(vectors, "requests")
    if requests is None:
        requests = _sum(numbers["finished_rps"], numbers["failed_rps"])
    numbers["error_ratio"] = _share(numbers["failed_rps"], requests)
    numbers["client_error_ratio"] = _share(numbers["client_errors_rps"], requests)
    return numbers


def queue_persists(vectors: Vectors) -> bool:
    """Whether requests waited for capacity during the whole window."""
    lowest = one(vectors, "waiting_for_capacity_min")
    if lowest is None:
        lowest = one(vectors, "waiting_min")
    return lowest is not None and lowest >= 1.0


def engine_distributions(vectors: Vectors, choices: Mapping[str, Choice], scope: Scope) -> dict[str, Distribution]:
    """The distributions: latencies in milliseconds, lengths in tokens."""
    found = {}
    for name, key in DISTRIBUTIONS.items():
        choice = choices.get(key)
        candidate = choice.candidate if choice else None
        if candidate is None:
            found[name] = Distribution()
            continue
        unit = MILLISECONDS if name.endswith("_ms") else 1.0
        if candidate.mean:
            mean = one(vectors, f"{key}.mean")
            found[name] = Distribution(mean=None if mean is None else mean * candidate.scale * unit)
            continue
        samples = vectors.of(f"{key}.buckets")
        whole = native(samples)
        found[name] = distribution(
            buckets_of(samples),
            rate_sum=whole.sum if whole else one(vectors, f"{key}.sum"),
            rate_count=whole.count if whole else one(vectors, f"{key}.count"),
            window_s=scope.window_s,
            scale=candidate.scale * unit,
            zeros=one(vectors, f"{key}.zeros") or 0.0,
        )
    return found


def mapping_of(choices: Mapping[str, Choice], scope: Scope) -> dict[str, Mapped]:
    """What each concept was read from."""
    found = {}
    for key, choice in choices.items():
        if choice.candidate is None:
            continue
        if choice.candidate.histogram:
            query = quantile_expression(0.95, choice.candidate, scope)
        else:
            asked = scalar_expressions(key, choice.candidate, scope) if key in SCALARS else {}
            query = asked.get(key) or scope.fill(choice.candidate.mean or "")
        found[key] = Mapped(
            query=query,
            unit=choice.concept.unit,
            versions=choice.candidate.versions,
            verified=choice.candidate.verified,
            trap=choice.concept.trap,
            at_finish=choice.concept.at_finish,
            overridden=choice.overridden,
        )
    return found


def missing_of(
    choices: Mapping[str, Choice],
    vectors: Vectors,
    numbers: Mapping[str, float | None],
    distributions: Mapping[str, Distribution],
) -> tuple[Missing, ...]:
    """Quantities without data, each with its reason: no metric, a query that failed, or nothing happened."""
    found = [
        Missing(quantity=quantity, reason=choices[key].reason)
        for key, quantity in QUANTITY.items()
        if key in choices and choices[key].candidate is None
    ]
    names = {key.split(".")[0] for key in vectors.problems}
    for key, quantity in QUANTITY.items():
        if key not in choices or choices[key].candidate is None:
            continue
        known = distributions[quantity].mean if quantity in distributions else numbers[quantity]
        if known is None:
            why = "the query failed" if key in names else "nothing was recorded in the window"
            found.append(Missing(quantity=quantity, reason=why))
    told = {missing.quantity for missing in found}
    for quantity in dict.fromkeys(QUANTITY.values()):
        known = distributions[quantity].mean if quantity in distributions else numbers[quantity]
        if known is None and quantity not in told:
            found.append(Missing(quantity=quantity, reason="this engine has no metric for it"))
    return tuple(found)


def one(vectors: Vectors, key: str) -> float | None:
    """The single finite value of an expression."""
    samples = vectors.of(key)
    return finite(samples[0].value) if samples else None


def _capacity(vectors: Vectors, key: str, choice: Choice) -> float | None:
    """A number held in labels of an info metric, or a plain gauge; the smallest of several replicas."""
    candidate = choice.candidate
    if candidate is None:
        return None
    if not candidate.info:
        return one(vectors, key)
    values = []
    for sample in vectors.of(key):
        try:
            values.append(math.prod(float(sample.labels.get(n, "")) for n in candidate.labels + candidate.times))
        except ValueError:  # vLLM writes None for what it does not know
            continue
    return finite(min(values)) if values else None


def _arrivals(true: float | None, first_tokens: float | None, vectors: Vectors) -> float | None:
    """Arrivals; from first tokens plus the growth of a queue that never empties, where the engine counts none."""
    if true is not None or first_tokens is None:
        return true
    growth = one(vectors, "waiting_growth") if queue_persists(vectors) else 0.0
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
