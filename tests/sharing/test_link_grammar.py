"""The grammar of links: documented whole, and read as people and programs write it."""

from urllib.parse import parse_qs, urlparse

import pytest
from pydantic import ValidationError

from sharing.form import grammar
from sharing.form.choices import labels, option_of
from sharing.form.fields import FIELDS
from sharing.form.link import from_parameters, link_to, to_parameters
from sharing.form.presets import defaults, presets
from sharing.form.read import to_scenario
from sharing.form.write import from_scenario
from sizing import Scenario
from sizing.question.understand import model_of

NUMBER = "3"
OWN_GPU_TYPED = {"own": "yes", "own_mem": "80", "own_bw": "3000", "own_fp16": "900"}
MEASURED = {"meas": "yes", "m_sys": "DGX H100", "m_rps": "2.4"}


def opened(**parameters):
    """The inputs of a link, which are all taken."""
    link = from_parameters({key: value if isinstance(value, list) else [value] for key, value in parameters.items()})
    assert link.problems == ()
    return defaults() | link.values


def test_the_document_is_that_of_the_fields():
    assert grammar.DOCUMENT.read_text(encoding="utf-8") == grammar.document()


def test_every_parameter_is_documented():
    text = grammar.document()
    for key, field in FIELDS.items():
        assert (f"\n| `{key}` | " in text) is not field.private
        assert f"`{key}`" in text


@pytest.mark.parametrize("parameters", grammar.EXAMPLES.values())
def test_an_example_means_a_scenario(parameters):
    model_of(Scenario.model_validate(to_scenario(opened(**parameters))))


@pytest.mark.parametrize("name", presets())
def test_what_is_written_is_read_as_the_same_scenario(name):
    scenario = presets()[name].scenario
    link = link_to("http://localhost/size", to_parameters(from_scenario(scenario)))
    read = opened(**parse_qs(urlparse(link).query, keep_blank_values=True))
    assert Scenario.model_validate(to_scenario(read)) == scenario


def test_every_option_is_meant_by_its_words_and_its_id():
    for key, field in FIELDS.items():
        if field.kind in ("choice", "many"):
            for option, words in labels(key).items():
                assert option_of(key, words) == option
                assert option_of(key, words.upper()) == option, (key, words)
                assert option_of(key, str(option)) == option, (key, option)


@pytest.mark.parametrize(
    ("key", "text", "option"),
    [
        ("where", "on prem", "on_prem"),
        ("gpu", "h100", "h100_sxm"),
        ("gpu", "NVIDIA H200", "h200_sxm"),
        ("gpu", "gb200", "gb200"),
        ("engine", "tensorrt llm", "trtllm"),
        ("prec", "fp8", "fp8"),
        ("prec", "nvfp4", "nvfp4"),
        ("kv", "16-bit", "fp16"),
        ("tp", "8", 8),
        ("mode", "STREAMED", "streaming"),
        ("route", "prefix aware", "prefix_aware"),
        ("confidence", "95", 95),
        ("confidence", "80 %", 80),
        ("confidence", "80%", 80),
        ("confidence", "85", None),
        ("confidence", "0.9", None),
        ("obj", "expected cost", "expected_cost"),
        ("prec", "int4", None),
        ("mode", "", None),
        ("gpu", "abacus", None),
    ],
)
def test_choices_as_people_write_them(key, text, option):
    assert option_of(key, text) == option


def test_several_choices_with_commas_or_again():
    assert opened(gpu="h100, H200")["gpu"] == opened(gpu=["h100", "h200"])["gpu"] == ["h100_sxm", "h200_sxm"]
    assert opened(prec="")["prec"] == []
    link = from_parameters({"gpu": ["h100,abacus"]})
    assert link.values["gpu"] == ["h100_sxm"]
    assert "“abacus” is not one of the options" in link.problems[0]


def test_a_refusal_is_said_once():
    for parameters in (
        {"gpu": ["abacus"], "GPU": ["abacus"]},
        {"gpu": ["abacus,abacus"]},
        {"usd_system": ["1"], "prices.system_usd": ["2"]},
    ):
        (problem,) = from_parameters(parameters).problems
        assert problem.count("abacus") <= 1


