"""Routing, failures, rejection, pools for prefill and decode: nothing is lost, and it goes where it should."""

import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.arrays import Floats
from sizing.base.choices import Routing
from sizing.question.speculation import Speculation
from sizing.simulator import entry
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Disaggregated, Fleet, Outage, Replica, SimulatedDeployment
from sizing.simulator.layout import REQUEST
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from tests.sizing.simulator.building import columns, grid, simulate_all
from tests.sizing.simulator.reference import Sequence, SlowEngine

STEPS = grid(8, decode=lambda n, c: 0.01 + 0.001 * n, row_s=2e-5, launch_s=0.001, idle_s=0.003)
REPLICA = Replica(grid=STEPS, max_sequences=8, token_budget=256, kv_tokens=2000.0)


def traffic(count: int, rate: float, seed: int = 0, group: Any = -1.0) -> Floats:
    rng = np.random.default_rng(seed)
    return columns(
        np.cumsum(rng.exponential(1 / rate, count)), rng.integers(1, 300, count), rng.integers(1, 80, count), 0.0, group
    )


def run(deployment: SimulatedDeployment, chunk: Floats, parts: int = 7) -> SimulationCounts:
    edges = np.linspace(0, chunk.shape[1], parts + 1).astype(int)
    stream = [chunk[:, a:b] for a, b in pairwise(edges)]
    horizon = float(chunk[0, -1]) + 1.0
    return drive(
        deployment, stream, MeasuredSpan(expected=chunk.shape[1], horizon_s=horizon, bins=9, keep_records=True)
    )


