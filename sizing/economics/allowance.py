"""What a plan may need and cost at most, for a check in continuous integration: kept or exceeded, and by how much."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from sizing.base.errors import InvalidScenario, nearest_names
from sizing.base.quantity import Result, quantity
from sizing.base.result import Plan
from sizing.economics.results import CostAnswer
from sizing.scenario.file import MAX_FILE_BYTES, parse, problems_of, text_of
from sizing.scenario.part import ScenarioPart

Most = Annotated[float, Field(ge=0, allow_inf_nan=False)]

COUNTS = ("gpus", "gpus_high", "systems")
"""Figures that count; the others have two decimals."""

AllowedName = Literal[
    "gpus", "gpus_high", "systems", "power_kw", "usd_per_month", "usd_per_month_high", "usd_per_million_output_tokens"
]


class Allowance(ScenarioPart):
    """The most of each that a plan may have; left out: any. Money is that of ``python -m sizing cost``."""

    gpus: Most | None = None
    gpus_high: Most | None = None
    systems: Most | None = None
    power_kw: Most | None = None
    usd_per_month: Most | None = None
    usd_per_month_high: Most | None = None
    usd_per_million_output_tokens: Most | None = None


class AllowedLine(Result):
    """One figure of a plan beside what is allowed."""

    name: Annotated[AllowedName, quantity("What", help="Key of the file of limits.")]
    allowed: Annotated[float, quantity("Allowance", "see what", "asked", "At most.")]
    planned: Annotated[
        float | None, quantity("Planned", "see what", "see plan and cost", "None: not known, or not bounded.")
    ]
    kept: Annotated[bool, quantity("Kept", help="Whether the plan stays within; what is not known does not.")]


class AllowanceCheck(Result):
    """Whether a plan stays within what is allowed."""

    kept: Annotated[bool, quantity("Kept", help="Whether every figure stays within.")]
    feasible: Annotated[
        bool, quantity("Feasible", help="Whether anything considered meets every limit of the scenario.")
    ]
    answer: Annotated[str, quantity("Answer", help="The plan in a few sentences.")]
    lines: Annotated[tuple[AllowedLine, ...], quantity("Figures", help="Every figure that is limited.")]


def load_allowed(path: Path) -> Allowance:
    """The limits in a YAML or JSON file. Raises InvalidScenario with one sentence per problem."""
    raw = parse(text_of(path, MAX_FILE_BYTES, "a list of limits"), path.name, such_as="gpus and usd_per_month")
    known = list(Allowance.model_fields)
    if all(raw.get(key) is None for key in raw):  # a check of nothing would always pass
        raise InvalidScenario([f"{path.name}: give at least one of {', '.join(known)}."])
    unknown = [str(key) for key in raw if key not in known]
    if unknown:
        hints = (", ".join(nearest_names(key, known) or known) for key in unknown)
        raise InvalidScenario([f"{key}: unknown key. Known: {hint}." for key, hint in zip(unknown, hints, strict=True)])
    try:
        return Allowance.model_validate(raw)
    except ValidationError as error:
        raise InvalidScenario([f"{path.name}: {problem}" for problem in problems_of(error)]) from None


def check(allowed: Allowance, plan: Plan, cost: CostAnswer | None) -> AllowanceCheck:
    """Every limited figure of a plan beside what is allowed; ``cost`` is None where nothing serves the scenario."""
    lines = tuple(_lines(allowed, plan, cost))
    kept = plan.feasible and all(line.kept for line in lines)
    return AllowanceCheck(kept=kept, feasible=plan.feasible, answer=plan.answer, lines=lines)


def _lines(allowed: Allowance, plan: Plan, cost: CostAnswer | None) -> Iterator[AllowedLine]:
    for name, value in _planned(plan, cost).items():
        most = getattr(allowed, name)
        if most is not None:
            kept = value is not None and value <= most
            yield AllowedLine(name=name, allowed=most, planned=value, kept=kept)


def _planned(plan: Plan, cost: CostAnswer | None) -> dict[AllowedName, float | None]:
    """Every figure, with the stages of a pipeline: their GPUs, systems and power, and of money their hardware."""
    deployed, hardware, stages = plan.deployment, plan.cost, plan.pipeline
    power, money = (0.0, 0.0) if stages is None else (stages.power_kw, stages.usd_per_month)
    gpus = 0 if stages is None else stages.gpus
    bought = 0 if stages is None else sum(one.systems for one in stages.systems)
    return {
        "gpus": _with(None if deployed is None else deployed.gpus, gpus),
        "gpus_high": _with(plan.gpus_high, gpus),
        "systems": _with(None if deployed is None else deployed.systems, bought),
        "power_kw": _with(None if hardware is None else hardware.power_kw, power),
        "usd_per_month": _with(None if cost is None else cost.usd_per_month, money),
        "usd_per_month_high": _with(None if cost is None else cost.high, money),
        "usd_per_million_output_tokens": None if cost is None else cost.usd_per_million_output_tokens,
    }


def _with(language: float | None, stages: float | None) -> float | None:
    """The sum of both; None where one is not known."""
    return None if language is None or stages is None else language + stages


def as_markdown(checked: AllowanceCheck) -> str:
    """The check as a Markdown table, for the comment on a change."""
    verdict = "Within what is allowed." if checked.kept else "**More than is allowed.**"
    if not checked.feasible:
        verdict = "**Nothing serves the scenario.**"
    lines = [verdict, "", "| What | Allowed | Planned | Difference | |", "|---|---:|---:|---:|---|"]
    return "\n".join([*lines, *(_row(line) for line in checked.lines), "", checked.answer])


def _row(line: AllowedLine) -> str:
    planned, difference = "not known", ""
    if line.planned is not None:
        planned, difference = _figure(line.name, line.planned), _figure(line.name, line.planned - line.allowed, "+")
    kept = "kept" if line.kept else "**exceeded**" if line.planned is not None else "**not known**"
    return f"| {line.name} | {_figure(line.name, line.allowed)} | {planned} | {difference} | {kept} |"


def _figure(name: AllowedName, value: float, sign: str = "") -> str:
    """ "104", "3,587.00"; a limit that is no whole number is written as it was given."""
    whole = name in COUNTS and value == round(value)
    return f"{value:{sign},.{0 if whole else 2}f}"
