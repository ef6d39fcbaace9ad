"""SOURCE.yaml: what is read, and one sentence for everything that is wrong with it."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import InvalidSource
from collectors.source import Source, load_source, source_from

GOOD = {"schema_version": 1, "name": "n", "prometheus": {"url": "http://prometheus:9090"}}
SCRAPE = {"schema_version": 1, "scrape": {"targets": ["http://vllm:8000/metrics"], "interval_s": 5}}


def problems(raw: object) -> str:
    with pytest.raises(InvalidSource) as raised:
        source_from(raw)
    return "\n".join(raised.value.problems)


def test_smallest_sources() -> None:
    assert source_from(GOOD).window_s == 300
    assert source_from(SCRAPE).scrape is not None
    full = {
        **GOOD,
        "prometheus": {
            "url": "https://mimir/prometheus",
            "auth": {"username": "u", "password_env": "P"},
            "headers": {"X-Scope-OrgID": "team", "X-Key": {"env": "KEY"}},
            "tls": {"ca_file": "ca.pem"},
            "params": {"dedup": "true"},
            "timeout_s": 20,
        },
        "selector": {"model_name": ["a", "b"], "engine": 0},
        "gpu_selector": {"Hostname": "h"},
        "engine": "TensorRT-LLM (trtllm-serve)",
        "window_s": 60,
        "metrics": {"ttft": {"histogram": "my_ttft_ms", "scale": 0.001}},
    }
    source = source_from(full)
    assert source.engine == "trtllm_serve"
    assert source.labels == {"model_name": ["a", "b"], "engine": "0"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"promethues": {"url": "http://x"}}, "Unknown key promethues: did you mean prometheus?"),
        ({"prometheus": {"ulr": "http://x"}}, "Unknown key prometheus.ulr: did you mean url?"),
        ({"prometheus": {"url": "http://x", "auth": {"pasword": "s"}}}, "did you mean password?"),
        ({"prometheus": {}}, "prometheus.url is missing."),
        ({"prometheus": {"url": "x:9090"}}, "not an HTTP address"),
        ({"prometheus": {"url": "http://169.254.169.254"}}, "never read"),
        ({"prometheus": {"url": "http://u:hunter2@x"}}, "under auth"),
        ({"prometheus": None}, "exactly one of prometheus or scrape"),
        ({"scrape": {"targets": ["http://x"]}}, "exactly one of prometheus or scrape"),
        ({"schema_version": 2}, "this version reads 1"),
        ({"schema_version": None}, "schema_version is missing"),
        ({"engine": "vlm"}, "did you mean vllm?"),
        ({"selector": {"a-b": "x"}}, "not a label name"),
        ({"selector": {"a": []}}, "empty list"),
        ({"window_s": 0}, "window_s"),
        ({"window_s": "soon"}, "window_s"),
        ({"metrics": {"tfft": {"gauge": "x"}}}, "did you mean ttft?"),
        ({"metrics": {"ttft": {"gauge": "x", "counter": "y"}}}, "exactly one of gauge"),
        ({"metrics": {"ttft": {"gauge": "x} or y{"}}}, "metric name"),
        ({"prometheus": {"url": "http://x", "headers": {"a b": "c"}}}, "not a header name"),
        ({"prometheus": {"url": "http://x", "auth": {"token": "hunter2", "username": "u"}}}, "either"),
        ({"prometheus": {"url": "http://x", "auth": {"password": "hunter2", "password_env": "P"}}}, "once"),
        ({"folder": "/"}, "Unknown key folder"),
        ({"prometheus": {"url": "http://x", "headers": {"A": {}}}}, "exactly one of env or file"),
        ({"metrics": {"ttft": {"gauge": "x"}}}, "needs histogram or mean"),
        ({"metrics": {"running": {"histogram": "x"}}}, "needs gauge"),
        ({"prometheus": 1}, "prometheus: must be a group of keys."),
        ({"prometheus": {"url": 1}}, "prometheus.url: must be text."),
        ({"prometheus": {"url": "http://x", "timeout_s": "soon"}}, "prometheus.timeout_s: must be a number."),
        ({"prometheus": {"url": "http://x", "timeout_s": 0}}, "prometheus.timeout_s: must be greater than 0."),
        ({"prometheus": {"url": "http://x", "allow_link_local": "x"}}, "allow_link_local: must be true or false."),
        ({"prometheus": {"url": "http://x", "headers": {"a": 1}}}, "prometheus.headers.a: must be text."),
        ({"prometheus": {"url": "http://x", "tls": {"ca_file": 1}}}, "tls.ca_file: must be the name of a file."),
        ({"prometheus": {"url": "http://x", "headers": {"a": {"enw": "B"}}}}, "headers.a.enw: did you mean env?"),
        ({"scrape": {"targets": []}}, "scrape.targets: must have at least 1 values, not 0."),
        ({"selector": 1}, "selector: must be a group of keys."),
        ({"selector": {"a": [["hunter2"]]}}, "selector.a.0: must be text."),
        ({"selector": {"a": "x" * 3000}}, "selector.a: is longer than 2000 characters."),
        ({"selector": {1: "x"}}, "selector.1: is a key that is not text: put it in quotes."),
        ({"metrics": {"ttft": 1}}, "metrics.ttft: must be a group of keys."),
        ({"metrics": {"ttft": {"histogam": "x"}}}, "Unknown key metrics.ttft.histogam: did you mean histogram?"),
        ({"name": ""}, "name: is empty."),
        ({"list[": 1}, "Unknown key list[."),
        ({"prometheus": {"url": "http://x", "function-x": 1}}, "Unknown key prometheus.function-x."),
        ({"": 1}, "Unknown key “”."),
        ({"a\nb": 1}, "Unknown key a b."),
        ({"\x1b[31m\u202e": 1}, "Unknown key \\x1b[31m\\u202e."),
        ({"k" * 100_000: 1}, f"Unknown key {'k' * 197}...."),
        ({"schema_version": "\0"}, "schema_version is \\x00; this version reads 1."),
        ({"engine": "\ud800"}, "holds half a character"),
        ({"selector": {"\ud800": "x"}}, "holds half a character"),
        ({"metrics": {"\ud800": {"gauge": "x"}}}, "holds half a character"),
    ],
)
def test_problem_is_one_sentence_without_secrets(change: dict[str, object], sentence: str) -> None:
    told = problems({**GOOD, **change})
    assert sentence in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "schema_version: 0x" + "f" * 4000,
            "The value at line 1 cannot be read: put it in quotes if it is meant as text.",
        ),
        ("schema_version: 1" + ":59" * 2500, "schema_version is 1:59:59:59:59:59:...; this version reads 1."),
        ("schema_version: 1\nselector: {a: 0x" + "f" * 4000 + "}", "The value at line 2 cannot be read"),
        ("schema_version: 1\n2020-01-01: 1", "The key “2020-01-01” at line 2 is not text: put it in quotes."),
        ("schema_version: {1: 2}", "The key “1” at line 1 is not text: put it in quotes."),
        ("schema_version: 1\nname: a\nname: b", "The key name stands twice, again at line 3: keep one of them."),
        ('schema_version: 1\nengine: "\\ud800"', "s.yaml is not valid YAML or JSON at line 2."),
        (f"schema_version: 1\nx: [{'1,' * 150_000}]", "A YAML file may hold 100,000 values"),
        ("schema_version: 1\nx: " + "[" * 100_000, "s.yaml is nested too deeply to be a source file."),
    ],
)
def test_yaml_that_is_refused_before_it_is_understood(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(InvalidSource) as refused:
        load_source(file)
    assert len(refused.value.problems) == 1
    assert refused.value.problems[0].startswith(said)


def test_of_many_unknown_keys_the_first_are_named_and_the_rest_counted() -> None:
    said = problems({**GOOD, **{f"k{i}": 1 for i in range(5000)}}).splitlines()
    assert len(said) == 21
    assert said[-1] == "4,980 more problems of this kind."


def test_target_twice_is_refused() -> None:
    assert "twice" in problems({**SCRAPE, "scrape": {"targets": ["http://x/metrics"] * 2}})


def test_secrets_do_not_show() -> None:
    source = source_from(
        {**GOOD, "prometheus": {"url": "http://x", "auth": {"token": "hunter2"}, "headers": {"A": "hunter2"}}}
    )
    assert "hunter2" not in repr(source) + source.model_dump_json() + repr(source.prometheus.access(Path()))


@pytest.mark.parametrize("text", ["", "[]", "a: [", "42", "schema_version: 1", "{", "\x00", "a: &a [*a]", "- x\n" * 10])
def test_files_that_are_no_source(tmp_path: Path, text: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(InvalidSource):
        load_source(file)


def test_missing_binary_and_huge_files(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "h").write_bytes(b"#" * 1_000_001)
    for name in ("absent", "b", "h", "."):
        with pytest.raises(InvalidSource):
            load_source(tmp_path / name)


def test_json_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"schema_version": 1, "prometheus": {"url": "http://x"}}')
    assert load_source(tmp_path / "s.json").prometheus


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
)
keys = st.sampled_from([*Source.model_fields, "url", "targets", "x"])


@given(st.dictionaries(keys, values | st.dictionaries(keys, values, max_size=3), max_size=5))
def test_anything_is_a_source_or_has_problems(raw: dict[str, object]) -> None:
    text = yaml.safe_dump({"schema_version": 1, **raw})
    try:
        source_from(yaml.safe_load(text))
    except InvalidSource as invalid:
        assert all("\n" not in problem for problem in invalid.problems)  # noqa: PT017
