"""Scenario files: what is read, and one clear sentence for everything that cannot be."""

import json

import pytest
import yaml

from commandline.faults import keys_at
from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.question.understand import understand
from sizing.scenario.file import CALLED_ELSEWHERE, load_scenario, parse, scenario_from
from tests.sizing.asking import LLAMA_8B, asking, changed, raw

OK = yaml.safe_dump(raw())


def problems(text):
    with pytest.raises(InvalidScenario) as refused:
        understand(scenario_from(parse(text)))
    assert all(p == p.strip() and "\n" not in p and p for p in refused.value.problems)
    return refused.value.problems


def problem(text):
    """The only problem."""
    found = problems(text)
    assert len(found) == 1, found
    return found[0]


def test_the_smallest_scenario_has_every_default():
    found = scenario_from(parse(f"model: {LLAMA_8B}\nworkload: {{input_tokens: 1, output_tokens: 1, peak_rps: 1}}"))
    assert found.schema_version == 1
    assert found.limits.percentile == 95
    assert found.deployment.gpus == []
    assert found.measured is None


def test_file_and_dict_are_read_alike(tmp_path):
    for name, text in (("a.yaml", OK), ("a.json", json.dumps(raw())), ("bom.yaml", "\ufeff" + OK)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert load_scenario(tmp_path / name) == Scenario.model_validate(raw())


def test_the_example_of_the_design_is_read():
    text = """
        schema_version: 1
        name: customer case
        model: meta-llama/Meta-Llama-3-8B-Instruct
        workload: {input_tokens: 3500, output_tokens: 500, peak_rps: 31, prefix_cached_tokens: 0, arrivals: poisson,
                   mode: streaming}
        limits: {ttft_ms: 3000, itl_ms: 50, e2e_ms: null, percentile: 95}
        deployment: {gpus: [h100_sxm], engines: [], precisions: [], tp: [], location: on_prem, spare_instances: 0,
                     max_utilization: 1.0}
        measured: {system: dgx_h100, rps_per_system: 2.4, ttft_ms: 2606, itl_ms: 21.4}
        prices: {}
    """
    found = scenario_from(parse(text))
    assert found.limits.ttft_ms == 3000
    assert found.measured.rps_per_system == 2.4


@pytest.mark.parametrize(
    "value", [{"p50": 100, "p95": 900}, 100, 100.5, "1e3"], ids=["percentiles", "whole", "broken", "power of ten"]
)
def test_lengths_may_be_given_as(value):
    assert scenario_from(parse(asking("workload.input_tokens", value)))


@pytest.mark.parametrize(
    "arrivals", ["poisson", {"gamma": {"cv": 2}}, {"profile": [1.0] * 24}], ids=["poisson", "gamma", "profile"]
)
def test_arrivals_may_be_given_as(arrivals):
    assert scenario_from(parse(asking("workload.arrivals", arrivals)))


@pytest.mark.parametrize(
    "model",
    [LLAMA_8B, {"name": "NeMo 43B GPT", "params_b": 43}, {"config": {"model_type": "llama"}}],
    ids=["name", "size", "config"],
)
def test_a_model_may_be_given_as(model):
    assert scenario_from(parse(asking("model", model)))


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "it is empty"), ("- 1", "it is a list"), ("hello", "it is a single value"), ("7", "it is a single value")],
)
def test_a_file_must_hold_keys(text, found):
    assert problem(text) == f"scenario must hold keys such as model and workload: {found}."


def test_an_empty_mapping_misses_model_and_workload():
    assert problems("{}") == ("model: is required.", "workload: is required.")


