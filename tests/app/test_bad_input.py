"""Bad input gives one sentence that says what to change; the last good answer stays, marked as such."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from sharing.form.choices import labels
from sharing.form.read import OWN_GPU
from sizing.catalog import models
from tests.app.conftest import OpenLink
from tests.app.pages_text import answer, is_previous, problems
from tests.inert import live

BAD = [
    ("isl", "", "Prompt length is empty: enter a number of tokens, for example 3500."),
    ("isl", "abc", "Prompt length: “abc” is not a number; enter a number of tokens, for example 3500."),
    ("isl", "nan", "Prompt length: “nan” is not a number; enter a number of tokens, for example 3500."),
    ("isl", "inf", "Prompt length: “inf” is not a number; enter a number of tokens, for example 3500."),
    ("isl", "3.000", "Prompt length: did you mean 3,000 or 3.0? “3.000” can be read as either."),
    ("rps", "2,5", "Peak load: did you mean 2.5? “2,5” is not taken: a comma separates thousands here."),
    ("isl", "-5", "Prompt length must be at least 1 token; -5 was entered."),
    ("isl", "0", "Prompt length must be at least 1 token; 0 was entered."),
    ("isl", "1e12", "Prompt length must be at most 10,000,000 tokens; 1,000,000,000,000 was entered."),
    ("isl", "1e99", "Prompt length must be at most 10,000,000 tokens; 1e+99 was entered."),
    ("osl", "-1", "Output length must be at least 1 token; -1 was entered."),
    ("rps", "", "Peak load is empty: enter a number in requests/s, for example 31."),
    ("rps", "1e12", "Peak load must be at most 1,000,000 requests/s; 1,000,000,000,000 was entered."),
    ("ttft", "0", "TTFT limit must be more than 0 ms; 0 was entered."),
    ("ttft", "soon", "TTFT limit: “soon” is not a number; enter a number in ms, for example 2000."),
    ("pct", "100", "Percentile of the limits must be at most 99.9 %; 100 was entered."),
    ("util", "0", "Utilisation cap must be more than 0 %; 0 was entered."),
    ("spare", "1.5", "Spare instances must be a whole number; 1.5 was entered."),
    (
        "cached",
        "100%",
        "Prompt found in the prefix cache must be at least 0 % and less than 100 % of the prompt; 100% was entered.",
    ),
    (
        "cached",
        "999999",
        "The part of the prompt found in the prefix cache must be shorter than the prompt itself: "
        "lower it, or enter a share such as 60 %.",
    ),
    ("isl95", "10", "The 95th percentile of a length must not be below its median: raise it or leave it empty."),
    ("years", "0", "Depreciation must be more than 0 years; 0 was entered."),
]


@pytest.mark.parametrize(("field", "entered", "sentence"), BAD)
def test_bad_number_is_answered_with_one_sentence(size: AppTest, field: str, entered: str, sentence: str) -> None:
    before = answer(size)
    size.text_input(key=field).set_value(entered).run()
    assert problems(size) == [sentence]
    assert answer(size) == before
    assert is_previous(size)
    assert not size.exception


def test_unknown_model_offers_the_nearest_names(open_link: OpenLink) -> None:
    app = open_link(model="meta-llama/Lama-3.3-70B-Instrukt")
    assert len(problems(app)) == 1
    assert "Did you mean meta-llama/Llama-3.3-70B-Instruct" in problems(app)[0]
    assert not app.exception


def test_a_limit_nothing_can_meet_says_why_and_offers_the_smallest_relaxation(size: AppTest) -> None:
    before = answer(size)
    size.text_input(key="ttft").set_value("1").run()
    assert "within the limits" in problems(size)[0]
    assert answer(size) == before
    assert is_previous(size)
    size.button(key="relax_0").click().run()
    assert not problems(size)
    assert not is_previous(size)


def test_a_model_no_gpu_holds_is_answered(size: AppTest) -> None:
    size.session_state["model_by"] = "size"
    size.run()
    size.text_input(key="size_b").set_value("20000").run()
    assert not size.exception
    assert answer(size)
    assert len(problems(size)) == 1


def test_bad_link_without_an_earlier_answer_shows_only_the_sentence(open_link: OpenLink) -> None:
    app = open_link(isl="abc")
    assert problems(app) == ["Prompt length: “abc” is not a number; enter a number of tokens, for example 3500."]
    assert answer(app) == ""
    assert not app.exception


def test_every_field_that_cannot_be_used_is_named(open_link: OpenLink) -> None:
    """One after the other would be as many tries as there are faults."""
    app = open_link(isl="abc", osl="", cached="900", ttft="0", spare="1.5", profile="1 2 x")
    assert problems(app) == [
        "Prompt length: “abc” is not a number. Output length is empty. Load by hour needs 24 values (3 were entered). "
        "TTFT limit must be more than 0 ms (0 was entered). Spare instances must be a whole number (1.5 was entered)."
    ]
    app.text_input(key="isl").set_value("3000").run()
    assert problems(app)[0].startswith("Output length is empty. Load by hour")
    assert not app.exception


def test_a_field_without_a_value_does_not_hide_the_others(open_link: OpenLink) -> None:
    app = open_link(
        model_by=labels("model_by")["config"],
        own="true",
        own_mem="",
        own_bw="5",
        own_fp16="-1",
        profile=",".join("x" * 24),
    )
    assert problems(app) == [
        "No config.json was given yet. Load by hour: “x” is not a number. Memory of the accelerator is empty. "
        "Memory bandwidth of the accelerator must be at least 10 GB/s (5 was entered). "
        "FP16 rate of the accelerator must be more than 0 TFLOPS (-1 was entered)."
    ]


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b"{}", b'{"model_type": "bert"}', b"x" * 50_000_000])
def test_unusable_config_json_is_one_sentence(size: AppTest, content: bytes) -> None:
    size.session_state["model_by"] = "config"
    size.run()
    size.file_uploader(key="config_file").upload("config.json", content).run()
    assert not size.exception
    assert len(problems(size)) == 1


LLAMA = b"""{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}"""
NO_JSON = "config.json is not valid JSON (line 1, column 2): paste or upload the unchanged file of the model."


def captions(size: AppTest) -> list[str]:
    return [caption.value.replace("\\", "") for caption in size.caption]


def test_what_is_wrong_with_an_uploaded_config_json_stays_until_the_file_changes(size: AppTest) -> None:
    before = answer(size)
    size.session_state["model_by"] = "config"
    size.run()
    size.file_uploader(key="config_file").upload("config.json", b"{").run()
    for _ in range(2):
        assert problems(size) == [NO_JSON]
        assert shown(size).count(NO_JSON) == 1, "at the field"
        assert "was given yet" not in shown(size)
        assert not any("In use" in c.value or "yet" in c.value for c in size.caption)
        assert answer(size) == before
        assert is_previous(size)
        size.text_input(key="osl").set_value("150").run()
    size.file_uploader(key="config_file").upload("config.json", LLAMA).run()
    assert not problems(size)
    assert "In use: Llama 8.03B (config.json)" in captions(size)


def test_what_is_wrong_with_a_pasted_config_json_stays_until_the_text_changes(size: AppTest) -> None:
    size.session_state["model_by"] = "config"
    size.run()
    size.text_area(key="config_text").set_value(LLAMA.decode()).run()
    used = answer(size)
    assert not problems(size)
    size.text_area(key="config_text").set_value("[1]").run()
    size.text_input(key="name").set_value("Mine").run()
    assert problems(size) == ["config.json must be a JSON object with braces: paste the whole file of the model."]
    assert answer(size) == used
    assert is_previous(size)
    size.text_area(key="config_text").set_value("").run()
    assert not problems(size), "the one before is in use again"
    assert answer(size) == used


def test_config_json_is_sized(size: AppTest) -> None:
    size.session_state["model_by"] = "config"
    size.run()
    size.file_uploader(key="config_file").upload("config.json", LLAMA).run()
    assert not problems(size)
    assert answer(size)
    assert not is_previous(size)


@pytest.mark.parametrize("says", [b'["\\u202eX"]', b"[1]", b"{}", b"[]", b'"LlamaForCausalLM"'])
def test_a_config_json_that_does_not_say_what_it_is_is_named_by_its_size(size: AppTest, says: bytes) -> None:
    size.session_state["model_by"] = "config"
    size.run()
    named = LLAMA.replace(b'["LlamaForCausalLM"]', says).replace(b'"model_type": "llama"', b'"model_type": ""')
    size.file_uploader(key="config_file").upload("config.json", named).run()
    assert not problems(size)
    assert "In use: 8.03B (config.json)" in captions(size)


def test_text_with_markdown_is_shown_as_text(size: AppTest) -> None:
    size.text_input(key="name").set_value("**Bold** $x$ :red[y] <script> https://a.example b@a.example").run()
    badge = next(m.value for m in size.markdown if "topic" in m.value)
    assert "Bold" in badge
    assert not set("*$<>`") & set(badge)
    assert live(badge.partition("Bold")[2]) == []


def shown(app: AppTest) -> str:
    """Every text of the page, without Markdown's escapes."""
    return re.sub(r"\\(.)", r"\1", "\n".join(m.value for m in app.markdown))


