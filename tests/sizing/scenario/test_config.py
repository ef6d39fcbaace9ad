"""A config.json named by or written into a scenario."""

import json

import pytest

from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.question.understand import understand
from sizing.scenario.file import MAX_FILE_BYTES, load_scenario
from tests.sizing.asking import asking, changed, raw
from tests.sizing.catalog.test_config_json import LLAMA_3_8B

CONFIG = {"architectures": ["LlamaForCausalLM"], **LLAMA_3_8B}


def beside(tmp_path, content):
    if isinstance(content, bytes):
        (tmp_path / "config.json").write_bytes(content)
    (tmp_path / "a.yaml").write_text(asking("model", {"config": "config.json", "name": "mine"}))
    return load_scenario(tmp_path / "a.yaml")


def test_a_config_beside_the_scenario_is_read(tmp_path):
    found = understand(beside(tmp_path, json.dumps(CONFIG).encode()))
    assert found.model.params_total == pytest.approx(8.03e9, rel=0.01)
    inline = understand(Scenario.model_validate(changed(raw(), "model", {"config": CONFIG, "name": "mine"})))
    assert inline.model == found.model


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no readable file"),
        (b"{", "is not valid JSON"),
        (b"[1]", "must be a JSON object"),
        (b"\xff\xfe\x00", "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b" " * (MAX_FILE_BYTES + 1), "is larger than a config.json can be"),
        (b"9" * 5000, "is not valid JSON"),
    ],
    ids=["missing", "cut off", "list", "binary", "deep", "huge", "5000 digits"],
)
def test_a_config_that_cannot_be_read(tmp_path, content, said):
    with pytest.raises(InvalidScenario) as refused:
        beside(tmp_path, content)
    assert len(refused.value.problems) == 1
    assert refused.value.problems[0].startswith("model.config: ")
    assert said in refused.value.problems[0]


@pytest.mark.parametrize("name", ["\0", "\ud800", "x" * 700, "/", "~", "../config.json", "a/../../b"])
def test_a_name_that_no_config_can_have_is_a_sentence(tmp_path, name):
    (tmp_path / "a.json").write_text(json.dumps(changed(raw(), "model", {"config": name})))
    with pytest.raises(InvalidScenario, match=r"^model\.config: there is no readable file .{1,90} beside") as refused:
        load_scenario(tmp_path / "a.json")
    assert refused.value.problems[0].isprintable()


def test_a_config_that_stands_elsewhere_is_not_read(tmp_path):
    """A scenario may come from somebody else, through a page too."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "uploads").mkdir()
    for name in ("../config.json", str(tmp_path / "config.json")):
        (tmp_path / "uploads" / "a.yaml").write_text(asking("model", {"config": name}))
        with pytest.raises(InvalidScenario, match="there is no readable file"):
            load_scenario(tmp_path / "uploads" / "a.yaml")


@pytest.mark.parametrize("value", [-5, 0, "text", None, float("nan"), 1e12, [1], {}], ids=str)
@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_malformed_config_is_told_in_one_sentence(key, value):
    scenario = Scenario.model_validate(changed(raw(), "model", {"config": {**CONFIG, key: value}}))
    with pytest.raises(InvalidScenario) as refused:
        understand(scenario)
    assert len(refused.value.problems) == 1
