"""Pipelines, which the screen underrates, are held against what comes first."""

from typing import Any

import numpy as np

from sizing import Scenario
from sizing.question.understand import understand
from sizing.search.instances import Needed
from sizing.search.refine import Refined, refine
from sizing.search.rivals import JUST_BEHIND, MOST_TRIED, underrated
from sizing.search.serving import screened

H200: dict[str, Any] = {
    "gpus": ["h200"],
    "engines": ["trtllm"],
    "precisions": ["fp8"],
    "routing": "random",
    "confidence": 50,
}
PIPELINES = [2, 4]
"""Degrees among which the screen has the wrong one first; one stage, which is preferred, comes before both there."""
LONG: dict[str, Any] = {"input_tokens": 24_576, "output_tokens": 256, "peak_rps": 10}


def refined(workload: dict[str, Any] = LONG, **deployment: Any) -> Refined:
    asked = {"model": "Qwen/Qwen3-32B", "workload": workload, "limits": {"ttft_ms": 2000, "percentile": 99}}
    question = understand(Scenario.model_validate({**asked, "deployment": {**H200, **deployment}}))
    return refine(screened(question).together, seed=0)


def gpus(found: Refined) -> int:
    assert found.best is not None
    return int(found.deployments.gpus[found.first])


def test_of_long_prompts_no_single_layout_is_smaller_than_the_answer() -> None:
    every = refined(pp=PIPELINES)
    alone = {pp: gpus(refined(tp=[tp], pp=[pp])) for tp, pp in ((8, 1), (8, 2), (4, 4))}
    order = every.search.screened.order()
    first = every.search.screened.row(int(order[0]))
    assert (first.tp, first.pp) == (2, 4)
    assert gpus(every) == alone[4] < alone[2] < gpus(refined(tp=[2], pp=[4]))
    assert gpus(refined()) == min(alone.values())


def test_what_is_tried_are_pipelines_just_behind_that_could_count_less() -> None:
    every = refined(pp=PIPELINES)
    search, screen = every.search, every.search.screened
    first = int(screen.index[screen.order()[0]])
    least = float(screen.counted()[screen.order()[0]])
    tried = underrated(screen, first, least, {first})
    assert 0 < len(tried) <= MOST_TRIED
    for index in tried:
        assert search.evaluated.candidates.pp[index] > 1
        assert screen.counted()[np.flatnonzero(screen.index == index)[0]] <= JUST_BEHIND * least
    assert not underrated(screen, first, float(screen.counted().min()) / 100, {first})  # nothing is that small


def test_where_a_pipeline_comes_first_the_same_gpus_are_tried_without_stages() -> None:
    """The screen gives either too many instances; with the pipeline alone corrected, it came before as many GPUs
    without stages, which are preferred."""
    long = {"input_tokens": 30_000, "output_tokens": 500, "peak_rps": 2}
    asked = {"model": "meta-llama/Llama-3.3-70B-Instruct", "workload": long, "limits": {"ttft_ms": 5000}}

    def on_mi355x(**deployment: Any) -> Refined:
        question = understand(Scenario.model_validate({**asked, "deployment": {"gpus": ["mi355x"], **deployment}}))
        return refine(screened(question).together, seed=0)

    found, staged = on_mi355x(), on_mi355x(pp=PIPELINES)
    rows = found.search.evaluated.candidates.rows
    tried = {rows[i].pp for i, one in found.search.results.items() if isinstance(one, Needed)}
    assert found.search.unstaged_tried
    assert {1, 4} <= tried
    assert rows[found.winner].pp == 1
    assert gpus(found) <= gpus(staged)


def test_where_the_smallest_unit_suffices_no_pipeline_is_tried() -> None:
    found = refined({"input_tokens": 500, "output_tokens": 100, "peak_rps": 1})
    assert found.search.pipelines_tried
    assert gpus(found) <= 8
    assert all(found.search.evaluated.candidates.pp[i] == 1 for i in found.search.results)