def test_a_number_read_either_way_is_one_click_from_the_right_one(size: AppTest) -> None:
    size.text_input(key="isl").set_value("3.000").run()
    size.button(key="reading_isl_0").click().run()
    assert size.text_input(key="isl").value == "3,000"
    assert not problems(size)
    assert not is_previous(size)


def test_a_fault_stands_under_its_field(size: AppTest) -> None:
    size.text_input(key="ttft").set_value("soon").run()
    assert ":red[:material/error: :small[TTFT limit: “soon” is not a number" in shown(size)


@pytest.mark.parametrize(("switched", "asked"), [("own", "Memory of the accelerator"), ("meas", "measured record")])
def test_what_was_never_filled_in_is_asked_for_and_not_an_error(size: AppTest, switched: str, asked: str) -> None:
    before = answer(size)
    size.toggle(key=switched).set_value(True).run()
    assert not problems(size)
    assert ":red[:material/error:" not in shown(size)
    assert any(asked in info.value for info in size.info)
    assert answer(size) == before
    assert is_previous(size)


def test_missing_config_json_is_asked_for_and_not_an_error(size: AppTest) -> None:
    size.session_state["model_by"] = "config"
    size.run()
    assert not problems(size)
    assert size.info[0].value.startswith("No config.json was given yet")


