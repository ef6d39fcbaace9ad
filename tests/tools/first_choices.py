"""Every first choice over the whole catalogue, on-prem and cloud, at several loads, and what is wrong with each.

``python -m tests.tools.first_choices OUT.csv`` writes one row a question and prints counts of GPUs, engines and formats
and of broken rules (:mod:`tests.sizing.panel.rules`); ``--against BEFORE.csv`` prints the counts of both beside each
other. By the analytic load model, some 0.1 s a question, unless ``--simulated``: a simulation moves the number of
instances, and the order of what is close, but hardly ever the kind of answer.
"""

import argparse
import csv
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from sizing import Scenario
from sizing.catalog.model_rows import models
from sizing.planning.analytic import ALTERNATIVES, analytic_plan
from tests.sizing.panel.answers import alternatives, first_choice
from tests.sizing.panel.rules import Case, broken, measurements

PLACES = ("on_prem", "cloud")
LOADS = {
    "pilot": (1500, 400, 0.2),
    "small": (1500, 400, 2.0),
    "asked": (1500, 400, 5.0),
    "medium": (3000, 300, 20.0),
    "large": (1000, 500, 200.0),
}
"""Input and output tokens and requests/s: a pilot, a department, the load that 183 models were once asked for,
retrieval for a company, and a service."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One row: a question, its first choice and the rules that it breaks; empty where nothing serves."""

    model: str
    place: str
    load: str
    feasible: bool
    gpu: str = ""
    engine: str = ""
    weights: str = ""
    kv: str = ""
    layouts: str = ""
    instances: int = 0
    gpus: int = 0
    bought: int = 0
    system: str = ""
    systems: int = 0
    usd_per_month: float | None = None
    gpus_low: int | None = None
    gpus_high: int | None = None
    kv_share: float | None = None
    measurements_of_gpu: int | None = None
    warnings: str = ""
    broken: str = ""
    faults: str = ""


Asked = tuple[str, str, str, bool]
"""Model, place, load, and whether it is simulated."""


def question(model: str, place: str, load: str) -> Scenario:
    """The question as a customer types it: everything but model, load and place by default."""
    prompt, answer, rps = LOADS[load]
    return Scenario.model_validate(
        {
            "model": model,
            "workload": {"input_tokens": prompt, "output_tokens": answer, "peak_rps": rps},
            "deployment": {"location": place},
        }
    )


def choice(asked: Asked) -> Choice:
    """The first choice of one question, judged."""
    model, place, load, simulated = asked
    scenario = question(model, place, load)
    planner = analytic_plan
    if simulated:
        from sizing.planning.plan import plan as planner  # the simulator brings a compiler, which takes its time
    plan = planner(scenario, alternatives=ALTERNATIVES).model_dump(mode="json")
    first = first_choice(plan)
    if first is None:
        return Choice(model=model, place=place, load=load, feasible=False)
    faults = broken(Case(scenario=scenario, model=models()[model], first=first, others=alternatives(plan)))
    return Choice(
        model=model,
        place=place,
        load=load,
        feasible=True,
        gpu=first.gpu,
        engine=first.engine,
        weights=first.weights,
        kv=first.kv,
        layouts=" + ".join(map(str, first.layouts)),
        instances=first.instances,
        gpus=first.gpus,
        bought=first.bought,
        system=first.system,
        systems=first.systems,
        usd_per_month=None if first.usd is None else round(first.usd),
        gpus_low=plan["gpus_low"],
        gpus_high=plan["gpus_high"],
        kv_share=None if first.kv_share is None else round(first.kv_share, 3),
        measurements_of_gpu=measurements()[first.gpu],
        warnings=" ".join(sorted(first.warnings)),
        broken=" ".join(sorted(faults)),
        faults="; ".join(said for sentences in faults.values() for said in sentences),
    )


def choices(asked: Sequence[Asked], processes: int) -> list[Choice]:
    """All of them, in order; in processes of their own where more than one is allowed."""
    if processes == 1:
        return [choice(each) for each in asked]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return pool.map(choice, asked, chunksize=16)


def write(rows: Iterable[Choice], out: Path) -> None:
    with out.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Choice)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(row) for row in rows)


def read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def counted(rows: Sequence[dict[str, str]], column: str, place: str) -> Counter[str]:
    """How often each value of a column came first in a place; of broken rules, each by itself."""
    there = [row[column] for row in rows if row["place"] == place and row["feasible"] == "True"]
    return Counter(word for value in there for word in value.split()) if column == "broken" else Counter(there)


def summary(rows: Sequence[dict[str, str]], before: Sequence[dict[str, str]] | None) -> Iterable[str]:
    """The table to read: counts by place, beside those of an earlier run where there is one."""
    for place in PLACES:
        answered = sum(row["place"] == place and row["feasible"] == "True" for row in rows)
        clean = sum(row["place"] == place and row["feasible"] == "True" and not row["broken"] for row in rows)
        yield f"{place}: {answered} first choices, {clean} break no rule"
        for column in ("gpu", "engine", "weights", "broken"):
            now, then = counted(rows, column, place), counted(before or [], column, place)
            yield f"  {column}"
            for name, times in sorted((now | then).items(), key=lambda pair: (-pair[1], pair[0])):
                del times
                yield f"    {name:<28}" + (f"{then[name]:>6} -> {now[name]:>6}" if before else f"{now[name]:>6}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, write, count."""
    parser = argparse.ArgumentParser(description="First choices over the whole catalogue.")
    parser.add_argument("out", type=Path, help="CSV to write: a row a question")
    parser.add_argument("--against", type=Path, help="CSV of an earlier run: its counts beside the new ones")
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS))
    parser.add_argument("--models", nargs="+", default=sorted(models()), help="ids of the catalogue; all by default")
    parser.add_argument("--simulated", action="store_true", help="whole plans, some seconds each")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args(arguments)
    asked = [
        (model, place, load, given.simulated) for place in PLACES for load in given.loads for model in given.models
    ]
    begun = time.perf_counter()
    write(choices(asked, given.processes), given.out)
    print(f"{len(asked)} questions in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    print(*summary(read(given.out), read(given.against) if given.against else None), sep="\n")


if __name__ == "__main__":
    main()
