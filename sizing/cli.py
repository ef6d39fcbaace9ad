"""Command line: ``python -m sizing COMMAND``, see ``--help`` for the commands.

Exit code 0; 2 on bad input; 1 when a plan exceeds what ``--check`` allows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commandline.arguments import day_of_calendar, number, whole
from commandline.files import replacing
from commandline.run import Commands, run, show
from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.format import counted
from sizing.base.version import ENGINE_VERSION

if TYPE_CHECKING:
    import pandas as pd

    from sizing.economics.allowance import Allowance
    from sizing.planning.answered import Answer, Planner


def main(
    arguments: Sequence[str] | None = None,
    *,
    program: str = "python -m sizing",
    others: Iterable[Callable[[Commands], None]] = (),
    malformed: tuple[type[Exception], ...] = (SizingError,),
) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback.

    ``program`` is what the help calls it; each of ``others`` adds commands of packages above this one, and
    ``malformed`` are errors that say what is wrong with the input of any.
    """
    return run(_parser(program, others), arguments, malformed=malformed, nameless="File")


def _parser(program: str, others: Iterable[Callable[[Commands], None]]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description="Size LLM inference deployments.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {ENGINE_VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    plan = commands.add_parser("plan", help="answer a scenario file")
    plan.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    plan.add_argument("--json", action="store_true", help="print the whole plan as JSON")
    plan.add_argument(
        "--alternatives", type=whole(0, 1000), metavar="N", help="ranked alternatives (default: as pages show them)"
    )
    plan.add_argument("--analytic", action="store_true", help="analytic load model only, nothing simulated")
    plan.add_argument("--second-opinion", action="store_true", help="the deployment once more by the roofline alone")
    plan.add_argument(
        "--check",
        type=Path,
        metavar="LIMITS",
        help="hold the plan against a file of limits on GPUs, systems, power and money: Markdown, or JSON with --json; "
        "exit code 1 where one is exceeded or not known",
    )
    plan.set_defaults(run=_plan)
    _simulate_arguments(
        commands.add_parser("simulate", help="simulate the planned deployment of a scenario under its traffic")
    )
    day = commands.add_parser("day", help="instances over the day, from a profile or trace in the scenario")
    day.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    day.add_argument(
        "--startup-s", type=float, metavar="S", help="start-up of an instance (of its weights_from, else 180 s)"
    )
    day.add_argument("--json", action="store_true", help="print the whole result as JSON")
    day.set_defaults(run=_day)
    _compare_arguments(commands.add_parser("compare", help="scenarios side by side, and what drives the difference"))
    _cost_arguments(commands.add_parser("cost", help="what the plan of a scenario costs, in every way to pay for it"))
    _levers_arguments(commands.add_parser("levers", help="what each lever of an optimisation would save, and NIM"))
    _table_commands(commands)
    for add in others:
        add(commands)
    return parser


def _compare_arguments(compare: argparse.ArgumentParser) -> None:
    compare.add_argument("scenarios", type=Path, nargs="+", help="two to five scenarios, the first to compare with")
    form = compare.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the whole comparison as JSON")
    form.add_argument("--md", action="store_true", help="print it as Markdown")
    compare.set_defaults(run=_compare)


def _levers_arguments(levers: argparse.ArgumentParser) -> None:
    levers.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    levers.add_argument("--json", action="store_true", help="print everything as JSON")
    levers.add_argument("--analytic", action="store_true", help="plans by the analytic load model, faster")
    levers.set_defaults(run=_levers)


def _cost_arguments(cost: argparse.ArgumentParser) -> None:
    cost.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    form = cost.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--md", action="store_true", help="print Markdown")
    cost.add_argument("--analytic", action="store_true", help="analytic load model only, nothing simulated")
    cost.add_argument(
        "--on",
        type=day_of_calendar,
        metavar="DATE",
        help="day whose offers count and against which prices age, as 2026-11-30 (default: that of the catalogue)",
    )
    cost.set_defaults(run=_cost)


def _simulate_arguments(simulate: argparse.ArgumentParser) -> None:
    simulate.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    simulate.add_argument("--trace", type=Path, metavar="TRACE", help="CSV or Parquet trace that replaces the traffic")
    simulate.add_argument("--json", action="store_true", help="print the whole result as JSON")
    simulate.add_argument(
        "--hours",
        type=number("a number of hours", 0, 8760, above=True),
        help="simulated time (default: one hour, or the whole trace)",
    )
    simulate.add_argument("--seed", type=whole(0, 2**32 - 1), default=0, help="same seed, same requests (default 0)")
    simulate.add_argument(
        "--batching",
        choices=("in_flight", "static"),
        default="in_flight",
        help="static: every batch runs to the end of its longest answer, for comparison",
    )
    simulate.add_argument(
        "--fail-minutes",
        type=number("a number of minutes", 0, 10_080, above=True),
        default=0.0,
        metavar="N",
        help="one instance fails for N minutes, after a third of the simulated time",
    )
    simulate.add_argument(
        "--fails",
        choices=("instance", "system"),
        default="instance",
        help="what fails: one instance, or a system with all of its instances",
    )
    simulate.set_defaults(run=_simulate)


def _table_commands(commands: Commands) -> None:
    trace = commands.add_parser("trace", help="what a trace of requests says: lengths, rates, gaps")
    trace.add_argument("trace", type=Path, help="CSV or Parquet: timestamp, input_tokens, output_tokens")
    trace.add_argument("--json", action="store_true", help="print everything as JSON")
    trace.set_defaults(run=_trace)
    model = commands.add_parser("model", help="what a config.json or a name says of a model")
    model.add_argument("model", help="config.json or params.json, a folder with one, or a name")
    model.add_argument("--json", action="store_true", help="print everything as JSON")
    model.set_defaults(run=_model)
    models = commands.add_parser("models", help="models of the catalogue whose names hold some words")
    models.add_argument("words", nargs="+", help="such as llama 70b")
    models.add_argument("--json", action="store_true", help="print what is known of each as JSON")
    models.set_defaults(run=_models)
    predict = commands.add_parser("predict", help="predict measured configurations from a CSV table")
    predict.add_argument("points", type=Path, help="CSV with the columns of the evidence library")
    predict.add_argument("--out", type=Path, required=True, help="CSV to write")
    predict.set_defaults(run=_predict)
    memory = commands.add_parser("memory", help="what engines print about memory when they start, for a CSV of runs")
    memory.add_argument(
        "runs", type=Path, help="CSV: model, fmt, kv, engine, version, gpu, tp, util, max_model_len, ..."
    )
    memory.add_argument("--out", type=Path, required=True, help="CSV to write")
    memory.set_defaults(run=_memory)
    catalog = commands.add_parser("catalog", help="print a table of the catalogue as CSV")
    catalog.add_argument("kind", choices=("models", "gpus", "systems", "prices"))
    catalog.set_defaults(run=_catalog)
    sweep = commands.add_parser("sweep", help="answer every combination of a sweep file")
    sweep.add_argument("sweep", type=Path, help="scenario with axes, in YAML or JSON")
    sweep.add_argument("--out", type=Path, required=True, help="CSV to write")
    sweep.add_argument(
        "--workers", type=whole(1, 1000), default=None, metavar="N", help="processes (default: one per core)"
    )
    sweep.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786")
    sweep.set_defaults(run=_sweep)


def _writable(path: Path) -> Path:
    """A file to write, checked before the work is done. Raises InvalidScenario when its folder does not exist."""
    if not path.parent.is_dir():
        raise InvalidScenario([f"--out: there is no folder {path.parent}."])
    return path


def _plan(given: argparse.Namespace) -> int:
    from sizing.economics.allowance import load_allowed
    from sizing.planning.analytic import analytic_plan
    from sizing.planning.answered import Answer
    from sizing.planning.plan import plan
    from sizing.planning.text import as_text
    from sizing.scenario.file import load_scenario

    scenario = load_scenario(given.scenario)
    allowed = None if given.check is None else load_allowed(given.check)
    planner = analytic_plan if given.analytic else plan
    shown = {} if given.alternatives is None else {"alternatives": given.alternatives}
    answer = Answer.of(scenario, partial(planner, **shown, second_opinion=given.second_opinion))
    if allowed is not None:
        return _checked(allowed, given, answer, planner)
    return show(answer.plan, as_text, json=given.json)


def _checked(allowed: Allowance, given: argparse.Namespace, answer: Answer, planner: Planner) -> int:
    """The plan beside what is allowed; exit code 1 where it needs or costs more."""
    from sizing.economics.allowance import as_markdown, check
    from sizing.economics.cost import cost

    checked = check(allowed, answer.plan, cost(answer, planner=planner) if answer.plan.feasible else None)
    show(checked, as_markdown, json=given.json)
    return 0 if checked.kept else 1


def _cost(given: argparse.Namespace) -> int:
    from sizing.economics.cost import cost
    from sizing.economics.text import as_markdown, as_text
    from sizing.planning.analytic import analytic_plan
    from sizing.planning.plan import plan
    from sizing.scenario.file import load_scenario

    planner = analytic_plan if given.analytic else plan
    answer = cost(load_scenario(given.scenario), planner=planner, on=given.on)
    return show(answer, as_markdown if given.md else as_text, json=given.json)


def _compare(given: argparse.Namespace) -> int:
    from sizing.decision.comparison import compare
    from sizing.decision.text import as_markdown, as_text
    from sizing.scenario.file import load_scenario

    answer = compare([load_scenario(path) for path in given.scenarios])
    return show(answer, as_markdown if given.md else as_text, json=given.json)


def _levers(given: argparse.Namespace) -> int:
    from sizing.decision.lever_text import as_text
    from sizing.decision.optimised import optimised
    from sizing.planning.analytic import analytic_plan
    from sizing.scenario.file import load_scenario

    answer = optimised(load_scenario(given.scenario), analytic_plan if given.analytic else None)
    return show(answer, as_text, json=given.json)


def _simulate(given: argparse.Namespace) -> int:
    from sizing.question.understand import understand
    from sizing.replay.simulate import simulate
    from sizing.replay.simulation_report import as_text
    from sizing.replay.what_if import WhatIf
    from sizing.scenario.file import load_scenario
    from sizing.scenario.trace import read_trace
    from sizing.scenario.traffic import TraceArrivals

    scenario = load_scenario(given.scenario)
    trace, arrivals = given.trace, scenario.workload.arrivals
    if trace is None and isinstance(arrivals, TraceArrivals):
        trace = given.scenario.parent / arrivals.trace
        if not trace.is_file():
            print(
                f"{arrivals.trace} is not beside the scenario: its busiest time is simulated, not replayed.",
                file=sys.stderr,
            )
            trace = None
    if trace is not None:
        trace = read_trace(trace, max_tokens=understand(scenario).model.max_context)
    what_if = WhatIf(static_batching=given.batching == "static", fail_minutes=given.fail_minutes, fails=given.fails)
    result = simulate(scenario, trace=trace, hours=given.hours, seed=given.seed, what_if=what_if)
    return show(result, as_text, json=given.json)


def _day(given: argparse.Namespace) -> int:
    from sizing.replay.day import as_text, day
    from sizing.scenario.file import load_scenario

    return show(day(load_scenario(given.scenario), startup_s=given.startup_s), as_text, json=given.json)


def _trace(given: argparse.Namespace) -> int:
    from sizing.scenario.trace import read_trace
    from sizing.scenario.trace_summary import sentences, summary_of

    summary = summary_of(read_trace(given.trace))
    return show(summary, lambda summary: "\n".join(sentences(summary)), json=given.json)


def _predict(given: argparse.Namespace) -> int:
    from sizing.evidence.point_file import read_points
    from sizing.evidence.points import REQUIRED
    from sizing.evidence.predict import predict_points

    out = _writable(given.out)
    return _answered(predict_points(read_points(given.points, REQUIRED)), out)


def _answered(answers: pd.DataFrame, out: Path) -> int:
    """Write a row of answers for every row asked, and say how many have none."""
    from sizing.evidence.point_file import write_points

    with replacing(out) as written:
        write_points(answers, written)
    failed = int((answers["error"].fillna("") != "").sum())
    print(f"{counted(len(answers), 'row')}, {failed:,} without an answer (column error): {out}")
    return 0


def _memory(given: argparse.Namespace) -> int:
    from sizing.evidence.memory_runs import REQUIRED, known_by_size_alone, memory_runs
    from sizing.evidence.point_file import read_points

    out, runs = _writable(given.out), read_points(given.runs, REQUIRED)
    written = _answered(memory_runs(runs), out)
    if guessed := known_by_size_alone(runs):
        print(f"Of models that are not in the catalogue, known by the size in their names alone: {', '.join(guessed)}")
    return written


def _model(given: argparse.Namespace) -> int:
    from sizing.catalog.described import as_text, describe

    return show(describe(given.model), as_text, json=given.json)


def _models(given: argparse.Namespace) -> int:
    from sizing.catalog.finding import as_text, find_models

    return show(find_models(" ".join(given.words)), as_text, json=given.json)


def _catalog(given: argparse.Namespace) -> int:
    from sizing.catalog.tables import catalog_table

    catalog_table(given.kind).to_csv(sys.stdout, index=False)
    return 0


def _sweep(given: argparse.Namespace) -> int:
    import os
    from contextlib import nullcontext

    from sizing.explore.sweep import dask_executors, processes, read_sweep, sweep

    out = _writable(given.out)
    base, axes = read_sweep(given.sweep)
    local = processes(given.workers or os.cpu_count() or 1)

    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done:,} of {total:,}", end="", file=sys.stderr, flush=True)

    with dask_executors(given.scheduler) if given.scheduler else nullcontext(local) as executors:
        table = sweep(base, axes, executors, progress)
    with replacing(out) as written:
        table.to_csv(written, index=False)
    deployment = base.get("deployment")
    if "deployment.routing" in axes or (isinstance(deployment, dict) and "routing" in deployment):
        print("deployment.routing: a sweep uses the analytic load model, which takes random routing.", file=sys.stderr)
    failed = int((table["error"] != "").sum())
    print(f"{counted(len(table), 'scenario')}, {failed:,} without an answer (column error): {given.out}")
    return 0
