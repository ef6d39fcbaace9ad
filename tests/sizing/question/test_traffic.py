"""The mean context of a decoding sequence, held against the sum over all decode steps of random answers."""

import numpy as np
import pytest

from sizing.question.length_distributions import FixedLength, GroupedLength, LengthDistribution, LognormalLength
from sizing.question.traffic import Traffic

PROMPT = 100.0


def mean_context(answers: np.ndarray) -> float:
    """Over the steps of all answers: one of N tokens is decoded at PROMPT + 1, 2, ... N - 1 tokens."""
    steps = answers - 1.0
    return PROMPT + float((steps * (steps + 1.0) / 2.0).sum() / steps.sum())


def traffic(output: LengthDistribution) -> Traffic:
    return Traffic(input_tokens=PROMPT, output_tokens=output.mean, output_variation=output.variation)


@pytest.mark.parametrize("tokens", [2.0, 3.0, 500.0])
def test_half_of_an_answer_is_context_where_all_are_alike(tokens: float) -> None:
    assert traffic(FixedLength(tokens=tokens)).decode_context == mean_context(np.array([tokens]))


@pytest.mark.parametrize(
    "output",
    [
        LognormalLength(p50=200.0, p95=800.0),
        LognormalLength(p50=40.0, p95=60.0),
        GroupedLength(groups=(10.0, 200.0, 700.0)),
    ],
)
def test_long_answers_weigh_more_where_lengths_vary(output: LengthDistribution) -> None:
    answers = output.sample(np.random.default_rng(1), 1_000_000)
    at = traffic(output)
    assert at.decode_context == pytest.approx(mean_context(answers), rel=5e-3)
    without_variation = PROMPT + output.mean / 2.0
    assert at.decode_context - without_variation == pytest.approx(output.mean * output.variation / 2.0)
    exact = PROMPT + (output.mean**2 * (1.0 + output.variation) - output.mean) / (2.0 * (output.mean - 1.0))
    assert exact - at.decode_context == pytest.approx(output.variation / (2.0 * (1.0 - 1.0 / output.mean)))
