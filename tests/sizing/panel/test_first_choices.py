"""The table of first choices over the catalogue: one row a question, counts beside those of an earlier run."""

from pathlib import Path

import pytest

from tests.tools.first_choices import LOADS, PLACES, main, read, summary

MODEL = "meta-llama/Meta-Llama-3.1-8B"


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
