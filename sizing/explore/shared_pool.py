"""Several models on one pool of shared systems: which hardware each runs on, so that the whole systems cost least.

Each workload is sized on its own (limits, spares), as a plan would: instances that do both prefill and decode, or a
pool for each, whichever takes fewest GPUs. Its instances then share systems with those of the others. An integer
programme chooses one kind of system for each workload and the number of systems of each kind (``scipy.optimize.milp``,
HiGHS).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from sizing.base.arrays import ROUNDING
from sizing.base.deployed import Deployed
from sizing.base.errors import InvalidScenario
from sizing.base.format import count, counted, usd
from sizing.base.quantity import Result, quantity
from sizing.base.units import HOURS_PER_MONTH
from sizing.catalog.gpu_rows import gpus as catalogue
from sizing.catalog.slices import profiles_of
from sizing.planning.compose import as_planned
from sizing.planning.settled import counted_on
from sizing.prices.hardware import HardwareOption
from sizing.prices.slice_packing import cards_for
from sizing.question.understand import Question, understand
from sizing.scenario.schema import Scenario
from sizing.search.all_deployments import AllDeployments
from sizing.search.screen import all_offers
from sizing.search.serving import screened

PoolObjective = Literal["cost", "systems"]
MAX_WORKLOADS = 50
"""Workloads of a pool at most. Chosen: because the integer programme answers within seconds up to there."""
TRIED = 200
"""Deployments of each GPU type that are looked at for every kind of system, those with the fewest GPUs. Chosen: because
what needs more GPUs hardly ever leaves fewer of a system idle."""
TIE_BREAK = 1e-6
"""Weight of a GPU in use against a system, so that among equal pools the one with fewer busy GPUs is chosen."""
PRICE_TIE = 1e-3
"""Weight of the dearest system's price against a system, where the fewest systems are asked for. Chosen: small, so that
no price makes up for a system, and larger than what the solver leaves undecided."""
TOLERANCE = 1e-7
"""What the integer programme may exceed a system by. Chosen: because its solver works to about so much."""


class Placed(Result):
    """One workload of the pool: what serves it and where."""

    scenario: Annotated[str, quantity("Workload", help="Name of the scenario.")]
    deployment: Annotated[
        Deployed, quantity("Deployment", help="Instances of this workload; systems are shared with others.")
    ]
    configuration: Annotated[
        str, quantity("Configuration", help="GPU, engine, precision and parallelism of its instances.")
    ]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "instances x GPUs per instance", "GPUs this workload uses.")]


class PoolSystem(Result):
    """One kind of system in the pool."""

    system: Annotated[str, quantity("System", help="Server, rack or instance type.")]
    systems: Annotated[int, quantity("Systems", "systems", "integer programme", "Whole systems of this kind.")]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "systems x GPUs per system", "GPUs in these systems.")]
    gpus_used: Annotated[int, quantity("GPUs used", "GPUs", "sum over workloads", "GPUs that serve a workload.")]
    usd_per_month: Annotated[
        float | None, quantity("Hardware per month", "USD/month", "systems x USD/h x 730", "List cost.")
    ]


class SharedPool(Result):
    """Systems that several workloads share, with what serves each."""

    answer: Annotated[str, quantity("Answer", help="The pool in one sentence.")]
    feasible: Annotated[bool, quantity("Feasible", help="Whether every workload can be served.")]
    placed: Annotated[tuple[Placed, ...], quantity("Workloads", help="What serves each workload.")]
    systems: Annotated[tuple[PoolSystem, ...], quantity("Systems", help="What to buy or rent.")]
    usd_per_month: Annotated[
        float | None,
        quantity("Hardware per month", "USD/month", "sum over systems", "List cost; none when a price is unknown."),
    ]
    separate_systems: Annotated[
        int,
        quantity(
            "Systems without sharing",
            "systems",
            "each workload on systems of its own",
            "What the same workloads need apart, on the same hardware.",
        ),
    ]
    unserved: Annotated[
        tuple[str, ...], quantity("Not served", help="Workloads nothing in the catalogue serves, and why.")
    ]


@dataclass(frozen=True)
class _Choice:
    """One workload on one kind of system: place among its deployments, whole GPUs that it takes out of the systems;
    where it runs on slices, ``slices`` of kind ``part`` of that ``card``, seven of seven are one."""

    workload: int
    kind: int
    place: int
    gpus: float
    card: str
    part: str
    slices: int
    per_card: int


@dataclass(frozen=True)
class _Workload:
    scenario: Scenario
    question: Question
    among: AllDeployments

    def gpu(self, place: int) -> str:
        """Catalogue id of the GPU of a deployment."""
        one = self.among[place]
        return one.kind.gpu(one.k)

    def kinds(self, place: int) -> tuple[tuple[int, int], ...]:
        """(Instances, GPUs of one) of each kind of instance of a deployment, spares counted."""
        one = self.among[place]
        return one.kind.gpus_of_kinds(one.k)

    def deployed(self, place: int, kind: HardwareOption, systems: int) -> Deployed:
        """What to deploy in ``systems`` systems of a kind."""
        return as_planned(self.among[place]).deployed(kind, systems)


def place(scenarios: Sequence[Scenario], objective: PoolObjective = "cost") -> SharedPool:
    """The cheapest (or smallest) pool of whole systems that serves all scenarios, each within its own limits.

    minimise sum_s cost_s y_s subject to sum_s x_ws = 1 and sum_w gpus_ws x_ws <= GPUs_s y_s, x binary, y integer.
    Raises InvalidScenario for no or more than 50 workloads.
    """
    if not 1 <= len(scenarios) <= MAX_WORKLOADS:
        raise InvalidScenario([f"A pool holds 1 to {MAX_WORKLOADS} workloads, not {len(scenarios)}."])
    workloads = [_sized(s) for s in scenarios]
    unserved = tuple(f"{w.scenario.name}: nothing within its limits" for w in workloads if not len(w.among.gpus))
    if unserved:
        return SharedPool(
            answer="Not every workload can be served: " + "; ".join(unserved) + ".",
            feasible=False,
            placed=(),
            systems=(),
            usd_per_month=None,
            separate_systems=0,
            unserved=unserved,
        )
    kinds, choices = _choices(workloads, objective)
    chosen, systems = _solve(len(workloads), kinds, choices, objective)
    return _pool(workloads, kinds, chosen, _packed(kinds, chosen, systems))


def _packed(kinds: Sequence[HardwareOption], chosen: Sequence[_Choice], systems: Sequence[int]) -> list[int]:
    """The systems of each kind, fewer where slices of several workloads fit together better than their shares add up
    to: a card of seven slices holds three of two and one more, which is 3/3 + 1/7."""
    packed = []
    for s, (kind, number) in enumerate(zip(kinds, systems, strict=True)):
        mine = [c for c in chosen if c.kind == s]
        parts = [c for c in mine if c.part in profiles_of(c.card)]
        wanted: dict[str, dict[str, int]] = {}
        for c in parts:
            counts = wanted.setdefault(c.card, {})
            counts[c.part] = counts.get(c.part, 0) + c.slices
        whole = sum(c.gpus for c in mine if c not in parts)
        cards = whole + sum(cards_for(card, counts) for card, counts in wanted.items())
        packed.append(min(number, -(-int(np.ceil(cards - ROUNDING)) // kind.gpus)) if parts else number)
    return packed


def _sized(scenario: Scenario) -> _Workload:
    question = counted_on(understand(scenario))
    return _Workload(scenario, question, screened(question).deployments)


def _choices(workloads: Sequence[_Workload], objective: PoolObjective) -> tuple[list[HardwareOption], list[_Choice]]:
    """Kinds of systems on offer and, for each workload and kind, its smallest deployment."""
    kinds: list[HardwareOption] = []
    number: dict[str, int] = {}
    choices = []
    for w, work in enumerate(workloads):
        offers = dict(zip((g.id for g in work.question.gpus), all_offers(work.question).by_gpu, strict=True))
        smallest: dict[str, list[int]] = {}
        for k in work.among.smallest().tolist():
            smallest.setdefault(work.gpu(k), []).append(k)
        for gpu, places in smallest.items():
            for offer in offers[gpu]:
                if offer.usd_per_hour is None and objective == "cost":
                    continue
                kind = number.setdefault(f"{offer.kind}:{offer.id}", len(kinds))
                known = catalogue().get(gpu)
                per_card = known.slices_per_card if known else 1
                if kind == len(kinds):
                    kinds.append(replace(offer, gpus=offer.gpus // per_card))
                gpus, n = min((_taken(work, k, offer), n) for n, k in enumerate(places[:TRIED]))
                card, part = (known.slice_of, known.slice_name) if known else ("", "")
                choices.append(_Choice(w, kind, places[n], gpus / per_card, card, part, round(gpus), per_card))
    return kinds, choices


def _taken(work: _Workload, place: int, offer: HardwareOption) -> float:
    """GPUs that a deployment takes out of systems of this kind, those it strands included."""
    taken = 0.0
    for instances, each in work.kinds(place):
        spanned = -(-each // offer.gpus) * offer.gpus  # of an instance that is larger than a system
        taken += instances * (offer.gpus / (offer.gpus // each) if each <= offer.gpus else spanned)
    return taken


def _solve(
    workloads: int, kinds: Sequence[HardwareOption], choices: Sequence[_Choice], objective: PoolObjective
) -> tuple[list[_Choice], list[int]]:
    """The integer programme; variables are x (choices) then y (systems of each kind)."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # takes a quarter of a second, and few pages need it

    missing = set(range(workloads)) - {c.workload for c in choices}
    if missing:
        raise InvalidScenario(
            [
                f"No price is known for any hardware that serves workload {min(missing) + 1}: enter a price "
                "or minimise systems instead of cost."
            ]
        )
    n, m = len(choices), len(kinds)
    usd = [k.usd_per_hour for k in kinds]
    dearest = max((each for each in usd if each is not None), default=0.0) or 1.0
    price = [each or 0.0 for each in usd]
    if objective == "systems":  # of as few, the cheapest; what has no price last
        price = [1.0 + PRICE_TIE * (2.0 if each is None else each / dearest) for each in usd]
    scale = max(price) or 1.0
    weights = np.array([TIE_BREAK * c.gpus for c in choices] + [p / scale for p in price])
    once = np.zeros((workloads, n + m))
    room = np.zeros((m, n + m))
    for j, c in enumerate(choices):
        once[c.workload, j] = 1.0
        room[c.kind, j] = c.gpus
    for s, kind in enumerate(kinds):
        room[s, n + s] = -float(kind.gpus)
    upper = np.array([1.0] * n + [np.inf] * m)
    solved = milp(
        weights,
        integrality=np.ones(n + m, dtype=np.int64),
        bounds=Bounds(np.zeros(n + m), upper),
        constraints=[LinearConstraint(once, 1.0, 1.0), LinearConstraint(room, -np.inf, TOLERANCE)],
        options={"mip_rel_gap": 0.1 * TIE_BREAK},
    )
    assert solved.x is not None, solved.message
    values = np.round(solved.x).astype(int)
    return [c for j, c in enumerate(choices) if values[j]], [int(v) for v in values[n:]]


