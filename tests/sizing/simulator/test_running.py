"""Sequences that run at once, and the rate, where the KV cache is full: the analytic rule against the simulation."""

from dataclasses import replace

import numpy as np
import pytest

from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.question.understand import understand
from sizing.reuse.in_flight import beginnings, different
from sizing.scenario import Scenario
from sizing.search.replicas import lengths_of, replica_at
from sizing.search.screen import evaluate_all
from sizing.simulator.closed_loop import closed_loop
from sizing.simulator.configured import configured_replica, kv_tokens
from sizing.simulator.stability import stable_rps_of
from tests.sizing.asking import LLAMA_8B, model_named
from tests.tools.load_model.running import case

ENGINES = ("vllm", "sglang", "trtllm")
WITHIN = 0.12
"""How far the number in flight and the rate may be from those simulated."""
VARIES = {True: {"p50": 707.0, "p95": 2780.0}, False: 1000}
"""Answers of about 1,000 tokens."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("prompt", "output"), [(1000, 1000), (4000, 1000), (500, 1500)])
@pytest.mark.parametrize(("variation", "room"), [(0.0, 10.0), (0.0, 40.0), (1.0, 40.0)])
def test_as_many_run_as_the_rule_says(engine, prompt, output, variation, room):
    found = case(engines()[engine], prompt, output, variation, room)
    assert found.ratio == pytest.approx(1.0, abs=WITHIN)
    assert found.kv_share > 0.85


@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_rate_is_that_of_the_simulation(engine, varies):
    """Llama 3 8B in FP8 on an L4, whose KV cache holds 25 to 51 sequences of 1,000 tokens in and out."""
    deployment = {"gpus": ["l4"], "engines": [engine], "precisions": ["fp8"], "kv_precisions": ["fp16"], "tp": [1]}
    question = understand(
        Scenario.model_validate(
            {
                "model": LLAMA_8B,
                "workload": {"input_tokens": 1000, "output_tokens": VARIES[varies], "peak_rps": 1},
                "deployment": deployment,
            }
        )
    )
    evaluated = evaluate_all(question)
    (index,) = (i for i, row in enumerate(evaluated.candidates.rows) if row.gpus == 1)
    simulated = stable_rps_of(replica_at(question, evaluated, index), lengths_of(question))
    assert evaluated.state.rps[index].max() == pytest.approx(simulated, rel=WITHIN)


def replica_of(model, **traffic):
    lengths = Traffic(**{"input_tokens": 2000, "output_tokens": 1000} | traffic)
    row = Configuration(
        gpu=gpus()["h100_sxm"], engine=engines()["vllm"], precision=precisions()["bf16"], kv_precision="fp16"
    )
    return configured_replica(model, row, lengths), kv_tokens(model, row, lengths)


def test_full_attention_has_nothing_beside_its_tokens():
    replica, kv = replica_of(model_named(LLAMA_8B))
    assert kv.of_sequence == pytest.approx(0.0)
    assert replica.waste_tokens == pytest.approx(7.5)  # half of the rest of a block of 16


def test_what_all_prompts_begin_with_is_simulated_once():
    """As many run at once as where prompts are shorter by it and the cache holds it: 1,500 of 2,000 tokens."""
    replica, kv = replica_of(model_named(LLAMA_8B), in_common=beginnings(1500, 1))
    assert replica.kv_tokens == pytest.approx(kv.capacity - 1500)
    assert replica.sequence_tokens == pytest.approx(-1500)
    alike, apart = replace(replica, kv_tokens=20_000.0), replace(replica, kv_tokens=20_000.0, sequence_tokens=0.0)
    together = closed_loop(alike, prompts(2000, 1500), 60)
    shorter = closed_loop(apart, prompts(500, 0), 60)
    assert most_at_once(together) == pytest.approx(most_at_once(shorter), abs=1)
    assert most_at_once(together) > 2 * most_at_once(closed_loop(apart, prompts(2000, 1500), 60))


def test_the_more_kinds_of_beginnings_the_fewer_run_at_once():
    """Of 100 kinds next to none is in flight twice, of two all: as if prompts were whole, or shorter by them."""
    model, at_once = model_named(LLAMA_8B), []
    for kinds in (1, 2, 20, 100_000):
        replica, kv = replica_of(model, in_common=beginnings(1500, kinds))
        held = kv.capacity - replica.kv_tokens
        at_once.append((kv.capacity - held) / (2500 + replica.sequence_tokens))
        assert held == pytest.approx(1500 * float(different(kinds, np.float64(at_once[-1]))), rel=0.02)
    assert at_once == sorted(at_once, reverse=True)
    assert at_once[0] > 2 * at_once[-1]
    assert at_once[-1] == pytest.approx(replica_of(model)[1].capacity / 2500, rel=0.01)


def prompts(tokens, cached):
    return np.repeat([[tokens], [200.0], [cached], [-1.0]], 240, axis=1)


def most_at_once(records):
    """Requests that had begun and not ended, at most."""
    times = np.concatenate([records["started"], records["finished"]])
    steps = np.repeat([1, -1], len(records))
    return int(np.cumsum(steps[np.lexsort((steps, times))]).max())


def test_windows_that_are_full_are_a_constant():
    """Of Gemma 3's layers five in six are local and hold 1,024 tokens and a block each: the global ones alone grow."""
    model = model_named("google/gemma-3-12b-it")
    _, kv = replica_of(model)
    assert kv.of_sequence == pytest.approx(5 * (1024 + 16))


def test_where_nothing_grows_sequences_still_count():
    model = replace(
        model_named(LLAMA_8B), kv_elements_full=0, kv_elements_sliding=65_536, sliding_layers=32, sliding_window=1024
    )
    replica, kv = replica_of(model)
    at_once = kv.capacity / (kv.of_sequence + 2500)
    assert np.isfinite(replica.kv_tokens)
    assert at_once == pytest.approx(replica.kv_tokens / (kv.of_sequence + 1), rel=1e-2)
    assert 200 < at_once < 1000


def test_an_engine_states_what_it_keeps_free():
    kept = {name: engine.promises.of_new for name, engine in engines().items()}
    assert kept["sglang"] == 1.0
    assert kept["vllm"] == 0.0
    assert engines()["sglang"].promises.of_running == pytest.approx(0.7 * 0.14)
