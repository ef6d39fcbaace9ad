"""Scenarios side by side: what differs, how far the answers are apart, and which difference drives that most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from sizing.base.checks import whole_number
from sizing.base.errors import InvalidScenario
from sizing.base.frame import cells_of, frame_of
from sizing.base.quantity import Result, quantity
from sizing.base.shapley import weighted_coalitions
from sizing.decision.inputs import LOADS
from sizing.decision.keep_hardware import says_hardware
from sizing.decision.keys import Values, only, values_of, with_values
from sizing.decision.outcome import Answers, Outcome
from sizing.planning.answered import Answer, question_of
from sizing.scenario.schema import Scenario

if TYPE_CHECKING:
    import pandas as pd

MOST_COMPARED = 5
EXACT_TO = 4
"""Differences up to which every order of swapping them is tried (Shapley values, 2^n plans); of more each is swapped
alone, into the first scenario and out of the other."""

HARDWARE = "deployment"
"""What drives a difference where several choices of hardware are swapped as one."""

NO_HARDWARE = frozenset(
    f"{HARDWARE}.{name}"
    for name in ("spare_instances", "max_utilization", "confidence", "objective", "step_times", "routing")
)
"""Keys of the deployment that choose no hardware."""

NOT_COMPARED = frozenset({"name", "schema_version"})


class Difference(Result):
    """One scenario key that is not the same everywhere."""

    key: Annotated[str, quantity("Input", help="Scenario key.")]
    values: Annotated[tuple[Any, ...], quantity("Values", help="One per scenario; None where it says nothing.")]


class Driver(Result):
    """What one difference does to the cost, or to GPUs where a cost is not known."""

    key: Annotated[str, quantity("Input", help="Scenario key.")]
    usd_per_month: Annotated[
        float | None, quantity("Cost per month", "USD/month", "mean over orders of swapping", "Its part.")
    ]
    gpus: Annotated[float | None, quantity("GPUs", "GPUs", "mean over orders of swapping", "Its part.")]


class Compared(Result):
    """One scenario beside the first."""

    name: Annotated[str, quantity("Scenario", help="As it is called.")]
    outcome: Annotated[Outcome, quantity("Answer", help="What it leads to.")]
    usd_more: Annotated[
        float | None, quantity("Cost, difference", "USD/month", "this - the first", "None where not known.")
    ]
    gpus_more: Annotated[
        int | None, quantity("GPUs, difference", "GPUs", "this - the first", "None where nothing serves.")
    ]
    drivers: Annotated[
        tuple[Driver, ...], quantity("Drivers", help="The largest first; they add up where all orders were tried.")
    ]
    exact: Annotated[
        bool, quantity("All orders tried", help="Whether drivers are Shapley values; else swaps one at a time.")
    ]


class Comparison(Result):
    """Two to five scenarios side by side, with what drives their difference."""

    differences: Annotated[
        tuple[Difference, ...], quantity("Differences", help="Inputs that are not the same everywhere.")
    ]
    scenarios: Annotated[
        tuple[Compared, ...], quantity("Scenarios", help="The first is what the others are compared with.")
    ]

    def to_frame(self) -> pd.DataFrame:
        """The scenarios, a row each: what it is called, what it leads to (USD and kW, latencies in ms at the asked
        percentile), and how far that is from the first. ``attrs["units"]`` has the unit of each column."""
        return frame_of([cells_of(one) | cells_of(one.outcome) for one in self.scenarios], Compared, Outcome)


def undercut_by(comparison: Comparison) -> tuple[Compared, ...]:
    """Scenarios that cost less than the first on a GPU type which the first may have, too, for no less load.

    That can be because a plan ranks hardware by its price, and a cost counts power and operation with it.
    """
    first = comparison.scenarios[0]
    considered = {d.key: d.values[0] for d in comparison.differences}.get("deployment.gpus") or ()
    return tuple(
        one
        for one in comparison.scenarios[1:]
        if one.usd_more is not None
        and one.usd_more < 0
        and one.outcome.gpu != first.outcome.gpu
        and (not considered or one.outcome.gpu in considered)
        and {driver.key for driver in one.drivers} <= {"deployment.gpus", *LOADS}
        and all(_no_less(d, comparison.scenarios.index(one)) for d in comparison.differences if d.key in LOADS)
    )


def _no_less(difference: Difference, place: int) -> bool:
    first, other = difference.values[0], difference.values[place]
    return first is not None and other is not None and other >= first


def compare(
    compared: Sequence[Scenario | Answer],
    answers: Answers | None = None,
    *,
    hardware_as_one: bool = False,
    keeping: Collection[int] = (),
) -> Comparison:
    """Two to five scenarios, or answers that are known already, beside the first of them: all costs in USD per month,
    of the mixed fleet where one is asked for and cheaper.

    Which difference drives the cost: Shapley values over every order of swapping them, up to :data:`EXACT_TO`;
    ``hardware_as_one`` swaps what says which hardware is considered together, as one choice. ``keeping``: places of
    those that are asked of the hardware of the first, which is then no difference. Raises InvalidScenario for fewer
    than two, more than five, or unknown names.
    """
    if not 2 <= len(compared) <= MOST_COMPARED:
        raise InvalidScenario([f"Two to {MOST_COMPARED} scenarios can be compared, not {len(compared)}."])
    answers, scenarios = answers or Answers(), [question_of(one).scenario for one in compared]
    for one in compared:
        if isinstance(one, Answer):
            answers.knows(one)
    known = [values_of(scenario) for scenario in scenarios]
    keys = sorted({key for values in known for key in values} - NOT_COMPARED)
    differing = [key for key in keys if any(v.get(key) != known[0].get(key) for v in known[1:])]
    outcomes = [answers.advised(scenario) for scenario in scenarios]
    return Comparison(
        differences=tuple(Difference(key=k, values=tuple(v.get(k) for v in known)) for k in differing),
        scenarios=tuple(
            _compared(scenarios, outcomes, n, answers, hardware_as_one=hardware_as_one, keeps=n in keeping)
            for n in range(len(scenarios))
        ),
    )


def _compared(
    scenarios: Sequence[Scenario],
    outcomes: Sequence[Outcome],
    n: int,
    answers: Answers,
    *,
    hardware_as_one: bool,
    keeps: bool,
) -> Compared:
    first, this = outcomes[0], outcomes[n]
    drivers, exact = tuple[Driver, ...](), True
    if n:
        keys = {*values_of(scenarios[0]), *values_of(scenarios[n])} if keeps else ()
        kept = frozenset(filter(says_hardware, keys))
        drivers, exact = _drivers(scenarios[0], scenarios[n], answers, kept, hardware_as_one=hardware_as_one)
    return Compared(
        name=scenarios[n].name,
        outcome=this,
        usd_more=_less(this.usd_per_month, first.usd_per_month),
        gpus_more=None if this.gpus is None or first.gpus is None else this.gpus - first.gpus,
        drivers=drivers,
        exact=exact,
    )


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _drivers(
    first: Scenario, other: Scenario, answers: Answers, kept: frozenset[str], *, hardware_as_one: bool
) -> tuple[tuple[Driver, ...], bool]:
    """The part of every difference but those in ``kept``, and whether these are Shapley values."""
    groups = _groups(values_of(first), values_of(other), kept, hardware_as_one=hardware_as_one)
    worth = _Swapped(first, other, answers, groups, kept)
    exact = whole_number("Differences", len(groups), 0, 10_000) <= EXACT_TO
    parts = [(key, _part(worth, key, list(groups), exact=exact)) for key in groups]
    drivers = [Driver(key=key, usd_per_month=usd, gpus=gpus) for key, (usd, gpus) in parts]
    return tuple(sorted(drivers, key=lambda d: -abs(d.usd_per_month or d.gpus or 0.0))), exact


def _groups(first: Values, other: Values, kept: frozenset[str], *, hardware_as_one: bool) -> dict[str, frozenset[str]]:
    """The differing keys but those in ``kept``, by the name of what is swapped with them: themselves, or one choice of
    hardware."""
    keys = sorted(key for key in {*first, *other} - NOT_COMPARED - kept if first.get(key) != other.get(key))
    choice = [key for key in keys if key.startswith(f"{HARDWARE}.") and key not in NO_HARDWARE]
    if not hardware_as_one or len(choice) < 2:
        return {key: frozenset({key}) for key in keys}
    return {HARDWARE: frozenset(choice)} | {key: frozenset({key}) for key in keys if key not in choice}


class _Swapped:
    """Outcomes of the first scenario with some of its values taken from the other one, and ``kept`` with any of them:
    what keeps the hardware of the first changes nothing of it alone."""

    def __init__(
        self,
        first: Scenario,
        other: Scenario,
        answers: Answers,
        groups: Mapping[str, frozenset[str]],
        kept: frozenset[str],
    ) -> None:
        self._first, self._other, self._answers, self._groups = first, values_of(other), answers, groups
        self._kept = kept
        self._known: dict[frozenset[str], Outcome | None] = {}

    def __call__(self, names: frozenset[str]) -> Outcome | None:
        """None where these values cannot stand together or nothing serves them."""
        if names not in self._known:
            keys = frozenset().union(*(self._groups[name] for name in names), self._kept if names else ())
            scenario = with_values(self._first, only(self._other, keys))
            outcome = None if scenario is None else self._answers.advised(scenario)
            self._known[names] = outcome if outcome is not None and outcome.feasible else None
        return self._known[names]


Part = tuple[float | None, float | None]


def _part(worth: _Swapped, key: str, keys: list[str], *, exact: bool) -> Part:
    """Mean of what swapping ``key`` adds: over all sets of the others with Shapley's weights, else over none and all of
    them; in USD and in GPUs, None where an answer is missing."""
    others = [k for k in keys if k != key]
    sets = list(weighted_coalitions(key, keys)) if exact else [(frozenset(), 0.5), (frozenset(others), 0.5)]
    usd, gpus = 0.0, 0.0
    usd_known = True
    for some, weight in sets:
        before, after = worth(some), worth(some | {key})
        if before is None or after is None or before.gpus is None or after.gpus is None:
            return None, None
        gpus += weight * (after.gpus - before.gpus)
        more = _less(after.usd_per_month, before.usd_per_month)
        usd_known &= more is not None
        usd += weight * (more or 0.0)
    return (usd if usd_known else None), gpus
