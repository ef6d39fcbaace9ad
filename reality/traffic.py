"""The traffic: what was planned beside what it is, and what the prediction is made for."""

import math
from dataclasses import dataclass

import numpy as np

from collectors.prometheus.histograms import HistogramQuantiles
from collectors.questions.deployments import ObservedDeployment
from collectors.reading.observation import Observation
from reality.labels import SHARE_OF_PROMPT
from reality.lengths import fits_planned, from_histogram, from_plan, shared_prefix
from reality.result import FigureVerdict, TrafficRow
from reality.sampling import NOTHING, SampledValue, exact, mean_of, quantile_of, rate_of, variation
from reality.verdict import TOLERANCE, outside, tolerated, verdict
from sizing.base.arrays import Floats
from sizing.base.format import percent
from sizing.base.units import S_PER_MINUTE
from sizing.question.length_distributions import FixedLength, LengthDistribution
from sizing.question.traffic import Traffic
from sizing.question.understand import Question

LEAST_PER_BIN = 100.0
"""Arrivals per step of the load over time, below which neighbouring steps are joined: else chance looks like change."""

QUANTILE_NAMES = ("p50", "p95")
LEAST_ARRIVALS = 1e-9
"""Arrivals per step at least, so that nothing is divided by 0."""

TOO_UNCERTAIN = (
    "the value is off by more than 10 %, its interval (histogram bucket and number of requests) reaches the plan: too "
    "uncertain to call it as planned"
)
"""Why a value that is off, by less than its own interval, has no verdict."""

