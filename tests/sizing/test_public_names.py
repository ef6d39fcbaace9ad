"""What ``import sizing`` gives to a script or notebook."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sizing
from sizing.base.result import Plan
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sizing.asking import LLAMA_8B, raw

H100 = {"gpus": ["h100_sxm"], "engines": ["vllm"]}
HEAVY = {"numba", "numpy", "pandas", "pydantic", "scipy"}


@pytest.fixture(scope="module")
def answer() -> Answer:
    return Answer.of(sizing.load_scenario(raw(LLAMA_8B, deployment=H100, name="chat")), analytic_plan)


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert set(sizing.__all__) <= set(dir(sizing))
    for name in sizing.__all__:
        value = getattr(sizing, name)
        assert isinstance(value, str) or value.__doc__, name
    assert sizing.__version__ == sizing.ENGINE_VERSION == sizing.plan(sizing.load_scenario(raw())).engine_version
    with pytest.raises(AttributeError, match="has no attribute 'plane'"):
        _ = sizing.plane


def test_the_import_alone_loads_nothing_heavy() -> None:
    code = "import json, sys, sizing; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(json.loads(done.stdout))


@pytest.mark.parametrize("as_text", [str, Path])
def test_a_scenario_is_read_from_a_file_or_from_keys(tmp_path: Path, as_text: type) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(raw()))
    assert sizing.load_scenario(as_text(file)) == sizing.load_scenario(raw())
    assert sizing.load_scenario(sizing.load_scenario(raw())) == sizing.load_scenario(raw())


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sizing.load_scenario({**raw(), "limit": {}}), "limit: unknown key. Did you mean limits?"),
        (
            lambda: sizing.load_scenario(42),
            "A scenario is read from a file or from a mapping of keys, not from the type int.",
        ),
        (lambda: sizing.plan(raw()), "must be a scenario, as of sizing.load_scenario"),
        (
            lambda: sizing.Answer(sizing.load_scenario(raw()), None),
            "takes a question, not something of type Scenario: use",
        ),
        (lambda: sizing.cost("scenario.yaml"), "not something of type str."),
        (lambda: sizing.simulate(None), "of type NoneType."),
        (lambda: sizing.compare([raw(), raw()]), "of type dict."),
        (
            lambda: sizing.cost(analytic_plan(sizing.load_scenario(raw()))),
            "an answer, as of sizing.Answer.of, not something of type Plan",
        ),
    ],
)
def test_a_bad_key_or_type_is_a_sentence(ask: Any, said: str) -> None:
    with pytest.raises(sizing.InvalidScenario) as caught:
        ask()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan_is_a_table_of_deployments_with_their_units(answer: Answer) -> None:
    frame = answer.plan.to_frame()
    assert len(frame) == 1 + len(answer.plan.alternatives)
    assert list(frame.columns) == list(dict.fromkeys(frame.columns))
    first, deployed = frame.iloc[0], answer.plan.deployment
    assert (first.gpu, first.tp, first.instances, first.gpus) == (
        deployed.gpu,
        deployed.tp,
        deployed.instances,
        deployed.gpus,
    )
    second = answer.plan.alternatives[0]
    assert frame.iloc[1].hardware_usd_per_month == second.hardware_usd_per_month
    assert frame.iloc[1].ttft_ms == second.ttft_ms
    assert not frame.drop(columns="batch_limit").iloc[0].isna().any()
    units = frame.attrs["units"]
    assert (units["ttft_ms"], units["hardware_usd_per_month"], units["power_kw"]) == ("ms", "USD/month", "kW")
    assert "engine" not in units


def test_what_a_plan_cannot_serve_is_an_empty_table() -> None:
    nothing = analytic_plan(sizing.load_scenario(raw(limits={"ttft_ms": 0.001})))
    assert nothing.to_frame().empty
    assert "<table" not in nothing._repr_html_()
    assert nothing.answer.split()[0] in nothing._repr_html_()


def test_cost_comparison_and_simulation_are_tables(answer: Answer) -> None:
    money = sizing.cost(answer)
    ways = money.to_frame().set_index("name")
    assert ways.usd_per_month["on_prem"] == money.usd_per_month
    assert ways["parts.servers"]["on_prem"] == money.parts["servers"]
    assert ways.attrs["units"]["energy_kwh_per_month"] == "kWh/month"
    staff = money.parts["staff"] + 5000.0
    dearer = answer.at_costs(answer.scenario.costs.model_copy(update={"staff_usd_per_month": staff}))
    beside = sizing.compare([answer, dearer])
    assert list(beside.to_frame().name) == ["chat", "chat"]
    assert beside.to_frame().usd_more[1] == pytest.approx(5000)
    run = sizing.simulate(answer, hours=0.05)
    assert len(run.to_frame()) == len(run.series.arrived_rps)
    assert run.to_frame().attrs["units"]["ttft_ms"] == "ms"


def test_a_notebook_shows_the_answer_and_text_stays_text(answer: Answer) -> None:
    marked = answer.plan.model_copy(update={"answer": "<script>alert(1)</script>"})
    assert isinstance(marked, Plan)
    shown = marked._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<th>ttft_ms (ms)</th>" in shown
    assert shown.count("<tr") <= 7
    assert f"{len(answer.plan.alternatives) - 5} more deployments" in shown