NUMBERS = ("workload.peak_rps", "workload.input_tokens", "workload.output_tokens", "limits.ttft_ms")


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize(
    ("value", "what"),
    [
        (float("nan"), "must be a finite number"),
        (float("inf"), "must be a finite number"),
        (float("-inf"), "must be a finite number"),
        (0, "must be "),
        (-3, "must be "),
        (1e12, "must be at most"),
        (10**400, "must be a number"),
        ("many", "must be a number"),
        ([1], "must be a number"),
        (True, "must be a number or text, not true or false"),
        ("", "must be a number"),
        ("31 rps", "must be a number"),
    ],
)
def test_numbers_that_are_none(path, value, what):
    assert problem(asking(path, value)).startswith(f"{path}: {what}")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("model", 8, "model: must be a model name, {name: ..., params_b: ...} or {config: ...} (found '8')."),
        ("model", {"name": "x"}, "model.params_b: is required."),
        ("deployment.confidence", 85, "deployment.confidence: must be 50, 80, 90 or 95 (found '85')."),
        ("deployment.confidence", 0.9, "deployment.confidence: must be 50, 80, 90 or 95 (found '0.9')."),
        ("deployment.confidence", "90 %", "deployment.confidence: must be 50, 80, 90 or 95 (found '90 %')."),
        ("model", {"name": "x", "params_b": -1}, "model.params_b: must be at least 0.05 (found '-1')."),
        ("model", {"name": "x", "params_b": 8, "layrs": 3}, "model.layrs: unknown key. Did you mean layers?"),
        (
            "model",
            {"name": "x", "params_b": 8, "zzz": 3},
            "model.zzz: unknown key. Known keys: config, head_dim, heads, hidden_size, kv_heads, layers, max_context, "
            "name, params_b.",
        ),
        ("model", {"config": [1]}, "model.config: must be a group of keys."),
        ("workload.input_tokens", {"p50": 5, "p95": 3}, "workload.input_tokens: p95 must not be smaller than p50."),
        ("workload.input_tokens", {"p50": 5}, "workload.input_tokens.p95: is required."),
        (
            "workload.arrivals",
            "bursty",
            "workload.arrivals: must be poisson, {gamma: {cv: 2}}, {profile: [24 hourly values]}, "
            "{bursts: {on_s: 30, off_s: 90}} or {trace: file.csv} (found 'bursty').",
        ),
        (
            "workload.arrivals",
            {"gamma": {"cv": 2}, "profile": [1] * 24},
            "workload.arrivals.profile: cannot stand beside the other keys of arrivals: keep one of them.",
        ),
        (
            "workload.arrivals",
            {"profile": [1] * 23},
            "workload.arrivals.profile: must have at least 24 values, not 23.",
        ),
        ("deployment.batch_limits", [1] * 17, "deployment.batch_limits: must have at most 16 values, not 17."),
        ("workload.arrivals", {"gamma": {"cv": -1}}, "workload.arrivals.gamma.cv: must be at least 0 (found '-1')."),
        (
            "workload.arrivals",
            {"gama": 1},
            "workload.arrivals: must be poisson, {gamma: {cv: 2}}, {profile: [24 hourly values]}, "
            "{bursts: {on_s: 30, off_s: 90}} or {trace: file.csv}.",
        ),
        ("workload.mode", "chat", "workload.mode: must be 'streaming', 'sequential' or 'offline' (found 'chat')."),
        (
            "workload.average_rps",
            3,
            "workload: give exactly one of peak_rps, average_rps, users or batch (found peak_rps and average_rps).",
        ),
        (
            "workload.peak_rps",
            None,
            "workload: give exactly one of peak_rps, average_rps, users or batch (found none of them).",
        ),
        ("workload.prefix_cached_tokens", 3500, "workload: prefix_cached_tokens must be smaller than input_tokens."),
        (
            "workload",
            {
                "input_tokens": {"trace": "t.csv", "groups": [35, 90, 1256, 2760]},  # mean below median
                "output_tokens": 500,
                "peak_rps": 31,
                "prefix_cached_tokens": 1130,
            },
            "workload: prefix_cached_tokens must be smaller than input_tokens.",
        ),
        ("workload.rps", 3, "workload.rps: unknown key. Did you mean peak_rps or average_rps?"),
        ("workload.qps", 3, "workload.qps: unknown key. Did you mean workload.peak_rps?"),
        ("workload.max-tokens", 3, "workload.max-tokens: unknown key. Did you mean workload.output_tokens?"),
        ("limits.tpot_ms", 30, "limits.tpot_ms: unknown key. Did you mean limits.itl_ms?"),
        ("gpu", "h100", "gpu: unknown key. Did you mean deployment.gpus?"),
        ("workload.peek_rps", 3, "workload.peek_rps: unknown key. Did you mean peak_rps or average_rps?"),
        (
            "adapters",
            {"number": 4, "count": 4},
            "adapters.count: unknown key. Known keys: load_gbs, number, popularity, rank, resident, targets.",
        ),
        ("gpus", ["h100_sxm"], "gpus: unknown key. Did you mean deployment.gpus or benchmark.gpus?"),
        ("workload.ttft_ms", 500, "workload.ttft_ms: unknown key. Did you mean limits.ttft_ms or measured.ttft_ms?"),
        ("limitz", {}, "limitz: unknown key. Did you mean limits?"),
        ("limits.tftt_ms", 3, "limits.tftt_ms: unknown key. Did you mean ttft_ms or itl_ms?"),
        ("limits.percentile", 100, "limits.percentile: must be at most 99.9 (found '100')."),
        ("limits", None, "limits: must be a group of keys (found 'None')."),
        ("deployment", [], "deployment: must be a group of keys."),
        ("deployment.gpus", "h100_sxm", "deployment.gpus: must be a list, in brackets (found 'h100_sxm')."),
        ("deployment.gpus", [7], "deployment.gpus.0: must be text (found '7')."),
        ("deployment.tp", ["two"], "deployment.tp.0: must be a whole number (found 'two')."),
        ("deployment.tp", [0], "deployment.tp.0: must be at least 1 (found '0')."),
        ("deployment.spare_instances", 1.5, "deployment.spare_instances: must be a whole number (found '1.5')."),
        ("deployment.max_utilization", 1.5, "deployment.max_utilization: must be at most 1 (found '1.5')."),
        (
            "measured",
            {"system": "dgx_h100", "rps_per_system": 0},
            "measured.rps_per_system: must be greater than 0 (found '0').",
        ),
        ("name", 7, "name: must be text (found '7')."),
        ("schema_version", 2, "schema_version 2 is newer than this engine knows (1): update the engine."),
        ("schema_version", 0, "schema_version must be a whole number from 1 to 1, not '0'."),
        ("schema_version", "one", "schema_version must be a whole number from 1 to 1, not 'one'."),
    ],
)
def test_one_sentence_says_what_to_change(path, value, said):
    assert problem(asking(path, value)) == said


def test_every_fault_is_reported_once_in_the_order_of_the_file():
    keys = changed(changed(raw(), "workload.peak_rps", -1), "limits.percentile", 3)
    assert [p.split(":")[0] for p in problems(yaml.safe_dump(keys))] == ["workload.peak_rps", "limits.percentile"]


def test_what_is_called_otherwise_elsewhere_stands_in_a_scenario() -> None:
    for place in CALLED_ELSEWHERE.values():
        assert place.rpartition(".")[2] in keys_at(Scenario, place.split(".")[:-1]), place
