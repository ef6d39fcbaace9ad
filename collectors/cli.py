"""Command line: ``python -m collectors read | watch | demo``. Exit code 0 with an answer, 2 on an invalid file."""

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from collectors.connect import answering, read
from collectors.errors import InvalidSource
from collectors.format import sentence
from collectors.prometheus.histograms import SHOWN
from collectors.queries.live_numbers import LIVE_NUMBERS, NUMBERS
from collectors.reading.observation import Observation
from collectors.source import load_source
from collectors.units import S_PER_HOUR
from commandline.arguments import number, rounded, whole
from commandline.run import INVALID_INPUT, run

SECONDS = number("a number of seconds", 0.2, 30 * 86_400)
"""A window or pause: from the shortest scrape interval to 30 days."""
MANY = 1_000_000_000
"""The largest number of observations, and the largest seed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Problems go to stderr, one clear line each, never a traceback."""
    return run(_parser(), arguments, malformed=(InvalidSource,), nameless="Input or output")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m collectors", description="Watch running LLM deployments.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    once = commands.add_parser("read", help="print one observation of a source")
    _source_arguments(once)
    once.add_argument("--mapping", action="store_true", help="also print what each quantity is read from")
    once.set_defaults(run=_read)
    again = commands.add_parser("watch", help="print an observation every few seconds until stopped")
    _source_arguments(again)
    again.add_argument("--every", type=SECONDS, default=15.0, metavar="SECONDS", help="pause between (default 15)")
    again.add_argument(
        "--times", type=whole(0, MANY), default=0, metavar="N", help="stop after N observations (default: never)"
    )
    again.set_defaults(run=_watch)
    demo = commands.add_parser("demo", help="serve the metrics pages of an invented deployment")
    demo.add_argument(
        "--port", type=rounded("a port", 0, 65535), default=9500, help="port to listen on (default 9500; 0: a free one)"
    )
    demo.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    demo.add_argument(
        "--replicas", type=rounded("a whole number", 1, 64), default=4, help="replicas, two GPUs each (default 4)"
    )
    demo.add_argument("--seed", type=whole(0, MANY), default=1, help="the same seed gives the same day")
    demo.add_argument(
        "--at", type=_time_of_day, default=9.5 * S_PER_HOUR, metavar="HH:MM", help="time of day (default 09:30)"
    )
    demo.add_argument(
        "--speed", type=number("a factor", 0, 10_000), default=1.0, help="how much faster the day passes (default 1)"
    )
    demo.add_argument(
        "--history",
        type=number("a number of hours", 0.01, 7 * 24),
        metavar="HOURS",
        help="write the hours before now to --out instead",
    )
    demo.add_argument("--out", type=Path, help="OpenMetrics file for promtool tsdb create-blocks-from openmetrics")
    demo.set_defaults(run=_demo)
    return parser


def _source_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, help="source file in YAML or JSON")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--window", type=SECONDS, metavar="SECONDS", help="window instead of the file's window_s")


def _time_of_day(text: str) -> float:
    """Seconds since midnight of HH:MM."""
    parts = text.split(":")
    if len(parts) != 2 or not all(p.isdecimal() for p in parts) or int(parts[0]) > 23 or int(parts[1]) > 59:
        raise argparse.ArgumentTypeError("must be a time such as 11:00")
    return int(parts[0]) * S_PER_HOUR + int(parts[1]) * 60.0


