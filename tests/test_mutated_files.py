"""Files with bytes changed: every reader gives an answer or one of its own errors, in sentences."""

import datetime
import gzip
import io
import json
import os
import re
import unicodedata
from urllib.parse import parse_qs

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.backends.scrape.promql.parse import parse
from collectors.backends.scrape.text import read_page
from collectors.benchmarks import BenchmarkFileError, Imported, read_benchmark
from collectors.errors import CollectorsError
from collectors.source.file import load_source
from sharing.form.link import from_parameters
from sharing.form.presets import defaults
from sharing.form.read import faults
from sizing.base.errors import SizingError
from sizing.catalog.config_json import model_from_config
from sizing.evidence.point_file import read_points
from sizing.evidence.predict import predict_points
from sizing.question.understand import understand
from sizing.scenario.file import load_scenario
from sizing.scenario.price_file import read_csv
from sizing.scenario.trace import read_trace
from tests.sizing.asking import raw
from tests.sizing.catalog.test_config_json import LLAMA_3_8B

HOSTILE = [
    *(b"=", b"!!bool x", b"!!timestamp x", b"!!int x", b"!!set [1]", b"2020-13-45", b"2001-01-01 25:00:00", b"0b_"),
    *(b"\\ud800", b'"\\ud800"', b"\xed\xa0\x80", b"9" * 5_000, b"1e400", b"-1", b"0", b"NaN", b".inf", b"null"),
    *(
        b"0x" + b"f" * 3600,
        b"1:59" + b":59" * 50,
        b"1e308",
        b"9999-12-31",
        b"x" * 300,
        b"\x1b[31m",
        b"\xe2\x80\xae",
        b"5e-324",
    ),
    *(
        b"[",
        b"{",
        b"&a [*a]",
        b"<<: 1",
        b"<<: *a",
        b"list[",
        b"\0",
        b"\xff",
        b"\t",
        b"1_0",
        b"'",
        b'"',
        b"\n",
        b",",
        b"true",
        b"1e9",
    ),
]
EVERY_LENGTH = {"workload": {"input_tokens": {"p50": 500, "p95": 900}, "arrivals": {"profile": [1.0] * 24}}}
MOE = {**LLAMA_3_8B, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 8}
SOURCE = "schema_version: 1\nname: x\nprometheus: {url: 'http://localhost:9090'}\nselector: {model_name: x}\n"
POINTS = (
    "engine,model,weight_precision,gpu,gpus,tp,isl,osl,mode,concurrency_or_batch,request_rate_rps\n"
    "vllm,meta-llama/Llama-3.1-8B-Instruct,bf16,h100_sxm,1,1,2000,200,fixed_concurrency,16,\n"
)
TRACE = "timestamp,input_tokens,output_tokens\n" + "".join(f"{i},{100 + i},{10 + i}\n" for i in range(50))
PRICES = (
    "list,what,name,usd,provider,region,gpus,source,date,edition\n"
    "listed,system,dgx_h100,300000,,,,Quote 7,2026-10-01,\nnegotiated,gpu_hour,RTX PRO 6000,2.5,acme,eu,8,,,Server\n"
)
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


def book_of(path):
    """A price book, as the Cost page reads it."""
    return read_csv(path.read_bytes().decode("utf-8", "replace"), datetime.date(2026, 11, 28))


def link_of(path):
    """What is said of an address, and of the form that it fills in."""
    opened = from_parameters(parse_qs(path.read_bytes().decode("utf-8", "replace"), keep_blank_values=True))
    return [*opened.problems, *(fault.sentence for fault in faults({**defaults(), **opened.values}))]


def page_of(path):
    """The samples of a metrics page."""
    return tuple(read_page(path.read_bytes().decode("utf-8", "replace")))


LINK = (
    "v=5&model=meta-llama/Llama-3.1-8B-Instruct&isl=1550&isl_p95=3800&osl=200&rps=31&cached=60 %25&ttft=2000&itl=50"
    "&pct=95&gpu=h100_sxm,own&own=true&own_mem=80&prec=fp8&tp=1,2&profile=1,2,3&mode=streaming&docs=1000"
)
PAGE = (
    '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="x"} 3\n'
    'vllm:time_to_first_token_seconds_bucket{le="0.5"} 7\nvllm:time_to_first_token_seconds_bucket{le="+Inf"} 9\n'
)
EXPRESSION = 'sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{model_name=~"x.*"}[5m])) / 2 > 1e-3'

