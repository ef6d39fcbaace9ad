"""Files with bytes changed: every reader gives an answer or one of its own errors, in sentences."""

import gzip
import io
import json

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.benchmarks import BenchmarkFileError, read_benchmark
from collectors.errors import CollectorsError
from collectors.source.file import load_source
from sizing.base.errors import SizingError
from sizing.catalog.config_json import model_from_config
from sizing.evidence.point_file import read_points
from sizing.evidence.predict import predict_points
from sizing.question.understand import understand
from sizing.scenario.file import load_scenario
from sizing.scenario.trace import read_trace
from tests.sizing.asking import raw
from tests.sizing.catalog.test_config_json import LLAMA_3_8B

HOSTILE = [
    *(b"=", b"!!bool x", b"!!timestamp x", b"!!int x", b"!!set [1]", b"2020-13-45", b"2001-01-01 25:00:00", b"0b_"),
    *(b"\\ud800", b'"\\ud800"', b"\xed\xa0\x80", b"9" * 5_000, b"1e400", b"-1", b"0", b"NaN", b".inf", b"null"),
    *(b"[", b"{", b"&a [*a]", b"<<: 1", b"\0", b"\xff", b"\t", b"1_0", b"'", b'"', b"\n", b",", b"true", b"1e9"),
]
EVERY_LENGTH = {"workload": {"input_tokens": {"p50": 500, "p95": 900}, "arrivals": {"profile": [1.0] * 24}}}
MOE = {**LLAMA_3_8B, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 8}
SOURCE = "schema_version: 1\nname: x\nprometheus: {url: 'http://localhost:9090'}\nselector: {model_name: x}\n"
POINTS = (
    "engine,model,weight_precision,gpu,gpus,tp,isl,osl,mode,concurrency_or_batch,request_rate_rps\n"
    "vllm,meta-llama/Llama-3.1-8B-Instruct,bf16,h100_sxm,1,1,2000,200,fixed_concurrency,16,\n"
)
TRACE = "timestamp,input_tokens,output_tokens\n" + "".join(f"{i},{100 + i},{10 + i}\n" for i in range(50))
BENCHMARK = json.dumps([{"hw": "h100", "conc": 4, "tp": 1, "tput_per_gpu": 9.0, "mean_ttft": 0.2, "mean_itl": 0.01}])


def parquet():
    """The trace as pandas writes it."""
    buffer = io.BytesIO()
    pd.read_csv(io.StringIO(TRACE)).to_parquet(buffer)
    return buffer.getvalue()


def scenario_of(path):
    """A scenario, understood and written down again, as exports and links do."""
    scenario = load_scenario(path)
    understand(scenario)
    return scenario.model_dump_json()


def config_of(path):
    """A model's description, and its memory."""
    return model_from_config(path.read_bytes()).params_experts


READERS = {
    "scenario.yaml": (yaml.safe_dump(raw(**EVERY_LENGTH)).encode(), scenario_of),
    "scenario.json": (json.dumps(raw(deployment={"gpus": ["h100_sxm"], "tp": [1]})).encode(), scenario_of),
    "with_config.yaml": (yaml.safe_dump(raw({"config": MOE})).encode(), scenario_of),
    "config.json": (json.dumps(MOE).encode(), config_of),
    "trace.csv": (TRACE.encode(), read_trace),
    "trace.csv.gz": (gzip.compress(TRACE.encode(), mtime=0), read_trace),
    "trace.parquet": (parquet(), read_trace),
    "points.csv": (POINTS.encode(), lambda path: predict_points(read_points(path))),
    "benchmark.json": (BENCHMARK.encode(), lambda path: read_benchmark(path.read_bytes(), path.name)),
    "benchmark.yaml": (b"benchmarks:\n- {a: 1}\n", lambda path: read_benchmark(path.read_bytes(), path.name)),
    "source.yaml": (SOURCE.encode(), load_source),
}


def refusal_of(read, path):
    """The words in which a file is refused; None when it is read."""
    try:
        read(path)
    except (SizingError, CollectorsError) as error:
        return str(error)
    return None


@st.composite
def mutated(draw, content):
    """The content with up to three places cut out, or replaced by what readers trip over."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(start + 30, len(content))))
        content = content[:start] + draw(st.sampled_from(HOSTILE) | st.binary(max_size=4)) + content[end:]
    return content[: draw(st.just(len(content)) | st.integers(0, len(content)))]


@pytest.mark.parametrize("name", READERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_in_sentences(name, tmp_path, data):
    content, read = READERS[name]
    path = tmp_path / name
    path.write_bytes(data.draw(mutated(content)))
    refusal = refusal_of(read, path)
    assert refusal is None or refusal
    assert all(len(line) < 1_000 for line in (refusal or "").splitlines())


@pytest.mark.parametrize("name", READERS)
def test_the_files_themselves_are_read(name, tmp_path):
    content, read = READERS[name]
    (tmp_path / name).write_bytes(content)
    if name != "benchmark.yaml":
        read(tmp_path / name)
        return
    with pytest.raises(BenchmarkFileError):
        read(tmp_path / name)


@pytest.mark.parametrize("value", ["=", "!!bool x", "!!timestamp x", "!!int x", "!!set [1]", "2020-13-45", "0b_"])
def test_a_value_that_yaml_cannot_construct_is_one_fault_with_its_line(tmp_path, value):
    (tmp_path / "a.yaml").write_text(f"model: x\nname: {value}\n")
    with pytest.raises(SizingError, match=r"line 2") as refused:
        load_scenario(tmp_path / "a.yaml")
    assert len(refused.value.problems) == 1


def test_a_config_that_json_cannot_hold_is_refused(tmp_path):
    for value in ("2020-01-01", "!!binary AAAA", '"\\ud800"'):
        text = yaml.safe_dump(raw({"config": LLAMA_3_8B})).replace(
            "model_type: llama", f"model_type: llama\n    x: {value}"
        )
        (tmp_path / "a.yaml").write_text(text)
        with pytest.raises(SizingError, match="what a JSON file can"):
            load_scenario(tmp_path / "a.yaml")


def test_a_model_whose_tokens_go_to_every_expert_has_experts():
    model = model_from_config(json.dumps(MOE))
    assert 0 < model.params_experts < model.params_total == model.params_active
