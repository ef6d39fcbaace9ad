"""``python -m bench NAME...``: run the named benchmarks and print one table each; without a name, which there are."""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import bench
from bench.table import Row, render
from commandline.run import INVALID_INPUT


class BenchModule(Protocol):
    """What a module must have to be a benchmark."""

    NAME: str

    def run(self) -> list[Row]:
        """Measure, and return one row per quantity."""


def benchmarks() -> dict[str, BenchModule]:
    """Every benchmark in this package, by the name of its module."""
    names = [info.name for info in pkgutil.iter_modules(bench.__path__) if not info.name.startswith("_")]
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    return {name: cast(BenchModule, module) for name, module in modules.items() if hasattr(module, "NAME")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each benchmark's table as soon as it is measured, or which there are. Exit code 0, 2 for an unknown one."""
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run benchmarks and print their tables.")
    parser.add_argument("name", nargs="*", help="one or more of those that it lists when none is named")
    names = parser.parse_args(arguments).name
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"No benchmark is named {', '.join(unknown)}. There are:\n{listed(known)}", file=sys.stderr)
        return INVALID_INPUT
    if not names:
        print(f"Name one or more benchmarks. There are:\n{listed(known)}")
    for name in names:
        print(f"\n{known[name].NAME}\n{render(known[name].run())}", flush=True)
    return 0


def listed(known: Mapping[str, BenchModule]) -> str:
    """One line per benchmark: its name, and what it measures."""
    width = max(map(len, known))
    return "\n".join(f"  {name:{width}}  {benchmark.NAME}" for name, benchmark in known.items())


if __name__ == "__main__":
    sys.exit(main())
