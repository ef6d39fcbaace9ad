"""Candidates under load that are kept between questions: the same as evaluated anew, whatever was asked before."""

import numpy as np
import pytest

from sizing import Scenario
from sizing.planning import exclusion_reasons, unsupported
from sizing.planning.exclusion import excluded
from sizing.question.understand import Question, understand
from sizing.search import screen
from sizing.search.screen import all_configurations, evaluate, evaluate_all
from tests.sizing.asking import LLAMA_70B, raw

OTHERS = {
    "limits": {"limits": {"ttft_ms": 900, "itl_ms": 30, "percentile": 99}},
    "rate": {"workload": {"peak_rps": 77}},
    "utilisation": {"deployment": {"max_utilization": 0.7}},
    "prompt": {"workload": {"input_tokens": 1234}},
    "spread": {"workload": {"output_tokens": {"p50": 200, "p95": 900}}},
    "bursts": {"workload": {"arrivals": {"gamma": {"cv": 2}}}},
    "batch limit": {"deployment": {"batch_limits": [16]}},
    "GPUs": {"deployment": {"gpus": ["h100_sxm"]}},
    "place": {"deployment": {"location": "cloud"}},
    "formats": {"deployment": {"precisions": ["fp8"]}},
    "drafts": {"deployment": {"speculative_decoding": {"draft_tokens": 2, "acceptance": 0.7}}},
    "model": {"model": "Qwen/Qwen3-32B"},
}
SAME_STATES = ("limits", "rate", "utilisation")


def question(**sections: object) -> Question:
    model = sections.pop("model", LLAMA_70B)
    return understand(Scenario.model_validate(raw(model, **sections)))


@pytest.mark.parametrize("name", OTHERS)
def test_a_question_after_another_is_evaluated_as_if_it_were_the_first(name: str) -> None:
    screen._kept_states.cache_clear()
    evaluate_all(question())
    other = question(**OTHERS[name])
    kept, anew = evaluate_all(other), evaluate(other, all_configurations(other))
    assert screen._kept_states.cache_info().hits == (name in SAME_STATES)
    assert [row.label for row in kept.candidates.rows] == [row.label for row in anew.candidates.rows]
    np.testing.assert_array_equal(kept.capacity.rps, anew.capacity.rps)
    np.testing.assert_array_equal(kept.latencies.ttft_s, anew.latencies.ttft_s)
    np.testing.assert_array_equal(kept.state.rps, anew.state.rps)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_excluded_after_another_question_is_what_it_alone_excludes(name: str) -> None:
    first, other = question(), question(**OTHERS[name])
    excluded(first, evaluate_all(first))
    after_another = excluded(other, evaluate_all(other))
    unsupported.unsupported.cache_clear()
    exclusion_reasons._that_fit.cache_clear()
    assert excluded(other, evaluate_all(other)) == after_another
