"""``python -m sharing``: what it prints, writes and refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sharing.author import owner
from sharing.form.link_versions import LINK_VERSION
from sharing.formats import FORMATS
from sharing.library import open_library
from sharing.library.records import ScenarioDraft
from sizing.scenario.file import load_scenario
from tests.commands import ROOT, run, run_process
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


@pytest.mark.parametrize("flags", [(), ("--no-plan",)])
def test_a_model_that_does_not_exist_is_not_kept(file, flags):
    file.write_text(SCENARIO.replace("openai/gpt-oss-120b", "openai/gpt-nothing-7b"))
    done = run("sharing", "import", file, *flags)
    planned = run("sizing", "plan", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == planned.stderr
    assert done.stderr.startswith("Unknown model “openai/gpt-nothing-7b”.")
    assert len(done.stderr.splitlines()) == 1
    assert run("sharing", "list").stdout.count("\n") == 1


def test_a_name_that_is_too_long_is_one_sentence(file):
    file.write_text(SCENARIO.replace("Chat of Acme", "x" * 201))
    assert "name: is longer than 200 characters (found" in run("sharing", "import", file).stderr
    file.write_text(SCENARIO.replace("Chat of Acme", "x" * 200))
    done = run("sharing", "link", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert "x" * 200 in done.stdout


def test_totals_of_projects_are_in_the_json(file):
    run("sharing", "import", file, "--project", "Chat", "--no-plan")
    (total,) = json.loads(run("sharing", "list", "--json").stdout)["projects"]
    assert (total["scenarios"], total["without_gpus"]) == (1, 1)


def test_a_version_of_before(file, place):
    run("sharing", "import", file, "--no-plan")
    library = open_library()
    library.save(1, 1, ScenarioDraft(scenario=scenario("later")), by=owner("ann"))
    library.close()
    run("sharing", "export", "1", "--version", "1", "--to", place / "first.yaml")
    assert load_scenario(place / "first.yaml").name == "Chat of Acme"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("export", "9", "--to", "a.yaml"), "The library has no scenario 9."),
        (("export", "nobody", "--to", "a.yaml"), "No scenario is called nobody"),
        (("export", "1", "--to", "a.docx"), "a.docx does not say what to write"),
        (("export", "1", "--to", ".pdf"), ".pdf does not say what to write"),
        (("export", "none.yaml", "--to", "a.pdf"), "There is no file none.yaml."),
        (("export", "../../etc/passwd", "--to", "a.pdf"), "No scenario is called ../../etc/passwd"),
        (("export", "1", "--to", "a.yaml", "--prices", "none"), "belong to a report"),
        (("import", "none.yaml"), "There is no file none.yaml."),
        (("--library", "mysql://a/b", "list"), "its address cannot be used"),
    ],
)
def test_what_cannot_be_done_is_one_line(place, arguments, sentence):
    done = run("sharing", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("place_of_file", ["no-such-folder/a.md", "a-file/a.yaml", "a-file/k8s"])
def test_an_export_that_cannot_be_written_is_one_line(file, place, place_of_file):
    (place / "a-file").write_text("")
    done = run("sharing", "export", file, "--to", place / place_of_file)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["a.md", "a.yaml"])
def test_a_write_that_fails_leaves_the_earlier_export(file, place, monkeypatch, name):
    (place / name).write_text("whole")
    before = sorted(place.iterdir())
    write = Path.write_bytes

    def full_disk(path, content):
        write(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    done = run("sharing", "export", file, "--to", place / name)
    assert (done.returncode, done.stderr) == (2, f"{place / name}: No space left on device.\n")
    assert (place / name).read_text() == "whole"
    assert sorted(place.iterdir()) == before


def test_a_name_that_two_scenarios_have(file, place):
    for _ in range(2):
        run("sharing", "import", file, "--no-plan")
    done = run("sharing", "export", "Chat of Acme", "--to", place / "a.yaml")
    assert "give one of the ids 2, 1." in done.stderr


def test_what_was_deleted_is_removed_for_good(file):
    run("sharing", "import", file, "--no-plan")
    assert "delete it first" in run("sharing", "purge", "1", "--yes").stderr
    library = open_library()
    library.delete(1, 1, by=owner("ann"))
    library.close()
    asked = run("sharing", "purge", "1")
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr == "Nothing brings scenario 1 (Chat of Acme) back: say --yes to remove it.\n"
    done = run("sharing", "purge", "1", "--yes")
    assert done.stdout == "Scenario 1 is gone for good (versions: 2, frozen links: 0).\n"
    assert len(run("sharing", "list", "--deleted").stdout.splitlines()) == 1


def test_as_a_process(place):
    done = run_process("sharing", "list")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_live_link_of_a_file_and_of_the_library(file):
    printed = run("sharing", "link", file).stdout
    assert printed.startswith(
        f"http://localhost:8501/size?v={LINK_VERSION}&name=Chat+of+Acme&model=openai/gpt-oss-120b&isl=1000&"
    )
    run("sharing", "import", file, "--no-plan")
    done = run("sharing", "link", "chat of acme", "--base", "https://sizing.example.com/")
    assert done.stdout == printed.replace("http://localhost:8501", "https://sizing.example.com")
    assert done.stderr == ""


def test_a_live_link_says_what_it_leaves_out_and_no_price(file, place):
    priced = place / "priced.yaml"
    priced.write_text(
        file.read_text() + "prices: {gpu: h100_sxm, gpu_hour_usd: 1.234}\ncosts: {staff_usd_per_month: 4321}\n"
    )
    done = run("sharing", "link", priced)
    assert done.returncode == 0
    assert not any(price in done.stdout + done.stderr for price in ("1.234", "4321"))
    assert "Not in the link: prices.gpu, prices.gpu_hour_usd, costs.staff_usd_per_month" in done.stderr


@pytest.mark.parametrize("base", ["javascript:alert(1)", "nowhere", "http://[::1", "http://a?b=c"])
def test_a_base_that_is_no_address(file, base):
    done = run("sharing", "link", file, "--base", base)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not where a dashboard answers" in done.stderr


def test_manifests_are_exported_to_a_folder(file, place):
    run("sharing", "import", file, "--no-plan")
    assert run("sharing", "export", "1", "--to", f"{place}/k8s/").returncode == 0
    assert {"README.md", "kubernetes.yaml", "index.json"} <= {path.name for path in (place / "k8s").iterdir()}
    (place / "k8s" / "notes.txt").write_text("mine")
    refused = run("sharing", "export", "1", "--to", place / "k8s")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "holds notes.txt, which no export wrote" in refused.stderr


QUICK = (".md", ".pdf")
"""Formats whose files are quickly made."""


@pytest.mark.parametrize(
    "suffix", [s if s in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in sorted(FORMATS)]
)
def test_a_report_of_a_file_and_of_the_library(file, place, suffix):
    assert run("sharing", "export", file, "--to", place / f"a{suffix}").returncode == 0
    run("sharing", "import", file, "--customer", "Acme", "--no-plan")
    assert run("sharing", "export", "1", "--to", place / f"b{suffix}", "--author", "Ann").returncode == 0
    assert (place / f"a{suffix}").stat().st_size > 5_000
    if suffix == ".md":
        assert "Customer: Acme · By: Ann" in (place / "b.md").read_text()


@pytest.mark.slow
def test_a_report_shows_the_prices_that_are_released(file, place):
    file.write_text(SCENARIO + "prices: {gpu: h100_sxm, system: dgx_h100, system_usd: 123457}\n")
    texts = {}
    for prices in ("none", "list", "own"):
        assert run("sharing", "export", file, "--to", place / "a.md", "--prices", prices).returncode == 0
        texts[prices] = (place / "a.md").read_text()
    assert "123,457" in texts["own"]
    assert "123,457" not in texts["list"] + texts["none"]
    assert "list prices" in texts["list"]
    assert "USD" not in texts["none"]


def test_a_brand_that_cannot_be_read_is_one_line(file, place, monkeypatch):
    monkeypatch.setenv("SHARING_BRAND", str(place / "nowhere.yaml"))
    done = run("sharing", "export", file, "--to", place / "a.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "SHARING_BRAND names nowhere.yaml, which cannot be read.\n"


def test_the_list_waits_for_no_engine_and_no_writer_of_files():
    heavy = ["numba", "pandas", "scipy", "reportlab", "pptx", "openpyxl", "xlsxwriter", "streamlit"]
    code = f"import sharing.cli, sys; print([m for m in {heavy!r} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"
