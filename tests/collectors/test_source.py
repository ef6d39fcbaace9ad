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
        source_from(raw)  # type: ignore[arg-type]
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
    ],
)
def test_problem_is_one_sentence_without_secrets(change: dict[str, object], sentence: str) -> None:
    told = problems({**GOOD, **change})
    assert sentence in told
    assert "hunter2" not in told


def test_target_twice_is_refused() -> None:
    assert "twice" in problems({**SCRAPE, "scrape": {"targets": ["http://x/metrics"] * 2}})


def test_secrets_do_not_show() -> None:
    source = source_from(
        {**GOOD, "prometheus": {"url": "http://x", "auth": {"token": "hunter2"}, "headers": {"A": "hunter2"}}}
    )
    assert source.prometheus is not None
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
