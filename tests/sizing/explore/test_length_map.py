"""GPUs over prompt and output length: the same as a plan at every cell, and monotone where it must be."""

import pytest

from sizing import Scenario, plan
from sizing.base.errors import SizingError
from sizing.explore.length_map import around, gpus_over_lengths

PROMPTS, OUTPUTS = (200.0, 1000.0, 4000.0), (50.0, 300.0, 1000.0)


def scenario(**workload: object) -> Scenario:
    return Scenario.model_validate(
        {
            "model": "meta-llama/Meta-Llama-3-8B-Instruct",
            "workload": {"input_tokens": 1000, "output_tokens": 300, "peak_rps": 20, **workload},
            "deployment": {"objective": "gpus"},
        }
    )


def at(input_tokens: float, output_tokens: float, **workload: object) -> Scenario:
    changed = scenario(**{**workload, "input_tokens": input_tokens, "output_tokens": output_tokens})
    return changed.model_copy(update={"deployment": changed.deployment.model_copy(update={"gpus": ["h100_sxm"]})})


def test_every_cell_is_the_plan_for_its_lengths() -> None:
    found = gpus_over_lengths(scenario(), "h100_sxm", PROMPTS, OUTPUTS)
    for row, prompt in zip(found.rows, PROMPTS, strict=True):
        for cell, output in zip(row, OUTPUTS, strict=True):
            deployed = plan(at(prompt, output), alternatives=0).deployment
            assert deployed
            assert (cell.gpus, cell.systems) == (deployed.gpus, deployed.systems)


@pytest.mark.parametrize("serving", [[], ["disaggregated"], ["aggregated"]])
def test_every_cell_is_the_plan_where_pools_or_batch_limits_serve_best(serving: list[str]) -> None:
    asked = Scenario.model_validate(
        {
            "model": "deepseek-ai/DeepSeek-R1",
            "limits": {"ttft_ms": 2000, "itl_ms": 30},
            "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
            "deployment": {"objective": "gpus", "gpus": ["h200_sxm"], "serving": serving},
        }
    )
    prompts, outputs = (900.0, 3500.0, 14_000.0), (125.0, 500.0, 2000.0)
    found = gpus_over_lengths(asked, "h200_sxm", prompts, outputs)
    split = 0
    for row, prompt in zip(found.rows, prompts, strict=True):
        for cell, output in zip(row, outputs, strict=True):
            there = asked.workload.model_copy(update={"input_tokens": prompt, "output_tokens": output})
            deployed = plan(asked.model_copy(update={"workload": there}), alternatives=0).deployment
            assert cell.gpus == (deployed.gpus if deployed else None)
            split += "prefill" in cell.configuration
    assert (split > 0) is (serving != ["aggregated"])


def test_the_cached_share_of_the_prompt_stays_as_it_is() -> None:
    cached = scenario(prefix_cached_tokens=600)
    ((cell,),) = gpus_over_lengths(cached, "h100_sxm", [4000], [300]).rows
    deployed = plan(at(4000, 300, prefix_cached_tokens=2400), alternatives=0).deployment
    assert deployed
    assert cell.gpus == deployed.gpus


LONGER = tuple(2.0**k for k in range(6, 13))


@pytest.mark.parametrize("weights", ["bf16", "fp8"])
def test_longer_prompts_never_need_fewer_gpus(weights: str) -> None:
    """In one weight format: where two are bought alike, the one that is published may come first with more in use."""
    asked = scenario().model_dump(exclude_unset=True)
    asked["deployment"] |= {"precisions": [weights]}
    found = gpus_over_lengths(Scenario.model_validate(asked), "h100_sxm", LONGER, OUTPUTS)
    for column in range(len(OUTPUTS)):
        needed = [row[column].gpus or 10**9 for row in found.rows]
        assert needed == sorted(needed)


@pytest.mark.parametrize("output_tokens", OUTPUTS)
def test_longer_prompts_never_buy_fewer_gpus(output_tokens: float) -> None:
    """In whichever weight format: what is bought is what the objective counts."""
    deployed = [plan(at(prompt, output_tokens), alternatives=0).deployment for prompt in LONGER]
    bought = [one.gpus_bought if one else 10**9 for one in deployed]
    assert bought == sorted(bought)


def customer(**workload: object) -> Scenario:
    """5,000 employees, Llama 3.3 70B, 99 of 100 first words within 2 s."""
    lengths = {"input_tokens": 3000, "output_tokens": 300, **workload}
    return Scenario.model_validate(
        {
            "model": "meta-llama/Llama-3.3-70B-Instruct",
            "workload": {"users": {"daily_users": 5000}, **lengths},
            "limits": {"ttft_ms": 2000, "itl_ms": 100, "percentile": 99},
            "deployment": {"gpus": ["h100_sxm"]},
        }
    )


def test_map_and_size_give_one_answer_for_one_point() -> None:
    ((cell,),) = gpus_over_lengths(customer(), "h100_sxm", [24_000], [300]).rows
    sized = plan(customer(input_tokens=24_000), alternatives=0).deployment
    assert sized
    assert (cell.gpus, cell.systems) == (sized.gpus, sized.systems)


def test_a_longer_answer_that_needs_fewer_gpus_is_said_to() -> None:
    """Prompts of 12,000 tokens: the mean gap of a longer answer suffers less from one of them."""
    _, outputs = around(customer())
    for prompt, falls in ((3000, False), (12_000, True)):
        found = gpus_over_lengths(customer(), "h100_sxm", [prompt], outputs)
        needed = [cell.gpus or 10**9 for cell in found.rows[0]]
        assert found.falls_somewhere == (needed != sorted(needed)) == falls
        assert needed[1:] == sorted(needed[1:])


