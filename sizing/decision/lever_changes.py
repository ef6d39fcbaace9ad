"""What each lever of an optimisation changes in a scenario, and why one cannot be moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, assert_never

from sizing.base.errors import SizingError
from sizing.base.units import BILLION
from sizing.catalog import models
from sizing.catalog.derived import smaller_versions
from sizing.catalog.files import read_yaml
from sizing.catalog.model import Model
from sizing.decision.inputs import Input, sizing_inputs
from sizing.decision.keys import with_values
from sizing.planning.answered import Answer
from sizing.question.understand import model_of
from sizing.scenario.schema import Scenario
from sizing.search.trials import BY_LOAD

LeverName = Literal[
    "prefix_caching",
    "speculative_decoding",
    "disaggregation",
    "routing",
    "shorter_prompts",
    "smaller_model",
    "sparsity_2_4",
    "derived",
    "pruned",
    "static_batching",
]

Obstacle = Literal[
    "no_smaller_model",
    "none_published",
    "architecture",
    "size",
    "lengths",
    "cached",
    "no_kernel",
    "experts",
    "not_simulated",
]
"""Why a lever cannot be moved: no smaller relative; no published model made of it; layers that are not all alike; a
size that is none or cannot be built; lengths that are those of a file; a prompt as short as its cached part; a GPU
without sparse kernels in an engine; experts, which these do not multiply; a plan that cannot be simulated so."""

FILE = "levers.yaml"

WIDTH_STEP = 128
"""Widths that pruning leaves are a multiple of this, as tiles of matrix units are."""


SMALLER = 0.75
"""Share of the parameters up to which another model counts as smaller. Chosen: because less saves nothing."""


@dataclass(frozen=True, kw_only=True)
class LeverSettings:
    """How far each lever is moved. ``smaller_model``, ``derived`` and ``size_b``: None takes the next smaller, the
    published one that keeps most of its scores, and a share.
    """

    cached_share: float
    prompt_share: float
    draft_tokens: int
    acceptance: float
    smaller_model: str | None = None
    derived: str | None = None
    size_b: float | None = None


@cache
def lever_facts() -> Mapping[str, Any]:
    """What the file says of each lever."""
    read: Mapping[str, Any] = read_yaml(FILE)
    return read


def default_settings() -> LeverSettings:
    """The what-ifs of the catalogue."""
    assumed: dict[str, Any] = {}
    for lever in lever_facts().values():
        assumed |= lever.get("assumed", {})
    assumed.pop("size_share")
    return LeverSettings(**assumed)


@dataclass(frozen=True, kw_only=True)
class ScenarioChange:
    """Scenario keys with their new values; ``undone``: the lever is in use, and this is the scenario without it."""

    values: Mapping[str, Any]
    undone: bool = False


def change(name: LeverName, answer: Answer, settings: LeverSettings) -> ScenarioChange | Obstacle:
    """What a lever changes in the scenario. Raises SizingError for an unknown model."""
    scenario, plan = answer.scenario, answer.plan
    match name:
        case "prefix_caching":
            return _cached(scenario, settings.cached_share)
        case "speculative_decoding":
            return _speculative(scenario, settings)
        case "disaggregation":
            split = plan.deployment is not None and plan.deployment.pools is not None
            return ScenarioChange(
                values={"deployment.serving": ["aggregated" if split else "disaggregated"]}, undone=split
            )
        case "routing":
            even = scenario.deployment.routing in BY_LOAD
            return ScenarioChange(values={"deployment.routing": "random" if even else "least_loaded"}, undone=even)
        case "shorter_prompts":
            return _shorter(scenario, settings.prompt_share)
        case "smaller_model":
            smaller = settings.smaller_model or next_smaller(model_of(scenario))
            return "no_smaller_model" if smaller is None else ScenarioChange(values={"model": smaller})
        case "derived":
            made = settings.derived or next(iter(smaller_versions(model_of(scenario).id)), None)
            return "none_published" if made is None else ScenarioChange(values={"model": made})
        case "pruned":
            return _pruned(scenario, settings.size_b)
        case "sparsity_2_4" | "static_batching":
            raise ValueError(f"{name} changes no scenario")
        case unknown:
            assert_never(unknown)


def _prompt(scenario: Scenario) -> Input | None:
    """The prompt length; None where a file has the lengths."""
    return next((one for one in sizing_inputs(scenario) if one.key == "workload.input_tokens"), None)


def _cached(scenario: Scenario, share: float) -> ScenarioChange | Obstacle:
    if scenario.workload.prefix_cached_tokens:
        return ScenarioChange(values={"workload.prefix_cached_tokens": 0.0}, undone=True)
    prompt = _prompt(scenario)
    return (
        "lengths" if prompt is None else ScenarioChange(values={"workload.prefix_cached_tokens": share * prompt.value})
    )


def _speculative(scenario: Scenario, settings: LeverSettings) -> ScenarioChange:
    key = "deployment.speculative_decoding"
    if scenario.deployment.speculative_decoding is not None:
        return ScenarioChange(values={key: None}, undone=True)
    return ScenarioChange(values={key: {"draft_tokens": settings.draft_tokens, "acceptance": settings.acceptance}})


def _shorter(scenario: Scenario, share: float) -> ScenarioChange | Obstacle:
    """What is cached stays: it is the rest that gets shorter."""
    prompt = _prompt(scenario)
    if prompt is None:
        return "lengths"
    values = prompt.values(prompt.value * share)
    return "cached" if with_values(scenario, values) is None else ScenarioChange(values=values)


def next_smaller(model: Model) -> str | None:
    """The largest clearly smaller model of the family in the catalogue, else of those that the developer has published
    since; None where there is none. A model of which only the size is known has no family.
    """
    if not model.developer:
        return None
    smaller = [
        one
        for one in models().values()
        if one.developer == model.developer
        and one.params_total <= SMALLER * model.params_total
        and one.is_moe == model.is_moe
    ]
    family = [one for one in smaller if one.family == model.family]
    since = [one for one in smaller if one.release_date >= model.release_date]
    largest = max(family or since, key=lambda one: (one.params_total, one.release_date, one.id), default=None)
    return None if largest is None else largest.id


def pruned_size_b(model: Model) -> float:
    """The size that pruning leaves where none is asked, in billions of parameters."""
    share: float = lever_facts()["pruned"]["assumed"]["size_share"]
    return share * model.params_total / BILLION


def _pruned(scenario: Scenario, size_b: float | None) -> ScenarioChange | Obstacle:
    """A dense model with narrower layers: width x sqrt(size / size now), the MLP takes the rest; layers and heads stay.

    Source: arXiv 2408.11796, table 1: hidden size 4096 to 3072 for 8 to 4.5 billion parameters.
    """
    model = model_of(scenario)
    alike = model.full_layers == model.layers and not model.is_moe and model.attention != "mla"
    if not alike:
        return "architecture"
    size = size_b or pruned_size_b(model)
    share = size * BILLION / model.params_total
    if share >= 1.0:
        return "size"
    width = max(WIDTH_STEP, round(model.hidden_size * share**0.5 / WIDTH_STEP) * WIDTH_STEP)
    pruned: dict[str, Any] = {
        "name": f"{model.id.rpartition('/')[2]} pruned to {size:.3g}B",
        "params_b": size,
        "layers": model.layers,
        "hidden_size": width,
        "heads": model.heads,
        "kv_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "max_context": model.max_context,
    }
    moved = with_values(scenario, {"model": pruned})
    return "size" if moved is None or not _can_be_built(moved) else ScenarioChange(values={"model": pruned})


def _can_be_built(scenario: Scenario) -> bool:
    """Whether layers and heads leave weights for the MLP."""
    try:
        model_of(scenario)
    except SizingError:
        return False
    return True
