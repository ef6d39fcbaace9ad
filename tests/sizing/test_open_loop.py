"""The simulator against published open-loop runs: the committed table is what the code says."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.tools.load_model.open_loop import lengths_of, line, reproduced, runs

REPORT = Path(__file__).parents[2] / "docs" / "LOAD_MODEL.md"
CHECKED = (3102, 3136, 3217)
"""Rows of small systems: an MI300X, four H100 and one H200."""


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", text)]


@pytest.mark.parametrize("row", CHECKED)
def test_the_committed_table_is_what_the_code_says(row: int) -> None:
    (run,) = [run for run in runs() if run.row == row]
    found = reproduced(run)
    assert found.itl_mean == pytest.approx(run.itl_mean, rel=0.02)
    (committed,) = [text for text in REPORT.read_text(encoding="utf-8").splitlines() if f"| {row} |" in text]
    assert committed.startswith(f"| {run.name} |")
    assert numbers(committed) == pytest.approx(numbers(line(found)), rel=0.02)


def test_lengths_have_the_means_of_the_run() -> None:
    run = runs()[0]
    rngs = tuple(np.random.default_rng(i) for i in range(3))
    prompt, output, *_ = lengths_of(run).sample(rngs, 200_000)
    assert prompt.mean() == pytest.approx(run.point.input_tokens, rel=0.02)
    assert output.mean() == pytest.approx(run.point.output_tokens, rel=0.02)