def test_the_itl_limit_is_what_makes_a_longer_answer_need_fewer_gpus() -> None:
    """What the page says where the number falls: the mean gap of few tokens suffers more from one prompt."""
    limits = {"ttft_ms": 2000, "percentile": 99}
    workload = {"input_tokens": 2000, "output_tokens": 211, "peak_rps": 10}
    formats = {"precisions": ["bf16", "fp16", "fp8"], "routing": "random", "confidence": 50}
    asked = {"model": "meta-llama/Llama-3.3-70B-Instruct", "workload": workload, "deployment": formats}
    falls = {}
    for itl_ms in (100, None):
        limited = Scenario.model_validate({**asked, "limits": {**limits, "itl_ms": itl_ms}})
        falls[itl_ms] = gpus_over_lengths(limited, "h200_sxm", [2000], [13, 26, 53, 106]).falls_somewhere
    assert falls == {100: True, None: False}


def test_a_map_knows_where_a_longer_answer_needs_fewer_gpus() -> None:
    found = gpus_over_lengths(customer(), "h100_sxm", [3000], [300, 600])
    assert not found.falls_somewhere
    (first, second), *_ = found.rows
    falling = ((first.model_copy(update={"gpus": 10}), second.model_copy(update={"gpus": 8})),)
    assert found.model_copy(update={"rows": falling}).falls_somewhere


def test_a_map_that_nobody_waits_for_is_given_up() -> None:
    heard: list[float] = []

    def progress(share: float) -> bool:
        heard.append(share)
        return len(heard) < 2

    with pytest.raises(SizingError, match="nobody waited"):
        gpus_over_lengths(customer(), "h100_sxm", [100, 200], [10, 20], progress)
    assert heard == [0.0, 0.5]


def test_what_cannot_be_served_says_why() -> None:
    found = gpus_over_lengths(scenario(), "h100_sxm", [1000, 9000], [300])
    assert found.rows[0][0].reason == ""
    beyond = found.rows[1][0]
    assert beyond.gpus is None
    assert beyond.reason == "Beyond the context window of 8,192 tokens."
    huge = scenario().model_dump() | {"model": {"name": "Huge", "params_b": 1000}}
    ((cell,),) = gpus_over_lengths(Scenario.model_validate(huge), "l4", [1000], [300]).rows
    assert cell.reason == "Does not fit in memory."


@pytest.mark.slow
def test_a_limit_out_of_reach_leaves_its_cells_unserved() -> None:
    keys = {
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "limits": {"ttft_ms": 1000, "itl_ms": 30},
        "workload": {"input_tokens": 4000, "output_tokens": 300, "peak_rps": 10},
        "deployment": {"gpus": ["l40s"]},
    }
    scenario = Scenario.model_validate(keys)
    found = gpus_over_lengths(scenario, "l40s", *around(scenario))
    cells = [cell for row in found.rows for cell in row]
    assert any(cell.gpus is None and cell.reason == "No load meets the limits." for cell in cells)


def test_one_output_token_has_no_itl_to_limit() -> None:
    ((cell,),) = gpus_over_lengths(scenario(), "h100_sxm", [1000], [1]).rows
    assert cell.gpus


def test_lengths_around_a_scenario_hold_its_own() -> None:
    prompts, outputs = around(scenario())
    assert (prompts[3], outputs[3]) == (1000, 300)
    assert prompts == tuple(sorted(prompts))
    assert all(n >= 1 for n in around(scenario(output_tokens=2))[1])


@pytest.mark.parametrize("bad", [0, -5, float("nan"), float("inf"), 1e9, "many"])
def test_a_length_that_is_none_is_refused(bad: object) -> None:
    with pytest.raises(SizingError, match="Prompt length must be"):
        gpus_over_lengths(scenario(), "h100_sxm", [bad], [100])


def test_too_many_cells_and_a_gpu_that_is_not_considered_are_refused() -> None:
    with pytest.raises(SizingError, match="at most 144 cells"):
        gpus_over_lengths(scenario(), "h100_sxm", range(1, 50), range(1, 50))
    with pytest.raises(SizingError, match="abacus is not among the GPUs considered"):
        gpus_over_lengths(scenario(), "abacus", [100], [100])


@pytest.mark.parametrize("deployment", [{}, {"step_times": "kernel", "engines": ["vllm"]}, {"batch_limits": [32]}])
def test_many_cells_at_once_are_the_same_as_one_at_a_time(deployment: dict[str, object]) -> None:
    asked = scenario(input_tokens={"p50": 1000, "p95": 3000}, output_tokens={"p50": 300, "p95": 900})
    asked = Scenario.model_validate(
        asked.model_dump()
        | {
            "limits": {"ttft_ms": 2000, "itl_ms": 40, "percentile": 95},
            "deployment": {"objective": "cost", **deployment},
        }
    )
    prompts, outputs = (16.0, 700.0, 7900.0), (1.0, 1.5, 40.0, 500.0)
    together = gpus_over_lengths(asked, "h100_sxm", prompts, outputs)
    for row, prompt in zip(together.rows, prompts, strict=True):
        for cell, output in zip(row, outputs, strict=True):
            assert gpus_over_lengths(asked, "h100_sxm", [prompt], [output]).rows == ((cell,),)