TWO_MINUTES_S = 120.0
"""The length of time from which on it is named in minutes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ObservedTraffic:
    """What a prediction is made for.

    ``rates`` are arrivals in requests/s in consecutive steps of ``step_s``, their mean ``rps``; ``lengths`` (3, n) are
    prompt, output and cached tokens of equally likely requests. ``assumed`` says what had to be.
    """

    rps: float
    rates: tuple[float, ...]
    step_s: float
    lengths: Floats
    assumed: tuple[str, ...]

    @property
    def input_tokens(self) -> float:
        """Mean tokens of a prompt, cached ones included."""
        return float(self.lengths[0].mean())

    @property
    def output_tokens(self) -> float:
        """Mean tokens of an answer."""
        return float(self.lengths[1].mean())

    @property
    def cached_tokens(self) -> float:
        """Mean cached part of a prompt."""
        return float(self.lengths[2].mean())

    @property
    def decode_context(self) -> float:
        """Mean tokens that a decoding sequence holds, see :class:`sizing.question.traffic.Lengths`."""
        return Traffic(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            output_variation=float(self.lengths[1].var()) / self.output_tokens**2,
        ).decode_context


def observed_traffic(question: Question, observed: Observation, deployed: ObservedDeployment) -> ObservedTraffic | None:
    """The traffic of the window; None when nothing arrived or arrivals are unknown."""
    rps = observed.number("arrivals_rps")
    if rps is None or rps <= 0:
        return None
    assumed, drawn = [], []
    for name, label, planned in (
        ("input_tokens", "Prompt", question.prompt),
        ("output_tokens", "Output", question.output),
    ):
        distribution = observed.distribution(name)
        lengths, how = _lengths(distribution, planned, _mean_by_rate(observed, name))
        assumed.append(f"{label} lengths {how}.")
        drawn.append(lengths)
    hits = observed.number("prefix_hit_ratio")
    if hits is None:
        hits = planned_hits(question)
        assumed.append(f"Prefix hit rate as planned ({percent(hits)}): the deployment does not report it.")
    rng = np.random.default_rng(0)
    prompt, output = rng.permutation(drawn[0]), rng.permutation(drawn[1])
    cached = shared_prefix(prompt, hits)
    rates, step = _rates(rps, observed.window_s, deployed)
    return ObservedTraffic(
        rps=rps, rates=rates, step_s=step, lengths=np.stack([prompt, output, cached]), assumed=tuple(assumed)
    )


def _lengths(distribution: HistogramQuantiles, planned: LengthDistribution, mean: float | None) -> tuple[Floats, str]:
    """Lengths and how they came about, best first: the plan's shape at the measured mean where the histogram does not
    contradict it, as buckets say little of a tail; the histogram; without one that shape; the plan."""
    histogram = from_histogram(distribution)
    if histogram is not None and distribution.mean is not None and not isinstance(planned, FixedLength):
        shaped = from_plan(planned, distribution.mean)
        if fits_planned(distribution, shaped):
            return shaped, f"spread as planned, which the histogram bears out, around {distribution.mean:.0f} tokens"
    if histogram is not None:
        return histogram, "as the histogram of the window has them, with its mean"
    known = distribution.mean if distribution.mean is not None else mean
    if known is not None:
        return from_plan(planned, known), f"spread as planned around the measured mean of {known:.0f} tokens"
    return from_plan(planned, None), "as planned: the deployment does not report them"


def _mean_by_rate(observed: Observation, name: str) -> float | None:
    """Mean tokens of a request from token and request rates, where the engine has no histogram of lengths."""
    tokens = observed.number("prompt_tokens_per_s" if name == "input_tokens" else "generation_tokens_per_s")
    requests = observed.number("arrivals_rps")
    return tokens / requests if tokens and requests else None


def _rates(rps: float, window_s: float, deployed: ObservedDeployment) -> tuple[tuple[float, ...], float]:
    """Arrivals over the window in steps of enough arrivals, scaled to the mean of the window."""
    load = deployed.load
    known = [] if load is None else [r for r in load.rps if math.isfinite(r)]
    if load is None or len(known) < 2 or not sum(known) > 0:
        return (rps,), window_s
    joined = max(1, math.ceil(LEAST_PER_BIN / max(rps * load.step_s, LEAST_ARRIVALS)))
    merged = [float(np.mean(known[i : i + joined])) for i in range(0, len(known), joined)]
    scale = rps / float(np.mean(merged))
    return tuple(rate * scale for rate in merged), load.step_s * joined


def planned_hits(question: Question) -> float:
    """Planned share of prompt tokens that come from the prefix cache."""
    return question.traffic.cached_tokens / question.traffic.input_tokens


def traffic_rows(
    question: Question, observed: Observation, deployed: ObservedDeployment, foreign: str
) -> tuple[TrafficRow, ...]:
    """Planned against measured; ``foreign`` is why the traffic is none of this plan ("" when it is)."""
    demand, traffic = question.demand, question.traffic
    arrivals = observed.number("arrivals_rps")
    busiest, peak = _peak(arrivals, observed, deployed)
    rows = [
        _row("arrivals_rps_peak", "arrivals_rps", busiest, "requests/s", demand.sustained_rps, peak, foreign),
        _row(
            "arrivals_rps",
            "arrivals_rps",
            "Arrivals, mean of the window",
            "requests/s",
            demand.average_rps,
            rate_of(arrivals, observed.window_s, observed.scrape_interval_s),
            foreign,
        ),
    ]
    rows += _length_rows("input_tokens", "ISL", traffic.input_tokens, question.prompt, observed, foreign)
    rows += _length_rows("output_tokens", "OSL", traffic.output_tokens, question.output, observed, foreign)
    hits = observed.number("prefix_hit_ratio")
    measured = exact(hits) if (arrivals or 0) > 0 and hits is not None else NOTHING
    rows.append(
        _row(
            "prefix_hit_ratio",
            "prefix_hit_ratio",
            "Prefix hit rate",
            SHARE_OF_PROMPT,
            planned_hits(question),
            measured,
            foreign,
            ratio=True,
        )
    )
    return tuple(_with_missing(row, observed) for row in rows)


def _length_rows(
    name: str, label: str, mean: float, planned: LengthDistribution, observed: Observation, foreign: str
) -> list[TrafficRow]:
    """Mean and quantiles of a length."""
    measured = observed.distribution(name)
    of_quantiles = [
        _row(f"{name}.{q}", name, f"{label}, {q}", "tokens", getattr(planned, q), quantile_of(measured, q), foreign)
        for q in QUANTILE_NAMES
    ]
    return [_row(f"{name}.mean", name, f"{label}, mean", "tokens", mean, mean_of(measured), foreign), *of_quantiles]


def _peak(arrivals: float | None, observed: Observation, deployed: ObservedDeployment) -> tuple[str, SampledValue]:
    """What the busiest step of the window is called, and its load; without steps that of the window."""
    every = observed.scrape_interval_s
    rates, step = _rates(arrivals, observed.window_s, deployed) if arrivals else ((), 0.0)
    if len(rates) < 2:
        return "Arrivals, the window as one", rate_of(arrivals, observed.window_s, every)
    named = f"{step:g} s" if step < TWO_MINUTES_S else f"{step / S_PER_MINUTE:.3g} min"
    return f"Arrivals, highest {named}", rate_of(max(rates), step, every, looked_at=len(rates))


def _row(
    key: str,
    measured_as: str,
    label: str,
    unit: str,
    planned: float | None,
    measured: SampledValue,
    foreign: str,
    *,
    ratio: bool = False,
) -> TrafficRow:
    value, difference = measured.interval.value, None
    if planned is not None and value is not None:
        difference = value - planned if ratio else value / planned - 1.0
    reason = foreign or measured.weak
    if planned is None and value is not None:
        reason = reason or "the plan states a peak only"
    judged = planned is not None and not reason
    expected = tolerated(planned or 0.0, ratio=ratio)
    judgement: FigureVerdict = verdict(expected, measured.interval) if judged else "cannot_judge"
    # The busiest step lies above the mean by chance, which its interval takes back; a length has no such lift.
    if judgement == "within" and unit == "tokens" and outside(expected, measured.interval):
        judgement, reason = "cannot_judge", TOO_UNCERTAIN
    return TrafficRow(
        key=key,
        measured_as=measured_as,
        label=label,
        unit=unit,
        planned=planned,
        measured=measured.interval,
        count=measured.count,
        difference=difference,
        verdict=judgement,
        reason=reason,
    )


def _with_missing(row: TrafficRow, observed: Observation) -> TrafficRow:
    """The row with the collector's reason where there is no value."""
    if row.measured.value is not None or row.reason:
        return row
    why = next((m.reason for m in observed.missing if m.quantity == row.measured_as), "nothing was measured")
    return row.model_copy(update={"reason": why, "verdict": "cannot_judge"})


