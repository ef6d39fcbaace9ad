"""What step times give under load: steady state of in-flight batching at a request rate, and latency percentiles.

Prefill and decode share the engine. With B sequences decoding, a token takes the decode step plus its share of the
prefill work that arrives meanwhile; Little's law ties B to the request rate. Every array is (C, K): C candidates, K
points of growing concurrency. Sources: Little (1961); Pollaczek-Khinchine for the prompt queue; a birth-death
process for waiting on a free sequence slot; chunked prefill after Agrawal et al., "Sarathi-Serve" (OSDI 2024). This
is the analytic screen: it assumes stationary arrivals and first-come-first-served prompts.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sizing.base.arrays import Columns, Floats
from sizing.question.traffic import Traffic, TrafficColumns, Variability
from sizing.queueing.compiled import (
    E2E_MEAN,
    E2E_VAR,
    EVEN,
    FLOOR,
    GAP,
    ITL_MEAN,
    ITL_VAR,
    LOADED,
    PAST_PROMPT,
    PREFILL_LOAD,
    RATE,
    RESULTS,
    TTFT_MEAN,
    TTFT_VAR,
    WORK,
    loaded,
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
    recomputed: Floats | float = 0.0,
) -> SteadyState:
    """Steady state at each concurrency of the grid.

    rate(B) = B / (P + D x decode(B) + max(B - 1, 0) x W): a request holds its place for its own prefill P, for
    D = (OSL - 1) / tokens per step decode steps, and while the engine works W on the prompt of each of the others
    (Little's law, work conservation); on attention-DP ranks W falls with the B / D prompts that begin per step.
    ITL(B) = (decode(B) + B x W / D) / tokens per step; an answer of one token has no gap that a prompt could interrupt,
    nor does any where an engine admits one request at a time.
    TTFT = front end + steps planned ahead and the rest of the running one + prompt queue + slot queue + own prefill,
    each chunk of which shares its step with the decoding sequences.
    While requests wait for a place, each is evicted and computed anew as often as
    ``recomputed`` says (C,), so that no more is served than with all places taken: the rate is min(rate(B), slots /
    (P + D x decode + (slots - 1) x W + slots x recomputed x W)). Validity: against the simulator,
    ``docs/LOAD_MODEL.md``.
    """
    budget, tokens = budget[:, None], np.maximum(traffic.output_tokens - 1.0, 0.0)
    at_once = np.reshape(times.tokens_per_step, (-1, 1))
    gaps = np.maximum(tokens / at_once, np.minimum(tokens, 1.0))  # steps of one request, at least one
    per_token = np.where(tokens > 0.0, gaps / np.maximum(tokens, TINY), 1.0)
    chunks = np.ceil(traffic.new_tokens / budget)
    slots, held = max_concurrency[:, None], budget * chunks / traffic.new_tokens
    load = _loaded(times, concurrency, gaps, chunks, held, slots)
    again = np.broadcast_to(np.reshape(np.asarray(recomputed, dtype=np.float64), (-1, 1)), (len(concurrency), 1))
    load[RATE] = np.minimum(load[RATE], _served_in_full(load, concurrency, again))
    filled = traffic.new_tokens / (budget * np.reshape(times.ranks, (-1, 1)))
    rows = _side_by_side(len(concurrency), gaps, per_token, chunks, filled, slots, again)
    spread = (float(variability.arrivals), float(variability.prompt), float(variability.output))
    out = np.empty((RESULTS, *concurrency.shape))
    in_mean = (load[name] for name in (RATE, GAP, WORK, EVEN, PAST_PROMPT, FLOOR))
    queues(tuple(map(np.ascontiguousarray, (times.decode_s, concurrency, *in_mean))), rows, spread, NEVER_FULL, out)
    front = times.before_first_token_s(concurrency)
    floor = load[FLOOR] if variability.prompt == 0.0 else np.zeros_like(load[FLOOR])
    return SteadyState(
        concurrency=concurrency,
        rps=load[RATE].copy(),  # and not five other tables with it
        prefill_load=out[PREFILL_LOAD],
        ttft_mean_s=out[TTFT_MEAN] + front,
        ttft_floor_s=floor + front,
        ttft_var=out[TTFT_VAR],
        itl_mean_s=out[ITL_MEAN],
        itl_var=out[ITL_VAR],
        itl_full_s=_gap_in_full(load, concurrency, again, gaps) * per_token,
        itl_full_var=_gap_in_full_var(load, concurrency, slots, gaps, variability) * per_token**2,
        e2e_mean_s=out[E2E_MEAN] + front,
        e2e_var=out[E2E_VAR],
    )


def _served_in_full(load: Floats, concurrency: Floats, again: Floats) -> Floats:
    """Requests/s (C, 1) with all places taken, each request computed ``again`` (C, 1) times more; inf where none is."""
    at, work, rate = concurrency[:, -1:], load[WORK, :, -1:], load[RATE, :, -1:]
    return np.where(again > 0.0, at / (at / rate + at * again * work), np.inf)


def _gap_in_full(load: Floats, concurrency: Floats, again: Floats, gaps: Floats | float) -> Floats:
    """Seconds between the steps of a request (C, 1) with all places taken, as :func:`_served_in_full`."""
    recomputed = again * concurrency[:, -1:] * load[WORK, :, -1:]
    return np.asarray(load[GAP, :, -1:] + recomputed * np.minimum(gaps, 1.0) / np.maximum(gaps, 1.0))


def _gap_in_full_var(
    load: Floats, concurrency: Floats, slots: Floats, gaps: Floats | float, variability: Variability
) -> Floats:
    """Variance of :func:`_gap_in_full` from the prompts of others, none with one place alone, (C, 1)."""
    interrupting = np.where(slots > 1.0, concurrency[:, -1:], 0.0)
    each = (load[WORK, :, -1:] / np.maximum(gaps, 1.0)) ** 2 * (1.0 + variability.output)
    return np.asarray(interrupting * each * (variability.prompt + min(variability.output, 1.0)))


def _loaded(
    times: StepTimes, concurrency: Floats, gaps: Floats | float, chunks: Floats, held: Floats, slots: Floats
) -> Floats:
    """An engine at each concurrency of its grid, in the mean, (6, C, K): Little's law and work conservation, see
    :func:`steady_state`.

    The fixed time of steps that carry prompts is shared by those that fall into one: f x (1 - e^-a) / a with a = B / D
    prompts a step (Poisson). ``held`` (C, 1): prompts that the token budget of one attention-DP rank holds in a step.
    """
    stalled, others = np.zeros((len(concurrency), 1)), np.zeros(1)
    if np.any(times.stall_s):
        prompts = concurrency / np.maximum(gaps, 1.0) * chunks
        stalled = times.work_s(prompts, held) - times.prefill_work_s[:, None]
        beside = 1.0 - 1.0 / np.reshape(times.ranks, (-1, 1))
        others = beside * np.minimum(gaps, 1.0) / np.maximum(gaps, 1.0) * chunks
    longer = np.broadcast_to(times.prompt_step_s, concurrency.shape)
    alone, work = times.prefill_s[:, None], times.prefill_work_s[:, None]
    rows = _side_by_side(len(concurrency), alone, work, gaps, chunks, others, slots)
    out = np.empty((LOADED, *concurrency.shape))
    loaded(tuple(map(np.ascontiguousarray, (times.decode_s, concurrency, stalled, longer))), rows, out)
    return out


def _side_by_side(rows: int, *columns: Floats | float) -> Floats:
    """Columns (C, 1), or single numbers, as a table (C, N)."""
    table = np.empty((rows, len(columns)))
    for place, column in enumerate(columns):
        table[:, place : place + 1] = column
    return table
