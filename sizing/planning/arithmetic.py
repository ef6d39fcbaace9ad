"""The equation of a figure with its numbers, step by step, so that anybody can follow it with a calculator.

A step reads "what it is: expression = result": numbers, ``+ - x / ^``, parentheses, ``ceil``, ``floor`` and
``min(a; b)``. A test recomputes every step of every explanation from what it says.
"""

import math

from sizing.base.choices import Redundancy
from sizing.base.format import count, ms, rounded, stated
from sizing.base.result import Explained
from sizing.base.units import MS_PER_S

DIGITS = 6
"""Significant digits of the numbers in a step: enough for its result to three."""


def number(x: float) -> str:
    """A number in an expression."""
    return stated(rounded(x, DIGITS))


def step(what: str, expression: str, result: str) -> str:
    """One step; ``what`` may be empty."""
    return f"{what}: {expression} = {result}" if what else f"{expression} = {result}"


def entry(name: str, value: str, formula: str, *steps: str, source: str) -> Explained:
    """One figure with the steps that lead to it; without steps it was given or measured, or is not known."""
    return Explained(name=name, value=value, formula=formula, numbers="; ".join(steps), steps=steps, source=source)


def plus(rest: float) -> str:
    """A summand with its sign, as it stands after the first one: "+ 2.5", "- 2.5"."""
    return f"{'+' if rest >= 0 else '-'} {number(abs(rest))}"


def instances_steps(kind: str, peak: float, max_rps: float, spares: int, instances: int) -> tuple[str, ...]:
    """Instances that carry a rate, where one carries ``max_rps``, and spares; ``kind`` is "" or "prefill "."""
    ratio, working = peak / max_rps, instances - spares
    if math.ceil(float(number(ratio).replace(",", ""))) == working:
        return (
            step(f"load over what one {kind}instance carries", f"{number(peak)} / {number(max_rps)}", number(ratio)),
            step("whole instances + spares", f"ceil({number(ratio)}) + {spares}", count(instances)),
        )
    return (step(f"{kind}instances that the simulation needs + spares", f"{working} + {spares}", count(instances)),)


def systems_steps(
    instances: int, gpus_each: int, system_gpus: int, systems: int, spares: int = 0, redundancy: Redundancy = "none"
) -> tuple[str, ...]:
    """Whole systems for instances that never straddle two, unless one is larger than a system; and what may fail."""
    fit, spans = max(system_gpus // gpus_each, 1), -(-gpus_each // system_gpus)
    split = (
        step("instances in a system", f"floor({system_gpus} / {gpus_each})", count(fit))
        if spans == 1
        else step("systems of an instance", f"ceil({gpus_each} / {system_gpus})", count(spans))
    )
    if redundancy == "none":
        whole = f"ceil({instances} / {fit})" if spans == 1 else f"{instances} x {spans}"
        return split, step("whole systems", whole, count(systems))
    working = instances - spares
    fewest = -(-working // fit) * spans
    return (
        split,
        step("whole systems for those that work", f"ceil({working} / {fit}) x {spans}", count(fewest)),
        step(
            f"more, so that one {redundancy} may fail", f"{count(fewest)} + {count(systems - fewest)}", count(systems)
        ),
    )


def latency_step(what: str, first: str, first_ms: float, total_ms: float) -> str:
    """A latency as a part that is known and the rest of it, ``what``; ``first`` is the expression of the known part."""
    return duration_step(what, f"{first} {plus(total_ms - first_ms)}", total_ms)


def duration_step(what: str, expression: str, total_ms: float, digits: int = 3) -> str:
    """A step whose ``expression`` gives milliseconds, divided where the result is shown in seconds."""
    in_seconds = abs(rounded(total_ms, digits)) >= MS_PER_S
    return step(what, f"({expression}) / {number(MS_PER_S)}" if in_seconds else expression, ms(total_ms, digits))
