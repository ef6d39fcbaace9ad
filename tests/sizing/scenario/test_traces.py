"""Traces and bursts named in a scenario file: what the plan makes of them, and how they are wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from sizing import Scenario, plan
from sizing.base.errors import InvalidScenario
from sizing.cli import main
from sizing.question.understand import MOST_DISPERSION, understand
from sizing.scenario.file import load_scenario
from sizing.scenario.traces import groups_of
from sizing.search.replicas import arrivals_of, lengths_of
from tests.sizing.asking import LLAMA_8B

HARDWARE = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1], "pp": [1]}
OF_TRACE = {"trace": "trace.csv"}


def written(folder: Path, rows: list[tuple[float, int, int]] | str, **workload: Any) -> Path:
    """A scenario file beside a trace with these rows (time, prompt, output)."""
    head = "timestamp,input_tokens,output_tokens\n"
    body = rows if isinstance(rows, str) else "".join(f"{t},{p},{o}\n" for t, p, o in rows)
    (folder / "trace.csv").write_text(head + body)
    asked = {"input_tokens": OF_TRACE, "output_tokens": OF_TRACE, "arrivals": OF_TRACE, **workload}
    path = folder / "case.yaml"
    path.write_text(yaml.safe_dump({"model": LLAMA_8B, "workload": asked, "deployment": HARDWARE}))
    return path


def busy_minute() -> list[tuple[float, int, int]]:
    """Two minutes at about 2 requests/s, one at about 8, one at 2; lengths 100 to 2000 and 10 to 200."""
    rng = np.random.default_rng(0)
    times = np.sort(np.concatenate([rng.uniform(0, 240, 480), rng.uniform(120, 180, 360), [0.0, 240.0]]))
    return [(float(t), int(rng.integers(100, 2001)), int(rng.integers(10, 201))) for t in times]


def test_a_trace_gives_peak_burstiness_and_lengths(tmp_path: Path) -> None:
    rows = busy_minute()
    question = understand(load_scenario(written(tmp_path, rows)))
    in_peak = sum(120 <= t < 180 for t, _, _ in rows) / 60
    assert question.demand.peak_rps == pytest.approx(in_peak)
    assert question.demand.average_rps == pytest.approx(len(rows) / 240)
    assert question.variability.arrivals == pytest.approx(1.0, abs=0.25)
    assert question.traffic.input_tokens == pytest.approx(np.mean([p for _, p, _ in rows]))
    assert question.traffic.output_tokens == pytest.approx(np.mean([o for _, _, o in rows]))
    spread = np.var([p for _, p, _ in rows]) / np.mean([p for _, p, _ in rows]) ** 2
    assert question.variability.prompt == pytest.approx(spread, rel=0.01)
    assert "Busiest 60 s of trace.csv" in question.demand.how


def test_a_scenario_keeps_what_was_read_and_needs_no_second_file(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, busy_minute()))
    (tmp_path / "trace.csv").unlink()
    again = Scenario.model_validate_json(scenario.model_dump_json())
    assert again == scenario
    assert plan(again).feasible
    drawn = lengths_of(understand(again)).sample(tuple(np.random.default_rng(s) for s in range(3)), 20_000)
    assert drawn[0].mean() == pytest.approx(understand(again).traffic.input_tokens, rel=0.02)


def test_a_rate_beside_a_trace_scales_it(tmp_path: Path) -> None:
    question = understand(load_scenario(written(tmp_path, busy_minute(), peak_rps=80)))
    assert question.demand.peak_rps == 80
    assert question.demand.mean_to_peak < 0.5
    assert arrivals_of(question).rate_rps == 80


def test_growth_counts_on_top_of_a_trace(tmp_path: Path) -> None:
    plain, grown = (
        understand(load_scenario(written(tmp_path, busy_minute(), growth_percent=g))).demand for g in (0, 50)
    )
    assert grown.peak_rps == pytest.approx(1.5 * plain.peak_rps)


def test_groups_keep_the_mean_and_the_order() -> None:
    lengths = np.random.default_rng(0).integers(1, 5000, 10_000)
    groups = groups_of(lengths)
    assert len(groups) == 200
    assert groups == sorted(groups)
    assert np.mean(groups) == pytest.approx(lengths.mean())
    assert groups_of(np.array([7])) == [7.0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("1,100,10\nsoon,100,10\n", "workload.input_tokens: trace.csv, row 3: timestamp is not a time: “soon”."),
        ("1,-5,10\n", "workload.input_tokens: trace.csv, row 2: input_tokens must be at least 1, not -5."),
        ("", "workload.input_tokens: trace.csv holds no requests."),
        ("5,100,10\n", "workload.arrivals: trace.csv covers less than a second: too short for a rate."),
    ],
)
def test_a_faulty_trace_is_a_sentence_by_row(tmp_path: Path, rows: str, said: str, capsys) -> None:
    path = written(tmp_path, rows)
    assert main(["plan", str(path)]) == 2
    assert said in capsys.readouterr().err.splitlines()


def test_cached_tokens_come_from_the_trace_too(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"{t},{400 + t},50\n" for t in range(100)), prefix_cached_tokens=OF_TRACE)
    assert load_scenario(path).workload.prefix_cached_tokens == 0
    body = "".join(f"{t},{400 + t},50,{100 + t}\n" for t in range(100))
    (tmp_path / "trace.csv").write_text("timestamp,input_tokens,output_tokens,cached_tokens\n" + body)
    assert load_scenario(path).workload.prefix_cached_tokens == 150
    body = "".join(f"{t},{40 if t % 10 else 4000},50,{0 if t % 10 else 3999}\n" for t in range(100))
    (tmp_path / "trace.csv").write_text("timestamp,input_tokens,output_tokens,cached_tokens\n" + body)
    assert load_scenario(path).workload.prefix_cached_tokens == 39, "fewer than the median prompt has"


def test_a_missing_trace_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, busy_minute())
    (tmp_path / "trace.csv").unlink()
    with pytest.raises(InvalidScenario) as caught:
        load_scenario(path)
    assert "workload.arrivals: there is no file trace.csv beside the scenario." in caught.value.problems


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x" * 300, f"there is no readable file {'x' * 77}..."),
        ("x/" * 400, f"there is no file {'x/' * 38}x..."),
        ("\0", "there is no file \\x00 beside"),
        ("\ud800", "there is no file \\ud800 beside"),
        ("../trace.csv", "there is no readable file ../trace.csv beside the scenario or in a folder below."),
    ],
)
def test_a_name_that_no_trace_can_have_is_a_sentence(tmp_path: Path, name: str, said: str) -> None:
    path = tmp_path / "case.json"
    workload = {"input_tokens": {"trace": name}, "output_tokens": 1, "arrivals": {"trace": name}}
    path.write_text(json.dumps({"model": LLAMA_8B, "workload": workload}))
    with pytest.raises(InvalidScenario) as caught:
        load_scenario(path)
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [
        "workload.input_tokens",
        "workload.arrivals",
    ]
    assert all(said in problem for problem in caught.value.problems)


def test_a_trace_may_stand_in_a_folder_below_and_in_no_other(tmp_path: Path) -> None:
    below = tmp_path / "scenarios" / "traces"
    below.mkdir(parents=True)
    written(below, busy_minute())
    for name, reads in (("traces/trace.csv", True), (str(below / "trace.csv"), False), ("traces/../../x", False)):
        asked = {"input_tokens": {"trace": name}, "output_tokens": 5, "peak_rps": 1}
        path = tmp_path / "scenarios" / "case.json"
        path.write_text(json.dumps({"model": LLAMA_8B, "workload": asked}))
        if reads:
            assert load_scenario(path).workload.input_tokens.groups
        else:
            with pytest.raises(InvalidScenario, match="there is no readable file"):
                load_scenario(path)


def test_a_trace_outside_a_file_says_what_to_give_instead() -> None:
    with pytest.raises(ValueError, match="a trace is read from beside a scenario file"):
        Scenario.model_validate(
            {"model": LLAMA_8B, "workload": {"input_tokens": {"trace": "x.csv"}, "output_tokens": 5, "peak_rps": 1}}
        )


def test_simulate_replays_the_trace_of_the_scenario(tmp_path: Path, capsys) -> None:
    rows = busy_minute()
    assert main(["simulate", str(written(tmp_path, rows)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["requests"] == len(rows)
    assert "trace.csv" in found["notes"][0]


def bursty(**bursts: float) -> Scenario:
    workload = {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 20, "arrivals": {"bursts": bursts}}
    return Scenario.model_validate({"model": LLAMA_8B, "workload": workload, "deployment": HARDWARE})


def test_bursts_need_more_than_poisson_and_no_contrast_is_poisson() -> None:
    even = bursty(on_s=10, off_s=10, share_on=0.5)
    assert understand(even).variability.arrivals == pytest.approx(1.0)
    hard = bursty(on_s=10, off_s=30)
    # p = 1/4, contrast 4, t = 7.5 s, 20 requests/s: 1 + 2 x 3/16 x 16 x 7.5 x 20 = 901, held at 400.
    assert understand(hard).variability.arrivals == MOST_DISPERSION
    assert understand(bursty(on_s=0.1, off_s=0.3)).variability.arrivals == pytest.approx(10.0)
    few, more = plan(even).deployment, plan(hard).deployment
    assert few
    assert more
    assert more.instances > few.instances
    assert plan(even).feasible


def test_bursts_that_are_lulls_are_refused() -> None:
    with pytest.raises(ValueError, match="share_on must be at least"):
        bursty(on_s=10, off_s=10, share_on=0.2)
