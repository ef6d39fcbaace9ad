"""``python -m sharing``: what it prints, writes and refuses."""

import json

import pytest

from sharing.library import open_library
from sharing.library.records import Draft
from sizing.scenario.file import load_scenario
from tests.commands import run, run_process
from tests.sharing.test_library import scenario

SCENARIO = """
schema_version: 1
name: Chat of Acme
model: openai/gpt-oss-120b
workload: {input_tokens: 1000, output_tokens: 100, peak_rps: 2}
deployment: {gpus: [h100_sxm], engines: [vllm]}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SHARING_DATABASE", str(tmp_path / "library.sqlite"))
    return tmp_path


@pytest.fixture
def file(place):
    path = place / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


def test_imported_listed_and_exported(file, place):
    kept = run("sharing", "import", file, "--customer", "Acme", "--tag", "pilot", "--author", "ann")
    assert (kept.returncode, kept.stdout) == (0, "Scenario 1: Chat of Acme\n")
    assert run("sharing", "list", "--customer", "acme").stdout.splitlines()[1].startswith("1   Chat of Acme  Acme")
    (listed,) = json.loads(run("sharing", "list", "--json").stdout)["scenarios"]
    assert listed["gpus"] >= 1
    assert listed["usd_per_month"] > 0
    assert listed["tags"] == ["pilot"]
    for name, wanted in (("a.yaml", "1"), ("a.json", "chat of acme")):
        assert run("sharing", "export", wanted, "--to", place / name).returncode == 0
        assert load_scenario(place / name) == load_scenario(file)


def test_totals_of_projects_are_in_the_json(file):
    run("sharing", "import", file, "--project", "Chat", "--no-plan")
    (total,) = json.loads(run("sharing", "list", "--json").stdout)["projects"]
    assert (total["scenarios"], total["without_gpus"]) == (1, 1)


def test_a_version_of_before(file, place):
    run("sharing", "import", file, "--no-plan")
    library = open_library()
    library.save(1, 1, Draft(scenario=scenario("later")), author="ann")
    library.close()
    run("sharing", "export", "1", "--version", "1", "--to", place / "first.yaml")
    assert load_scenario(place / "first.yaml").name == "Chat of Acme"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("export", "9", "--to", "a.yaml"), "The library has no scenario 9."),
        (("export", "nobody", "--to", "a.yaml"), "No scenario is called nobody"),
        (("export", "1", "--to", "a.docx"), "a.docx does not say what to write"),
        (("import", "none.yaml"), "There is no file none.yaml."),
        (("--library", "mysql://a/b", "list"), "its address cannot be used"),
    ],
)
def test_what_cannot_be_done_is_one_line(place, arguments, sentence):
    done = run("sharing", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_name_that_two_scenarios_have(file, place):
    for _ in range(2):
        run("sharing", "import", file, "--no-plan")
    done = run("sharing", "export", "Chat of Acme", "--to", place / "a.yaml")
    assert "give one of the ids 2, 1." in done.stderr


def test_as_a_process(place):
    done = run_process("sharing", "list")
    assert (done.returncode, done.stderr) == (0, "")
