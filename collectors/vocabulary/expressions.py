"""From a candidate of a vocabulary to queries in PromQL, which a Prometheus answers, or our own ring of scrapes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from collectors.prometheus.promql import AnyCase, LabelValue, duration, matchers
from collectors.queries.query import GROUPED, PLAIN, SPREAD, Group, QuantityPart, Query, Subject
from collectors.queries.ttl import FIRST, FOURTH, SECOND, slow
from collectors.vocabulary.detect import DetectedEngine
from collectors.vocabulary.schema import DISTRIBUTIONS, SCALARS, MetricCandidate
from collectors.vocabulary.spellings import Spelling, respelled

SUBQUERY_POINTS = 240
"""Points of a gauge over one window: shows a spike of a minute in four hours, cheap for thousands of replicas."""

USUAL_STEP_S = 15.0
"""Between scrapes until the interval is known: what most Prometheus servers are set to."""

MODEL_KEYS = ("model", "model_name")
"""Keys of a selector that mean the label of an engine that names the model."""

LIMITED = ("ttft", "itl", "e2e")
"""Latencies that a scenario may limit."""

TTL_OF_CAPACITIES = {"kv_capacity_tokens": slow(4), "max_concurrency": slow(5)}
"""They change with a restart only."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Which series and which window: matchers of the source, and what the vocabulary adds to them.

    ``always`` are matchers of any series; ``ranks`` are labels of processes that report the same requests; ``front``
    and ``back`` leave out and choose servers whose requests others report, too; ``instant`` takes gauges as they are.
    """

    labels: Mapping[str, LabelValue] = field(default_factory=dict)
    model_label: str | None = None
    always: str = ""
    ranks: tuple[str, ...] = ()
    front: str = ""
    back: str = ""
    window_s: float
    step_s: float = 15.0
    spelling: Spelling = None
    instant: bool = False

    @property
    def window(self) -> str:
        """The window as PromQL writes it."""
        return duration(self.window_s)

    @property
    def resolution(self) -> str:
        """Step of a subquery over the window."""
        return duration(max(self.step_s, self.window_s / SUBQUERY_POINTS, 1.0))

    def selection(self, *, model: bool = True, extra: str = "") -> str:
        """Matchers without braces, comma-separated; ``model=False`` leaves out the model label."""
        kept = {k: v for k, v in self.labels.items() if model or k != self.model_label}
        parts = (extra, matchers(kept), self.always if model else "")
        return ",".join(p.strip(", ") for p in parts if p.strip(", "))

    def fill(self, template: str) -> str:
        """A template in the spelling of the source with its placeholders replaced."""
        return self.placed(self.respell(template))

    def placed(self, template: str) -> str:
        """A template with its placeholders replaced; of matchers alone, whose labels may begin as the metrics do."""
        if not self.selection():
            template = template.replace(",$sel", "")
        if not self.selection(model=False):
            template = template.replace(",$other", "")
        for token, text in (("$front", self.front), ("$back", self.back)):
            if not text:
                template = template.replace(f"{token},", "").replace(f",{token}", "")
        for token, text in (
            ("$sel", self.selection()),
            ("$other", self.selection(model=False)),
            ("$ranks", ", ".join(self.ranks)),
            ("$front", self.front),
            ("$back", self.back),
            ("$window_s", f"{self.window_s:g}"),
            ("$w", self.window),
            ("$step", self.resolution),
        ):
            template = template.replace(token, text)
        return template

    def respell(self, text: str) -> str:
        """Metric names with the prefix found at this source."""
        return respelled(text, self.spelling)

    def once(self, vector: str) -> str:
        """A vector in which processes that report the same requests count once."""
        return f"max without ({', '.join(self.ranks)}) ({vector})" if self.ranks else vector


def scope_of(
    selector: Mapping[str, LabelValue],
    engine: DetectedEngine,
    *,
    window_s: float,
    step_s: float = USUAL_STEP_S,
    front: str = "",
) -> Scope:
    """The scope of a source for one engine: model and model_name both mean the label this engine uses."""
    label, any_case = engine.model_label, engine.vocabulary.any_case
    labels: dict[str, LabelValue] = {}
    for key, value in selector.items():
        if key in MODEL_KEYS and label:
            labels[label] = AnyCase((value,) if isinstance(value, str) else value) if any_case else value
        else:
            labels[key] = value
    return Scope(
        labels=labels,
        model_label=label,
        ranks=engine.vocabulary.ranks,
        front=front,
        window_s=window_s,
        step_s=step_s,
        spelling=engine.spelling,
    )


def selected(candidate: MetricCandidate, metric: str, scope: Scope, *, over: str = "") -> str:
    """The series of a metric: ``metric{matchers}``; ``over`` is a function of its values over the window."""
    inside = scope.selection(model=candidate.beside is None, extra=scope.placed(candidate.where))
    series = f"{scope.respell(metric)}{{{inside}}}"
    if over:
        series = f"{over}({series}[{scope.window}])"
    if candidate.beside is None:
        return series
    return f"({series} and on (job, instance) {scope.respell(candidate.beside)}{{{scope.selection()}}})"


def scalar_queries(key: str, candidate: MetricCandidate, scope: Scope) -> list[Query]:
    """The queries of a single-number concept; a gauge is also asked for its extremes, a sum for its growth."""
    if candidate.gauge:
        return _gauge(key, candidate, scope)
    if candidate.counter:
        rate = f"sum({scope.once(selected(candidate, candidate.counter, scope, over='rate'))})"
        return [_scalar(key, QuantityPart.WHOLE, _scaled(rate, candidate))]
    if candidate.info:
        names = ", ".join(candidate.labels + candidate.times)
        values = f"max by ({names}) ({selected(candidate, candidate.info, scope)})"
        return [_scalar(key, QuantityPart.WHOLE, values, weight=SPREAD)]
    return [_scalar(key, QuantityPart.WHOLE, _scaled(scope.fill(candidate.expr or candidate.mean or ""), candidate))]


def _gauge(key: str, candidate: MetricCandidate, scope: Scope) -> list[Query]:
    """A gauge over the window. Summed ones go through a subquery, so that replicas that took turns are not added up."""
    metric = candidate.gauge or ""
    series = selected(candidate, metric, scope)
    across, w, step = candidate.across, scope.window, scope.resolution
    if across == "sum":
        total = f"sum({scope.once(series)})"
        texts = {
            QuantityPart.WHOLE: f"avg_over_time({total}[{w}:{step}])",
            QuantityPart.MAX: f"max_over_time({total}[{w}:{step}])",
            QuantityPart.MIN: f"min_over_time({total}[{w}:{step}])",
            QuantityPart.GROWTH: f"deriv({total}[{w}:{step}])",
            QuantityPart.CHANGE: f"delta({total}[{w}:{step}]) / {scope.window_s:g}",
        }
    else:
        kept = f" < {candidate.below:g}" if candidate.below is not None else ""
        texts = {
            QuantityPart.WHOLE: f"{across}({selected(candidate, metric, scope, over='avg_over_time')}{kept})",
            QuantityPart.MAX: f"max({selected(candidate, metric, scope, over='max_over_time')}{kept})",
        }
    return [_scalar(key, part, _scaled(text, candidate)) for part, text in texts.items()]


def _scalar(key: str, part: QuantityPart, expression: str, *, weight: int = PLAIN) -> Query:
    unit = f"{SCALARS[key]}/s" if part in (QuantityPart.GROWTH, QuantityPart.CHANGE) else SCALARS[key]
    ttl = TTL_OF_CAPACITIES.get(key, FIRST) if part is QuantityPart.WHOLE else FIRST
    return Query(expression=expression, subject=Subject(key, part), unit=unit, weight=weight, ttl=ttl)


def distribution_queries(key: str, candidate: MetricCandidate, scope: Scope) -> list[Query]:
    """Bucket rates, sum and count of a histogram (classic, or native without _bucket series), or only a mean."""
    if candidate.mean:
        return [_piece(key, QuantityPart.MEAN, scope.fill(candidate.mean))]
    if not candidate.histogram:
        return []
    rate = {
        part: selected(candidate, candidate.histogram + part, scope, over="rate")
        for part in ("_bucket", "_sum", "_count", "")
    }
    queries = [
        _piece(key, QuantityPart.BUCKETS, f"sum by (le) ({scope.once(rate['_bucket'])}) or sum({rate['']})"),
        _piece(key, QuantityPart.SUM, f"sum({scope.once(rate['_sum'])})"),
        _piece(key, QuantityPart.COUNT, f"sum({scope.once(rate['_count'])})"),
    ]
    if candidate.zeros:
        queries.append(_piece(key, QuantityPart.ZEROS, scope.fill(candidate.zeros)))
    return queries


def _piece(key: str, part: QuantityPart, expression: str) -> Query:
    """One piece of a distribution. Of a fleet, only the latencies with limits have their buckets added up."""
    limited = key in LIMITED
    ttl = SECOND if limited and part in (QuantityPart.BUCKETS, QuantityPart.SUM, QuantityPart.COUNT) else FIRST
    if not limited and part in (QuantityPart.SUM, QuantityPart.COUNT, QuantityPart.ZEROS):
        ttl = FOURTH
    return Query(
        expression=expression,
        subject=Subject(key, part),
        unit=DISTRIBUTIONS[key],
        weight=SPREAD if part in (QuantityPart.BUCKETS, QuantityPart.ZEROS) else PLAIN,
        ttl=ttl,
        matchers_at=expression.index("{") + 1 if limited and part is QuantityPart.BUCKETS else None,
    )


def quantile_expression(q: float, candidate: MetricCandidate, scope: Scope) -> str:
    """The PromQL somebody would paste into another tool to see the same quantile."""
    rate = scope.once(selected(candidate, f"{candidate.histogram}_bucket", scope, over="rate"))
    return _scaled(f"histogram_quantile({q:g}, sum by (le) ({rate}))", candidate)


def replica_query(key: str, candidate: MetricCandidate, by: tuple[str, ...], scope: Scope) -> Query | None:
    """The concept split by replica labels; None where the candidate cannot be split."""
    labels = ", ".join(by)
    if candidate.gauge:
        how = candidate.across
        series = selected(candidate, candidate.gauge, scope)
        split = f"{how} by ({labels}) ({scope.once(series) if how == 'sum' else series})"
    elif candidate.counter:
        how = "sum"
        rate = selected(candidate, candidate.counter, scope, over="rate")
        split = f"sum by ({labels}) ({scope.once(rate)})"
    else:
        return None
    return Query(
        expression=_scaled(split, candidate),
        subject=Subject(key, group=Group.REPLICA),
        unit=SCALARS[key],
        weight=SPREAD if how == "max" else GROUPED,
        ttl=FIRST,
    )


def _scaled(text: str, candidate: MetricCandidate) -> str:
    return text if candidate.scale == 1.0 else f"({text}) * {candidate.scale!r}"
