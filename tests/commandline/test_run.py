"""The runner that all command lines share: exit codes, one line per problem, never a traceback."""

import argparse
import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commandline.run import INTERRUPTED, INVALID_INPUT, LOADED_OBJECTS, run, show
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


class Malformed(ValueError):
    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__()


class Simple(ValueError):
    pass


class Answer:
    def model_dump_json(self, *, indent: int | None = None) -> str:
        return f'{{"indent": {indent}}}'


def code_of(command: Callable[[argparse.Namespace], int]) -> int:
    parser = argparse.ArgumentParser(prog="test")
    parser.set_defaults(run=command)
    return run(parser, [], malformed=(Malformed, Simple), nameless="File")


def raising(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def command(given: argparse.Namespace) -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Malformed("One.", "Two."), "One.\nTwo.\n"),
        (Simple("Only one."), "Only one.\n"),
        (FileNotFoundError(2, "No such file or directory", "x.yaml"), "x.yaml: No such file or directory.\n"),
        (OSError(28, "No space left on device"), "File: No space left on device.\n"),
        (OSError("odd"), "File: odd.\n"),
    ],
)
def test_invalid_input_is_a_line_per_problem_and_exit_code_2(
    error: Exception, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(raising(error)) == INVALID_INPUT
    assert capsys.readouterr() == ("", told)


def test_what_is_no_problem_of_the_input_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        code_of(raising(ZeroDivisionError()))


def test_ctrl_c_is_silent_and_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(raising(KeyboardInterrupt())) == INTERRUPTED == 130
    assert capsys.readouterr() == ("", "")


def test_the_code_of_a_command_is_the_exit_code() -> None:
    assert code_of(lambda given: 0) == 0
    assert code_of(lambda given: 2) == 2


@pytest.mark.parametrize(("json", "shown"), [(True, '{"indent": 2}\n'), (False, "text\n")])
def test_a_result_is_shown_as_json_or_text(json: bool, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(Answer(), lambda answer: "text", json=json) == 0
    assert capsys.readouterr().out == shown


PIPED = """
import argparse, sys
from commandline.run import run
parser = argparse.ArgumentParser()
parser.set_defaults(run=lambda given: [print(n, flush=True) for n in range(100_000)] and 0)
sys.exit(run(parser, [], malformed=(), nameless="File"))
"""


def test_a_reader_that_leaves_early_is_no_problem() -> None:
    command = [sys.executable, "-c", PIPED]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "0\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=PATIENCE_S) == 0


@pytest.mark.parametrize("arguments", [None, []])
def test_the_command_of_a_process_looks_for_garbage_seldom_and_one_that_is_called_as_before(
    arguments: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen = gc.get_threshold(), list[int]()
    monkeypatch.setattr(sys, "argv", ["test"])
    parser = argparse.ArgumentParser(prog="test")
    parser.set_defaults(run=lambda given: seen.append(gc.get_threshold()[0]) or 0)
    try:
        run(parser, arguments, malformed=(), nameless="File")
    finally:
        gc.set_threshold(*before)
    assert seen == [LOADED_OBJECTS if arguments is None else before[0]]
