"""YAML of users: what is read, and what is refused before it costs time or memory."""

import pytest

from commandline import yaml_text
from commandline.yaml_text import MOST_BITS, BadYaml, read_yaml


def refusal(text: str, **options: bool | int) -> str:
    with pytest.raises(BadYaml) as refused:
        read_yaml(text, "a.yaml", **options)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("a: {b: [1, 1.5, x, true, ~, 2020-01-01x]}", {"a": {"b": [1, 1.5, "x", True, None, "2020-01-01x"]}}),
        ("a: 1:30\nb: 1:30.5", {"a": "1:30", "b": "1:30.5"}),
        ("x: &a {k: 1, l: 1}\ny: {<<: *a, l: 2}", {"x": {"k": 1, "l": 1}, "y": {"k": 1, "l": 2}}),
        (
            "x: &a {k: 1}\nz: &b {k: 2, m: 3}\ny: {<<: [*a, *b]}",
            {"x": {"k": 1}, "z": {"k": 2, "m": 3}, "y": {"k": 1, "m": 3}},
        ),
        ("x: &a {k: 1}\ny: {z: &b {<<: *a, k: 2}}\nw: {<<: *b}", {"x": {"k": 1}, "y": {"z": {"k": 2}}, "w": {"k": 2}}),
        ("x: &a {<<: *a, k: 1}", {"x": {"k": 1}}),
        (f"a: 0x{'f' * (MOST_BITS // 4)}", {"a": 16 ** (MOST_BITS // 4) - 1}),
    ],
    ids=["values", "base sixty", "merge", "merge of two", "merge of a merge", "merge of itself", "long number"],
)
def test_what_is_read(text: str, content: object) -> None:
    assert read_yaml(text, "a.yaml") == content


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\nb: }", "a.yaml is not valid YAML or JSON at line 2."),
        ("a: [", "a.yaml is not valid YAML or JSON at line 1."),
        ("a: 1\n---\nb: 2", "a.yaml is not valid YAML or JSON at line 2."),
        ("!!python/object/apply:os.system ['true']", "a.yaml is not valid YAML or JSON at line 1."),
        ("a: {<<: 1}", "a.yaml is not valid YAML or JSON at line 1."),
        ("? [1, 2]\n: 3", "a.yaml is not valid YAML or JSON at line 1."),
        ("\0", "a.yaml is not valid YAML or JSON."),
        ("a: \ud800", "a.yaml holds half a character (a lone surrogate): type it again."),
        ('a: "\\ud800"', "a.yaml is not valid YAML or JSON at line 1."),
        ("a: 1\na: 2", "The key a stands twice, again at line 2: keep one of them."),
        ("x: &a {k: 1}\ny: {<<: *a, <<: *a}", "The key << stands twice, again at line 2: keep one of them."),
        ("7: 1", "The key “7” at line 1 is not text: put it in quotes."),
        ("? \n: 1", "The key “” at line 1 is not text: put it in quotes."),
        ("a:\n  2020-01-01: 1", "The key “2020-01-01” at line 2 is not text: put it in quotes."),
        ("a:\n  !!bool x", "The value at line 2 cannot be read: put it in quotes if it is meant as text."),
        ("a: 2024-13-45", "The value at line 1 cannot be read: put it in quotes if it is meant as text."),
        ("a: " + "9" * 5000, "The value at line 1 cannot be read: put it in quotes if it is meant as text."),
        ("a: 0x" + "f" * 4000, "The value at line 1 cannot be read: put it in quotes if it is meant as text."),
        ("a: !!int 1" + ":59" * 100, "The value at line 1 cannot be read: put it in quotes if it is meant as text."),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert refusal(text) == said


def test_keys_that_are_no_text_may_be_allowed() -> None:
    assert read_yaml("7: 1\n~: 2", "a.yaml", text_keys=False) == {7: 1, None: 2}


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "[" * 100_000, "{a: " * 50_000])
def test_deep_nesting_ends_before_the_stack_does(text: str) -> None:
    with pytest.raises(RecursionError):
        read_yaml(text, "a.yaml")


def bomb(levels: int) -> str:
    """Every level merges the one before ten times."""
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, levels)]
    return "\n".join(lines)


def test_a_merge_bomb_has_each_key_once() -> None:
    assert read_yaml(bomb(30), "a.yaml") == {f"a{i}": {"k": 1} for i in range(30)}


def test_pairs_are_counted_before_they_are_merged() -> None:
    one = "a: &a {" + ", ".join(f"k{i}: 1" for i in range(1000)) + "}\n"
    said = refusal(one + "".join(f"b{i}: {{<<: *a}}\n" for i in range(11)))
    assert said == "The keys merged by << at line 12 are too many: write them out."


@pytest.mark.parametrize("text", ["[1, 2, 3, 4]", "{a: 1, b: 2}", "{a: &a [1], b: [*a, *a]}"])
def test_values_are_counted_as_they_are_read(text: str) -> None:
    assert refusal(text, most_values=4) == "A YAML file may hold 4 values: write one that holds more as JSON."


def test_a_python_without_libyaml_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser is chosen when the module is imported."""
    import importlib

    import yaml

    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    spec = importlib.util.find_spec("commandline.yaml_text")
    slow = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(slow)
    for text in ("a: [1, x]\nb: {<<: {k: 1}}", bomb(5)):
        assert slow.read_yaml(text, "a.yaml") == yaml_text.read_yaml(text, "a.yaml")
    with pytest.raises(slow.BadYaml, match="stands twice"):
        slow.read_yaml("a: 1\na: 2", "a.yaml")
