"""Kernel tables that take long to compile are asked about a few configurations, however many are considered."""

import numpy as np
import pytest

from sizing import Scenario
from sizing.catalog.model import Model
from sizing.planning.analytic import analytic_plan
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, understand
from sizing.search.screen import MOST_ASKED, all_configurations, evaluate
from sizing.steps import kernel
from sizing.steps.kernel_engines import Engine
from tests.sizing.asking import LLAMA_70B, raw


class SlowTables:
    """Tables whose compilation is so slow that every one of them counts; their times are half the usual ones."""

    def __init__(self) -> None:
        self.compiled: list[Configuration] = []

    def engine_for(self, _: Model, configuration: Configuration) -> Engine:
        self.compiled.append(configuration)
        return Engine(self)

    def predict_prefill_latency(self, bs: int, isl: int, prefix: int = 0) -> float:
        return 0.02 * bs * (isl - prefix)

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
        return 10.0 + 0.05 * gen_tokens

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int) -> float:
        return self.decode_step_latency(gen_tokens, isl, osl) + 0.02 * ctx_tokens


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> SlowTables:
    slow = SlowTables()
    monkeypatch.setattr(kernel, "engine_for", slow.engine_for)
    return slow


def question(objective: str = "cost", **deployment: object) -> Question:
    deployment = {"step_times": "kernel", "objective": objective, **deployment}
    return understand(Scenario.model_validate(raw(LLAMA_70B, deployment=deployment)))


@pytest.mark.parametrize("objective", ["cost", "gpus", "latency", "energy"])
def test_of_thousands_of_configurations_a_few_are_asked(tables: SlowTables, objective: str) -> None:
    asked = question(objective)
    evaluated = evaluate(asked, all_configurations(asked))
    kinds = [source.kind for source in evaluated.sources]
    assert len(evaluated) > 100 * MOST_ASKED
    assert len(tables.compiled) <= MOST_ASKED
    assert kinds.count("kernel_tables") == len(set(map(id, tables.compiled))) > 0
    assert kinds.count("roofline") == len(kinds) - kinds.count("kernel_tables")


def test_those_that_are_not_asked_are_as_by_the_roofline(tables: SlowTables) -> None:
    asked = question()
    evaluated = evaluate(asked, all_configurations(asked))
    plain = evaluate(asked, all_configurations(asked), "roofline")
    others = np.array([source.kind == "roofline" for source in evaluated.sources])
    assert np.array_equal(evaluated.capacity.rps[others], plain.capacity.rps[others])
    assert not np.array_equal(evaluated.capacity.rps, plain.capacity.rps)


def test_a_few_configurations_are_all_asked(tables: SlowTables) -> None:
    asked = question(gpus=["h100_sxm"], engines=["vllm"], precisions=["fp8"], tp=[1, 2, 4], pp=[1])
    evaluated = evaluate(asked, all_configurations(asked))
    assert {source.kind for source in evaluated.sources} == {"kernel_tables"}
    assert len(tables.compiled) == len(evaluated) <= MOST_ASKED


def test_a_plan_says_that_not_all_were_asked(tables: SlowTables) -> None:
    scenario = question().scenario
    found = analytic_plan(scenario)
    assert found.feasible
    assert "kernel_tables_of_some" in [warning.code for warning in found.warnings]
    narrow = scenario.deployment.model_copy(update={"gpus": ["h100_sxm"], "tp": [4], "pp": [1], "engines": ["vllm"]})
    some = analytic_plan(scenario.model_copy(update={"deployment": narrow}))
    assert "kernel_tables_of_some" not in [warning.code for warning in some.warnings]
