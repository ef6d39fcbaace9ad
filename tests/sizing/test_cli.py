"""The command line as a user runs it: exit codes, one line per problem, no traceback."""

import csv
import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
import yaml

from sizing.cli import main
from tests.commands import ROOT, run, run_process
from tests.patience import PATIENCE_S
from tests.sizing.asking import DEPLOYMENT, LLAMA_70B, raw

H100 = {"gpus": ["h100_sxm", "l4"]}

KEYS = {
    "answer",
    "feasible",
    "peak_rps",
    "deployment",
    "per_instance",
    "latency",
    "gpus_low",
    "gpus_high",
    "cost",
    "limited_by",
    "warnings",
    "assumptions",
    "source",
    "alternatives",
    "excluded",
}


@pytest.fixture
def scenario(tmp_path):
    def write(keys=None, name="asked.yaml"):
        path = tmp_path / name
        path.write_text(keys if isinstance(keys, str) else yaml.safe_dump(keys or raw(deployment=H100)))
        return path

    return write


def planned(capsys, *arguments):
    """Exit code, standard output and lines on standard error of ``plan``, in this process."""
    code = main(["plan", *map(str, arguments)])
    out = capsys.readouterr()
    return code, out.out, out.err.splitlines()


def test_json_has_every_key_of_the_contract(scenario, capsys):
    code, out, err = planned(capsys, scenario(), "--json")
    assert (code, err) == (0, [])
    found = json.loads(out)
    assert found.keys() >= KEYS
    assert found["deployment"].keys() >= DEPLOYMENT
    assert found["per_instance"].keys() >= {"max_rps", "weights_gb", "kv_gb", "max_concurrency"}
    assert found["cost"].keys() >= {"usd_per_month", "usd_per_million_output_tokens"}
    for name in ("ttft_ms", "itl_ms", "e2e_ms"):
        assert found["latency"][name].keys() >= {"p50", "p95", "p99", "low", "high"}
    assert all("reason" in e for e in found["excluded"])


def test_json_of_an_infeasible_plan_has_the_same_keys(scenario, capsys):
    code, out, err = planned(capsys, scenario(raw(limits={"ttft_ms": 0.001}, deployment=H100)), "--json")
    assert (code, err) == (0, [])
    found = json.loads(out)
    assert found.keys() >= KEYS
    assert found["feasible"] is False
    assert found["deployment"] is found["cost"] is None
    assert {e["gpu"] for e in found["excluded"]} == set(H100["gpus"])
    assert all(e["relaxation"] for e in found["excluded"])


def test_a_model_no_gpu_holds_is_an_answer(scenario, capsys):
    keys = raw({"name": "giant", "params_b": 20_000}, deployment={"gpus": ["t4"]})
    code, out, err = planned(capsys, scenario(keys))
    assert (code, err) == (0, [])
    assert out.startswith("Nothing serves")
    assert "Excluded" in out


@pytest.mark.parametrize("count", [0, 1, 3])
def test_alternatives_are_as_many_as_asked(scenario, capsys, count):
    _, out, _ = planned(capsys, scenario(), "--json", "--alternatives", count)
    assert len(json.loads(out)["alternatives"]) == count


def test_text_shows_answer_alternatives_and_excluded(scenario, capsys):
    code, out, _ = planned(
        capsys, scenario(raw(LLAMA_70B, deployment={"gpus": ["h100_sxm", "t4"]}, limits={"ttft_ms": 900}))
    )
    assert code == 0
    chance = "the limits hold with a chance of"
    for part in (chance, "(asked: 90 %)", "Capacity", "p95", "a month", "Alternatives", "Excluded", "Relax: "):
        assert part in out


def test_each_problem_is_one_line_and_exit_code_2(scenario, capsys):
    keys = raw("nobody/nothing", deployment={"gpus": ["h1000"], "engines": ["vllmm"]})
    code, out, err = planned(capsys, scenario(keys))
    assert (code, out) == (2, "")
    assert len(err) == 3
    assert err[0].startswith("Unknown model “nobody/nothing”")


@pytest.mark.parametrize(
    "text",
    ["", "{}", "- 1", "a: [", "limits: {ttft_ms: .nan}", "model: {config: none.json}"],
    ids=["empty", "no keys", "list", "malformed", "NaN", "missing config"],
)
def test_a_bad_file_is_exit_code_2_without_traceback(scenario, text):
    done = run("sizing", "plan", scenario(text))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_a_missing_file_is_exit_code_2(tmp_path):
    done = run_process("sizing", "plan", tmp_path / "none.yaml")
    assert (done.returncode, done.stderr) == (2, f"There is no file {tmp_path / 'none.yaml'}.\n")


@pytest.mark.parametrize("count", ["-1", "many", "1.5", "1001", "²"])
def test_a_bad_number_of_alternatives_is_refused(scenario, capsys, count):
    with pytest.raises(SystemExit) as stopped:
        main(["plan", str(scenario()), "--alternatives", count])
    assert stopped.value.code == 2
    assert "must be a whole number from 0 to 1000" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["plan"], ["nothing"], ["catalog", "nothing"]])
def test_bad_arguments_are_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["models", "gpus", "systems", "prices"])
def test_the_catalogue_is_csv_with_source_and_date(kind, capsys):
    assert main(["catalog", kind]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) > 15
    assert any("source" in name for name in rows[0])
    assert any("date" in name for name in rows[0])
    assert all(None not in row and len(row) == len(rows[0]) for row in rows)


def test_a_reader_that_leaves_early_is_no_error(scenario):
    for arguments in (["plan", str(scenario()), "--json", "--analytic"], ["catalog", "models"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "sizing", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.wait(timeout=PATIENCE_S) == 0


def test_a_terminal_without_unicode_still_gets_its_sentence(scenario):
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"}
    done = run_process("sizing", "plan", scenario(raw("nobody/nothing")), env=environment)
    assert done.returncode == 2
    assert "Unknown model" in done.stderr
    assert run_process("sizing", "plan", scenario(), "--analytic", env=environment).returncode == 0


def test_importing_the_engine_loads_no_page_and_no_network():
    heavy = ("streamlit", "plotly", "requests", "scipy.stats", "aiconfigurator_core", "numba", "matplotlib")
    code = f"import sizing, sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.strip() == "[]"


POINT = "engine,model,gpu,gpus,isl,osl,mode\nvllm,openai/gpt-oss-20b,h100_sxm,1,1000,100,offline_max_throughput\n"
SWEEP = "model: openai/gpt-oss-20b\nworkload: {input_tokens: 900, output_tokens: 90, peak_rps: 1}\n"
ASKED = {"predict": POINT, "sweep": SWEEP + "deployment: {gpus: [h100_sxm]}\naxes: {workload.peak_rps: [1]}\n"}


@pytest.mark.parametrize("command", ASKED)
def test_a_table_that_cannot_be_written_leaves_the_earlier_one(tmp_path, monkeypatch, command):
    asked, out = tmp_path / "asked", tmp_path / "out.csv"
    asked.write_text(ASKED[command])
    out.write_text("whole")

    def full_disk(table, path, **options):
        path.write_text("hal")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full_disk)
    monkeypatch.setattr("sizing.explore.sweep.processes", lambda workers: lambda: ThreadPoolExecutor(max_workers=1))
    done = run("sizing", command, asked, "--out", out)
    assert (done.returncode, done.stderr) == (2, f"{out}: No space left on device.\n")
    assert out.read_text() == "whole"
    assert {one.name for one in tmp_path.iterdir()} == {"asked", "out.csv"}
