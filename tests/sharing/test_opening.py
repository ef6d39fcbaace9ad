"""``python -m sharing open``: the scenario that a live link means, and links that mean none."""

from pathlib import Path

import pytest

from sharing.form.link_versions import LINK_VERSION
from sharing.links.opening import scenario_of
from sizing.scenario.file import load_scenario
from tests.commands import run

LINK = "https://sizing.example.com/tools/size?model=llama+3.3+70b&isl=3.5k&osl=500&rps=20&ttft=1.5s&gpu=h100,h200"


@pytest.mark.parametrize("name", ["a.yaml", "a.YML", "a.json"])
def test_a_link_becomes_the_file_that_it_means(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    done = run("sharing", "open", LINK, "--to", place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = load_scenario(place)
    assert found == scenario_of(LINK)
    assert (found.workload.input_tokens, found.workload.peak_rps, found.limits.ttft_ms) == (3500, 20, 1500)
    assert found.deployment.gpus == ["h100_sxm", "h200_sxm"]
    assert (found.limits.percentile, found.deployment.measured_gpus_only, found.deployment.confidence) == (
        95,
        False,
        90,
    )


def test_the_way_there_and_back_is_the_same_scenario(tmp_path: Path) -> None:
    asked = tmp_path / "asked.yaml"
    asked.write_text(
        "name: Größe 50 %\nmodel: openai/gpt-oss-120b\n"
        "workload: {input_tokens: 1000.123456789012, output_tokens: {p50: 90, p95: 333.3333333333333},\n"
        "  average_rps: 0.1}\n"
        "limits: {ttft_ms: null, itl_ms: 33.1, percentile: 99.9}\n"
        "deployment: {max_utilization: 0.57, confidence: 95, objective: expected_cost, gpus: [h100_sxm]}\n"
    )
    link = run("sharing", "link", asked, "--base", "https://a.example").stdout.strip()
    assert run("sharing", "open", link, "--to", tmp_path / "back.yaml").returncode == 0
    assert load_scenario(tmp_path / "back.yaml") == load_scenario(asked)


def test_a_link_of_a_former_version_means_what_it_meant() -> None:
    former, today = scenario_of(f"{LINK}&v=1"), scenario_of(f"{LINK}&v={LINK_VERSION}")
    assert (former.limits.percentile, former.deployment.measured_gpus_only) == (99, True)
    assert former.deployment.precisions == ["bf16", "fp16", "fp8"]
    assert today == scenario_of(LINK) != former


@pytest.mark.parametrize(
    ("link", "problems"),
    [
        ("nowhere", ["nowhere is no address of a page, such as http://localhost:8501/size?rps=20."]),
        ("http://[::1/size", ["http://[::1/size is no address of a page, such as http://localhost:8501/size?rps=20."]),
        (
            "ftp://a/size?rps=1",
            ["ftp://a/size?rps=1 is no address of a page, such as http://localhost:8501/size?rps=20."],
        ),
        ("http://a/shared?token=x", ["This is a frozen link: it shows a report and carries no inputs."]),
        (
            "http://a/scenarios",
            [
                "http://a/scenarios is no page with inputs: these are size, explore, compare, cost, benchmarks, live, "
                "reality."
            ],
        ),
        ("http://a/size?model=no/such-model-7b", ["Unknown model"]),
        ("http://a/size?model_by=config.json", ["No config.json was given yet"]),
        ("http://a/size?trace=day.csv", ["The link was made with the trace day.csv, which it does not carry."]),
        ("http://a/size?given=prices,x", ["The link was made with prices of its own, which it does not carry."]),
        ("http://a/size?confidence=85", ["How sure that it suffices: “85” is not one of the options"]),
        (
            "http://a/size?isl=abc&ttft=-1&rpss=3&usd_system=9&v=77",
            [
                "The link's “rpss” is no input; did it mean rps or m_rps?",
                "Price of a system is never taken from a link",
                f"This link was made for version 77 of the form, this is version {LINK_VERSION}.",
                "Prompt length: “abc” is not a number",
                "TTFT limit must be more than 0 ms; -1 was entered.",
            ],
        ),
    ],
)
def test_a_bad_link_is_refused_with_one_line_per_problem(tmp_path: Path, link: str, problems: list[str]) -> None:
    place = tmp_path / "a.yaml"
    place.write_text("whole")
    done = run("sharing", "open", link, "--to", place)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert len(lines) == len(problems), lines
    for line, problem in zip(sorted(lines), sorted(problems), strict=True):
        assert line.startswith(problem)
    assert place.read_text() == "whole"


def test_what_to_write_is_said_by_the_name_of_the_file(tmp_path: Path) -> None:
    done = run("sharing", "open", LINK, "--to", tmp_path / "a.txt")
    assert (done.returncode, done.stderr) == (
        2,
        "a.txt does not say what to write: name a .yaml or .yml or .json file.\n",
    )
