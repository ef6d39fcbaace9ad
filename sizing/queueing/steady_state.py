"""What step times give under load: steady state of in-flight batching at a request rate, and latency percentiles.

Prefill and decode share the engine. With B sequences decoding, a token takes the decode step plus its share of the
prefill work that arrives meanwhile; Little's law ties B to the request rate. Every array is (C, K): C candidates, K
points of growing concurrency. Sources: Little (1961); Pollaczek-Khinchine for the prompt queue; a birth-death
process for waiting on a free sequence slot; chunked prefill after Agrawal et al., "Sarathi-Serve" (OSDI 2024). This
is the analytic screen: it assumes stationary arrivals and first-come-first-served prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sizing.base.arrays import Columns, Floats
from sizing.question.traffic import Traffic, TrafficColumns, Variability
from sizing.queueing.compiled import (
    E2E_MEAN,
    E2E_VAR,
    ITL_MEAN,
    ITL_VAR,
    PREFILL_LOAD,
    RESULTS,
    TTFT_MEAN,
    TTFT_VAR,
    queues,
)
from sizing.queueing.waiting import gamma_quantile
from sizing.steps.times import StepTimes

NEARLY_FULL = (0.65, 0.77, 0.86, 0.92, 0.96, 0.985, 0.999)
"""Shares of the maximum concurrency at which the grid is dense. Chosen: because there the wait for a slot grows
without bound."""

NEVER_FULL = 1.0 - 1e-9
"""Largest share of time that a queue counts as busy: at 1 its wait has no end."""

TINY = 1e-300
"""Keeps a division by 0 from being one, where the result is not used."""


@dataclass(frozen=True, kw_only=True)
class SteadyState(Columns):
    """Steady state at each concurrency: rate (requests/s per instance), means and variances in s and s^2, (C, K).

    ``itl_full_s`` and ``itl_full_var``, (C, 1): the gap between tokens while every slot is taken, which is the longest.
    """

    concurrency: Floats
    rps: Floats
    prefill_load: Floats
    ttft_mean_s: Floats
    ttft_floor_s: Floats
    ttft_var: Floats
    itl_mean_s: Floats
    itl_var: Floats
    itl_full_s: Floats
    itl_full_var: Floats
    e2e_mean_s: Floats
    e2e_var: Floats

    def ttft_s(self, percentile: float) -> Floats:
        """Time to first token at a percentile over requests: fixed part plus a gamma-distributed wait."""
        return self.ttft_floor_s + gamma_quantile(self.ttft_mean_s - self.ttft_floor_s, self.ttft_var, percentile)

    def itl_s(self, percentile: float) -> Floats:
        """Mean gap between the tokens of one request at a percentile over requests (normal: a sum of many gaps).

        Never beyond that percentile of an engine whose slots are all taken: a batch limit bounds the gap.
        """
        z = float(ndtri(percentile / 100.0))
        highest = self.itl_full_s + z * np.sqrt(self.itl_full_var)
        return np.maximum(np.minimum(self.itl_mean_s + z * np.sqrt(self.itl_var), highest), 0.0)

    def e2e_s(self, percentile: float) -> Floats:
        """Time to last token at a percentile over requests."""
        return gamma_quantile(self.e2e_mean_s, self.e2e_var, percentile)


def concurrency_grid(max_concurrency: Floats, points: int = 24) -> Floats:
    """Concurrencies from nearly idle to the maximum, shape (C, K): geometric, then closer where the last slots fill.

    There the wait for a slot grows without bound; the last point is just below the limit.
    """
    most, place = np.unique(np.maximum(max_concurrency, 1.0), return_inverse=True)  # powers take long, and few differ
    spread = np.geomspace(0.05, most * NEARLY_FULL[0], points, axis=1)
    return np.concatenate([spread, np.multiply.outer(most, NEARLY_FULL[1:])], axis=1)[place]


def steady_state(
    times: StepTimes,
    concurrency: Floats,
    max_concurrency: Floats,
    budget: Floats,
    traffic: Traffic | TrafficColumns,
    variability: Variability,
) -> SteadyState:
    """Steady state at each concurrency of the grid.

    rate(B) = B / (P + D x decode(B) + max(B - 1, 0) x W): a request holds its place for its own prefill P, for
    D = (OSL - 1) / tokens per step decode steps, and while the engine works W on the prompt of each of the others
    (Little's law, work conservation); on attention-DP ranks W falls with the B / D prompts that begin per step.
    ITL(B) = (decode(B) + B x W / D) / tokens per step; an answer of one token has no gap that a prompt could interrupt.
    TTFT = front end + rest of the running step + prompt queue + slot queue + own prefill, each chunk of which shares
    its step with the decoding sequences. Validity: against the simulator, ``docs/LOAD_MODEL.md``.
    """
    load = _loaded(times, concurrency, budget[:, None], traffic)
    filled = traffic.new_tokens / (budget[:, None] * load.ranks)
    rows = np.empty((len(concurrency), 5))
    for place, column in enumerate((load.gaps, load.per_token, load.chunks, filled, max_concurrency[:, None])):
        rows[:, place : place + 1] = column
    tables = (times.decode_s, concurrency, load.rps, load.itl, load.work, load.even, load.past_prompt, load.floor)
    spread = (float(variability.arrivals), float(variability.prompt), float(variability.output))
    out = np.empty((RESULTS, *concurrency.shape))
    queues(tuple(map(np.ascontiguousarray, tables)), rows, spread, NEVER_FULL, out)
    front = np.reshape(times.front_s, (-1, 1))
    floor = load.floor if variability.prompt == 0.0 else np.zeros_like(load.floor)
    full_var = concurrency[:, -1:] * (load.work[:, -1:] / np.maximum(load.gaps, 1.0)) ** 2 * (1.0 + variability.output)
    return SteadyState(
        concurrency=concurrency,
        rps=load.rps,
        prefill_load=out[PREFILL_LOAD],
        ttft_mean_s=out[TTFT_MEAN] + front,
        ttft_floor_s=floor + front,
        ttft_var=out[TTFT_VAR],
        itl_mean_s=out[ITL_MEAN],
        itl_var=out[ITL_VAR],
        itl_full_s=load.itl[:, -1:] * load.per_token,
        itl_full_var=full_var * (variability.prompt + min(variability.output, 1.0)) * load.per_token**2,
        e2e_mean_s=out[E2E_MEAN] + front,
        e2e_var=out[E2E_VAR],
    )


@dataclass(frozen=True, kw_only=True)
class _Loaded:
    """An engine at each concurrency of its grid, in the mean: columns (C, 1) or (C, K), times in s.

    ``gaps``: decode steps of a request, ``per_token`` of each token; ``chunks`` of a prompt; ``work``: engine time of a
    prompt, ``even`` with even attention-DP ranks; ``itl``: time of a decode step with its share of prompts;
    ``past_prompt``: share of the requests in flight that is decoding; ``floor``: own prefill of a request.
    """

    gaps: Floats
    per_token: Floats
    chunks: Floats
    ranks: Floats
    work: Floats
    even: Floats
    itl: Floats
    rps: Floats
    past_prompt: Floats
    floor: Floats


def _loaded(times: StepTimes, concurrency: Floats, budget: Floats, traffic: Traffic | TrafficColumns) -> _Loaded:
    """Little's law and work conservation, see :func:`steady_state`; ``budget`` (C, 1)."""
    alone, decode = times.prefill_s[:, None], times.decode_s
    tokens = np.maximum(traffic.output_tokens - 1.0, 0.0)
    gaps = np.maximum(tokens / times.tokens_per_step, np.minimum(tokens, 1.0))  # steps of one request, at least one
    per_token = np.where(tokens > 0.0, gaps / np.maximum(tokens, TINY), 1.0)
    ranks, chunks = np.reshape(times.ranks, (-1, 1)), np.ceil(traffic.new_tokens / budget)
    work, even = _work(times, concurrency / np.maximum(gaps, 1.0), chunks, budget * chunks / traffic.new_tokens)
    past_prompt = gaps * decode / (alone + gaps * decode)
    # Prefill alone streams the weights once; a step shared with decoding has paid for that.
    floor = alone + chunks * np.maximum(decode - decode[:, :1], 0.0) * past_prompt
    if even is not work:  # prompts on other attention-DP ranks share its steps
        others = (1.0 - 1.0 / ranks) * np.minimum(gaps, 1.0) / np.maximum(gaps, 1.0) * chunks * concurrency
        floor += others * times.prefill_work_s[:, None]
    return _Loaded(
        gaps=gaps,
        per_token=per_token,
        chunks=chunks,
        ranks=ranks,
        work=work,
        even=even,
        itl=decode + concurrency * work * np.minimum(gaps, 1.0) / np.maximum(gaps, 1.0),
        rps=concurrency / (alone + gaps * decode + np.maximum(concurrency - 1.0, 0.0) * work),
        past_prompt=past_prompt,
        floor=floor,
    )


def _work(times: StepTimes, prompts: Floats, chunks: Floats, held: Floats) -> tuple[Floats, Floats]:
    """Engine time of a prompt (C, K) with so many ``prompts`` a step: as they fall on attention-DP ranks, and with even
    ranks (the same array where there are none)."""
    fixed = chunks * _launches(times, prompts)
    if not np.any(times.stall_s):
        fixed += times.prefill_work_s[:, None]
        return fixed, fixed
    return times.work_s(prompts * chunks, held) + fixed, times.prefill_work_s[:, None] + fixed


def _launches(times: StepTimes, prompts: Floats) -> Floats:
    """Fixed time of prompt-carrying steps per chunk of one prompt (C, K): prompts that fall into one step share it.

    f x (1 - e^-a) / a with a = B / D ``prompts`` a step (Poisson).
    """
    fixed = np.broadcast_to(np.asarray(times.prompt_step_s, dtype=np.float64), times.prefill_s.shape)[:, None]
    return np.asarray(fixed * -np.expm1(-prompts) / prompts)
