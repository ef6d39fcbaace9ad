"""``python -m sizing model``: a file or a name, as text and as JSON, and faults in one line."""

import json

import pytest

from sizing.catalog.described import as_text, describe
from sizing.cli import main
from tests.sizing.catalog.test_config_json import LLAMA_3_8B

KEYS = {
    *("kind", "params_total", "params_active", "weight_precision", "kv_elements_per_token"),
    *("kv_elements_per_token_windowed", "window", "state_elements", "max_context", "assumptions"),
}


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA_3_8B | {"quantization_config": {"quant_method": "fp8"}}))
    return path


@pytest.mark.parametrize("of_folder", [False, True])
def test_a_file_and_its_folder_are_described(config, capsys, of_folder):
    assert main(["model", str(config.parent if of_folder else config), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read.keys() >= KEYS
    assert (read["kind"], read["weight_precision"]) == ("decoder", "fp8")
    assert (read["kv_elements_per_token"], read["kv_elements_per_token_windowed"]) == (65536, 0)
    assert read["params_total"] == pytest.approx(8.03e9, rel=0.001)


def test_an_encoder_is_described_though_it_is_not_planned(tmp_path, capsys):
    path = tmp_path / "encoder.json"
    path.write_text(json.dumps(LLAMA_3_8B | {"architectures": ["LlamaBidirectionalModel"]}))
    assert main(["model", str(path)]) == 0
    assert "encoder (LlamaBidirectionalModel)" in capsys.readouterr().out
    scenario = tmp_path / "scenario.json"
    limits = {"ttft_ms": 1000, "itl_ms": 100, "percentile": 95}
    workload = {"input_tokens": 100, "output_tokens": 10, "peak_rps": 1}
    asked = {"schema_version": 1, "name": "x", "model": {"config": json.loads(path.read_text())}}
    scenario.write_text(json.dumps(asked | {"workload": workload, "limits": limits}))
    assert main(["plan", str(scenario)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_name_is_any_that_the_catalogue_takes():
    read = describe("Llama-3.1-8B-Instruct-FP8")
    assert (read.kind, read.weight_precision, read.kv_elements_per_token) == ("decoder", "fp8", 65536)
    assert any("is taken for" in said for said in read.assumptions)


def test_windows_states_and_experts_are_read_aloud():
    assert "in a window of 128 tokens" in as_text(describe("openai/gpt-oss-120b"))
    text = as_text(describe("Qwen/Qwen3-Next-80B-A3B-Instruct"))
    assert "State: " in text
    assert "active" in text


@pytest.mark.parametrize(
    ("given", "words"),
    [("missing.json", "No such file"), ("no-such-model-7b-x", "Unknown model"), ("", "Unknown model")],
)
def test_bad_input_is_one_clear_line(given, words, capsys):
    assert main(["model", given]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_a_file_that_is_none_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "tokenizer_config.json"
    path.write_text('{"tokenizer_class": "LlamaTokenizer"}')
    assert main(["model", str(path)]) == 2
    assert "tokenizer" in capsys.readouterr().err
