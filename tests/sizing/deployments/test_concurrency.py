"""How many sequences run at once, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.deployments.concurrency import evicted_share, running_fit, sequences_at_once
from sizing.deployments.memory import memory_fit
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.reuse.in_flight import beginnings
from tests.sizing.asking import LLAMA_8B, model_named

TRAFFIC = Traffic(input_tokens=1600, output_tokens=1600)
TOKEN = 131_072
"""Bytes of a token of Llama 3 8B: 2 x 32 layers x 8 KV heads x 128 x 2 bytes."""


def row(engine, gpu="l4", precision="fp8", **parallelism):
    return Configuration(
        gpu=gpus()[gpu], engine=engines()[engine], precision=precisions()[precision], kv_precision="fp16", **parallelism
    )


def at_once(available, held, whole):
    return float(sequences_at_once(*(np.array([float(each)]) for each in (available, held, whole)))[0])


@pytest.mark.parametrize(
    ("engine", "tokens", "by_hand"),
    [
        ("vllm", 1600 + 800, "the prompt and half of the answer"),
        ("sglang", 1600 + 1600 * (1 + 0.098) / 2, "and 0.7 x 0.14 of the other half, kept free"),
        ("trtllm", 3200, "the whole sequence, reserved"),
    ],
)
def test_what_a_sequence_in_flight_holds(engine, tokens, by_hand):
    found = running_fit(model_named(LLAMA_8B), table([row(engine)]), TRAFFIC)
    assert found.held_per_sequence[0] == pytest.approx(tokens * TOKEN), by_hand
    assert found.kv_per_sequence[0] == 3200 * TOKEN


def test_what_all_prompts_begin_with_is_held_once():
    """960 of 1,600 tokens are those of every prompt: sequences of vLLM hold 1,600 + 800 - 960 each beside them."""
    alike = Traffic(input_tokens=1600, output_tokens=1600, in_common=beginnings(960, 1))
    found = running_fit(model_named(LLAMA_8B), table([row("vllm")]), alike)
    assert found.together[0] == 960 * TOKEN
    assert found.held_per_sequence[0] == pytest.approx(1440 * TOKEN)
    assert found.kv_per_sequence[0] == 3200 * TOKEN
    room = found.kv_available[0] - 960 * TOKEN
    assert found.cached[0] == at_once(room, 1440 * TOKEN, 2240 * TOKEN)


def test_varying_answers_are_held_as_long_as_they_run():
    """A squared variation of 1 doubles the answer of a sequence in flight: 1,600 + 3,200 / 2 tokens are held."""
    vary = Traffic(input_tokens=1600, output_tokens=1600, output_variation=1.0)
    found = running_fit(model_named(LLAMA_8B), table([row("vllm")]), vary)
    assert found.held_per_sequence[0] == pytest.approx(3200 * TOKEN)
    assert found.kv_per_sequence[0] == 4800 * TOKEN


def test_half_a_whole_sequence_stays_free():
    """Room for 10 of 2,000 tokens, 1,500 held: (20,000 - 1,000) / 1,500 = 12.67, rounded 13; 12.5 when simulated."""
    assert at_once(20_000, 1500, 2000) == 13
    assert at_once(20_000, 2000, 2000) == 10  # reserved: floor(20,000 / 2,000)
    assert at_once(19_999, 2000, 2000) == 9


def test_a_sequence_of_full_length_must_fit_alone():
    assert at_once(1999, 1500, 2000) == 0
    assert at_once(2000, 1500, 2000) == 1


@given(st.floats(1, 1e12), st.floats(0, 1), st.floats(1, 1e9))
def test_no_engine_runs_fewer_than_whole_sequences(available, share, whole):
    held = whole * (0.05 + 0.95 * share)
    assert at_once(available, held, whole) >= at_once(available, whole, whole)
    assert at_once(available, whole, whole) == pytest.approx(np.floor(available / whole), abs=1.0)


def test_at_once_and_fits_agree_with_the_memory():
    model, rows = model_named(LLAMA_8B), [row("vllm"), row("trtllm"), row("vllm", precision="bf16")]
    found, memory = running_fit(model, table(rows), TRAFFIC), memory_fit(model, table(rows), 3200)
    assert found.fits.tolist() == memory.fits.tolist()
    assert found.max_concurrency[1] == memory.max_concurrency[1]
    assert found.max_concurrency[0] == at_once(found.kv_available[0], 2400 * TOKEN, 3200 * TOKEN)


def test_each_request_is_evicted_for_the_tokens_of_an_answer():
    """vLLM with N at once: of the 1,600 tokens of an answer all but N need the room of a prompt of as many; of half as
    long an answer, that of half. The others keep room."""
    short, rows = Traffic(input_tokens=1600, output_tokens=800), table([row(e) for e in ("vllm", "sglang", "trtllm")])
    for traffic in (TRAFFIC, short):
        found = running_fit(model_named(LLAMA_8B), rows, traffic)
        expected = (traffic.output_tokens - found.cached[0]) / 1600
        assert found.recomputed == pytest.approx([expected, 0.0, 0.0])


def test_an_end_a_step_leaves_nothing_to_evict():
    """More sequences than tokens in an answer: one or more end in every step, and what they leave holds its tokens."""
    many = Traffic(input_tokens=1000, output_tokens=20)
    found = running_fit(model_named(LLAMA_8B), table([row("vllm", "h100_sxm")]), many)
    assert found.cached[0] > 20
    assert found.recomputed[0] == 0.0


def test_a_limit_below_the_cache_avoids_evictions():
    shares = evicted_share(np.array([50.0, 90.0, 95.0, 100.0, 120.0]), np.array([100.0]))
    assert shares == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
