"""The answer of one scenario as far as a decision looks at it: what to buy, how many, and what that costs a month."""

import math
from collections.abc import Callable, Sequence
from operator import not_
from typing import Annotated

from sizing.base.deployed import Deployed
from sizing.base.quantity import Result, quantity
from sizing.base.result import Plan
from sizing.economics.cost import MonthlyCost, month_of_answer, month_of_plan
from sizing.planning.answered import Answer, Planner, as_planned_for
from sizing.planning.mixed import with_mix
from sizing.planning.plan import plan as simulated_plan
from sizing.question.understand import understand
from sizing.scenario.schema import Scenario

SEED = 0
"""Seed of simulations: that of a plan."""

Progress = Callable[[int, int], None]
"""Told how many of all steps are done."""


class Outcome(Result):
    """What one scenario leads to."""

    feasible: Annotated[bool, quantity("Feasible", help="Whether anything considered meets every limit.")]
    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator; empty where nothing serves.")]
    engine: Annotated[str, quantity("Engine", help="Serving engine.")]
    precision: Annotated[str, quantity("Weight precision", help="Number format of the weights.")]
    gpus: Annotated[int | None, quantity("GPUs", "GPUs", "see the plan", "GPUs that run the model, spares included.")]
    gpus_bought: Annotated[
        int | None, quantity("GPUs bought", "GPUs", "see the plan", "GPUs in the whole systems, in use or not.")
    ]
    system: Annotated[str, quantity("System", help="Server, rack or cloud instance the GPUs come in.")]
    systems: Annotated[int | None, quantity("Systems", "systems", "see the plan", "Whole systems to buy or rent.")]
    usd_per_month: Annotated[
        float | None,
        quantity("All costs per month", "USD/month", "see sizing.economics.cost", "None where a price is not known."),
    ]
    low: Annotated[
        float | None, quantity("All costs per month, low", "USD/month", "see sizing.economics.cost", "Lower end.")
    ]
    high: Annotated[
        float | None, quantity("All costs per month, high", "USD/month", "see sizing.economics.cost", "Upper end.")
    ]
    ttft_ms: Annotated[float | None, quantity("TTFT", "ms", "at the asked percentile", "Time to first token.")]
    itl_ms: Annotated[float | None, quantity("ITL", "ms", "at the asked percentile", "Inter-token latency.")]
    e2e_ms: Annotated[float | None, quantity("E2E", "ms", "at the asked percentile", "Time to last token.")]
    power_kw: Annotated[float | None, quantity("Power", "kW", "see the plan", "Power budget.")]
    memory_used: Annotated[
        float | None,
        quantity(
            "Memory in use",
            "fraction",
            "(memory of an instance - free) / memory",
            "Weights, KV cache, activations and runtime.",
        ),
    ]
    limited_by: Annotated[str, quantity("Limited by", help="What binds.")]
    gpu_name: Annotated[
        str, quantity("GPU name", help="What the accelerator is called; of one's own, as the scenario names it.")
    ]
    mixed: Annotated[
        bool,
        quantity(
            "Mixed fleet",
            help="Whether this is several fleets, or prefill and decode on two GPU types: counts and costs are of all "
            "of them, latencies those of the slowest. Left out for one fleet.",
            exclude_if=not_,
        ),
    ] = False

    @property
    def choice(self) -> tuple[str, str, int | None]:
        """What would be ordered: GPU type, format, systems."""
        return self.gpu, self.precision, self.systems


NOTHING = Outcome(
    feasible=False,
    gpu="",
    engine="",
    precision="",
    gpus=None,
    gpus_bought=None,
    system="",
    systems=None,
    usd_per_month=None,
    low=None,
    high=None,
    ttft_ms=None,
    itl_ms=None,
    e2e_ms=None,
    power_kw=None,
    memory_used=None,
    limited_by="",
    gpu_name="",
)


