"""What one instance does at one load: speed for a user, output per GPU, cost and energy of its tokens.

Cost is that of the whole systems which carry the load of the scenario with such instances, as in a plan. Cost at full
load and power are those of full systems: the instance is charged its share of a server or rack that holds as many
instances as fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Columns, Floats
from sizing.base.choices import Serving
from sizing.base.quantity import Result, quantity
from sizing.base.units import MILLION, MS_PER_S, S_PER_HOUR
from sizing.deployments.candidates import Candidates
from sizing.explore.at_load import fleet_for, usd_per_million
from sizing.planning.shared_fields import identity_of
from sizing.prices.cost import cheapest_option
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.screen import Evaluated, all_offers

XAxis = Literal["tokens_per_s_per_user", "ttft_ms", "e2e_ms"]
YAxis = Literal[
    "output_tokens_per_s_per_gpu",
    "usd_per_million_output_tokens",
    "usd_per_million_output_tokens_at_full_load",
    "output_tokens_per_s_per_kw",
]
PointMetric = Literal[XAxis, YAxis, "itl_ms"]
"""Every quantity of an operating point that an axis or a colour can show: fields of :class:`Performance`."""
MORE_IS_BETTER: frozenset[PointMetric] = frozenset(
    {"tokens_per_s_per_user", "output_tokens_per_s_per_gpu", "output_tokens_per_s_per_kw"}
)
"""Metrics of which a larger value is better; of all others a smaller one is."""

FLEET = 720_720
"""Instances that fill systems of any size up to 16 without a remainder: the least common multiple of 1 to 16."""


class Performance(Result):
    """What an instance gives at one load; latencies at the asked percentile."""

    tokens_per_s_per_user: Annotated[
        float,
        quantity(
            "Tokens/s per user", "tokens/s", "1000 / ITL", "How fast one answer grows, at the asked percentile of ITL."
        ),
    ]
    ttft_ms: Annotated[float, quantity("TTFT", "ms", "at the asked percentile", "Time to first token.")]
    itl_ms: Annotated[float, quantity("ITL", "ms", "at the asked percentile", "Inter-token latency.")]
    e2e_ms: Annotated[float, quantity("E2E", "ms", "at the asked percentile", "Time to last token.")]
    output_tokens_per_s_per_gpu: Annotated[
        float,
        quantity("Output tokens/s per GPU", "tokens/s", "rate x OSL / GPUs", "Generated tokens per second and GPU."),
    ]
    usd_per_million_output_tokens: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens",
            "USD",
            "USD/h of the systems for the asked load x 24 h / output tokens a day x 10^6",
            "With as many such instances, in whole systems, as carry the asked load; none without a known price.",
        ),
    ]
    usd_per_million_output_tokens_at_full_load: Annotated[
        float | None,
        quantity(
            "Cost per million output tokens at full load",
            "USD",
            "USD/h of the share of full systems / output tokens/h x 10^6",
            "If systems are full and run at this load all the time; none without a known price.",
        ),
    ]
    output_tokens_per_s_per_kw: Annotated[
        float | None,
        quantity(
            "Output tokens/s per kW",
            "tokens/s per kW",
            "rate x OSL / kW of the instance's share of full systems",
            "Generated tokens per second and kW of systems at maximum power, or of GPUs at their TDP.",
        ),
    ]


Pick = Callable[[float, float], float]
Ends = tuple[Performance, Performance]
"""A point at the fast and the slow end of the interval of its step times."""


def ordered(expected: Performance, fast: Performance, slow: Performance) -> Ends:
    """Both ends, each figure no better (slow) and no worse (fast) than expected: at the same concurrency slower steps
    carry a smaller rate, so that a prompt may even wait less."""
    return _bounded(fast, expected, better=max, worse=min), _bounded(slow, expected, better=min, worse=max)


def _bounded(end: Performance, by: Performance, *, better: Pick, worse: Pick) -> Performance:
    """``end``, of which figures of more is better are picked by ``better`` from both, the others by ``worse``."""

    def where_known(pick: Pick, value: float | None, other: float | None) -> float | None:
        return None if value is None or other is None else pick(value, other)

    return Performance(
        tokens_per_s_per_user=better(end.tokens_per_s_per_user, by.tokens_per_s_per_user),
        ttft_ms=worse(end.ttft_ms, by.ttft_ms),
        itl_ms=worse(end.itl_ms, by.itl_ms),
        e2e_ms=worse(end.e2e_ms, by.e2e_ms),
        output_tokens_per_s_per_gpu=better(end.output_tokens_per_s_per_gpu, by.output_tokens_per_s_per_gpu),
        usd_per_million_output_tokens=where_known(
            worse, end.usd_per_million_output_tokens, by.usd_per_million_output_tokens
        ),
        usd_per_million_output_tokens_at_full_load=where_known(
            worse, end.usd_per_million_output_tokens_at_full_load, by.usd_per_million_output_tokens_at_full_load
        ),
        output_tokens_per_s_per_kw=where_known(better, end.output_tokens_per_s_per_kw, by.output_tokens_per_s_per_kw),
    )


class PrefillGroup(Result):
    """The prefill instances of a point, and how many decode instances they supply."""

    tp: Annotated[int, quantity("TP", "GPUs", "of a prefill instance", "Tensor parallelism.")]
    pp: Annotated[int, quantity("PP", "GPUs", "of a prefill instance", "Pipeline parallelism.")]
    ep: Annotated[int, quantity("EP", "GPUs", "of a prefill instance", "Expert parallelism.")]
    dp: Annotated[int, quantity("DP", "GPUs", "of a prefill instance", "Attention data parallelism.")]
    instances: Annotated[
        int, quantity("Prefill instances", "instances", "of a group", "Prefill instances of the group.")
    ]
    beside: Annotated[
        int, quantity("Decode instances", "instances", "of a group", "Decode instances that they supply.")
    ]


class OperatingPoint(Result):
    """One deployment at one load: an instance that does both, or a decode instance beside prefill instances."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    engine: Annotated[str, quantity("Engine", help="Serving engine.")]
    weight_precision: Annotated[str, quantity("Weight precision", help="Number format of the weights.")]
    kv_precision: Annotated[str, quantity("KV-cache precision", help="Number format of the KV cache.")]
    tp: Annotated[int, quantity("TP", "GPUs", "of this deployment", "Tensor parallelism.")]
    pp: Annotated[int, quantity("PP", "GPUs", "of this deployment", "Pipeline parallelism.")]
    ep: Annotated[int, quantity("EP", "GPUs", "of this deployment", "Expert parallelism.")]
    dp: Annotated[int, quantity("DP", "GPUs", "of this deployment", "Attention data parallelism.")]
    prefill: Annotated[
        PrefillGroup | None, quantity("Prefill", help="Prefill instances of pools; none where instances do both.")
    ]
    configuration: Annotated[str, quantity("Deployment", help="GPU, engine, precision and parallelism in words.")]
    concurrency: Annotated[
        float, quantity("Requests in flight", "requests", "Little's law", "Mean concurrency of an instance.")
    ]
    rps: Annotated[float, quantity("Requests/s", "requests/s", "see load model", "Load of one instance.")]
    feasible: Annotated[bool, quantity("Within the limits", help="Whether every limit holds at this load.")]
    best: Annotated[bool, quantity("Best", help="Whether no other point within the limits is better on both axes.")]
    expected: Annotated[Performance, quantity("Expected", help="Central estimate.")]
    fast: Annotated[
        Performance | None, quantity("Fast end", help="At the fast end of the 80 % interval, same concurrency.")
    ]
    slow: Annotated[
        Performance | None, quantity("Slow end", help="At the slow end of the 80 % interval, same concurrency.")
    ]

    @property
    def serving(self) -> Serving:
        """Whether its instances do both."""
        return "aggregated" if self.prefill is None else "disaggregated"

    @property
    def kinds(self) -> tuple[OperatingPoint | PrefillGroup, ...]:
        """Its kinds of instances: itself where they do both, else prefill and decode, whose parallelism is its own."""
        return (self,) if self.prefill is None else (self.prefill, self)


