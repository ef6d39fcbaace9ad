"""The lines of its log with which an engine checks a plan."""

import pytest

from sizing.planning.start_up_lines import start_up_lines
from tests.sizing.asking import LLAMA_8B, ask


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (
            "vllm",
            ["Model loading took 15", "Available KV cache memory: 5", "GPU KV cache size: 4", "Maximum concurrency"],
        ),
        (
            "nim",
            ["Model loading took 15", "Available KV cache memory: 5", "GPU KV cache size: 4", "Maximum concurrency"],
        ),
        ("sglang", ["mem usage=15", "KV Cache is allocated. #tokens: 4"]),
        ("trtllm", ["max tokens in paged KV cache (4"]),
    ],
)
def test_an_engine_is_expected_to_print_in_its_own_words(engine, words):
    """Llama 3 8B in BF16 on one H100: 15 GiB of weights leave 50 to 58 GiB, 131,072 B a token."""
    deployment = {"gpus": ["h100_sxm"], "engines": [engine], "precisions": ["bf16"], "tp": [1], "pp": [1]}
    plan = ask(LLAMA_8B, deployment=deployment)
    lines = start_up_lines(plan)
    assert len(lines) == len(words)
    for line, start in zip(lines, words, strict=True):
        assert start in line


def test_the_size_is_contexts_that_fit():
    plan = ask(
        LLAMA_8B, deployment={"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1], "pp": [1]}
    )
    one = plan.per_instance
    assert one.context % 1024 == 0
    assert one.kv_tokens == pytest.approx(one.kv_gb * 1e9 / 131_072, rel=0.001)


def test_nothing_deployed_prints_nothing():
    assert start_up_lines(ask(LLAMA_8B, limits={"ttft_ms": 0.001})) == ()
