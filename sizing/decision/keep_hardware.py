"""What-ifs on the hardware of the plan: how many more of the same GPU, engine, formats and layout, then what else.

A customer who has decided on hardware asks how many more of it another load takes; what a plan would choose anew is the
second question.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from sizing.base.choices import BY_COST
from sizing.decision.inputs import LOADS
from sizing.decision.keys import values_of, with_values
from sizing.decision.outcome import Answers, Outcome
from sizing.explore.pinned import pinned_to
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario

MovedInput = Literal["load", "input_tokens", "output_tokens", "ttft_ms", "itl_ms", "e2e_ms", "cached"]
"""Inputs that a what-if moves, each by a factor."""

LIMITS: tuple[MovedInput, ...] = ("ttft_ms", "itl_ms", "e2e_ms")

_KEYS: Mapping[MovedInput, str] = MappingProxyType(
    {
        "input_tokens": "workload.input_tokens",
        "output_tokens": "workload.output_tokens",
        "cached": "workload.prefix_cached_tokens",
        **{name: f"limits.{name}" for name in LIMITS},
    }
)
"""Scenario keys of the inputs that have one whatever the scenario says; the load has the one that it was given by."""

QuestionName = Literal["twice_the_load", "longer_answers", "tighter_limits", "server_fails", "fewer_cache_hits"]

FACTORS: Mapping[QuestionName, Mapping[MovedInput, float]] = MappingProxyType(
    {
        "twice_the_load": {"load": 2.0},
        "longer_answers": {"output_tokens": 1.5},
        "tighter_limits": dict.fromkeys(LIMITS, 0.75),
        "server_fails": {},
        "fewer_cache_hits": {"cached": 0.8},
    }
)
"""What customers ask once they have seen a plan. Chosen: as far as traffic moves within a year."""

OF_A_MEASURED_RECORD: tuple[MovedInput, ...] = ("load", *LIMITS)
"""What moves the answer of a measured record, which was made at its own lengths."""

_RELAID = ("tp", "pp", "ep", "dp", "serving", "prefill", "decode", "batch_limits")
"""Keys of a deployment that say how instances are laid out."""

_HARDWARE = frozenset(
    {"gpus", "precisions", "custom_gpus", "engines", "kv_precisions", "speculation", "speculative_decoding", *_RELAID}
)
"""Keys of a deployment that :func:`same_hardware` sets."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One what-if: ``same`` is the answer on the plan's own hardware, ``other`` what would be chosen anew.

    ``other`` is None where that is the same choice or a dearer one, or where nothing may be chosen: for a measured
    record. ``moved_scenario`` is what is asked, ``kept_scenario`` the same on the plan's hardware alone. ``relaid``:
    the same GPU, engine and formats serve it in another layout alone. ``why_not`` and ``relaxation`` say why they do
    not serve it in any and what would let them, both empty where they do.
    """

    now: Outcome
    same: Outcome
    other: Outcome | None
    moved_scenario: Scenario
    kept_scenario: Scenario
    relaid: bool = False
    why_not: str = ""
    relaxation: str = ""


def same_hardware(answer: Answer) -> Scenario:
    """The scenario of an answer with the plan's GPU, engine, formats and layout alone; as it is where nothing is
    deployed, and with a measured record, which holds for its own deployment anyway."""
    deployed = answer.plan.deployment
    if deployed is None or answer.scenario.measured is not None:
        return answer.scenario
    return with_asked_gpus(pinned_to(deployed, answer.scenario))


def with_asked_gpus(scenario: Scenario) -> Scenario:
    """The scenario without accelerators of its own that it does not consider: a form that names GPUs says no others.
    One that a benchmark, a price or a stage names stays: what they say would be of nothing."""
    deployment = scenario.deployment
    named = {*deployment.gpus, *_spoken_of(scenario)}
    considered = [gpu for gpu in deployment.custom_gpus if not deployment.gpus or gpu.id in named]
    return scenario.model_copy(update={"deployment": deployment.model_copy(update={"custom_gpus": considered})})


def _spoken_of(scenario: Scenario) -> Iterator[str | None]:
    """The accelerators that a benchmark, prices and stages of a pipeline are of, as the scenario names them."""
    prices = scenario.prices
    yield from (one.gpu for one in (*prices.negotiated.gpu_hours, *prices.listed.gpu_hours))
    yield from (stage.gpu for stage in scenario.pipeline)
    yield prices.gpu
    yield scenario.benchmark.gpu if scenario.benchmark is not None else None


def says_hardware(key: str) -> bool:
    """Whether :func:`same_hardware` sets a scenario key, or one within it."""
    section, _, name = key.partition(".")
    return section == "deployment" and name.partition(".")[0] in _HARDWARE


def moved(scenario: Scenario, factors: Mapping[MovedInput, float]) -> Scenario | None:
    """The scenario with inputs at so many times their value; None where these cannot stand together.

    A longer prompt has a longer cached part: the share that is found in the cache stays. An input that the scenario
    does not have is left out.
    """
    return with_values(scenario, dict(_values(scenario, factors)))


def now(scenario: Scenario, name: MovedInput) -> float | None:
    """The value of an input as people say it: requests/s or users, tokens (the median), ms; None without one."""
    if name in ("input_tokens", "output_tokens") and scenario.workload.sessions is None:
        length = getattr(scenario.workload, name)
        return float(getattr(length, "p50", length))
    known = values_of(scenario)
    value = known.get(_key(known, name))
    if isinstance(value, dict):
        value = max(value["rps"])
    return float(value) if value else None


def questions(scenario: Scenario) -> tuple[QuestionName, ...]:
    """The usual what-ifs that mean something here: without a cached part there are no fewer hits."""
    movable, measured = movable_inputs(scenario), scenario.measured is not None
    return tuple(
        name
        for name, factors in FACTORS.items()
        if any(one in movable for one in factors) or (name == "server_fails" and not measured)
    )


def movable_inputs(scenario: Scenario) -> tuple[MovedInput, ...]:
    """The inputs that a scenario has and that move its answer."""
    names = OF_A_MEASURED_RECORD if scenario.measured is not None else get_args(MovedInput)
    return tuple(name for name in names if now(scenario, name))


def what_if(answer: Answer, name: QuestionName, answers: Answers) -> Kept | None:
    """One of the usual what-ifs; None where it cannot be asked. Raises InvalidScenario as :func:`sizing.plan`."""
    return survives_a_server(answer, answers) if name == "server_fails" else at(answer, FACTORS[name], answers)


def at(answer: Answer, factors: Mapping[MovedInput, float], answers: Answers) -> Kept | None:
    """What inputs at so many times their value take; None where the values cannot stand together.

    Raises InvalidScenario as :func:`sizing.plan`, as for a prompt that is longer than the model's context.
    """
    moved_scenario = moved(answer.scenario, factors)
    if moved_scenario is None:
        return None
    kept = moved(same_hardware(answer), factors)
    assert kept is not None, "hardware leaves the other values as they are"
    return _kept(answer, moved_scenario, kept, answers)


def _kept(answer: Answer, moved_scenario: Scenario, kept: Scenario, answers: Answers) -> Kept:
    """What is asked, of the plan's hardware and of any; ``kept``: the same of the plan's hardware alone."""
    same, anew = answers.outcome(kept), None if moved_scenario.measured else answers.outcome(moved_scenario)
    relaid = None if same.feasible or moved_scenario.measured else with_values(kept, _layout_of(answer.scenario))
    if relaid is not None and answers.outcome(relaid).feasible:
        kept, same = relaid, answers.outcome(relaid)
    nearest = None if same.feasible else next(iter(answers.answer(kept).plan.excluded), None)
    return Kept(
        moved_scenario=moved_scenario,
        kept_scenario=kept,
        now=answers.outcome(answer.scenario),
        same=same,
        other=None if anew is None or _no_better(anew, same, answer.scenario) else anew,
        relaid=kept is relaid,
        why_not="" if nearest is None else nearest.reason,
        relaxation="" if nearest is None else nearest.relaxation,
    )


def survives_a_server(answer: Answer, answers: Answers) -> Kept | None:
    """The plan with a server to lose: what ``deployment.redundancy: system`` asks of the same hardware, and of any.

    Of a scenario that asks for that already, or for a site to lose, what it is. None for a measured record, of whose
    instances nothing is known. Raises InvalidScenario as :func:`sizing.plan`.
    """
    if answer.scenario.measured is not None:
        return None
    return _kept(
        answer, _with_a_server_to_lose(answer.scenario), _with_a_server_to_lose(same_hardware(answer)), answers
    )


def _with_a_server_to_lose(scenario: Scenario) -> Scenario:
    deployment = scenario.deployment
    if deployment.redundancy != "none":
        return scenario
    return scenario.model_copy(update={"deployment": deployment.model_copy(update={"redundancy": "system"})})


def _no_better(other: Outcome, same: Outcome, scenario: Scenario) -> bool:
    """Whether a choice anew is none, the same again, or dearer where cost is what it was chosen by."""
    if not other.feasible:
        return True
    if _bought(other) == _bought(same):
        return True
    by_cost = scenario.deployment.objective in BY_COST
    anew, kept = other.usd_per_month, same.usd_per_month
    return same.feasible and by_cost and anew is not None and kept is not None and anew >= kept


def _bought(one: Outcome) -> tuple[str, str, str, int | None]:
    return one.gpu, one.engine, one.precision, one.gpus


def _layout_of(scenario: Scenario) -> dict[str, Any]:
    """The keys of a layout as a scenario has them: left open, unless it says something."""
    deployment = scenario.deployment.model_dump(mode="json")
    return {f"deployment.{name}": deployment[name] for name in _RELAID}


def _key(known: Mapping[str, Any], name: MovedInput) -> str:
    """The scenario key of an input; the answers of sessions have one of their own."""
    if name == "load":
        return _load_key(known)
    answer = "workload.sessions.answer_tokens"
    return answer if name == "output_tokens" and answer in known else _KEYS[name]


def _load_key(known: Mapping[str, Any]) -> str:
    """The key that the load was given by; that of the arrivals where a trace alone has it, empty without one."""
    given = next((key for key in LOADS if key in known), "")
    arrivals = known.get("workload.arrivals")
    return given or ("workload.arrivals" if isinstance(arrivals, dict) and "rps" in arrivals else "")


def _values(scenario: Scenario, factors: Mapping[MovedInput, float]) -> Iterator[tuple[str, Any]]:
    known = values_of(scenario)
    cached = factors.get("cached", 1.0) * factors.get("input_tokens", 1.0)
    for name, factor in {**factors, "cached": cached}.items():
        key = _key(known, name)
        if factor != 1.0 and known.get(key):
            yield key, _times(known[key], factor)


def _times(value: Any, factor: float) -> Any:
    """A number, both percentiles of a length, the groups of a trace of lengths or the rates of one of arrivals."""
    if not isinstance(value, dict):
        return float(value) * factor
    numbers = {name: value[name] for name in ("p50", "p95", "groups", "rps") if name in value}
    return value | {
        name: [one * factor for one in given] if isinstance(given, list) else given * factor
        for name, given in numbers.items()
    }
