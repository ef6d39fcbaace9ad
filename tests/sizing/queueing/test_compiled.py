"""The compiled queues are the formulas of ``waiting``, number by number."""

import numpy as np
import pytest
from numba import njit

from sizing.base.arrays import Floats
from sizing.queueing import compiled, waiting
from sizing.queueing.capacity import at_percentile
from sizing.queueing.steady_state import SteadyState

MOMENTS = ("ttft_mean_s", "ttft_floor_s", "ttft_var", "itl_mean_s", "itl_var", "e2e_mean_s", "e2e_var")
SLOTS = 400.0
CONCURRENCY = np.geomspace(0.05, 0.999 * SLOTS, 60)[None, :]


@njit(error_model="numpy")
def waits_at(
    rps: Floats, concurrency: Floats, k: int, slots: float, full: float, arrivals: float, output: float
) -> tuple[float, tuple[float, float, float, float]]:
    """Variance of the number in flight at one place, and the wait for a slot: only compiled code may call these."""
    growth = compiled.slope_at(rps, concurrency, k)
    variance = compiled.in_flight_variance(concurrency[k], rps[k], growth, arrivals)
    return variance, compiled.slot_queue(concurrency[k], variance, slots, rps[k], full, arrivals, output)


def slope(values: Floats, at: Floats) -> Floats:
    """Growth of ``values`` (1, K) with ``at``: between both neighbours, at the ends to the only one."""
    return np.gradient(values, axis=1) / np.gradient(at, axis=1)


def rates() -> tuple[np.ndarray, np.ndarray]:
    """Rates that grow less and less with the concurrency, and the gap between tokens there."""
    itl = 0.01 + 2e-4 * CONCURRENCY
    return CONCURRENCY / (0.5 + 100.0 * itl), itl


@pytest.mark.parametrize("spread", [(1.0, 0.0, 0.0), (4.0, 1.5, 0.8)])
def test_every_number_is_that_of_the_arrays(spread: tuple[float, float, float]) -> None:
    arrivals, _, output = spread
    rps, _ = rates()
    in_flight = waiting.in_flight_variance(CONCURRENCY, rps, slope(rps, CONCURRENCY), arrivals)
    full = rps.max(axis=1, keepdims=True)
    expected = waiting.slot_queue(CONCURRENCY, in_flight, SLOTS, rps, full, arrivals, output)
    for k in range(CONCURRENCY.shape[1]):
        variance, waits = waits_at(rps[0], CONCURRENCY[0], k, SLOTS, full[0, 0], arrivals, output)
        assert variance == pytest.approx(in_flight[0, k], rel=1e-12)
        assert waits == pytest.approx([column[0, k] for column in expected], rel=1e-9, abs=1e-300)


def test_nobody_waits_where_the_tail_has_ended() -> None:
    """What the compiled table leaves out there is lost in rounding."""
    concurrency, variance = np.array([[10.0]]), np.array([[4.0]])
    slots = concurrency + compiled.TAIL_ENDS * 2.0
    queue = waiting.slot_queue(concurrency, variance, slots, np.array([[1.0]]), np.array([[5.0]]), 1.0, 1.0)
    waits, mean, var, held = (float(column[0, 0]) for column in queue)
    assert max(waits, mean, var) < 1e-25
    assert held == 4.0
    assert waiting.normal_below(compiled.BODY_ENDS) == 1.0


def test_the_table_is_filled_as_the_arrays_say() -> None:
    rps, itl = rates()
    spread = (1.0, 0.5, 0.5)
    of_rows = np.array([[100.0, 1.0, 2.0, 0.25, SLOTS, 0.0]])
    ones, work = np.ones_like(rps), np.full_like(rps, 0.004)
    out = np.empty((compiled.RESULTS, *rps.shape))
    tables = (itl, CONCURRENCY, rps, itl, work, work, ones, ones)
    compiled.queues(tables, of_rows, spread, 0.999, out)
    rest, rest_var = waiting.residual_step(itl, work / 2.0, itl, np.full_like(itl, 100.0), 0.5)
    service = work + 0.25 * itl
    queue, queue_var = waiting.prompt_queue(service, np.minimum(rps * service, 0.999), rps, 1.0, 0.5)
    in_flight = waiting.in_flight_variance(CONCURRENCY, rps, slope(rps, CONCURRENCY), 1.0)
    slots = waiting.slot_queue(CONCURRENCY, in_flight, SLOTS, rps, rps.max(axis=1, keepdims=True), 1.0, 0.5)
    assert out[compiled.TTFT_MEAN] == pytest.approx(1.0 + rest + queue + slots.mean_s, rel=1e-12)
    assert out[compiled.TTFT_VAR] == pytest.approx(rest_var + queue_var + slots.var + 0.5, rel=1e-9)
    moving = waiting.drift(slope(itl, CONCURRENCY), CONCURRENCY, in_flight, slots.held_var)
    interruption = CONCURRENCY * (work / 100.0) ** 2 * 1.5 * (0.5 + 1.0 - slots.waits * 0.5)
    assert out[compiled.ITL_VAR] == pytest.approx(interruption + moving, rel=1e-9)
    assert out[compiled.PREFILL_LOAD] == pytest.approx(np.minimum(rps * work, 1.0), rel=1e-12)


