"""Command line: ``python -m sizing COMMAND``, see ``--help`` for the commands. Exit code 0, or 2 on bad input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.format import count, ms, requests_per_s, usd
from sizing.base.result import Deployed, Plan, Pool

INVALID_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback."""
    asked = _parser().parse_args(arguments)
    try:
        return int(asked.run(asked))
    except InvalidScenario as invalid:
        print("\n".join(invalid.problems), file=sys.stderr)
    except SizingError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader of our output left early, as `head` does
        sys.stderr.close()
        return 0
    except OSError as error:
        print(f"{error.filename or 'File'}: {error.strerror or error}.", file=sys.stderr)
    return INVALID_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sizing", description="Size LLM inference deployments.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    plan = commands.add_parser("plan", help="answer a scenario file")
    plan.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    plan.add_argument("--json", action="store_true", help="print the whole plan as JSON")
    plan.add_argument("--alternatives", type=_count, default=10, metavar="N", help="ranked alternatives (default 10)")
    plan.add_argument("--analytic", action="store_true", help="analytic load model only, nothing simulated")
    plan.add_argument("--second-opinion", action="store_true", help="check against NVIDIA's kernel tables")
    plan.set_defaults(run=_plan)
    simulate = commands.add_parser("simulate", help="simulate the planned deployment of a scenario under its traffic")
    simulate.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    simulate.add_argument("--trace", type=Path, metavar="TRACE", help="CSV or Parquet trace that replaces the traffic")
    simulate.add_argument("--json", action="store_true", help="print the whole result as JSON")
    simulate.add_argument("--hours", type=_hours, help="simulated time (default: one hour, or the whole trace)")
    simulate.add_argument("--seed", type=_seed, default=0, help="same seed, same requests (default 0)")
    simulate.add_argument(
        "--batching",
        choices=("in_flight", "static"),
        default="in_flight",
        help="static: every batch runs to the end of its longest answer, for comparison",
    )
    simulate.add_argument(
        "--fail-minutes",
        type=_minutes,
        default=0.0,
        metavar="N",
        help="one instance fails for N minutes, after a third of the simulated time",
    )
    simulate.set_defaults(run=_simulate)
    day = commands.add_parser("day", help="instances over the day, from a profile or trace in the scenario")
    day.add_argument("scenario", type=Path, help="scenario in YAML or JSON")
    day.add_argument("--startup-s", type=float, default=180.0, metavar="S", help="start-up of an instance (180 s)")
    day.add_argument("--json", action="store_true", help="print the whole result as JSON")
    day.set_defaults(run=_day)
    trace = commands.add_parser("trace", help="what a trace of requests says: lengths, rates, gaps")
    trace.add_argument("trace", type=Path, help="CSV or Parquet: timestamp, input_tokens, output_tokens")
    trace.add_argument("--json", action="store_true", help="print everything as JSON")
    trace.set_defaults(run=_trace)
    predict = commands.add_parser("predict", help="predict measured configurations from a CSV table")
    predict.add_argument("points", type=Path, help="CSV with the columns of the evidence library")
    predict.add_argument("--out", type=Path, required=True, help="CSV to write")
    predict.set_defaults(run=_predict)
    catalog = commands.add_parser("catalog", help="print a table of the catalogue as CSV")
    catalog.add_argument("kind", choices=("models", "gpus", "systems", "prices"))
    catalog.set_defaults(run=_catalog)
    sweep = commands.add_parser("sweep", help="answer every combination of a sweep file")
    sweep.add_argument("sweep", type=Path, help="scenario with axes, in YAML or JSON")
    sweep.add_argument("--out", type=Path, required=True, help="CSV to write")
    sweep.add_argument("--workers", type=_workers, default=None, metavar="N", help="processes (default: one per core)")
    sweep.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786")
    sweep.set_defaults(run=_sweep)
    return parser


def _workers(text: str) -> int:
    """A whole number from 1 to 1000."""
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 1000")
    return int(text)


def _seed(text: str) -> int:
    """A whole number from 0 to 2^32 - 1."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 4,294,967,295")
    return int(text)


def _writable(path: Path) -> Path:
    """A file to write, checked before the work is done. Raises InvalidScenario when its folder does not exist."""
    if not path.parent.is_dir():
        raise InvalidScenario([f"--out: there is no folder {path.parent}."])
    return path


def _count(text: str) -> int:
    """A whole number from 0 to 1000."""
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 1000")
    return int(text)


def _hours(text: str) -> float:
    """A duration above 0 and up to a year."""
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0.0 < hours <= 8760.0:
        raise argparse.ArgumentTypeError("must be a number of hours above 0 and up to 8760")
    return hours


def _minutes(text: str) -> float:
    """A duration above 0 and up to a week."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0.0 < minutes <= 10_080.0:
        raise argparse.ArgumentTypeError("must be a number of minutes above 0 and up to 10080")
    return minutes


def _plan(asked: argparse.Namespace) -> int:
    from sizing.planning.analytic import analytic_plan
    from sizing.planning.plan import plan
    from sizing.planning.second_opinion import with_second_opinion
    from sizing.scenario.file import load_scenario

    scenario = load_scenario(asked.scenario)
    answer = (analytic_plan if asked.analytic else plan)(scenario, alternatives=asked.alternatives)
    if asked.second_opinion:
        answer = with_second_opinion(scenario, answer)
    print(answer.model_dump_json(indent=2) if asked.json else as_text(answer))
    return 0


