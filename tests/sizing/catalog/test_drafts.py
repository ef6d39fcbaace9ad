"""What models draft with: complete, sourced, of models and engines that there are, and converted as documented."""

import re

import pytest

from sizing.catalog import models
from sizing.catalog.drafts import (
    DEPTHS,
    METHOD_LABELS,
    OF_EASIER,
    acceptance_of,
    acceptances,
    at_depth,
    drafted_runs,
    drafts_of,
    model_drafts,
    tokens_of,
)
from sizing.catalog.engines import engines

ISO = re.compile(r"20\d\d-[01]\d(-[0-3]\d)?")


def test_every_row_has_a_source_and_a_date() -> None:
    for row in (*acceptances(), *model_drafts().values(), *drafted_runs()):
        assert len(row.source) > 10, row
        assert ISO.fullmatch(row.date), row


def test_drafts_are_of_models_methods_and_engines_that_there_are() -> None:
    for model, known in model_drafts().items():
        assert model in models()
        assert known.method in METHOD_LABELS
        assert set(known.engines) <= set(engines())
        assert known.engines
        measured = {(one.model, one.method) for one in acceptances()}
        assert not known.acceptance_of or {(m, known.method) for m in known.acceptance_of} & measured


def test_a_step_has_between_one_token_and_all_drafts() -> None:
    for one in acceptances():
        assert 1.0 < one.acceptance_length <= one.draft_tokens + 1.0, one
    for model in model_drafts():
        for draft in drafts_of(model):
            assert 1.0 < draft.low < draft.tokens_per_step < draft.high <= draft.draft_tokens + 1.0, draft


@pytest.mark.parametrize("tokens", [1.1, 2.0, 2.53, 3.9])
def test_acceptance_and_tokens_are_each_other_turned_round(tokens: float) -> None:
    assert tokens_of(acceptance_of(tokens, 3), 3) == pytest.approx(tokens, rel=1e-9)


def test_fewer_drafts_by_hand() -> None:
    """2.53 tokens of 3 drafts is an acceptance of 0.7 (1 + 0.7 + 0.49 + 0.343), which gives 1.7 tokens of one."""
    assert at_depth(2.533, 3, 1) == pytest.approx(1.7, abs=1e-3)
    assert at_depth(2.533, 3, 3) == 2.533


def test_the_lower_of_a_chat_counts_and_code_only_where_nothing_else_was_published() -> None:
    """DeepSeek-R1: 81 % of R1 itself and 85 % of V3 at one draft. Kimi K3: code alone, 2.87 tokens of 3 drafts."""
    one, _ = drafts_of("deepseek-ai/DeepSeek-R1")
    assert (one.tokens_per_step, one.measured_on, one.converted) == (1.81, "deepseek-ai/DeepSeek-R1", False)
    of_code = drafts_of("moonshotai/Kimi-K3")[1]
    assert of_code.tokens_per_step == pytest.approx(1.0 + OF_EASIER * 1.87)
    assert of_code.converted


def test_heads_that_nobody_measured_have_the_lowest_of_all_measured_ones() -> None:
    for depth, found in zip(DEPTHS, drafts_of("Qwen/Qwen3-Next-80B-A3B-Instruct"), strict=True):
        known = [
            draft
            for model, one in model_drafts().items()
            if one.method == "mtp" and one.acceptance_of
            for draft in drafts_of(model)
            if draft.draft_tokens == depth
        ]
        assert found.measured_on == ""
        assert found.tokens_per_step == min(draft.tokens_per_step for draft in known)


def test_a_model_that_nobody_drafts_for_has_none() -> None:
    assert drafts_of("google/gemma-2b") == ()