@pytest.mark.parametrize(
    ("key", "text", "meant"),
    [
        ("gpu", "jetson orion", "Jetson AGX Orin 64GB"),
        ("gpu", "h1000", "H100 SXM5 80GB"),
        ("gpu", "abacus,MI30X", "Instinct MI300X 192GB"),
        ("engine", "vlm", "vLLM"),
        ("prec", "fp9", "FP8 (W8A8)"),
        ("lang", "germn", "German"),
    ],
)
def test_a_wrong_choice_is_answered_with_what_it_may_mean(key, text, meant):
    (problem,) = from_parameters({key: [text]}).problems
    said, _, guessed = problem.partition("Did you mean ")
    assert "so the link's value was left out." in said
    assert meant in guessed


def test_nothing_is_suggested_for_what_resembles_no_option():
    assert "Did you mean" not in from_parameters({"gpu": ["abacus"]}).problems[0]


@pytest.mark.parametrize("key", ["name", "size_name", "own_name", "m_source"])
def test_a_link_takes_every_text_that_a_scenario_does(key):
    asked = {
        "name": {},
        "size_name": {"model_by": "size", "size_b": "7"},
        "own_name": OWN_GPU_TYPED,
        "m_source": MEASURED,
    }[key]
    most = FIELDS[key].longest
    values = opened(**asked, **{key: "x" * most})
    Scenario.model_validate(to_scenario(values))
    with pytest.raises(ValidationError, match=f"at most {most} characters"):
        Scenario.model_validate(to_scenario(values | {key: "x" * (most + 1)}))
    (problem,) = from_parameters({key: ["x" * (most + 1)]}).problems
    assert f" is longer than {most} characters, so" in problem


def test_numbers_and_switches_as_people_write_them():
    values = opened(isl="3.5k", ttft="2s", proven="no", compose="ON", cached="60%")
    scenario = Scenario.model_validate(to_scenario(values | {"compose": False}))
    assert (scenario.workload.input_tokens, scenario.limits.ttft_ms) == (3500, 2000)
    assert (values["proven"], values["compose"]) == (False, True)


def test_parameters_named_as_in_a_scenario_file():
    values = opened(**{"limits.ttft_ms": "700", "peak_rps": "31", "Kv-Precisions": "fp8", "RPS": "31"})
    assert (values["ttft"], values["rps"], values["kv"]) == ("700", "31", ["fp8"])
    assert from_parameters({"max_utilization": ["0.8"]}).values["util"] == defaults()["util"]


@pytest.mark.parametrize("name", ["usd_system", "prices.system_usd", "system_usd", "own_usd", "price_usd"])
def test_a_price_is_never_taken_from_a_link(name):
    link = from_parameters({name: ["123456"]})
    assert "123456" not in str(link.values)
    assert "is never taken from a link" in link.problems[0]


@pytest.mark.parametrize("key", [key for key, field in FIELDS.items() if field.needs])
def test_what_needs_another_field_says_nothing_without_it(key):
    """Every other field counts, one way or another, by itself."""
    needed, _, value = FIELDS[key].needs.partition("=")
    assert value == "true" or value in labels(needed)
    other = {"model_by": "size", "size_b": "7"} if value == "catalogue" else {}
    other |= {"load": "average", "avg": "5"} if value == "rps" else {}
    other |= {"s_by": "per_hour"} if value == "at_once" else {}
    without = defaults() | other
    example = FIELDS[key].example or next((label_id for label_id in labels(key)), NUMBER)
    assert without[needed] != value
    assert to_scenario(without | {key: example}) == to_scenario(without)


def test_a_link_that_names_what_does_not_count_says_so() -> None:
    """Users without the load by users: the load is the peak of an untouched form, and the reader is told."""
    (problem,) = from_parameters({"users": ["5000"]}).problems
    assert problem == (
        "The link's “users” (Daily users) counts with load=Users alone, which the link does not say: it was left aside."
    )
    assert not from_parameters({"users": ["5000"], "load": ["Users"]}).problems


def test_an_address_of_the_form_says_what_its_hidden_inputs_count_with() -> None:
    """Users that were typed before the load became a peak again are kept, and complain of nothing."""
    values = defaults() | {"users": "5000"}
    parameters = to_parameters(values)
    assert parameters == {"load": ["Peak"], "users": ["5000"]}
    opened = from_parameters(parameters)
    assert not opened.problems
    assert opened.values["users"] == "5000"