def known(value: float) -> float | None:
    """A figure as a result states it: None where there is no price or no power, which arrays hold as NaN."""
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True, kw_only=True)
class Loads:
    """Every candidate at every load of its grid: arrays (C, K) named as in :class:`Performance`, NaN where unknown."""

    concurrency: Floats
    rps: Floats
    tokens_per_s_per_user: Floats
    ttft_ms: Floats
    itl_ms: Floats
    e2e_ms: Floats
    output_tokens_per_s_per_gpu: Floats
    usd_per_million_output_tokens: Floats
    usd_per_million_output_tokens_at_full_load: Floats
    output_tokens_per_s_per_kw: Floats
    feasible: NDArray[np.bool_]

    def performance(self, row: int, k: int) -> Performance:
        """The numbers of one point."""
        at = row, k
        return Performance(
            tokens_per_s_per_user=float(self.tokens_per_s_per_user[at]),
            ttft_ms=float(self.ttft_ms[at]),
            itl_ms=float(self.itl_ms[at]),
            e2e_ms=float(self.e2e_ms[at]),
            output_tokens_per_s_per_gpu=float(self.output_tokens_per_s_per_gpu[at]),
            usd_per_million_output_tokens=known(self.usd_per_million_output_tokens[at]),
            usd_per_million_output_tokens_at_full_load=known(self.usd_per_million_output_tokens_at_full_load[at]),
            output_tokens_per_s_per_kw=known(self.output_tokens_per_s_per_kw[at]),
        )


