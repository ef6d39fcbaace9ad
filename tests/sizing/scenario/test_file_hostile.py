"""Scenario files that are broken, hostile or arbitrary text: refused in sentences, whatever they hold."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.base.errors import InvalidScenario, SizingError
from sizing.question.understand import understand
from sizing.scenario.file import load_scenario, parse, scenario_from
from tests.sizing.asking import LLAMA_8B, changed, raw
from tests.sizing.scenario.test_file import OK, problem, problems


@pytest.mark.parametrize(
    "text",
    [
        "a: [1\nb: }",
        "a:\n\t- b",
        "a: 1\n---\nb: 2",
        "!!python/object/apply:os.system ['true']",
        "? [1, 2]\n: 3",
        "a: *b",
    ],
    ids=["unbalanced", "tab", "two documents", "python object", "list as key", "unknown alias"],
)
def test_malformed_yaml_is_told_with_its_line(text):
    assert problem(text).startswith("scenario is not valid YAML or JSON at line ")


def test_yaml_runs_no_code(tmp_path):
    parse_me = f"!!python/object/apply:os.mkdir ['{tmp_path / 'made'}']"
    problem(parse_me)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("value", ["2024-13-45", "9" * 5000], ids=["no such day", "5000 digits"])
def test_a_value_yaml_cannot_hold(value):
    assert problem(OK + f"x: {value}\n").startswith("The value at line ")


def test_minutes_and_seconds_are_no_number_to_base_sixty():
    """YAML 1.1 reads 1:30 as 90."""
    assert parse("peak_rps: 1:30\nx: 1:30.5\ny: 90") == {"peak_rps": "1:30", "x": "1:30.5", "y": 90}


@pytest.mark.parametrize("character", ["\u202e", "\u2066"])
def test_a_name_does_not_turn_the_text_around_it(character):
    assert "turn the direction of text" in problem(OK + f"name: 'a {character}b'\n")


def test_a_key_that_stands_twice():
    assert problem(OK + f"model: {LLAMA_8B}\n") == "The key model stands twice, again at line 6: keep one of them."


def test_merge_keys_are_no_repetition():
    text = "x: &a {ttft_ms: 100}\nlimits: {<<: *a, itl_ms: 5}\n"
    assert parse(text)["limits"] == {"ttft_ms": 100, "itl_ms": 5}


@pytest.mark.parametrize("text", ["[" * 100_000, "\n".join(" " * i + "a:" for i in range(1500)), "{a: " * 50_000])
def test_deep_nesting_is_refused(text):
    assert problem(text) == "scenario is nested too deeply to be a scenario."


def bomb(levels=24):
    """Each level repeats the one before: 9 ** levels leaves when written out."""
    lines = ["l0: &l0 [lol]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines), f"*l{levels - 1}"


@pytest.mark.parametrize(
    "where",
    [
        "name: {}",
        "model: {}",
        "model: {{config: {{model_type: llama, hidden_size: {}}}}}",
        "model: {{name: {}, params_b: 8}}",
        "deployment: {{gpus: {}}}",
        "workload: {{input_tokens: {}, output_tokens: 1, peak_rps: 1}}",
        "limits: {}",
    ],
)
def test_an_alias_bomb_is_refused_without_being_written_out(where):
    text, last = bomb()
    found = problems(f"{text}\n{where.format(last)}")
    assert sum(map(len, found)) < 20_000


def test_an_alias_bomb_inside_a_config_is_refused():
    text, last = bomb()
    with pytest.raises(SizingError):
        understand(scenario_from({**raw(), "model": {"config": parse(f"{text}\nc: {last}")}}))


@pytest.mark.parametrize("key", ["7", "~", "2020-01-01", "yes", "0x" + "f" * 900])
def test_keys_must_be_text(key):
    shown = key if len(key) <= 40 else f"{key[:37]}..."
    assert problem(OK + f"{key}: 2\n") == f"The key “{shown}” at line 6 is not text: put it in quotes."


def test_keys_that_are_no_text_outside_a_file():
    with pytest.raises(InvalidScenario, match=r"^7: is a key that is not text: put it in quotes \(found '7'\)\.$"):
        scenario_from({**raw(), 7: 2})


@pytest.mark.parametrize("where", ["schema_version: {}", "schema_version: -{}", "model: {}", "name: {}", "limits: {}"])
@pytest.mark.parametrize("value", ["0x" + "f" * 3600, "0b" + "1" * 15_000, "0" + "7" * 5000])
def test_a_whole_number_that_python_cannot_write_is_refused_where_it_stands(where, value):
    assert problem(where.format(value)).startswith("The value at line 1 cannot be read")


def test_merged_keys_are_counted_before_they_are_copied():
    text = "a0: &a0 {k: 1, l: 2}\n" + "".join(
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 100)}], k{i}: 1}}\n" for i in range(1, 90)
    )
    assert "merged by << at line" in problem(text)


def test_a_list_that_would_take_long_to_read_is_refused():
    assert problem(f"x: [{'1,' * 150_000}]").startswith("A YAML file may hold 100,000 values")


@pytest.mark.parametrize("section", ["", "workload"])
def test_of_many_unknown_keys_the_first_are_named_and_the_rest_counted(section):
    unknown = {f"k{i}": 1 for i in range(5_000)}
    found = problems(json.dumps({"model": LLAMA_8B, **({section: unknown} if section else unknown)}))
    assert len(found) == 21
    assert found[-1].endswith("more problems of this kind.")
    assert sum(map(len, found)) < 10_000


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"[": 1}, "[: unknown key."),
        ({"": 1}, "“”: unknown key."),
        ({"workload": {"[x": 1}}, "workload.[x: unknown key."),
        ({"model": {"name": "x", "params_b": 7, "[name]": 1}}, "model.[name]: unknown key. Did you mean name?"),
        ({"\x1b[31m": 1}, "\\x1b[31m: unknown key."),
        ({"\u202e": 1}, "\\u202e: unknown key."),
        ({"a\nb": 1}, "a b: unknown key."),
        ({"\ud800": 1}, "scenario: holds half a character (a lone surrogate): type it again (found '\\ud800')."),
    ],
)
def test_any_key_can_be_named(keys, said):
    assert any(found.startswith(said) for found in problems(json.dumps({**raw(), **keys})))


def test_a_long_key_is_cut():
    assert all(len(found) < 600 for found in problems(json.dumps({"k" * 100_000: 1, "workload": {"k" * 100_000: 1}})))


def test_a_key_of_json_that_stands_twice():
    pairs = ", ".join(f'"k{i}": 1' for i in range(30_000))
    assert problem(f'{{{pairs}, "\\ud800": 1, "\\ud800": 2}}') == "The key \\ud800 stands twice: keep one of them."


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidScenario, match="There is no file"):
        load_scenario(tmp_path / "none.yaml")


def test_a_folder(tmp_path):
    with pytest.raises(InvalidScenario, match="cannot be read: Is a directory"):
        load_scenario(tmp_path)


def test_a_binary_file(tmp_path):
    (tmp_path / "a.yaml").write_bytes(bytes(range(256)))
    with pytest.raises(InvalidScenario, match=r"a\.yaml is not a text file in UTF-8"):
        load_scenario(tmp_path / "a.yaml")


def test_a_huge_file_is_not_read_to_its_end(tmp_path):
    with (tmp_path / "a.yaml").open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(InvalidScenario, match=r"a\.yaml is larger than 1 MB"):
        load_scenario(tmp_path / "a.yaml")


def test_a_device_without_end_is_not_read_to_its_end():
    if Path("/dev/zero").exists():
        with pytest.raises(InvalidScenario, match="zero is larger than 1 MB"):
            load_scenario(Path("/dev/zero"))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates()


ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=3)
)


KEYS = st.sampled_from(
    [
        "model",
        "workload",
        "limits",
        "deployment",
        "measured",
        "prices",
        "name",
        "schema_version",
        "workload.input_tokens",
        "workload.arrivals",
        "workload.users",
        "workload.peak_rps",
        "limits.ttft_ms",
        "deployment.gpus",
        "deployment.tp",
        "deployment.custom_gpus",
        "deployment.location",
        "measured.system",
        "model.config",
        "model.name",
        "model.params_b",
    ]
)


def refusal(read):
    """The problems of what is refused; none of what is read."""
    try:
        read()
    except InvalidScenario as refused:
        return refused.problems
    return ()


@settings(max_examples=200)
@given(path=KEYS, value=ANYTHING)
def test_whatever_is_written_is_read_or_refused_in_sentences(path, value):
    keys = raw({"name": "x", "params_b": 8}) if path.startswith("model.") else raw()
    for said in refusal(lambda: understand(scenario_from(changed(keys, path, value)))):
        assert said
        assert "\n" not in said
        assert len(said) < 1000


@settings(max_examples=100)
@given(text=st.text(max_size=200))
def test_any_text_is_parsed_or_refused(text):
    assert len(refusal(lambda: parse(text))) <= 1