@pytest.mark.parametrize(
    ("typed", "model"),
    [("kimi k2", "moonshotai/Kimi-K2-Instruct"), ("llama 3.3 70b", "meta-llama/Llama-3.3-70B-Instruct")],
)
def test_a_common_name_shows_what_it_is_sized_as(open_link: OpenLink, typed: str, model: str) -> None:
    app = open_link(model=typed)
    assert f"“{typed}” is sized as **{model}**" in shown(app)
    assert not problems(app)


@pytest.mark.parametrize("typed", ["Qwen3-Embedding-8B", "BAAI/bge-m3", "gpt-4o"])
def test_a_refused_model_is_not_said_to_be_sized(open_link: OpenLink, typed: str) -> None:
    app = open_link(model=typed)
    assert problems(app)
    assert "is sized as" not in shown(app)
    assert "is no model we know" not in shown(app)


def test_a_name_of_several_models_offers_them(open_link: OpenLink) -> None:
    app = open_link(model="llama 70b")
    offered = [re.sub(r"\\(.)", r"\1", app.button(key=f"nearest_model_{n}").label) for n in range(3)]
    assert "meta-llama/Meta-Llama-3-70B" in offered
    assert set(offered) <= set(models())


def test_adding_an_accelerator_adds_it(size: AppTest) -> None:
    size.multiselect(key="gpu").set_value(["h100_sxm"]).run()
    size.toggle(key="own").set_value(True).run()
    for key, entered in {"own_mem": "192", "own_bw": "8000", "own_fp16": "2250", "own_usd": "1000"}.items():
        size.text_input(key=key).set_value(entered)
    size.run()
    assert size.multiselect(key="gpu").value == ["h100_sxm", OWN_GPU]
    assert "Own accelerator" in answer(size)
    size.toggle(key="own").set_value(False).run()
    assert size.multiselect(key="gpu").value == ["h100_sxm"]
    assert not problems(size)


@pytest.mark.parametrize("field", ["growth", "mem"])
def test_a_fault_behind_a_fold_stands_below_it_and_under_its_field(app: AppTest, field: str) -> None:
    page = app.switch_page("pages/size.py").run()
    page.session_state[field] = "abc"
    page.run()
    red = [text for one in page.markdown if (text := one.value).startswith(":red")]
    assert len(red) == 2
    assert red[0] == red[1]
    assert page.text_input(key=field).value == "abc"
    page.text_input(key=field).set_value("").run()
    assert not [one for one in page.markdown if one.value.startswith(":red")]
    assert field not in [one.key for one in page.text_input], "drawn while something is wrong in it alone"