class Answers:
    """Plans and costs of scenarios, each made once; constants of cost do not move a plan."""

    def __init__(self, planner: Planner | None = None) -> None:
        self._planner = planner or _plan
        self._plans: dict[str, Plan] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._advised: dict[str, Outcome] = {}

    def answer(self, scenario: Scenario) -> Answer:
        """The answer of a scenario. Raises InvalidScenario as :func:`sizing.plan`."""
        key = as_planned_for(scenario).model_dump_json()
        if key not in self._plans:
            self._plans[key] = self._planner(scenario)
        return Answer(understand(scenario), self._plans[key])

    def knows(self, answer: Answer) -> None:
        """Take over a plan that was made before."""
        self._plans[as_planned_for(answer.scenario).model_dump_json()] = answer.plan

    def outcome(self, scenario: Scenario) -> Outcome:
        """What the scenario leads to. Raises InvalidScenario for an unknown model, GPU, region or provider."""
        key = scenario.model_copy(update={"name": ""}).model_dump_json()
        if key not in self._outcomes:
            self._outcomes[key] = priced(self.answer(scenario))
        return self._outcomes[key]

    def advised(self, scenario: Scenario) -> Outcome:
        """What its answer advises leads to: of a scenario that asks for a mixed fleet that fleet, where it is cheaper;
        else as :meth:`outcome`. Raises InvalidScenario as that."""
        if scenario.deployment.mixed == 1:
            return self.outcome(scenario)
        key = scenario.model_copy(update={"name": ""}).model_dump_json()
        if key not in self._advised:
            self._advised[key] = advised(self._with_mix(scenario))
        return self._advised[key]

    def _with_mix(self, scenario: Scenario) -> Answer:
        """The answer of a scenario with its mixed fleet, which brief plans are made without."""
        answer = self.answer(scenario)
        if answer.plan.mixed is not None or scenario.measured is not None:
            return answer
        return Answer(answer.question, with_mix(answer.question, answer.plan, SEED))

    def outcome_at(self, scenario: Scenario, rent: float) -> Outcome:
        """The same with everything rented at ``rent`` times its price: hardware is chosen as before, because the
        prices of all of it move alike. Raises InvalidScenario as :meth:`outcome`."""
        return priced(self.answer(scenario), rent)


def priced(answer: Answer, rent: float = 1.0) -> Outcome:
    """What a plan comes to, as far as a decision looks at it; of one fleet, where a mix is asked for, too. Raises
    InvalidScenario as :func:`month_of_plan`."""
    if not answer.plan.feasible or answer.plan.deployment is None:
        return NOTHING
    return _of_plan(answer, answer.plan.deployment, month_of_plan(answer, rent))


def advised(answer: Answer) -> Outcome:
    """What is advised comes to: the mixed fleet, or prefill and decode on two GPU types, where these are cheaper than
    the plan; else as :func:`priced`. Raises InvalidScenario as that."""
    each = answer.fleets if answer.pools is None else (answer.pools,)
    deployed = [(part, part.plan.deployment) for part in each if part.plan.deployment is not None]
    if not deployed:
        return priced(answer)
    month = month_of_answer(answer)
    return _together([_of_plan(part, of_part, month) for part, of_part in deployed])


def _together(each: Sequence[Outcome]) -> Outcome:
    """Several fleets as one answer: sums of what is bought, and the slowest and fullest of them; they all carry the
    cost of the whole."""
    names = ("gpu", "gpu_name", "engine", "precision", "system", "limited_by")
    counts, largest = ("gpus", "gpus_bought", "systems"), ("ttft_ms", "itl_ms", "e2e_ms", "memory_used")
    powers = [one.power_kw for one in each]
    return each[0].model_copy(
        update={
            **{name: " and ".join(dict.fromkeys(getattr(one, name) for one in each)) for name in names},
            **{name: sum(getattr(one, name) for one in each) for name in counts},
            **{
                name: max((v for one in each if (v := getattr(one, name)) is not None), default=None)
                for name in largest
            },
            "power_kw": None if None in powers else math.fsum(power or 0.0 for power in powers),
            "mixed": True,
        }
    )


def _of_plan(answer: Answer, deployed: Deployed, month: MonthlyCost) -> Outcome:
    """A plan at the cost of its month; of two GPU types both are named."""
    plan, latency = answer.plan, answer.plan.latency
    gpus = [one.gpu.id for one in answer.chosen] if answer.of_two_types else [deployed.gpu]
    return Outcome(
        feasible=True,
        gpu=" and ".join(gpus),
        engine=deployed.engine,
        precision=deployed.weight_precision,
        gpus=deployed.gpus,
        gpus_bought=deployed.gpus_bought,
        system=deployed.system,
        systems=deployed.systems,
        power_kw=_power_kw(answer),
        memory_used=_memory_used(plan),
        limited_by=plan.limited_by,
        gpu_name=" and ".join(answer.question.gpu_name(one) for one in gpus),
        **month,
        ttft_ms=None if latency is None else latency.ttft_ms.at_percentile,
        itl_ms=None if latency is None else latency.itl_ms.at_percentile,
        e2e_ms=None if latency is None else latency.e2e_ms.at_percentile,
    )


def _power_kw(answer: Answer) -> float | None:
    """The power budget of a plan, of both pools where these are on two GPU types."""
    plan = answer.plan
    if answer.of_two_types and plan.mixed is not None and plan.mixed.apart is not None:
        return plan.mixed.apart.power_kw
    return None if plan.cost is None else plan.cost.power_kw


def _plan(scenario: Scenario) -> Plan:
    return simulated_plan(scenario, alternatives=0, brief=True)


def _memory_used(answer: Plan) -> float | None:
    each = answer.per_instance
    if each is None or answer.deployment is None:
        return None
    one = answer.deployment
    whole = each.memory_per_gpu_gb * one.tp * one.pp * one.dp
    return 1.0 - each.free_gb / whole if whole > 0 else None