def _demo(given: argparse.Namespace) -> int:
    if (given.history is None) != (given.out is None):
        print("--history and --out go together.", file=sys.stderr)
        return INVALID_INPUT
    if given.history is not None:
        return _history(given)
    from collectors.demo.deployment import Demo
    from collectors.demo.server import DemoServer

    made = Demo(
        start_s=time.time(), second_of_day=given.at, speed=given.speed, replicas=given.replicas, seed=given.seed
    )
    server = DemoServer(made, host=given.host, port=given.port)
    print(f"Demo deployment at http://{given.host}:{server.port}/metrics (a list of pages at /)", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve()
    return 0


def _history(given: argparse.Namespace) -> int:
    from collectors.demo.feed import DemoFeed, write_history

    now = time.time()
    feed = DemoFeed(
        hours=given.history,
        replicas=given.replicas,
        seed=given.seed,
        keep_s=(given.history + 1) * S_PER_HOUR,
        clock=lambda: now,
        second_of_day=given.at,
    )
    written = write_history(given.out, feed, start_s=now - given.history * S_PER_HOUR - 1, end_s=now)
    print(f"{written:,} samples in {given.out}")
    return 0


def _read(given: argparse.Namespace) -> int:
    observed = read(load_source(given.source), window_s=given.window)
    if given.json:
        print(json.dumps(observed.as_json(), indent=2, allow_nan=False))
        return 0
    print(as_text(observed))
    if given.mapping:
        print("\n" + mapping_text(observed))
    return 0


def _watch(given: argparse.Namespace, wait: Callable[[float], None] = time.sleep) -> int:
    source = load_source(given.source)
    with suppress(KeyboardInterrupt), answering(source, keep_scraping=True) as backend:
        for done in itertools.count(1):
            observed = read(source, window_s=given.window, backend=backend)
            print(json.dumps(observed.as_json(), allow_nan=False) if given.json else as_line(observed), flush=True)
            if done == given.times:
                break
            wait(given.every)
    return 0


def as_line(observed: Observation) -> str:
    """One observation in one line."""
    clock = str(observed.as_json()["at"])[11:19]
    parts = [f"{clock} {observed.state.upper()}"]
    parts += [
        sentence(row.in_line, v) for row in LIVE_NUMBERS if row.in_line and (v := observed.number(row.name)) is not None
    ]
    for key, label in (("ttft_ms", "TTFT"), ("itl_ms", "ITL")):
        shown = observed.distribution(key).at(SHOWN)
        if shown.value is not None:
            parts.append(f"{label} {SHOWN} {_interval(shown.value, shown.low, shown.high)} ms")
    return "  ".join(parts + list(observed.reasons[:1]))


def as_text(observed: Observation) -> str:
    """One observation for a terminal; what is unknown is left out, never shown as 0."""
    lines = [f"{observed.name}: {observed.state.value.replace('_', ' ')}"]
    lines += [f"  {reason}" for reason in observed.reasons]
    lines += [f"  Note: {text}" for text in observed.notes]
    lines += [f"  Warning: {text}" for text in observed.warnings]
    age = f", newest sample {observed.age_s:.0f} s old" if observed.age_s is not None else ""
    lines += ["", f"Engine        {observed.engine or 'unknown'}; window {observed.window_s:g} s{age}"]
    for key, unit in NUMBERS.items():
        value = observed.number(key)
        if value is not None:
            lines.append(f"{key:30} {value:.4g} {unit}")
    for key, d in observed.distributions.items():
        known = [f"mean {d.mean:.4g}"] if d.mean is not None else []
        for name, one in d.quantiles.items():
            known += [f"{name} {_interval(one.value, one.low, one.high)}"] if one.value is not None else []
        if known:
            lines.append(f"{key:30} {', '.join(known)}")
    lines += ["", *(f"No {m.quantity}: {m.reason}" for m in observed.missing)] if observed.missing else []
    return "\n".join(lines)


def mapping_text(observed: Observation) -> str:
    """The expression behind each quantity; ``metrics`` of the source file replaces any of them."""
    lines = [f"{len(observed.mapping)} quantities are read from:"]
    for key, mapped in observed.mapping.items():
        about = [mapped.versions, "not verified on a live engine" if not mapped.verified else ""]
        about = ["from the source file"] if mapped.overridden else [text for text in about if text]
        lines.append(f"{key:24} {mapped.query}" + (f"  ({'; '.join(about)})" if about else ""))
    return "\n".join(lines)


def _interval(value: float, low: float | None, high: float | None) -> str:
    upper = "and more" if high is None else f"to {high:.4g}"
    return f"{value:.4g} ({low if low is not None else 0:.4g} {upper})"