READERS = {
    "scenario.yaml": (yaml.safe_dump(raw(**EVERY_LENGTH)).encode(), scenario_of),
    "scenario.json": (json.dumps(raw(deployment={"gpus": ["h100_sxm"], "tp": [1]})).encode(), scenario_of),
    "with_config.yaml": (yaml.safe_dump(raw({"config": MOE})).encode(), scenario_of),
    "config.json": (json.dumps(MOE).encode(), config_of),
    "trace.csv": (TRACE.encode(), read_trace),
    "trace.csv.gz": (gzip.compress(TRACE.encode(), mtime=0), read_trace),
    "trace.parquet": (parquet(), read_trace),
    "points.csv": (POINTS.encode(), lambda path: predict_points(read_points(path))),
    "price_book.csv": (PRICES.encode(), book_of),
    "benchmark.json": (BENCHMARK.encode(), lambda path: read_benchmark(path.read_bytes(), path.name)),
    "benchmark.yaml": (b"benchmarks:\n- {a: 1}\n", lambda path: read_benchmark(path.read_bytes(), path.name)),
    "source.yaml": (SOURCE.encode(), load_source),
    "link.txt": (LINK.encode(), link_of),
    "metrics.txt": (PAGE.encode(), page_of),
    "expression.txt": (EXPRESSION.encode(), lambda path: parse(path.read_bytes().decode("utf-8", "replace"))),
}


FOREIGN = re.compile(
    r"pydantic|[Ii]nput should|[Kk]eys should|datetime\.|<class|lax-or|C error|thrift|CRC|set_int_max|unprintable"
)
"""Words of Python, pydantic and parsers, which a user did not write and cannot act on."""
OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Kinds of characters that a terminal or page obeys rather than shows."""


def refusals_of(read, path):
    """The sentences in which a file is refused, or rows of it; none when it is read."""
    try:
        answer = read(path)
    except (SizingError, CollectorsError) as error:
        return str(error).split("\n")
    if isinstance(answer, list):
        return answer
    if isinstance(answer, Imported):
        return [error.message for error in answer.errors]
    return [error for error in answer["error"] if error] if isinstance(answer, pd.DataFrame) else []


def check_words(sentences):
    """Each is short, in our words, and can be printed anywhere."""
    for sentence in sentences:
        assert 0 < len(sentence) < 600
        assert not FOREIGN.search(sentence)
        assert not OBEYED & {unicodedata.category(character) for character in sentence}


@st.composite
def mutated(draw, content):
    """The content with up to three places cut out, or replaced by what readers trip over."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(start + 30, len(content))))
        content = content[:start] + draw(st.sampled_from(HOSTILE) | st.binary(max_size=4)) + content[end:]
    return content[: draw(st.just(len(content)) | st.integers(0, len(content)))]


FUZZED = int(os.environ.get("FUZZ", "0"))
"""Mutated inputs in all, over every reader (make fuzz); 0: a few of each, the same ones every time."""
EXAMPLES = max(FUZZED // len(READERS), 40)


@pytest.mark.parametrize("name", READERS)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=EXAMPLES,
    derandomize=not FUZZED,
)
@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_in_sentences(name, tmp_path, data):
    content, read = READERS[name]
    path = tmp_path / name
    path.write_bytes(data.draw(mutated(content)))
    check_words(refusals_of(read, path))


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