def test_an_engine_in_the_mean_is_what_the_arrays_say() -> None:
    """Little's law: a request holds its place for its own prefill, its decode steps and the prompts of the others."""
    step, out = 0.01 + 2e-4 * CONCURRENCY, np.empty((compiled.LOADED, *CONCURRENCY.shape))
    alone, prefill, gaps, chunks, others = 0.2, 0.15, 100.0, 2.0, 0.01
    stalled, rows = 0.001 * CONCURRENCY, np.array([[alone, prefill, gaps, chunks, others, SLOTS]])
    fixed = 0.01 - 1e-5 * CONCURRENCY
    compiled.loaded((step, CONCURRENCY, stalled, fixed), rows, out)
    prompts = CONCURRENCY / gaps
    even = prefill + chunks * fixed * (1.0 - np.exp(-prompts)) / prompts
    work, decoding = even + stalled, gaps * step
    longer = chunks * (step - step[:, :1]) * decoding / (alone + decoding)
    assert out[compiled.EVEN] == pytest.approx(even, rel=1e-9)
    assert out[compiled.WORK] == pytest.approx(work, rel=1e-9)
    assert out[compiled.GAP] == pytest.approx(step + CONCURRENCY * work / gaps, rel=1e-9)
    held = alone + decoding + np.maximum(CONCURRENCY - 1.0, 0.0) * work
    assert out[compiled.RATE] == pytest.approx(CONCURRENCY / held, rel=1e-9)
    assert out[compiled.PAST_PROMPT] == pytest.approx(decoding / (alone + decoding), rel=1e-12)
    assert out[compiled.FLOOR] == pytest.approx(alone + longer + others * CONCURRENCY * prefill, rel=1e-9)


def test_decode_steps_of_a_pool_are_what_the_arrays_say() -> None:
    """Mean step with its share of the rest of a step and of the wait for a slot; the variance of both, and of slow
    changes of the number in flight."""
    arrivals, output, steps = 4.0, 0.8, 100.0
    step = 0.01 + 2e-4 * CONCURRENCY
    rps, found = CONCURRENCY / (steps * step), np.empty((2, *CONCURRENCY.shape))
    compiled.decoding((step, CONCURRENCY, rps), np.array([SLOTS]), (arrivals, 0.0, output), np.array([steps]), found)
    in_flight = waiting.in_flight_variance(CONCURRENCY, rps, slope(rps, CONCURRENCY), arrivals)
    queue = waiting.slot_queue(CONCURRENCY, in_flight, SLOTS, rps, rps[:, -1:], arrivals, output)
    moving = waiting.drift(slope(step, CONCURRENCY), CONCURRENCY, in_flight, queue.held_var)
    assert found[0] == pytest.approx(step + (step / 2.0 + queue.mean_s) / steps, rel=1e-9)
    assert found[1] == pytest.approx(moving + (step**2 / 12.0 + queue.var) / steps**2, rel=1e-9)


@pytest.mark.parametrize("percentile", [50.0, 99.0])
def test_percentiles_are_those_of_the_steady_state_made_non_decreasing(percentile: float) -> None:
    rng = np.random.default_rng(0)
    tables = {name: np.sort(rng.uniform(0.1, 2.0, (3, 8)), axis=1) for name in MOMENTS}
    tables["ttft_floor_s"] = 0.05 * tables["ttft_mean_s"]
    tables["e2e_mean_s"][0, :2] = 0.0
    tables["itl_var"][1, 3] = np.nan
    full = {"itl_full_s": np.full((3, 1), 2.5), "itl_full_var": np.full((3, 1), 0.2)}
    others = dict.fromkeys(("concurrency", "rps", "prefill_load"), np.ones((3, 8)))
    state = SteadyState(**tables, **full, **others)
    latencies = at_percentile(state, percentile)
    for name in ("ttft_s", "itl_s", "e2e_s"):
        expected = np.maximum.accumulate(getattr(state, name)(percentile), axis=1)
        np.testing.assert_array_equal(getattr(latencies, name), expected)