@given(
    st.sampled_from(["random", "round_robin", "weighted", "least_loaded", "prefix_aware"]),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_every_request_and_token_is_accounted_for(
    routing: Routing, count: int, failing: bool, limited: bool, seed: int
) -> None:
    limit = 3 if limited else None
    replica = Replica(grid=STEPS, max_sequences=8, token_budget=256, kv_tokens=900.0, queue_limit=limit)
    outages = (Outage(replica=0, start_s=2.0, end_s=4.0), Outage(replica=count - 1, start_s=4.5)) if failing else ()
    fleet = Fleet(replicas=(replica,) * count, routing=routing, outages=outages, prefix_groups=8)
    chunk = traffic(300, 20.0 * count, seed, group=np.random.default_rng(seed).integers(0, 8, 300))
    outcome = run(fleet, chunk)
    assert outcome.arrived == 300
    assert outcome.finished + outcome.rejected + outcome.too_long + outcome.unfinished == 300
    if not failing or count > 1:
        assert outcome.unfinished == 0
    assert outcome.generated_tokens == outcome.records["output"].sum()
    assert len(np.unique(outcome.records["id"])) == outcome.finished
    processed = (outcome.records["prompt"] - outcome.records["cached"]).sum() + outcome.recomputed_tokens
    if not outcome.unfinished and not outcome.rejected:
        assert outcome.prefilled_tokens == pytest.approx(processed)
    assert outcome.column("finished").sum() <= outcome.finished
    assert np.all(outcome.records["first"] >= outcome.records["started"])
    assert np.all(outcome.records["finished"] >= outcome.records["first"])


@given(
    st.sampled_from(["round_robin", "least_loaded", "prefix_aware"]),
    st.integers(2, 4),
    st.sampled_from([0, 3]),
    st.sampled_from([1, 4]),
    st.booleans(),
    st.integers(0, 99),
)
def test_nothing_is_lost_when_replicas_fail_while_sequences_are_evicted(
    routing: Routing, count: int, draft: int, stages: int, overlapping: bool, seed: int
) -> None:
    """Prefix-cache hits, drafts, pipeline stages, a cache that is too small, and replicas that fail, all at once."""
    steps = grid(8, decode=lambda n, c: 0.01 + 0.001 * n, row_s=2e-5, launch_s=0.001, idle_s=0.003, stages=stages)
    replica = Replica(
        grid=steps,
        max_sequences=8,
        token_budget=256,
        kv_tokens=700.0,
        block_tokens=16.0,
        speculation=Speculation(draft_tokens=draft, acceptance=0.7 if draft else 0.0),
    )
    again = 1.5 if overlapping else 6.0
    outages = (
        Outage(replica=0, start_s=1.0, end_s=3.0),
        Outage(replica=1, start_s=again, end_s=again + 2.5),
        Outage(replica=0, start_s=9.0, end_s=9.5),
    )
    rng = np.random.default_rng(seed)
    fleet = Fleet(replicas=(replica,) * count, routing=routing, outages=outages, prefix_groups=8)
    chunk = traffic(300, 15.0 * count, seed, group=rng.integers(0, 8, 300))
    chunk[4] = np.floor(0.6 * chunk[2])  # what of each prompt may be in the prefix cache
    outcome = run(fleet, chunk)
    assert outcome.finished == outcome.arrived == 300
    assert outcome.unfinished == outcome.rejected == outcome.too_long == 0
    records = np.sort(outcome.records, order="id")
    assert records["id"].tolist() == list(range(300))
    np.testing.assert_array_equal(records["prompt"], chunk[2])
    assert outcome.generated_tokens == chunk[3].sum() == records["output"].sum()
    work = (records["prompt"] - records["cached"]).sum() + outcome.recomputed_tokens
    assert outcome.prefilled_tokens == pytest.approx(work)
    assert np.all(records["arrived"] <= records["started"])
    assert np.all(records["started"] <= records["first"])
    assert np.all(records["first"] <= records["finished"] + 1e-9)


def test_fewest_requests_goes_where_a_step_by_step_front_end_would_send_them() -> None:
    chunk = traffic(400, 40.0)
    _, found = simulate_all(Fleet(replicas=(REPLICA,) * 3, routing="least_loaded"), chunk)
    engines = [SlowEngine(REPLICA) for _ in range(3)]
    requests = [Sequence(i, chunk[0, i], chunk[2, i], chunk[3, i]) for i in range(400)]
    chosen: list[int] = []
    for turn, request in enumerate(requests):
        for engine in engines:
            engine.run_until(request.arrived)
        order = [(turn + k) % 3 for k in range(3)]
        load = [0, 0, 0]
        for earlier, r in zip(requests, chosen, strict=False):
            load[r] += not earlier.finished <= request.arrived
        load = [outstanding + 3 * len(engine.queue) for outstanding, engine in zip(load, engines, strict=True)]
        best = min(order, key=load.__getitem__)
        engines[best].arrive(request)
        chosen.append(best)
    for engine in engines:
        engine.run_until(math.inf)
    assert found["replica"].tolist() == chosen
    np.testing.assert_allclose(found["finished"], [r.finished for r in requests])


def test_round_robin_takes_turns_and_weights_are_kept() -> None:
    chunk = traffic(700, 10.0)
    _, found = simulate_all(Fleet(replicas=(REPLICA,) * 3), chunk)
    assert found["replica"].tolist() == [i % 3 for i in range(700)]
    strong, weak = Replica(**{**vars(REPLICA), "weight": 5.0}), Replica(**{**vars(REPLICA), "weight": 2.0})
    _, found = simulate_all(Fleet(replicas=(strong, weak), routing="weighted"), chunk)
    assert np.bincount(found["replica"]).tolist() == [500, 200]


def test_random_routing_is_even_independent_of_the_past_and_the_same_every_time() -> None:
    chunk = traffic(30_000, 10.0)
    fleet = Fleet(replicas=(REPLICA,) * 3, routing="random")
    chosen = simulate_all(fleet, chunk)[1]["replica"]
    assert chosen.tolist() == simulate_all(fleet, chunk)[1]["replica"].tolist()
    pairs = np.bincount(chosen[:-1] * 3 + chosen[1:], minlength=9) / 29_999
    np.testing.assert_allclose(pairs, 1 / 9, atol=4 * math.sqrt(1 / 9 * 8 / 9 / 30_000))


def test_random_routing_passes_over_a_replica_that_is_down() -> None:
    fleet = Fleet(replicas=(REPLICA,) * 3, routing="random", outages=(Outage(replica=1, start_s=0.0),))
    assert set(run(fleet, traffic(500, 10.0)).records["replica"]) == {0, 2}


def test_requests_of_equal_length_do_not_herd() -> None:
    """By outstanding requests alone, an engine that a batch leaves is sent all that comes until it is full again: the
    95th percentile was then 10 % above that of random routing."""
    steps = grid(64, decode=lambda n, c: 0.006 + 0.0003 * n, row_s=2e-5, launch_s=0.001)
    replica = Replica(grid=steps, max_sequences=64, token_budget=8192, kv_tokens=1e6)
    arrived = np.cumsum(np.random.default_rng(3).exponential(1 / (8 * 12.0), 8_000))
    chunk = columns(arrived, 2000.0, 40.0)
    waits = [
        np.quantile(records["first"] - records["arrived"], 0.95)
        for routing in ("random", "least_loaded")
        for records in [run(Fleet(replicas=(replica,) * 8, routing=routing), chunk).records]
    ]
    assert waits[1] < 0.6 * waits[0]


def test_least_loaded_waits_less_than_round_robin() -> None:
    chunk = traffic(20_000, 34.0)
    means = [
        (r["first"] - r["arrived"]).mean()
        for routing in ("round_robin", "least_loaded")
        for r in [run(Fleet(replicas=(REPLICA,) * 4, routing=routing), chunk).records]
    ]
    assert means[1] < 0.9 * means[0]


def test_a_slower_replica_of_a_mixed_fleet_gets_less_when_load_decides() -> None:
    slow = Replica(grid=STEPS.stretched(3.0, 3.0), max_sequences=8, token_budget=256)
    fleet = Fleet(replicas=(REPLICA, slow), routing="least_loaded")
    shares = np.bincount(run(fleet, traffic(5_000, 12.0)).records["replica"])
    assert shares[0] > 1.5 * shares[1]


def test_a_failed_replica_serves_nothing_until_it_returns() -> None:
    fleet = Fleet(replicas=(REPLICA, REPLICA), outages=(Outage(replica=1, start_s=10.0, end_s=20.0),))
    outcome = run(fleet, traffic(2_000, 40.0))
    on_failed = outcome.records[outcome.records["replica"] == 1]
    one_step = 0.1
    assert not np.any((on_failed["finished"] > 10.0 + one_step) & (on_failed["finished"] < 20.0))
    assert np.any(on_failed["finished"] > 20.0)
    assert outcome.failed_over > 0
    assert outcome.finished == 2_000


def test_requests_wait_for_the_only_replica_to_return() -> None:
    fleet = Fleet(replicas=(REPLICA,), outages=(Outage(replica=0, start_s=0.5, end_s=30.0),))
    outcome = run(fleet, traffic(50, 40.0))
    assert outcome.finished == 50
    assert outcome.records["finished"].max() > 30.0


def test_a_request_longer_than_the_cache_is_turned_away() -> None:
    outcome = run(Fleet(replicas=(REPLICA,)), columns([0.0, 1.0], [1_000_000.0, 10.0], 5.0), parts=1)
    assert (outcome.too_long, outcome.finished) == (1, 1)


def test_a_prefix_is_cached_only_where_it_was_served() -> None:
    chunk = traffic(3_000, 30.0, group=np.random.default_rng(5).integers(0, 40, 3_000))
    chunk[2] += 300.0
    chunk[4] = 300.0
    replicas = (Replica(grid=STEPS, max_sequences=8, token_budget=256),) * 4
    hits = {}
    for routing in ("round_robin", "prefix_aware"):
        outcome = run(Fleet(replicas=replicas, routing=routing, prefix_groups=40, prefix_life_s=3.0), chunk)
        hits[routing] = float((outcome.records["cached"] > 0).mean())
    assert hits["prefix_aware"] > 0.85
    assert hits["round_robin"] < 0.6


def test_pools_add_prefill_transfer_and_decode() -> None:
    fleet = Fleet(replicas=(Replica(grid=grid(4, row_s=1e-4), max_sequences=4, token_budget=10_000),))
    pools = Disaggregated(prefill=fleet, decode=fleet, transfer_latency_s=0.5, transfer_s_per_token=1e-3)
    outcome = run(pools, columns([2.0], 100.0, 11.0), parts=1)
    record = outcome.records[0]
    assert record["first"] == pytest.approx(2.01 + 0.5 + 0.1)
    assert record["finished"] == pytest.approx(2.01 + 0.5 + 0.1 + 10 * 0.01)


@pytest.mark.parametrize("parts", [1, 13])
def test_pools_lose_nothing_and_do_not_depend_on_chunks(parts: int) -> None:
    fleet = Fleet(replicas=(REPLICA,) * 2, routing="least_loaded")
    pools = Disaggregated(prefill=fleet, decode=fleet, transfer_latency_s=0.05)
    chunk = traffic(1_000, 30.0)
    outcome, whole = run(pools, chunk, parts), run(pools, chunk, 1)
    assert outcome.finished == outcome.arrived == 1_000
    assert outcome.generated_tokens == chunk[3].sum()
    ours, theirs = (np.sort(o.records, order="id") for o in (outcome, whole))
    np.testing.assert_allclose(ours["first"], theirs["first"])
    np.testing.assert_allclose(ours["finished"], theirs["finished"])


def test_decoding_is_undisturbed_by_prompts_in_pools_of_their_own() -> None:
    heavy = grid(8, decode=lambda n, c: 0.01, row_s=1e-3, idle_s=0.01)
    replica = Replica(grid=heavy, max_sequences=8, token_budget=500)
    chunk = traffic(2_000, 2.0)

    def gaps(outcome: SimulationCounts) -> Floats:
        r = outcome.records[outcome.records["output"] > 1]
        return np.asarray((r["finished"] - r["first"]) / (r["output"] - 1))

    together = gaps(run(Fleet(replicas=(replica,) * 2), chunk))
    fleet = Fleet(replicas=(replica,))
    apart = gaps(run(Disaggregated(prefill=fleet, decode=fleet), chunk))
    assert np.quantile(apart, 0.95) < 0.7 * np.quantile(together, 0.95)


def test_the_digest_covers_every_module_that_is_compiled() -> None:
    """numba looks at the file of the entry only: a module left out would be compiled as it was before."""
    folder = Path(entry.__file__).parent
    inside, outside, to_read = {"entry"}, set(), ["entry"]
    while to_read:
        imported = re.findall(r"^from (sizing[\w.]*) import ", (folder / f"{to_read.pop()}.py").read_text(), re.M)
        modules = {name.removeprefix("sizing.simulator.") for name in imported}
        outside |= {name for name in modules if "." in name}
        to_read += [name for name in modules - inside if "." not in name]
        inside |= {name for name in modules if "." not in name}
    assert inside == set(entry.COMPILED)
    types_and_packages = {"sizing.base.arrays", "sizing.base.compiled", "sizing.steps", "sizing.simulator"}
    assert outside - types_and_packages == {"sizing.steps.ranks"}


def test_a_row_that_was_never_used_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of requests are filled when they are taken, also by what a replica left when it failed: whatever lies in the
    memory of the others as their number grows, the same is counted."""
    outages = (Outage(replica=0, start_s=2.0, end_s=4.0),)
    fleet, chunk = Fleet(replicas=(REPLICA,) * 2, routing="least_loaded", outages=outages), traffic(200, 40.0)
    empty, usual = np.empty, run(fleet, chunk)

    def poisoned(shape: Any, dtype: Any = float, **more: Any) -> Any:
        filled = empty(shape, dtype, **more)
        if dtype is REQUEST:
            filled.view(np.uint8)[:] = 0xA5
        return filled

    monkeypatch.setattr(np, "empty", poisoned)
    found = run(fleet, chunk)
    assert usual.failed_over
    np.testing.assert_array_equal(found.records, usual.records)
    np.testing.assert_array_equal(found.sums, usual.sums)