def _pool(
    workloads: Sequence[_Workload], kinds: Sequence[HardwareOption], chosen: Sequence[_Choice], counts: Sequence[int]
) -> SharedPool:
    by_workload = sorted(chosen, key=lambda choice: choice.workload)
    alone = [-(-int(np.ceil(c.gpus - ROUNDING)) // kinds[c.kind].gpus) for c in by_workload]
    placed = tuple(_placed(workloads[c.workload], c, kinds[c.kind], n) for c, n in zip(by_workload, alone, strict=True))
    used = dict.fromkeys(range(len(kinds)), 0.0)
    for choice, workload in zip(by_workload, placed, strict=True):
        used[choice.kind] += workload.gpus / choice.per_card
    systems = tuple(
        _system(kind, n, min(int(np.ceil(used[s] - ROUNDING)), n * kind.gpus))
        for s, (kind, n) in enumerate(zip(kinds, counts, strict=True))
        if n
    )
    costs = [s.usd_per_month for s in systems]
    total = None if any(c is None for c in costs) else sum(c for c in costs if c is not None)
    return SharedPool(
        answer=_answer(len(placed), systems, total, sum(alone)),
        feasible=True,
        placed=placed,
        systems=systems,
        usd_per_month=total,
        separate_systems=sum(alone),
        unserved=(),
    )


def _placed(work: _Workload, choice: _Choice, kind: HardwareOption, systems_alone: int) -> Placed:
    return Placed(
        scenario=work.scenario.name,
        deployment=work.deployed(choice.place, replace(kind, gpus=kind.gpus * choice.per_card), systems_alone),
        configuration=work.among[choice.place].label,
        gpus=int(work.among.gpus[choice.place]),
    )


def _system(kind: HardwareOption, number: int, gpus_used: int) -> PoolSystem:
    return PoolSystem(
        system=kind.name,
        systems=number,
        gpus=number * kind.gpus,
        gpus_used=gpus_used,
        usd_per_month=None if kind.usd_per_hour is None else number * kind.usd_per_hour * HOURS_PER_MONTH,
    )


def _answer(workloads: int, systems: Sequence[PoolSystem], usd_per_month: float | None, apart: int) -> str:
    parts = " and ".join(f"{count(s.systems)} x {s.system}" for s in systems)
    price = f", for {usd(usd_per_month)} a month" if usd_per_month is not None else ""
    together = sum(s.systems for s in systems)
    verb = "serves" if together == 1 else "serve"
    every = "both" if workloads == 2 else f"all {workloads}" if workloads > 1 else "the one"
    load = "workload" if workloads == 1 else "workloads together"
    if workloads == 1:
        return f"{parts} {verb} {every} {load}{price}."
    alone = "as many systems" if apart == together else counted(apart, "system")
    return f"{parts} {verb} {every} {load}{price}; apart they would need {alone}."
