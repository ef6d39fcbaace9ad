"""Scenario files: what is exported opens again, and what is no scenario is refused with a sentence."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sharing.document import file_stem, read_document, to_json, to_yaml
from sizing.base.errors import InvalidScenario
from sizing.scenario.file import load_scenario
from tests.sharing.test_library import SCENARIOS, scenario

WRITERS = [to_yaml, to_json]


@pytest.mark.parametrize("write", WRITERS)
@given(given=SCENARIOS)
def test_what_is_exported_opens_again(write, given):
    assert read_document(write(given).encode(), "file") == given


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("name", ["😀 ü", "\x85\ufeff\x7f", "1e3", "yes", "=cmd()", "a: [b", "\u2028"])
def test_names_that_files_could_lose(write, name, tmp_path):
    file = tmp_path / "scenario"
    file.write_bytes(write(scenario(name)).encode())
    assert load_scenario(file).name == name


def test_an_export_says_its_schema_version():
    assert yaml.safe_load(to_yaml(scenario()))["schema_version"] == 1
    assert json.loads(to_json(scenario()))["schema_version"] == 1


BOMB = "\n".join(["l0: &l0 [x, x]", *(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))])
MODEL = "workload: {input_tokens: 1, output_tokens: 1, peak_rps: 1}\nmodel: {config: {a: *l11}}"
WHOLE = to_yaml(scenario()).encode()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it is empty"),
        (WHOLE[: len(WHOLE) // 3], "workload: is required"),
        (WHOLE[: len(WHOLE) // 3] + b"\n[", "is not valid YAML or JSON"),
        (to_json(scenario()).encode()[:-40], "is not valid YAML or JSON"),
        (b"x" * 20_000_000, "is larger than 1 MB"),
        (b"\xff\xfe\x00", "is not a text file in UTF-8"),
        (WHOLE.replace(b"schema_version: 1", b"schema_version: 2"), "is newer than this engine knows"),
        (b"!!python/object/apply:os.system ['true']", "is not valid YAML or JSON"),
        (b"model: !!python/name:os.system", "is not valid YAML or JSON"),
        (f"{BOMB}\n{MODEL}".encode(), "repeats itself by aliases"),
        (b"model: &m {config: *m}", "repeats itself by aliases"),
        (b'{"model": "a", "model": "b"}', "stands twice"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "is nested too deeply"),
    ],
)
def test_bad_files_are_refused_with_one_sentence(content, sentence):
    with pytest.raises(InvalidScenario) as refused:
        read_document(content, "file.yaml")
    assert len(refused.value.problems) == 1
    assert sentence in refused.value.problems[0]
    assert len(refused.value.problems[0]) < 200


@given(st.text())
def test_a_file_name_leads_nowhere_else(name):
    assert file_stem(name).replace("-", "").isalnum()
    assert len(file_stem(f"{name}../../etc/passwd")) <= 60
