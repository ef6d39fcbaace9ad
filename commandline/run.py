"""Running one command: exit code 0, 2 on invalid input with one clear line per problem, 130 after Ctrl-C."""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias, TypeVar

INVALID_INPUT = 2
"""Exit code for input that cannot be used: the one of argparse for wrong arguments."""
INTERRUPTED = 130
"""What a shell shows for a command that was stopped with Ctrl-C: 128 + SIGINT."""
LOADED_OBJECTS = 500_000
"""Objects after which a command looks for garbage. Measured (2026-11): loading what a plan needs and planning leaves
280,000, nearly all of which stay, and looking through them again and again took a sixth of the time."""
PROGRESS_WIDTH = 60
"""Characters of a line of progress that are wiped at its end: as long as any."""


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What ``add_subparsers`` returns, to which commands are added."""


class JsonAnswer(Protocol):
    """An answer that knows its JSON, as pydantic models do."""

    def model_dump_json(self, *, indent: int | None = None) -> str:
        """The answer as the JSON text that a command prints."""


R = TypeVar("R", bound=JsonAnswer)


def run(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    *,
    malformed: tuple[type[Exception], ...],
    nameless: str,
) -> int:
    """Parse ``arguments`` (None: those of the process) and call the command's ``run``; returns the exit code.

    Exceptions of the types ``malformed`` are problems of the input. ``nameless`` is what a file is called that the
    system does not name. A command that Ctrl-C is meant to end catches it; of any other it is no answer.
    """
    if arguments is None:
        gc.set_threshold(LOADED_OBJECTS)
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except malformed as error:
        print("\n".join(problems_of(error)), file=sys.stderr)
    except BrokenPipeError:  # the reader of our output left early, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        print(f"{error.filename or nameless}: {error.strerror or error}.", file=sys.stderr)
    return INVALID_INPUT


def problems_of(error: Exception) -> Sequence[str]:
    """The problems that an exception holds, one line each; its message where it is one problem."""
    problems: Sequence[str] = getattr(error, "problems", (str(error),))
    return problems


def show(result: R, as_text: Callable[[R], str], *, json: bool) -> int:
    """Print a result, as JSON where that was asked for; returns exit code 0."""
    print(as_json(result) if json else as_text(result))
    return 0


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A list for a terminal: rows of cells below each other, two blanks between columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def as_json(result: JsonAnswer) -> str:
    """The JSON of a result, the same at every door."""
    return result.model_dump_json(indent=2)


@contextmanager
def progress_line() -> Iterator[Callable[[float, str], None]]:
    """Gives what is to be told the share that is done, and of what. Nothing is written where nobody looks: to a file
    or a pipe."""
    shown = sys.stderr.isatty()

    def told(share: float, what: str) -> None:
        if shown:
            print(f"\r{f'{what}: {round(100 * share)} %':{PROGRESS_WIDTH}}", end="", file=sys.stderr, flush=True)

    try:
        yield told
    finally:
        if shown:
            print(f"\r{'':{PROGRESS_WIDTH}}\r", end="", file=sys.stderr, flush=True)
