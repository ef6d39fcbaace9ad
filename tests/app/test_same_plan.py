"""What the address reopens, what the export says and what the page shows are one plan, for random scenarios.

`make properties` plans 300 of them.
"""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args
from urllib.parse import parse_qs, urlencode

import pytest
import yaml
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from sharing.document import to_yaml, whole_document
from sharing.form.link import from_parameters, to_parameters
from sharing.form.presets import defaults
from sharing.form.read import to_scenario
from sharing.form.write import from_scenario
from sharing.links.opening import scenario_of
from sizing import Scenario
from sizing.base.choices import Confidence, Objective
from sizing.base.errors import SizingError
from sizing.planning.analytic import analytic_plan
from sizing.scenario.file import load_scenario, scenario_from
from tests.app.conftest import OpenLink
from tests.commands import ROOT, run
from ui.state import plan_of

REQUIRED = {"input_tokens", "output_tokens", "peak_rps"}

MODELS = [
    "meta-llama/Llama-3.3-70B-Instruct",
    "openai/gpt-oss-120b",
    "Qwen/Qwen3-32B",
    {"name": "Mine", "params_b": 7.5},
]
GPUS = ["h100_sxm", "h200_sxm", "b200_sxm", "mi300x", "l40s"]


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers as people type them: four digits."""
    return st.floats(low, high).map(lambda x: float(f"{x:.4g}"))


def some(*options: Any) -> st.SearchStrategy[list[Any]]:
    """None, which means all, or a few of the options."""
    return st.lists(st.sampled_from(options), max_size=2, unique=True)


LENGTHS = st.one_of(
    numbers(10, 6000),
    st.tuples(numbers(10, 3000), numbers(1, 3)).map(lambda t: {"p50": t[0], "p95": float(f"{t[0] * t[1]:.4g}")}),
)
LOADS = st.one_of(
    st.fixed_dictionaries({"peak_rps": numbers(0.05, 200)}),
    st.fixed_dictionaries({"average_rps": numbers(0.05, 100), "peak_percentile": st.sampled_from([90, 95, 99])}),
    st.fixed_dictionaries(
        {
            "users": st.fixed_dictionaries(
                {"daily_users": numbers(100, 1e6), "requests_per_user": numbers(1, 9), "peak_to_mean": numbers(1, 5)}
            )
        }
    ),
)
ARRIVALS = st.one_of(
    st.just("poisson"),
    st.builds(lambda cv: {"gamma": {"cv": cv}}, numbers(1.1, 3)),
    st.builds(lambda hours: {"profile": hours}, st.lists(numbers(1, 9), min_size=24, max_size=24)),
)
OWN = {"id": "own_accelerator", "name": "Next", "memory_gb": 192, "bandwidth_gbs": 8000, "fp16_tflops": 2250}


COUNTED = {"streaming": ("ttft_ms", "itl_ms", "e2e_ms"), "sequential": ("e2e_ms",), "offline": ()}
"""The limits of the form that count in each mode."""


@st.composite
def workloads(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "input_tokens": draw(LENGTHS),
        "output_tokens": draw(LENGTHS),
        "growth_percent": draw(st.sampled_from([0, 20])),
        "prefix_cached_tokens": draw(st.sampled_from([0, 5])),
        "arrivals": draw(ARRIVALS),
        "mode": draw(st.sampled_from(["streaming", "streaming", "sequential", "offline"])),
        **draw(LOADS),
    }


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, Any]:
    own = draw(st.sampled_from([False, False, True]))
    return {
        "gpus": draw(st.lists(st.sampled_from(GPUS), min_size=1, max_size=3, unique=True)) + [OWN["id"]] * own,
        "custom_gpus": [OWN] * own,
        "engines": draw(some("vllm", "sglang", "trtllm")),
        "precisions": draw(some("bf16", "fp8", "nvfp4", "int4_awq")),
        "kv_precisions": draw(some("fp16", "fp8")),
        "tp": draw(some(1, 2, 4, 8)),
        "dp": draw(some(1, 8)),
        "serving": draw(some("aggregated", "disaggregated")),
        "prefill": draw(st.none() | st.just({"tp": 2, "pp": 2})),
        "batch_limits": draw(some(16, 64, 256)),
        "spare_instances": draw(st.integers(0, 2)),
        "redundancy": draw(st.sampled_from(["none", "none", "system", "site"])),
        "max_utilization": draw(st.sampled_from([0.65, 1.0])),
        "confidence": draw(st.sampled_from(get_args(Confidence))),
        "objective": draw(st.sampled_from(get_args(Objective))),
        "location": draw(st.sampled_from(["on_prem", "cloud"])),
        "accurate_formats_only": draw(st.booleans()),
        "measured_gpus_only": draw(st.booleans()),
        "routing": draw(st.sampled_from(["random", "least_loaded"])),
        "speculative_decoding": draw(st.none() | st.just({"draft_tokens": 4, "acceptance": 0.7, "draft_cost": 0.02})),
    }


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """What a form can say, every kind of field in it; without prices, which are never in an address."""
    workload = draw(workloads())
    limits = {name: draw(st.none() | numbers(50, 60_000)) for name in COUNTED[workload["mode"]]}
    return Scenario.model_validate(
        {
            "name": draw(st.sampled_from(["Bank of Elsewhere", "50 % & more = ? #1", "Größe"])),
            "model": draw(st.sampled_from(MODELS)),
            "workload": workload,
            "limits": dict.fromkeys(COUNTED["streaming"])
            | limits
            | {"percentile": draw(st.sampled_from([50, 95, 99]))},
            "deployment": draw(deployments()),
        }
    )


def query_of(scenario: Scenario) -> str:
    """The address of the page that holds this scenario."""
    return urlencode(to_parameters(from_scenario(scenario)), doseq=True)


def reopened(query: str) -> Scenario:
    """What an address means."""
    opened = from_parameters(parse_qs(query, keep_blank_values=True))
    assert opened.problems == ()
    return Scenario.model_validate(to_scenario(defaults() | opened.values))


def exported(scenario: Scenario) -> Scenario:
    return Scenario.model_validate(yaml.safe_load(to_yaml(scenario)))


@settings(max_examples=300)
@given(scenario=scenarios())
def test_address_reopens_the_scenario(scenario: Scenario) -> None:
    assert reopened(query_of(scenario)) == scenario


def smallest() -> dict[str, Any]:
    """The smallest scenario of the README, as its keys."""
    found = re.search(r"```yaml\n(schema_version: 1\n.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert found
    keys = yaml.safe_load(found[1])
    assert isinstance(keys, dict)
    return keys


def test_an_untouched_form_is_what_a_file_without_a_key_means() -> None:
    """Model, lengths and rate are all that the form begins with and a file has to say."""
    asked = Scenario.model_validate(to_scenario(defaults()))
    required = {"model": asked.model, "workload": asked.workload.model_dump(include=REQUIRED)}
    assert asked == Scenario.model_validate(required)
    assert Scenario.model_validate(to_scenario(from_scenario(asked))) == asked


def test_the_smallest_scenario_is_one_in_the_form_and_in_a_link_that_says_as_little() -> None:
    keys = smallest()
    asked, work, limits = Scenario.model_validate(keys), keys["workload"], keys["limits"]
    said = {
        "model": keys["model"],
        "isl": work["input_tokens"],
        "osl": work["output_tokens"],
        "rps": work["peak_rps"],
        "ttft": limits["ttft_ms"],
        "itl": limits["itl_ms"],
    }
    typed = {key: str(value) for key, value in said.items()} | {"gpu": keys["deployment"]["gpus"]}
    assert limits["percentile"] == 95, "what the README says beside must be what the form has"
    assert Scenario.model_validate(to_scenario(defaults() | typed)) == asked
    assert scenario_of(f"http://localhost:8501/size?{urlencode(typed, doseq=True)}") == asked


@settings(max_examples=60, derandomize=True, deadline=None, phases=[Phase.generate])
@given(scenario=scenarios())
def test_five_doors_give_one_answer(scenario: Scenario) -> None:
    """File, command line, Python, form and link, and what the library keeps; analytic plans, which are as much a
    function of the scenario alone as simulated ones, and take a tenth of the time."""
    with TemporaryDirectory() as folder:
        file, opened = Path(folder) / "asked.yaml", Path(folder) / "opened.yaml"
        file.write_text(to_yaml(scenario), encoding="utf-8")
        link = run("sharing", "link", file)
        assert link.stderr == "", "nothing is left out"
        assert run("sharing", "open", link.stdout.strip(), "--to", opened).returncode == 0
        printed = run("sizing", "plan", opened, "--analytic", "--json")
        assert load_scenario(file) == load_scenario(opened) == scenario
    assert Scenario.model_validate(to_scenario(from_scenario(scenario))) == scenario
    assert scenario_from(whole_document(scenario)) == scenario
    assert (printed.returncode, json.loads(printed.stdout)) == (
        0,
        json.loads(analytic_plan(scenario).model_dump_json()),
    )


@pytest.mark.slow
@given(scenario=scenarios())
def test_export_and_address_give_the_plan(scenario: Scenario) -> None:
    try:
        plan = plan_of(scenario.model_dump_json())
    except SizingError:
        assume(False)
    assert exported(scenario) == scenario
    assert plan_of(reopened(query_of(scenario)).model_dump_json()) == plan


@pytest.mark.parametrize("model", MODELS[:2])
def test_page_shows_the_plan_of_its_address_and_export(model: str, open_link: OpenLink) -> None:
    scenario = Scenario.model_validate(
        {
            "name": "50 % & more",
            "model": model,
            "workload": {
                "input_tokens": {"p50": 900, "p95": 2500},
                "output_tokens": 200,
                "users": {"daily_users": 9000},
            },
            "deployment": {"gpus": ["h200_sxm", "mi300x"], "tp": [2, 4], "spare_instances": 1, "max_utilization": 0.65},
        }
    )
    app = open_link(**parse_qs(query_of(scenario), keep_blank_values=True))
    assert not app.exception
    shown = app.session_state["last_answer"]
    assert shown.scenario == scenario
    assert shown.plan == plan_of(exported(scenario).model_dump_json())
    address = {key: value for key, value in app.query_params.items() if key != "v"}
    assert reopened(urlencode(address, doseq=True)) == scenario
