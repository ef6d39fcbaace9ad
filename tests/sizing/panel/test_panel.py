"""First choices that an expert would sign: questions, each with the answers that are accepted, and why.

The questions (``questions/``) are written from what engines support, what is published, measured and sold, not from
what the product answers. One that fails is read first: either the answer is one that nobody should be given, or an
expert would sign it and the question forgot it. What holds for every plan is in ``rules.py``.
"""

from collections import Counter
from pathlib import Path

import pytest

from sizing.catalog.engines import engines
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import precisions
from tests.sizing.panel.asking import judged
from tests.sizing.panel.question import Question, questions
from tests.tools.first_choices import LOADS, PLACES, main, read, summary

BY_NAME = {question.name: question for question in questions()}
LEAST_QUESTIONS = 80
"""As many as were asked for."""

MODEL = "meta-llama/Meta-Llama-3.1-8B"


@pytest.mark.parametrize("name", BY_NAME)
def test_an_expert_signs_the_first_choice(name: str) -> None:
    verdict = judged(BY_NAME[name])
    if not verdict.accepted:
        pytest.fail(str(verdict), pytrace=False)


def test_there_are_enough_questions_and_each_has_a_name_and_a_reason() -> None:
    assert len(BY_NAME) == len(questions()) >= LEAST_QUESTIONS
    assert all(question.why and (question.accept or question.nothing) for question in questions())


def test_accepted_answers_name_what_the_catalogue_has() -> None:
    accepted = [each for question in questions() for each in question.accept]
    named = {"gpus": set(gpus()), "formats": set(precisions()), "engines": set(engines())}
    unknown = {kind: {n for each in accepted for n in getattr(each, kind)} - known for kind, known in named.items()}
    assert unknown == {"gpus": set(), "formats": set(), "engines": set()}


def kind(question: Question) -> tuple[str, ...]:
    """Place, load and what is named, as one label each."""
    asked, rps = question.scenario.deployment, question.scenario.workload.peak_rps or 0
    load = next(name for name, most in (("tiny", 0.5), ("small", 3), ("medium", 30), ("large", 1e9)) if rps <= most)
    named = "GPU" if asked.gpus else "engine" if asked.engines else "free"
    return asked.location, load, named


def test_every_kind_of_question_is_asked() -> None:
    counts = Counter(label for question in questions() for label in kind(question))
    assert min(counts[label] for label in ("on_prem", "cloud", "tiny", "small", "medium", "GPU", "free")) >= 20
    assert min(counts["large"], counts["engine"]) >= 2
    one_or_two = [q for q in questions() if any(each.bought[0] <= 2 and each.bought[1] <= 2 for each in q.accept)]
    assert len(one_or_two) >= 20  # small customers


def test_every_question_has_a_row_and_every_choice_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "first.csv"
    main([str(out), "--models", MODEL, "--loads", "small", "large"])
    rows = read(out)
    assert [(row["place"], row["load"]) for row in rows] == [(p, load) for p in PLACES for load in ("small", "large")]
    assert all(row["model"] == MODEL and row["feasible"] == "True" for row in rows)
    assert all(int(row["bought"]) >= int(row["gpus"]) >= 1 for row in rows)
    printed = capsys.readouterr().out
    assert {row["gpu"] for row in rows} <= set(printed.split())
    assert "on_prem: 2 first choices" in printed


def test_counts_stand_beside_those_of_an_earlier_run() -> None:
    row = {"place": "cloud", "feasible": "True", "gpu": "l4", "engine": "vllm", "weights": "fp8", "broken": ""}
    before = [row | {"gpu": "v100_sxm", "broken": "mislabelled no_price"}, row | {"feasible": "False"}]
    printed = [" ".join(line.split()) for line in summary([row], before)]
    assert "cloud: 1 first choices, 1 break no rule" in printed
    assert {"l4 0 -> 1", "v100_sxm 1 -> 0", "mislabelled 1 -> 0", "no_price 1 -> 0"} <= set(printed)


def test_loads_span_a_pilot_and_a_service() -> None:
    rates = [rps for _, _, rps in LOADS.values()]
    assert len(rates) == 5
    assert max(rates) / min(rates) >= 1000
