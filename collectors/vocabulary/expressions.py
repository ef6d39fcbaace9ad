"""From a candidate of a vocabulary to PromQL, which a Prometheus answers, or our own ring of scrapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from collectors.prometheus.promql import LabelValue, duration, matchers
from collectors.vocabulary.schema import Candidate, EngineVocabulary

SUBQUERY_POINTS = 240
"""Points of a gauge over one window: shows a spike of a minute in four hours, cheap for thousands of replicas."""

MODEL_KEYS = ("model", "model_name")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Which series and which window: matchers of the source, and what the vocabulary adds to them.

    ``instant`` takes gauges as they are now.
    """

    labels: Mapping[str, LabelValue] = field(default_factory=dict)
    model_label: str | None = None
    always: str = ""
    front: str = ""
    window_s: float
    step_s: float = 15.0
    spelling: tuple[str, str] | None = None
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
        """A template with its placeholders replaced."""
        if not self.selection():
            template = template.replace(",$sel", "")
        if not self.selection(model=False):
            template = template.replace(",$other", "")
        if not self.front:
            template = template.replace("$front,", "").replace(",$front", "")
        for token, text in (
            ("$sel", self.selection()),
            ("$other", self.selection(model=False)),
            ("$front", self.front),
            ("$window_s", f"{self.window_s:g}"),
            ("$w", self.window),
            ("$step", self.resolution),
        ):
            template = template.replace(token, text)
        return self.respell(template)

    def respell(self, text: str) -> str:
        """Metric names with the prefix found at this source."""
        return text.replace(*self.spelling) if self.spelling else text


def scope_of(
    selector: Mapping[str, LabelValue],
    vocabulary: EngineVocabulary,
    *,
    window_s: float,
    step_s: float,
    spelling: tuple[str, str] | None = None,
    front: str = "",
) -> Scope:
    """The scope of a source for one engine: model and model_name both mean the label this engine uses."""
    labels: dict[str, LabelValue] = {}
    for key, value in selector.items():
        labels[vocabulary.model_label if key in MODEL_KEYS and vocabulary.model_label else key] = value
    return Scope(
        labels=labels,
        model_label=vocabulary.model_label,
        always=vocabulary.always,
        front=front,
        window_s=window_s,
        step_s=step_s,
        spelling=spelling,
    )


def selected(candidate: Candidate, metric: str, scope: Scope) -> str:
    """The series of a metric: ``metric{matchers}``."""
    inside = scope.selection(model=candidate.beside is None, extra=scope.fill(candidate.where))
    series = f"{scope.respell(metric)}{{{inside}}}"
    if candidate.beside is None:
        return series
    return f"({series} and on (job, instance) {scope.respell(candidate.beside)}{{{scope.selection()}}})"


def scalar_expressions(key: str, candidate: Candidate, scope: Scope) -> dict[str, str]:
    """Expressions of a single-number concept; a gauge also gives ``key_max``, ``key_min`` and ``key_growth``."""
    if candidate.gauge:
        return _gauge(key, candidate, scope)
    if candidate.counter:
        return {key: _scaled(f"sum(rate({selected(candidate, candidate.counter, scope)}[{scope.window}]))", candidate)}
    if candidate.info:
        names = ", ".join(candidate.labels + candidate.times)
        return {key: f"max by ({names}) ({selected(candidate, candidate.info, scope)})"}
    return {key: _scaled(scope.fill(candidate.expr or candidate.mean or ""), candidate)}


def _gauge(key: str, candidate: Candidate, scope: Scope) -> dict[str, str]:
    """A gauge over the window. Summed ones go through a subquery, so that replicas that took turns are not added up."""
    series = selected(candidate, candidate.gauge or "", scope)
    across, w, step = candidate.across, scope.window, scope.resolution
    if across == "sum":
        total = f"sum({series})"
        found = {
            key: f"avg_over_time({total}[{w}:{step}])",
            f"{key}_max": f"max_over_time({total}[{w}:{step}])",
            f"{key}_min": f"min_over_time({total}[{w}:{step}])",
            f"{key}_growth": f"deriv({total}[{w}:{step}])",
        }
    else:
        kept = f" < {candidate.below:g}" if candidate.below is not None else ""
        found = {
            key: f"{across}(avg_over_time({series}[{w}]){kept})",
            f"{key}_max": f"max(max_over_time({series}[{w}]){kept})",
        }
    return {name: _scaled(text, candidate) for name, text in found.items()}


def distribution_expressions(key: str, candidate: Candidate, scope: Scope) -> dict[str, str]:
    """Bucket rates, sum and count of a histogram (classic, or native without _bucket series), or only a mean."""
    if candidate.mean:
        return {f"{key}.mean": scope.fill(candidate.mean)}
    if not candidate.histogram:
        return {}
    rate = {
        part: f"rate({selected(candidate, candidate.histogram + part, scope)}[{scope.window}])"
        for part in ("_bucket", "_sum", "_count", "")
    }
    found = {
        f"{key}.buckets": f"sum by (le) ({rate['_bucket']}) or sum({rate['']})",
        f"{key}.sum": f"sum({rate['_sum']})",
        f"{key}.count": f"sum({rate['_count']})",
    }
    if candidate.zeros:
        found[f"{key}.zeros"] = scope.fill(candidate.zeros)
    return found


def quantile_expression(q: float, candidate: Candidate, scope: Scope) -> str:
    """The PromQL somebody would paste into another tool to see the same quantile."""
    series = selected(candidate, f"{candidate.histogram}_bucket", scope)
    return _scaled(f"histogram_quantile({q:g}, sum by (le) (rate({series}[{scope.window}])))", candidate)


def per_replica_expression(candidate: Candidate, by: tuple[str, ...], scope: Scope) -> str | None:
    """The concept split by replica labels; None where the candidate cannot be split."""
    labels = ", ".join(by)
    if candidate.gauge:
        how = "sum" if candidate.across == "sum" else candidate.across
        return _scaled(f"{how} by ({labels}) ({selected(candidate, candidate.gauge, scope)})", candidate)
    if candidate.counter:
        rate = f"rate({selected(candidate, candidate.counter, scope)}[{scope.window}])"
        return _scaled(f"sum by ({labels}) ({rate})", candidate)
    return None


def _scaled(text: str, candidate: Candidate) -> str:
    return text if candidate.scale == 1.0 else f"({text}) * {candidate.scale!r}"
