"""What the screen underrates is held against what comes first, so that naming the GPU never makes an answer better."""

from typing import Any

import pytest

from sizing import Scenario
from sizing.question.understand import understand
from sizing.search.instances import Needed
from sizing.search.refine import Refined, refine
from sizing.search.rivals import FAR_BEHIND, MOST_RIVALS, hopeful
from sizing.search.serving import screened

BURSTY = {"arrivals": {"gamma": {"cv": 2}}}


def lengths(tokens: int, answer: int, spread: float = 1.0) -> dict[str, Any]:
    return {
        key: {"p50": n, "p95": int(n * spread)} if spread > 1.0 else n
        for key, n in (("input_tokens", tokens), ("output_tokens", answer))
    }


QUESTIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "70B, p99, lengths that vary": (
        "meta-llama/Llama-3.3-70B-Instruct",
        {**lengths(3500, 500, 3), "peak_rps": 10, **BURSTY},
        {"ttft_ms": 1100, "itl_ms": 55, "percentile": 99},
        {"accurate_formats_only": False},
    ),
    "671B, stated split": (
        "deepseek-ai/DeepSeek-V3.2",
        {**lengths(3500, 500), "peak_rps": 8},
        {"ttft_ms": 2000, "itl_ms": 50},
        {"pp": [1]},
    ),
    "1T in the cloud": (
        "moonshotai/Kimi-K2-Instruct",
        {**lengths(2000, 200), "peak_rps": 10},
        {"ttft_ms": 2000, "itl_ms": 50},
        {"location": "cloud", "serving": ["aggregated"]},
    ),
    "405B, fewest GPUs": (
        "meta-llama/Llama-3.1-405B-Instruct",
        {**lengths(8000, 1000), "peak_rps": 5},
        {"ttft_ms": 3000, "itl_ms": 100},
        {"pp": [1], "objective": "gpus"},
    ),
    "235B, energy": (
        "Qwen/Qwen3-235B-A22B",
        {**lengths(500, 200), "peak_rps": 50},
        {"e2e_ms": 60_000},
        {"location": "hybrid", "serving": ["aggregated"]},
    ),
    "235B, p99 that is nearly kept": (
        "Qwen/Qwen3-235B-A22B",
        {"input_tokens": {"p50": 500, "p95": 1500}, "output_tokens": {"p50": 200, "p95": 300}, "peak_rps": 2, **BURSTY},
        {"ttft_ms": 2000, "itl_ms": 30, "percentile": 99},
        {"pp": [1]},
    ),
    "24B with a batch limit": (
        "mistralai/Mistral-Small-24B-Instruct-2501",
        {**lengths(3500, 500), "peak_rps": 5},
        {"ttft_ms": 2000, "itl_ms": 50},
        {"location": "cloud", "batch_limits": [64]},
    ),
    "8B": (
        "meta-llama/Meta-Llama-3-8B-Instruct",
        {**lengths(2000, 300), "peak_rps": 20},
        {"ttft_ms": 1000, "itl_ms": 30},
        {"pp": [1], "confidence": 50},
    ),
}


def found(name: str, **deployment: Any) -> Refined:
    model, workload, limits, asked = QUESTIONS[name]
    keys = {"model": model, "workload": workload, "limits": limits, "deployment": {**asked, **deployment}}
    return refine(screened(understand(Scenario.model_validate(keys))).together, seed=0)


def least(refined: Refined) -> float:
    assert refined.best is not None
    return float(refined.deployments.counted()[refined.position])


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_gpu_type_asked_alone_has_a_better_answer(name: str) -> None:
    """Of the GPU types that the screen has within twice the answer."""
    every = found(name)
    screen = every.search.screened
    first: dict[str, float] = {}
    for k in screen.near(FAR_BEHIND * least(every)):
        first.setdefault(screen.gpu(int(k)), float(screen.counted()[k]))
    assert len(first) > 1
    for gpu in first:
        alone = found(name, gpus=[gpu])
        if alone.best is not None:
            assert least(every) <= least(alone) * (1.0 + 1e-9), gpu


@pytest.mark.parametrize("name", QUESTIONS)
def test_nothing_that_was_tried_and_counts_less_is_passed_over(name: str) -> None:
    """Of what was simulated, what is certain comes first, and what could not be told from a limit was tried again."""
    every = found(name)
    assert every.winner in every.search.certain
    assert len(every.search.rivals) <= MOST_RIVALS + 2  # layouts without stages aside
    assert not every.search.unclear(least(every))
    needed = {index for index, one in every.search.results.items() if isinstance(one, Needed)}
    again = every.deployments.keys(every.deployments.index.searchsorted(sorted(needed)))
    assert least(every) <= float(again.counted(every.deployments.objective).min()) * (1.0 + 1e-9)


def test_hopeful_candidates_would_count_less_and_stand_near() -> None:
    every = found("70B, p99, lengths that vary")
    screen = every.search.screened
    best = float(screen.counted().min())
    tried = hopeful(screen, best * 1.2, {int(screen.index[screen.first()])})
    assert 0 < len(tried) <= MOST_RIVALS
    near = screen.counted()[[int((screen.index == index).argmax()) for index in tried]]
    assert (near <= FAR_BEHIND * best * 1.2).all()
    assert not hopeful(screen, best / 100, set())  # nothing is that small