def _deployed(d: Deployed) -> str:
    """What is deployed, both kinds of instances where prefill and decode run apart."""
    runs = f"{d.gpu} {d.engine} {d.weight_precision}"
    pools = [(name, p) for name, p in (("prefill ", d.prefill), ("decode ", d.decode)) if p is not None]
    kinds: list[tuple[str, Deployed | Pool]] = [*pools] if pools else [("", d)]
    said = [f"{p.instances} {name}x {runs} TP{p.tp} PP{p.pp} EP{p.ep} DP{p.dp}" for name, p in kinds]
    return " + ".join(said) + (f", batch limit {d.batch_limit}" if d.batch_limit is not None else "")


def as_text(plan: Plan) -> str:
    """The plan for a terminal: answer, figures, warnings, alternatives, excluded."""
    lines = [plan.answer, ""]
    if plan.deployment and plan.latency and plan.per_instance:
        d = plan.deployment
        lines += [
            f"Deployment    {_deployed(d)} on {d.systems} x {d.system}",
            f"Capacity      {requests_per_s(plan.per_instance.max_rps)} per instance; limited by {plan.limited_by}",
            *(
                f"{name:13} p50 {ms(v.p50)}, p95 {ms(v.p95)}, p99 {ms(v.p99)}"
                for name, v in (
                    ("TTFT", plan.latency.ttft_ms),
                    ("ITL", plan.latency.itl_ms),
                    ("E2E", plan.latency.e2e_ms),
                )
            ),
            f"Cost          {usd(plan.cost.usd_per_month) if plan.cost else 'unknown'} a month",
            f"How sure      {plan.confidence}",
            f"Source        {plan.source}",
            "",
        ]
    lines += [f"{w.severity.capitalize()}: {w.message}" for w in plan.warnings]
    if plan.alternatives:
        lines += [
            "",
            "Alternatives (latency at the asked percentile; estimates of the analytic load model, unless simulated)",
        ]
        lines += [
            f"  {count(a.deployment.gpus):>5} GPU{'s' if a.deployment.gpus > 1 else ' '}: {_deployed(a.deployment)}, "
            f"TTFT {ms(a.ttft_ms)}, ITL {ms(a.itl_ms)}, {usd(a.usd_per_month)} a month"
            f"{', simulated' if a.decided_by == 'simulation' else ''}"
            for a in plan.alternatives
        ]
    if plan.excluded:
        lines += ["", "Excluded"]
        lines += [f"  {e.gpu:20} {e.reason} Relax: {e.relaxation}" for e in plan.excluded]
    return "\n".join(lines)


def _simulate(asked: argparse.Namespace) -> int:
    from sizing.question.understand import understand
    from sizing.replay.simulate import simulate
    from sizing.replay.simulation_report import as_text
    from sizing.replay.what_if import WhatIf
    from sizing.scenario.file import load_scenario
    from sizing.scenario.trace import read_trace
    from sizing.scenario.traffic import TraceArrivals

    scenario = load_scenario(asked.scenario)
    trace, arrivals = asked.trace, scenario.workload.arrivals
    if trace is None and isinstance(arrivals, TraceArrivals):
        trace = asked.scenario.parent / arrivals.trace
        if not trace.is_file():
            print(
                f"{arrivals.trace} is not beside the scenario: its busiest time is simulated, not replayed.",
                file=sys.stderr,
            )
            trace = None
    if trace is not None:
        trace = read_trace(trace, max_tokens=understand(scenario).model.max_context)
    what_if = WhatIf(static_batching=asked.batching == "static", fail_minutes=asked.fail_minutes)
    result = simulate(scenario, trace=trace, hours=asked.hours, seed=asked.seed, what_if=what_if)
    print(result.model_dump_json(indent=2) if asked.json else as_text(result))
    return 0


def _day(asked: argparse.Namespace) -> int:
    from sizing.replay.day import as_text, day
    from sizing.scenario.file import load_scenario

    found = day(load_scenario(asked.scenario), startup_s=asked.startup_s)
    print(found.model_dump_json(indent=2) if asked.json else as_text(found))
    return 0


def _trace(asked: argparse.Namespace) -> int:
    from sizing.scenario.trace import read_trace
    from sizing.scenario.trace_summary import found_in, sentences

    found = found_in(read_trace(asked.trace))
    print(found.model_dump_json(indent=2) if asked.json else "\n".join(sentences(found)))
    return 0


def _predict(asked: argparse.Namespace) -> int:
    from sizing.evidence.point_file import read_points, write_points
    from sizing.evidence.predict import predict_points

    out = _writable(asked.out)
    answered = predict_points(read_points(asked.points))
    write_points(answered, out)
    failed = int((answered["error"].fillna("") != "").sum())
    print(f"{len(answered):,} rows, {failed:,} without an answer (column error): {asked.out}")
    return 0


def _catalog(asked: argparse.Namespace) -> int:
    from sizing.catalog.tables import catalog_table

    catalog_table(asked.kind).to_csv(sys.stdout, index=False)
    return 0


def _sweep(asked: argparse.Namespace) -> int:
    import os
    from contextlib import nullcontext

    from sizing.explore.dask_cluster import dask_executors
    from sizing.explore.sweep import processes, read_sweep, sweep

    out = _writable(asked.out)
    base, axes = read_sweep(asked.sweep)
    local = processes(asked.workers or os.cpu_count() or 1)

    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done:,} of {total:,}", end="", file=sys.stderr, flush=True)

    with dask_executors(asked.scheduler) if asked.scheduler else nullcontext(local) as executors:
        table = sweep(base, axes, executors, progress)
    table.to_csv(out, index=False)
    deployment = base.get("deployment")
    if "deployment.routing" in axes or (isinstance(deployment, dict) and "routing" in deployment):
        print("deployment.routing: a sweep uses the analytic load model, which takes random routing.", file=sys.stderr)
    failed = int((table["error"] != "").sum())
    print(f"{len(table):,} scenarios, {failed:,} without an answer (column error): {asked.out}")
    return 0