def length_variation(observed: Observation) -> float:
    """Squared coefficient of variation of the output length; 1 where the histogram does not say."""
    squared = variation(observed.distribution("output_tokens").buckets)
    return 1.0 if squared is None else squared


def in_words(rows: tuple[TrafficRow, ...]) -> str:
    """The traffic in half a sentence: what differs from the plan, by how much."""
    named = {
        "arrivals_rps_peak": "load",
        "input_tokens.mean": "prompts",
        "output_tokens.mean": "outputs",
        "prefix_hit_ratio": "prefix hit rate",
    }
    different, equal = [], []
    for row in (r for r in rows if r.key in named):
        if row.verdict in ("higher", "lower") and row.difference is not None:
            size = abs(row.difference)
            by = f"{size * 100:.0f} points" if row.key == "prefix_hit_ratio" else f"{size * 100:.0f} %"
            how = {"input_tokens.mean": ("longer", "shorter"), "output_tokens.mean": ("longer", "shorter")}.get(
                row.key, ("above plan", "below plan")
            )
            different.append(f"{named[row.key]} {by} {how[row.verdict == 'lower']}")
        elif row.verdict == "within":
            tail = _tail_off(row.key, rows)
            different += [_tail(tail)] if tail and tail.verdict in ("higher", "lower") else []
            equal.append(f"mean of {named[row.key]}" if tail else named[row.key])
    if not different and not equal:
        return ""
    as_planned = f"{_and(equal)} as planned (within {TOLERANCE * 100:.0f} %)" if equal else ""
    return "; ".join(part for part in (_and(different), as_planned) if part)


def _tail_off(key: str, rows: tuple[TrafficRow, ...]) -> TrafficRow | None:
    """The p95 of a length where it is off, be it by its histogram alone; None where it is not, or has no plan."""
    name, _, statistic = key.partition(".")
    tail = next((r for r in rows if statistic and r.key == f"{name}.p95"), None)
    return None if tail is None or tail.difference is None or abs(tail.difference) <= TOLERANCE else tail


def _tail(row: TrafficRow) -> str:
    """How far it surely is off: "p95 of prompts 23 % longer"."""
    how = "longer" if row.verdict == "higher" else "shorter"
    return f"p95 of {_LENGTHS[row.key.partition('.')[0]]} {abs(row.difference or 0.0) * 100:.0f} % {how}"


_LENGTHS = {"input_tokens": "prompts", "output_tokens": "outputs"}


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