LONG = "0x" + "f" * 3600
TRIP = [
    *(("scenario.yaml", text.format(LONG)) for text in ("model: {}", "schema_version: {}", "a: [{}]", "? {}\n: 1")),
    *(
        ("source.yaml", f"schema_version: {text}")
        for text in (LONG, "1" + ":59" * 2500, '"\\0"', "{1: 2}", "2020-01-01")
    ),
    *(
        ("scenario.yaml", text)
        for text in ("[: 1", '"[": 1', "~: 1", "2020-01-01: 1", '"\\e[31m": 1', '"": 1', "x" * 900 + ": 1")
    ),
    *(
        ("scenario.json", text)
        for text in ('{"\\ud800": 1}', '{"model": ["\\ud800"]}', '{"a": 1, "a": 2}', '{"model": "\\ud800"}')
    ),
    *(
        ("scenario.yaml", f"workload: {{arrivals: {{trace: {x}}}}}")
        for x in ("x" * 900, '"\\0"', "/proc/1/root/x", "..")
    ),
    *(("with_config.yaml", f"model: {{config: {name}}}") for name in ('"\\0"', "x" * 900, "/", "~", "..")),
    *(("with_config.yaml", f'{{"model": {{"config": {name}}}}}') for name in ('"\\ud800"', '"\\u202e"')),
    *(("config.json", json.dumps({**LLAMA_3_8B, "intermediate_size": x})) for x in ("\ud800", "\u202e", {"\0": 1})),
    *(("trace.csv", TRACE + row) for row in ("9999-12-31,1,1", "1,1e308,1e308", "1,\x1b,1", "1,1,1,1", '1,"1,1')),
    *(("trace.csv", f"timestamp,input_tokens,output_tokens\n{row}") for row in ("0001-01-01,1,1", "9" * 400 + ",1,1")),
    ("trace.csv", "timestamp,\u202einput_tokens\n1,1\n"),
    *(("points.csv", POINTS.replace("fixed_concurrency,16", text)) for text in ("\x1b[31m,1", "fixed_rate,\u202e")),
    ("points.csv", "a,b\n1,2\n"),
    *(("benchmark.json", BENCHMARK.replace('"conc": 4', f'"conc": {x}')) for x in ('"\\ud800"', "{}", '"\\u0000"')),
    *(("benchmark.yaml", f"benchmarks: {x}") for x in (LONG, "[" * 50_000, "{<<: 1}", "1" + ":59" * 2500)),
    *(("source.yaml", f"{SOURCE}{text}") for text in ('"list[": 1', '"a\\nb": 1', '"": 1', "scrape: 1", "engine: [1]")),
    *(("source.yaml", f"{SOURCE}scrape: {{targets: ['http://a'], {x}}}") for x in ("store: 1", "headers: {a: 1}")),
    *(("source.yaml", f"{SOURCE}gpu_selector: {x}") for x in ("1", "{a: {b: 1}}", '{"\\e": 1}', f"{{a: {LONG}}}")),
]
"""What readers tripped over: a file that is none, and how it is called."""


@pytest.mark.parametrize(("name", "text"), TRIP, ids=[f"{number}-{name}" for number, (name, _) in enumerate(TRIP)])
def test_what_readers_tripped_over_is_refused_in_sentences(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    sentences = refusals_of(READERS[name][1], tmp_path / name)
    assert sentences or text.endswith("9999-12-31,1,1")
    check_words(sentences)


@pytest.mark.parametrize("name", ["scenario.yaml", "source.yaml", "benchmark.yaml"])
def test_the_work_that_a_short_yaml_file_makes_is_bounded(name, tmp_path):
    """Ten times as many pairs a level: what counts them has to stop before they are copied."""
    pairs = ", ".join(f"k{i}: 1" for i in range(500))
    lines = [f"a0: &a0 {{{pairs}}}", *(f"a{i}: &a{i} {{<<: [{'*a0, ' * 10}*a{i - 1}], l{i}: 1}}" for i in range(1, 9))]
    (tmp_path / name).write_text("\n".join(lines))
    (said,) = refusals_of(READERS[name][1], tmp_path / name)
    assert "merged by <<" in said


def test_a_config_that_json_cannot_hold_is_refused(tmp_path):
    for value in ("2020-01-01", "!!binary AAAA"):
        text = yaml.safe_dump(raw({"config": LLAMA_3_8B})).replace(
            "model_type: llama", f"model_type: llama\n    x: {value}"
        )
        (tmp_path / "a.yaml").write_text(text)
        with pytest.raises(SizingError, match="what a JSON file can"):
            load_scenario(tmp_path / "a.yaml")
    half = json.dumps(raw({"config": {**LLAMA_3_8B, "x": "\ud800"}}))
    (tmp_path / "a.json").write_text(half)
    with pytest.raises(SizingError, match="what a JSON file can"):
        load_scenario(tmp_path / "a.json")


def test_a_model_whose_tokens_go_to_every_expert_has_experts():
    model = model_from_config(json.dumps(MOE))
    assert 0 < model.params_experts < model.params_total == model.params_active
