"""``python -m bench [MODULE...]``: run the named benchmarks, or all of them, and print one table each."""

import argparse
import importlib
import pkgutil
from typing import Protocol, cast

import bench
from bench.table import Row, render


class Benchmark(Protocol):
    """What a module must have to be a benchmark."""

    NAME: str

    def run(self) -> list[Row]:
        """Measure, and return one row per quantity."""


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark in this package, by the name of its module."""
    names = [info.name for info in pkgutil.iter_modules(bench.__path__) if not info.name.startswith("_")]
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    return {name: cast(Benchmark, module) for name, module in modules.items() if hasattr(module, "NAME")}


def main() -> None:
    """Print each benchmark's table as soon as it is measured."""
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run benchmarks and print their tables.")
    parser.add_argument("module", nargs="*", help=f"one or more of: {', '.join(known)}; all when none is named")
    arguments = parser.parse_args()
    if unknown := set(arguments.module) - set(known):
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    for name in arguments.module or known:
        print(f"\n{known[name].NAME}\n{render(known[name].run())}", flush=True)


if __name__ == "__main__":
    main()
