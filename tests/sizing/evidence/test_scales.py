"""Scales of whole tables are those of one configuration after the other."""

import numpy as np
import pytest

from sizing import Scenario
from sizing.evidence.scales import Unmeasured, scales, unit_logarithm
from sizing.evidence.uncertainty import LOAD_NAMES, intervals
from sizing.question.understand import understand
from sizing.search.screen import all_configurations
from tests.sizing.asking import LLAMA_70B, raw


@pytest.mark.parametrize("metric", ["decode", "prefill"])
@pytest.mark.parametrize("model", [LLAMA_70B, "deepseek-ai/DeepSeek-R1", "Qwen/Qwen3-8B"])
@pytest.mark.parametrize("prompt", [20, 150_000])
def test_the_scale_of_a_table_is_that_of_each_configuration(metric: str, model: str, prompt: int) -> None:
    question = understand(Scenario.model_validate(raw(model, workload={"input_tokens": prompt, "peak_rps": 1})))
    every = all_configurations(question)
    some = every.take(np.random.default_rng(7).choice(len(every), 150, replace=False))
    apart = np.where(np.arange(len(some)) % 3 > 0, np.nan, 0.1234 * (np.arange(len(some)) % 5))
    loads = np.full(
        (len(some), len(LOAD_NAMES)), (np.nan, question.traffic.input_tokens, question.traffic.output_tokens)
    )
    each = intervals(metric, question.model, some.rows, loads=loads, apart=apart)
    for confidence in (0.1, 0.2, 0.8, 0.9, 0.95):
        together = scales(metric, Unmeasured.of(question.model, some), question.traffic, apart, slow=confidence > 0.5)
        found = np.exp(unit_logarithm(metric, confidence) * together)
        assert found == pytest.approx([one.factor_at(confidence) for one in each])
    assert len(np.unique(np.round(together, 6))) > 3
