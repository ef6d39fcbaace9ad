"""What looks odd beside another answer, and why: narrower weights that need more GPUs of the same type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sizing.base.deployed import Deployed, PerInstance
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.execution import execution
from sizing.catalog.precisions import precisions
from sizing.planning.answered import Answer


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of two answers: what was planned, how much an instance carries within the limits, and what binds."""

    name: str
    deployed: Deployed
    gpus_per_instance: int
    max_rps: float
    limited_by: str


@dataclass(frozen=True, kw_only=True)
class Odd:
    """``one`` needs more GPUs than ``other`` of the same type, though its weights are narrower.

    ``widened``: its weights are widened to 16 bit before they are multiplied there, those of the other are not.
    """

    one: Side
    other: Side
    widened: bool

    @property
    def costs_as_much(self) -> bool:
        """Whether as many of the same systems are bought: then GPUs in use decide nothing."""
        mine, others = self.one.deployed, self.other.deployed
        return (mine.system, mine.systems) == (others.system, others.systems)


def odd_formats(named: Sequence[tuple[str, Answer]]) -> tuple[Odd, ...]:
    """Every answer that needs more GPUs than one of wider weights on the same GPU type for the same load, beside the
    one of these that needs the fewest."""
    return tuple(_odd(named))


def _odd(named: Sequence[tuple[str, Answer]]) -> Iterator[Odd]:
    sides = [(_side(name, answer), answer.question.demand.sustained_rps) for name, answer in named]
    for one, load in sides:
        if one is None:
            continue
        better = [
            other
            for other, its_load in sides
            if other is not None and its_load == load and _is_odd(one.deployed, other.deployed)
        ]
        if better:
            other = min(better, key=lambda side: side.deployed.gpus)
            widened = _widens(one.deployed) and not _widens(other.deployed)
            yield Odd(one=one, other=other, widened=widened)


def _side(name: str, answer: Answer) -> Side | None:
    plan = answer.plan
    each: PerInstance | None = plan.per_instance
    if plan.deployment is None or each is None or not plan.feasible:
        return None
    return Side(
        name=name,
        deployed=plan.deployment,
        gpus_per_instance=plan.deployment.gpus // plan.deployment.instances,
        max_rps=each.max_rps,
        limited_by=plan.limited_by,
    )


def _is_odd(one: Deployed, other: Deployed) -> bool:
    """Whether ``one`` has narrower weights, and yet more GPUs of the same type."""
    return one.gpu == other.gpu and one.gpus > other.gpus and _bytes(one) < _bytes(other)


def _bytes(deployed: Deployed) -> float:
    known = precisions().get(deployed.weight_precision)
    return 0.0 if known is None else known.bytes


def _widens(deployed: Deployed) -> bool:
    """Whether the engine widens the weights on the GPU; of an accelerator outside the catalogue that is not stated."""
    gpu, engine, precision = (
        gpus().get(deployed.gpu),
        engines().get(deployed.engine),
        precisions().get(deployed.weight_precision),
    )
    if gpu is None or engine is None or precision is None:
        return False
    return execution(engine, gpu, precision) == "weight_only"