@dataclass(frozen=True, kw_only=True)
class SystemShare(Columns):
    """What one instance takes of full systems, shape (C,): USD/h and kW, NaN where unknown."""

    usd_per_hour: Floats
    power_kw: Floats


def share_of_systems(question: Question, candidates: Candidates) -> SystemShare:
    """Share of full systems of each candidate, in the option a plan would choose: systems of a fleet / its instances.

    ``question`` names every considered GPU, whose prices have to cover the same; ``candidates`` may hold fewer.
    """
    gpu, fleet = candidates.place_of_gpu(question.gpus), np.full(len(candidates), FLEET)
    chosen = cheapest_option(fleet, candidates.gpus.astype(np.int64), gpu, all_offers(question))
    return SystemShare(usd_per_hour=chosen.usd_per_hour / FLEET, power_kw=chosen.power_kw / FLEET)


def loads(question: Question, evaluated: Evaluated, share: SystemShare) -> Loads:
    """The figures of all candidates over the loads of their grids, (C, K) each."""
    state, at = evaluated.state, evaluated.latencies
    rps = np.maximum.accumulate(state.rps, axis=1)
    capped = rps <= question.scenario.deployment.max_utilization * evaluated.capacity.stable_rps[:, None]
    candidates = evaluated.candidates
    usd = _usd_at_load(question, candidates, rps)
    latencies = (at.ttft_s, at.itl_s, at.e2e_s)
    return as_loads(question, latencies, state.concurrency, rps, candidates.gpus, share, capped, usd)


def _usd_at_load(question: Question, candidates: Candidates, rps: Floats) -> Floats:
    """USD per million output tokens at the asked load, (C, K), with instances that carry ``rps`` each."""
    each = rps.shape[1]
    gpu = np.repeat(candidates.place_of_gpu(question.gpus), each)
    fleet = fleet_for(question, rps.ravel(), np.repeat(candidates.gpus, each))
    return usd_per_million(question, gpu, fleet).reshape(rps.shape)


def as_loads(
    question: Question,
    latencies: tuple[Floats, Floats, Floats],
    concurrency: Floats,
    rps: Floats,
    gpus: Floats,
    share: SystemShare,
    capped: NDArray[np.bool_],
    usd_at_load: Floats,
) -> Loads:
    """Figures (C, K) from TTFT, ITL and E2E in seconds and requests/s (C, K) of what takes ``gpus`` and ``share`` (C,).

    ``capped`` (C, K): where the utilisation cap is kept. ``usd_at_load`` (C, K): see :mod:`sizing.explore.at_load`.
    """
    (ttft_s, itl_s, e2e_s), limits = latencies, question.limits
    tokens_per_s = rps * question.traffic.output_tokens
    hourly = share.usd_per_hour[:, None] / S_PER_HOUR * MILLION
    return Loads(
        concurrency=concurrency,
        rps=rps,
        tokens_per_s_per_user=1.0 / itl_s,
        ttft_ms=ttft_s * MS_PER_S,
        itl_ms=itl_s * MS_PER_S,
        e2e_ms=e2e_s * MS_PER_S,
        output_tokens_per_s_per_gpu=tokens_per_s / gpus[:, None],
        usd_per_million_output_tokens=usd_at_load,
        usd_per_million_output_tokens_at_full_load=hourly / tokens_per_s,
        output_tokens_per_s_per_kw=tokens_per_s / share.power_kw[:, None],
        feasible=(ttft_s <= limits.ttft_s) & (itl_s <= limits.itl_s) & (e2e_s <= limits.e2e_s) & capped,
    )


def operating_point(
    row: Configuration, figures: Loads, place: tuple[int, int], *, best: bool = False, ends: Ends | None = None
) -> OperatingPoint:
    """The point of ``row`` at ``place`` (candidate, load) of ``figures``."""
    return OperatingPoint(
        **identity_of(row),
        prefill=None,
        configuration=row.label,
        concurrency=float(figures.concurrency[place]),
        rps=float(figures.rps[place]),
        feasible=bool(figures.feasible[place]),
        best=best,
        expected=figures.performance(*place),
        fast=ends[0] if ends else None,
        slow=ends[1] if ends else None,
    )
